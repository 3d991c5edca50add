"""Our metrics, reducers and scorers in place of Inspect's own, for tasks that import those. Only where it is asked for, and undone on request."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from ._twins import FACTORIES

Factory = Callable[..., Any]


class Installation:
    """What `install()` has changed. As a context manager it is undone at the end: `with install(): …`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Puts back what was there. The second time it does nothing."""
        global _current
        while self._undo:
            self._undo.pop()()
        if _current is self:
            _current = None


_current: Installation | None = None


def install() -> Installation:
    """Puts our metrics, reducers and scorers in place of Inspect's own, until `uninstall()` or the end of a `with` block.

    Three places know them: the built-in scorers, which have metrics by default, the modules that have imported them, and the
    registry, where reducers such as `"mode"` are looked up by name. Logs stay the same. What was made before, such as a metric in a
    `Task`, is not touched.
    """
    global _current
    done = Installation()
    if _current is not None:
        return done  # It is there already, and ends with the first one.
    _current = done
    # Copies of our factories, so that only what was put in place is taken away again.
    replacements = {name: (_copy(ours), original) for name, (ours, original) in FACTORIES.items()}
    _replace_default_metrics(replacements, done)
    _replace_names(replacements, done)
    _replace_registrations(replacements, done)
    return done


def uninstall() -> None:
    """Takes back what `install()` did. Without one it does nothing."""
    if _current is not None:
        _current.undo()


def _copy(factory: Factory) -> Factory:
    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Any:
        return factory(*args, **kwargs)

    return make


def _replace_names(replacements: dict[str, tuple[Factory, Factory]], done: Installation) -> None:
    _rename({id(original): ours for ours, original in replacements.values()})
    # Modules that are imported from now on have our names too: all of them are looked through again.
    done._undo.append(lambda: _rename({id(ours): original for ours, original in replacements.values()}))


def _rename(changes: dict[int, Factory]) -> None:
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict) or names.get("__name__", "").partition(".")[0] == "calipers":
            continue
        for name, value in list(names.items()):
            if id(value) in changes:
                names[name] = changes[id(value)]


def _replace_default_metrics(replacements: dict[str, tuple[Factory, Factory]], done: Installation) -> None:
    """A scorer keeps the list of its default metrics with its registration."""
    import inspect_ai.scorer

    for scorer in list(vars(inspect_ai.scorer).values()):
        metrics = _metadata(scorer).get("metrics")
        if isinstance(metrics, list):
            before = list(metrics)
            metrics[:] = [_ours(metric, replacements) for metric in metrics]
            done._undo.append(functools.partial(_put_back, metrics, before))


def _put_back(metrics: list[Any], before: list[Any]) -> None:
    metrics[:] = before


def _ours(metric: Any, replacements: dict[str, tuple[Factory, Factory]]) -> Any:
    """Our metric in place of one of Inspect's that was made without arguments."""
    registration = _registration(metric)
    package, _, name = getattr(registration, "name", "").partition("/")
    is_plain = not any(isinstance(value, dict) and value for value in _attributes(metric).values())
    return replacements[name][0]() if package == "inspect_ai" and name in replacements and is_plain else metric


def _replace_registrations(replacements: dict[str, tuple[Factory, Factory]], done: Installation) -> None:
    """Inspect makes what logs name, and reducers in tasks, by their names."""
    from inspect_ai._util.registry import registry_add

    for ours, original in replacements.values():
        registration = _registration(original)
        if registration is not None:
            registry_add(ours, registration)
            done._undo.append(functools.partial(registry_add, original, registration))


def _attributes(function: Any) -> dict[str, Any]:
    attributes = getattr(function, "__dict__", None)
    return attributes if isinstance(attributes, dict) else {}


def _registration(function: Any) -> Any:
    """What Inspect has noted on a function: its kind, its name, and more."""
    if not callable(function):
        return None
    return next((value for value in _attributes(function).values() if hasattr(value, "type") and hasattr(value, "name")), None)


def _metadata(function: Any) -> dict[str, Any]:
    metadata = getattr(_registration(function), "metadata", None)
    return metadata if isinstance(metadata, dict) else {}
