"""Frames and arrays as people have them: every column gives its number, or an error that says what to do."""

import collections
import datetime
import decimal
import enum
import types
import uuid

import pytest

import calipers

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

IDS = [1, 2, 3, 4]
SECOND = datetime.timedelta(seconds=1)
DAY = datetime.date(2020, 1, 2)
NOON = datetime.datetime(2020, 1, 2, 12)


def frame(score, **more):
    return pandas.DataFrame({"id": IDS, "score": score, **more})


def table(score, **more):
    return pyarrow.table({"id": IDS, "score": score, **more})


def figure(data, **options):
    found = calipers.score(data, **{"metric": "accuracy", **options})
    return [(one.value, one.n, one.missing) for one in found]


# Each has one gap and two of three right, whatever its type.
@pytest.mark.parametrize(
    "data",
    [
        frame(pandas.array([1, 0, None, 1], dtype="Int64")),
        frame(pandas.array([1.0, 0.0, None, 1.0], dtype="Float64")),
        frame(pandas.array([True, False, None, True], dtype="boolean")),
        frame(pandas.array(["C", "I", None, "C"], dtype="string")),
        frame(pandas.Categorical(["C", "I", None, "C"])),
        frame(pandas.Categorical([1.0, 0.0, None, 1.0])),
        frame([1, 0, None, 1]).convert_dtypes(dtype_backend="pyarrow"),
        frame([1, "I", None, 1.0]),
        frame([decimal.Decimal("1"), decimal.Decimal("0.0"), None, decimal.Decimal("1.00")]),
        frame([1, 0, float("nan"), 1]),
        polars.DataFrame({"id": IDS, "score": ["C", "I", None, "C"]}, schema_overrides={"score": polars.Enum(["C", "I"])}),
        polars.DataFrame({"id": IDS, "score": ["C", "I", None, "C"]}, schema_overrides={"score": polars.Categorical}),
        polars.DataFrame({"id": IDS, "score": polars.Series([1, 0, None, 1], dtype=polars.Int128)}),
        polars.DataFrame({"id": IDS, "score": polars.Series([1, "I", None, 1.0], dtype=polars.Object)}),
        polars.LazyFrame({"id": IDS, "score": [1.0, 0.0, float("nan"), 1.0]}),
        table(pyarrow.array([decimal.Decimal("1"), decimal.Decimal("0"), None, decimal.Decimal("1")], pyarrow.decimal256(40, 2))),
        table(pyarrow.array([1, 0, None, 1]).dictionary_encode()),
        table(pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2, 0]), pyarrow.array(["C", "I", None]))),
        table(pyarrow.RunEndEncodedArray.from_arrays([1, 2, 3, 4], [1.0, 0.0, None, 1.0])),
        table(pyarrow.array(numpy.array([1, 0, numpy.nan, 1], dtype="f2"))),
        pyarrow.array([{"id": 1, "score": 1}, {"id": 2, "score": 0}, {"id": 3, "score": None}, {"id": 4, "score": 1}]),
        pyarrow.array([1.0, 0.0, None, 1.0]),
        numpy.ma.array([1.0, 0.0, 5.0, 1.0], mask=[0, 0, 1, 0]),
        numpy.array([1, 0, numpy.nan, 1], dtype="longdouble"),
        numpy.array([1, 0, numpy.nan, 1], dtype=">f4"),
        numpy.array([1, "I", None, 1.0], dtype=object),
        numpy.rec.array([(1, 1.0), (2, 0.0), (3, numpy.nan), (4, 1.0)], dtype=[("id", "i4"), ("score", "f8")]),
        [{"id": 1, "score": 1}, {"id": 2, "score": numpy.bool_(False)}, {"id": 3, "score": pandas.NA}, {"id": 4, "score": decimal.Decimal(1)}],
        list(frame([1, 0, None, 1]).itertuples(index=False)),
        {"id": (one for one in IDS), "score": pandas.Series([1, 0, None, 1])},
        bytearray(b'{"id": 1, "score": 1}\n{"id": 2, "score": 0}\n{"id": 3, "score": null}\n{"id": 4, "score": 1}\n'),
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_type_of_score_is_read(data):
    assert figure(data) == [(pytest.approx(2 / 3), 3, 1)]


@pytest.mark.parametrize(
    "column",
    [
        pandas.to_timedelta([1, 2, 3, 4], unit="s"),
        polars.Series([SECOND * n for n in IDS]),
        pyarrow.array(IDS, pyarrow.duration("s")),
        pyarrow.array([n * 10**9 for n in IDS], pyarrow.duration("ns")),
        numpy.array(IDS, dtype="m8[s]"),
        numpy.array([n * 10**9 for n in IDS], dtype="m8[ns]"),
        [SECOND * n for n in IDS],
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', getattr(column, 'type', ''))}",
)
def test_a_duration_is_in_milliseconds(column):
    data = {"id": IDS, "score": [1, 0, 1, 1], "latency_ms": column}
    forms = [data]
    if hasattr(column, "__arrow_c_array__"):
        forms = [pyarrow.table(data)]
    elif not isinstance(column, polars.Series):
        forms += [pandas.DataFrame(data), [dict(zip(data, row)) for row in zip(*(list(cells) for cells in data.values()))]]
    for form in forms:
        assert calipers.score(form, metric="latency_p50")["latency_p50"].value == 2500.0


@pytest.mark.parametrize(
    "column",
    [
        pandas.to_timedelta([1, 2, 3, 4], unit="s"),
        polars.Series([SECOND * n for n in IDS]),
        pyarrow.array(IDS, pyarrow.duration("s")),
        pyarrow.array(IDS, pyarrow.duration("ns")).dictionary_encode(),
        numpy.array(IDS, dtype="m8[s]"),
        [SECOND * n for n in IDS],
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', getattr(column, 'type', ''))}",
)
def test_a_duration_is_no_score(column):
    def forms(name):
        data = {"id": IDS, name: column}
        made = [pyarrow.table(data)] if hasattr(column, "__arrow_c_array__") else [data]
        if isinstance(column, polars.Series):
            made += [polars.DataFrame(data)]
        elif not hasattr(column, "__arrow_c_array__"):
            made += [pandas.DataFrame(data), [dict(zip(data, row)) for row in zip(*(list(cells) for cells in data.values()))]]
        return made

    for data, options in [*((data, {}) for data in forms("score")), *((data, {"columns": {"score": "took"}}) for data in forms("took"))]:
        with pytest.raises(calipers.DataError, match="duration") as raised:
            calipers.score(data, **options)
        assert "latency_ms" in raised.value.hint
    # What says how long an attempt took is a measurement, whatever it is called.
    for data in forms("took"):
        columns = {"latency_ms": "took"}
        assert calipers.score(data, columns=columns, metric="latency_p50")["latency_p50"].value in (2500.0, pytest.approx(2.5e-6))


def test_durations_among_the_scores_of_a_record_are_no_scores():
    for data in (
        [{"id": n, "scores": {"judge": 1.0, "speed": SECOND * n}} for n in IDS],
        pyarrow.table({"id": IDS, "scores": [{"speed": SECOND * n} for n in IDS]}),
        polars.DataFrame({"id": IDS, "scores": [{"speed": SECOND * n} for n in IDS]}),
    ):
        with pytest.raises(calipers.DataError, match="duration"):
            calipers.score(data)


@pytest.mark.parametrize("day", [DAY, pandas.Timestamp(DAY), NOON, datetime.time(12, 30)], ids=lambda day: type(day).__name__)
def test_times_are_text_in_metadata_and_no_score(day):
    for form in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        groups = calipers.score(form({"id": IDS, "score": [1, 0, 1, 1], "day": [day] * 4}), metric='grouped(accuracy(), "day", all=False)')
        assert [(one.metric[:5], one.value) for one in groups] == [(day.isoformat()[:5], 0.75)]
        with pytest.raises(calipers.DataError, match="is not a number or a known label"):
            calipers.score(form({"id": IDS, "score": [day] * 4}))


def test_ids_of_bytes_stay_apart():
    ids = [uuid.UUID(int=(0xFF - place) << 120).bytes for place in range(4)]
    assert figure(pyarrow.table({"id": pyarrow.array(ids, pyarrow.binary(16)), "score": [1, 0, 1, 1]})) == [(0.75, 4, 0)]
    assert figure([{"id": one, "score": 1} for one in ids]) == [(1.0, 4, 0)]
    assert figure(numpy.array([(b"a", b"C"), (b"b", b"I")], dtype=[("id", "S3"), ("score", "S3")])) == [(0.5, 2, 0)]
    for kind in (pyarrow.binary(), pyarrow.binary_view()):
        with pytest.raises(calipers.DataError, match="not UTF-8"):
            calipers.score(pyarrow.table({"id": pyarrow.array(ids, kind), "score": [1, 0, 1, 1]}))


def test_the_labels_of_a_series_name_its_samples():
    before = pandas.Series([1, 0, 1, 1], index=["a", "b", "c", "d"])
    after = before[::-1]
    assert calipers.read(before).to_columns()["id"] == ["a", "b", "c", "d"]
    assert calipers.compare(before, after)["accuracy"].value == 0.0
    # Labels that repeat name nothing.
    assert figure(pandas.Series([1, 0, 1, 1], index=[1, 1, 2, 2])) == [(0.75, 4, 0)]
    attempts = pandas.DataFrame({"score": [1, 0, 1, 1]}, index=pandas.MultiIndex.from_product([["a", "b"], [1, 2]], names=["id", "epoch"]))
    assert figure(attempts) == [(0.75, 2, 0)]


@pytest.mark.parametrize("ids", [IDS, ["a", "b", "c", "d"], [4, 7, 1, 2]], ids=str)
def test_the_named_index_of_a_frame_is_a_column(ids):
    data = pandas.DataFrame({"id": ids, "score": [1, 0, 1, 1]})
    indexed = data.set_index("id")
    assert calipers.read(indexed).to_columns()["id"] == ids
    assert calipers.compare(indexed, data)["accuracy"].n == 4
    # The column counts where both are there, and an index without a name is that of rows.
    kept = data.set_index(pandas.Index([9, 9, 9, 9], name="id"))
    assert calipers.read(kept).to_columns()["id"] == ids
    attempts = kept.set_index(pandas.MultiIndex.from_arrays([range(4), [1, 1, 2, 2]], names=[None, "epoch"]))
    assert calipers.read(attempts).to_columns()["epoch"] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (lambda: pandas.DataFrame([[1, 1.0, 0.0], [2, 0.0, 0.0]], columns=["id", "score", "score"]), "two columns are called `score`"),
        (lambda: pandas.DataFrame([[1, 2.0], [2, 0.0]]), "no column `id`"),
        (lambda: pandas.DataFrame([[1, 1.0]], columns=pandas.MultiIndex.from_tuples([("a", "id"), ("b", "score")])), "no column `id`"),
        (lambda: frame([1, 0, 1, 1]).groupby("id"), "holds no results"),
        (lambda: pandas.DataFrame({"id": [1.0, float("nan")], "score": [1, 0]}), "`id` is empty"),
        (lambda: pandas.DataFrame({"id": ["a", None], "score": [1, 0]}), "`id` is empty"),
        (lambda: pandas.DataFrame({"id": [True, False], "score": [1, 0]}), "not text or a whole number"),
        (lambda: pandas.DataFrame({"id": [1.5, 2.0], "score": [1, 0]}), "not text or a whole number"),
        (lambda: pandas.DataFrame({"id": [10**30, 1], "score": [1, 0]}), "not text or a whole number"),
        (lambda: pandas.DataFrame({"id": numpy.array([2**64 - 1, 1], dtype="u8"), "score": [1, 0]}), "not text or a whole number"),
        (lambda: frame([1j, 0, 1, 1]), "complex"),
        (lambda: frame([1, 0, float("inf"), 1]), "is infinite"),
        (lambda: frame([object()] * 4), "object"),
        (lambda: polars.LazyFrame({"id": IDS}).select(polars.col("gone")), "the query of a `LazyFrame` fails"),
        (lambda: polars.DataFrame({"id": IDS, "score": polars.Series([object()] * 4, dtype=polars.Object)}), "object"),
        (lambda: table(pyarrow.UnionArray.from_sparse(pyarrow.array([0] * 4, pyarrow.int8()), [pyarrow.array(IDS)])), "`score` has values of several kinds"),
        (lambda: pyarrow.chunked_array([pyarrow.array([{"id": 1, "score": 1}, None])]), "is null"),
        (lambda: pyarrow.table({}), "no rows"),
        (lambda: numpy.zeros((2, 2)), "2 dimensions"),
        (lambda: {"id": [1, 2, 3], "score": [1, "C"]}, "different lengths"),
        (lambda: {"id": [1, 2, 3], "score": [1, 2]}, "different lengths"),
        (lambda: {"id": 1, "score": 1.0}, "the column `id` is a `int`"),
        (lambda: {"id": "abcd", "score": IDS}, "the column `id` is a `str`"),
        (lambda: {}, "no columns"),
        (lambda: {1.0, 0.0}, "a `set` holds no results"),
        (lambda: [{"id": 1, "score": 1}, None], "record 2 is a `NoneType`"),
        (lambda: [{("a", "b"): 1, "id": 1, "score": 1}], "not tuple"),
        (lambda: {"id": ["\ud800", "b"], "score": [1, 0]}, "not Unicode"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_what_to_do(data, what):
    with pytest.raises(calipers.CalipersError) as raised:
        calipers.score(data())
    assert what in raised.value.what and raised.value.hint and not isinstance(raised.value, calipers.InternalError)


def test_frames_of_odd_sizes_are_read():
    wide = pyarrow.table({"id": IDS, "score": [1, 0, 1, 1], **{f"column {place}": IDS for place in range(3000)}})
    assert figure(wide) == [(0.75, 4, 0)]
    long_text = table([1, 0, 1, 1], text=["x" * 3_000_000] * 4)
    assert figure(long_text) == [(0.75, 4, 0)]
    long_ids = pyarrow.table({"id": [f"{'x' * 200_000}{place}" for place in IDS], "score": [1, 0, 1, 1]})
    assert figure(long_ids) == [(0.75, 4, 0)]
    parts = pyarrow.table({"id": pyarrow.chunked_array([[], *([place] for place in IDS), []], pyarrow.int64()), "score": [1, 0, 1, 1]})
    assert figure(parts) == [(0.75, 4, 0)]
    sliced = table([0, 0, 1, 1]).slice(2)
    assert figure(sliced) == [(1.0, 2, 0)]
    nested = 1
    for _ in range(50):
        nested = [nested]
    assert figure(table([1, 0, 1, 1], nested=[nested] * 4)) == [(0.75, 4, 0)]


class Difficulty(enum.Enum):
    EASY = "easy"
    HARD = 2


def test_intervals_and_periods_of_pandas_are_texts():
    cut = pandas.cut([1, 5, 6, 9], [0, 5, 10])
    months = pandas.period_range("2026-01", periods=4, freq="M")
    for column in (cut, cut.astype(object), months):
        data = frame([1, 1, 0, 0], bin=column)
        groups = calipers.score(data, metric='grouped(mean(), "bin")')
        assert str(column[0]) in str(groups), groups
    # The frame is left as it is.
    data = frame([1, 1, 0, 0], bin=cut)
    calipers.score(data, metric="accuracy")
    assert str(data["bin"].dtype) == "category"


def test_ids_of_any_kind_are_texts():
    ids = [uuid.UUID(int=place) for place in range(4)]
    for data in (frame([1, 1, 0, 0]).assign(id=ids), [{"id": one, "score": 1} for one in ids]):
        assert calipers.score(data, metric="accuracy")["accuracy"].n == 4
    data = [{"id": 1, "score": 1, "difficulty": Difficulty.EASY}, {"id": 2, "score": 0, "difficulty": Difficulty.HARD}]
    assert calipers.score(data, metric="accuracy", where={"difficulty": "easy"})["accuracy"].value == 1
    assert calipers.score(data, metric="accuracy", where={"difficulty": 2})["accuracy"].value == 0


def test_any_mapping_is_a_record_or_a_table():
    record = types.MappingProxyType({"id": 1, "score": 1, "facts": types.MappingProxyType({"kind": "a"})})
    chained = collections.ChainMap({"score": 0}, {"id": 2})
    assert calipers.score([record, chained], metric="accuracy")["accuracy"].value == 0.5
    columns = types.MappingProxyType({"id": [1, 2], "score": [1, 1]})
    assert calipers.score(columns, metric="accuracy")["accuracy"].value == 1


def test_wrong_options_name_what_to_write():
    data = frame([1, 1, 0, 0])
    with pytest.raises(TypeError, match="grouped"):
        calipers.score(data, by="category")
    with pytest.raises(calipers.UsageError, match="one column as the `score`") as error:
        calipers.score(data, columns={"score": ["judge", "exact"]})
    assert '{"score.judge": "judge"}' in str(error.value)
    with pytest.raises(calipers.UsageError, match="tuples"):
        calipers.score([(1, 0.5), (2, 1.0)])
    assert "90 %" in str(calipers.score(data, metric="accuracy", level=numpy.float32(0.9)))
