"""Inspect's side of the comparison.

    peer.py make DIR           run evaluations with Inspect; for each, a log and NAME.expected.json with its figures
    peer.py check OUT FILE...  what Inspect makes of logs that Calipers wrote, as JSON; each is also written again by Inspect
    peer.py rewrite FILE       writes a log again, as FILE.again.eval and FILE.again.json
    peer.py started OUT FILE   what Inspect makes of a log that did not come to its end, as JSON
    peer.py view OUT FOLDER    what the server of Inspect's viewer says of the logs in a folder, as JSON
    peer.py tasks OUT FOLDER ANSWERS
                               runs the example tasks with Inspect: figures, and the scores of each attempt, as JSON
    peer.py same A B           exits with 1 unless Inspect reads the same log from both files
"""

import csv
import json
import math
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from inspect_ai import Epochs, Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import (
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import (
    SampleScore,
    Score,
    accuracy,
    aggregate,
    bootstrap_stderr,
    categorical,
    choice,
    ci,
    ci_wilson,
    frequency,
    grouped,
    krippendorff_alpha,
    mean,
    metric,
    perplexity_per_seq,
    perplexity_per_token,
    score_reducer,
    scorer,
    std,
    stderr,
    value_to_float,
    var,
)
from inspect_ai.solver import generate, multiple_choice, solver, system_message

NAN = float("nan")


@solver
def silent():
    """Asks no model. A sample may say that it fails."""

    async def solve(state, generate):
        if state.metadata.get("fails") == state.epoch:
            raise ValueError("it failed")
        return state

    return solve


@solver
def scoring():
    """Scores samples without a scorer."""

    async def solve(state, generate):
        state.scores = {"ours": Score(value=state.sample_id % 3 / 2), "label": Score(value="CI"[state.sample_id % 2])}
        return state

    return solve


def recorded(name, metrics):
    """A scorer that looks its scores up: one for each epoch, in the metadata of the sample."""

    @scorer(metrics=metrics, name=name)
    def make():
        async def score(state, target):
            found = state.metadata["scores"][name]
            value = found[(state.epoch - 1) % len(found)]
            if value == "skip":
                return None
            if isinstance(value, dict) and "score" in value:
                return Score(**{**value["score"], "value": real(value["score"]["value"])})
            return Score(value=real(value))

        return score

    return make()


def real(value):
    """Metadata is written as JSON on the way, where NaN needs a stand-in."""
    if isinstance(value, dict):
        return {key: real(item) for key, item in value.items()}
    if isinstance(value, list):
        return [real(item) for item in value]
    return NAN if value == "NaN" else value


def task(name, scores, metrics, metadata=None, epochs=1, reducer=None, **options):
    """A task whose samples have these scores: by scorer, a list of one entry a sample, each a list of one an epoch."""
    count = len(next(iter(scores.values())))
    samples = []
    for place in range(count):
        known = {key: values[place] for key, values in (metadata or {}).items() if values[place] != "absent"}
        known["scores"] = {scorer: [per_sample[place]] if not isinstance(per_sample[place], list) else per_sample[place]
                           for scorer, per_sample in scores.items()}
        samples.append(Sample(input=f"question {place}", target="x", id=place + 1, metadata=known))
    return Task(
        name=name,
        dataset=samples,
        solver=silent(),
        scorer=[recorded(scorer, metrics[scorer]) for scorer in scores],
        epochs=Epochs(epochs, reducer) if epochs > 1 or reducer is not None else None,
        **options,
    )


LABELS = ["C", "I", "P", "N", "C", "C", "I", "C", "C", "I", "P", "C"]
FLOATS = [0.1, 0.9, 0.35, 0.7, 0.2, 1.0, 0.0, 0.55, 0.6, 0.45, 0.8, 0.3]
ONES = [1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1]
TOPICS = ["law", "code", "law", "math", "code", "law", "math", "math", "code", "law", "law", "code"]
DOCS = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"]
MIXED = [1, True, 1.0, "1", 0, False, "x", "x", 2, 2.0, "2", None]
EPOCHS = [["C", "I", "C", "I"], ["I", "I", "I", "C"], ["C", "C", "C", "C"], ["P", "I", "N", "C"], ["I", "I", "I", "I"],
          ["C", "I", "I", "C"]]
EPOCH_FLOATS = [[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.25, 0.5], [1, 1, 1, 0], [0, 0, 0, 1],
                [0.9, 0.1, 0.9, 0.2]]
ALL = ["mean", "median", "mode", "max", "at_least_1", "at_least_3", "pass_at_1", "pass_at_2", "pass_at_4", "pass_k_2",
       "pass_k_3"]


def tasks():
    basic = [accuracy(), mean(), var(), std(), stderr()]
    yield task(
        "metrics",
        {"labels": LABELS, "floats": FLOATS, "ones": ONES, "bools": [bool(x) for x in ONES]},
        {
            "labels": basic + [stderr(cluster="doc"), ci(), ci(level=0.9), ci(cluster="doc"), ci_wilson()],
            "floats": [mean(), std(), stderr(), stderr(cluster="topic"), ci(level=0.99), ci_wilson(cluster="doc")],
            "ones": [ci_wilson(), ci_wilson(level=0.8), accuracy()],
            "bools": basic,
        },
        {"topic": TOPICS, "doc": DOCS},
    )
    yield task(
        "random",
        {"boot": FLOATS, "boot2": LABELS},
        {
            "boot": [bootstrap_stderr(num_samples=2000), ci(method="bootstrap", num_samples=4000)],
            "boot2": [bootstrap_stderr(), ci(method="bootstrap", cluster="doc", num_samples=4000)],
        },
        {"doc": DOCS},
    )
    yield task(
        "groups",
        {"labels": LABELS, "floats": FLOATS, "mixed": FLOATS, "twice": ONES},
        {
            "labels": [grouped(accuracy(), "topic")],
            "floats": [
                grouped(mean(), "topic", all="groups", all_label="overall"),
                grouped(std(), "doc", all=False, name_template="doc {group_name}"),
                stderr(),
            ],
            "mixed": [grouped(mean(), "kind"), grouped(accuracy(), "kind", all="groups", name_template="g-{group_name}")],
            "twice": [grouped(accuracy(), "topic"), grouped(mean(), "topic"), accuracy(), accuracy()],
        },
        {"topic": TOPICS, "doc": DOCS, "kind": MIXED},
    )
    yield task(
        "clusters",
        {"floats": FLOATS, "one": FLOATS},
        {"floats": [stderr(cluster="kind"), ci(cluster="kind")], "one": [stderr(cluster="same"), ci(cluster="same")]},
        {"kind": [1, True, 1.0, "1", 0, False, "x", "x", 2, 2.0, "2", "3"], "same": ["s"] * 12},
    )
    yield task("reducers", {"labels": EPOCHS, "floats": EPOCH_FLOATS},
               {"labels": [accuracy(), stderr()], "floats": [mean(), std(), grouped(mean(), "topic")]},
               {"topic": TOPICS[:6]}, epochs=4, reducer=ALL)
    yield task("majority", {"labels": EPOCHS}, {"labels": [accuracy(), stderr()]}, epochs=4, reducer=["majority"])
    yield task("default_reducer", {"labels": EPOCHS}, {"labels": [accuracy(), stderr()]}, epochs=4)
    yield task("not_reduced", {"labels": EPOCHS, "floats": EPOCH_FLOATS},
               {"labels": [accuracy(), stderr()], "floats": [mean(), frequency()]}, epochs=4, reducer=[])
    yield task("collected", {"labels": EPOCHS, "floats": EPOCH_FLOATS},
               {"labels": [krippendorff_alpha()], "floats": [krippendorff_alpha(level="interval"), krippendorff_alpha("ordinal")]},
               epochs=4, reducer=["collect"])
    yield task("frequencies", {"labels": EPOCHS, "whole": EPOCH_FLOATS},
               {"labels": [frequency(), frequency(["C", "X"], normalize=False), accuracy()], "whole": categorical(["0.5", "1"])},
               epochs=4, reducer=["mode", "max"])
    maps = [[{"a": a, "b": b, "c": "C"}, {"a": b, "b": a, "c": "I"}] for a, b in zip(FLOATS[:6], FLOATS[6:])]
    yield task("maps", {"all": maps, "some": maps, "both": maps, "list": maps},
               {"all": {"*": [mean(), stderr()]}, "some": {"a": [mean(), std(), mean()], "[bc]": [accuracy()], "no": [mean()]},
                "both": [{"a": [mean()], "*": [stderr(), stderr(cluster="doc")]}],
                "list": [aggregate("a", mean()), aggregate("b", std()), {"b": [grouped(mean(), "doc")]}]},
               {"doc": DOCS[:6]}, epochs=2, reducer=["mean", "max", "median", "mode", "at_least_1", "pass_at_1"])
    holes = [{"a": 1.0, "b": "NaN"}, {"a": "NaN", "b": 0.5}, "NaN", {"a": 0.0, "b": 0.25}, {"a": 0.5, "b": 1.0}]
    yield task("holes", {"maps": holes, "picked": holes, "never": ["NaN"] * 5},
               {"maps": {"*": [mean(), stderr()]}, "picked": [aggregate("a", mean(), on_missing="skip")],
                "never": [accuracy(), stderr(), ci(), grouped(accuracy(), "doc")]}, {"doc": DOCS[:5]})
    nulls = [{"a": 1.0, "b": None}, {"a": 0.5, "b": 1.0}, {"a": None, "b": 0.5}]
    yield task("null_values", {"maps": nulls}, {"maps": {"*": [mean(), stderr()]}})
    lists = [[[1, 1, 0]], [[1, 1, 1]], [[0, 1, 0]], [[0, 0, 0]], [[1, 0, 1]]]
    yield task("lists", {"raters": lists}, {"raters": [krippendorff_alpha(), krippendorff_alpha(level="ordinal")]})
    gone = ["C", {"score": {"value": "NaN", "reason": "refusal", "answer": "no"}}, "I", "NaN", "C", "skip"]
    yield task("unscored", {"judge": gone, "other": [1, 0, 1, 0, 1, 0], "never": ["NaN"] * 6},
               {"judge": basic + [ci(), grouped(accuracy(), "topic")], "other": [mean()], "never": [mean(), frequency()]},
               {"topic": TOPICS[:6]})
    yield task("errors", {"judge": EPOCHS, "other": EPOCH_FLOATS}, {"judge": [accuracy(), stderr()], "other": [mean()]},
               {"fails": [1, None, 3, None, 2, None]}, epochs=4, reducer=["mean", "mode"], fail_on_error=False)
    yield task("one_sample", {"judge": ["C"], "wilson": [1]},
               {"judge": basic + [ci(), stderr(cluster="doc"), grouped(std(), "doc")], "wilson": [ci_wilson()]}, {"doc": ["a"]})
    yield task("odd_values", {"judge": ["yes", "No", "TRUE", " 0.5 ", "1e-1", "abc", "", "1_0", True, -3, 2.5, "c"]},
               {"judge": basic})
    tokens = [{"score": {"value": 1, "metadata": {"num_tokens": n, "sum_log_probs": -n * 0.3 - 1}}} for n in range(1, 7)]
    yield task("perplexity", {"judge": tokens}, {"judge": [perplexity_per_token(), perplexity_per_seq()]})
    same = task("same_names", {"judge": LABELS}, {"judge": [accuracy()]})
    same.scorer = [recorded("judge", [accuracy()]), recorded("judge", [mean(), stderr()])]
    yield same
    late = [["C", "NaN", "I", "NaN"], ["NaN", "NaN", "NaN", "C"], ["NaN"] * 4, ["I", "C", "C", "NaN"], ["C", "C", "C", "C"]]
    yield task("unscored_attempts", {"judge": late, "plain": [[1, 0, "NaN", 1]] * 4 + [["NaN"] * 4]},
               {"judge": [accuracy(), stderr(), frequency()], "plain": [mean(), std()]}, epochs=4, reducer=ALL + ["majority"])
    torn = [[{"a": 1, "b": "NaN"}, {"a": 0.5, "b": 1}, "NaN"], ["NaN", {"a": "NaN", "b": "NaN"}, {"a": 0, "b": "C"}],
            [{"a": True, "b": "I"}, {"a": 1, "b": "P"}, {"a": 2, "b": "C"}]]
    yield task("unscored_keys", {"maps": torn}, {"maps": [{"*": [accuracy(), stderr()]}]}, epochs=3,
               reducer=["mean", "median", "mode", "max", "at_least_2", "pass_at_1", "pass_k_1"])
    panels = [[[1, 0, 1], [1, 1, 1]], [[0, 0, 0], [0, 1, 0]], [[1, 1, 0], [1, 1, 1]]]
    yield task("reduced_lists", {"raters": panels}, {"raters": [krippendorff_alpha(level="interval")]}, epochs=2,
               reducer=["mean", "median", "mode", "max", "pass_at_1"])
    kinds = [[1, True, 1.0, "C"], ["C", 1, "yes", "C"], [0, False, "I", "N"], ["P", 0.5, ".5", "0.50"], [2, 3, 2, 3]]
    yield task("mixed_kinds", {"judge": kinds}, {"judge": [accuracy(), frequency()]}, epochs=4, reducer=ALL)
    named = task("text_ids", {"judge": FLOATS[:6]}, {"judge": [grouped(mean(), "topic"), mean()]}, {"topic": TOPICS[:6]})
    for sample, id in zip(named.dataset, ["10", "9", "b/c", "a b", "☃", "001"]):
        sample.id = id
    yield named
    inner = task("nested_groups", {"judge": FLOATS, "key": [{"a": x, "b": 1 - x} for x in FLOATS]},
                 {"judge": [grouped(var(), "topic", all=False), grouped(stderr(), "doc")],
                  "key": {"*": [grouped(mean(), "topic", name_template="{group_name}!"), ci()]}},
                 {"topic": TOPICS, "doc": DOCS})
    yield inner
    kept = task("score_on_error", {"judge": EPOCHS}, {"judge": [accuracy(), stderr()]}, {"fails": [1, None, 3, None, 2, 4]},
                epochs=4, fail_on_error=False, score_on_error=True)
    yield kept
    zero = [{"a": 1.0, "b": 2}, {"b": 0}, {"a": 0.25, "b": None}]
    yield task("aggregates", {"maps": zero}, {"maps": [aggregate("a", mean(), on_missing="zero"),
               aggregate("a", std(), on_missing="skip"), aggregate("b", mean(), on_missing="zero")]})
    own = Task(name="solver_scores", dataset=[Sample(input="q", target="x", id=i + 1) for i in range(4)], solver=scoring())
    yield own
    own = Task(name="solver_scores_with_metrics", dataset=[Sample(input="q", target="x", id=i + 1) for i in range(4)],
               solver=scoring(), metrics=[mean(), std()])
    yield own
    over = task("task_metrics", {"a": FLOATS, "b": ONES}, {"a": [accuracy()], "b": [accuracy()]})
    over.metrics = [mean(), std()]
    yield over


@score_reducer(name="mean_score")
def mean_score():
    """The reducer that the examples define."""
    to_float = value_to_float()

    def reduce(scores):
        return Score(value=statistics.mean([to_float(score.value) for score in scores]))

    return reduce


def number(value):
    return "nan" if math.isnan(value) else "inf" if math.isinf(value) else value


def figures(results):
    """The results in a form without NaN."""
    return [
        {
            "name": score.name,
            "scorer": score.scorer,
            "reducer": score.reducer,
            "scored_samples": score.scored_samples,
            "unscored_samples": score.unscored_samples,
            "metrics": {key: {"name": m.name, "group": m.group, "value": number(m.value)} for key, m in score.metrics.items()},
        }
        for score in results.scores
    ]


def counts(results):
    return {"total": results.total_samples, "completed": results.completed_samples}


def make(folder):
    folder = Path(folder)
    logs = eval(list(tasks()), model="mockllm/model", log_dir=str(folder / "logs"), display="none")
    for place, log in enumerate(logs):
        name = log.eval.task
        if log.status != "success":
            raise SystemExit(f"{name}: {log.error.message if log.error else log.status}")
        log = read_eval_log(log.location)
        expected = {"recorded": figures(log.results), "counts": counts(log.results)}
        write_eval_log(log, str(folder / (f"{name}.json" if place % 2 else f"{name}.eval")))
        recompute_metrics(log)
        expected["recomputed"] = figures(log.results)
        (folder / f"{name}.expected.json").write_text(json.dumps(expected))
    # Scored a second time with the same scorer.
    log = read_eval_log(next(log.location for log in logs if log.eval.task == "reducers"))
    log = score(log, recorded("labels", [mean(), grouped(mean(), "topic")]), action="append", display="none")
    expected = {"recorded": figures(log.results), "counts": counts(log.results), "recomputed": figures(log.results)}
    write_eval_log(log, str(folder / "appended.eval"))
    (folder / "appended.expected.json").write_text(json.dumps(expected))


def rewrite(file):
    """Writes a log again, in both forms."""
    log = read_eval_log(file)
    files = [file + ending for ending in (".again.eval", ".again.json")]
    for again in files:
        write_eval_log(log, again)
    return files


def check(out, files):
    from inspect_ai.analysis import evals_df, samples_df

    answers = []
    for file in files:
        header = read_eval_log(file, header_only=True)
        log = read_eval_log(file)
        answer = {"header": figures(header.results), "whole": figures(log.results), "counts": counts(log.results)}
        answer["samples"] = [
            {"id": s.id, "epoch": s.epoch, "input": s.input, "target": s.target, "choices": s.choices,
             "completion": s.output.completion, "metadata": {k: str(v) for k, v in s.metadata.items()},
             "error": s.error.message if s.error else None,
             "scores": {k: [str(v.value), v.answer, v.reason] for k, v in (s.scores or {}).items()}}
            for s in log.samples
        ]
        table = samples_df(file, strict=True)
        answer["rows"] = len(table)
        answer["columns"] = sorted(table.columns)
        answer["evals"] = len(evals_df(file, strict=True))
        answer["reductions"] = [[r.scorer, r.reducer, len(r.samples)] for r in log.reductions or []]
        recompute_metrics(log)
        answer["recomputed"] = figures(log.results)
        answer["recomputed_reductions"] = [[r.scorer, r.reducer, len(r.samples)] for r in log.reductions or []]
        answer["rewritten"] = rewrite(file)
        answer["streamed"] = sum(1 for _ in read_eval_log_samples(file))
        answer["summaries"] = [[s.id, s.epoch, s.completed] for s in read_eval_log_sample_summaries(file)]
        one = read_eval_log_sample(file, id=log.samples[0].id, epoch=log.samples[0].epoch)
        answer["found"] = one.uuid == log.samples[0].uuid
        answers.append(answer)
    Path(out).write_text(json.dumps(answers))


def started(out, file):
    header, log = read_eval_log(file, header_only=True), read_eval_log(file)
    listed = [info.name for info in list_eval_logs(str(Path(file).parent))]
    answer = {
        "status": [header.status, log.status],
        "samples": sorted(sample.id for sample in log.samples),
        "summaries": sorted(summary.id for summary in read_eval_log_sample_summaries(file)),
        "streamed": sorted(sample.id for sample in read_eval_log_samples(file, all_samples_required=False)),
        "listed": any(name.endswith(Path(file).name) for name in listed),
    }
    Path(out).write_text(json.dumps(answer))


def view(out, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def get(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}") as response:
            return json.load(response)

    program = "from inspect_ai._cli.main import main; main()"
    arguments = ["view", "start", "--log-dir", folder, "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                listed = get("logs")
                break
            except OSError:
                if server.poll() is not None:
                    sys.exit("the viewer did not start")
                time.sleep(0.1)
        names = [file["name"] for file in listed["files"]]
        headers = get("log-headers?" + urllib.parse.urlencode([("file", name) for name in names]))
        logs = [get(f"logs/{urllib.parse.quote(name, safe='')}") for name in names]
    finally:
        server.kill()
        server.wait()
    answer = {
        Path(name).name: {"header": header["status"], "task": header["eval"]["task"], "samples": len(log["samples"] or [])}
        for name, header, log in zip(names, headers, logs)
    }
    Path(out).write_text(json.dumps(answer))


@metric
def pass_rate(threshold: float = 0.5):
    # The annotation tells Inspect what to pass.
    def rate(scores: list[SampleScore]) -> float:
        return len([s for s in scores if s.score.as_float() >= threshold]) / len(scores)

    return rate


@scorer(metrics=[mean(), stderr(), pass_rate()])
def word_overlap():
    async def score(state, target):
        output = state.output.completion.lower()
        words = target.text.lower().split()
        return Score(value=sum(1 for word in words if word in output) / len(words) if words else 0.0)

    return score


def scripted(answers):
    """A model that answers by the question; the turn is the attempt."""
    turns = {}

    def answer(input, tools, tool_choice, config):
        text = input[-1].text
        key, listed = next((key, listed) for key, listed in answers.items() if key in text)
        turns[key] = turns.get(key, -1) + 1
        output = ModelOutput.from_content("mockllm/model", listed[turns[key] % len(listed)])
        # Without it, Inspect counts tokens, for which it needs the network.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=answer)


def tasks_of_examples(out, folder, answers):
    """The tasks of `colors.star` and `gpqa.star`, written as Inspect has them."""
    folder, answers = Path(folder), json.loads(answers)
    colors = Task(name="colors", dataset=[Sample(input="Name three primary colors.", target="red green blue"),
                                          Sample(input="Name the colors of a traffic light.", target="red yellow green")],
                  solver=generate(), scorer=word_overlap())
    with (folder / "questions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    samples = [Sample(id=row["id"], input=row["question"], choices=[row[letter] for letter in "abcd"], target=row["answer"],
                      metadata={"category": row["category"]}) for row in rows]
    by_question = {row["question"]: answers[row["id"]] for row in rows}

    def gpqa(name, **others):
        system = "You answer questions from the sciences. Choose one of the answers."
        return Task(name=name, dataset=samples, solver=[system_message(system), multiple_choice()], scorer=choice(), **others)

    tasks = [
        gpqa("gpqa"),
        gpqa("gpqa_grouped", metrics=[grouped(accuracy(), "category"), stderr()]),
        gpqa("gpqa_groups", metrics=[grouped(accuracy(), "category", all="groups"), stderr()]),
        gpqa("gpqa_named", metrics=[grouped(accuracy(), "category", name_template="category_{group_name}")]),
        gpqa("gpqa_clustered", metrics=[accuracy(), stderr(cluster="category")]),
        gpqa("gpqa_mode", epochs=Epochs(5, "mode")),
        gpqa("gpqa_at_least", epochs=Epochs(5, ["at_least_2", "at_least_5"])),
        gpqa("gpqa_reduced", epochs=Epochs(5, mean_score())),
    ]
    # Attempts of a sample one after another, so that each gets the answer of its turn.
    found = {}
    for made in [colors, *tasks]:
        model = scripted({"color": ["Red and green."]}) if made is colors else scripted(by_question)
        log = eval(made, model=model, display="none", max_samples=1, log_dir=str(Path(out).parent / "theirs"))[0]
        if log.status != "success":
            raise SystemExit(f"{log.eval.task}: {log.error}")
        found[log.eval.task] = {
            "figures": figures(log.results),
            "samples": {f"{s.id}/{s.epoch}": [[v.value, v.answer] for v in s.scores.values()] for s in log.samples},
            "messages": [m.text for m in min(log.samples, key=lambda s: (str(s.id), s.epoch)).messages],
        }
    Path(out).write_text(json.dumps(found))


def same(a, b):
    logs = []
    for file in (a, b):
        log = read_eval_log(file)
        dump = log.model_dump(mode="json", exclude={"location", "etag"})
        logs.append(json.dumps(dump, sort_keys=True))
    if logs[0] != logs[1]:
        place = next((i for i, (x, y) in enumerate(zip(*logs)) if x != y), min(map(len, logs)))
        sys.exit(f"{a} and {b} differ: {logs[0][place - 80:place + 80]!r} and {logs[1][place - 80:place + 80]!r}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", folder]:
            make(folder)
        case ["check", out, *files]:
            check(out, files)
        case ["rewrite", file]:
            rewrite(file)
        case ["started", out, file]:
            started(out, file)
        case ["view", out, folder]:
            view(out, folder)
        case ["tasks", out, folder, answers]:
            tasks_of_examples(out, folder, answers)
        case ["same", a, b]:
            same(a, b)
        case _:
            sys.exit(__doc__)
