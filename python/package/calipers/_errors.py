"""What can go wrong: every exception says what, where, and what to do about it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._results import Comparison, Verdict
    from ._tasks import Evaluation

    Problem = tuple[str, Optional[str], Optional[str]]


class CalipersError(Exception):
    """An error of Calipers.

    `what` says what is wrong, `place` where, and `hint` what to do about it; the last two may be None.
    `others` has further problems that were found at once, each with the same three parts.
    """

    what: str
    place: str | None
    hint: str | None
    others: tuple[Problem, ...]

    def __init__(
        self,
        what: str,
        *,
        place: str | None = None,
        hint: str | None = None,
        others: list[Problem] | tuple[Problem, ...] = (),
    ) -> None:
        self.what = what
        self.place = place
        self.hint = hint
        self.others = tuple(others)
        super().__init__("\n".join(_lines(*problem) for problem in [(what, place, hint), *self.others]))


def _lines(what: str, place: str | None, hint: str | None) -> str:
    return what + (f"\n  {place}" if place else "") + (f"\n  hint: {hint}" if hint else "")


class DataError(CalipersError, ValueError):
    """Results cannot be read or measured."""


class PolicyError(CalipersError, ValueError):
    """A policy has mistakes; `others` has those after the first."""


class UsageError(CalipersError, ValueError):
    """An argument is wrong, or a choice has to be made."""


class MetricError(CalipersError):
    """A metric or a reducer in Python has raised an exception, which is the cause of this one."""


class ModelError(CalipersError):
    """A model did not answer."""


class EvaluationError(CalipersError):
    """A run did not come to its end. `evaluation` has the metrics of what was done; an exception of Python code is the cause."""

    evaluation: Evaluation

    def __init__(self, what: str, evaluation: Evaluation, *, hint: str) -> None:
        super().__init__(what, place=f"log: {evaluation.log}", hint=hint)
        self.evaluation = evaluation

    # An exception of another process arrives only if it can be made again from these.
    def __reduce__(self) -> tuple[object, ...]:
        return _evaluation_error, (self.what, self.evaluation, self.hint)


def _evaluation_error(what: str, evaluation: Evaluation, hint: str) -> EvaluationError:
    return EvaluationError(what, evaluation, hint=hint)


class InternalError(CalipersError, RuntimeError):
    """A bug in Calipers."""


class VerdictError(CalipersError):
    """A run did not pass. `verdict` is the verdict that says so."""

    verdict: Verdict

    def __init__(self, what: str, verdict: Verdict) -> None:
        super().__init__(what)
        self.verdict = verdict

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.verdict)


class GateFailed(VerdictError):
    """A run failed its policy."""


class GateUndecided(VerdictError):
    """The results do not decide whether a run passes."""


class RegressionError(CalipersError):
    """A metric regressed. `comparison` is the comparison that says so."""

    comparison: Comparison

    def __init__(self, what: str, comparison: Comparison) -> None:
        super().__init__(what)
        self.comparison = comparison

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.comparison)
