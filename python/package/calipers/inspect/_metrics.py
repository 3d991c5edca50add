"""Metrics in place of Inspect's."""

# Inspect reads the annotations of metrics, so they are not postponed here.

from collections.abc import Callable
from typing import Any, Literal

from inspect_ai.scorer import Metric, MetricProtocol, SampleScore, Value, ValueToFloat, value_to_float

from .. import _core, scorer
from .._errors import CalipersError
from ._twins import drop_in

#: How values become floats if nobody says otherwise.
USUAL: ValueToFloat = value_to_float()
_LABELS = scorer._values.conversion(scorer.value_to_float())


def conversion(to_float: ValueToFloat) -> Any:
    """How values become floats, in the form that the library takes."""
    return _LABELS if to_float is USUAL else to_float


def _metric(
    twin: Any, name: str, to_float: ValueToFloat, parameters: dict[str, Any] | None = None, cluster: str | None = None
) -> Metric:
    given = parameters or {}
    how = conversion(to_float)

    def metric(scores: list[SampleScore]) -> Value:
        return answer(twin, scores, lambda: _core.measure(name, given, list(scores), how, cluster))

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
    return _metric(twin, "accuracy", to_float)


@drop_in("metric")
def mean(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, "mean", to_float)


@drop_in("metric")
def var(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, "var", to_float)


@drop_in("metric")
def std(twin: Any, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, "std", to_float)


@drop_in("metric")
def stderr(twin: Any, to_float: ValueToFloat = USUAL, cluster: str | None = None) -> Metric:
    return _metric(twin, "stderr", to_float, cluster=cluster)


@drop_in("metric")
def bootstrap_stderr(twin: Any, num_samples: int = 1000, to_float: ValueToFloat = USUAL) -> Metric:
    return _metric(twin, "bootstrap_stderr", to_float, {"num_samples": num_samples})


@drop_in("metric")
def ci(
    twin: Any,
    level: float = 0.95,
    method: Literal["t", "bootstrap"] = "t",
    num_samples: int = 1000,
    to_float: ValueToFloat = USUAL,
    cluster: str | None = None,
) -> Metric:
    return _metric(twin, "ci", to_float, {"level": level, "method": method, "num_samples": num_samples}, cluster)


@drop_in("metric")
def ci_wilson(
    twin: Any, level: float = 0.95, to_float: ValueToFloat = USUAL, cluster: str | None = None
) -> Metric:
    return _metric(twin, "ci_wilson", to_float, {"level": level}, cluster)


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
    by_group: Any = scorer.grouped(
        metric, group_key, all=all, all_label=all_label, value_to_float=value_to_float, name_template=name_template
    )

    def grouped_metric(scores: list[SampleScore]) -> Value:
        return answer(twin, scores, lambda: by_group(scores))

    return grouped_metric


def _value_metric(
    twin: Any, name: str, parameters: dict[str, Any], notes: list[str] | None = None, to_float: ValueToFloat | None = None
) -> Metric:
    """A metric of scores as they are, or as lists of floats."""

    def metric(scores: list[SampleScore]) -> Value:
        def compute() -> Any:
            given = list(scores) if to_float is None else [_in_floats(score, to_float) for score in scores]
            return _core.measure_values(name, parameters, given, notes or [])

        return answer(twin, scores, compute)

    return metric


def _in_floats(score: SampleScore, to_float: ValueToFloat) -> Any:
    value = score.score.value
    return _core.SampleScore(_core.Score([to_float(one) for one in value] if isinstance(value, (list, tuple)) else value))


@drop_in("metric")
def frequency(twin: Any, categories: Any = None, normalize: bool = True) -> Metric:
    # Inspect's own has checked the categories, which may be an enumeration.
    named = [] if categories is None else [str(getattr(one, "value", one)) for one in categories]
    return _value_metric(twin, "frequency", {"categories": named, "normalize": bool(normalize)})


@drop_in("metric")
def krippendorff_alpha(
    twin: Any, level: Literal["nominal", "ordinal", "interval"] = "nominal", to_float: ValueToFloat | None = None
) -> Metric:
    convert = None if level == "nominal" else to_float
    return _value_metric(twin, "krippendorff_alpha", {"level": level}, to_float=convert)


_LOSSES = ["num_tokens", "sum_log_probs"]


@drop_in("metric")
def perplexity_per_token(twin: Any) -> Metric:
    return _value_metric(twin, "perplexity_per_token", {}, _LOSSES)


@drop_in("metric")
def perplexity_per_seq(twin: Any) -> Metric:
    return _value_metric(twin, "perplexity_per_seq", {}, _LOSSES)


_NAMES = ("accuracy", "mean", "var", "std", "stderr", "bootstrap_stderr", "ci", "ci_wilson", "grouped", "frequency")
for _name in (*_NAMES, "krippendorff_alpha", "perplexity_per_token", "perplexity_per_seq"):
    globals()[_name].__doc__ = _core.metric_documentation(_name)
del _name
