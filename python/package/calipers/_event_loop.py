"""The event loop that solvers, scorers and models in Python run on, in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from contextvars import ContextVar
from typing import Any

from . import _core
from ._errors import UsageError
from .model import ModelOutput, message_of, output_of
from .solver import Generate, Target, TaskState

#: The attempt that code belongs to.
_LINK: ContextVar[_core.AttemptLink] = ContextVar("calipers_attempt")


#: How long code may take to end when the run is over.
PATIENCE_S = 5.0


class EventLoop:
    """An event loop that the runner hands calls to."""

    def __enter__(self) -> EventLoop:
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.calls = _core.Calls(self._wake)
        self._thread = threading.Thread(target=self._run, name="calipers-python", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        # Code that blocks, and was cut off by a limit or Ctrl-C, is left to itself: it ends with the process.
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            for task in self._tasks.values():
                task.cancel()
            # What was cancelled may still have something to close.
            self._loop.run_until_complete(asyncio.gather(*self._tasks.values(), return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _wake(self) -> None:
        """Called from other threads."""
        self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        for work in self.calls.take():
            if work is None:
                continue
            what = work[0]
            if what == "run":
                _, number, kind, function, about, link = work
                task = self._loop.create_task(_call(kind, function, about, link))
                self._tasks[number] = task
                task.add_done_callback(lambda _, number=number: self._tasks.pop(number, None))  # type: ignore[misc]
            elif what == "cancel":
                if open_task := self._tasks.get(work[1]):
                    open_task.cancel()
            elif not work[1].done():
                if what == "answer":
                    work[1].set_result(work[2])
                else:
                    work[1].set_exception(work[2])


async def _call(kind: str, function: Any, about: Any, link: _core.AttemptLink) -> None:
    _LINK.set(link)
    try:
        if kind == "scorer":
            link.give_score(await _finished(function(TaskState(about), Target(about["target"]))))
        elif kind == "solver":
            state = TaskState(about)
            given = await _finished(function(state, Generate()))
            link.give_state((state if given is None else given)._parts())
        else:
            messages = [message_of(role, content) for role, content in about]
            link.give_output(await _finished(function(messages)))
    except BaseException as error:
        # Whatever it is, it ends this attempt and not the loop.
        link.fail(error)
        if isinstance(error, asyncio.CancelledError):
            raise


async def _finished(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given


def current_link() -> _core.AttemptLink:
    """The attempt that the calling code belongs to."""
    link = _LINK.get(None)
    if link is None:
        raise UsageError("models are asked while a task runs", hint="run it with `calipers.eval`, and ask in a solver or scorer")
    return link


def is_running() -> bool:
    """True in code that belongs to an attempt."""
    return _LINK.get(None) is not None


async def ask_model(messages: list[tuple[str, str, int | None]], config: dict[str, Any], model: str | None) -> ModelOutput:
    """Asks a model of the run."""
    future = asyncio.get_running_loop().create_future()
    current_link().generate(messages, config, model, future)
    return output_of(await future)


async def ask_solver(name: str, parameters: dict[str, Any], state: TaskState) -> TaskState:
    """Has a solver of the library take a step."""
    future = asyncio.get_running_loop().create_future()
    current_link().solve(name, parameters, state._parts(), future)
    state._take(await future)
    return state


async def ask_scorer(name: str, parameters: dict[str, Any], state: TaskState) -> _core.Score:
    """Has a scorer of the library score."""
    future = asyncio.get_running_loop().create_future()
    current_link().score(name, parameters, state._parts(), future)
    score: _core.Score = await future
    return score
