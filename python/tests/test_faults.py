"""Nothing that data, code or people do ends the interpreter, leaks, or gives a wrong number in silence."""

import gc
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

import calipers
from calipers import Task
from calipers._core import panic_on_purpose
from calipers.dataset import Sample
from calipers.scorer import SampleScore, Score, stderr

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


def resident():
    """The memory of this process in bytes."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def flat(call, times, warm=300, slack=8e6):
    """Fails if memory grows with the number of calls."""
    for _ in range(warm):
        call()
    before = resident()
    for _ in range(times):
        call()
    grown = resident() - before
    assert grown < slack, f"{grown / 1e6:.1f} MB after {times} calls"


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is looked up in /proc")


@needs_proc
def test_ten_thousand_metrics_leak_nothing():
    scores = [SampleScore(Score(value=place % 2, metadata={"a": place}), sample_metadata={"k": place}) for place in range(20)]
    measure = stderr(cluster="k")
    flat(lambda: measure(scores), 10_000)


@needs_proc
def test_ten_thousand_questions_leak_nothing():
    frame = pyarrow.table({"id": list(range(200)), "score": [place % 3 / 2 for place in range(200)], "k": ["a" * 50] * 200})
    flat(lambda: calipers.score(frame, metric=["accuracy", lambda scores: scores[0].as_float()]), 3_000)
    records = [{"id": place, "score": place % 2, "text": "x" * 200} for place in range(20)]
    flat(lambda: calipers.score(records), 5_000)

    def fails():
        with pytest.raises(calipers.MetricError):
            calipers.score(records, metric=lambda scores: 1 / 0)

    flat(fails, 2_000)


@needs_proc
def test_evaluations_leak_nothing(tmp_path):
    async def score(state, target):
        return Score(value=1.0, explanation="x" * 1000, metadata={"text": "y" * 1000})

    task = Task([Sample(input="x" * 1000, id=place) for place in range(50)], scorer=score)

    def run():
        calipers.eval(task, model="mockllm/model", log_dir=tmp_path)

    flat(run, 40, warm=10, slack=24e6)


def test_a_panic_is_an_exception_and_the_interpreter_goes_on():
    with pytest.raises(calipers.InternalError, match="a bug in Calipers: on purpose") as raised:
        panic_on_purpose()
    assert isinstance(raised.value, calipers.CalipersError) and raised.value.hint
    assert calipers.score([1.0, 0.0])["accuracy"].value == 0.5


def test_threads_score_and_evaluate_at_once(tmp_path):
    records = [{"id": place, "score": place % 2, "group": place % 5} for place in range(500)]

    def average(scores):
        return sum(score.as_float() for score in scores) / len(scores)

    async def right(state, target):
        return 1.0 if state.output.completion else 0.0

    want = calipers.score(records, metric=[average, 'stderr(cluster="group")']).to_dict()

    def ask(place):
        if place % 3:
            return calipers.score(records, metric=[average, 'stderr(cluster="group")']).to_dict() == want
        task = Task([Sample(input=str(one), id=one) for one in range(20)], scorer=right, name=f"task{place}")
        return calipers.eval(task, model="mockllm/model", log_dir=tmp_path / str(place))["accuracy"].value == 1.0

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(ask, range(30)))


INTERRUPTED = """
    import os, signal, sys, threading, time
    import calipers
    from calipers.dataset import Sample

    def interrupt():
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    async def slow(state, target):
        await __import__("asyncio").sleep(0.1)
        return 1.0

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        {code}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        print(calipers.score([1.0, 0.0])["accuracy"].value, flush=True)
        os._exit(0)
    print("finished")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    "code",
    [
        'calipers.score([place**0.5 for place in range(200_000)], metric="bootstrap_stderr(num_samples=100000)")',
        "calipers.score([1.0, 0.0] * 50, metric=lambda scores: time.sleep(60))",
        'calipers.eval(calipers.Task([Sample(input="x", id=place) for place in range(2000)], scorer=slow), "mockllm/model", max_samples=2)',
    ],
    ids=["score", "metric", "eval"],
)
def test_ctrl_c_ends_a_long_call(code, tmp_path):
    script = textwrap.dedent(INTERRUPTED).replace("{code}", code)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["interrupted", "0.5"], done.stdout + done.stderr


class Stream:
    """A table that exports its Arrow stream in a way of its own."""

    def __init__(self, batches, schema):
        self.reader = pyarrow.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def test_a_stream_that_breaks_off_is_an_error():
    schema = pyarrow.schema([("id", pyarrow.int64()), ("score", pyarrow.float64())])

    def batches():
        yield pyarrow.record_batch([[1, 2], [1.0, 0.0]], schema=schema)
        raise RuntimeError("the source is gone")

    with pytest.raises(Exception, match="the source is gone") as raised:
        calipers.score(Stream(batches(), schema))
    assert isinstance(raised.value, calipers.DataError)


def test_what_is_no_stream_is_an_error():
    class Wrong:
        def __init__(self, given):
            self.given = given

        def __arrow_c_stream__(self, requested_schema=None):
            if isinstance(self.given, Exception):
                raise self.given
            return self.given

    frame = polars.DataFrame({"id": [1, 2], "score": [1.0, 0.0], "nothing": [None, None]})
    assert calipers.score(frame)["accuracy"].value == 0.5
    for given in (None, 3, object(), ValueError("no")):
        with pytest.raises(calipers.CalipersError):
            calipers.score(Wrong(given))
    # A stream can be read once.
    reader = pyarrow.table({"id": [1, 2], "score": [1.0, 0.0]}).to_reader()
    assert calipers.score(reader)["accuracy"].value == 0.5
    with pytest.raises(calipers.CalipersError):
        calipers.score(reader)


def table(**columns):
    return pyarrow.table(columns)


IDS = [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("frame", "want"),
    [
        (table(id=IDS, score=pyarrow.array([1, 0, 1, 1], pyarrow.uint64())), 0.75),
        (table(id=IDS, score=pyarrow.array([1, 0, 1, 1], pyarrow.int8())), 0.75),
        (table(id=IDS, score=pyarrow.array([1, 0, 1, 1], pyarrow.float32())), 0.75),
        (table(id=IDS, score=pyarrow.array(["C", "I", "C", "C"]).dictionary_encode()), 0.75),
        (table(id=IDS, score=pyarrow.array(["C", "I", "C", "C"], pyarrow.large_string())), 0.75),
        (table(id=IDS, score=pyarrow.array(["C", "I", "C", "C"], pyarrow.string_view())), 0.75),
        (table(id=IDS, score=pyarrow.array([True, False, True, True])), 0.75),
        (table(id=IDS, score=pyarrow.array([Decimal("0.5"), Decimal("1.0"), Decimal("0"), Decimal("0.5")])), 0.5),
        (table(id=pyarrow.array([2**63, 2**64 - 1, 1, 2], pyarrow.uint64()), score=[1, 0, 1, 1]), 0.75),
        (table(id=IDS, score=[1.0, float("nan"), None, 0.0]), 0.5),
        (table(id=IDS, score=[1, 0, 1, 1], nested=[{"a": [{"b": 2}]}] * 4), 0.75),
        (table(id=IDS, score=[1, 0, 1, 1], when=pyarrow.array([0, 1, 2, 3], pyarrow.timestamp("us", "UTC"))), 0.75),
        (table(id=IDS, score=[1, 0, 1, 1], data=[b"\xff\x00"] * 4), 0.75),
        (table(id=IDS, score=[1, 0, 1, 1], nothing=pyarrow.nulls(4)), 0.75),
    ],
    ids=lambda value: str(value.schema.field(value.num_columns - 1).type) if hasattr(value, "schema") else str(value),
)
def test_every_type_of_column_gives_its_number_or_says_why_not(frame, want):
    try:
        assert calipers.score(frame)["accuracy"].value == want
    except calipers.DataError as error:
        assert error.hint, error


def test_columns_that_cannot_be_scores_are_errors():
    for scores in (
        pyarrow.array([[1], [2], [3], [4]]),
        pyarrow.array([b"\xff"] * 4),
        pyarrow.array(["many"] * 4),
        pyarrow.array([float("inf")] * 4),
    ):
        with pytest.raises(calipers.DataError):
            calipers.score(table(id=IDS, score=scores))


def test_two_columns_of_one_name_are_an_error():
    twice = pyarrow.table([IDS, [1, 0, 1, 1], [0, 0, 0, 0]], names=["id", "score", "score"])
    with pytest.raises(calipers.DataError, match="score"):
        calipers.score(twice)
    frame = pandas.DataFrame([[1, 1.0, 0.0], [2, 0.0, 0.0]], columns=["id", "score", "score"])
    with pytest.raises(calipers.CalipersError):
        calipers.score(frame)


def test_frames_without_rows_are_errors():
    for frame in (
        pandas.DataFrame({"id": [], "score": []}),
        polars.DataFrame({"id": [], "score": []}),
        pyarrow.table({"id": pyarrow.array([], pyarrow.int64()), "score": pyarrow.array([], pyarrow.float64())}),
        pandas.DataFrame(),
        polars.DataFrame(),
    ):
        with pytest.raises(calipers.DataError):
            calipers.score(frame)


def test_numbers_that_do_not_fit_are_kept_or_refused():
    big = 10**30
    with pytest.raises(calipers.DataError, match="`id` is `1e"):
        calipers.score([{"id": big, "score": 1}, {"id": big + 1, "score": 0}])
    assert calipers.read({"id": [2**62, 2**62 + 1], "score": [1, 0]}).to_columns()["id"] == [2**62, 2**62 + 1]
    assert calipers.score([{"id": 1, "score": big}, {"id": 2, "score": 0}])["accuracy"].value == pytest.approx(big / 2)
    loop = []
    loop.append(loop)
    with pytest.raises((calipers.CalipersError, ValueError, RecursionError)):
        calipers.score([{"id": 1, "score": 1, "loop": loop}])
    with pytest.raises(TypeError, match="nests too deep"):
        Score(value=loop)


def test_exceptions_of_objects_that_lie_are_passed_on():
    class Lying(list):
        def __iter__(self):
            raise OSError("no more")

    with pytest.raises((OSError, calipers.CalipersError)):
        calipers.score({"id": Lying([1]), "score": Lying([1.0])})

    class Odd:
        def __float__(self):
            raise RuntimeError("odd")

    with pytest.raises(calipers.CalipersError):
        calipers.score([1.0], metric=lambda scores: Odd())


FORK = """
    import os, sys, warnings
    import calipers, numpy

    warnings.simplefilter("ignore", DeprecationWarning)  # Newer Pythons warn of forks beside threads.
    scores = numpy.arange(300_000) % 2.0  # So many are shared among threads.
    half = lambda scores: sum(score.as_float() for score in scores) / len(scores)

    def ask():
        return [calipers.score(scores)["accuracy"].value, calipers.score(scores, metric=half)["half"].value]

    half.__name__ = "half"
    assert ask() == [0.5, 0.5]
    for _ in range(2):  # The child has a child.
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            sys.exit(os.waitstatus_to_exitcode(status))
        assert ask() == [0.5, 0.5]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_processes_that_are_forked_have_threads_of_their_own():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FORK)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
