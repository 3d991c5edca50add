"""Reducers in place of Inspect's: those of `calipers.scorer`, on Inspect's scores."""

# Inspect reads the annotations of reducers, so they are not postponed here.

from typing import Any

from inspect_ai.scorer import Score, ScoreReducer, ValueToFloat

from .. import _core, scorer
from . import _metrics
from ._metrics import USUAL, conversion
from ._twins import drop_in


def _reducer(twin: Any, ours: Any, about: Any = None) -> ScoreReducer:
    def score_of(scores: list[Score]) -> Score:
        value = ours([_core.Score(score.value) for score in scores]).value
        kept = {name: getattr(scores[0], name) for name in _KEPT if _is_same(scores, name)}
        metadata = scores[0].metadata if about is None else {**(scores[0].metadata or {}), **about(scores)}
        return Score(value=value, **kept, metadata=metadata)

    def reduce(scores: list[Score]) -> Score:
        reduced: Score = _metrics.answer(twin, scores, lambda: score_of(scores))
        return reduced

    return reduce


# What a reduced score keeps if all attempts agree on it: the other parts of a score, whatever this version of Inspect has.
_KEPT = tuple(name for name in Score.model_fields if name not in ("value", "metadata", "history"))


def _is_same(scores: list[Score], name: str) -> bool:
    return all(getattr(score, name) == getattr(scores[0], name) for score in scores)


@drop_in("score_reducer")
def mean_score(twin: Any, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    return _reducer(twin, scorer.mean_score(conversion(value_to_float)))


@drop_in("score_reducer")
def median_score(twin: Any, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    return _reducer(twin, scorer.median_score(conversion(value_to_float)))


@drop_in("score_reducer")
def mode_score(twin: Any) -> ScoreReducer:
    return _reducer(twin, scorer.mode_score())


@drop_in("score_reducer")
def max_score(twin: Any, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    return _reducer(twin, scorer.max_score(conversion(value_to_float)))


@drop_in("score_reducer")
def majority_score(twin: Any) -> ScoreReducer:
    return _reducer(twin, scorer.majority_score(), about=_panel)


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
    return _reducer(twin, scorer.collect_score())


@drop_in("score_reducer")
def at_least(twin: Any, k: int, value: float = 1.0, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    return _reducer(twin, scorer.at_least(k, value, conversion(value_to_float)))


@drop_in("score_reducer")
def pass_at(twin: Any, k: int, value: float = 1.0, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    return _reducer(twin, scorer.pass_at(k, value, conversion(value_to_float)))


@drop_in("score_reducer")
def pass_k(twin: Any, k: int, value: float = 1.0, value_to_float: ValueToFloat = USUAL) -> ScoreReducer:
    return _reducer(twin, scorer.pass_k(k, value, conversion(value_to_float)))
