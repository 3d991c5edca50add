"""Scorers in place of Inspect's: those of the library, on Inspect's states."""

# Inspect reads the annotations of scorers, so they are not postponed here.

import re
from collections.abc import Callable
from typing import Any, Literal

from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import TaskState

from .. import _core
from .._errors import CalipersError
from ._twins import drop_in


#: Says of an answer and its targets whether versions of Inspect differ on them.
Differs = Callable[[str, list[str]], bool]


def _scorer(twin: Any, name: str, parameters: dict[str, Any], differs: Differs = lambda said, targets: False) -> Scorer:
    """A scorer of the library. Where versions of Inspect differ, the one that is installed has the word."""
    try:
        ours = _core.Scorer(name, parameters)
    except CalipersError:
        ours = None  # Such as a pattern that only Python reads.

    async def score(state: TaskState, target: Target) -> Score:
        found = None if ours is None or differs(state.output.completion, list(target)) else grade(ours, state, target)
        if found is None:
            theirs: Score = await twin(state, target)
            return theirs
        return Score(value=found.value, answer=found.answer, explanation=found.explanation)

    return score


def grade(ours: _core.Scorer, state: TaskState, target: Target) -> _core.Score | None:
    """The score of an answer; nothing if there is no answer, no target, or a target that makes no sense: versions differ there too."""
    choices = [(choice.value, choice.correct, choice.original_position) for choice in state.choices]
    try:
        found = ours.grade(state.output.completion, list(target), choices)
    except CalipersError:
        return None
    # A reason beside a score says that there was no answer to look at.
    return None if found.value != found.value or found.metadata else found


@drop_in("scorer")
def match(
    twin: Any,
    location: Literal["begin", "end", "any", "exact"] = "end",
    *,
    ignore_case: bool = True,
    numeric: bool = False,
) -> Scorer:
    def differs(said: str, targets: list[str]) -> bool:
        # `(42)` is a number in newer versions only.
        return numeric and any(sign in text for text in (said, *targets) for sign in "!?:;()[]{}'\"`")

    return _scorer(twin, "match", {"location": location, "ignore_case": ignore_case, "numeric": numeric}, differs)


@drop_in("scorer")
def includes(twin: Any, ignore_case: bool = True) -> Scorer:
    return _scorer(twin, "includes", {"ignore_case": ignore_case})


@drop_in("scorer")
def pattern(twin: Any, pattern: str, ignore_case: bool = True, match_all: bool = False) -> Scorer:
    def differs(said: str, targets: list[str]) -> bool:
        # A pattern without groups finds nothing in older versions, and all that it matches in newer ones.
        return re.compile(pattern).groups == 0

    text = str(getattr(pattern, "value", pattern))
    return _scorer(twin, "pattern", {"pattern": text, "ignore_case": ignore_case, "match_all": match_all}, differs)


@drop_in("scorer")
def answer(twin: Any, pattern: Literal["letter", "word", "line"]) -> Scorer:
    return _scorer(twin, "answer", {"pattern": pattern})


@drop_in("scorer")
def choice(twin: Any) -> Scorer:
    def differs(said: str, targets: list[str]) -> bool:
        # `10` is two choices in older versions.
        return any(sign.isdigit() for text in targets for sign in text)

    return _scorer(twin, "choice", {}, differs)
