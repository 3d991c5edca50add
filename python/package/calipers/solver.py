"""Solvers: the steps between a question and its answer; and the state that scorers look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ._named import Named

__all__ = [
    "ChatMessage",
    "ModelOutput",
    "Solver",
    "Target",
    "TaskState",
    "assistant_message",
    "chain_of_thought",
    "generate",
    "multiple_choice",
    "prompt_template",
    "self_critique",
    "system_message",
    "user_message",
]

#: A solver.
Solver = Named


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


class ChatMessage:
    """One message of a conversation."""

    __slots__ = ("content", "role")

    def __init__(self, role: str, content: str) -> None:
        self.role = role
        self.content = content

    @property
    def text(self) -> str:
        """What it says."""
        return self.content

    def __repr__(self) -> str:
        return f"ChatMessage(role={self.role!r}, content={self.content!r})"


class ModelOutput:
    """The latest answer of the model."""

    __slots__ = ("completion", "model")

    def __init__(self, model: str, completion: str) -> None:
        self.model = model
        self.completion = completion

    @property
    def message(self) -> ChatMessage:
        """The answer as a message."""
        return ChatMessage("assistant", self.completion)

    def __repr__(self) -> str:
        return f"ModelOutput(model={self.model!r}, completion={self.completion!r})"


class Choice:
    """One of the answers to choose from: what it says, and whether the model chose it."""

    __slots__ = ("correct", "value")

    def __init__(self, value: str, correct: bool | None) -> None:
        self.value = value
        self.correct = correct


class TaskState:
    """The state of an attempt, as scorers see it."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.sample_id: int | str = about["sample_id"]
        self.epoch: int = about["epoch"]
        self.input: str = about["input"]
        self.target = Target(about["target"])
        self.output = ModelOutput(about["model"], about["completion"])
        self.messages = [ChatMessage(role, content) for role, content in about["messages"]]
        self.choices = [Choice(value, correct) for value, correct in about["choices"]]
        self.metadata: dict[str, Any] = about["metadata"]
        self.completed: bool = about["completed"]
        self.model: str = about["model"]

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

    def __iter__(self) -> Iterator[ChatMessage]:
        return iter(self.messages)

    def __repr__(self) -> str:
        return f"<TaskState of sample {self.sample_id!r}, epoch {self.epoch}>"


def generate(**config: Any) -> Solver:
    """Asks the model, and adds its answer to the conversation."""
    return Named("generate", **config)


def system_message(template: str, **params: Any) -> Solver:
    """Adds a system message."""
    return Named("system_message", template=template, **params)


def user_message(template: str, **params: Any) -> Solver:
    """Adds a message of the user."""
    return Named("user_message", template=template, **params)


def assistant_message(template: str, **params: Any) -> Solver:
    """Adds a message of the assistant."""
    return Named("assistant_message", template=template, **params)


def prompt_template(template: str, **params: Any) -> Solver:
    """Puts the question into a template, as `{prompt}`."""
    return Named("prompt_template", template=template, **params)


def chain_of_thought(template: str | None = None) -> Solver:
    """Asks the model to reason first."""
    return Named("chain_of_thought", template=template)


def multiple_choice(
    *, template: str | None = None, cot: bool = False, multiple_correct: bool = False, max_tokens: int | None = None
) -> Solver:
    """Shows the choices with letters, asks the model, and marks what it chose."""
    return Named(
        "multiple_choice", template=template, cot=cot or None, multiple_correct=multiple_correct or None, max_tokens=max_tokens
    )


def self_critique(
    critique_template: str | None = None, completion_template: str | None = None, model: str | None = None
) -> Solver:
    """Has the answer criticised, and asks for a better one."""
    return Named("self_critique", critique_template=critique_template, completion_template=completion_template, model=model)
