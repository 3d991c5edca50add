"""Messages, answers of models, and models that code in Python asks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Union

from ._errors import UsageError

__all__ = [
    "ChatMessage",
    "ChatMessageAssistant",
    "ChatMessageSystem",
    "ChatMessageTool",
    "ChatMessageUser",
    "GenerateConfig",
    "Model",
    "ModelOutput",
    "ModelUsage",
    "get_model",
]

#: Why a model stopped.
StopReason = Literal["stop", "max_tokens", "tool_calls", "content_filter", "unknown"]


class ChatMessage:
    """One message of a conversation: who speaks, and what is said."""

    __slots__ = ("_place", "content", "role")
    role: str
    content: str

    def __init__(self, role: str, content: str, *, _place: int | None = None) -> None:
        self.role = role
        self.content = content
        self._place = _place

    @property
    def text(self) -> str:
        """What it says."""
        return self.content

    @text.setter
    def text(self, text: str) -> None:
        self.content = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChatMessage) and (self.role, self.content) == (other.role, other.content)

    def __hash__(self) -> int:
        return hash((self.role, self.content))

    def __repr__(self) -> str:
        return f"ChatMessage(role={self.role!r}, content={self.content!r})"


class ChatMessageSystem(ChatMessage):
    """Instructions."""

    __slots__ = ()

    def __init__(self, content: str, role: Literal["system"] = "system") -> None:
        super().__init__(role, content)


class ChatMessageUser(ChatMessage):
    """A question."""

    __slots__ = ()

    def __init__(self, content: str, role: Literal["user"] = "user") -> None:
        super().__init__(role, content)


class ChatMessageAssistant(ChatMessage):
    """An answer of the model."""

    __slots__ = ()

    def __init__(self, content: str, role: Literal["assistant"] = "assistant") -> None:
        super().__init__(role, content)


class ChatMessageTool(ChatMessage):
    """What a tool said."""

    __slots__ = ()

    def __init__(self, content: str, role: Literal["tool"] = "tool") -> None:
        super().__init__(role, content)


_CLASSES: dict[str, type[ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
    "tool": ChatMessageTool,
}


def message_of(role: str, content: str, place: int | None = None) -> ChatMessage:
    """A message of the class of its role. `place` is where the library knows it from."""
    message = ChatMessage.__new__(_CLASSES.get(role, ChatMessage))
    ChatMessage.__init__(message, role, content, _place=place)
    return message


def to_messages(given: Any) -> list[ChatMessage]:
    """A conversation: a text of the user, a message, or several messages or dicts."""
    if isinstance(given, str):
        return [ChatMessageUser(given)]
    if isinstance(given, ChatMessage):
        return [given]
    return [_message(one) for one in given]


def _message(given: Any) -> ChatMessage:
    if isinstance(given, ChatMessage):
        return given
    role, content = (given["role"], given["content"]) if isinstance(given, dict) else (given.role, given.content)
    if not isinstance(content, str):
        raise UsageError("a message that is no text is not sent", hint="tasks with images and tools belong to Inspect")
    return message_of(str(role), content)


def message_parts(messages: Iterable[Any]) -> list[tuple[str, str, int | None]]:
    """A conversation in the form that the library takes."""
    parts = []
    for message in map(_message, messages):
        parts.append((message.role, str(message.content), message._place))
    return parts


class ModelUsage:
    """The tokens of an answer."""

    __slots__ = ("input_tokens", "output_tokens", "total_tokens")

    def __init__(self, input_tokens: int = 0, output_tokens: int = 0, total_tokens: int = 0) -> None:
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.total_tokens = total_tokens

    def __repr__(self) -> str:
        return f"ModelUsage({self.input_tokens}, {self.output_tokens}, {self.total_tokens})"


class ModelOutput:
    """An answer of a model."""

    __slots__ = ("completion", "model", "stop_reason", "time", "usage")

    def __init__(
        self,
        model: str = "",
        completion: str = "",
        stop_reason: StopReason = "stop",
        usage: ModelUsage | None = None,
        time: float | None = None,
    ) -> None:
        self.model = model
        self.completion = completion
        self.stop_reason = stop_reason
        self.usage = usage
        self.time = time

    @staticmethod
    def from_content(model: str, content: str, stop_reason: StopReason = "stop") -> ModelOutput:
        """An answer with this text."""
        return ModelOutput(model, content, stop_reason)

    @property
    def message(self) -> ChatMessageAssistant:
        """The answer as a message."""
        return ChatMessageAssistant(self.completion)

    @property
    def empty(self) -> bool:
        """True if nothing was answered."""
        return not self.model and not self.completion

    def __repr__(self) -> str:
        return f"ModelOutput(model={self.model!r}, completion={self.completion!r})"


def output_of(about: dict[str, Any] | None) -> ModelOutput:
    """An answer of the library."""
    if about is None:
        return ModelOutput()
    usage = about["usage"]
    return ModelOutput(
        about["model"],
        about["completion"],
        about["stop_reason"],
        None if usage is None else ModelUsage(*usage),
        about["time"],
    )


def output_parts(output: Any) -> tuple[str, str, str]:
    """An answer in the form that the library takes."""
    if isinstance(output, str):
        return "", output, "stop"
    return str(output.model), str(output.completion), str(getattr(output, "stop_reason", "stop"))


class GenerateConfig:
    """How a model is to answer: `temperature`, `top_p`, `max_tokens`, `stop_seqs`, `seed` and `reasoning_effort`."""

    KNOWN = ("temperature", "top_p", "max_tokens", "stop_seqs", "seed", "reasoning_effort")

    def __init__(self, **config: Any) -> None:
        for name in config:
            if name not in self.KNOWN:
                known = ", ".join(self.KNOWN)
                raise UsageError(f"models are not told `{name}` here", hint=f"use {known}")
        self.given = {name: value for name, value in config.items() if value is not None}

    def __getattr__(self, name: str) -> Any:
        if name in self.KNOWN:
            return self.given.get(name)
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"GenerateConfig({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"


def config_parts(config: Any) -> dict[str, Any]:
    """How a model is to answer, in the form that the library takes."""
    if config is None:
        return {}
    given: dict[str, Any] = config.given if isinstance(config, GenerateConfig) else GenerateConfig(**dict(config)).given
    return given


#: What answers in place of a model: answers in turn, or a function of the messages and the configuration.
Outputs = Union[Iterable[Union[ModelOutput, str]], Callable[..., Any]]


class Model:
    """A model by its name or role. Code in Python asks it while a task runs: `await get_model().generate("…")`."""

    def __init__(self, name: str | None, outputs: Outputs | None = None, config: Any = None) -> None:
        self.name = name
        self.outputs = outputs
        self.config = config_parts(config)
        self._turns: Iterator[Any] | None = None

    async def generate(self, input: str | Sequence[Any], *, config: Any = None, **options: Any) -> ModelOutput:
        """Asks it. `input` is a text or messages."""
        from ._event_loop import ask_model

        told = {**self.config, **config_parts(config), **config_parts(options)}
        return await ask_model(message_parts(to_messages(input)), told, self.name)

    def to_choice(self) -> Any:
        """The model in the form that the library takes."""
        if self.outputs is None:
            return self.name
        return self.name or "mockllm/model", self._answer

    async def _answer(self, messages: list[ChatMessage]) -> tuple[str, str, str]:
        outputs = self.outputs
        if callable(outputs):
            # As in Inspect: the messages, tools, which of them to use, and the configuration.
            given = outputs(messages, [], "auto", GenerateConfig(**self.config))
            given = await given if inspect.isawaitable(given) else given
        else:
            if self._turns is None:
                self._turns = iter(outputs or ())
            try:
                given = next(self._turns)
            except StopIteration:
                raise ValueError("custom_outputs ran out of values") from None
        return output_parts(given)

    def __str__(self) -> str:
        return self.name or "the model of the task"

    def __repr__(self) -> str:
        return f"<Model {self}>"


def get_model(
    model: str | Model | None = None,
    *,
    role: str | None = None,
    default: str | Model | None = None,
    config: Any = None,
    custom_outputs: Outputs | None = None,
) -> Model:
    """A model by its name, such as `openai/gpt-4o`, or by its role in the task, such as `grader`.

    Without either it is the model of the task. `custom_outputs` answers in place of a model: answers in turn, or a function of the
    messages.
    """
    if isinstance(model, Model):
        return model
    if model is None and role is None and default is not None:
        return get_model(default, config=config)
    return Model(model or role, custom_outputs, config)


def model_choice(given: str | Model | None) -> Any:
    """A model in the form that the library takes."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Model):
        return given.to_choice()
    raise UsageError(f"a `{type(given).__name__}` is no model", hint='write its name, such as "openai/gpt-4o"')
