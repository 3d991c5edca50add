"""The built-in metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, Union

from .. import _core
from .._core import SampleScore, Score
from .._metrics import EXPRESSION, builtin, tag
from ._values import ValueToFloat, conversion, is_usual, value_to_float


class MetricProtocol(Protocol):
    """A metric: from the scores of samples to a number, or to numbers by name."""

    def __call__(self, scores: list[SampleScore], /) -> Any: ...


#: A metric.
Metric = Union[MetricProtocol, Callable[[list[SampleScore]], Any]]


def _builtin(
    name: str, to_float: ValueToFloat, parameters: dict[str, Any] | None = None, cluster: str | None = None
) -> Metric:
    """A metric of the library: called with scores it gives the number of Inspect; `calipers.score` knows it by its expression."""
    given = parameters or {}
    how = conversion(to_float)

    def metric(scores: list[SampleScore]) -> Any:
        return _core.measure(name, given, scores, how, cluster)

    arguments = given if cluster is None else {**given, "cluster": cluster}
    made: Metric = tag(metric, "metric", name, _expression(name, arguments) if is_usual(to_float) else None)
    return made


def _expression(name: str, arguments: dict[str, Any]) -> str:
    """A metric as it is written for the library."""
    # JSON and the language of expressions differ in the words for true and false.
    literals = (f"{key}={value if isinstance(value, bool) else json.dumps(value)}" for key, value in arguments.items())
    return f"{name}({', '.join(literals)})"


def _of_values(name: str, parameters: dict[str, Any], notes: Sequence[str] = (), to_float: ValueToFloat | None = None) -> Metric:
    """A metric of scores as they are, or as lists of floats. `notes` are the keys of their metadata that it looks at."""

    def metric(scores: list[SampleScore]) -> Any:
        given = list(scores) if to_float is None else [_in_floats(score, to_float) for score in scores]
        return _core.measure_values(name, parameters, given, list(notes))

    made: Metric = tag(metric, "metric", name, _expression(name, parameters) if to_float is None else None)
    return made


def _in_floats(score: SampleScore, to_float: ValueToFloat) -> SampleScore:
    value: Any = score.score.value
    return SampleScore(Score([to_float(one) for one in value] if isinstance(value, (list, tuple)) else value))


@builtin
def accuracy(to_float: ValueToFloat = value_to_float()) -> Metric:
    return _builtin("accuracy", to_float)


@builtin
def mean(to_float: ValueToFloat = value_to_float()) -> Metric:
    return _builtin("mean", to_float)


@builtin
def var(to_float: ValueToFloat = value_to_float()) -> Metric:
    return _builtin("var", to_float)


@builtin
def std(to_float: ValueToFloat = value_to_float()) -> Metric:
    return _builtin("std", to_float)


@builtin
def stderr(to_float: ValueToFloat = value_to_float(), cluster: str | None = None) -> Metric:
    return _builtin("stderr", to_float, cluster=cluster)


@builtin
def bootstrap_stderr(num_samples: int = 1000, to_float: ValueToFloat = value_to_float()) -> Metric:
    return _builtin("bootstrap_stderr", to_float, {"num_samples": num_samples})


@builtin
def ci(
    level: float = 0.95,
    method: Literal["t", "bootstrap"] = "t",
    num_samples: int = 1000,
    to_float: ValueToFloat = value_to_float(),
    cluster: str | None = None,
) -> Metric:
    return _builtin("ci", to_float, {"level": level, "method": method, "num_samples": num_samples}, cluster)


@builtin
def ci_wilson(level: float = 0.95, to_float: ValueToFloat = value_to_float(), cluster: str | None = None) -> Metric:
    return _builtin("ci_wilson", to_float, {"level": level}, cluster)


@builtin
def frequency(categories: Any = None, normalize: bool = True) -> Metric:
    if isinstance(categories, str):
        raise TypeError(f"categories must be several labels, not a single string ({categories!r} would be iterated as characters).")
    named = [] if categories is None else [str(getattr(one, "value", one)) for one in categories]
    return _of_values("frequency", {"categories": named, "normalize": bool(normalize)})


def categorical(categories: Any = None) -> list[Metric]:
    """The metrics of a scorer that gives categories: how often each occurs.

    `categories` is a list of labels or an enumeration of text. Those that never occur are reported too.
    """
    return [frequency(categories)]


@builtin
def krippendorff_alpha(
    level: Literal["nominal", "ordinal", "interval"] = "nominal", to_float: ValueToFloat | None = None
) -> Metric:
    return _of_values("krippendorff_alpha", {"level": level}, to_float=None if level == "nominal" else to_float)


_LOSSES = ("num_tokens", "sum_log_probs")


@builtin
def perplexity_per_token() -> Metric:
    return _of_values("perplexity_per_token", {}, _LOSSES)


@builtin
def perplexity_per_seq() -> Metric:
    return _of_values("perplexity_per_seq", {}, _LOSSES)


@builtin
def grouped(
    metric: Metric,
    group_key: str,
    *,
    all: Literal["samples", "groups", False] = "samples",
    all_label: str = "all",
    value_to_float: ValueToFloat = value_to_float(),
    name_template: str = "{group_name}",
) -> Metric:
    if all not in ("samples", "groups", False):
        raise ValueError(f"`all` is {all!r}; it may be 'samples', 'groups' or False")

    def by_group(scores: list[SampleScore]) -> dict[str, Any]:
        if not scores:
            return {all_label: float("nan")} if all else {}
        groups: dict[str, list[SampleScore]] = {}
        for score in scores:
            metadata = score.sample_metadata
            if metadata is None or group_key not in metadata:
                raise ValueError(
                    f"Sample {score.sample_id} has no {group_key} metadata. To compute a grouped metric each sample "
                    f"metadata must have a value for '{group_key}'"
                )
            groups.setdefault(str(metadata[group_key]), []).append(score)
        named = {name_template.format(group_name=name): metric(members) for name, members in groups.items()}
        if all is False:
            return named
        if all_label in named:
            raise ValueError(
                f"The group name '{all_label}' collides with the `all_label` used for the aggregate score. Pass a different "
                f"`all_label` to grouped() (or set all=False) to avoid overwriting this group's metric."
            )
        if all == "samples":
            whole = metric(scores)
        else:
            values = [value_to_float(value) for value in named.values()]
            whole = sum(values) / len(values)
        return {**named, all_label: whole}

    inner = getattr(metric, EXPRESSION, None)
    expression = None
    if inner is not None and is_usual(value_to_float):
        options = f"all={json.dumps(all) if all else 'False'}, all_label={json.dumps(all_label)}"
        expression = f"grouped({inner}, {json.dumps(group_key)}, {options}, name_template={json.dumps(name_template)})"
    made: Metric = tag(by_group, "metric", "grouped", expression)
    return made


_NAMES = ("accuracy", "mean", "var", "std", "stderr", "bootstrap_stderr", "ci", "ci_wilson", "grouped", "frequency")
for _name in (*_NAMES, "krippendorff_alpha", "perplexity_per_token", "perplexity_per_seq"):
    globals()[_name].__doc__ = _core.metric_documentation(_name)
del _name
