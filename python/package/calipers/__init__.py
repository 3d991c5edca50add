"""Numbers you can defend for AI evaluations.

    import calipers

    results = calipers.score(frame)              # metrics with intervals
    verdict = calipers.gate(frame, "policy.json")
    verdict.raise_for_status()

`frame` may be a data frame of pandas or polars, a table of pyarrow, arrays, a list of dicts, or the name of a file in any format
that Calipers reads, including Inspect logs. The functions have the same names and options as the commands of the command line.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import dataset as dataset, model as model, scorer as scorer, solver as solver
    from ._core import __version__ as __version__
    from ._errors import (
        CalipersError as CalipersError,
        DataError as DataError,
        EvaluationError as EvaluationError,
        GateFailed as GateFailed,
        GateUndecided as GateUndecided,
        InternalError as InternalError,
        MetricError as MetricError,
        ModelError as ModelError,
        PolicyError as PolicyError,
        RegressionError as RegressionError,
        UsageError as UsageError,
        VerdictError as VerdictError,
    )
    from ._metrics import metric as metric, score_reducer as score_reducer
    from ._questions import (
        compare as compare,
        convert as convert,
        gate as gate,
        judge as judge,
        plan as plan,
        read as read,
        report as report,
        score as score,
    )
    from ._tasks import Epochs as Epochs, Evaluation as Evaluation, Task as Task, eval as eval, task as task
    from ._results import (
        Caveat as Caveat,
        Change as Change,
        Comparison as Comparison,
        Figure as Figure,
        Gate as Gate,
        Interval as Interval,
        JudgeReport as JudgeReport,
        Page as Page,
        PlanReport as PlanReport,
        Records as Records,
        Results as Results,
        Verdict as Verdict,
    )

# Where each name comes from. A module is loaded when one of its names is first used, so that importing the package takes
# milliseconds.
_PLACES = {
    "_core": ("__version__",),
    "_errors": (
        "CalipersError",
        "DataError",
        "EvaluationError",
        "GateFailed",
        "GateUndecided",
        "InternalError",
        "MetricError",
        "ModelError",
        "PolicyError",
        "RegressionError",
        "UsageError",
        "VerdictError",
    ),
    "_metrics": ("metric", "score_reducer"),
    "_questions": ("compare", "convert", "gate", "judge", "plan", "read", "report", "score"),
    "_results": (
        "Caveat",
        "Change",
        "Comparison",
        "Figure",
        "Gate",
        "Interval",
        "JudgeReport",
        "Page",
        "PlanReport",
        "Records",
        "Results",
        "Verdict",
    ),
    "_tasks": ("Epochs", "Evaluation", "Task", "eval", "task"),
}
_SUBMODULES = ("dataset", "model", "scorer", "solver")
# These need another package, and are therefore not among the names that are listed.
_OPTIONAL = ("inspect", "ray", "spark")
_MODULES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = sorted([*_MODULES, *_SUBMODULES])


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES or name in _OPTIONAL:
        return import_module("." + name, __name__)
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module("." + module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
