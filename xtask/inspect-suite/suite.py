"""Runs the tests of Inspect with our metrics, reducers and scorers in place of its own, and holds the outcomes against those without us.

    python suite.py SOURCES REPORTS [TESTS…]

SOURCES is an unpacked source distribution of Inspect, REPORTS a folder for outcomes. Without TESTS, which pytest understands, `tests/scorer` runs. Ends
with 1 if a test fails that passes without us, or if too few tests call our code or notice wrong numbers and grades.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SCORERS = "tests/scorer/"
#: How many tests of `tests/scorer` must call our metrics and reducers, and our scorers.
REACH_MIN = {"metrics and reducers": 141, "scorers": 75}
#: How many tests must notice an error of 0.01 in every number, and a wrong grade.
NOTICE_MIN = {"wrong": 60, "flipped": 60}
#: Seconds that one test may take.
PATIENCE = 300


#: pytest, with our plugin and without what a configuration adds.
PYTEST = [sys.executable, "-m", "pytest", "-p", "calipers_suite", "-q", "--no-header", "--tb=line", "-o", "addopts=", "-o", "log_level=ERROR"]
PYTEST += ["-p", "no:cacheprovider", "-p", "no:calipers"]


def environment_of(mode, report):
    # Keys of providers are not for tests; neither is the network, as far as tests can be told.
    environment = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    return environment | {"CALIPERS_SUITE_MODE": mode, "CALIPERS_SUITE_REPORT": str(report), "PYTHONPATH": str(HERE)}


def run(mode, sources, reports, tests, name=None):
    """Runs tests, and returns how each ended, which called our metrics and reducers, and which our scorers."""
    name = name or mode
    report = reports / name
    shutil.rmtree(report, ignore_errors=True)
    environment = environment_of(mode, report)
    command = [*PYTEST, "-n", str(os.cpu_count() or 2), "--dist", "loadfile", "--timeout", str(PATIENCE), "--max-worker-restart", "20"]
    start = time.monotonic()
    with open(reports / f"{name}.log", "w") as log:
        # Names of tests are many: they are read from a file.
        listed = reports / f"{name}.tests"
        listed.write_text("\n".join(tests) + "\n")
        done = subprocess.run([*command, f"@{listed}"], cwd=sources, env=environment, stdout=log, stderr=subprocess.STDOUT)
    outcomes, calls, grades = {}, {}, {}
    for file in sorted(report.glob("*.json")) if report.exists() else []:
        part = json.loads(file.read_text())
        outcomes |= part["outcomes"]
        calls |= part["calls"]
        grades |= part["grades"]
    if done.returncode not in (0, 1) or not outcomes:
        tail = "\n".join((reports / f"{name}.log").read_text(errors="replace").splitlines()[-15:])
        sys.exit(f"error: pytest ended with {done.returncode} ({mode})\n{tail}")
    print(f"{name}: {count(outcomes, 'passed')} passed, {count(outcomes, 'failed')} failed, {count(outcomes, 'skipped')} skipped "
          f"in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return outcomes, {test for test in calls if test in outcomes}, {test for test in grades if test in outcomes}


def collect(mode, sources, reports, module):
    """Whether the tests of a module can be collected, which fails where something that it imports is not there."""
    environment = environment_of(mode, reports / "collect")
    done = subprocess.run([*PYTEST, "--collect-only", module], cwd=sources, env=environment, capture_output=True)
    return "passed" if done.returncode == 0 else "failed"


def count(outcomes, outcome):
    return sum(one == outcome for one in outcomes.values())


def main(sources, reports, *tests):
    sources, reports = pathlib.Path(sources).resolve(), pathlib.Path(reports).resolve()
    reports.mkdir(parents=True, exist_ok=True)
    ours, calling, grading = run("ours", sources, reports, list(tests) or [SCORERS])
    problems = []

    # Tests fail for many reasons, such as a network that is not there: only those that pass without us are our fault.
    failed = sorted(test for test, outcome in ours.items() if outcome == "failed")
    # A module that cannot be imported has no test with a name, and pytest runs nothing if it is given one.
    modules = [name for name in failed if "::" not in name]
    named = [test for test in failed if "::" in test]
    plain = run("plain", sources, reports, named)[0] if named else {}
    plain |= {module: collect("plain", sources, reports, module) for module in modules}
    worse = [test for test in failed if plain.get(test) != "failed"]
    # A test that depends on time or order may fail once: what fails with us fails twice.
    suspects = [test for test in worse if "::" in test]
    again = run("ours", sources, reports, suspects, "again")[0] if suspects else {}
    worse = [test for test in worse if again.get(test) != "passed"]
    print(f"tests: {len(ours)}, of which {count(ours, 'passed')} pass, {count(ours, 'skipped')} skip themselves, {len(failed)} fail")
    print(f"tests that fail with us only: {len(worse)}")
    problems += [f"{test} fails with us, and is {plain.get(test, 'not run')} without us" for test in worse]
    for what, reached in (("metrics and reducers", calling), ("scorers", grading)):
        of_scorers = sum(test.startswith(SCORERS) for test in reached)
        print(f"tests that call our {what}: {len(reached)}, of which {of_scorers} in {SCORERS}; "
              f"{sum(ours[test] == 'passed' for test in reached)} pass")
        if of_scorers < REACH_MIN[what]:
            problems.append(f"only {of_scorers} tests of {SCORERS} call our {what}; at least {REACH_MIN[what]} should")

    for mode, reached, what in (("wrong", calling, "an error of 0.01 in every number"), ("flipped", grading, "the opposite grade")):
        # Without a name, pytest would run all tests.
        right = sorted(test for test in reached if ours[test] == "passed")
        changed = run(mode, sources, reports, right)[0] if right else {}
        noticed = count(changed, "failed")
        print(f"tests that notice {what}: {noticed} of {len(right)}")
        if noticed < NOTICE_MIN[mode]:
            problems.append(f"only {noticed} tests notice {what}; at least {NOTICE_MIN[mode]} should")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
