"""Metrics and reducers in Python: plain functions, and factories that are decorated as in Inspect."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, overload

from ._errors import UsageError

Factory = TypeVar("Factory", bound=Callable[..., Any])

if TYPE_CHECKING:
    from ._core import SampleScore, Score

    #: A name or an expression such as `stderr(cluster="category")`; a function of the scores; or metrics by key.
    MetricLike = Union[str, Callable[[list[SampleScore]], Any], Mapping[str, Any]]
    Metrics = Union[MetricLike, Iterable[MetricLike], None]
    #: A name such as `pass_at_3`, or a function from the scores of a sample to one.
    ReducerLike = Union[str, Callable[[list[Score]], Any]]
    Reducers = Union[ReducerLike, Iterable[ReducerLike], None]

# What is known about a function, as attributes of it.
NAME = "__calipers_name__"
EXPRESSION = "__calipers_expression__"
FACTORY = "__calipers_factory__"
KIND = "__calipers_kind__"
ROWS = "__calipers_rows__"


def _decorate(kind: str, factory: Any, name: str | None, rows: str = "auto") -> Any:
    called = name or factory.__name__

    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Any:
        # A function that wraps one of ours has its own name, and is measured as what it is: a function.
        return tag(factory(*args, **kwargs), kind, called, rows=rows)

    setattr(make, NAME, called)
    setattr(make, KIND, kind)
    setattr(make, FACTORY, True)
    return make


def builtin(factory: Factory) -> Factory:
    """Decorates a function that makes one of our own metrics or reducers, which it names itself."""
    setattr(factory, FACTORY, True)
    return factory


def tag(made: Any, kind: str, name: str, expression: str | None = None, rows: str = "auto") -> Any:
    """Says of a function what it is called, which scores it takes and, where the library has it, how it is written."""
    try:
        setattr(made, NAME, name)
        setattr(made, KIND, kind)
        setattr(made, EXPRESSION, expression)
        setattr(made, ROWS, rows)
    except AttributeError:
        pass  # What takes no attributes is called by its own name.
    return made


@overload
def metric(name: Factory) -> Factory: ...
@overload
def metric(name: str | None = None, *, scores: Literal["auto", "reduced", "unreduced"] = "auto") -> Callable[[Factory], Factory]: ...
def metric(name: Any = None, *, scores: Literal["auto", "reduced", "unreduced"] = "auto") -> Any:
    """Decorates a function that makes a metric.

        @metric
        def pass_rate(threshold: float = 0.5) -> Metric:
            def metric(scores: list[SampleScore]) -> float:
                return sum(s.score.as_float() >= threshold for s in scores) / len(scores)

            return metric

        calipers.score(frame, metric=[pass_rate(0.8)])

    The scores that it gets are one per sample. With `scores="unreduced"` they are one per attempt, whatever the reducer; with
    `scores="reduced"` it is an error if there is no reducer and samples have several attempts.
    """
    if scores not in ("auto", "reduced", "unreduced"):
        raise UsageError(f"a metric takes no `{scores}` scores", hint='write scores="auto", "reduced" or "unreduced"')
    if name is None or isinstance(name, str):
        return lambda factory: _decorate("metric", factory, name, scores)
    return _decorate("metric", name, None, scores)


@overload
def score_reducer(factory: Factory) -> Factory: ...
@overload
def score_reducer(*, name: str | None = None) -> Callable[[Factory], Factory]: ...
def score_reducer(factory: Any = None, *, name: str | None = None) -> Any:
    """Decorates a function that makes a reducer: from the scores of one sample's attempts to one score."""
    if factory is None:
        return lambda factory: _decorate("reducer", factory, name)
    return _decorate("reducer", factory, name)


def _made(given: Any) -> Any:
    """What a factory makes, where the factory itself was passed."""
    return given() if getattr(given, FACTORY, False) else given


def _name(function: Any) -> str:
    name = getattr(function, NAME, None) or getattr(function, "__name__", None) or type(function).__name__
    return "metric" if name == "<lambda>" else str(name)


def metric_choices(given: Metrics) -> list[Any]:
    """Metrics in the form that the library takes."""
    if given is None:
        return []
    if isinstance(given, str) or callable(given) or isinstance(given, Mapping):
        return [_metric_choice(given)]
    if not isinstance(given, Iterable):
        raise _no_metric(given)
    return [_metric_choice(one) for one in given]


def _metric_choice(given: Any) -> Any:
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return [(str(key), metric_choices(metrics)) for key, metrics in given.items()]
    if not callable(given):
        raise _no_metric(given)
    made = _made(given)
    if inspect.iscoroutinefunction(made):
        raise UsageError(f"the metric `{_name(made)}` is async", hint="make it a plain function: all scores are there when it is called")
    return getattr(made, EXPRESSION, None) or (_name(made), made, getattr(made, ROWS, "auto"))


def _no_metric(given: object) -> UsageError:
    kind = type(given).__name__
    return UsageError(f"a `{kind}` is no metric", hint="pass a name, a function of the scores, or a dict of them by key")


def reducer_choices(given: Reducers) -> list[Any]:
    """Reducers in the form that the library takes."""
    if given is None:
        return []
    if isinstance(given, str) or callable(given):
        return [_reducer_choice(given)]
    if not isinstance(given, Iterable):
        raise _no_reducer(given)
    return [_reducer_choice(one) for one in given]


def _reducer_choice(given: Any) -> Any:
    if isinstance(given, str):
        return given
    if not callable(given):
        raise _no_reducer(given)
    made = _made(given)
    return getattr(made, EXPRESSION, None) or (_name(made), made)


def _no_reducer(given: object) -> UsageError:
    kind = type(given).__name__
    return UsageError(f"a `{kind}` is no reducer", hint="pass a name such as `mean`, or a function of the scores")
