"""Metrics, reducers and scorers that Inspect's own tasks take.

    from calipers.inspect import accuracy, interval, stderr

    Task(dataset=…, scorer=match(), metrics=[accuracy(), stderr(cluster="passage"), interval(cluster="passage")])

Metrics, reducers and scorers of Inspect's names give Inspect's numbers, its placeholders included, and are recorded in logs under Inspect's
names: a log can be read and scored again where Calipers is not installed. `interval`, `suite_interval`, `corrected` and `figure` are
recorded as `calipers/…`, and give what Calipers says: where a number is undefined it is a NaN.

A finished log is judged by `calipers.gate(log, policy)`, compared by `calipers.compare(log, other)` and measured by
`calipers.score(log)`. `install()` puts the drop-ins in place of Inspect's own for tasks that import those.
"""

from __future__ import annotations

try:
    import inspect_ai.scorer as _  # noqa: F401
except ImportError as error:
    raise ImportError(
        "calipers.inspect needs Inspect, which cannot be imported here: run `pip install inspect_ai`. "
        "calipers.scorer has the same metrics and reducers without it"
    ) from error

from ._installation import Installation as Installation, install as install, uninstall as uninstall
from ._metrics import (
    accuracy as accuracy,
    bootstrap_stderr as bootstrap_stderr,
    ci as ci,
    ci_wilson as ci_wilson,
    frequency as frequency,
    grouped as grouped,
    krippendorff_alpha as krippendorff_alpha,
    mean as mean,
    perplexity_per_seq as perplexity_per_seq,
    perplexity_per_token as perplexity_per_token,
    std as std,
    stderr as stderr,
    var as var,
)
from ._own_metrics import (
    corrected as corrected,
    figure as figure,
    interval as interval,
    suite_interval as suite_interval,
)
from ._reducers import (
    at_least as at_least,
    collect_score as collect_score,
    majority_score as majority_score,
    max_score as max_score,
    mean_score as mean_score,
    median_score as median_score,
    mode_score as mode_score,
    pass_at as pass_at,
    pass_k as pass_k,
)
from ._scorers import (
    answer as answer,
    choice as choice,
    includes as includes,
    match as match,
    pattern as pattern,
)

del _

__all__ = [
    "Installation",
    "accuracy",
    "answer",
    "at_least",
    "bootstrap_stderr",
    "choice",
    "ci",
    "ci_wilson",
    "collect_score",
    "corrected",
    "figure",
    "frequency",
    "grouped",
    "includes",
    "install",
    "interval",
    "krippendorff_alpha",
    "majority_score",
    "match",
    "max_score",
    "mean",
    "mean_score",
    "median_score",
    "mode_score",
    "pass_at",
    "pass_k",
    "pattern",
    "perplexity_per_seq",
    "perplexity_per_token",
    "std",
    "stderr",
    "suite_interval",
    "uninstall",
    "var",
]
