"""Samples: what is asked, and what is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Union

__all__ = ["MemoryDataset", "Sample"]


class Sample:
    """One question: what is asked, and what is right.

    `input` is a text, or messages as dicts with `role` and `content`. `target` is the right answer, or several; for choices, the
    letters.
    """

    def __init__(
        self,
        input: str | Sequence[Any],
        choices: Sequence[str] | None = None,
        target: str | Sequence[str] = "",
        id: int | str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.input = input
        self.choices = choices
        self.target = target
        self.id = id
        self.metadata = metadata

    def to_choice(self) -> dict[str, Any]:
        """The sample in the form that the library takes."""
        target = [self.target] if isinstance(self.target, str) else list(self.target)
        return {
            "input": self.input if isinstance(self.input, str) else [_message(message) for message in self.input],
            "target": [text for text in target if text != ""] if target != [""] else [],
            "choices": list(self.choices or ()),
            "id": self.id,
            "metadata": self.metadata,
        }

    def __repr__(self) -> str:
        return f"Sample(input={self.input!r}, target={self.target!r}, id={self.id!r})"


def _message(message: Any) -> tuple[str, str]:
    if isinstance(message, dict):
        return str(message["role"]), str(message["content"])
    return str(message.role), str(message.content)


class MemoryDataset:
    """Samples in memory, under a name."""

    def __init__(self, samples: Iterable[Sample], name: str | None = None) -> None:
        self.samples = list(samples)
        self.name = name

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, place: Union[int, slice]) -> Any:
        return self.samples[place]
