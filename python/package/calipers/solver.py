"""Solvers: the steps between a question and its answer; and the state that solvers and scorers look at."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar, Union, overload

from ._errors import UsageError
from ._metrics import KIND, NAME
from ._named import NamedSolver
from .model import (
    ChatMessage as ChatMessage,
    ChatMessageUser,
    ModelOutput as ModelOutput,
    config_parts,
    message_of,
    message_parts,
    output_of,
    output_parts,
)

__all__ = [
    "ChatMessage",
    "Choice",
    "Choices",
    "Generate",
    "ModelOutput",
    "Solver",
    "Store",
    "Target",
    "TaskState",
    "assistant_message",
    "chain",
    "chain_of_thought",
    "generate",
    "multiple_choice",
    "prompt_template",
    "self_critique",
    "solver",
    "system_message",
    "user_message",
]

Factory = TypeVar("Factory", bound=Callable[..., Any])

#: A solver: one of the library, or a function of the state and of `generate`, which may be async.
Solver = Union[NamedSolver, Callable[..., Any]]


class Target(Sequence[str]):
    """The right answers of a sample."""

    def __init__(self, target: str | Sequence[str]) -> None:
        self.target = [target] if isinstance(target, str) else list(target)

    def __getitem__(self, place: Any) -> Any:
        return self.target[place]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def text(self) -> str:
        """All of them as one text."""
        return "".join(self.target)

    def __repr__(self) -> str:
        return f"Target({self.target!r})"


class Choice:
    """One of the answers to choose from: what it says, and whether the model chose it."""

    __slots__ = ("correct", "original_position", "value")

    def __init__(self, value: str, correct: bool | None = None, original_position: int = 0) -> None:
        self.value = value
        self.correct = correct
        self.original_position = original_position

    def __repr__(self) -> str:
        return f"Choice({self.value!r}, correct={self.correct!r})"


class Choices(Sequence[Choice]):
    """The answers to choose from, in the order in which they are shown."""

    def __init__(self, choices: Sequence[str | Choice]) -> None:
        self._choices = [
            one if isinstance(one, Choice) else Choice(one, None, place) for place, one in enumerate(choices)
        ]

    def mark_choice(self, index: int, correct: bool) -> None:
        """Notes whether the model chose one."""
        self._choices[index].correct = correct

    def shuffle(self, rand: Random | None = None) -> None:
        """Puts them into another order. The target stays as it is: scorers look up the first order."""
        (rand or Random()).shuffle(self._choices)

    def __getitem__(self, place: Any) -> Any:
        return self._choices[place]

    def __len__(self) -> int:
        return len(self._choices)

    def __repr__(self) -> str:
        return f"Choices({self._choices!r})"


class Store:
    """What solvers keep for each other and for scorers."""

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self._data: dict[str, Any] = dict(data or {})

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key. A default becomes the value."""
        if default is not None:
            return self._data.setdefault(key, default)
        return self._data.get(key)

    def set(self, key: str, value: Any) -> None:
        """Sets the value of a key."""
        self._data[key] = value

    def delete(self, key: str) -> None:
        """Removes a key."""
        self._data.pop(key, None)

    def keys(self) -> Any:
        """The keys."""
        return self._data.keys()

    def values(self) -> Any:
        """The values."""
        return self._data.values()

    def items(self) -> Any:
        """Keys and values."""
        return self._data.items()

    def __contains__(self, key: object) -> bool:
        return key in self._data

    def __repr__(self) -> str:
        return f"Store({self._data!r})"


class TaskState:
    """The state of an attempt, which solvers change and scorers look at."""

    sample_id: int | str
    epoch: int
    input: str
    messages: list[ChatMessage]
    output: ModelOutput
    target: Target
    choices: Choices
    metadata: dict[str, Any]
    store: Store
    completed: bool

    def __init__(self, about: dict[str, Any]) -> None:
        self._take(about)

    @classmethod
    def of(
        cls,
        input: str,
        output: str | ModelOutput = "",
        *,
        target: str | Sequence[str] = "",
        choices: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        sample_id: int | str = 1,
        epoch: int = 1,
        model: str = "mockllm/model",
    ) -> TaskState:
        """The state after an answer, to try out a scorer."""
        answer = ModelOutput(model, output) if isinstance(output, str) else output
        state = cls.__new__(cls)
        state.sample_id, state.epoch, state.input = sample_id, epoch, input
        state.messages = [ChatMessageUser(input), answer.message]
        state.output, state.target, state.choices = answer, Target(target), Choices(choices)
        state.metadata, state.store, state.completed = dict(metadata or {}), Store(), False
        return state

    def _take(self, about: dict[str, Any]) -> None:
        """Takes over what the library says."""
        self.sample_id = about["sample_id"]
        self.epoch = about["epoch"]
        self.input = about["input"]
        self.target = Target(about["target"])
        self.output = output_of(about["output"])
        self.messages = [message_of(role, content, place) for role, content, place in about["messages"]]
        self.choices = Choices([Choice(*choice) for choice in about["choices"]])
        self.metadata = about["metadata"]
        self.store = Store(about["store"])
        self.completed = about["completed"]

    def _parts(self) -> dict[str, Any]:
        """The state in the form that the library takes."""
        output = self.output
        target = self.target
        return {
            "messages": message_parts(self.messages),
            "output": None if output.empty else output_parts(output),
            "completed": bool(self.completed),
            "target": [target] if isinstance(target, str) else [str(text) for text in target],
            "choices": [(one.value, one.correct, one.original_position) for one in self.choices],
            "metadata": self.metadata,
            "store": dict(self.store.items()),
        }

    def _with_target(self, target: Any) -> TaskState:
        """The same state with another target, for a scorer that is called by another."""
        other = TaskState.__new__(TaskState)
        other.__dict__.update(self.__dict__)
        other.target = target if isinstance(target, Target) else Target(target)
        return other

    @property
    def model(self) -> str:
        """The model that answered."""
        return self.output.model

    @property
    def input_text(self) -> str:
        """What was asked, as text."""
        return self.input

    @property
    def user_prompt(self) -> ChatMessage:
        """The last message of the user."""
        for message in reversed(self.messages):
            if message.role == "user":
                return message
        raise ValueError("user_prompt requested from TaskState but none available")

    def metadata_as(self, kind: Callable[..., Any]) -> Any:
        """The metadata as an object of a class."""
        return kind(**self.metadata)

    def __iter__(self) -> Iterator[ChatMessage]:
        return iter(self.messages)

    def __repr__(self) -> str:
        return f"<TaskState of sample {self.sample_id!r}, epoch {self.epoch}>"


class Generate:
    """What a solver in Python asks the model with: `state = await generate(state)`."""

    async def __call__(self, state: TaskState, **config: Any) -> TaskState:
        """Asks the model with the conversation of a state, and adds its answer."""
        from ._event_loop import ask_model

        if config.pop("tool_calls", None) not in (None, "none", "loop", "single"):
            raise UsageError("`tool_calls` is `loop`, `single` or `none`", hint="tasks with tools belong to Inspect")
        config.pop("cache", None)  # Answers are kept where the run says: `calipers.eval(cache=…)`.
        state.output = await ask_model(message_parts(state.messages), config_parts(config), None)
        state.messages.append(state.output.message)
        return state


@overload
def solver(factory: Factory) -> Factory: ...
@overload
def solver(factory: str | None = None, *, name: str | None = None) -> Callable[[Factory], Factory]: ...
def solver(factory: Any = None, *, name: str | None = None) -> Any:
    """Decorates a function that makes a solver, or a class whose objects are solvers.

        @solver
        def ask_twice():
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                state = await generate(state)
                state.messages.append(ChatMessageUser(content="Are you sure?"))
                return await generate(state)

            return solve
    """
    if factory is None or isinstance(factory, str):
        called = factory or name
        return lambda factory: _named_solver(factory, called or factory.__name__)
    return _named_solver(factory, name or factory.__name__)


def _named_solver(factory: Any, name: str) -> Any:
    @functools.wraps(factory, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        made = factory(*args, **kwargs)
        if isinstance(made, (NamedSolver, Chain)):
            return made
        if not callable(made):
            raise UsageError(f"`{name}` makes no solver", hint="return a function of the state and of `generate`")
        try:
            setattr(made, NAME, name)
            setattr(made, KIND, "solver")
        except AttributeError:
            pass  # What takes no attributes is called by its own name.
        return made

    setattr(make, NAME, name)
    setattr(make, KIND, "solver factory")
    return make


class Chain(Sequence[Any]):
    """Solvers, one after the other."""

    def __init__(self, solvers: Sequence[Any]) -> None:
        self._solvers = list(solvers)

    def __getitem__(self, place: Any) -> Any:
        return self._solvers[place]

    def __len__(self) -> int:
        return len(self._solvers)

    async def __call__(self, state: TaskState, generate: Generate) -> TaskState:
        for one in self._solvers:
            if state.completed:
                break
            given = one(state, generate)
            given = await given if inspect.isawaitable(given) else given
            state = state if given is None else given
        return state


def chain(*solvers: Any) -> Chain:
    """Solvers, one after the other, as one. Lists of solvers and chains are taken apart."""
    return Chain(flatten(solvers))


def flatten(given: Any) -> list[Any]:
    """The solvers of lists and chains, in order."""
    if given is None:
        return []
    if isinstance(given, (list, tuple, Chain)):
        return [one for part in given for one in flatten(part)]
    return [given]


def generate(**config: Any) -> Solver:
    """Asks the model, and adds its answer to the conversation."""
    return NamedSolver("generate", **config)


def system_message(template: str, **params: Any) -> Solver:
    """Adds a system message."""
    return NamedSolver("system_message", template=template, **params)


def user_message(template: str, **params: Any) -> Solver:
    """Adds a message of the user."""
    return NamedSolver("user_message", template=template, **params)


def assistant_message(template: str, **params: Any) -> Solver:
    """Adds a message of the assistant."""
    return NamedSolver("assistant_message", template=template, **params)


def prompt_template(template: str, **params: Any) -> Solver:
    """Puts the question into a template, as `{prompt}`."""
    return NamedSolver("prompt_template", template=template, **params)


def chain_of_thought(template: str | None = None) -> Solver:
    """Asks the model to reason first."""
    return NamedSolver("chain_of_thought", template=template)


def multiple_choice(
    *,
    template: str | None = None,
    cot: bool = False,
    multiple_correct: bool = False,
    max_tokens: int | None = None,
    shuffle: bool = False,
) -> Solver:
    """Shows the choices with letters, asks the model, and marks what it chose."""
    return NamedSolver(
        "multiple_choice",
        template=template,
        cot=cot or None,
        multiple_correct=multiple_correct or None,
        max_tokens=max_tokens,
        shuffle=shuffle or None,
    )


def self_critique(
    critique_template: str | None = None, completion_template: str | None = None, model: str | None = None
) -> Solver:
    """Has the answer criticised, and asks for a better one."""
    return NamedSolver(
        "self_critique", critique_template=critique_template, completion_template=completion_template, model=model
    )


# What Inspect has, and what needs tools, sandboxes or agents.
_OTHERS = ("basic_agent", "bridge", "fork", "human_agent", "plan", "use_tools")


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        raise ImportError(f"`{name}` belongs to Inspect: run the task there, with the metrics of `calipers.inspect`")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
