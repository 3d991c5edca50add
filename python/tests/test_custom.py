"""Metrics and reducers in Python, in every question."""

import pytest

import calipers
from calipers.scorer import Metric, SampleScore, Score, ScoreReducer, accuracy, categorical, frequency, grouped, mean, metric, score_reducer, stderr


@metric
def pass_rate(threshold: float = 0.5) -> Metric:
    """Proportion of samples scoring at or above `threshold`."""

    def metric(scores: list[SampleScore]) -> float:
        passed = [s for s in scores if s.score.as_float() >= threshold]
        return len(passed) / len(scores)

    return metric


@score_reducer(name="least")
def least_score() -> ScoreReducer:
    def reduce(scores: list[Score]) -> Score:
        return Score(value=min(score.as_float() for score in scores), explanation="the least")

    return reduce


DATA = [
    {"id": place, "epoch": epoch, "score": place / 10 if epoch == 1 else 1.0, "kind": "ab"[place % 2]}
    for place in range(10)
    for epoch in (1, 2)
]


def test_functions_and_decorated_factories_are_metrics():
    def share(scores):
        return sum(score.as_float() > 0.8 for score in scores) / len(scores)

    results = calipers.score(DATA, metric=[pass_rate(0.75), share, "accuracy", pass_rate])
    assert results["share"].value == 0.3
    assert results["pass_rate"].value == 0.5
    assert results["accuracy"].interval is not None
    assert results["share"].n == 10


def test_a_metric_is_given_everything_about_a_sample():
    seen = []

    def look(scores):
        seen.extend((s.sample_id, s.score.value, s.sample_metadata, s.score.answer) for s in scores)
        return None

    results = calipers.score([{"id": "a", "score": "C", "kind": "x"}, {"id": "b", "score": "I", "kind": "y"}], metric=look)
    assert [(id, value, metadata["kind"]) for id, value, metadata, _ in seen] == [("a", 1.0, "x"), ("b", 0.0, "y")]
    assert results["look"].value is None and results["look"].undefined


def test_a_metric_may_give_several_numbers():
    results = calipers.score(DATA, metric=lambda scores: {"least": min(s.as_float() for s in scores), "most": 1})
    assert results["least"].value == 0.5 and results["most"].value == 1.0


def test_metrics_by_key():
    data = [{"id": place, "score": {"a": place % 2, "b": 1.0}} for place in range(4)]
    results = calipers.score(data, metric={"a": [pass_rate(1.0), "mean"], "*": "accuracy"})
    assert results.figure("pass_rate", scorer="a").value == 0.5


def test_metrics_of_the_scorer_module_have_intervals_and_reasons():
    results = calipers.score(DATA, metric=[grouped(accuracy(), "kind"), stderr(cluster="kind"), mean()])
    assert results["a"].interval is not None and results["all"].n == 10
    assert calipers.score([1.0], metric=stderr())["stderr"].value is None
    assert stderr()([SampleScore(Score(value=1.0))]) == 0.0


def test_reducers_may_be_functions():
    for reducer in (least_score(), least_score, lambda scores: min(score.as_float() for score in scores)):
        assert calipers.score(DATA, reducer=reducer)["accuracy"].value == pytest.approx(0.45)
    results = calipers.score(DATA, reducer=[least_score(), "max"])
    assert {figure.reducer for figure in results} == {"least", "max"}


def test_a_policy_may_name_a_metric_in_python():
    policy = {"thresholds": {"blocking": {"pass_rate_75": ">= 0.4"}}}

    def pass_rate_75(scores):
        return sum(score.as_float() >= 0.75 for score in scores) / len(scores)

    verdict = calipers.gate(DATA, policy, metric=pass_rate_75)
    assert verdict.passed and verdict.gates[0].value == 0.5


def test_runs_are_compared_by_a_metric_and_a_reducer_in_python():
    other = [{**record, "score": 1.0} for record in DATA]
    comparison = calipers.compare(DATA, other, metric=["accuracy"], reducer=least_score())
    assert comparison["accuracy"].value == pytest.approx(-0.55)
    by_function = calipers.compare(DATA, other, metric=pass_rate(0.75))
    assert by_function["pass_rate"].candidate.value == 0.5


def test_a_plan_and_a_page_take_a_reducer_in_python():
    assert calipers.plan(DATA, half_width=0.1, reducer=least_score()).samples["interval"] > 10
    policy = {"thresholds": {"blocking": {"accuracy": ">= 0.4"}}}
    assert "PASS" in calipers.report(DATA, policy=policy, reducer=least_score()).html


def test_a_metric_says_which_scores_it_takes():
    @metric(scores="unreduced")
    def attempts():
        return lambda scores: float(len(scores))

    @metric("rows", scores="reduced")
    def samples():
        return lambda scores: float(len(scores))

    results = calipers.score(DATA, metric=[attempts(), samples(), "accuracy"], reducer="mean")
    assert results["attempts"].value == 20 and results["rows"].value == 10
    with pytest.raises(calipers.CalipersError):
        calipers.score(DATA, metric=samples(), reducer="none")
    with pytest.raises(calipers.UsageError, match="unreduced"):
        metric(scores="some")


def test_categories_are_counted_over_all_attempts():
    data = [{"id": place, "epoch": epoch, "score": "refuses" if place + epoch == 2 else "complies"} for place in range(2) for epoch in (1, 2)]
    results = calipers.score(data, metric=categorical(["unclear", "refuses"]))
    assert [(one.metric, one.value) for one in results] == [("unclear", 0.0), ("refuses", 0.5), ("complies", 0.5)]
    scores = [SampleScore(score=Score(value=value)) for value in ("a", "b", "a", "a")]
    assert frequency(normalize=False)(scores) == {"a": 3, "b": 1}


@pytest.mark.parametrize("nothing", [{}, [], ()])
def test_a_metric_that_gives_nothing_is_undefined_and_shown(nothing):
    def empty(scores):
        return nothing

    results = calipers.score(DATA, metric=[empty, "accuracy"])
    assert results["empty"].value is None and results["empty"].undefined
    assert results["accuracy"].value is not None


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars"])
def test_arrays_and_series_are_lists_of_numbers(library):
    made = pytest.importorskip(library)
    series = made.array if library == "numpy" else made.Series

    def ends(scores):
        return series([min(s.as_float() for s in scores), 1.0])

    def named(scores):
        return {"first": series([0.25])[0]}

    results = calipers.score(DATA, metric=[ends, named])
    assert [results["ends-1"].value, results["ends-2"].value] == [0.5, 1.0]
    assert results["first"].value == 0.25


def test_what_is_no_number_is_refused_and_a_number_alone_is_taken():
    numpy = pytest.importorskip("numpy")
    for number in (numpy.float32(0.5), numpy.array(0.5), {"share": numpy.array(0.5)}):
        assert next(iter(calipers.score(DATA, metric=lambda scores: number))).value == 0.5
    for wrong, what in [
        (numpy.zeros((2, 2)), "no number"),
        ({"a": {}}, "no number"),
        (float("inf"), "not finite"),
        ({1: 0.5, "1": 0.7}, "two numbers that are called `1`"),
    ]:
        with pytest.raises(calipers.MetricError, match=what):
            calipers.score(DATA, metric=lambda scores: wrong)
