"""What people type who see the package for the first time: a right number, or an exception that says what to do."""

import copy
import dataclasses
import io
import json
import pickle
import pydoc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import calipers
from calipers.scorer import SampleScore, Score

POLICY = {"thresholds": {"blocking": {"accuracy": ">= 0.5"}}}
RECORDS = [{"id": f"q{place}", "score": [1, 0, 1, 1][place % 4], "category": "ab"[place % 2]} for place in range(20)]
CSV = "id,score\nq1,1\nq2,0\n"


@dataclasses.dataclass
class Attempt:
    id: str
    score: float


class Model:
    """As pydantic has them."""

    def __init__(self, **parts):
        self.parts = parts

    def model_dump(self):
        return self.parts


@pytest.mark.parametrize(
    "data",
    [
        lambda file: io.StringIO(CSV),
        lambda file: io.BytesIO(CSV.encode()),
        lambda file: open(file),
        lambda file: open(file, "rb"),
        lambda file: [Attempt("q1", 1.0), Attempt("q2", 0.0)],
        lambda file: [Model(id="q1", score=1.0), Model(id="q2", score=0.0)],
    ],
    ids=["StringIO", "BytesIO", "text file", "binary file", "dataclass", "pydantic"],
)
def test_what_has_records_is_read(data, tmp_path):
    file = tmp_path / "results.csv"
    file.write_text(CSV)
    given = data(file)
    figure = calipers.score(given)["accuracy"]
    assert (figure.value, figure.n) == (0.5, 2)
    if hasattr(given, "close"):
        given.close()


@pytest.mark.parametrize(
    ("ask", "kind", "what"),
    [
        (lambda: calipers.score(RECORDS, metrics="accuracy"), TypeError, "did you mean `metric`?"),
        (lambda: calipers.score(RECORDS, colums={"id": "id"}), TypeError, "did you mean `columns`?"),
        (lambda: calipers.score(CSV), calipers.UsageError, "text.encode()"),
        (lambda: calipers.score(""), calipers.UsageError, "an empty text names no file"),
        (lambda: calipers.score([("q1", 1), ("q2", 0)]), calipers.UsageError, "for id, score in pairs"),
        (lambda: calipers.score({"q1": 1.0, "q2": 0.0}), calipers.UsageError, "for id, score in scores.items()"),
        (lambda: calipers.score(RECORDS, level="95%"), calipers.UsageError, "level=0.95"),
        (lambda: calipers.score(RECORDS, label={"maybe": "half"}), calipers.UsageError, "is no number"),
        (lambda: calipers.score(RECORDS, label=["maybe"]), calipers.UsageError, 'label={"maybe": 0.5}'),
        (lambda: calipers.score(RECORDS, where={"category": ["a", "b"]}), calipers.UsageError, "one value of `category`"),
        (lambda: calipers.gate(RECORDS, json.dumps(POLICY)), calipers.UsageError, "json.loads"),
        (lambda: calipers.gate(RECORDS, "accuracy >= 0.5"), calipers.UsageError, "pass a dict"),
        (lambda: calipers.gate(RECORDS, {"thresholds": {"blocking": {"accuracy": {1}}}}), calipers.PolicyError, "set"),
        (lambda: calipers.score(RECORDS).to_text(width=-3), calipers.UsageError, "no number of columns"),
        (lambda: calipers.score(RECORDS, metric=lambda scores: "x"), calipers.MetricError, "a metric gives a number"),
        (lambda: calipers.score(RECORDS, metric=lambda scores: (one for one in scores)), calipers.MetricError, "it gave a `generator`"),
        (lambda: calipers.eval("task.py", model="mockllm/model"), calipers.UsageError, "calipers eval task.py"),
        (lambda: calipers.eval(3, model="mockllm/model"), calipers.UsageError, "a `int` is no task"),
        (lambda: calipers.score(RECORDS)["accuracy"] > 0.5, TypeError, "calipers.gate"),
        (lambda: pickle.dumps(calipers.read(RECORDS)), TypeError, "to_columns()"),
    ],
)
def test_mistakes_are_exceptions_that_say_what_to_do(ask, kind, what):
    with pytest.raises(kind) as raised:
        ask()
    assert what in str(raised.value)
    assert not isinstance(raised.value, calipers.CalipersError) or raised.value.hint or raised.value.__cause__


def test_an_async_metric_is_refused_before_it_is_called():
    async def metric(scores):
        return 1.0

    with pytest.raises(calipers.UsageError, match="is async"):
        calipers.score(RECORDS, metric=metric)


def test_a_page_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(calipers.UsageError, match="cannot be written") as raised:
        calipers.report(RECORDS, tmp_path)
    assert "report.html" in raised.value.hint


def test_results_know_their_metrics():
    results = calipers.score(RECORDS)
    assert "accuracy" in results and "f1" not in results and results["accuracy"] in results


def test_a_figure_is_rounded_and_formatted_by_its_value():
    figure = calipers.score(RECORDS)["accuracy"]
    assert (round(figure, 1), f"{figure:.2f}", f"{figure}") == (0.8, "0.75", str(figure))
    undefined = calipers.score([1.0])["stderr"]
    with pytest.raises(ValueError, match="is undefined"):
        round(undefined)


def test_seeds_may_be_numbers_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert calipers.score(RECORDS, seed=numpy.int64(3)) == calipers.score(RECORDS, seed=3)


def test_help_says_what_each_option_means():
    for name in ("score", "gate", "compare", "plan", "judge", "report", "read", "convert"):
        text = pydoc.plain(pydoc.render_doc(getattr(calipers, name)))
        assert "format: the name of the format" in text, name
    assert "limits: the most that one attempt" in pydoc.plain(pydoc.render_doc(calipers.score))


REPORTS = {
    "score": lambda: calipers.score(RECORDS),
    "gate": lambda: calipers.gate(RECORDS, POLICY),
    "compare": lambda: calipers.compare(RECORDS, RECORDS),
    "plan": lambda: calipers.plan(rate=0.8, half_width=0.05),
    "judge": lambda: calipers.judge(RECORDS, [{"id": f"q{place}", "label": place % 2} for place in range(20)]),
}


@pytest.mark.parametrize("question", REPORTS)
def test_reports_are_copied_and_pickled(question):
    report = REPORTS[question]()
    assert copy.copy(report) is report and copy.deepcopy([report])[0] is report
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(report))))
    assert type(again) is type(report) and again == report and again.to_json() == report.to_json()
    assert again.to_text(width=80) == report.to_text(width=80) and again._repr_html_() == report._repr_html_()
    assert again.to_pandas().equals(report.to_pandas()) and again.notes == report.notes
    if hasattr(report, "to_markdown"):
        assert again.to_markdown() == report.to_markdown()
    with pytest.raises(AttributeError, match="does not change"):
        again.notes = ()


def test_parts_of_reports_are_pickled():
    figure = calipers.score(RECORDS)["accuracy"]
    assert pickle.loads(pickle.dumps(figure)) == figure and pickle.loads(pickle.dumps(figure.interval)) == figure.interval
    gate = calipers.gate(RECORDS, POLICY).gates[0]
    assert pickle.loads(pickle.dumps(gate)) == gate and copy.deepcopy(gate) is gate
    page = calipers.report(RECORDS)
    assert pickle.loads(pickle.dumps(page)).html == page.html


def test_scores_are_copied_and_pickled():
    score = Score(value={"a": 1, "b": [0.5]}, answer="x", explanation="why", metadata={"k": [1]})
    for again in (copy.copy(score), copy.deepcopy(score), pickle.loads(pickle.dumps(score))):
        assert again == score and again is not score
    deep = copy.deepcopy(score)
    deep.metadata["k"].append(2)
    assert score.metadata == {"k": [1]}
    sample = SampleScore(score=score, sample_id=3, sample_metadata={"k": 1}, scorer="judge")
    again = pickle.loads(pickle.dumps(sample))
    assert (again.score, again.sample_id, again.sample_metadata, again.scorer) == (score, 3, {"k": 1}, "judge")
    # Those that a metric is given are copied too.
    kept = []
    calipers.score(RECORDS, metric=lambda scores: kept.extend(copy.deepcopy(scores)) or 1.0)
    assert [one.as_float() for one in kept[:4]] == [1.0, 0.0, 1.0, 1.0] and kept[1].sample_metadata == {"category": "b"}


def judge_elsewhere(threshold):
    policy = {"thresholds": {"blocking": {"accuracy": f">= {threshold}"}}}
    verdict = calipers.gate(RECORDS, policy)
    verdict.raise_for_status()
    return verdict


def test_answers_and_exceptions_come_back_from_other_processes():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(judge_elsewhere, 0.5).result(timeout=120).passed
        with pytest.raises(calipers.GateFailed) as raised:
            pool.submit(judge_elsewhere, 0.9).result(timeout=120)
    assert raised.value.verdict.failed and raised.value.verdict.gates[0].value == 0.75
