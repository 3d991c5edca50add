"""The package itself: how it is imported, typed and installed."""

import importlib.metadata
import subprocess
import sys
import time

import calipers


def test_importing_takes_nothing_but_the_standard_library():
    code = (
        "import sys; import calipers; calipers.__version__; "
        "others = {name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'calipers', '__main__'}; "
        "print(sorted(name for name in others if not name.startswith(('_', 'sitecustomize', 'distutils'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", done.stdout


def test_the_wheel_has_no_dependencies():
    assert not importlib.metadata.requires("calipers")
    assert importlib.metadata.version("calipers") == calipers.__version__


def test_the_wheel_brings_the_command_line(program):
    assert program("--version").split() == ["calipers", calipers.__version__]


def test_the_stubs_say_what_the_package_has():
    command = [sys.executable, "-m", "mypy.stubtest", "calipers._core", "--concise", "--ignore-missing-stub"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_passes_strict_type_checks(root):
    # What is checked is what was installed, as a user has it.
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", "/dev/null"]
    command += ["--ignore-missing-imports", "--follow-imports=skip", "--config-file", str(root / "python" / "pyproject.toml")]
    command += ["-p", "calipers"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_is_there_and_documented():
    for name in calipers.__all__:
        value = getattr(calipers, name)
        if name != "__version__":
            assert value.__doc__, name
    try:
        calipers.scores
    except AttributeError as error:
        assert "scores" in str(error)
    else:
        raise AssertionError("there is no such name")


def test_threads_run_while_the_library_computes(lines):
    import threading

    data = [{"id": place, "score": place % 2, "group": place % 50} for place in range(20_000)]
    source = calipers.read(data)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    calipers.score(source, metric="bootstrap_stderr(num_samples=2000)")
    end = time.perf_counter()
    done.set()
    thread.join()
    within = [tick for tick in ticks if start < tick < end]
    assert end - start < 0.05 or len(within) > 5, (end - start, len(within))


def test_what_is_no_exception_is_passed_on():
    # What a metric raises that is no exception at all, such as `SystemExit`, is passed on as it is.
    import pytest

    def leave(scores):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        calipers.score([1.0, 0.0], metric=leave)
    assert calipers.score([1.0, 0.0])["accuracy"].value == 0.5


def test_many_threads_ask_at_once(records):
    from concurrent.futures import ThreadPoolExecutor

    def average(scores):
        return sum(score.as_float() for score in scores) / len(scores)

    want = calipers.score(records, metric=[average, "accuracy"]).to_dict()
    with ThreadPoolExecutor(8) as threads:
        for result in threads.map(lambda _: calipers.score(records, metric=[average, "accuracy"]), range(24)):
            assert result.to_dict() == want
