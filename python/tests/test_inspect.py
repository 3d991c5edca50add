"""Our metrics and reducers beside those of Inspect, in the same process."""

import logging
import math
import random

import pytest

from calipers import scorer as ours

theirs = pytest.importorskip("inspect_ai.scorer")

CASES = 1000
TOLERANCE = 1e-9


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def random_value(chance):
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(["C", "I", "P", "N"])
    if kind == 1:
        return chance.random() * chance.choice([1, 1, 100, -3])
    if kind == 2:
        return chance.randrange(-2, 5)
    if kind == 3:
        return chance.choice([True, False])
    if kind == 4:
        return chance.choice(["yes", "No", "TRUE", "0.25", " 3 ", "1e2", "maybe", "c", "nan", "", "1_000"])
    return chance.choice([0.0, 1.0])


def same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b))
    return a == b


def outcome(call):
    """What a call gives, or what kind of error it ends in."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        return type(error).__name__ if type(error) in (ValueError, TypeError) else "ValueError"


def random_metric(chance):
    """One metric, made by both."""
    kind = chance.randrange(9)
    if kind < 4:
        name = ["accuracy", "mean", "var", "std"][kind]
        return lambda module: getattr(module, name)()
    if kind == 4:
        return lambda module: module.stderr()
    if kind == 5:
        return lambda module: module.stderr(cluster="cluster")
    if kind == 6:
        level, cluster = chance.choice([0.8, 0.95, 0.99]), chance.choice([None, "cluster"])
        return lambda module: module.ci(level=level, cluster=cluster)
    if kind == 7:
        inner, whole = chance.choice(["accuracy", "mean", "stderr"]), chance.choice(["samples", "groups", False])
        template = chance.choice(["{group_name}", "kind_{group_name}"])
        return lambda module: module.grouped(getattr(module, inner)(), "group", all=whole, name_template=template)
    labels = chance.choice([{"correct": "yes", "incorrect": "no"}, {"correct": 3}, {"partial": "c"}])
    return lambda module: module.mean(module.value_to_float(**labels))


def test_metrics_give_the_numbers_of_inspect():
    chance = random.Random(11)
    for case in range(CASES):
        size = chance.choice([0, 1, 2, 3, 7, 30, 200])
        rows = []
        for place in range(size):
            metadata = {"cluster": chance.choice([1, "a", "b", 2.0, True]), "group": chance.choice(["x", "y", 3, None])}
            rows.append((random_value(chance), place, metadata))
        make = random_metric(chance)
        got, want = (
            outcome(lambda: make(module)([
                module.SampleScore(score=module.Score(value=value), sample_id=place, sample_metadata=metadata)
                for value, place, metadata in rows
            ]))
            for module in (ours, theirs)
        )
        assert same(got, want), (case, rows, got, want)


def random_reducer(chance):
    kind = chance.choice(["mean", "median", "mode", "max", "at_least", "pass_at", "pass_k"])
    # A conversion of the caller, here and there: the best attempt keeps the value that it has.
    given = {} if kind == "mode" or chance.random() < 0.7 else {"value_to_float": opposite}
    if kind in ("mean", "median", "mode", "max"):
        return kind, lambda module: getattr(module, f"{kind}_score")(**given)
    k, value = chance.choice([1, 2, 3, 5]), chance.choice([1.0, 0.5])
    return f"{kind}_{k}", lambda module: getattr(module, kind)(k, value, **given)


def opposite(value):
    return 1.0 - {"C": 1.0, "P": 0.5}.get(value, 0.0) if isinstance(value, str) else -float(value or 0)


def random_scores(chance):
    """The scores of one sample's attempts: plain, lists or dicts."""
    size = chance.randrange(1, 7)
    shape = chance.choice(["plain", "plain", "list", "dict"])
    if shape == "plain":
        return [math.nan if chance.random() < 0.1 else random_value(chance) for _ in range(size)]
    if shape == "list":
        length = chance.randrange(1, 4)
        return [[random_value(chance) for _ in range(length)] for _ in range(size)]
    keys = ["a", "b", "c"][: chance.randrange(1, 4)]
    return [{key: random_value(chance) for key in keys} for _ in range(size)]


def test_reducers_give_the_scores_of_inspect():
    chance = random.Random(12)
    for case in range(CASES):
        values = random_scores(chance)
        answers = [chance.choice(["A", "A", "B", None]) for _ in values]
        name, make = random_reducer(chance)
        reduced = []
        for module in (ours, theirs):
            scores = [
                module.Score(value=value, answer=answer, explanation="same", metadata={"place": place})
                for place, (value, answer) in enumerate(zip(values, answers))
            ]
            reduced.append(outcome(lambda: make(module)(scores)))
        got, want = reduced
        if isinstance(got, str) or isinstance(want, str):
            assert got == want, (case, name, values, got, want)
            continue
        assert same(got.value, want.value), (case, name, values, got.value, want.value)
        assert (got.answer, got.explanation, got.metadata) == (want.answer, want.explanation, want.metadata), (case, name)


def test_values_become_the_floats_of_inspect():
    chance = random.Random(13)
    for _ in range(CASES):
        value = random_value(chance)
        labels = chance.choice([{}, {"correct": "yes"}, {"incorrect": 1}, {"noanswer": "maybe"}])
        assert same(ours.value_to_float(**labels)(value), theirs.value_to_float(**labels)(value)), (value, labels)


def test_scores_of_inspect_are_measured_too():
    scores = [theirs.SampleScore(score=theirs.Score(value=value), sample_metadata={"g": "x"}) for value in ("C", "I", 0.5)]
    assert ours.accuracy()(scores) == theirs.accuracy()(scores)
    assert ours.stderr(cluster="g")(scores) == theirs.stderr(cluster="g")(scores)
    assert ours.grouped(ours.mean(), "g")(scores) == theirs.grouped(theirs.mean(), "g")(scores)


def test_a_log_in_memory_is_a_run(tmp_path):
    import calipers
    from inspect_ai.log import read_eval_log

    file = tmp_path / "log.eval"
    calipers.convert([{"id": place, "score": "CI"[place % 2]} for place in range(20)], file)
    log = read_eval_log(str(file))
    assert calipers.score(log)["accuracy"].value == 0.5
    assert calipers.compare(log, log)["accuracy"].value == 0.0
