"""Reducers in place of Inspect's: from the scores of one sample's attempts to one score."""

# Inspect reads the annotations of reducers, so they are not postponed here.

from typing import Any

from inspect_ai.scorer import Score, ScoreReducer, ValueToFloat

from .. import _core
from . import _metrics
from ._metrics import USUAL, conversion
from ._twins import drop_in

_LABELS = conversion(USUAL)


def _reducer(
    twin: Any, name: str, to_float: ValueToFloat, threshold: float | None = None, about: Any = None
) -> ScoreReducer:
    def value_of(scores: list[Score]) -> Any:
        values = [score.value for score in scores]
        floats = values if to_float is USUAL else _floats(to_float, values)
        reduced = _core.reduce(name, threshold, [_core.Score(value) for value in floats], _LABELS).value
        # The best attempt keeps the value that it has.
        return _originals(reduced, floats, values) if name == "max" and floats is not values else reduced

    def score_of(scores: list[Score]) -> Score:
        kept = {name: getattr(scores[0], name) for name in _KEPT if _is_same(scores, name)}
        metadata = scores[0].metadata if about is None else {**(scores[0].metadata or {}), **about(scores)}
        return Score(value=value_of(scores), **kept, metadata=metadata)

    def reduce(scores: list[Score]) -> Score:
        reduced: Score = _metrics.answer(twin, scores, lambda: score_of(scores))
        return reduced

    return reduce


# What a reduced score keeps if all attempts agree on it: the other parts of a score, whatever this version of Inspect has.
_KEPT = tuple(name for name in Score.model_fields if name not in ("value", "metadata", "history"))


def _is_same(scores: list[Score], name: str) -> bool:
    return all(getattr(score, name) == getattr(scores[0], name) for score in scores)


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


@drop_in("score_reducer")
def mean_score(twin: Any, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    """The average of the attempts."""
    return _reducer(twin, "mean", value_to_float)


@drop_in("score_reducer")
def median_score(twin: Any, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    """The middle of the attempts; of two in the middle, their average."""
    return _reducer(twin, "median", value_to_float)


@drop_in("score_reducer")
def mode_score(twin: Any) -> ScoreReducer:
    """The value that most attempts have; of several, the first."""
    return _reducer(twin, "mode", USUAL)


@drop_in("score_reducer")
def max_score(twin: Any, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    """The value of the best attempt."""
    return _reducer(twin, "max", value_to_float)


@drop_in("score_reducer")
def majority_score(twin: Any) -> ScoreReducer:
    """The value that more than half of all attempts have."""
    return _reducer(twin, "majority", USUAL, about=_panel)


def _panel(scores: list[Score]) -> dict[str, Any]:
    """Who voted for what, as Inspect records it beside a majority."""
    votes: list[Any] = []
    failures: list[dict[str, Any]] = []
    for place, score in enumerate(scores):
        value = score.value
        if value != value:
            reason = getattr(score, "reason", None)
            if reason is None:
                reason = (score.metadata or {}).get("unscored_reason")
            failure = {"index": place, "reason": reason if isinstance(reason, str) else None}
            failures.append({**failure, "explanation": score.explanation})
            votes.append(None)
        else:
            votes.append(dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value)
    return {"panel": {"votes": votes, "size": len(scores), "failures": failures}}


@drop_in("score_reducer")
def collect_score(twin: Any) -> ScoreReducer:
    """The values of all attempts, as a list."""
    return _reducer(twin, "collect", USUAL)


@drop_in("score_reducer")
def at_least(twin: Any, k: int, value: float = 1.0, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    """1 if at least `k` attempts have at least this value, else 0."""
    return _reducer(twin, f"at_least_{k}", value_to_float, float(value))


@drop_in("score_reducer")
def pass_at(twin: Any, k: int, value: float = 1.0, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    """How likely at least one of `k` attempts has at least this value."""
    return _reducer(twin, f"pass_at_{k}", value_to_float, float(value))


@drop_in("score_reducer")
def pass_k(twin: Any, k: int, value: float = 1.0, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    """How likely all of `k` attempts have at least this value."""
    return _reducer(twin, f"pass_k_{k}", value_to_float, float(value))
