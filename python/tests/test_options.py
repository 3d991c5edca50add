"""Keyword arguments are the options of the command line."""

import inspect
import json
import operator
import re

import pytest

import calipers

# What a function has in place of an option: something of the package, which is looked up, or an argument of the function. An option
# whose only way is the command line is none of these, and needs a keyword.
INSTEAD = {
    "--json": "Results.to_dict",
    "--plot": "Results.to_text",
    "--help": "score.__doc__",
}
ONLY = {
    "score": {"--long": "Results.to_text"},
    "gate": {"--policy": "policy=", "--output": "Verdict.to_junit"},
    "compare": {"--fail-on": "Comparison.raise_for_status", "--output": "Comparison.to_markdown"},
    "plan": {},
    "judge": {"--labels": "labels=", "--output": "JudgeReport.to_markdown"},
    "report": {"--output": "output="},
    "convert": {"--output": "output="},
    "eval": {
        # The verdict about a run is asked for when it is over.
        **dict.fromkeys(("--gate", "--load", "--suite", "--baseline", "--for-version", "--stop-when-decided"), "gate"),
        # The task is an object: no recorded command runs, and a log is scored by asking about it.
        **dict.fromkeys(("--trust", "--replay"), "score"),
        # Tasks in Python run what they import, in the environment of the interpreter, and have no scripts.
        **dict.fromkeys(("--allow-commands", "--env", "--script-time"), "Task"),
    },
}
# What belongs to a process, or to a part of the program that the package is built without.
NOT_HERE = {
    "--memory": "a limit of a process, which would end the interpreter",
    "--history": "the history is kept by the feature `view` of the program",
    "--tag": "goes with `--history`",
}
REFUSED = {"convert": {"--attempts-from"}}  # The command line refuses it too.
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


def is_in_package(instead, parameters):
    """True if what stands in place of an option is there."""
    if instead.endswith("="):
        return instead[:-1] in parameters
    try:
        return operator.attrgetter(instead)(calipers) is not None
    except AttributeError:
        return False


@pytest.mark.parametrize("command", ONLY)
def test_functions_have_the_options_of_their_commands(command, program):
    text = program(command, "--help")
    flags = set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", text, re.M))
    assert len(flags) > 8 or command == "convert", text
    parameters = set(inspect.signature(getattr(calipers, command)).parameters)
    otherwise = {**INSTEAD, **ONLY[command]}
    for flag, instead in otherwise.items():
        assert is_in_package(instead, parameters), f"{flag} of {command}: the package has no {instead}"
        keyword = flag[2:].replace("-", "_")
        assert keyword not in parameters or instead == f"{keyword}=" or command == "eval", f"{flag} of {command} has a keyword"
    without = set(otherwise) | set(NOT_HERE) | REFUSED.get(command, set())
    expected = {flag[2:].replace("-", "_") for flag in flags - without}
    expected = {{"model_role": "model_roles"}.get(name, name) for name in expected}
    assert parameters - ARGUMENTS[command] == expected - ARGUMENTS[command], command
    for flag in ONLY[command]:
        assert flag in flags, f"{flag} is no option any more"


def test_a_way_that_only_the_command_line_has_is_no_way():
    assert not is_in_package("`calipers score --limits`", {"data"})
    assert not is_in_package("limits=", {"data"}) and not is_in_package("Results.to_words", set())


@pytest.mark.parametrize(
    "limits",
    [
        {"cost_usd": 2, "latency_ms": "60s"},
        {"cost_usd": (0, 2.0), "latency_ms": {"max": 60_000}},
        "cost_usd=2,latency_ms=60s",
        ["cost_usd=$2", "latency_ms=0..60s"],
    ],
)
def test_limits_close_the_intervals_of_means(limits, tmp_path, program):
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps({"id": f"q{n}", "passed": n % 3 > 0, "cost_usd": 0.01 * (n % 7 + 1), "latency_ms": 900 + n}) + "\n" for n in range(40)))
    metric = ['mean("cost_usd")', 'mean("latency_ms")']
    flags = [part for one in metric for part in ("--metric", one)]
    without = calipers.score(file, metric=metric)
    assert all(figure.interval is None or figure.interval.upper is None for figure in without)
    results = calipers.score(file, metric=metric, limits=limits)
    assert all(None not in tuple(figure.interval) for figure in results)
    assert results.to_dict() == json.loads(program("score", file, *flags, "--limits", "cost_usd=2,latency_ms=60s", "--json"))


def test_a_page_takes_limits(lines):
    assert "<svg" in calipers.report(lines, limits={"latency_ms": "60s"}).html
    with pytest.raises(calipers.UsageError, match="has no `=`"):
        calipers.report(lines, limits="latency_ms")


@pytest.mark.parametrize(
    "limits, what",
    [
        ("cost_usd", "`limits`: `cost_usd` has no `=`"),
        ({"cost_usd": "dear"}, "gives no number"),
        ({"cost_usd": float("nan")}, "gives no number"),
        ({"judge": (5, 1)}, "judge"),
        ({"judge": (1, 2, 3)}, "has 3 ends"),
        ({"judge": {"min": 1}}, "has `max`"),
        ({"judge": True}, "is a `bool`"),
        ({"judge": None}, "is a `NoneType`"),
        ({"cost_usd": "60s"}, "cost_usd"),
    ],
)
def test_what_is_no_limit_is_refused(limits, what, lines):
    with pytest.raises(calipers.UsageError, match=re.escape(what)) as raised:
        calipers.score(lines, limits=limits)
    assert raised.value.hint


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
