"""The event loop that coroutines of scorers run on, in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

from .solver import Target, TaskState


class EventLoop:
    """An event loop that other threads hand work to."""

    def __enter__(self) -> EventLoop:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calipers-scorers", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def score(self, function: Any, about: dict[str, Any]) -> Any:
        """What a scorer says about an attempt. Waits for it, while other attempts go on."""
        return asyncio.run_coroutine_threadsafe(_score(function, about), self._loop).result()


async def _score(function: Any, about: dict[str, Any]) -> Any:
    state = TaskState(about)
    given = function(state, Target(about["target"]))
    return await given if inspect.isawaitable(given) else given
