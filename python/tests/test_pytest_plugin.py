"""The plugin for pytest: what is recorded is judged, whatever happens to tests and workers."""

import json

import pytest

pytest_plugins = ["pytester"]

POLICY = {"thresholds": {"blocking": {"pass_rate": ">= 60%"}}}
UNDECIDED = 13


@pytest.fixture
def policy(pytester):
    pytester.makefile(".json", policy=json.dumps(POLICY))
    return "--calipers-policy=policy.json"


@pytest.fixture(params=[pytest.param([], id="one process"), pytest.param(["-n2"], id="xdist")])
def processes(request):
    if request.param:
        pytest.importorskip("xdist")
    return request.param


def run(pytester, *options):
    """Runs pytest: in this process, which is quick, unless there are workers."""
    how = pytester.runpytest_subprocess if "-n2" in options else pytester.runpytest_inprocess
    return how("-p", "no:cacheprovider", *options)


def records(pytester, name="out.jsonl"):
    return [json.loads(line) for line in (pytester.path / name).read_text().splitlines()]


def attempts(pytester, name="out.jsonl"):
    return sorted((record["id"], record["epoch"], record.get("passed"), "error" in record) for record in records(pytester, name))


SUITE = """
    import pytest

    @pytest.mark.parametrize("case", range(10))
    def test_case(calipers, case):
        calipers.record(f"q{case}", passed=case %s, latency_ms=100.0 + case, category="ab"[case %% 2])
"""


@pytest.mark.parametrize("condition, code, word", [("< 9", 0, "PASS"), ("< 3", 1, "FAIL")])
def test_the_verdict_sets_the_exit_code_and_no_test_fails(pytester, policy, processes, condition, code, word):
    pytester.makepyfile(SUITE % condition)
    result = run(pytester, policy, "--calipers-output=records=out.jsonl", *processes)
    assert result.ret == code
    result.assert_outcomes(passed=10)
    result.stdout.fnmatch_lines(["*= calipers =*", f"{word}*", "*pass_rate*"])
    assert len(records(pytester)) == 10
    assert records(pytester)[3] == {"id": "q3", "passed": condition == "< 9", "latency_ms": 103.0, "category": "b", "epoch": 1}


def test_an_undecided_verdict_has_its_own_code(pytester, processes):
    pytester.makefile(".json", policy=json.dumps({"confidence": 0.95, **POLICY}))
    pytester.makepyfile(SUITE % "< 7")
    result = run(pytester, "--calipers-policy=policy.json", *processes)
    assert result.ret == UNDECIDED
    result.stdout.fnmatch_lines(["UNDECIDED*"])


def test_without_a_policy_nothing_is_judged(pytester, processes):
    pytester.makepyfile(SUITE % "< 1")
    result = run(pytester, "--calipers-output", "records=out.jsonl", *processes)
    assert result.ret == 0 and len(records(pytester)) == 10
    result.stdout.fnmatch_lines(["written: out.jsonl"])
    assert run(pytester, *processes).ret == 0


def test_every_field_of_a_native_record_can_be_recorded(pytester, policy):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.calipers(category="billing", owner="ana")
        def test_all(calipers):
            calipers.record(
                7, score=0.5, scores={"judge": 1, "tone": {"value": "C", "answer": "B"}}, passed=True, correct=True, epoch=2,
                latency_ms=812, tokens_used=90, cost_usd=0.01, quality_score=0.7, expected_behaviors=["refuses"],
                observed_behaviors=["refuses"], must_not=["leaks"], violations=[], predicted="a", actual="b",
                failure_type="timeout", metadata={"language": "en"}, model="m1",
            )
    """)
    result = pytester.runpytest_subprocess(policy, "--calipers-output=records=out.jsonl")
    assert result.ret == 0
    [record] = records(pytester)
    assert record["category"] == "billing" and record["owner"] == "ana" and record["epoch"] == 2 and record["id"] == 7
    assert record["observed_behaviors"] == ["refuses"] and record["violations"] == [] and record["model"] == "m1"
    assert len(record) == 21


def test_numbers_of_numpy_are_numbers(pytester):
    pytest.importorskip("numpy")
    pytester.makepyfile("""
        import numpy

        def test_numbers(calipers):
            calipers.record(score=numpy.float32(0.5), passed=numpy.bool_(True), tokens_used=numpy.int64(3))
    """)
    assert pytester.runpytest_subprocess("--calipers-output=records=out.jsonl").ret == 0
    name = "test_numbers_of_numpy_are_numbers.py::test_numbers"
    assert records(pytester) == [{"score": 0.5, "passed": True, "tokens_used": 3, "id": name, "epoch": 1}]


@pytest.mark.parametrize(
    "call",
    [
        "calipers.record('a')",
        "calipers.record('a', category='x')",
        "calipers.record('a', score=float('nan'))",
        "calipers.record('a', score=float('inf'))",
        "calipers.record('a', score=object())",
        "calipers.record(' ', passed=True)",
        "calipers.record(1.5, passed=True)",
        "calipers.record(True, passed=True)",
        "calipers.record('\\ud800', passed=True)",
        "calipers.record('a', passed=True, epoch=0)",
    ],
)
def test_a_wrong_record_fails_its_test_and_is_missing(pytester, policy, call):
    pytester.makepyfile(f"def test_wrong(calipers):\n    {call}\n")
    result = pytester.runpytest_subprocess(policy, "--calipers-output=records=out.jsonl")
    assert result.ret == UNDECIDED
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UsageError*"])
    [record] = records(pytester)
    assert "error" in record


def test_nothing_is_recorded_after_the_test(pytester):
    pytester.makepyfile("""
        kept = []

        def test_first(calipers):
            kept.append(calipers)
            calipers.record(passed=True)

        def test_second():
            kept[0].record(passed=True)
    """)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the test is over*"])


ATTEMPTS = """
    import pytest

    @pytest.mark.calipers(attempts=3)
    @pytest.mark.parametrize("city", ["paris", "rome-1"])
    def test_capital(calipers, city):
        calipers.record(passed=calipers.attempt != 2)

    @pytest.mark.calipers(attempts=2, category="named")
    def test_named(calipers, calipers_attempt):
        calipers.record("q", passed=calipers_attempt == 1)
"""


def test_the_marker_repeats_a_test(pytester, policy, processes):
    pytester.makepyfile(test_it=ATTEMPTS)
    result = run(pytester, policy, "--calipers-output=records=out.jsonl", "-v", *processes)
    assert result.ret == 0
    result.assert_outcomes(passed=8)
    cities = [f"test_it.py::test_capital[{city}]" for city in ("paris", "rome-1")]
    expected = [(city, attempt, attempt != 2, False) for city in cities for attempt in (1, 2, 3)]
    assert attempts(pytester) == sorted([("q", 1, True, False), ("q", 2, False, False), *expected])
    assert all(record["category"] == "named" for record in records(pytester) if record["id"] == "q")


@pytest.mark.parametrize("marker", ["attempts=0", "attempts='5'", "attempts=True", "5"])
def test_a_wrong_marker_is_refused(pytester, marker):
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.calipers({marker})\ndef test_it(calipers):\n    pass\n")
    result = pytester.runpytest_subprocess()
    assert result.ret != 0
    assert "a whole number from 1 on" in result.stdout.str() + result.stderr.str()


def test_several_records_of_one_test_are_attempts_and_so_are_its_parameters(pytester, policy, processes):
    pytester.makepyfile("""
        import pytest

        def test_loop(calipers):
            for attempt in range(3):
                calipers.record("loop", passed=attempt != 1)

        @pytest.mark.parametrize("seed", range(4))
        def test_seed(calipers, seed):
            calipers.record("seeds", passed=seed != 1)
    """)
    result = run(pytester, policy, "--calipers-output=records=out.jsonl", *processes)
    assert result.ret == 0
    expected = [("loop", attempt, attempt != 2, False) for attempt in (1, 2, 3)]
    assert attempts(pytester) == expected + [("seeds", attempt, attempt != 2, False) for attempt in (1, 2, 3, 4)]


def test_an_id_of_two_tests_is_a_mistake(pytester, policy, processes):
    pytester.makepyfile("""
        def test_one(calipers):
            calipers.record("q", passed=True)

        def test_two(calipers):
            calipers.record("q", passed=True)
    """)
    result = run(pytester, policy, "--calipers-output=records=out.jsonl,junit=out.xml", *processes)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["not judged:", "*`q` is recorded by *::test_one and by *::test_two", "  hint: give each its own id"])
    assert not (pytester.path / "out.xml").exists()


def test_an_attempt_that_is_recorded_twice_is_a_mistake(pytester, policy):
    pytester.makepyfile("""
        def test_one(calipers):
            calipers.record("q", passed=True, epoch=1)
            calipers.record("q", passed=False, epoch=1)
    """)
    result = pytester.runpytest_subprocess(policy)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["attempt 1 of `q` is recorded twice*"])


ERRORS = """
    import pytest

    @pytest.fixture
    def broken():
        raise OSError("no network")

    @pytest.mark.parametrize("case", range(8))
    def test_case(calipers, case):
        if case == 5:
            raise TimeoutError("too slow")
        if case == 6:
            pytest.skip("rate limit")
        if case != 7:
            calipers.record(f"q{case}", passed=True)

    @pytest.mark.calipers(attempts=3, category="adversarial")
    def test_again(calipers, calipers_attempt):
        assert calipers_attempt != 2
        calipers.record("again", passed=True)

    def test_setup(broken, calipers):
        calipers.record("setup", passed=True)
"""


def test_what_is_not_recorded_is_missing(pytester, policy, processes):
    pytester.makepyfile(test_it=ERRORS)
    result = run(pytester, policy, "--calipers-output=records=out.jsonl,json=out.json", *processes)
    found = {record["id"]: record for record in records(pytester) if "error" in record}
    errors = {id: record["error"] for id, record in found.items()}
    assert errors == {
        "test_it.py::test_case[5]": "TimeoutError: too slow",
        "test_it.py::test_case[6]": "Skipped: rate limit",
        "test_it.py::test_case[7]": "the test recorded nothing",
        "again": "assert 2 != 2",
        "test_it.py::test_setup": "OSError: no network",
    }
    assert found["again"]["epoch"] == 2 and found["again"]["category"] == "adversarial"
    document = json.loads((pytester.path / "out.json").read_text())
    assert document["verdict"] == "undecided" and result.ret == UNDECIDED
    result.stdout.fnmatch_lines(["5 tests recorded nothing: their attempts are missing"])


def test_a_verdict_that_stands_whatever_is_missing_passes(pytester, processes):
    pytester.makefile(".json", policy=json.dumps({"thresholds": {"blocking": {"pass_rate": ">= 30%"}}}))
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("case", range(20))
        def test_case(calipers, case):
            assert case != 5
            calipers.record(passed=True)
    """)
    result = run(pytester, "--calipers-policy=policy.json", "--calipers-output=json=out.json", *processes)
    document = json.loads((pytester.path / "out.json").read_text())
    # The policy says what a missing attempt means; the exit code says what the policy says.
    assert result.ret == {"pass": 0, "undecided": UNDECIDED}[document["verdict"]]
    result.assert_outcomes(passed=19, failed=1)


def test_other_failures_fail_the_run_whatever_the_verdict(pytester, policy, processes):
    pytester.makepyfile("""
        def test_attempt(calipers):
            calipers.record(passed=True)

        def test_other():
            assert False
    """)
    result = run(pytester, policy, *processes)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["PASS*", "the run fails whatever the verdict*"])


def test_a_test_that_fails_after_its_record_fails_the_run(pytester, policy, processes):
    pytester.makepyfile("""
        def test_attempt(calipers):
            calipers.record(passed=True)
            assert False, "an invariant is broken"
    """)
    result = run(pytester, policy, "--calipers-output=records=out.jsonl", *processes)
    assert result.ret == 1 and len(records(pytester)) == 1


def test_another_plugin_may_fail_the_run(pytester, policy):
    pytester.makepyfile(SUITE % "< 9")
    pytester.makeconftest("""
        import pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtestloop(session):
            result = yield
            session.testsfailed += 1
            return result
    """)
    assert pytester.runpytest_subprocess(policy).ret == 1


def test_stopping_at_the_first_failure_leaves_the_rest_missing(pytester, policy, processes):
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("case", range(30))
        def test_case(calipers, case):
            assert case != 2
            calipers.record(passed=True)
    """)
    result = run(pytester, policy, "-x", "--calipers-output=records=out.jsonl", *processes)
    # To xdist, it is an interrupt.
    assert result.ret in (UNDECIDED, pytest.ExitCode.INTERRUPTED)
    found = records(pytester)
    assert len(found) == 30 and len({record["id"] for record in found}) == 30
    errors = {record["id"].partition("::")[2]: record["error"] for record in found if "error" in record}
    assert errors["test_case[2]"].startswith("assert") and "the test did not run" in errors.values()


def test_deselected_tests_are_not_part_of_the_run(pytester, policy, processes):
    pytester.makepyfile(SUITE % "< 3")
    result = run(pytester, policy, "-k", "0 or 1 or 2", "--calipers-output=records=out.jsonl", *processes)
    assert result.ret == 0 and len(records(pytester)) == 3
    result.stdout.fnmatch_lines(["7 tests deselected: not part of the run"])


def test_tests_that_are_skipped_before_the_start_are_named(pytester, policy, processes):
    pytester.makepyfile("""
        import pytest

        def test_one(calipers):
            calipers.record(passed=True)

        @pytest.mark.skip(reason="obsolete")
        def test_two(calipers):
            calipers.record(passed=False)
    """)
    result = run(pytester, policy, *processes)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 test skipped before the start: not part of the run"])


def test_no_records_at_all_are_no_pass(pytester, policy, processes):
    pytester.makepyfile("def test_plain():\n    pass\n")
    result = run(pytester, policy, "--calipers-output=junit=out.xml", *processes)
    assert result.ret == UNDECIDED
    result.stdout.fnmatch_lines(["UNDECIDED  no test recorded anything"])
    assert not (pytester.path / "out.xml").exists()


def test_no_tests_at_all_are_no_pass(pytester, policy, processes):
    pytester.makepyfile("x = 1\n")
    assert run(pytester, policy, *processes).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_module_that_cannot_be_imported_is_no_pass(pytester, policy, processes):
    pytester.makepyfile(test_good=SUITE % "< 9", test_bad="import no_such_module\n")
    result = run(pytester, policy, *processes)
    assert result.ret == pytest.ExitCode.INTERRUPTED or (processes == ["-n2"] and result.ret != 0)
    result = run(pytester, policy, "--continue-on-collection-errors", *processes)
    assert result.ret != 0


def test_collecting_judges_nothing(pytester, policy):
    pytester.makepyfile(SUITE % "< 1")
    (pytester.path / "out.jsonl").write_text("kept\n")
    result = pytester.runpytest_subprocess(policy, "--collect-only", "--calipers-output=records=out.jsonl")
    assert result.ret == 0 and (pytester.path / "out.jsonl").read_text() == "kept\n"
    result.stdout.no_fnmatch_line("*= calipers =*")


RERUNS = """
    import pathlib

    def count(name):
        file = pathlib.Path(name)
        runs = len(file.read_text()) + 1 if file.exists() else 1
        file.write_text("x" * runs)
        return runs

    def test_late(calipers):
        assert count("late") == 3, "not yet"
        calipers.record("late", passed=True)

    def test_changed(calipers):
        runs = count("changed")
        calipers.record("changed", passed=runs > 1)
        assert runs > 1
        calipers.record("more", passed=True)
"""


def test_a_rerun_fills_in_what_is_missing_and_replaces_nothing(pytester, policy, processes):
    pytest.importorskip("pytest_rerunfailures")
    pytester.makepyfile(RERUNS)
    result = run(pytester, policy, "--reruns=3", "--calipers-output=records=out.jsonl", *processes)
    assert attempts(pytester) == [("changed", 1, False, False), ("late", 1, True, False), ("more", 1, True, False)]
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 record of reruns left out*"])


def test_a_worker_that_crashes_loses_one_attempt(pytester, policy):
    pytest.importorskip("xdist")
    pytester.makepyfile("""
        import os
        import pytest

        @pytest.mark.parametrize("case", range(20))
        def test_case(calipers, case):
            if case == 7:
                os._exit(3)
            calipers.record(f"q{case}", passed=True)
    """)
    result = pytester.runpytest_subprocess(policy, "-n2", "--calipers-output=records=out.jsonl")
    found = records(pytester)
    assert len(found) == 20
    [lost] = [record for record in found if "error" in record]
    assert lost["id"].endswith("test_case[7]") and "crashed" in lost["error"]
    assert result.ret in (0, UNDECIDED)


def test_if_all_workers_crash_nothing_passes(pytester, policy):
    pytest.importorskip("xdist")
    pytester.makepyfile("""
        import os
        import pytest

        @pytest.mark.parametrize("case", range(4))
        def test_case(calipers, case):
            if case > 0:
                os._exit(3)
            calipers.record(f"q{case}", passed=True)
    """)
    result = pytester.runpytest_subprocess(policy, "-n1", "--max-worker-restart=0")
    assert result.ret not in (0, 1) or "PASS" not in result.stdout.str()
    assert result.ret != 0


def test_an_interrupt_is_no_verdict(pytester, policy):
    pytester.makepyfile("""
        def test_one(calipers):
            calipers.record(passed=True)

        def test_two(calipers):
            raise KeyboardInterrupt
    """)
    result = pytester.runpytest_subprocess(policy, "--calipers-output=records=out.jsonl")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["not judged*"])
    assert [record.get("error") for record in records(pytester)] == [None, "the test did not run"], "what was paid for is kept"


HOSTILE = ["a b", "q/1", "../../etc/passwd", "<script>alert(1)</script>", 'a"b', "a\\b", "|x|", "\u202eabc", "\x1b[31mred", "a\nb", "ü", "😀", "0" * 300]


def test_hostile_ids_are_kept_and_do_no_harm(pytester, policy, processes):
    pytester.makepyfile(f"""
        def test_ids(calipers):
            for id in {HOSTILE!r}:
                calipers.record(id, passed=True)
            calipers.record(1, passed=True)
            calipers.record("1", passed=True)

        def test_lost(calipers):
            raise ValueError({HOSTILE[8]!r})
    """)
    outputs = "records=out.jsonl,junit=out.xml,markdown=out.md,json=out.json,html=out.html,text=out.txt"
    result = run(pytester, policy, f"--calipers-output={outputs}", *processes)
    assert result.ret in (0, UNDECIDED), result.stdout.str()
    assert {record["id"] for record in records(pytester) if "error" not in record} == {*HOSTILE, 1, "1"}
    from xml.etree import ElementTree

    ElementTree.parse(pytester.path / "out.xml")
    assert "<script>alert(1)" not in (pytester.path / "out.html").read_text()
    assert "<script>" not in (pytester.path / "out.md").read_text()
    section = result.stdout.str().partition("= calipers =")[2].partition("= short test summary")[0]
    assert "\x1b[31m" not in section and "\u202e" not in section


def test_the_forms_are_those_of_the_command_line(pytester, policy, program):
    pytester.makepyfile(SUITE % "< 9")
    result = pytester.runpytest_subprocess(
        policy, "--calipers-output", "records=out.jsonl,junit=out.xml", "--calipers-output", "markdown=out.md", "--calipers-output=json=out.json"
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["written: out.jsonl, out.xml, out.md, out.json"])
    program("gate", "out.jsonl", "--policy", "policy.json", "--output", "junit=cli.xml,markdown=cli.md,json=cli.json", cwd=pytester.path)
    for ours, theirs in [("out.md", "cli.md"), ("out.xml", "cli.xml")]:
        assert (pytester.path / ours).read_text() == (pytester.path / theirs).read_text()
    assert json.loads((pytester.path / "out.json").read_text()) == json.loads((pytester.path / "cli.json").read_text())


@pytest.mark.parametrize(
    "options, words",
    [
        (["--calipers-policy=none.json"], "none.json"),
        (["--calipers-policy=broken.json"], "broken.json"),
        (["--calipers-output=junit=out.xml"], "a verdict needs a policy"),
        (["--calipers-output=nonsense"], "write FORM=FILE"),
        (["--calipers-output=pdf=out.pdf"], "there is no form `pdf`"),
        (["--calipers-output=records=."], "write FORM=FILE"),
        (["--calipers-output=records=a", "--calipers-output=records=b"], "its own file"),
        (["--calipers-baseline=x.json"], "needs a policy"),
    ],
)
def test_a_mistake_in_an_option_ends_the_run_before_it_begins(pytester, options, words):
    pytester.makefile(".json", broken=json.dumps({"thresholds": {"blocking": {"pas_rate": ">= 60%"}}}))
    pytester.makepyfile("import pathlib\n\ndef test_it(calipers):\n    pathlib.Path('ran').touch()\n    calipers.record(passed=True)\n")
    result = pytester.runpytest_subprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str() + result.stdout.str()
    assert not (pytester.path / "ran").exists()


def test_files_of_an_earlier_run_are_removed(pytester, policy):
    (pytester.path / "out.xml").write_text("<old/>")
    pytester.makepyfile("def test_it(calipers):\n    raise KeyboardInterrupt\n")
    assert pytester.runpytest_subprocess(policy, "--calipers-output=junit=out.xml").ret == pytest.ExitCode.INTERRUPTED
    assert not (pytester.path / "out.xml").exists()


def test_a_file_that_cannot_be_written_is_no_pass(pytester, policy):
    pytester.makepyfile(SUITE % "< 9")
    assert pytester.runpytest_subprocess(policy, "--calipers-output=records=no/such/folder.jsonl").ret == pytest.ExitCode.USAGE_ERROR


def test_the_plugin_can_be_turned_off_and_costs_nothing_unused(pytester):
    pytester.makepyfile("""
        import sys

        def test_it():
            assert "calipers._pytest_session" not in sys.modules and "calipers._core" not in sys.modules
    """)
    assert pytester.runpytest_subprocess().ret == 0
    pytester.makepyfile(test_off="def test_off(calipers):\n    pass\n")
    result = pytester.runpytest_subprocess("-p", "no:calipers", "test_off.py")
    result.stdout.fnmatch_lines(["*fixture 'calipers' not found*"])


def test_the_order_of_tests_does_not_matter(pytester, policy):
    pytest.importorskip("xdist")
    pytester.makepyfile(test_it=ATTEMPTS)
    pytester.makeconftest("""
        import os
        import random

        def pytest_collection_modifyitems(items):
            if "PYTEST_XDIST_WORKER" not in os.environ and "SHUFFLE" in os.environ:
                random.Random(4).shuffle(items)
    """)
    pytester.runpytest_subprocess(policy, "--calipers-output=records=one.jsonl")
    pytester.runpytest_subprocess(policy, "--calipers-output=records=two.jsonl", "-n3")
    assert (pytester.path / "one.jsonl").read_text() == (pytester.path / "two.jsonl").read_text()
