"""A run in shares, without an engine: whatever the cut, the answer is that of one machine, or there is none."""

import pickle
import random

import pytest

import calipers
from calipers import _cluster
from unordered import alike

pandas = pytest.importorskip("pandas")

def cut_by_id(seed=0):
    """A stand-in for an engine: rows of one id go into one share, whatever the ids."""

    def fold_all(frame, folding, partitions):
        of = partitions or 3
        chance = random.Random(seed)
        shares = {name: chance.randint(1, of) for name in frame[folding.ids].astype(str).agg("+".join, axis=1)}
        places = frame[folding.ids].astype(str).agg("+".join, axis=1).map(shares)
        travelled = pickle.loads(pickle.dumps(folding))
        made = []
        for number in range(1, of + 1):
            rows = frame[places == number].sample(frac=1, random_state=seed)
            made.append(travelled.fold(None if rows.empty else rows, number, of))
        return folding.gather(made, of)

    return fold_all


def cut_by_row(frame, folding, partitions):
    """What an engine would do that does not bring samples together."""
    of = partitions or 3
    made = [folding.fold(frame.iloc[number::of], number + 1, of) for number in range(of)]
    return folding.gather(made, of)


def questions(fold_all):
    return _cluster.Questions(lambda frame: list(frame.columns), fold_all)


@pytest.fixture
def frame(records):
    return pandas.DataFrame(records)


@pytest.mark.parametrize("partitions", [1, 2, 7, 40])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metric": ["accuracy", "stderr", 'stderr(cluster="category")', "quantile(\"latency_ms\", 0.9)"]},
        {"metric": "accuracy", "reducer": ["pass_at_2", "mode", "max"]},
        {"cluster": "category", "level": 0.9},
        {"where": {"category": "physics"}, "metric": "std"},
        {"metric": lambda scores: sum(score.as_float() for score in scores) / len(scores)},
        {"missing": "failed"},
        {"compat": "inspect"},
        {"reductions": True},
    ],
    ids=lambda options: "+".join(options) or "nothing",
)
def test_scores_are_those_of_one_machine(frame, partitions, options):
    asked = questions(cut_by_id(partitions))
    assert alike(asked.score(frame, partitions=partitions, **options)) == alike(calipers.score(frame, **options))


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_groups_are_those_of_one_machine(frame, partitions):
    metric = 'grouped(mean(), "category")'
    ours = questions(cut_by_id(3)).score(frame, partitions=partitions, metric=metric)
    want = calipers.score(frame, metric=metric)
    assert sorted(map(repr, ours.figures)) == sorted(map(repr, want.figures))


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_verdicts_and_comparisons_are_those_of_one_machine(frame, partitions):
    asked = questions(cut_by_id(1))
    policy = {"confidence": 0.95, "thresholds": {"blocking": {"accuracy": ">= 0.4"}, "warning": {"latency_p95": "<= 200"}}}
    assert alike(asked.gate(frame, policy, partitions=partitions)) == alike(calipers.gate(frame, policy))
    other = frame.assign(score=(frame["score"] + (frame["epoch"] == 2)).clip(0, 1))
    ours = asked.compare(frame, other, partitions=partitions, cluster="category", margin=0.1)
    assert alike(ours) == alike(calipers.compare(frame, other, cluster="category", margin=0.1))
    both = pandas.concat([frame.assign(model="new"), other.assign(model="old")])
    named = {"by": "model", "run": ["old", "new"]}
    assert alike(asked.compare(both, partitions=partitions, **named)) == alike(calipers.compare(both, **named))
    with pytest.raises(calipers.UsageError, match="which run is the candidate is not said"):
        asked.compare(both, by="model")


def test_columns_of_other_names_bring_samples_together(frame):
    named = frame.rename(columns={"id": "question", "score": "is_right"})
    columns = {"id": "question", "score": "is_right"}
    want = calipers.score(named, columns=columns)
    for said in (columns, "id=question,score=is_right"):
        assert alike(questions(cut_by_id()).score(named, columns=said)) == alike(want)
    with pytest.raises(calipers.UsageError, match="by which samples are brought together"):
        questions(cut_by_id()).score(named)
    with pytest.raises(calipers.UsageError, match="no column `quest`"):
        questions(cut_by_id()).score(named, columns={"id": "quest"})
    halves = frame.assign(suite=frame["id"].str[:2], number=frame["id"].str[2:]).drop(columns="id")
    joined = {"id": "suite+number"}
    assert alike(questions(cut_by_id()).score(halves, columns=joined)) == alike(calipers.score(halves, columns=joined))


@pytest.mark.parametrize("ids", ["text", "numbers"])
def test_attempts_in_two_shares_are_refused(frame, ids):
    if ids == "numbers":
        frame = frame.assign(id=frame["id"].str[1:].astype(int))
    asked = questions(cut_by_row)
    for ask in (
        lambda: asked.score(frame),
        lambda: asked.score(frame, metric="accuracy", reducer="pass_at_2"),
        lambda: asked.gate(frame, {"thresholds": {"blocking": {"accuracy": ">= 0.4"}}}),
        lambda: asked.compare(frame, frame),
    ):
        with pytest.raises(calipers.CalipersError, match="hold"):
            ask()


def test_a_share_that_comes_twice_counts_once_and_one_that_differs_not_at_all(frame):
    def twice(frame, folding, partitions):
        one = folding.fold(frame, 1, 1)
        return folding.gather([one, one], 1)

    def contradictory(frame, folding, partitions):
        return folding.gather([folding.fold(frame, 1, 1), folding.fold(frame.iloc[:30], 1, 1)], 1)

    assert alike(questions(twice).score(frame)) == alike(calipers.score(frame))
    with pytest.raises(calipers.CalipersError, match="came twice"):
        questions(contradictory).score(frame)


def test_rows_in_the_wrong_bucket_are_refused(frame):
    def swapped(frame, folding, partitions):
        numbers = _numbers(frame["id"], 2)
        made = [folding.fold(frame[numbers == 3 - number], number, 2, is_bucket=True) for number in (1, 2)]
        return folding.gather(made, 2)

    def right(frame, folding, partitions):
        numbers = _numbers(frame["id"], 5)
        made = [folding.fold(rows, int(number), 5, is_bucket=True) for number, rows in frame.groupby(numbers)]
        return folding.gather(made, 5)

    assert alike(questions(right).score(frame)) == alike(calipers.score(frame))
    with pytest.raises(calipers.CalipersError, match="belong to other buckets"):
        questions(swapped).score(frame)


def _numbers(ids, of):
    numpy = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    from calipers import _core

    return numpy.frombuffer(_core.buckets(pyarrow.chunked_array([pyarrow.array(ids)]), of), dtype="int32")


def test_a_share_that_is_lost_is_refused(frame):
    def lossy(frame, folding, partitions):
        return cut_by_id()(frame, folding, 4)[:3]

    with pytest.raises(calipers.CalipersError, match="1 part of 4 missing: 4"):
        questions(lossy).score(frame)


def test_an_error_of_an_executor_is_ours_and_says_where(frame):
    frame.loc[17, "score"] = None
    wrong = frame.assign(score=frame["score"].map({0.0: "perhaps", 1.0: "surely"}))
    with pytest.raises(calipers.CalipersError, match=r"share \d of 3"):
        questions(cut_by_id()).score(wrong, metric="accuracy")
    with pytest.raises(TypeError, match="sead"):
        questions(cut_by_id()).score(frame, sead=3)
