"""The built-in metrics."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, Protocol, Union

from .. import _core
from .._core import SampleScore
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

    arguments = [f"{key}={json.dumps(value)}" for key, value in given.items()]
    if cluster is not None:
        arguments.append(f"cluster={json.dumps(cluster)}")
    expression = f"{name}({', '.join(arguments)})" if is_usual(to_float) else None
    made: Metric = tag(metric, "metric", name, expression)
    return made


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


for _name in ("accuracy", "mean", "var", "std", "stderr", "bootstrap_stderr", "ci", "grouped"):
    globals()[_name].__doc__ = _core.metric_documentation(_name)
del _name
