"""Options, in the forms that people write them in."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

from ._errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, Union

    from typing_extensions import TypedDict

    Strings = Union[str, Iterable[str], None]
    Paths = Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], None]
    Where = Union[str, Mapping[str, Any], Iterable[str], None]
    Columns = Union[str, Mapping[str, str], Iterable[str], None]
    Label = Union[Mapping[str, float], None]
    Amount = Union[float, str]
    Limits = Union[str, Iterable[str], Mapping[str, Union[Amount, tuple[Amount, Amount], Mapping[str, Amount]]], None]
    Missing = Literal["failed", "excluded"]
    AttemptsFrom = Literal["files", "folders"]

    class ReadOptions(TypedDict, total=False):
        """How results are read."""

        format: str | None
        columns: Columns
        run: Strings

    class SelectionOptions(ReadOptions, total=False):
        """What of results is looked at, and what moves the numbers."""

        scorer: Strings
        where: Where
        label: Label
        pass_threshold: float | None
        missing: Missing | None
        seed: int
        attempts_from: AttemptsFrom | None

    class MeasureOptions(SelectionOptions, total=False):
        """The same where intervals are drawn."""

        level: float

    class ScriptOptions(SelectionOptions, total=False):
        """The same where expressions may use files in Starlark."""

        load: Paths
        script_time: int

    class QuestionOptions(ScriptOptions, MeasureOptions, total=False):
        """All of them."""


_READ: dict[str, Any] = {"format": None, "columns": None, "run": None}
_SELECTION: dict[str, Any] = {
    "scorer": None,
    "where": None,
    "label": None,
    "pass_threshold": None,
    "missing": None,
    "seed": 0,
    **_READ,
    "attempts_from": None,
}
_SCRIPTS: dict[str, Any] = {"load": None, "script_time": 60}
_LEVEL: dict[str, Any] = {"level": 0.95}

#: The names and defaults of options that questions share, by what the questions have of them.
SHARED: dict[str, dict[str, Any]] = {
    "read": _READ,
    "selection": _SELECTION,
    "measure": {**_LEVEL, **_SELECTION},
    "scripts": {**_SELECTION, **_SCRIPTS},
    "question": {**_LEVEL, **_SELECTION, **_SCRIPTS},
}

#: What the options mean.
ABOUT: dict[str, str] = {
    "level": "the level of intervals",
    "scorer": "only this scorer, or these",
    "where": 'only samples whose metadata has these values, such as `{"category": "adversarial"}`',
    "label": 'the numbers that labels count as, such as `{"maybe": 0.5}`',
    "pass_threshold": "the share of expected behaviours, or the score, that an attempt needs to pass",
    "missing": 'how attempts without a score count: `"failed"` or `"excluded"`',
    "seed": "the seed of everything random",
    "format": "the name of the format of the files, instead of the one that is detected",
    "columns": 'what the columns mean, such as `{"id": "question", "score": "is_correct"}` or `"id=question,score=is_correct"`',
    "run": "only this run, or these, if the files hold several",
    "attempts_from": 'each of the `"files"`, or `"folders"`, is one attempt of the same run',
    "cluster": "the field, or fields, by whose values samples go together: all intervals are then those of clusters",
    "limits": 'the most that one attempt can have of a field or a score, as in a policy: `{"cost_usd": 2, "latency_ms": "60s"}`, or, with'
    ' the least, `{"judge": (1, 5)}`; means of such values have both ends of an interval only then',
    "labels": "what people say about some of the samples, for `corrected`",
    "label_columns": "which columns of `labels` are what",
    "load": "a file in Starlark that defines metrics and reducers, or several",
    "script_time": "how many seconds scripts may run in all",
}

Question = TypeVar("Question", bound=Callable[..., Any])


def with_options(kind: str) -> Callable[[Question], Question]:
    """Decorates a question that has shared options, so that its signature shows them."""

    def decorate(question: Question) -> Question:
        signature = inspect.signature(question)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in SHARED[kind].items()
        ]
        made = signature.replace(parameters=[*own, *shared])
        question.__signature__ = made  # type: ignore[attr-defined]
        about = [f"    {name}: {ABOUT[name]}" for name in made.parameters if name in ABOUT]
        if question.__doc__:  # Python runs without it where it is told to.
            question.__doc__ = f"{inspect.cleandoc(question.__doc__)}\n\nOptions:\n" + "\n".join(about)
        return question

    return decorate


def strings(given: Strings) -> list[str]:
    """One text, or several."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else [str(one) for one in given]


def paths(given: Paths) -> list[str]:
    """The name of one file, or of several."""
    if given is None:
        return []
    return [os.fspath(one) for one in ([given] if isinstance(given, (str, os.PathLike)) else given)]


def column_choices(given: Columns) -> list[str | tuple[str, str]]:
    """Which columns are what: a dict, or texts such as `id=question,score=correct`."""
    if given is None or isinstance(given, str):
        return list(strings(given))
    if hasattr(given, "items"):
        for name, column in given.items():
            if not isinstance(column, str) and hasattr(column, "__iter__"):
                one = next(iter(column), "judge")
                hint = f'name each of them, as in `{{"{name}.{one}": "{one}"}}`' if name == "score" else "name one column"
                raise UsageError(f"`columns` takes one column as the `{name}`, and not a `{type(column).__name__}`", hint=hint)
        return [(str(name), str(column)) for name, column in given.items()]
    return list(strings(given))


def _conditions(given: Where) -> list[tuple[str, str]]:
    if given is not None and not isinstance(given, str) and hasattr(given, "items"):
        for key, value in given.items():
            if isinstance(value, (list, tuple, set, dict)):
                raise UsageError(f"`where` takes one value of `{key}`, and not a `{type(value).__name__}`", hint="choose rows of the frame, or ask once for each value")
        return [(str(key), str(value)) for key, value in given.items()]
    pairs = []
    for text in strings(given):
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"the condition `{text}` has no `=`", hint='write `where={"category": "adversarial"}`')
        pairs.append((key, value))
    return pairs


def limit_choices(given: Limits) -> list[str]:
    """Limits as on the command line, from a dict as in a policy, or from texts such as `cost_usd=2`."""
    if given is None:
        return []
    if isinstance(given, str):
        return given.split(",")
    if not hasattr(given, "items"):
        return [part for one in given for part in str(one).split(",")]
    return [f"{name}={_ends(str(name), ends)}" for name, ends in given.items()]


def _ends(name: str, ends: Any) -> str:
    if hasattr(ends, "items"):
        if "max" not in ends or set(ends) - {"min", "max"}:
            raise UsageError(f"`limits`: the limit of `{name}` has `max`, may have `min`, and nothing else", hint='write `{"min": 1, "max": 5}`')
        ends = (ends.get("min", 0), ends["max"])
    if not isinstance(ends, (tuple, list)):
        return _amount(name, ends)
    if len(ends) != 2:
        raise UsageError(f"`limits`: `{name}` has {len(ends)} ends", hint="write the least and the most, as in `(1, 5)`")
    return "..".join(_amount(name, end) for end in ends)


def _amount(name: str, amount: Any) -> str:
    """A number in digits, or what was written, such as `60s`."""
    from decimal import Decimal

    if isinstance(amount, str):
        return amount
    if isinstance(amount, bool) or not hasattr(amount, "__float__"):
        raise UsageError(f"`limits`: the limit of `{name}` is a `{type(amount).__name__}`", hint='write a number, or a text such as `"60s"`')
    return format(Decimal(repr(float(amount))), "f")


def _similar(question: str, name: str) -> str:
    """A name that may be meant."""
    import difflib

    from . import _questions

    known = inspect.signature(getattr(_questions, question)).parameters
    if name in ("by", "group", "groups", "groupby", "group_by") and "metric" in known:
        return "; groups are a metric, such as `metric='grouped(mean(), \"category\")'`"
    found = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean `{found[0]}`?" if found else ""


def _number(option: str, given: Any, hint: str) -> float:
    if isinstance(given, (str, bytes)) or not hasattr(given, "__float__"):
        raise UsageError(f"`{option}` is no number: `{given!r}`", hint=hint)
    # A short number of numpy means what it shows: the nearest float of 0.9 in half the bits is another number.
    return float(str(given)) if type(given).__name__ in ("float32", "float16") else float(given)


def _labels(given: Label) -> list[tuple[str, float]]:
    if given is None:
        return []
    hint = 'write `label={"maybe": 0.5}`'
    if not hasattr(given, "items"):
        raise UsageError(f"`label` is a `{type(given).__name__}`, and says no number for a label", hint=hint)
    return [(str(name), _number(f"label[{name!r}]", number, hint)) for name, number in given.items()]


def selection(
    question: str, kind: str, options: Mapping[str, Any], cluster: Strings = None, limits: Limits = None
) -> dict[str, Any]:
    """What questions about results share, in one form."""
    for name in options:
        if name not in SHARED[kind]:
            raise TypeError(f"{question}() got an unexpected keyword argument {name!r}{_similar(question, name)}")
    given = {**SHARED["question"], **options}
    seed, seconds = given["seed"], given["script_time"]
    if not isinstance(seed, int) and hasattr(seed, "__index__"):
        seed = given["seed"] = seed.__index__()  # A whole number of numpy.
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"`seed={seed!r}` is no seed", hint="write a whole number from 0 on")
    if not isinstance(seconds, int) or seconds < 1:
        raise UsageError(f"`script_time={seconds!r}` is no number of seconds", hint="write a whole number from 1 on")
    return {
        **given,
        "scorer": strings(given["scorer"]),
        "where": _conditions(given["where"]),
        "label": _labels(given["label"]),
        "columns": column_choices(given["columns"]),
        "run": strings(given["run"]),
        "level": _number("level", given["level"], "a level of 95 % is written `level=0.95`"),
        "cluster": strings(cluster),
        "limits": limit_choices(limits),
        "load": paths(given["load"]),
    }
