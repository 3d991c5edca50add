"""The built-in reducers: from the scores of one sample's attempts to one score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Union

from .. import _core
from .._core import Score
from .._metrics import builtin, tag
from ._values import ValueToFloat, conversion, is_usual, value_to_float


class ReducerProtocol(Protocol):
    """A reducer."""

    def __call__(self, scores: list[Score], /) -> Score: ...


#: A reducer.
ScoreReducer = Union[ReducerProtocol, Callable[[list[Score]], Score]]

_USUAL = conversion(value_to_float())


def _builtin(name: str, to_float: ValueToFloat, threshold: float | None = None) -> ScoreReducer:
    how = conversion(to_float)

    def reduce(scores: list[Score]) -> Score:
        if isinstance(how, tuple):
            return _core.reduce(name, threshold, scores, how)
        values = [score.value for score in scores]
        floats = _floats(to_float, values)
        converted = [Score(value, score.answer, score.explanation, score.metadata) for value, score in zip(floats, scores)]
        reduced = _core.reduce(name, threshold, converted, _USUAL)
        if name == "max":
            reduced.value = _originals(reduced.value, floats, values)  # The best attempt keeps the value that it has.
        return reduced

    is_plain = is_usual(to_float) and threshold in (None, 1.0)
    made: ScoreReducer = tag(reduce, "reducer", name, name if is_plain else None)
    return made


def _floats(to_float: ValueToFloat, values: list[Any]) -> list[Any]:
    """Values with their parts converted. The first that was scored says whether they have parts, as in Inspect."""
    first = next((value for value in values if value == value), None)
    kind = dict if isinstance(first, dict) else list if isinstance(first, list) else None
    floats: list[Any] = []
    for value in values:
        if value != value or (kind is not None and not isinstance(value, kind)):
            floats.append(value)
        elif isinstance(value, dict) and kind is dict:
            floats.append({key: to_float(one) for key, one in value.items()})
        else:
            floats.append([to_float(one) for one in value] if kind is list else to_float(value))
    return floats


def _originals(reduced: Any, floats: list[Any], values: list[Any]) -> Any:
    """The values, as they were, that the reduced floats stand for."""
    pairs = [pair for pair in zip(floats, values) if isinstance(pair[0], (dict, list)) == isinstance(reduced, (dict, list))]
    if isinstance(reduced, dict):
        return {key: _original(one, [(f[key], v[key]) for f, v in pairs]) for key, one in reduced.items()}
    if isinstance(reduced, list):
        return [_original(one, [(f[place], v[place]) for f, v in pairs]) for place, one in enumerate(reduced)]
    return _original(reduced, pairs)


def _original(float_: Any, pairs: list[tuple[Any, Any]]) -> Any:
    return next((value for float, value in pairs if float == float_), float_)


@builtin
def mean_score(value_to_float: ValueToFloat = value_to_float()) -> ScoreReducer:
    """The average of the attempts."""
    return _builtin("mean", value_to_float)


@builtin
def median_score(value_to_float: ValueToFloat = value_to_float()) -> ScoreReducer:
    """The middle of the attempts; of two in the middle, their average."""
    return _builtin("median", value_to_float)


@builtin
def mode_score() -> ScoreReducer:
    """The value that most attempts have; of several, the first."""
    return _builtin("mode", value_to_float())


@builtin
def max_score(value_to_float: ValueToFloat = value_to_float()) -> ScoreReducer:
    """The value of the best attempt."""
    return _builtin("max", value_to_float)


@builtin
def majority_score() -> ScoreReducer:
    """The value that more than half of all attempts have."""
    return _builtin("majority", value_to_float())


@builtin
def collect_score() -> ScoreReducer:
    """The values of all attempts, as a list."""
    return _builtin("collect", value_to_float())


@builtin
def at_least(k: int, value: float = 1.0, value_to_float: ValueToFloat = value_to_float()) -> ScoreReducer:
    """1 if at least `k` attempts have at least this value, else 0."""
    return _builtin(f"at_least_{k}", value_to_float, float(value))


@builtin
def pass_at(k: int, value: float = 1.0, value_to_float: ValueToFloat = value_to_float()) -> ScoreReducer:
    """How likely at least one of `k` attempts has at least this value."""
    return _builtin(f"pass_at_{k}", value_to_float, float(value))


@builtin
def pass_k(k: int, value: float = 1.0, value_to_float: ValueToFloat = value_to_float()) -> ScoreReducer:
    """How likely all of `k` attempts have at least this value."""
    return _builtin(f"pass_k_{k}", value_to_float, float(value))
