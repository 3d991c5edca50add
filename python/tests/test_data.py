"""The same results give the same answer, whatever they are handed over as."""

import json

import pytest

import calipers


def answer(results):
    """The figures, without the names of sources."""
    document = results.to_dict()
    return [(run["samples"], run["scores"], run["caveats"]) for run in document["runs"]]


@pytest.fixture(scope="session")
def expected(lines):
    return answer(calipers.score(lines, metric=["accuracy", 'stderr(cluster="category")', 'grouped(accuracy(), "category")']))


METRICS = ["accuracy", 'stderr(cluster="category")', 'grouped(accuracy(), "category")']


def as_pandas(records):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(records)


def as_categories(records):
    frame = as_pandas(records)
    frame["category"] = frame["category"].astype("category")
    return frame


def as_indexed(records):
    return as_pandas(records).set_index("id")


def as_polars(records):
    return pytest.importorskip("polars").DataFrame(records)


def as_polars_categories(records):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(records).with_columns(polars.col("category").cast(polars.Categorical))


def as_lazy(records):
    return as_polars(records).lazy()


def as_pyarrow(records):
    return pytest.importorskip("pyarrow").Table.from_pylist(records)


def as_chunks(records):
    pyarrow = pytest.importorskip("pyarrow")
    half = len(records) // 2
    return pyarrow.concat_tables([pyarrow.Table.from_pylist(part) for part in (records[:half], records[half:])])


def as_reader(records):
    return as_pyarrow(records).to_reader()


def as_columns(records):
    return {name: [record[name] for record in records] for name in records[0]}


def as_arrays(records):
    numpy = pytest.importorskip("numpy")
    return {name: numpy.array(column) for name, column in as_columns(records).items()}


def as_structured(records):
    numpy = pytest.importorskip("numpy")
    kinds = [("id", "U4"), ("epoch", "i8"), ("score", "f8"), ("category", "U12"), ("latency_ms", "f8")]
    return numpy.array([tuple(record.values()) for record in records], dtype=kinds)


FORMS = [
    list,
    tuple,
    iter,
    as_pandas,
    as_categories,
    as_indexed,
    as_polars,
    as_polars_categories,
    as_lazy,
    as_pyarrow,
    as_chunks,
    as_reader,
    as_columns,
    as_arrays,
    as_structured,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_gives_the_answer_of_the_file(form, records, expected):
    assert answer(calipers.score(form(records), metric=METRICS)) == expected


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".eval", ".json"])
def test_every_kind_of_file_gives_it_too(ending, records, expected, tmp_path):
    file = tmp_path / f"results{ending}"
    calipers.convert(records, file)
    assert answer(calipers.score(file, metric=METRICS, reducer="mean"))[0][1][0]["metrics"]["accuracy"]["value"] == (
        expected[0][1][0]["metrics"]["accuracy"]["value"]
    )


def test_the_command_line_prints_what_to_dict_gives(lines, program):
    assert calipers.score(lines).to_dict() == json.loads(program("score", lines, "--json"))


def test_a_frame_without_pyarrow_is_read(records, expected, monkeypatch):
    pandas = pytest.importorskip("pandas")

    def refuse(self, requested_schema=None):
        raise ImportError("no pyarrow")

    monkeypatch.setattr(pandas.DataFrame, "__arrow_c_stream__", refuse)
    assert answer(calipers.score(pandas.DataFrame(records), metric=METRICS)) == expected


@pytest.mark.parametrize("kind", ["list", "numpy", "pandas", "polars"])
def test_scores_alone_are_called_by_their_places(kind):
    scores = [1.0, 0.0, 1.0, 1.0]
    data = scores if kind == "list" else pytest.importorskip(kind)
    if kind == "numpy":
        data = data.array(scores)
    elif kind != "list":
        data = data.Series("score", scores) if kind == "polars" else data.Series(scores)
    assert calipers.score(data)["accuracy"].value == 0.75
    assert calipers.read(data).to_columns()["id"] == [1, 2, 3, 4]


def test_labels_and_missing_scores_are_what_they_are_in_a_file():
    data = ["C", "I", None, "C"]
    figure = calipers.score(data)["accuracy"]
    assert (figure.value, figure.n, figure.missing) == (2 / 3, 3, 1)
    numpy = pytest.importorskip("numpy")
    figure = calipers.score(numpy.array([1.0, numpy.nan, 0.0]))["accuracy"]
    assert (figure.value, figure.n, figure.missing) == (0.5, 2, 1)


def test_nested_columns_are_read_as_in_a_file(tmp_path):
    records = [{"id": place, "scores": {"a": place % 2, "b": 1}, "tags": ["x", "y"]} for place in range(10)]
    file = tmp_path / "nested.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    want = answer(calipers.score(file))
    assert answer(calipers.score(records)) == want
    assert answer(calipers.score(pytest.importorskip("polars").DataFrame(records))) == want
    assert answer(calipers.score(pytest.importorskip("pyarrow").Table.from_pylist(records))) == want


def test_columns_of_other_names_are_named_as_on_the_command_line(records):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(records).rename(columns={"id": "question", "score": "points"})
    for columns in ["id=question,score=points", {"id": "question", "score": "points"}, ["id=question", "score=points"]]:
        assert calipers.score(frame, columns=columns)["accuracy"].n == 200


def test_what_is_read_can_be_measured_again(records, expected, lines):
    assert answer(calipers.score(calipers.read(lines), metric=METRICS)) == expected
    assert answer(calipers.score(calipers.read(lines).to_pandas(), metric=METRICS)) == expected
    assert answer(calipers.score(calipers.read(lines).to_polars(), metric=METRICS)) == expected
    assert len(calipers.read(lines)) == len(calipers.read(lines).to_dicts()) == 600


def test_a_large_frame_is_read_in_parts_with_the_same_answer():
    polars = pytest.importorskip("polars")
    rows = 300_000
    frame = polars.DataFrame({"id": range(rows)}).with_columns(
        score=(polars.col("id") % 7 != 0).cast(polars.Float64), group=(polars.col("id") % 40).cast(polars.String)
    )
    whole = calipers.score(frame, metric=["accuracy", 'stderr(cluster="group")'])
    parts = polars.concat([frame[:1000], frame[1000:250_000], frame[250_000:]], rechunk=False)
    assert answer(calipers.score(parts, metric=["accuracy", 'stderr(cluster="group")'])) == answer(whole)
    assert whole["accuracy"].value == frame["score"].mean()
