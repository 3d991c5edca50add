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


class NamedSolver(Named):
    """A solver of the library. Solvers in Python call it as they call one another: `state = await solver(state, generate)`."""

    async def __call__(self, state: Any, generate: Any = None) -> Any:
        from ._event_loop import ask_solver

        return await ask_solver(self.name, self.parameters, state)


class NamedScorer(Named):
    """A scorer of the library. Scorers in Python call it as they call one another: `score = await scorer(state, target)`."""

    async def __call__(self, state: Any, target: Any) -> Any:
        from . import _core
        from ._event_loop import ask_scorer, is_running

        state = state._with_target(target)
        if is_running():
            return await ask_scorer(self.name, self.parameters, state)
        return _core.Scorer(self.name, self.parameters).score(state._parts(), state.input_text)
