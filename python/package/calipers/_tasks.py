"""Tasks, and their evaluation on the runner of the library."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload

from . import _core
from ._errors import EvaluationError, UsageError
from ._metrics import KIND, NAME, metric_choices, reducer_choices
from ._named import Named, NamedSolver
from ._options import strings
from ._results import Results
from .dataset import Dataset as Dataset, Sample
from .model import Model, config_parts, model_choice
from .solver import flatten

if TYPE_CHECKING:
    from ._metrics import Metrics, Reducers

Factory = TypeVar("Factory", bound=Callable[..., Any])

#: A model by its name, or one that answers in Python.
ModelLike = Union[str, Model]
FailOnError = Union[bool, int, float]

# What Inspect's tasks have, and this runner does not.
_OF_INSPECT = (
    "approval",
    "checkpoint",
    "cleanup",
    "continue_on_fail",
    "early_stopping",
    "on_checkpoint",
    "on_resume",
    "review",
    "sandbox",
    "score_on_error",
    "sentinel",
    "turn_limit",
    "working_limit",
)


class Epochs:
    """How often each sample is tried, and how its attempts become one score."""

    def __init__(self, epochs: int, reducer: Reducers = None) -> None:
        self.epochs = epochs
        self.reducer = reducer

    def __repr__(self) -> str:
        return f"Epochs({self.epochs}, {self.reducer!r})"


class Task:
    """What an evaluation asks, how it is answered, and how answers are scored.

    Without a solver, the model is asked. `setup` is one or several solvers that run before the others. `metrics` replace those of the
    scorers. Limits apply to one attempt. `fail_on_error` says how many attempts may fail before the run ends: the first ends it
    (True), none does (False), this many, or this share.
    """

    def __init__(
        self,
        dataset: Iterable[Sample] | None = None,
        setup: Any = None,
        solver: Any = None,
        *,
        scorer: Any = None,
        metrics: Metrics = None,
        model: ModelLike | None = None,
        config: Any = None,
        model_roles: Mapping[str, ModelLike] | None = None,
        epochs: int | Epochs | None = None,
        fail_on_error: FailOnError | None = None,
        message_limit: int | None = None,
        token_limit: int | None = None,
        time_limit: float | None = None,
        cost_limit: float | None = None,
        name: str | None = None,
        version: int | str = 0,
        metadata: dict[str, Any] | None = None,
        tags: Sequence[str] | None = None,
        **others: Any,
    ) -> None:
        _refuse(others)
        self.dataset = dataset if isinstance(dataset, Dataset) else Dataset(_samples(dataset))
        self.setup = setup
        self.solver = solver
        self.scorer = scorer
        self.metrics = metrics
        self.model = model
        self.config = config
        self.model_roles = dict(model_roles or {})
        self.epochs = epochs
        self.fail_on_error = fail_on_error
        self.message_limit = message_limit
        self.token_limit = token_limit
        self.time_limit = time_limit
        self.cost_limit = cost_limit
        self.name = name
        self.version = version
        self.metadata = metadata
        self.tags = list(tags or ())
        #: The file that it comes from, and the parameters that it was made with.
        self.file: str | None = None
        self.parameters: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Task {self.name or 'task'} of {len(self.dataset)} samples>"


def _refuse(others: dict[str, Any]) -> None:
    """What Inspect's tasks have and ours do not is refused, unless it says nothing; so are words that nothing knows."""
    for name, given in others.items():
        if name in ("display_name", "viewer", "headline_metric", "description"):
            continue  # How another program shows it.
        if name not in _OF_INSPECT:
            raise TypeError(f"Task() got an unexpected keyword argument {name!r}")
        if given is not None:
            raise UsageError(f"a task with `{name}` does not run here", hint="leave it out, or run the task with Inspect")


def _samples(dataset: Iterable[Sample] | None) -> list[Sample]:
    if dataset is None:
        return [Sample(input="prompt")]
    samples = list(dataset)
    for sample in samples:
        if not isinstance(sample, Sample):
            kind = type(sample).__name__
            raise UsageError(f"a dataset holds a `{kind}`", hint="make it of `calipers.dataset.Sample`")
    return samples


@overload
def task(factory: Factory) -> Factory: ...
@overload
def task(*, name: str | None = None, **attributes: Any) -> Callable[[Factory], Factory]: ...
def task(factory: Any = None, *, name: str | None = None, **attributes: Any) -> Any:
    """Decorates a function that makes a task, which then has its name."""
    if factory is None:
        return lambda factory: _named_task(factory, name or factory.__name__)
    return _named_task(factory, factory.__name__)


def _named_task(factory: Any, name: str) -> Any:
    signature = inspect.signature(factory)

    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Task:
        made = factory(*args, **kwargs)
        if not isinstance(made, Task):
            raise UsageError(f"`{name}` makes no task", hint="return a `Task`")
        made.name = made.name or name
        made.parameters = dict(signature.bind(*args, **kwargs).arguments)
        made.file = made.file or inspect.getfile(factory)
        return made

    setattr(make, NAME, name)
    setattr(make, KIND, "task")
    return make


class Evaluation(Results):
    """The metrics of a run; `log` is where its log is, and `status` how it ended: `success`, `error` or `cancelled`."""

    __slots__ = ("error", "log", "status")
    log: str
    status: str
    error: str | None

    def __init__(self, report: _core.Report, log: str, status: str = "success", error: str | None = None) -> None:
        super().__init__(report)
        self._set(log=log, status=status, error=error)


def eval(
    task: Task | Callable[..., Task],
    model: ModelLike | None = None,
    *,
    task_args: Mapping[str, Any] | None = None,
    model_base_url: str | None = None,
    model_roles: Mapping[str, ModelLike] | None = None,
    solver: Any = None,
    scorer: Any = None,
    metric: Metrics = None,
    epochs: int | Epochs | None = None,
    reducer: Reducers = None,
    limit: int | None = None,
    sample_id: str | int | Iterable[str | int] | None = None,
    seed: int = 0,
    tags: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
    log_dir: str | os.PathLike[str] = "logs",
    resume: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    max_connections: int | None = None,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    max_retries: int | None = None,
    timeout: float | None = None,
    price: Mapping[str, tuple[float, float]] | None = None,
    time_limit: float | None = None,
    token_limit: int | None = None,
    cost_limit: float | None = None,
    message_limit: int | None = None,
    budget: float | None = None,
    max_samples: int | None = None,
    fail_on_error: FailOnError | None = None,
    retry_on_error: int | None = None,
    display: bool | None = None,
) -> Evaluation:
    """Runs a task and returns its metrics. The log is written while it runs, and holds all that was asked and answered.

    Options have the names of the flags of `calipers eval`, and stand in place of what the task says. Solvers and scorers in Python run
    on one event loop. On a terminal a line shows how far the run has come (`display`). Ctrl-C ends the run; the log keeps what has
    been done, and `resume` goes on with it. A run that does not come to its end raises `EvaluationError`.
    """
    if isinstance(task, (str, os.PathLike)):
        hint = f"import its task and pass that, or run `calipers eval {os.fspath(task)}` on the command line"
        raise UsageError("a task is an object, and this is the name of a file", hint=hint)
    if not isinstance(task, Task):
        if not callable(task):
            raise UsageError(f"a `{type(task).__name__}` is no task", hint="pass a `Task`, or a function that makes one")
        task = task(**dict(task_args or {}))
    elif task_args:
        raise UsageError("`task_args` are for a function that makes a task", hint="pass the function, or leave them out")
    choices = task_choices(
        task,
        model=model,
        model_roles=model_roles,
        solver=solver,
        scorer=scorer,
        metric=metric,
        epochs=epochs,
        reducer=reducer,
        config={"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "reasoning_effort": reasoning_effort},
        limits={
            "time_limit": time_limit,
            "token_limit": token_limit,
            "cost_limit": cost_limit,
            "message_limit": message_limit,
        },
        fail_on_error=fail_on_error,
        retry_on_error=retry_on_error,
        tags=tags,
        metadata=metadata,
    )
    if not choices["scorers"]:
        raise UsageError(f"nothing scores the answers of `{choices['name']}`", hint="give the task a `scorer`")
    ids = [sample_id] if isinstance(sample_id, (str, int)) else list(sample_id or ())
    run = {
        "limit": limit,
        "sample_id": [str(one) for one in ids],
        "seed": seed,
        "log_dir": os.fspath(log_dir),
        "task_file": task.file,
        "task_args": {name: _plain(value) for name, value in task.parameters.items()},
        "max_samples": max_samples,
        "max_connections": max_connections,
        "max_retries": max_retries,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "timeout": timeout,
        "budget": budget,
        "price": [(str(name), float(prices[0]), float(prices[1])) for name, prices in (price or {}).items()],
        "model_base_url": model_base_url,
        "cache": None if cache is None else os.fspath(cache),
        "resume": None if resume is None else os.fspath(resume),
        "display": sys.stderr is not None and sys.stderr.isatty() if display is None else bool(display),
    }
    from ._event_loop import EventLoop

    with EventLoop() as event_loop:
        report, log, status, why, cause = _core.run_task(choices, run, event_loop.calls)
    done = Evaluation(report, os.fspath(log), status, why)
    if status != "success":
        hint = f"go on with `calipers.eval(…, resume={done.log!r})`; `fail_on_error=False` lets the others run on"
        raise EvaluationError(f"the run did not come to its end: {why}", done, hint=hint) from cause
    return done


def task_choices(
    task: Task,
    *,
    model: ModelLike | None = None,
    model_roles: Mapping[str, ModelLike] | None = None,
    solver: Any = None,
    scorer: Any = None,
    metric: Metrics = None,
    epochs: int | Epochs | None = None,
    reducer: Reducers = None,
    config: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    fail_on_error: FailOnError | None = None,
    retry_on_error: int | None = None,
    tags: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A task in the form that the library takes, with what is said in place of it."""
    metrics = task.metrics if metric is None else metric
    tried = _epochs(task.epochs if epochs is None else epochs)
    reducers = reducer if reducer is not None else None if tried is None else tried.reducer
    count = 1 if tried is None and reducer is not None else None if tried is None else tried.epochs
    of_task = {name: getattr(task, name) for name in ("time_limit", "token_limit", "cost_limit", "message_limit")}
    given = {name: value for name, value in (limits or {}).items() if value is not None}
    told = {name: value for name, value in (config or {}).items() if value is not None}
    steps = flatten(task.setup) + flatten(task.solver) if solver is None else flatten(solver)
    roles = {**task.model_roles, **dict(model_roles or {})}
    about = {**(task.metadata or {}), **dict(metadata or {})}
    return {
        "name": task.name or "task",
        "dataset": task.dataset.name,
        "samples": [sample.to_choice() for sample in task.dataset],
        "solvers": [_solver(one) for one in steps],
        "scorers": [_scorer(one) for one in _list(task.scorer if scorer is None else scorer)],
        "metrics": None if metrics is None else metric_choices(metrics),
        "epochs": count,
        "reducer": reducer_choices(reducers),
        "model": model_choice(task.model if model is None else model),
        "model_roles": [(role, model_choice(one)) for role, one in roles.items()],
        "config": {**config_parts(task.config), **told},
        "limits": {**of_task, **given},
        "fail_on_error": task.fail_on_error if fail_on_error is None else fail_on_error,
        "retry_on_error": retry_on_error or 0,
        "version": task.version,
        "tags": [*task.tags, *strings(tags)],
        "metadata": about or None,
    }


def _plain(value: Any) -> Any:
    """A parameter of a task, for the log."""
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def _epochs(given: int | Epochs | None) -> Epochs | None:
    return Epochs(given) if isinstance(given, int) else given


def _list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _solver(given: Any) -> Any:
    if isinstance(given, NamedSolver):
        return given.name, given.parameters
    given = _made(given, "solver factory")
    if isinstance(given, NamedSolver):
        return given.name, given.parameters
    if not callable(given) or isinstance(given, Named):
        raise UsageError(f"`{given!r}` is no solver", hint="pass one of `calipers.solver`, or a function of state and `generate`")
    return str(getattr(given, NAME, None) or getattr(given, "__name__", type(given).__name__)), given


def _made(given: Any, kind: str) -> Any:
    """What a factory makes, where the factory itself was passed."""
    return given() if getattr(given, KIND, None) == kind else given


def _scorer(given: Any) -> Any:
    given = _made(given, "scorer factory")
    if isinstance(given, Named) and not isinstance(given, NamedSolver):
        return given.name, given.parameters
    if not callable(given):
        raise UsageError(f"`{given!r}` is no scorer", hint="pass one of `calipers.scorer`, or a function of state and target")
    name = getattr(given, NAME, None) or getattr(given, "__name__", "scorer")
    metrics = getattr(given, "__calipers_metrics__", None)
    return str(name), given, metric_choices(["accuracy", "stderr"] if metrics is None else metrics)
