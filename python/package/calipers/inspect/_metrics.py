"""Metrics in place of Inspect's: those of `calipers.scorer`, with Inspect's words for what goes wrong."""

# Inspect reads the annotations of metrics, so they are not postponed here.

from collections.abc import Callable
from typing import Any, Literal

from inspect_ai.scorer import Metric, MetricProtocol, SampleScore, Value, ValueToFloat, value_to_float

from .. import scorer
from .._errors import CalipersError
from ._twins import drop_in

#: How values become floats by default.
USUAL: ValueToFloat = value_to_float()
_OURS = scorer.value_to_float()


def conversion(to_float: ValueToFloat) -> Any:
    """How values become floats: our own function where it gives the same."""
    return _OURS if to_float is USUAL else to_float


def _metric(twin: Any, ours: Any) -> Metric:
    def metric(scores: list[SampleScore]) -> Value:
        return answer(twin, scores, lambda: ours(list(scores)))

    return metric


def answer(twin: Any, scores: list[Any], compute: Callable[[], Any]) -> Any:
    """What is computed, unless it is for Inspect to say."""
    if not scores and twin is not None:
        return twin(scores)  # What no scores give is up to Inspect, and differs between its versions.
    try:
        return compute()
    except (CalipersError, ValueError, TypeError):
        if twin is not None:
            twin(scores)  # Raises in Inspect's words, which people and tests look for.
        raise


@drop_in("metric")
def accuracy(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, scorer.accuracy(conversion(to_float)))


@drop_in("metric")
def mean(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, scorer.mean(conversion(to_float)))


@drop_in("metric")
def var(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, scorer.var(conversion(to_float)))


@drop_in("metric")
def std(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, scorer.std(conversion(to_float)))


@drop_in("metric")
def stderr(twin: Any, to_float: ValueToFloat = USUAL, cluster: str | None = None) -> Metric:
    return _metric(twin, scorer.stderr(conversion(to_float), cluster))


@drop_in("metric")
def bootstrap_stderr(twin: Any, num_samples: int = 1000, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, scorer.bootstrap_stderr(num_samples, conversion(to_float)))


@drop_in("metric")
def ci(
    twin: Any,
    level: float = 0.95,
    method: Literal["t", "bootstrap"] = "t",
    num_samples: int = 1000,
    to_float: ValueToFloat = USUAL,
    cluster: str | None = None,
) -> Metric:
    return _metric(twin, scorer.ci(level, method, num_samples, conversion(to_float), cluster))


@drop_in("metric")
def ci_wilson(
    twin: Any, level: float = 0.95, to_float: ValueToFloat = USUAL, cluster: str | None = None
) -> Metric:
    return _metric(twin, scorer.ci_wilson(level, conversion(to_float), cluster))


@drop_in("metric")
def grouped(
    twin: Any,
    metric: MetricProtocol,
    group_key: str,
    *,
    all: Literal["samples", "groups", False] = "samples",
    all_label: str = "all",
    value_to_float: ValueToFloat = USUAL,
    name_template: str = "{group_name}",
) -> Metric:
    inner: Any = metric
    ours = scorer.grouped(inner, group_key, all=all, all_label=all_label, value_to_float=value_to_float, name_template=name_template)
    return _metric(twin, ours)


@drop_in("metric")
def frequency(twin: Any, categories: Any = None, normalize: bool = True) -> Metric:
    return _metric(twin, scorer.frequency(categories, normalize))


@drop_in("metric")
def krippendorff_alpha(
    twin: Any, level: Literal["nominal", "ordinal", "interval"] = "nominal", to_float: ValueToFloat | None = None
) -> Metric:
    return _metric(twin, scorer.krippendorff_alpha(level, to_float))


@drop_in("metric")
def perplexity_per_token(twin: Any) -> Metric:
    return _metric(twin, scorer.perplexity_per_token())


@drop_in("metric")
def perplexity_per_seq(twin: Any) -> Metric:
    return _metric(twin, scorer.perplexity_per_seq())

