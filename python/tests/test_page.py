"""Inspect's page on scoring metrics runs with Calipers: only the imports name another package.

The page is not ours, so it is not here: `CALIPERS_INSPECT_PAGE` names files with its text, as it is copied from a browser or as it is in
Inspect's sources (`docs/metrics.qmd`). `cargo xtask python` fetches those.
"""

import importlib
import os
import pathlib
import re
import sys

import pytest

import calipers
from calipers import scorer, solver
from page_code import blocks

QUESTIONS = [
    calipers.dataset.Sample(
        input=f"Question {place}", choices=["yes", "no"], target="AB"[place % 2], id=place, metadata={"category": "xyz"[place % 3]}
    )
    for place in range(12)
]


@scorer.metric
def custom_metric():
    return lambda scores: float(len(scores))


def names():
    """What the page takes for granted."""
    known = {name: getattr(scorer, name) for name in scorer.__all__}
    known |= {name: getattr(solver, name) for name in solver.__all__}
    known |= {"Task": calipers.Task, "task": calipers.task, "Epochs": calipers.Epochs, "custom_metric": custom_metric}
    known |= {"dataset": QUESTIONS, "SYSTEM_MESSAGE": "Choose.", "read_gpqa_dataset": lambda file: QUESTIONS}
    return known


def pages():
    """The copies of the page that tests are told about."""
    named = os.environ.get("CALIPERS_INSPECT_PAGE", "").split(os.pathsep)
    return [pathlib.Path(name) for name in named if name] or [None]


@pytest.fixture(scope="module", params=pages(), ids=lambda page: page.name if page else "no page")
def page_blocks(request):
    """The blocks of code as a page has them."""
    if request.param is None:
        pytest.skip("CALIPERS_INSPECT_PAGE names no copy of Inspect's page on scoring metrics")
    # Three dots stand for the arguments of the task before.
    rest = "dataset=dataset,\n        solver=[system_message(SYSTEM_MESSAGE), multiple_choice()],\n        scorer=choice(),\n"
    text = request.param.read_text(encoding="utf-8")
    return [re.sub(r"(?<=Task\(\n)\s*\.\.\.\n", f"        {rest}", block) for block in blocks(text)]


@pytest.fixture(scope="module")
def code(page_blocks):
    """The same with another package in the imports."""
    return [block.replace("inspect_ai", "calipers") for block in page_blocks]


def test_every_block_is_found(code):
    beginnings = [re.split(r"[(\n]", block, maxsplit=1)[0] for block in code]
    counts = {beginning: beginnings.count(beginning) for beginning in beginnings}
    # A newer page has more of them.
    assert len(code) >= 11, beginnings
    assert counts["@task"] == 4 and counts["Task"] == counts["metrics=[accuracy"] == 1 and counts["grouped"] == 2, beginnings
    assert counts["import numpy as np"] == counts["import statistics"] == counts["from calipers import Task, task"] == 1


def test_every_block_runs_without_inspect_and_every_task_is_evaluated(code, tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.setitem(sys.modules, "inspect_ai", None)  # As if it were not installed.
    tasks = 0
    for place, block in enumerate(code):
        known = names()
        exec(compile(block, f"block {place + 1}", "exec"), known)
        for name in ("gpqa", "colors"):
            if name in known:
                tasks += 1
                done = calipers.eval(known[name](), model="mockllm/model", log_dir=tmp_path / str(place))
                assert done.figures, block
                assert calipers.read(done.log).runs[0]["task"] == name
    assert tasks == 5


# What both sides answer: a letter for choices, and words for colors, each by the question.
def answer_to(question):
    number = sum(map(ord, question))
    return f"ANSWER: {'AB'[number % 3 == 0]}" if "Question" in question else "The primary colors are red and green."


def numbers_of(module):
    """The figures of a page's tasks, by block, scorer, reducer and metric, as one of the two packages gives them."""
    is_ours = module == "calipers"
    package, dataset, scorers, solvers, model = (
        importlib.import_module(name) for name in (module, *(f"{module}.{part}" for part in ("dataset", "scorer", "solver", "model")))
    )
    samples = [
        dataset.Sample(input=one.input, choices=list(one.choices), target=one.target, id=one.id, metadata=dict(one.metadata))
        for one in QUESTIONS
    ]

    @scorers.metric
    def custom_metric():
        def metric(scores):
            return float(len(scores))

        metric.__annotations__ = {"scores": list[scorers.SampleScore], "return": float}
        return metric

    known = {name: getattr(scorers, name) for name in dir(scorers) if not name.startswith("_")}
    known |= {name: getattr(solvers, name) for name in ("TaskState", "generate", "multiple_choice", "system_message")}
    known |= {"Task": package.Task, "task": package.task, "Epochs": package.Epochs, "custom_metric": custom_metric}
    known |= {"dataset": samples, "SYSTEM_MESSAGE": "Choose.", "read_gpqa_dataset": lambda file: samples}

    def outputs(messages, *rest):
        made = model.ModelOutput.from_content("mockllm/model", answer_to(messages[-1].text))
        if not is_ours:
            # Otherwise Inspect asks the network for a table of tokens.
            made.usage = model.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return made

    return known, model.get_model("mockllm/model", custom_outputs=outputs)


def run_task(module, made, model, folder):
    """The figures of a task."""
    if module == "calipers":
        done = calipers.eval(made, model=model, log_dir=folder)
        # What is undefined says why here, and has a placeholder in Inspect.
        return {(one.scorer, one.reducer, one.metric): 0.0 if one.undefined else one.value for one in done}
    from inspect_ai import eval

    [log] = eval(made, model=model, log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    return {
        (score.name, score.reducer, name): metric.value
        for score in log.results.scores
        for name, metric in score.metrics.items()
    }


# What Inspect and its dependencies warn of is not about us.
@pytest.mark.filterwarnings("ignore")
def test_every_number_is_the_one_that_inspect_gives(code, page_blocks, tmp_path):
    """Each block of the page runs in both packages on the same samples and answers."""
    pytest.importorskip("inspect_ai")
    compared = 0
    for place, (ours, theirs) in enumerate(zip(code, page_blocks)):
        figures = {}
        for module, block in (("calipers", ours), ("inspect_ai", theirs)):
            known, model = numbers_of(module)
            text = block if block.startswith(("@", "import", "from")) else f"made = ({block.strip().removeprefix('metrics=')})"
            exec(compile(text, f"block {place + 1}", "exec"), known)
            made = known.get("made")
            if made is None and (name := next((name for name in ("gpqa", "colors") if name in known), None)):
                made = known[name]()
            if isinstance(made, known["Task"]):
                figures[module] = run_task(module, made, model, tmp_path / f"{place}-{module}")
            else:
                figures[module] = measured(module, known, made, block)
        assert figures["calipers"].keys() == figures["inspect_ai"].keys(), (place, figures)
        for key, value in figures["inspect_ai"].items():
            assert figures["calipers"][key] == pytest.approx(value, abs=1e-9, nan_ok=True), (place, key, figures)
        compared += len(figures["inspect_ai"])
    assert compared >= 30, compared


def measured(module, known, made, block):
    """The figures of a metric, a list of metrics or a reducer on the same scores."""
    values = [(place * 7 % 5 / 4, "xyz"[place % 3]) for place in range(30)]
    scores = [
        known["SampleScore"](score=known["Score"](value=value), sample_id=place, sample_metadata={"category": category})
        for place, (value, category) in enumerate(values)
    ]
    if "def mean_score" in block:
        reduced = known["mean_score"]()([score.score for score in scores])
        return {"mean_score": reduced.as_float()}
    metrics = made if isinstance(made, list) else [known["mean"]() if made is None else made]
    figures = {}
    for place, metric in enumerate(metrics):
        given = metric(scores)
        named = given.items() if isinstance(given, dict) else [("value", given)]
        figures.update({(place, name): float(value) for name, value in named})
    return figures


def test_the_task_of_the_example_reports_what_the_page_says(code, tmp_path):
    block = next(block for block in code if "word_overlap" in block)
    known = names()
    exec(compile(block, "example", "exec"), known)
    done = calipers.eval(known["colors"](), model="mockllm/model", log_dir=tmp_path)
    assert [figure.metric for figure in done] == ["mean", "stderr", "pass_rate"]
    assert done["mean"].value == 0.0 and done["pass_rate"].value == 0.0 and done["stderr"].value is None
    assert calipers.score(done.log)["mean"].value == 0.0


def test_metrics_and_reducers_of_the_page_give_its_numbers(code):
    pytest.importorskip("numpy")
    data = [{"id": place, "epoch": epoch, "score": (place * 7 + epoch) % 5 / 4} for place in range(20) for epoch in (1, 2)]
    for block in code:
        known = names()
        if "def mean()" in block or "def mean_score()" in block:
            exec(compile(block, "custom", "exec"), known)
        if "def mean()" in block:
            assert calipers.score(data, metric=known["mean"]())["mean"].value == pytest.approx(
                calipers.score(data, metric="mean")["mean"].value, abs=1e-9
            )
        if "def mean_score()" in block:
            assert calipers.score(data, reducer=known["mean_score"]())["accuracy"].value == pytest.approx(
                calipers.score(data, reducer="mean")["accuracy"].value, abs=1e-9
            )


def test_epochs_and_reducers(tmp_path):
    task = calipers.Task(
        dataset=QUESTIONS,
        solver=solver.multiple_choice(),
        scorer=scorer.choice(),
        epochs=calipers.Epochs(5, ["at_least_2", "at_least_5"]),
    )
    done = calipers.eval(task, model="mockllm/model", log_dir=tmp_path)
    assert {figure.reducer for figure in done} == {"at_least_2", "at_least_5"}
    assert calipers.read(done.log).runs[0]["attempts"] == 60


def test_scorers_wait_side_by_side(tmp_path):
    import asyncio
    import time

    @scorer.scorer(metrics=[scorer.mean()])
    def slow():
        async def score(state, target):
            await asyncio.sleep(0.2)
            return scorer.Score(value=1.0 if state.output.completion else 0.0, metadata={"id": state.sample_id})

        return score

    start = time.perf_counter()
    done = calipers.eval(calipers.Task(dataset=QUESTIONS, scorer=slow()), model="mockllm/model", log_dir=tmp_path)
    assert done["mean"].value == 1.0
    assert time.perf_counter() - start < 12 * 0.2, "the waits add up"
