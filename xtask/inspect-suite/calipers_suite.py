"""A plugin of pytest that runs tests of Inspect with Calipers in place of its metrics, reducers and scorers.

CALIPERS_SUITE_MODE says how: `plain` leaves Inspect alone; `ours` installs `calipers.inspect`; `wrong` does too, and adds 0.01 to every
number of ours; `flipped` turns every grade of ours into its opposite. Tests should notice both. CALIPERS_SUITE_REPORT names the folder that every
process writes its report to: how each test ended, and which tests called our metrics and reducers (`calls`) and our scorers (`grades`).
"""

import json
import os
import pathlib
import sys
import types

import pytest

MODE = os.environ["CALIPERS_SUITE_MODE"]
REPORT = pathlib.Path(os.environ["CALIPERS_SUITE_REPORT"])
ERROR = 0.01


class Encoding:
    """Tokens by the bytes of a text: enough for tests that count them, and nothing has to be downloaded."""

    def encode(self, text, **options):
        return list(text.encode())[::4]

    encode_ordinary = encode


def stub_tokens():
    """Inspect's mock model counts tokens by a table that tiktoken downloads."""
    module = types.ModuleType("tiktoken")
    module.get_encoding = module.encoding_for_model = lambda name: Encoding()
    module.Encoding = Encoding
    sys.modules["tiktoken"] = module


class Suite:
    def __init__(self):
        self.test = None
        self.outcomes = {}
        self.calls = {}
        self.grades = {}

    def watch(self, function, counts, mode, change):
        """A function of ours that notes the test which calls it, and changes what it gives in one of the modes."""

        def watched(*args, **kwargs):
            answer = function(*args, **kwargs)
            if answer is not None:  # None is for Inspect to answer.
                counts[self.test] = counts.get(self.test, 0) + 1
            return change(answer) if MODE == mode else answer

        return watched

    def install(self):
        import calipers.inspect
        from calipers import _core
        from calipers.inspect import _metrics, _scorers

        # Where there are no scores, or wrong ones, our code answers without the library.
        _metrics.answer = self.watch(_metrics.answer, self.calls, None, None)

        _core.measure = self.watch(_core.measure, self.calls, "wrong", wrong)
        _core.measure_values = self.watch(_core.measure_values, self.calls, "wrong", wrong)
        _core.reduce = self.watch(_core.reduce, self.calls, "wrong", lambda score: _core.Score(wrong(score.value)))
        _scorers.grade = self.watch(_scorers.grade, self.grades, "flipped", flipped)
        calipers.inspect.install()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.test = item.nodeid
        yield
        self.test = None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        # Metrics are also made, and called, while modules are imported.
        self.test = collector.nodeid
        yield
        self.test = None

    def pytest_runtest_logreport(self, report):
        before = self.outcomes.get(report.nodeid)
        if report.failed or before is None or (before == "passed" and report.skipped):
            self.outcomes[report.nodeid] = report.outcome

    def pytest_collectreport(self, report):
        if report.failed:
            self.outcomes[report.nodeid] = "failed"

    def pytest_sessionfinish(self):
        REPORT.mkdir(parents=True, exist_ok=True)
        file = REPORT / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.json"
        counts = {name: {str(test): n for test, n in getattr(self, name).items()} for name in ("calls", "grades")}
        file.write_text(json.dumps({"outcomes": self.outcomes, **counts}))


def wrong(value):
    """A value with an error in every number."""
    if isinstance(value, dict):
        return {key: wrong(one) for key, one in value.items()}
    if isinstance(value, list):
        return [wrong(one) for one in value]
    return value + ERROR if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def flipped(score):
    """A score with the opposite grade."""
    if score is not None:
        score.value = {"C": "I", "I": "C"}.get(score.value, score.value)
    return score


stub_tokens()


def pytest_configure(config):
    suite = Suite()
    config.pluginmanager.register(suite, "calipers-suite")
    if MODE != "plain":
        suite.install()
