"""Inspect's page on scoring metrics runs with Calipers: only the imports name another package.

The page is not ours, so it is not here: `CALIPERS_INSPECT_PAGE` names a file with its text, as it is copied from a browser.
"""

import os
import pathlib

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


@pytest.fixture(scope="module")
def code():
    file = os.environ.get("CALIPERS_INSPECT_PAGE")
    if not file:
        pytest.skip("CALIPERS_INSPECT_PAGE does not name a copy of Inspect's page on scoring metrics")
    page = pathlib.Path(file).read_text(encoding="utf-8")
    rewritten = [block.replace("inspect_ai", "calipers") for block in blocks(page)]
    # Three dots stand for the arguments of the task before.
    rest = "dataset=dataset,\n        solver=[system_message(SYSTEM_MESSAGE), multiple_choice()],\n        scorer=choice(),"
    return [block.replace("...", rest) for block in rewritten]


def test_every_block_is_found(code):
    beginnings = [block.split("\n")[0].split("(")[0] for block in code]
    assert beginnings.count("@task") == 4 and beginnings.count("import numpy as np") == 1
    assert len(code) == 11, beginnings


def test_every_block_runs_and_every_task_is_evaluated(code, tmp_path):
    pytest.importorskip("numpy")
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


def test_a_scorer_that_fails_is_an_error_of_its_attempt(tmp_path):
    @scorer.scorer(metrics=[scorer.mean()])
    def broken():
        async def score(state, target):
            raise RuntimeError("out of order")

        return score

    task = calipers.Task(dataset=QUESTIONS[:2], scorer=broken())
    done = calipers.eval(task, model="mockllm/model", log_dir=tmp_path)
    document = done.to_dict()["runs"][0]
    assert document["samples"]["errored"] >= 1


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
