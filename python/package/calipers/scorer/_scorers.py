"""Scorers: those of the library, and functions in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, Union

from .._metrics import KIND, NAME
from .._named import Named
from ..solver import Target as Target

Factory = TypeVar("Factory", bound=Callable[..., Any])

#: A scorer: one of the library, or a function of the state and the target, which may be async.
Scorer = Union[Named, Callable[..., Any]]


def scorer(metrics: Sequence[Any] | dict[str, Any], *, name: str | None = None) -> Callable[[Factory], Factory]:
    """Decorates a function that makes a scorer, with the metrics of its scores.

        @scorer(metrics=[mean(), stderr()])
        def word_overlap():
            async def score(state: TaskState, target: Target) -> Score:
                ...

            return score
    """

    def decorate(factory: Any) -> Any:
        called = name or factory.__name__

        @functools.wraps(factory)
        def make(*args: Any, **kwargs: Any) -> Any:
            made = factory(*args, **kwargs)
            if isinstance(made, Named):
                return made
            setattr(made, NAME, called)
            setattr(made, KIND, "scorer")
            setattr(made, "__calipers_metrics__", metrics if isinstance(metrics, dict) else list(metrics))
            return made

        return make

    return decorate


def choice() -> Scorer:
    """Is the choice that the model marked the right one?"""
    return Named("choice")


def match(
    location: Literal["begin", "end", "any", "exact"] = "end", *, ignore_case: bool = True, numeric: bool = False
) -> Scorer:
    """Is the target at the end of the answer, at its beginning, anywhere in it, or the whole answer?"""
    return Named("match", location=location, ignore_case=ignore_case, numeric=numeric)


def includes(ignore_case: bool = True) -> Scorer:
    """Is the target somewhere in the answer?"""
    return Named("includes", ignore_case=ignore_case)


def exact() -> Scorer:
    """Is the answer the target, ignoring case, punctuation and articles?"""
    return Named("exact")


def pattern(pattern: str, ignore_case: bool = True, match_all: bool = False) -> Scorer:
    """Is what a pattern finds in the answer the target?"""
    return Named("pattern", pattern=pattern, ignore_case=ignore_case, match_all=match_all)


def answer(pattern: Literal["letter", "word", "line"]) -> Scorer:
    """Is what follows `ANSWER:` the target?"""
    return Named("answer", pattern=pattern)
