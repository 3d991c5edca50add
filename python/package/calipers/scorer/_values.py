"""Values of scores, and how they become numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from .. import _core

#: The answer is right.
CORRECT = "C"
#: The answer is wrong.
INCORRECT = "I"
#: The answer is right in part.
PARTIAL = "P"
#: There is no answer.
NOANSWER = "N"

#: What a score may hold.
Value = Union[str, int, float, bool, Sequence[Union[str, int, float, bool]], Mapping[str, Union[str, int, float, bool, None]]]
#: A function from a value to a float.
ValueToFloat = Callable[[Any], float]

_LABELS = "__calipers_labels__"
_USUAL = (CORRECT, INCORRECT, PARTIAL, NOANSWER)


def value_to_float(
    correct: Any = CORRECT, incorrect: Any = INCORRECT, partial: Any = PARTIAL, noanswer: Any = NOANSWER
) -> ValueToFloat:
    """A function from values to floats.

    Numbers stay as they are; the four labels are 1, 0, ½ and 0; `yes` and `true` are 1, `no` and `false` 0, in any case; a number
    in text is that number. Anything else is 0, with a warning in the log.
    """
    labels = (correct, incorrect, partial, noanswer)

    def to_float(value: Any) -> float:
        return _core.to_float(value, labels)

    setattr(to_float, _LABELS, labels)
    return to_float


def conversion(to_float: ValueToFloat) -> Any:
    """How values become floats, in the form that the library takes."""
    return getattr(to_float, _LABELS, to_float)


def is_usual(to_float: ValueToFloat) -> bool:
    """True if values become floats as they do without another word."""
    return bool(conversion(to_float) == _USUAL)
