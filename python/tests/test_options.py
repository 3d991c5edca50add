"""Keyword arguments are the options of the command line."""

import inspect
import json
import re

import pytest

import calipers

# Options that a function has another way for, with the reason; and arguments that stand for what is not an option.
OTHERWISE = {
    "--json": "`to_dict()`",
    "--plot": "`to_text(plot=True)`",
    "--output": "`to_markdown()`, `to_junit()`, `to_json()` and `report()`; the second argument of `report` and `convert`",
    "--memory": "a limit of a process, which would end the interpreter",
    "--help": "`help(calipers.score)`",
}
ONLY = {
    "score": {"--long": "all figures are in the object"},
    "gate": {"--policy": "the second argument"},
    "compare": {"--fail-on": "`raise_for_status()`"},
    "plan": {},
    "judge": {"--labels": "the second argument"},
    "report": {"--output": "the second argument"},
    "convert": {"--output": "the second argument", "--attempts-from": "the command line refuses it too"},
    "eval": {
        "--gate": "`calipers.gate(done, policy)`",
        "--load": "goes with `--gate`",
        "--suite": "goes with `--gate`",
        "--baseline": "goes with `--gate`",
        "--for-version": "goes with `--gate`",
        "--stop-when-decided": "goes with `--gate`",
        "--trust": "there is no recorded command: the task is an object",
        "--replay": "`calipers eval --replay`: it scores a log, and asks no task",
        "--allow-commands": "tasks in Python run what they import",
        "--env": "there are no programs: Python has its own environment",
        "--script-time": "there are no scripts",
    },
}
ARGUMENTS = {
    "score": {"data"},
    "gate": {"data", "policy", "metric"},
    "compare": {"candidate", "baselines"},
    "plan": {"pilot"},
    "judge": {"data", "labels"},
    "report": {"data", "output", "metric"},
    "convert": {"data", "output"},
    "eval": {"task", "task_args", "metadata", "display"},
}


@pytest.mark.parametrize("command", ONLY)
def test_functions_have_the_options_of_their_commands(command, program):
    text = program(command, "--help")
    flags = set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", text, re.M))
    assert len(flags) > 8 or command == "convert", text
    parameters = set(inspect.signature(getattr(calipers, command)).parameters)
    expected = {flag[2:].replace("-", "_") for flag in flags - set(OTHERWISE) - set(ONLY[command])}
    expected = {{"model_role": "model_roles"}.get(name, name) for name in expected}
    assert parameters - ARGUMENTS[command] == expected - ARGUMENTS[command], command
    for flag in ONLY[command]:
        assert flag in flags, f"{flag} is no option any more"


def test_signatures_and_defaults_are_shown():
    parameters = inspect.signature(calipers.score).parameters
    assert parameters["level"].default == 0.95 and parameters["seed"].default == 0 and parameters["script_time"].default == 60
    with pytest.raises(TypeError, match=r"score\(\) got an unexpected keyword argument 'sead'"):
        calipers.score([1.0], sead=3)
    with pytest.raises(TypeError, match="level"):
        calipers.plan(rate=0.5, half_width=0.1, level=0.9)


def test_clusters_scripts_and_labels_give_what_the_command_line_gives(lines, root, program):
    assert calipers.score(lines, cluster="category").to_dict() == json.loads(program("score", lines, "--cluster", "category", "--json"))
    own = root / "examples/inspect-docs/metrics.star"
    want = json.loads(program("score", lines, "--load", own, "--metric", "pass_rate(0.5)", "--json"))
    assert calipers.score(lines, load=own, metric="pass_rate(0.5)").to_dict() == want
    results, labels = root / "examples/judge/results.jsonl", root / "examples/judge/labels.jsonl"
    metric = ["accuracy", "corrected(accuracy())"]
    flags = [part for one in metric for part in ("--metric", one)]
    want = json.loads(program("score", results, "--labels", labels, *flags, "--json"))
    assert calipers.score(results, labels=labels, metric=metric).to_dict() == want


def test_labels_of_strangers_are_an_error(lines):
    labels = [{"id": "nobody", "label": "C"}]
    with pytest.raises(calipers.CalipersError, match="no label belongs to a sample"):
        calipers.score(lines, labels=labels, metric="corrected(accuracy())")
    with pytest.raises(calipers.UsageError, match="`label_columns` is about `labels`"):
        calipers.score(lines, label_columns={"id": "x"})
    with pytest.raises(calipers.UsageError, match="`labels` is a list here"):
        calipers.compare(lines, lines, labels=lines)


def test_looks_are_counted_in_a_file(records, tmp_path):
    policy = {"confidence": 0.95, "thresholds": {"blocking": {"accuracy": ">= 0.45"}}}
    looks = tmp_path / "looks.jsonl"
    first = calipers.gate(records[:150], policy, looks=looks)
    again = calipers.gate(records[:150], policy, looks=looks)
    assert first.to_dict() == again.to_dict() and len(looks.read_text().splitlines()) == 1
    calipers.gate(records, policy, looks=looks)
    assert [json.loads(line)["look"] for line in looks.read_text().splitlines()] == [1, 2]
    with pytest.raises(calipers.UsageError, match="the policy has none"):
        calipers.gate(records, {"thresholds": {"blocking": {"accuracy": ">= 0.45"}}}, looks=looks)


def test_a_page_has_clusters_and_labels(root):
    results, labels = root / "examples/judge/results.jsonl", root / "examples/judge/labels.jsonl"
    assert "<svg" in calipers.report(results, labels=labels).html
    with pytest.raises(calipers.UsageError, match="for 2 runs"):
        calipers.report(results, against=results, labels=[labels])
