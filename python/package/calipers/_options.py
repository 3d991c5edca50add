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
        question.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
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
        return [(str(name), str(column)) for name, column in given.items()]
    return list(strings(given))


def _conditions(given: Where) -> list[tuple[str, str]]:
    if given is not None and not isinstance(given, str) and hasattr(given, "items"):
        return [(str(key), str(value)) for key, value in given.items()]
    pairs = []
    for text in strings(given):
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"the condition `{text}` has no `=`", hint='write `where={"category": "adversarial"}`')
        pairs.append((key, value))
    return pairs


def selection(question: str, kind: str, options: Mapping[str, Any], cluster: Strings = None) -> dict[str, Any]:
    """What questions about results share, in one form."""
    for name in options:
        if name not in SHARED[kind]:
            raise TypeError(f"{question}() got an unexpected keyword argument {name!r}")
    given = {**SHARED["question"], **options}
    seed, seconds = given["seed"], given["script_time"]
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"`seed={seed!r}` is no seed", hint="write a whole number from 0 on")
    if not isinstance(seconds, int) or seconds < 1:
        raise UsageError(f"`script_time={seconds!r}` is no number of seconds", hint="write a whole number from 1 on")
    return {
        **given,
        "scorer": strings(given["scorer"]),
        "where": _conditions(given["where"]),
        "label": [(str(name), float(number)) for name, number in (given["label"] or {}).items()],
        "columns": column_choices(given["columns"]),
        "run": strings(given["run"]),
        "level": float(given["level"]),
        "cluster": strings(cluster),
        "load": paths(given["load"]),
    }
