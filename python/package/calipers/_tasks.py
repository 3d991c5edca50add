"""Tasks, and their evaluation on the runner of the library."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _core
from ._errors import UsageError
from ._metrics import KIND, NAME, metric_choices, reducer_choices
from ._results import Results
from ._named import Named
from .dataset import Sample

if TYPE_CHECKING:
    from ._metrics import Metrics, Reducers

Factory = TypeVar("Factory", bound=Callable[..., Any])


class Epochs:
    """How often each sample is tried, and how its attempts become one score."""

    def __init__(self, epochs: int, reducer: Reducers = None) -> None:
        self.epochs = epochs
        self.reducer = reducer


#: Samples: any sequence of them.
Dataset = Sequence[Sample]


class Task:
    """What an evaluation asks, how it is answered, and how answers are scored.

    Without a solver, the model is asked. `metrics` replace those of the scorers.
    """

    def __init__(
        self,
        dataset: Iterable[Sample] | None = None,
        *,
        solver: Any = None,
        scorer: Any = None,
        metrics: Metrics = None,
        epochs: int | Epochs | None = None,
        model: str | None = None,
        name: str | None = None,
    ) -> None:
        self.dataset = [Sample(input="prompt")] if dataset is None else list(dataset)
        self.solver = solver
        self.scorer = scorer
        self.metrics = metrics
        self.epochs = epochs
        self.model = model
        self.name = name

    def __repr__(self) -> str:
        return f"<Task {self.name or 'task'} of {len(self.dataset)} samples>"


@overload
def task(factory: Factory) -> Factory: ...
@overload
def task(*, name: str | None = None) -> Callable[[Factory], Factory]: ...
def task(factory: Any = None, *, name: str | None = None) -> Any:
    """Decorates a function that makes a task, which then has its name."""
    if factory is None:
        return lambda factory: task(factory) if name is None else _named_task(factory, name)
    return _named_task(factory, factory.__name__)


def _named_task(factory: Any, name: str) -> Any:
    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Task:
        made = factory(*args, **kwargs)
        if not isinstance(made, Task):
            raise UsageError(f"`{name}` makes no task", hint="return a `Task`")
        made.name = made.name or name
        return made

    setattr(make, NAME, name)
    setattr(make, KIND, "task")
    return make


class Evaluation(Results):
    """The metrics of a finished run; `log` is where its log is."""

    __slots__ = ("log",)
    log: str

    def __init__(self, report: _core.Report, log: str) -> None:
        super().__init__(report)
        self._set(log=log)


def eval(
    task: Task | Callable[[], Task],
    model: str | None = None,
    *,
    epochs: int | Epochs | None = None,
    limit: int | None = None,
    seed: int = 0,
    log_dir: str | os.PathLike[str] = "logs",
    max_samples: int | None = None,
) -> Evaluation:
    """Runs a task and returns its metrics. The log is written while it runs, and holds all that was asked and answered.

    Scorers in Python run on one event loop. Ctrl-C ends the run; the log keeps what has been done.
    """
    if callable(task):
        task = task()
    tried = _epochs(task.epochs if epochs is None else epochs)
    choices = {
        "name": task.name or "task",
        "samples": [sample.to_choice() for sample in task.dataset],
        "solvers": [_solver(solver) for solver in _list(task.solver)],
        "scorers": [_scorer(scorer) for scorer in _list(task.scorer)],
        "metrics": None if task.metrics is None else metric_choices(task.metrics),
        "epochs": None if tried is None else tried.epochs,
        "reducer": [] if tried is None else reducer_choices(tried.reducer),
        "model": model or task.model,
        "limit": limit,
        "seed": seed,
        "log_dir": os.fspath(log_dir),
        "attempts_at_once": max_samples,
    }
    from ._event_loop import EventLoop

    with EventLoop() as event_loop:
        report, log = _core.run_task(choices, event_loop)
    return Evaluation(report, os.fspath(log))


def _epochs(given: int | Epochs | None) -> Epochs | None:
    return Epochs(given) if isinstance(given, int) else given


def _list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _solver(given: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(given, Named):
        return given.name, given.parameters
    hint = "use those of `calipers.solver`; tasks with their own solvers, tools or agents belong to Inspect"
    raise UsageError(f"`{given!r}` is no solver that runs here", hint=hint)


def _scorer(given: Any) -> Any:
    if isinstance(given, Named):
        return given.name, given.parameters
    if not callable(given):
        raise UsageError(f"`{given!r}` is no scorer", hint="pass one of `calipers.scorer`, or a function of state and target")
    name = getattr(given, NAME, None) or getattr(given, "__name__", "scorer")
    metrics = getattr(given, "__calipers_metrics__", None)
    return str(name), given, metric_choices(["accuracy", "stderr"] if metrics is None else metrics)
