"""Solvers and scorers of the library."""

from __future__ import annotations

from typing import Any


class Named:
    """A solver or a scorer of the library, by its name and parameters."""

    def __init__(self, name: str, **parameters: Any) -> None:
        self.name = name
        self.parameters = {key: value for key, value in parameters.items() if value is not None}

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.parameters.items())})"
