"""Metrics that Inspect does not have. Its logs record them as `calipers/…`."""

# Inspect reads the annotations of metrics, so they are not postponed here.

import functools
import json
import math
from collections.abc import Callable
from typing import Any, ParamSpec

import inspect_ai.scorer
from inspect_ai.scorer import Metric, SampleScore, Value

from .._questions import gate, score
from .._results import Figure


P = ParamSpec("P")


def metric(**options: Any) -> Callable[[Callable[P, Metric]], Callable[P, Metric]]:
    """Inspect's decorator, which forgets the documentation of what it decorates."""

    def decorate(factory: Callable[P, Metric]) -> Callable[P, Metric]:
        registered: Callable[P, Metric] = inspect_ai.scorer.metric(name=factory.__name__, **options)(factory)
        return functools.update_wrapper(registered, factory)

    return decorate


def _records(scores: list[SampleScore]) -> list[dict[str, Any]]:
    """The scores as native records, with the metadata of their samples. Scores of one sample are its attempts."""
    attempts: dict[Any, int] = {}
    records = []
    for place, one in enumerate(scores):
        # 1 and "1" are one sample to Inspect.
        id = str(place + 1) if one.sample_id is None else str(one.sample_id)
        attempts[id] = attempts.get(id, 0) + 1
        value = one.score.value
        metadata = {key: _plain(field) for key, field in (one.sample_metadata or {}).items()}
        records.append({"id": id, "epoch": attempts[id], "score": None if value != value else value, "metadata": metadata})
    return records


def _plain(field: Any) -> Any:
    try:
        json.dumps(field)
    except (TypeError, ValueError):
        return str(field)
    return field


def _bounds(figure: Figure) -> dict[str, Any]:
    """The interval of a figure; a NaN where it has no bound, which Inspect records as such."""
    interval = figure.interval
    lower, upper = (None, None) if interval is None else (interval.lower, interval.upper)
    return {"lower": _number(lower), "upper": _number(upper)}


def _number(number: float | None) -> float:
    return math.nan if number is None else number


@metric()
def interval(level: float = 0.95, cluster: str | None = None) -> Metric:
    """The interval of the mean that `calipers.score` shows: `lower` and `upper`.

    It is about questions like these. Scores that are 0 or 1 have Blaker's interval; with `cluster`, a key of metadata by which samples
    go together, it is CR2 with Satterthwaite's degrees of freedom. Where there is no interval, both are NaN.
    """

    def metric(scores: list[SampleScore]) -> Value:
        if not scores:
            return {"lower": math.nan, "upper": math.nan}
        how = "" if cluster is None else f"cluster={json.dumps(cluster)}"
        results = score(_records(scores), metric=f"ci({how})", level=level)
        return {name: _number(results[name].value) for name in ("lower", "upper")}

    return metric


@metric(scores="unreduced")
def suite_interval(level: float = 0.95) -> Metric:
    """The interval of the accuracy for this suite rerun: the questions are given, and only the attempts are luck.

    It needs at least two attempts per sample (`epochs=2`) and scores from 0 to 1. Without them, both bounds are NaN.
    """

    def metric(scores: list[SampleScore]) -> Value:
        if not scores:
            return {"lower": math.nan, "upper": math.nan}
        policy = {
            "confidence": level,
            "estimand": "this_suite_rerun",
            "thresholds": {"blocking": {"accuracy": ">= 0"}},
        }
        return _bounds(gate(_records(scores), policy, reducer="mean", level=level).gates[0].figure)

    return metric


@metric()
def corrected(labels: str = "human_label", level: float = 0.95) -> Metric:
    """The mean score of a judge, corrected by what people say about some of the samples: `corrected`, `lower` and `upper`.

    `labels` is the key of metadata that holds the label of a person. Samples without it are judged by the judge alone; those with it
    must be a random choice.
    """

    def metric(scores: list[SampleScore]) -> Value:
        if not scores:
            return {"corrected": math.nan, "lower": math.nan, "upper": math.nan}
        found = score(_records(scores), metric=f"corrected(labels={json.dumps(labels)})", level=level)["corrected"]
        return {"corrected": _number(found.value), **_bounds(found)}

    return metric


@metric()
def figure(expression: str, level: float = 0.95) -> Metric:
    """Any metric of Calipers, as it is written for the command line: `figure('accuracy(where="category=hard")')`.

    A single figure gives its value, `lower` and `upper`; several give their values by name. What is undefined is a NaN.
    """

    def metric(scores: list[SampleScore]) -> Value:
        if not scores:
            return math.nan
        found = score(_records(scores), metric=expression, level=level).figures
        if len(found) == 1:
            return {found[0].metric: _number(found[0].value), **_bounds(found[0])}
        return {one.metric: _number(one.value) for one in found}

    return metric
