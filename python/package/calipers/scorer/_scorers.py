"""Scorers: those of the library, and functions in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, Union

from .._errors import UsageError
from .._metrics import KIND, NAME
from .._named import Named, NamedScorer
from ..model import Model
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

        setattr(make, NAME, called)
        setattr(make, KIND, "scorer factory")
        return make

    return decorate


class AnswerPattern:
    """Patterns that find what follows the last `ANSWER:`, for `pattern()`."""

    LETTER = r"(?is)\A.*ANSWER\s*:\s*([A-Za-z])(?!\w)"
    WORD = r"(?is)\A.*ANSWER\s*:\s*(\w+)"
    LINE = r"(?is)\A.*ANSWER\s*:\s*([^\n]+)"


def choice() -> Scorer:
    """Is the choice that the model marked the right one?"""
    return NamedScorer("choice")


def match(
    location: Literal["begin", "end", "any", "exact"] = "end", *, ignore_case: bool = True, numeric: bool = False
) -> Scorer:
    """Is the target at the end of the answer, at its beginning, anywhere in it, or the whole answer?"""
    return NamedScorer("match", location=location, ignore_case=ignore_case, numeric=numeric)


def includes(ignore_case: bool = True) -> Scorer:
    """Is the target somewhere in the answer?"""
    return NamedScorer("includes", ignore_case=ignore_case)


def exact() -> Scorer:
    """Is the answer the target, ignoring case, punctuation and articles?"""
    return NamedScorer("exact")


def pattern(pattern: str, ignore_case: bool = True, match_all: bool = False) -> Scorer:
    """Is what a pattern finds in the answer the target?"""
    return NamedScorer("pattern", pattern=pattern, ignore_case=ignore_case, match_all=match_all)


def answer(pattern: Literal["letter", "word", "line"]) -> Scorer:
    """Is what follows `ANSWER:` the target?"""
    return NamedScorer("answer", pattern=pattern)


def f1(answer_fn: None = None, stop_words: Sequence[str] | None = None) -> Scorer:
    """How many words the answer and the target share: the F1 score of the words."""
    if answer_fn is not None:
        raise UsageError("`f1` takes no function here", hint="write a scorer that prepares the answer, and calls `f1()`")
    return NamedScorer("f1", stop_words=None if stop_words is None else list(stop_words))


def model_graded_qa(
    template: str | None = None,
    instructions: str | None = None,
    grade_pattern: str | None = None,
    include_history: bool = False,
    partial_credit: bool = False,
    model: str | Model | Sequence[str | Model] | None = None,
    model_role: str | None = "grader",
) -> Scorer:
    """A model, or the majority of several, says whether the answer meets the criterion in the target."""
    return _graded(
        "model_graded_qa", template, instructions, grade_pattern, include_history, partial_credit, model, model_role
    )


def model_graded_fact(
    template: str | None = None,
    instructions: str | None = None,
    grade_pattern: str | None = None,
    include_history: bool = False,
    partial_credit: bool = False,
    model: str | Model | Sequence[str | Model] | None = None,
    model_role: str | None = "grader",
) -> Scorer:
    """A model, or the majority of several, says whether the answer contains the fact in the target."""
    return _graded(
        "model_graded_fact", template, instructions, grade_pattern, include_history, partial_credit, model, model_role
    )


def _graded(
    name: str,
    template: str | None,
    instructions: str | None,
    grade_pattern: str | None,
    include_history: bool,
    partial_credit: bool,
    model: str | Model | Sequence[str | Model] | None,
    model_role: str | None,
) -> Scorer:
    if not isinstance(include_history, bool):
        raise UsageError("`include_history` is no function here", hint="write True or False")
    several = [model] if isinstance(model, (str, Model)) else list(model or ())
    names = [str(one) for one in several]
    return NamedScorer(
        name,
        template=template,
        instructions=instructions,
        grade_pattern=grade_pattern,
        include_history=include_history or None,
        partial_credit=partial_credit or None,
        model=None if not names else names[0] if len(names) == 1 else names,
        model_role=None if names else model_role,
    )
