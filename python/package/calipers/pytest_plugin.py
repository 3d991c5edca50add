"""The plugin for pytest: tests record attempts, and a policy judges the session.

    def test_capital(calipers, case):
        answer = agent(case.question)
        calipers.record(case.id, passed=case.capital in answer, category="geography")

    pytest --calipers-policy policy.json

Everything beyond options and hooks is in `_pytest_session`, which is loaded when a test asks for the fixture or an option is given.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ._pytest_session import Recorder, Session

_SESSION = "calipers-session"
_ATTEMPT = "calipers_attempt"


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("calipers", "evaluations that a policy judges")
    group.addoption(
        "--calipers-policy",
        metavar="FILE",
        help="judge what tests record by this policy: the verdict sets the exit code (0 pass, 1 fail, 13 undecided)",
    )
    group.addoption(
        "--calipers-baseline", metavar="FILE", help="the baseline that the policy compares with (`calipers baseline` writes one)"
    )
    group.addoption(
        "--calipers-output",
        metavar="FORM=FILE",
        action="append",
        default=[],
        help="write what was recorded (records=FILE) and the verdict (junit=, markdown=, json=, text= and html=FILE); repeatable, or "
        "separated by commas. Files of an earlier run are removed first",
    )


def pytest_configure(config: Any) -> None:
    about = "calipers(attempts=1, **fields): how often the test is tried, and what its records say unless they say otherwise"
    config.addinivalue_line("markers", about)
    if config.getoption("calipers_policy") or config.getoption("calipers_output") or config.getoption("calipers_baseline"):
        _session(config)


def _session(config: Any) -> Session:
    """What is known about this run of pytest. It is made when it is first needed."""
    session: Session | None = config.pluginmanager.get_plugin(_SESSION)
    if session is None:
        from ._pytest_session import Session

        session = Session(config)
        config.pluginmanager.register(session, _SESSION)
    return session


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: Any) -> None:
    """Repeats tests by the marker. It comes last, so that the attempt is the last part of a test's name."""
    marker = metafunc.definition.get_closest_marker("calipers")
    if marker is None or "calipers" not in metafunc.fixturenames:
        return
    attempts = marker.kwargs.get("attempts", 1)
    if marker.args or isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: the marker `calipers` takes `attempts=`, a whole number from 1 on, and fields by their names"
        )
    if attempts > 1:
        if _ATTEMPT not in metafunc.fixturenames:
            metafunc.fixturenames.append(_ATTEMPT)
        names = [f"attempt{attempt}" for attempt in range(1, attempts + 1)]
        metafunc.parametrize(_ATTEMPT, range(1, attempts + 1), ids=names, indirect=True)


@pytest.fixture
def calipers_attempt(request: Any) -> int:
    """Which attempt of a test this is, if the marker `calipers` repeats it."""
    return int(getattr(request, "param", 1))


@pytest.fixture
def calipers(request: Any) -> Generator[Recorder, None, None]:
    """Records attempts: `calipers.record("SEC-001", passed=True, latency_ms=812)`."""
    recorder = _session(request.config).recorder(request.node)
    yield recorder
    recorder.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Loads the rest if a test will record something: what happens to that test counts from the beginning."""
    if any("calipers" in getattr(item, "fixturenames", ()) for item in items):
        _session(config)
