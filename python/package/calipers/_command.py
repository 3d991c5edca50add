"""`calipers eval colors.py@colors`: the command line hands tasks in Python over to here, and is called again with the task."""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

from . import _core
from ._errors import UsageError
from ._metrics import KIND, NAME


def main() -> None:
    """Runs the words that this process was started with, and ends it with their exit code."""
    from ._event_loop import EventLoop

    with EventLoop() as event_loop:
        code = _core.run_command(["calipers", *sys.argv[1:]], load, event_loop.calls)
    sys.stdout.flush()
    sys.exit(code)


def load(path: str, name: str | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """The task of a file, in the form that the library takes."""
    from ._tasks import task_choices

    factory = _choose(_tasks(_module(path)), path, name)
    try:
        task = factory(**parameters)
    except TypeError as error:
        if not parameters:
            raise
        what = f"the task does not take these parameters: {error}"
        raise UsageError(what, place=f"in {path}", hint="`-T name=value` names a parameter of its function") from error
    return task_choices(task)


def _module(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise UsageError("there is no such file", place=f"in {path}", hint="check the name of the file")
    folder, file = os.path.split(os.path.abspath(path))
    # As for a script: modules beside the file can be imported.
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(os.path.splitext(file)[0], path)
    if spec is None or spec.loader is None:
        raise UsageError("it is no module", place=f"in {path}", hint="name a file that ends in `.py`")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _tasks(module: ModuleType) -> dict[str, Any]:
    """The tasks that a file defines, by name."""
    found = [value for value in vars(module).values() if getattr(value, KIND, None) == "task"]
    return {getattr(value, NAME): value for value in found if value.__module__ == module.__name__}


def _choose(tasks: dict[str, Any], path: str, name: str | None) -> Any:
    place = f"in {path}"
    if not tasks:
        raise UsageError("there is no task", place=place, hint="decorate a function that returns a `Task` with `@task`")
    if name is None:
        if len(tasks) > 1:
            raise UsageError(f"there are several tasks: {', '.join(tasks)}", place=place, hint=f"name one: `{path}@{next(iter(tasks))}`")
        return next(iter(tasks.values()))
    if name not in tasks:
        raise UsageError(f"there is no task `{name}`", place=place, hint=f"it has {', '.join(tasks)}")
    return tasks[name]
