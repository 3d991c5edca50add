"""One run of pytest: what its tests record, what is missing, and what a policy says about it.

Records travel with the reports of tests, so that they survive whatever happens to a worker of xdist afterwards, and arrive in any order. A
record belongs to the first run of a test that made it: a rerun fills in what is missing, and replaces nothing.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from . import _core
from ._data import _plain
from ._errors import CalipersError, PolicyError, UsageError

if TYPE_CHECKING:
    from ._results import Verdict

#: The exit code of an undecided verdict: 3 on the command line, which is an internal error of pytest.
UNDECIDED = 13
#: Forms of `--calipers-output`.
FORMS = ("records", "junit", "markdown", "json", "text", "html")

#: How many tests are named, and how long the words about one may be.
SHOWN_MAX = 5
WORDS_MAX = 200

_ATTEMPT = "calipers_attempt"
_RUN = pytest.StashKey[int]()
_RECORDER = pytest.StashKey["Recorder"]()


class Recorder:
    """The fixture `calipers` of one test."""

    def __init__(self, item: Any, run: int) -> None:
        self.id: str = _base(item)
        #: Which attempt of the test this is, if the marker repeats it.
        self.attempt: int | None = _attempt(item)
        self._defaults = _defaults(item)
        self._run = run
        self._records: list[dict[str, Any]] = []
        self._sent = 0
        self._is_open = True

    def record(
        self,
        id: str | int | None = None,
        *,
        score: Any = None,
        scores: dict[str, Any] | None = None,
        passed: bool | None = None,
        correct: bool | None = None,
        category: str | None = None,
        epoch: int | None = None,
        latency_ms: float | None = None,
        tokens_used: float | None = None,
        cost_usd: float | None = None,
        quality_score: float | None = None,
        expected_behaviors: list[str] | dict[str, bool] | None = None,
        observed_behaviors: list[str] | None = None,
        must_not: list[str] | dict[str, bool] | None = None,
        violations: list[str] | None = None,
        predicted: Any = None,
        actual: Any = None,
        failure_type: str | None = None,
        error: str | None = None,
        metadata: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Records an attempt. Its fields are those of native records; others are metadata.

        Without an `id` it is called as the test. Several records of one id are several attempts, unless `epoch` says which they are.
        A failure that is recorded does not fail the test.
        """
        if not self._is_open:
            raise UsageError("the test is over: nothing more can be recorded", hint="record while the test runs")
        given = {key: value for key, value in locals().items() if key not in ("self", "more")} | more
        fields = {**self._defaults, **{key: value for key, value in given.items() if value is not None}}
        if set(fields) <= {"id", "epoch", "category", "metadata", *self._defaults}:
            raise UsageError("the record says nothing about how it went", hint="add `passed=True`, `score=0.7`, or `error=` if it did not run")
        fields.setdefault("id", self.id)
        self._records.append(_checked(fields))

    def close(self) -> None:
        """Ends the test."""
        self._is_open = False

    def take(self) -> list[dict[str, Any]]:
        """The records that have not been sent yet, with their places among those of this run."""
        new = [{"run": self._run, "place": place, "fields": fields} for place, fields in enumerate(self._records)]
        new, self._sent = new[self._sent :], len(self._records)
        return new


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields in plain types, as they can be written."""
    id, epoch = fields["id"], fields.get("epoch")
    if isinstance(id, bool) or not isinstance(id, (str, int)) or not str(id).strip():
        raise UsageError(f"`{id!r}` is no id", hint="use a text or a whole number")
    if epoch is not None and (isinstance(epoch, bool) or not isinstance(epoch, int) or epoch < 1):
        raise UsageError(f"`epoch={epoch!r}` counts no attempt", hint="use a whole number from 1 on")
    try:
        text = json.dumps(fields, allow_nan=False, ensure_ascii=False, default=_plain)
        text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        hint = "use finite numbers, text, lists and dicts; leave out what is not known"
        raise UsageError(f"the record of `{id!r}` cannot be written: {error}", hint=hint) from None
    plain: dict[str, Any] = json.loads(text)
    return plain


def _attempt(item: Any) -> int | None:
    attempt = getattr(getattr(item, "callspec", None), "params", {}).get(_ATTEMPT)
    return None if attempt is None else int(attempt)


def _base(item: Any) -> str:
    """The name of a test without its attempt."""
    attempt = _attempt(item)
    name = str(item.nodeid)
    if attempt is None:
        return name
    alone, last, inside = f"[attempt{attempt}]", f"-attempt{attempt}]", f"attempt{attempt}-"
    if name.endswith(alone):
        return name.removesuffix(alone)
    return name.removesuffix(last) + "]" if name.endswith(last) else name.replace(inside, "", 1)


def _defaults(item: Any) -> dict[str, Any]:
    """What markers say about all records of a test; the nearest one first."""
    fields: dict[str, Any] = {}
    for marker in item.iter_markers("calipers"):
        fields = {**marker.kwargs, **fields}
    fields.pop("attempts", None)
    return fields


def _is_ours(item: Any) -> bool:
    return "calipers" in getattr(item, "fixturenames", ())


def _about(item: Any) -> dict[str, Any]:
    """What the judge needs to know about a test that may never run."""
    function = str(item.nodeid).partition("[")[0] if getattr(item, "callspec", None) is not None else str(item.nodeid)
    return {"base": _base(item), "function": function, "attempt": _attempt(item), "fields": _known_defaults(item)}


def _known_defaults(item: Any) -> dict[str, Any]:
    """What is known about a test that may never run. What cannot be written is said when it records something."""
    defaults = _defaults(item)
    try:
        return _checked({"id": _base(item), **defaults})
    except UsageError:
        return {"id": _base(item)}


def _outputs(given: list[str], policy: str | None) -> dict[str, str]:
    """The files to write, by form."""
    outputs: dict[str, str] = {}
    for option in (part for text in given for part in text.split(",")):
        form, equals, file = (part.strip() for part in option.partition("="))
        known = "the forms are " + ", ".join(FORMS)
        if not equals or not file or os.path.isdir(file):
            raise pytest.UsageError(f"--calipers-output {option}: write FORM=FILE; {known}")
        if form not in FORMS:
            raise pytest.UsageError(f"--calipers-output {option}: there is no form `{form}`; {known}")
        if form != "records" and policy is None:
            raise pytest.UsageError(f"--calipers-output {option}: a verdict needs a policy; name it with --calipers-policy")
        if form in outputs or os.path.abspath(file) in map(os.path.abspath, outputs.values()):
            raise pytest.UsageError(f"--calipers-output {option}: give each form its own file, once")
        outputs[form] = file
    return outputs


class Session:
    """The part of the plugin that is only there when it is used."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.policy: str | None = config.getoption("calipers_policy")
        self.baseline: str | None = config.getoption("calipers_baseline")
        if self.baseline is not None and self.policy is None:
            raise pytest.UsageError("--calipers-baseline needs a policy: name it with --calipers-policy")
        self.outputs = _outputs(config.getoption("calipers_output"), self.policy)
        self.is_worker = hasattr(config, "workerinput")
        #: The tests that may record something, in the order of their collection.
        self.expected: dict[str, dict[str, Any]] = {}
        #: What arrived with reports, by test.
        self.arrived: dict[str, list[dict[str, Any]]] = {}
        #: Why tests recorded nothing; "" for one that came to its end.
        self.ended: dict[str, str] = {}
        #: Tests that were skipped before they began.
        self.skipped: set[str] = set()
        #: Failures of tests that say nothing about themselves: they record nothing, or their worker crashed.
        self.bare_failures: dict[str, str] = {}
        self.failures = 0
        self.reports_failed = 0
        self.deselected = 0
        self.left_out = 0
        #: True once one process has said which tests there are.
        self.is_complete = False
        self.records: list[dict[str, Any]] = []
        self.missing: dict[str, str] = {}
        self.mistakes: list[str] = []
        self.verdict: Verdict | None = None
        self.is_over = False
        if not self.is_worker and not config.option.collectonly:
            self._prepare()

    def _prepare(self) -> None:
        """Mistakes in the policy are found before tests cost money, and no report of an earlier run is left to be read."""
        if self.policy is not None:
            from ._questions import gate

            try:
                gate([{"id": "a test", "passed": True}], self.policy)
            except PolicyError as error:
                raise pytest.UsageError(f"--calipers-policy {self.policy}: {error}") from None
            except CalipersError as error:
                if not os.path.isfile(self.policy):
                    raise pytest.UsageError(f"--calipers-policy {self.policy}: {error}") from None
                # It may need what only the tests will record.
        for file in self.outputs.values():
            try:
                os.remove(file)
            except FileNotFoundError:
                pass
            except OSError as error:
                raise pytest.UsageError(f"--calipers-output: {file} cannot be replaced: {error.strerror}") from None

    def recorder(self, item: Any) -> Recorder:
        """The fixture of a test. Each run of the test has its own."""
        run = item.stash.get(_RUN, 0) + 1
        item.stash[_RUN] = run
        item.stash[_RECORDER] = recorder = Recorder(item, run)
        return recorder

    # What happens to tests, in the process that runs them.

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        expected = {item.nodeid: _about(item) for item in session.items if _is_ours(item)}
        if self.is_worker:
            self.config.workeroutput["calipers"] = json.dumps({"expected": expected, "deselected": self.deselected})
        else:
            self.expected = expected
            self.is_complete = True

    def pytest_deselected(self, items: list[Any]) -> None:
        self.deselected += sum(map(_is_ours, items))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        outcome = yield
        if _is_ours(item):
            recorder = item.stash.get(_RECORDER, None)
            records = [] if recorder is None else recorder.take()
            # An attribute of a report travels with it from worker to controller.
            outcome.get_result().calipers = json.dumps({"records": records, "about": _about(item)})

    # What arrives, in the process that judges.

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.reports_failed += bool(report.failed)
        sent = getattr(report, "calipers", None)
        if self.is_worker:
            return
        name = report.nodeid
        if sent is None:
            if report.failed:
                self.bare_failures[name] = _words(report)
            return
        message = json.loads(sent)
        self.expected.setdefault(name, message["about"])
        records = self.arrived.setdefault(name, [])
        records += message["records"]
        if report.when == "setup" and report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.add(name)
        elif report.when == "call" and report.passed:
            self.ended[name] = ""
        elif not report.passed:
            self.ended[name] = _words(report)
        if report.failed and (records or report.when == "teardown"):
            # What it had to record is recorded: that it fails says something else.
            self.failures += 1

    def pytest_collectreport(self, report: Any) -> None:
        self.reports_failed += bool(report.failed)
        self.failures += bool(report.failed)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """What a worker of xdist knows about tests, whether they ran or not. All workers know the same."""
        sent = (getattr(node, "workeroutput", None) or {}).get("calipers")
        if sent is not None:
            known = json.loads(sent)
            self.expected = {**known["expected"], **self.expected}
            self.deselected = known["deselected"]
            self.is_complete = True

    # The verdict.

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        if self.is_worker or self.config.option.collectonly:
            return
        usual = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        self.is_over = exitstatus in usual and session.exitstatus in usual
        self._settle(session, exitstatus)
        self._gather()
        if self.is_over and not self.mistakes:
            self._judge()
        # What has been recorded was paid for: it is written whatever has happened.
        self._write()
        code = self._exit_code(exitstatus)
        if self.is_over and code is not None:
            session.exitstatus = code

    def _settle(self, session: Any, exitstatus: int) -> None:
        """Which failures are not attempts that are missing."""
        for name, words in self.bare_failures.items():
            if name in self.expected:
                self.ended[name] = words
            else:
                self.failures += 1
        # Other plugins count failures too, or have changed the exit code before us.
        is_changed = session.exitstatus != exitstatus and session.exitstatus != pytest.ExitCode.OK
        self.failures += max(session.testsfailed - self.reports_failed, 0) + is_changed

    def _exit_code(self, exitstatus: int) -> int | None:
        """The code that the run ends with; None for that of pytest."""
        if self.mistakes:
            return int(pytest.ExitCode.USAGE_ERROR)
        if self.policy is None or exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            return None
        if self.failures or (self.verdict is not None and self.verdict.failed):
            return int(pytest.ExitCode.TESTS_FAILED)
        is_passed = self.verdict is not None and self.verdict.passed and self.is_complete
        return int(pytest.ExitCode.OK) if is_passed else UNDECIDED

    def _gather(self) -> None:
        """Puts the records of all tests in order, and adds those that are missing."""
        entries = {test: self._of_test(test) for test in self.expected}
        # What one attempt of a test records, the others would have recorded too.
        ids: dict[str, dict[Any, Any]] = {}
        for test, records in entries.items():
            known = ids.setdefault(self.expected[test]["base"], {})
            known.update({_key(record["id"]): record["id"] for record in records})
        for test, records in entries.items():
            about = self.expected[test]
            if not records and test not in self.skipped:
                why = self.ended.get(test, "the test did not run") or "the test recorded nothing"
                self.missing[test] = why
                would = ids[about["base"]].values() or [about["fields"]["id"]]
                records += [{**about["fields"], "id": id, "error": why} for id in would]
        self._number(entries)

    def _of_test(self, test: str) -> list[dict[str, Any]]:
        """The records of a test. Where several runs made the same one, the first run's counts."""
        known: set[Any] = set()
        kept = []
        counts: dict[Any, int] = {}
        for record in sorted(self.arrived.get(test, []), key=lambda record: (record["run"], record["place"])):
            fields = record["fields"]
            which = _key(fields["id"]), fields.get("epoch")
            count = counts[record["run"], which] = counts.get((record["run"], which), 0) + 1
            if (which, count) in known:
                self.left_out += 1
            else:
                known.add((which, count))
                kept.append(fields)
        return kept

    def _number(self, entries: dict[str, list[dict[str, Any]]]) -> None:
        """Gives every record its epoch: the attempt of its test, or its place among those of its id."""
        functions: dict[Any, str] = {}
        attempts: dict[Any, str] = {}
        counts: dict[Any, int] = {}
        for test, records in entries.items():
            about = self.expected[test]
            for fields in records:
                id, shown = _key(fields["id"]), printable(str(fields["id"]))
                function = functions.setdefault(id, about["function"])
                counts[id] = counts.get(id, 0) + 1
                epoch = fields.get("epoch") or about["attempt"] or counts[id]
                other = attempts.get((id, epoch))
                attempts.setdefault((id, epoch), test)
                if function != about["function"]:
                    what = f"`{shown}` is recorded by {printable(function)} and by {printable(about['function'])}"
                    self.mistakes.append(f"{what}\n  hint: give each its own id")
                elif other is not None:
                    what = f"attempt {epoch} of `{shown}` is recorded twice, by {printable(other)}"
                    what += "" if other == test else f" and by {printable(test)}"
                    self.mistakes.append(f"{what}\n  hint: say with `epoch=` which attempt it is")
                else:
                    self.records.append({**fields, "epoch": epoch})
        self.mistakes = list(dict.fromkeys(self.mistakes))

    def _source(self) -> _core.Source:
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.records)
        return _core.Source.bytes(self.outputs.get("records", "tests"), lines.encode())

    def _judge(self) -> None:
        if self.policy is None or not self.records:
            return
        from ._questions import gate

        try:
            self.verdict = gate(self._source(), self.policy, baseline=self.baseline, format="native")
        except CalipersError as error:
            self.mistakes.append(str(error))

    def _write(self) -> None:
        for form, file in self.outputs.items():
            try:
                text = self._form(form)
                if text is not None:
                    with open(file, "w", encoding="utf-8") as output:
                        output.write(text)
            except (OSError, CalipersError) as error:
                self.mistakes.append(f"{file} cannot be written: {error}")

    def _form(self, form: str) -> str | None:
        if form == "records":
            return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in self.records)
        verdict = self.verdict
        if verdict is None:
            return None  # Without a verdict there is none to read.
        if form == "html":
            from ._questions import report

            return report(self._source(), policy=self.policy, baseline=self.baseline, format="native").html
        forms = {"junit": verdict.to_junit, "markdown": verdict.to_markdown, "json": verdict.to_json}
        return forms[form]() if form in forms else verdict.to_text(width=80)

    # What is printed.

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.is_worker or self.config.option.collectonly or not (self.records or self.policy or self.mistakes):
            return
        terminalreporter.section("calipers")
        for line in self._summary().splitlines():
            terminalreporter.line(line)

    def _summary(self) -> str:
        parts = []
        if not self.is_over:
            parts.append("not judged: the run did not come to its end")
        elif self.mistakes:
            parts.append("not judged:" if self.verdict is None else "mistakes:")
            parts += self.mistakes
        elif self.verdict is not None:
            width = shutil.get_terminal_size().columns
            color = bool(self.config.get_terminal_writer().hasmarkup)
            parts.append(self.verdict.to_text(width=width, color=color).rstrip("\n") + "\n")
        elif self.policy is not None:
            parts.append("UNDECIDED  no test recorded anything\n  hint: tests record with the fixture `calipers`\n")
        parts += self._notes()
        return "\n".join(parts)

    def _notes(self) -> list[str]:
        notes = []
        if self.missing:
            shown = [f"  {printable(test)}: {why}" for test, why in list(self.missing.items())[:SHOWN_MAX]]
            more = len(self.missing) - len(shown)
            notes += [f"{_count(len(self.missing), 'test')} recorded nothing: their attempts are missing", *shown]
            notes += [f"  and {more} more"] if more else []
        if self.skipped:
            notes.append(f"{_count(len(self.skipped), 'test')} skipped before the start: not part of the run")
        if self.deselected:
            notes.append(f"{_count(self.deselected, 'test')} deselected: not part of the run")
        if self.left_out:
            notes.append(f"{_count(self.left_out, 'record')} of reruns left out: the first run of a test counts")
        if self.failures and self.policy is not None:
            notes.append("the run fails whatever the verdict: see the failures above")
        if not self.is_complete and self.policy is not None:
            notes.append("no worker said which tests there are: undecided, whatever the records say")
        written = [file for form, file in self.outputs.items() if form == "records" or self.verdict is not None]
        if written:
            notes.append("written: " + ", ".join(written))
        elif self.policy is None and self.records:
            notes.append(f"{_count(len(self.records), 'record')}, neither judged nor written: see --calipers-policy and --calipers-output")
        return notes


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _key(id: str | int) -> tuple[str, str | int]:
    """1 and "1" are two samples, as in records."""
    return type(id).__name__, id


def _words(report: Any) -> str:
    """Why a test did not come to its end, in a line."""
    longrepr = report.longrepr
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        text = str(crash.message)
    elif isinstance(longrepr, tuple) and len(longrepr) == 3:
        text = str(longrepr[2])
    else:
        text = str(longrepr or "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(lines[0] if lines else f"the test {report.outcome}")[:WORDS_MAX]


def printable(text: str) -> str:
    """A text that steers no terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
