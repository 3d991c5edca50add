"""The questions, their answers, and what they print."""

import json

import pytest

import calipers

POLICY = {"thresholds": {"blocking": {"accuracy": ">= 0.4"}, "warning": {"accuracy": ">= 0.9"}}}


@pytest.fixture
def worse(records):
    """A run in which a quarter of the samples fails that passed before."""
    return [{**record, "score": 0.0 if record["id"] < "q050" else record["score"]} for record in records]


def test_a_figure_has_what_is_needed_to_defend_it(records):
    figure = calipers.score(records)["accuracy"]
    assert 0 < figure.value < 1
    assert figure.interval.lower < figure.value < figure.interval.upper
    assert figure.value in figure.interval and list(figure.interval) == [figure.interval.lower, figure.interval.upper]
    assert (figure.n, figure.missing, figure.undefined) == (200, 0, None)
    assert float(figure) == figure.value


def test_what_is_undefined_says_why():
    figure = calipers.score([1.0])["stderr"]
    assert figure.value is None and figure.undefined
    with pytest.raises(ValueError, match="undefined"):
        float(figure)


def test_answers_do_not_change(records):
    results = calipers.score(records)
    with pytest.raises(AttributeError, match="does not change"):
        results["accuracy"].value = 1.0
    with pytest.raises(AttributeError):
        results.figures = ()
    assert results == calipers.score(records) and hash(results) == hash(calipers.score(records))


def test_a_figure_is_found_by_its_names(records):
    both = [{**record, "scores": {"a": record["score"], "b": 1.0}} for record in records]
    for record in both:
        del record["score"]
    results = calipers.score(both)
    with pytest.raises(KeyError, match="figure"):
        results["accuracy"]
    assert results.figure("accuracy", scorer="b").value == 1.0
    with pytest.raises(KeyError, match="the metrics are accuracy"):
        results["acuracy"]


def test_answers_print_as_tables_and_become_frames(records):
    results = calipers.score(records, metric='grouped(accuracy(), "category")')
    assert "physics" in repr(results) and str(results) == repr(results)
    frame = results.to_pandas()
    assert list(frame["metric"]) == ["physics", "chemistry", "biology", "all"]
    assert frame["value"].dtype == "float64"
    assert results.to_polars()["n"].to_list() == [67, 67, 66, 200]
    page = results._repr_html_()
    assert page.startswith('<div class="calipers-report">') and "<svg" in page and "<script" not in page


def test_html_shows_names_from_data_as_text():
    data = [{"id": 1, "score": 1, "category": "<script>alert(1)</script>"}, {"id": 2, "score": 0, "category": "b"}]
    html = calipers.score(data, metric='grouped(accuracy(), "category")')._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_a_verdict_has_three_values(records):
    verdict = calipers.gate(records, POLICY)
    assert (verdict.verdict, verdict.passed, verdict.failed) == ("pass", True, False)
    verdict.raise_for_status()
    gate = verdict.gates[0]
    assert gate.verdict == "pass" and gate.value == calipers.score(records)["accuracy"].value and gate.n == 200
    with pytest.raises(TypeError, match="three values"):
        bool(verdict)
    failed = calipers.gate(records, {"thresholds": {"blocking": {"accuracy": ">= 0.9"}}})
    with pytest.raises(calipers.GateFailed) as raised:
        failed.raise_for_status()
    assert raised.value.verdict is failed and isinstance(raised.value, calipers.VerdictError)
    undecided = calipers.gate(records[:9], {"confidence": 0.95, "thresholds": {"blocking": {"accuracy": ">= 0.5"}}})
    assert undecided.undecided
    with pytest.raises(calipers.GateUndecided):
        undecided.raise_for_status()


def test_a_verdict_is_that_of_the_command_line(lines, program, tmp_path):
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps(POLICY))
    verdict = calipers.gate(lines, policy)
    assert verdict.to_dict() == json.loads(program("gate", lines, "--policy", policy, "--json"))
    assert "accuracy" in verdict.to_markdown() and "<testsuites" in verdict.to_junit()
    assert list(verdict.to_pandas()["blocking"]) == [True, False]
    assert "hero pass" in verdict._repr_html_()


def test_runs_are_compared_sample_by_sample(records, worse):
    comparison = calipers.compare(worse, records)
    assert comparison.verdict == "regressed"
    change = comparison["accuracy"]
    assert change.value < 0 and change.interval.upper < 0 and change.n == 200 and change.p < 0.01
    assert (change.run, change.against) == ("candidate", "baseline")
    assert change.candidate.value - change.baseline.value == pytest.approx(change.value)
    with pytest.raises(calipers.RegressionError) as raised:
        comparison.raise_for_status()
    assert raised.value.comparison is comparison
    assert comparison.to_polars()["verdict"].to_list()[0] == "regressed"
    assert "<svg" in comparison._repr_html_()
    same = calipers.compare(records, records)
    same.raise_for_status()


def test_runs_of_one_frame_are_compared_by_a_column(records, worse):
    frame = [{**record, "model": "new"} for record in worse] + [{**record, "model": "old"} for record in records]
    comparison = calipers.compare(frame, by="model", run=["new", "old"])
    assert comparison["accuracy"].value == calipers.compare(worse, records)["accuracy"].value


def test_a_plan_says_how_many_samples():
    plan = calipers.plan(rate=0.8, half_width=0.02, gate=">= 0.75")
    assert plan.samples["interval"] == 1564 and plan.samples["gate"] >= 437
    assert any("1,564" in answer for answer in plan.answers)
    assert len(plan.to_pandas()) > 3 and "<pre" in plan._repr_html_()


def test_a_plan_follows_from_a_pilot(records, lines, program):
    document = calipers.plan(lines, half_width=0.05).to_dict()
    assert document == json.loads(program("plan", lines, "--half-width", "0.05", "--json"))
    assert calipers.plan(records, half_width=0.05).samples["interval"] == document["interval"]["samples"]


def test_a_judge_is_held_against_people(root, program):
    results, labels = root / "examples/judge/results.jsonl", root / "examples/judge/labels.jsonl"
    report = calipers.judge(results, labels)
    assert report.to_dict() == json.loads(program("judge", results, "--labels", labels, "--json"))
    assert report["agreement"].value == 0.89 and "corrected" in report.figures
    read = calipers.judge(calipers.read(results).to_pandas(), labels)
    assert read["corrected"].value == report["corrected"].value


def test_a_page_has_every_sample(records, tmp_path):
    page = calipers.report(records, tmp_path / "page.html", policy=POLICY, title="Tuesday")
    assert (tmp_path / "page.html").read_text() == page.html
    assert "<title>PASS · Tuesday</title>" in page.html and "q199" in page.html
    assert page._repr_html_().startswith("<iframe")


def test_options_are_those_of_the_command_line(records, lines, program):
    results = calipers.score(lines, where={"category": "physics"}, level=0.9, seed=3, reducer=["mean", "pass_at_2"])
    flags = ["--where", "category=physics", "--level", "0.9", "--seed", "3", "--reducer", "mean", "--reducer", "pass_at_2"]
    assert results.to_dict() == json.loads(program("score", lines, *flags, "--json"))
    partly = [{**record, "score": None} if record["epoch"] == 1 else record for record in records]
    assert calipers.score(partly, missing="failed")["accuracy"].value < calipers.score(partly)["accuracy"].value
    maybe = [{"id": 1, "score": "maybe"}, {"id": 2, "score": "C"}]
    assert calipers.score(maybe, label={"maybe": 0.5})["accuracy"].value == 0.75
    assert calipers.score([1.0], compat="inspect")["stderr"].value == 0.0


def test_inspect_logs_are_read_and_written(records, tmp_path):
    log = tmp_path / "log.eval"
    calipers.convert(records, log)
    assert calipers.read(log).runs[0]["format"] == "inspect"
    assert calipers.score(log)["accuracy"].value == calipers.score(records)["accuracy"].value
    with pytest.raises(calipers.DataError, match="force=True"):
        calipers.convert(records, log)
    calipers.convert(records, log, force=True)
