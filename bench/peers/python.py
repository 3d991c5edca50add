"""The Python package beside Inspect and polars, in one process: `cargo xtask bench python`.

Every case checks its answers before it takes the time. CPU seconds of the whole process count, of all its threads; sides take turns, and
the least of all rounds counts. A slow peer runs fewer rounds, which can only make it look faster than it is.
"""

import argparse
import gc
import logging
import math
import random
import sys
import tempfile
import time
from pathlib import Path

from report_parts import machine, seconds, times

ROWS = 1_000_000
OBJECTS = 200_000
SAMPLES = 10_000


def cpu(call):
    """The answer of a call, and the CPU seconds that it took."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    answer = call()
    taken = time.process_time() - start
    gc.enable()
    return answer, taken


class Case:
    """Two sides with the same answer. `rounds` are those of us and of the peer."""

    def __init__(self, name, peer, required, ours, theirs, same, rounds=(5, 3), scale=1.0):
        self.name, self.peer, self.required = name, peer, required
        self.ours, self.theirs, self.same = ours, theirs, same
        self.rounds, self.scale = rounds, scale

    def run(self):
        best = [math.inf, math.inf]
        for turn in range(max(self.rounds)):
            for side, call in enumerate((self.ours, self.theirs)):
                if turn < self.rounds[side]:
                    answer, taken = cpu(call)
                    best[side] = min(best[side], taken)
                    if side == 0:
                        ours = answer
                    else:
                        theirs = answer
            if turn == 0 and not self.same(ours, theirs):
                sys.exit(f"error: {self.name}: {ours!r} is not {theirs!r}")
        # A peer that is measured on a part of the rows takes as much longer for all of them.
        best[1] *= self.scale
        return best


def close(a, b, tolerance=1e-9):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def columns(rows):
    chance = random.Random(1)
    values = [float(chance.random() < 0.7) for _ in range(rows)]
    groups = [f"group {place % 20}" for place in range(rows)]
    clusters = [f"document {place // 5}" for place in range(rows)]
    return values, groups, clusters


def polars_clustered(polars, frame):
    """The clustered standard error of Inspect's `stderr(cluster=…)`: sums of deviations by cluster, without a correction."""
    mean = frame["score"].mean()
    sums = frame.group_by("cluster").agg((polars.col("score") - mean).sum().alias("sum"))
    total = sums.select((polars.col("sum") ** 2).sum()).item()
    clusters, rows = len(sums), len(frame)
    return math.sqrt(total * clusters / (clusters - 1)) / rows


def cases(only):
    import calipers
    import inspect_ai.scorer as inspect
    import polars
    import pyarrow
    from calipers import scorer as ours

    logging.disable(logging.WARNING)
    values, groups, clusters = columns(ROWS)
    table = pyarrow.table(
        {
            "id": pyarrow.array(range(ROWS)),
            "score": pyarrow.array(values),
            "group": pyarrow.array(groups).dictionary_encode(),
            "cluster": pyarrow.array(clusters).dictionary_encode(),
        }
    )
    frame = polars.from_arrow(table)
    part = OBJECTS
    small = table.slice(0, part)

    def objects(module):
        return [
            module.SampleScore(
                score=module.Score(value=values[place]),
                sample_id=place,
                sample_metadata={"group": groups[place], "cluster": clusters[place]},
            )
            for place in range(part)
        ]

    theirs = objects(inspect)
    scale = ROWS / part

    def score(data, metric, name):
        return calipers.score(data, metric=metric, compat="inspect")[name].value

    def on_rows(name, metric, peer, key=None, required=50.0, rounds=(5, 2)):
        """A metric of all rows from Arrow beside Inspect on its objects; the answers are compared on the rows that it measures."""
        key = key or metric.partition("(")[0]
        want = peer(theirs)
        want = want[key] if isinstance(want, dict) else want
        got = score(small, metric, key)
        if not close(got, want):
            sys.exit(f"error: {name}: {got} is not {want}")
        return Case(
            name, "inspect", required, lambda: score(table, metric, key), lambda: peer(theirs), lambda a, b: True, rounds, scale
        )

    yield on_rows("arrow/accuracy", "accuracy", inspect.accuracy())
    yield on_rows("arrow/stderr", "stderr", inspect.stderr())
    yield on_rows("arrow/clustered", 'stderr(cluster="cluster")', inspect.stderr(cluster="cluster"))
    yield on_rows("arrow/grouped", 'grouped(accuracy(), "group")', inspect.grouped(inspect.accuracy(), "group"), key="all")

    def clustered():
        return score(table, 'stderr(cluster="cluster")', "stderr")

    yield Case("arrow/clustered", "polars", 1.0, clustered, lambda: polars_clustered(polars, frame), lambda a, b: close(a, b, 1e-3), (7, 7))

    light = objects(ours)

    def on_objects(name, mine, peer, same=None):
        """The same objects in both packages' own classes."""

        def alike(a, b):
            return all(close(a[key], b[key]) for key in b) if isinstance(b, dict) else close(a, b)

        return Case(f"objects/{name}", "inspect", 2.0, lambda: mine(light), lambda: peer(theirs), same or alike, (5, 3))

    yield on_objects("accuracy", ours.accuracy(), inspect.accuracy())
    yield on_objects("stderr", ours.stderr(), inspect.stderr())
    yield on_objects("clustered", ours.stderr(cluster="cluster"), inspect.stderr(cluster="cluster"))
    yield on_objects("grouped", ours.grouped(ours.accuracy(), "group"), inspect.grouped(inspect.accuracy(), "group"))

    def inside(name, mine, peer):
        """Inspect's own objects, as `calipers.scorer` gets them inside Inspect."""
        return Case(f"inside/{name}", "inspect", None, lambda: mine(theirs), lambda: peer(theirs), close, (5, 3))

    yield inside("accuracy", ours.accuracy(), inspect.accuracy())
    yield inside("clustered", ours.stderr(cluster="cluster"), inspect.stderr(cluster="cluster"))

    few = 20_000
    some = theirs[:few]
    start = table.slice(0, few)
    yield Case(
        "arrow/bootstrap",
        "inspect",
        50.0,
        lambda: score(start, "bootstrap_stderr(num_samples=1000)", "bootstrap_stderr"),
        lambda: inspect.bootstrap_stderr(1000)(some),
        lambda a, b: abs(a / b - 1) < 0.15,
        (3, 1),
    )

    def share(scores):
        return sum(score.score.as_float() >= 0.5 for score in scores) / len(scores)

    def by_group(scores):
        counts = {}
        for one in scores:
            counts.setdefault(one.sample_metadata["group"], []).append(one.score.as_float())
        return max(sum(group) / len(group) for group in counts.values())

    for name, metric in (("share", share), ("by_group", by_group)):
        # Inspect makes its objects for a metric, so what it takes to make them counts on both sides.
        yield Case(
            f"custom/{name}",
            "inspect",
            5.0,
            lambda metric=metric, name=name: calipers.score(small, metric=metric)[name if metric is share else "by_group"].value,
            lambda metric=metric: metric(objects(inspect)),
            close,
            (5, 2),
        )

    yield evaluation_case()


def evaluation_case():
    """Whole evaluations on a mock model with a scorer in Python, log included."""
    import calipers
    import inspect_ai
    from inspect_ai.dataset import Sample as InspectSample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score as InspectScore, accuracy, scorer, stderr

    folder = Path(tempfile.mkdtemp())

    @scorer(metrics=[accuracy(), stderr()])
    def inspect_overlap():
        async def score(state, target):
            return InspectScore(value=float(target.text in state.output.completion))

        return score

    @calipers.scorer.scorer(metrics=[calipers.scorer.accuracy(), calipers.scorer.stderr()])
    def our_overlap():
        async def score(state, target):
            return calipers.scorer.Score(value=float(target.text in state.output.completion))

        return score

    def pairs():
        return [(f"Question {place}", "mockllm" if place % 3 else "nothing") for place in range(SAMPLES)]

    def run_ours():
        samples = [calipers.dataset.Sample(input=asked, target=target) for asked, target in pairs()]
        task = calipers.Task(samples, scorer=our_overlap())
        done = calipers.eval(task, model="mockllm/model", log_dir=folder / "ours", max_samples=100, display=False)
        return done["accuracy"].value

    def run_theirs():
        def outputs(*_):
            made = ModelOutput.from_content("mockllm/model", "Default output from mockllm/model")
            # Otherwise it asks the network for a table of tokens.
            made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return made

        samples = [InspectSample(input=asked, target=target) for asked, target in pairs()]
        task = inspect_ai.Task(dataset=samples, scorer=inspect_overlap())
        model = get_model("mockllm/model", custom_outputs=outputs)
        [log] = inspect_ai.eval(task, model=model, log_dir=str(folder / "theirs"), display="none", max_samples=100, max_connections=100)
        return log.results.scores[0].metrics["accuracy"].value

    return Case("eval/10,000 samples", "inspect", 10.0, run_ours, run_theirs, close, (3, 1))


ABOUT = f"""\
# Benchmarks of the Python package

`calipers` in Python beside [Inspect AI](https://inspect.aisi.org.uk) and [polars](https://pola.rs), in one process and on the same data,
after checking that the answers agree (to 1e-9; the bootstrap to 15 %, and the error of polars to 0.1 %). This file is written by
`cargo xtask bench python --write bench/reports/python.md --date DATE` and not by hand.

*How to read it.* Times are CPU seconds of all threads, the least of several rounds; sides take turns. `ratio` is the peer's time over ours,
`required` what we hold ourselves to.

*What is compared.* `arrow` is a table of {ROWS:,} rows in pyarrow, from the call of `calipers.score` to the figures with their
intervals; Inspect measures {OBJECTS:,} of its objects, and its time is scaled up to all rows; making the objects is not counted. `objects` is the
metrics of `calipers.scorer` on {OBJECTS:,} of our score objects beside Inspect's on its own; `inside` is our metrics on Inspect's
objects. `custom` is a metric in Python on {OBJECTS:,} rows, with what it takes to make the objects that it is given on both sides.
`eval` is {SAMPLES:,} samples on a mock model with an async scorer in Python, 100 at once, log included.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calipers", default=Path(sys.executable).with_name("calipers"), help="the command line, for its version")
    parser.add_argument("--only", default="", help="only cases with this in their name")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--date", default="")
    parser.add_argument("--note", default="", help="a sentence about the build or the machine")
    options = parser.parse_args()
    rows, is_behind = [], False
    for case in cases(options.only):
        if options.only not in f"{case.name}/{case.peer}":
            continue
        ours, theirs = case.run()
        ratio = theirs / ours
        is_met = case.required is None or ratio >= case.required
        is_behind |= not is_met
        required = "" if case.required is None else f"{case.required:.0f}×"
        verdict = "" if case.required is None else "ok" if is_met else "behind"
        rows.append((f"{case.name}/{case.peer}", seconds(ours), seconds(theirs), times(ratio), required, verdict))
        print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    names = ("case/peer", "ours", "peer", "ratio", "required", "")
    facts = machine(options.calipers, "inspect_ai", "polars", "pyarrow")
    text = "\n".join(
        [
            ABOUT,
            f"Measured on {options.date} by `cargo xtask bench python`:",
            "",
            *(f"- {name}: {value}" for name, value in facts),
            *([f"- {options.note}"] if options.note else []),
            "",
            "| " + " | ".join(names) + " |",
            "|:---|---:|---:|---:|---:|:---|",
            *("| " + " | ".join(row) + " |" for row in rows),
            "",
        ]
    )
    print(text)
    if options.write:
        options.write.write_text(text)
    sys.exit(1 if is_behind else 0)


main()
