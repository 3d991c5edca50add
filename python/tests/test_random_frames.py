"""Random tables in memory give what the same rows give as lines of JSON, however their columns are stored."""

import json
import math
import random

import pytest

import calipers

pyarrow = pytest.importorskip("pyarrow")


def by_cluster(scores):
    """A metric that looks at everything a row has."""
    sums = {}
    for one in scores:
        cluster = (one.sample_metadata or {}).get("cluster")
        sums.setdefault(cluster, []).append(one.as_float())
    ids = [str(one.sample_id) for one in scores]
    means = [sum(values) / len(values) for values in sums.values()]
    return {"mean": sum(means) / len(means), "first": float(len(ids[0])), "clusters": float(len(sums))}


METRICS = [
    "accuracy",
    "stderr",
    'stderr(cluster="cluster")',
    'ci(cluster="cluster")',
    'grouped(mean(), "group")',
    'grouped(stderr(cluster="cluster"), "group")',
    "bootstrap_stderr(num_samples=50)",
    by_cluster,
]


def coded(chance, values):
    """The same texts by codes: in one dictionary, sorted or not, with repeats, or in chunks with different ones."""
    array = pyarrow.array(values, pyarrow.string())
    form = chance.randrange(6)
    if form == 0:
        return array
    if form == 1:
        return array.cast(pyarrow.large_string())
    if form == 2:
        return array.dictionary_encode()
    cut = chance.randrange(len(values) + 1)
    if form == 3:
        return pyarrow.chunked_array([array[:cut].dictionary_encode(), array[cut:].dictionary_encode()])
    if form == 4:
        whole = array.dictionary_encode()
        return pyarrow.chunked_array([whole[:cut], whole[cut:]])
    texts = sorted({value for value in values if value is not None}, key=lambda _: chance.random())
    texts += texts[: chance.randrange(3)]  # A dictionary may name a text twice.
    place = {text: at for at, text in enumerate(texts)}
    kind = chance.choice([pyarrow.int16(), pyarrow.int64(), pyarrow.uint32()])
    codes = pyarrow.array([None if value is None else place[value] for value in values], kind)
    return pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(texts, pyarrow.string()))


def rows_of(chance):
    count = chance.choice([1, 2, 7, 300, 2000])
    epochs = chance.choice([1, 1, 1, 3])
    ids = list(range(count))
    if chance.random() < 0.3:
        ids = [f"q{at}" for at in ids]
    kind = chance.choice(["floats", "shares", "labels", "whole", "flags"])
    gap = chance.choice([0, 0, 0.05])
    clusters = max(1, int(count * chance.choice([0.01, 0.2, 1])))
    rows = []
    for at, name in enumerate(ids):
        for epoch in range(1, epochs + 1):
            score = {
                "floats": chance.gauss(3, 40),
                "shares": chance.random(),
                "labels": chance.choice("CIPN"),
                "whole": chance.randrange(5),
                "flags": chance.random() < 0.5,
            }[kind]
            score = None if chance.random() < gap else score
            row = {"id": name, "score": score, "cluster": f"document {at % clusters}", "group": f"group {at % 3}"}
            rows.append({**row, "epoch": epoch} if epochs > 1 else row)
    if chance.random() < 0.3:
        chance.shuffle(rows)
    if chance.random() < 0.1:
        rows[-1]["cluster"] = None
    return rows


def answer(data, metric):
    """The figures, without what the file is called; or what is wrong, without where."""
    try:
        found = calipers.score(data, metric=metric).to_dict()
    except calipers.CalipersError as error:
        return type(error).__name__
    [run] = found["runs"]
    for name in ("source", "format"):
        run.pop(name)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_a_table_gives_what_its_rows_give(seed):
    chance = random.Random(seed)
    rows = rows_of(chance)
    names = sorted({name for row in rows for name in row})
    columns = {name: [row.get(name) for row in rows] for name in names}
    table = {name: coded(chance, values) if name in ("cluster", "group") else pyarrow.array(values) for name, values in columns.items()}
    table = pyarrow.table(table)
    if chance.random() < 0.3:
        table = pyarrow.concat_tables([table.slice(0, len(rows) // 3), table.slice(len(rows) // 3)])
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    for metric in METRICS:
        assert answer(table, metric) == answer(lines, metric), metric


def test_a_table_of_many_rows_and_clusters_is_that_of_its_rows():
    """Rows are folded a few thousands at a time, on several threads, and clusters go from one to the next."""
    chance = random.Random(1)
    count = 250_000
    scores = [chance.random() for _ in range(count)]
    clusters = [f"document {at // 7}" for at in range(count)]
    shuffled = sorted(range(count), key=lambda _: chance.random())
    straight = pyarrow.table(
        {
            "id": list(range(count)),
            "score": scores,
            "cluster": pyarrow.array(clusters).dictionary_encode(),
        }
    )
    mean = math.fsum(scores) / count
    sums = {}
    for score, cluster in zip(scores, clusters):
        sums.setdefault(cluster, []).append(score - mean)
    squares = math.fsum(math.fsum(values) ** 2 for values in sums.values())
    want = math.sqrt(squares * len(sums) / (len(sums) - 1)) / count
    metric = ["mean", 'stderr(cluster="cluster")']
    answers = [calipers.score(data, metric=metric) for data in (straight, straight.take(shuffled), straight.cast(plain(straight.schema)))]
    for found in answers:
        assert math.isclose(found["stderr"].value, want, rel_tol=1e-12)
        assert math.isclose(found["mean"].value, mean, rel_tol=1e-14)
    assert len({found["stderr"].value for found in answers}) == 1
    assert len({found["stderr"].details["cr2"] for found in answers}) == 1


def plain(schema):
    """The same columns, with texts in place of codes."""
    return pyarrow.schema([(field.name, pyarrow.string() if pyarrow.types.is_dictionary(field.type) else field.type) for field in schema])
