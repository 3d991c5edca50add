"""Scores, metrics and reducers as code that is written for Inspect uses them, without Inspect.

The numbers are those of Inspect, its placeholders included: the error of one sample is 0 here. Passed to `calipers.score`, the
same metrics give figures with intervals, and say what is undefined.
"""

from __future__ import annotations

from .._core import SampleScore as SampleScore, Score as Score
from .._metrics import metric as metric, score_reducer as score_reducer
from ._metrics import (
    Metric as Metric,
    MetricProtocol as MetricProtocol,
    accuracy as accuracy,
    bootstrap_stderr as bootstrap_stderr,
    ci as ci,
    grouped as grouped,
    mean as mean,
    std as std,
    stderr as stderr,
    var as var,
)
from ._reducers import (
    ScoreReducer as ScoreReducer,
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
    AnswerPattern as AnswerPattern,
    Scorer as Scorer,
    Target as Target,
    answer as answer,
    choice as choice,
    exact as exact,
    f1 as f1,
    includes as includes,
    match as match,
    model_graded_fact as model_graded_fact,
    model_graded_qa as model_graded_qa,
    pattern as pattern,
    scorer as scorer,
)
from ._values import (
    CORRECT as CORRECT,
    INCORRECT as INCORRECT,
    NOANSWER as NOANSWER,
    PARTIAL as PARTIAL,
    Value as Value,
    ValueToFloat as ValueToFloat,
    value_to_float as value_to_float,
)

__all__ = [
    "AnswerPattern",
    "CORRECT",
    "INCORRECT",
    "Metric",
    "MetricProtocol",
    "NOANSWER",
    "PARTIAL",
    "SampleScore",
    "Score",
    "ScoreReducer",
    "Scorer",
    "Target",
    "Value",
    "ValueToFloat",
    "accuracy",
    "answer",
    "at_least",
    "bootstrap_stderr",
    "choice",
    "ci",
    "collect_score",
    "exact",
    "f1",
    "grouped",
    "includes",
    "majority_score",
    "match",
    "max_score",
    "mean",
    "mean_score",
    "median_score",
    "metric",
    "mode_score",
    "model_graded_fact",
    "model_graded_qa",
    "pass_at",
    "pass_k",
    "pattern",
    "score_reducer",
    "scorer",
    "std",
    "stderr",
    "value_to_float",
    "var",
]
