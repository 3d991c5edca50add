"""Errors say what is wrong, where, and what to do, in words of Python."""

import pytest

import calipers


def test_every_error_is_one_of_ours():
    for name in ("DataError", "PolicyError", "UsageError", "MetricError", "InternalError", "VerdictError"):
        assert issubclass(getattr(calipers, name), calipers.CalipersError)
    for name in ("DataError", "PolicyError", "UsageError"):
        assert issubclass(getattr(calipers, name), ValueError)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(calipers.DataError) as raised:
        calipers.score("no-such-file.jsonl")
    assert "no-such-file.jsonl" in raised.value.place and raised.value.hint == "check the name of the file"


def test_a_label_that_nothing_knows_has_a_place_and_a_hint_in_python():
    with pytest.raises(calipers.DataError) as raised:
        calipers.score([{"id": "a", "score": "C"}, {"id": "b", "score": "maybe"}])
    error = raised.value
    assert "`maybe`" in error.what and "sample `b`" in error.place and 'label={"maybe": 0.5}' in error.hint
    assert str(error).splitlines()[0] == error.what and error.hint in str(error)


def test_a_frame_whose_columns_are_unknown_is_told_how_to_name_them():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"question": ["a", "b"], "answer_is_right": [True, False]})
    with pytest.raises(calipers.DataError) as raised:
        calipers.score(frame)
    assert 'columns="' in raised.value.hint and "--" not in raised.value.hint


def test_all_mistakes_of_a_policy_are_found():
    policy = {"thresholds": {"blocking": {"acuracy": ">= 0.8", "stder": ">= 1"}}}
    with pytest.raises(calipers.PolicyError) as raised:
        calipers.gate([1.0, 0.0], policy)
    assert len(raised.value.others) == 1 and "did you mean `accuracy`" in str(raised.value)
    assert raised.value.place.startswith("in policy, line ")


@pytest.mark.parametrize(
    "call",
    [
        lambda: calipers.score([1.0], metric="acuracy"),
        lambda: calipers.score([1.0], level=2.0),
        lambda: calipers.score([1.0], missing="dropped"),
        lambda: calipers.score([1.0], compat="excel"),
        lambda: calipers.score([1.0], where="category"),
        lambda: calipers.score([1.0], seed=-1),
        lambda: calipers.score([1.0], metric=3),
        lambda: calipers.score(3),
        lambda: calipers.score([1.0], reducer=["none", "mean"]),
        lambda: calipers.compare([1.0]),
        lambda: calipers.compare([1.0], [1.0], estimand="all"),
        lambda: calipers.plan(),
        lambda: calipers.plan(rate=0.5, sd=0.1),
        lambda: calipers.plan(rate=0.8, gate="= 3"),
        lambda: calipers.gate([1.0], 3),
        lambda: calipers.report([1.0], baseline="x.json"),
        lambda: calipers.score({"id": [1], "score": ["C"]}, columns="nonsense"),
    ],
)
def test_a_mistake_in_a_call_is_a_usage_error_with_a_hint(call):
    with pytest.raises(calipers.UsageError) as raised:
        call()
    assert raised.value.hint


@pytest.mark.parametrize(
    "call",
    [
        lambda: calipers.score([]),
        lambda: calipers.score({"id": [1, 2], "score": [1.0]}),
        lambda: calipers.score([{"id": 1, "score": float("inf")}]),
        lambda: calipers.score({"id": [], "score": []}),
    ],
)
def test_data_that_cannot_be_measured_is_a_data_error(call):
    with pytest.raises(calipers.DataError):
        call()


def test_an_exception_in_a_metric_is_the_cause():
    def broken(scores):
        return 1 / 0

    with pytest.raises(calipers.MetricError, match="the metric `broken` failed: ZeroDivisionError") as raised:
        calipers.score([1.0, 0.0], metric=broken)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)

    def worse(scores):
        raise KeyError("x")

    data = [{"id": 1, "epoch": epoch, "score": 1.0} for epoch in (1, 2)]
    with pytest.raises(calipers.MetricError, match="reducer `worse`") as raised:
        calipers.score(data, reducer=worse)
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_metric_that_gives_no_number_is_an_error():
    with pytest.raises(calipers.CalipersError, match="no number"):
        calipers.score([1.0], metric=lambda scores: "many")
