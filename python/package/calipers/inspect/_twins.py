"""Functions that stand in for Inspect's.

Beside every metric, reducer and scorer that a factory of ours makes, Inspect's own factory makes its twin. Ours computes, and carries the twin's
registration, which Inspect keeps as attributes of the function. So logs have Inspect's names and parameters, nothing is registered in
Inspect's place, and no private part of Inspect is touched.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

import inspect_ai.scorer as theirs

from .. import scorer as ours

P = ParamSpec("P")

#: Factories of ours by the names of Inspect's, and Inspect's own.
FACTORIES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def drop_in(kind: str) -> Callable[[Callable[Concatenate[Any, P], Any]], Callable[P, Any]]:
    """Decorates a factory, whose first parameter is the twin. `kind` is the decorator of Inspect for a name that it does not have yet."""

    def decorate(factory: Callable[Concatenate[Any, P], Any]) -> Callable[P, Any]:
        name = factory.__name__
        original: Callable[..., Any] | None = getattr(theirs, name, None)

        @functools.wraps(factory)
        def make(*args: P.args, **kwargs: P.kwargs) -> Any:
            # Inspect's own factory goes first: it has the last word on arguments.
            twin = None if original is None else original(*args, **kwargs)
            made = factory(twin, *args, **kwargs)
            if twin is not None:
                vars(made).update(vars(twin))
            return made

        make.__doc__ = getattr(ours, name).__doc__
        signature = inspect.signature(factory)
        setattr(make, "__signature__", signature.replace(parameters=list(signature.parameters.values())[1:]))
        if original is None:
            # An older Inspect: what it cannot make is recorded as ours.
            registered: Callable[P, Any] = getattr(theirs, kind)(name=_registered_name(name, kind))(make)
            return registered
        FACTORIES[name] = (make, original)
        return make

    return decorate


def _registered_name(name: str, kind: str) -> str:
    # Inspect puts the name of the package before that of a metric, and not before that of a reducer with a name.
    return name if kind == "metric" else "calipers/" + name.removesuffix("_score")
