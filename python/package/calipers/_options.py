"""Options, in the forms that people write them in."""

from __future__ import annotations

from ._errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal, Union

    Strings = Union[str, Iterable[str], None]
    Where = Union[str, Mapping[str, Any], Iterable[str], None]
    Columns = Union[str, Mapping[str, str], Iterable[str], None]
    Label = Union[Mapping[str, float], None]
    Missing = Literal["failed", "excluded"]
    AttemptsFrom = Literal["files", "folders"]


def strings(given: Strings) -> list[str]:
    """One text, or several."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else [str(one) for one in given]


def column_choices(given: Columns) -> list[str | tuple[str, str]]:
    """Which columns are what: a dict, or texts such as `id=question,score=correct`."""
    if given is None or isinstance(given, str):
        return list(strings(given))
    if hasattr(given, "items"):
        return [(str(name), str(column)) for name, column in given.items()]
    return list(strings(given))


def _conditions(given: Where) -> list[tuple[str, str]]:
    if given is not None and not isinstance(given, str) and hasattr(given, "items"):
        return [(str(key), str(value)) for key, value in given.items()]
    pairs = []
    for text in strings(given):
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"the condition `{text}` has no `=`", hint='write `where={"category": "adversarial"}`')
        pairs.append((key, value))
    return pairs


def selection(
    *,
    scorer: Strings,
    where: Where,
    label: Label,
    pass_threshold: float | None,
    missing: Missing | None,
    seed: int,
    format: str | None,
    columns: Columns,
    run: Strings,
    attempts_from: AttemptsFrom | None,
    level: float,
) -> dict[str, Any]:
    """What every question about results shares, in one form."""
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"`seed={seed!r}` is no seed", hint="write a whole number from 0 on")
    return {
        "scorer": strings(scorer),
        "where": _conditions(where),
        "label": [(str(name), float(number)) for name, number in (label or {}).items()],
        "pass_threshold": pass_threshold,
        "missing": missing,
        "seed": seed,
        "format": format,
        "columns": column_choices(columns),
        "run": strings(run),
        "attempts_from": attempts_from,
        "level": float(level),
    }
