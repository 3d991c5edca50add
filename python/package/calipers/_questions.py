"""One function for each command of the command line, with its options as keyword arguments.

What the options mean is in `_options.ABOUT`, and in the help of each function.
"""

from __future__ import annotations

import json
import os

from . import _core
from ._data import sources
from ._errors import PolicyError, UsageError
from ._metrics import metric_choices, reducer_choices
from ._options import column_choices, selection, strings, with_options
from ._results import Comparison, JudgeReport, Page, PlanReport, Records, Results, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, Union

    from typing_extensions import Unpack

    from ._data import Data
    from ._metrics import Metrics, Reducers
    from ._options import (
        Columns,
        Limits,
        MeasureOptions,
        QuestionOptions,
        ReadOptions,
        ScriptOptions,
        SelectionOptions,
        Strings,
    )

    #: The name of a file, or what a policy says.
    PolicyLike = Union[str, os.PathLike[str], Mapping[str, Any]]


@with_options("question")
def score(
    data: Data,
    *,
    metric: Metrics = None,
    reducer: Reducers = None,
    compat: Literal["inspect"] | None = None,
    reductions: bool = False,
    cluster: Strings = None,
    limits: Limits = None,
    labels: Data | None = None,
    label_columns: Columns = None,
    **options: Unpack[QuestionOptions],
) -> Results:
    """The metrics of results, with intervals, what is missing, and caveats.

    `metric` takes names and expressions (`"accuracy"`, `'stderr(cluster="category")'`), functions of the scores, metrics of
    `calipers.scorer`, or a dict of them by the keys of scores. Without it, the metrics are those that a log records, or those that
    can be computed from the results.
    """
    choices = selection("score", "question", options, cluster, limits)
    report = _core.score(
        sources(data),
        choices,
        metric_choices(metric),
        reducer_choices(reducer),
        compat,
        bool(reductions),
        _labels(labels, label_columns),
    )
    return Results(report)


@with_options("question")
def gate(
    data: Data,
    policy: PolicyLike,
    *,
    baseline: str | os.PathLike[str] | None = None,
    suite: str | os.PathLike[str] | None = None,
    for_version: str | None = None,
    looks: str | os.PathLike[str] | None = None,
    cluster: Strings = None,
    labels: Data | None = None,
    label_columns: Columns = None,
    metric: Metrics = None,
    reducer: Reducers = None,
    **options: Unpack[QuestionOptions],
) -> Verdict:
    """Judges a run by a policy: may this version ship?

    `policy` is the name of a file, or a dict with the same content. `metric` has functions that the policy may use by name.
    `looks` is a file that remembers earlier looks at the suite: each one spends a part of the policy's confidence.
    """
    choices = selection("gate", "question", options, cluster)
    judging = _judging(policy, baseline, suite, for_version, looks, metric, reducer)
    return Verdict(_core.gate(sources(data), choices, judging, _labels(labels, label_columns)))


def _labels(labels: Data | None, columns: Columns) -> Any:
    """Labels of people in the form that the library takes."""
    if labels is None:
        if columns is not None:
            raise UsageError("`label_columns` is about `labels`, and there are none", hint="pass the labels, or leave it out")
        return None
    return sources(labels, "labels"), column_choices(columns)


def _all_labels(labels: Sequence[Data] | Data | None, columns: Columns, runs: int) -> list[Any]:
    """The labels of each of several runs; for one run they need no list."""
    if labels is None or runs == 1:
        made = _labels(labels, columns)
        return [] if made is None else [made]
    if not isinstance(labels, (list, tuple)):
        raise UsageError("`labels` is a list here, with the labels of each run", hint="labels are about the answers of one run")
    return [_labels(one, columns) for one in labels]


def _judging(
    policy: PolicyLike,
    baseline: str | os.PathLike[str] | None,
    suite: str | os.PathLike[str] | None,
    for_version: str | None,
    looks: str | os.PathLike[str] | None,
    metric: Metrics,
    reducer: Reducers,
) -> dict[str, Any]:
    if isinstance(policy, (str, os.PathLike)):
        chosen: Any = os.fspath(policy)
        if isinstance(policy, str) and ("{" in policy or "=" in policy or "\n" in policy) and not os.path.exists(policy):
            hint = 'pass a dict: `{"thresholds": {"blocking": {"accuracy": ">= 0.8"}}}`, or what `json.loads` makes of a text'
            raise UsageError("a text names the file of a policy, and this one looks like its content", hint=hint)
    elif hasattr(policy, "items"):
        try:
            chosen = ("policy", json.dumps(dict(policy), indent=2).encode())
        except (TypeError, ValueError, RecursionError) as error:
            raise PolicyError(f"the policy cannot be written as JSON: {error}", hint="use numbers, text, lists and dicts") from error
    else:
        raise UsageError("a policy is a file or a dict", hint='write `{"thresholds": {"blocking": {"accuracy": ">= 0.8"}}}`')
    return {
        "policy": chosen,
        "suite": None if suite is None else os.fspath(suite),
        "baseline": None if baseline is None else os.fspath(baseline),
        "baseline_age": None if baseline is None else _age_days(os.fspath(baseline)),
        "for_version": for_version,
        "looks": None if looks is None else os.fspath(looks),
        "metric": metric_choices(metric),
        "reducer": reducer_choices(reducer),
    }


def _age_days(path: str) -> float | None:
    """How many days ago a baseline was recorded, if it says so."""
    from datetime import date, datetime, timezone

    try:
        with open(path, encoding="utf-8") as file:
            recorded = json.load(file).get("date")
        then = date.fromisoformat(str(recorded)[:10])
    except (OSError, ValueError, AttributeError):
        return None  # What is wrong with the file is said when it is read.
    return float((datetime.now(timezone.utc).date() - then).days)


@with_options("question")
def compare(
    candidate: Data,
    *baselines: Data,
    by: str | None = None,
    metric: Metrics = None,
    reducer: Reducers = None,
    margin: float | None = None,
    cluster: Strings = None,
    limits: Limits = None,
    estimand: Literal["population", "suite"] = "population",
    correction: Literal["holm", "bh"] = "holm",
    labels: Sequence[Data] | None = None,
    label_columns: Columns = None,
    **options: Unpack[QuestionOptions],
) -> Comparison:
    """What changed between runs, and is it real? The first run is compared with every other one, sample by sample.

    With one argument, the runs that it holds are compared; `by` names the column that tells them apart, such as `"model"`.
    `margin` is the largest change that does not matter.
    """
    choices = selection("compare", "question", options, limits=limits)
    names = ["baseline"] if len(baselines) == 1 else [f"baseline {place + 1}" for place in range(len(baselines))]
    report = _core.compare(
        sources(candidate, "candidate" if baselines else "data"),
        [sources(baseline, name) for name, baseline in zip(names, baselines)],
        choices,
        by,
        metric_choices(metric),
        reducer_choices(reducer),
        margin,
        strings(cluster),
        estimand,
        correction,
        _all_labels(labels, label_columns, 1 + len(baselines)),
    )
    return Comparison(report)


@with_options("scripts")
def plan(
    pilot: Data | None = None,
    *,
    rate: float | None = None,
    sd: float | None = None,
    within: float | None = None,
    half_width: float | None = None,
    gate: str | None = None,
    difference: float | None = None,
    power: float = 0.8,
    correlation: float | None = None,
    disagreement: float | None = None,
    against: Data | None = None,
    epochs: int | None = None,
    cost_sample: float | None = None,
    cost_attempt: float | None = None,
    samples: int | None = None,
    confidence: float = 0.95,
    metric: Metrics = None,
    cluster: Strings = None,
    reducer: Reducers = None,
    **options: Unpack[ScriptOptions],
) -> PlanReport:
    """How many samples a run needs: from a pilot run, or from an assumed `rate` or `sd`.

    `half_width` asks for an interval of that width to each side, `gate` for a threshold such as `">= 0.95"`, and `difference` for a
    difference between two runs that is to be seen with `power`.
    """
    choices = {**selection("plan", "scripts", options), "level": float(confidence)}
    _check_plan(pilot, rate, sd, within, correlation, disagreement, against, cost_sample, cost_attempt)
    if pilot is None and (metric is not None or cluster is not None or reducer is not None):
        raise UsageError("`metric`, `cluster` and `reducer` are about a pilot, and there is none", hint="pass a run")
    asked = {
        "rate": rate,
        "sd": sd,
        "within": within,
        "half_width": half_width,
        "gate": gate,
        "difference": difference,
        "power": power,
        "correlation": correlation,
        "disagreement": disagreement,
        "epochs": epochs,
        "cost_sample": cost_sample,
        "cost_attempt": cost_attempt,
        "samples": samples,
        "cluster": strings(cluster),
        "metric": metric_choices(metric),
        "reducer": reducer_choices(reducer),
    }
    report = _core.plan(
        None if pilot is None else sources(pilot, "pilot"),
        None if against is None else sources(against, "against"),
        choices,
        asked,
    )
    return PlanReport(report)


def _check_plan(
    pilot: Data | None,
    rate: float | None,
    sd: float | None,
    within: float | None,
    correlation: float | None,
    disagreement: float | None,
    against: Data | None,
    cost_sample: float | None,
    cost_attempt: float | None,
) -> None:
    """The options that exclude one another, as on the command line."""
    if pilot is not None and (rate is not None or sd is not None or within is not None):
        raise UsageError("a pilot shows what `rate`, `sd` and `within` would assume", hint="leave out one or the other")
    if rate is not None and sd is not None:
        raise UsageError("`rate` and `sd` are two assumptions about the same scores", hint="give one of them")
    if correlation is not None and disagreement is not None:
        raise UsageError("`correlation` and `disagreement` say the same thing in two ways", hint="give one of them")
    if against is not None and pilot is None:
        raise UsageError("`against` is a second run beside a pilot, and there is none", hint="pass the pilot first")
    if against is not None and (correlation is not None or disagreement is not None):
        raise UsageError("`against` shows what `correlation` and `disagreement` would assume", hint="give one of them")
    if (cost_sample is None) != (cost_attempt is None):
        raise UsageError("`cost_sample` and `cost_attempt` go together", hint="give both, in the same unit")


@with_options("measure")
def judge(
    data: Data,
    labels: Data,
    *,
    label_columns: Columns = None,
    by: str | None = None,
    **options: Unpack[MeasureOptions],
) -> JudgeReport:
    """How well a judge agrees with people, and its rate corrected by their labels.

    `labels` has human labels for a random choice of the samples: records with `id` and `label`.
    """
    choices = selection("judge", "measure", options)
    report = _core.judge(sources(data), sources(labels, "labels"), choices, column_choices(label_columns), by)
    return JudgeReport(report)


@with_options("question")
def report(
    data: Data,
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    commit: str | None = None,
    policy: PolicyLike | None = None,
    baseline: str | os.PathLike[str] | None = None,
    against: Data | None = None,
    suite: str | os.PathLike[str] | None = None,
    for_version: str | None = None,
    cluster: Strings = None,
    limits: Limits = None,
    labels: Sequence[Data] | Data | None = None,
    label_columns: Columns = None,
    metric: Metrics = None,
    reducer: Reducers = None,
    **options: Unpack[QuestionOptions],
) -> Page:
    """A page in one file, with every sample; with a policy the verdict, and with `against` what changed.

    With `output` it is also written to that file.
    """
    choices = selection("report", "question", options, cluster, limits)
    for name, value in (("baseline", baseline), ("suite", suite), ("for_version", for_version), ("metric", metric)):
        if value is not None and policy is None:
            raise UsageError(f"`{name}` needs `policy`", hint="name the policy, or leave it out")
    if baseline is not None and against is not None:
        raise UsageError("`baseline` and `against` are two runs to compare with", hint="give one of them")
    judging = None
    if policy is not None:
        judging = _judging(policy, baseline, suite, for_version, None, metric, reducer)
    html = _core.page(
        sources(data),
        choices,
        judging,
        None if against is None else sources(against, "against"),
        reducer_choices(reducer),
        title,
        commit,
        _all_labels(labels, label_columns, 1 if against is None else 2),
    )
    page = Page(html)
    if output is not None:
        page.save(output)
    return page


@with_options("selection")
def read(
    data: Data,
    **options: Unpack[SelectionOptions],
) -> Records:
    """The attempts of results, as records: `read("log.eval").to_pandas()`."""
    choices = selection("read", "selection", options)
    given = sources(data)
    return Records(_core.read(given, choices), given)


@with_options("read")
def convert(
    data: Data,
    output: str | os.PathLike[str],
    *,
    to: Literal["native", "csv", "parquet", "inspect", "every-eval-ever"] | None = None,
    reducer: Reducers = None,
    force: bool = False,
    **options: Unpack[ReadOptions],
) -> tuple[str, ...]:
    """Writes a run in another form: .jsonl, .json, .csv, .parquet or .eval. Returns notes on what the form cannot hold."""
    choices = selection("convert", "read", options)
    notes = _core.convert(sources(data), choices, os.fspath(output), to, reducer_choices(reducer), bool(force))
    return tuple(notes)
