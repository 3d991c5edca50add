"""Whole evaluations: `calipers eval` beside Inspect AI, log included.

Three questions: how many samples a second on a model that answers at once, how near to the ideal rate on a server that takes
its time, and whether memory grows with what is said.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report_parts import machine, seconds, times

SAMPLES = 10_000
LATENCY_MS = 50
CONNECTIONS = 100
PROMPT = "Which of these is a primary color in painting? " + "Think of what a painter would say. " * 8
ANSWER = "ANSWER: A"
# What is said in an attempt when memory is measured, in words of five letters.
LONG_ANSWER = "word " * 2000

CALIPERS_TASK = """\
def bench():
    return Task(dataset = json_dataset("samples.jsonl"), solver = generate(), scorer = includes(), model = mockllm({answer!r}))
"""

INSPECT_TASK = """\
import resource, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import json_dataset
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

mode, folder, url, connections, answer = sys.argv[1:6]
dataset = json_dataset(folder + "/samples.jsonl")
def outputs():
    while True:
        output = ModelOutput.from_content("mockllm/model", answer)
        # Without a usage, Inspect counts tokens.
        output.usage = ModelUsage(input_tokens=100, output_tokens=3, total_tokens=103)
        yield output
if mode == "mock":
    model = get_model("mockllm/model", custom_outputs=outputs())
else:
    model = get_model("openai/slow", base_url=url, api_key="none", responses_api=False)
cpu = time.process_time()
started = time.perf_counter()
logs = eval(Task(dataset=dataset, solver=generate(), scorer=includes()), model=model, display="none",
            max_connections=int(connections), max_samples=int(connections), log_dir=folder + "/inspect-logs")
wall = time.perf_counter() - started
assert logs[0].status == "success", logs[0].error
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(wall, time.process_time() - cpu, peak, logs[0].results.scores[0].metrics["accuracy"].value)
"""

INTRODUCTION = """\
# Benchmarks of evaluations

`calipers eval` beside [Inspect AI](https://inspect.aisi.org.uk) on the same task, log included, after checking that both
find the same accuracy (to 1e-9). This file is written by `cargo xtask bench eval
--write bench/reports/evaluations.md --date DATE` and not by hand.

*How to read it.* `ours` is the wall time of a fresh process from its start to its end, the least of {rounds} rounds, beside
the CPU time of all its threads and its peak memory. Inspect runs once; its time is that of `eval()` alone, without the
start of Python and the import of the package. `ratio` is the peer's wall time over ours; `required` is what we hold
ourselves to.

*What is compared.* `mock` is {samples} samples on a model that answers at once, scored by `includes()`, with one log for all,
at {connections} attempts at once. `server` is the same on a local server that answers after {latency} ms, over {connections}
connections: `ideal` is the shortest time that is possible, {ideal:.2f} s, and its ratio the share of the ideal rate that
we reach; `cores` is our CPU time over our wall time, while the server works on the same machine. `memory` is the peak with
answers of {answer_kb} KB: the samples of the dataset and their scores are held in memory, what was said is in the log; the bound
is 50 MB and a quarter of what was said.
"""


class Run:
    """What a run took, and what it found."""

    def __init__(self, wall, cpu, peak, accuracy):
        self.wall, self.cpu, self.peak, self.accuracy = float(wall), float(cpu), float(peak), float(accuracy)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rows = []
        self.differences = []

    def run(self):
        for case in (self.mock, self.server, self.memory):
            if not self.options.cases or any(wanted in case.__name__ for wanted in self.options.cases):
                case()

    def write(self, samples, answer):
        (self.folder / "bench.star").write_text(CALIPERS_TASK.format(answer=answer))
        with (self.folder / "samples.jsonl").open("w") as out:
            for number in range(samples):
                target = "A" if number % 3 else "B"
                out.write(json.dumps({"id": number + 1, "input": f"{number}: {PROMPT}", "target": target}) + "\n")

    def ours(self, *more, rounds=None):
        runs = [self.once(*more) for _ in range(rounds or self.options.rounds)]
        return min(runs, key=lambda run: run.wall)

    def once(self, *more):
        shutil.rmtree(self.folder / "logs", ignore_errors=True)
        command = [str(self.options.calipers), "eval", str(self.folder / "bench.star"), "--json"]
        command += ["--log-dir", str(self.folder / "logs"), "--max-connections", str(CONNECTIONS), *more]
        environment = {**os.environ, "OPENAI_API_KEY": "none"}
        # In a process of its own, because the system tells of the largest child so far only.
        wall, cpu, peak, output = json.loads(checked([sys.executable, __file__, "--measure", *command], environment))
        accuracy = json.loads(output)["runs"][0]["scores"][0]["metrics"]["accuracy"]["value"]
        return Run(wall, cpu, peak, accuracy)

    def theirs(self, mode, url="-"):
        script = self.folder / "inspect_task.py"
        script.write_text(INSPECT_TASK)
        output = checked([sys.executable, str(script), mode, str(self.folder), url, str(CONNECTIONS), ANSWER], dict(os.environ))
        shutil.rmtree(self.folder / "inspect-logs", ignore_errors=True)
        return Run(*output.split()[-4:])

    def compare(self, case, ours, theirs):
        if abs(ours.accuracy - theirs.accuracy) > 1e-9:
            self.differences.append(f"{case}: {ours.accuracy} here, {theirs.accuracy} in Inspect")

    def row(self, case, ours, peer=None, required="", is_met=None, ratio=None):
        ratio = peer.wall / ours.wall if peer and ratio is None else ratio
        self.rows.append([
            case, seconds(ours.wall), seconds(ours.cpu), f"{ours.peak:.0f} MB",
            seconds(peer.wall) if peer else "", seconds(peer.cpu) if peer and peer.cpu else "",
            f"{peer.peak:.0f} MB" if peer and peer.peak else "", times(ratio) if ratio else "", required,
            "" if is_met is None else "ok" if is_met else "behind",
        ])
        print(" | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def mock(self):
        self.write(SAMPLES, ANSWER)
        ours, theirs = self.ours(), self.theirs("mock")
        self.compare("mock", ours, theirs)
        self.row("mock/inspect", ours, theirs, "50×", theirs.wall / ours.wall >= 50)

    def server(self):
        self.write(SAMPLES, ANSWER)
        server = subprocess.Popen([str(self.options.bench), "serve", str(LATENCY_MS)], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            ours = self.ours("--model", "openai/slow", "--model-base-url", url)
            theirs = self.theirs("server", url)
        finally:
            server.kill()
            server.wait()
        self.compare("server", ours, theirs)
        shortest = Run(ideal(), 0, 0, 0)
        self.row("server/ideal", ours, shortest, "0.90×", ideal() / ours.wall >= 0.9)
        self.row("server/cores", ours, None, "1 core", ours.cpu / ours.wall < 1, ratio=ours.cpu / ours.wall)
        self.row("server/inspect", ours, theirs)

    def memory(self):
        for samples in (2_000, 40_000):
            self.write(samples, LONG_ANSWER)
            ours = self.ours(rounds=1)
            said = samples * len(LONG_ANSWER) / 2**20
            self.row(f"memory.{samples}", ours, None, f"{50 + said / 4:.0f} MB", ours.peak < 50 + said / 4)

    def markdown(self):
        head = ["case/peer", "ours", "CPU", "peak", "peer", "CPU", "peak", "ratio", "required", ""]
        widths = [max(len(row[column]) for row in [head, *self.rows]) for column in range(len(head))]
        pad = lambda row: [cell.ljust(width) if not column else cell.rjust(width)
                           for column, (cell, width) in enumerate(zip(row, widths))]
        line = ["-" * (width + 1) + ":" if column else ":" + "-" * (width + 1) for column, width in enumerate(widths)]
        rows = ["| " + " | ".join(pad(row)) + " |" for row in [head, *self.rows]]
        return "\n".join([rows[0], "|" + "|".join(line) + "|", *rows[1:]]) + "\n"

    def report(self):
        words = INTRODUCTION.format(samples=SAMPLES, latency=LATENCY_MS, connections=CONNECTIONS, ideal=ideal(),
                                    rounds=self.options.rounds, answer_kb=len(LONG_ANSWER) // 1000)
        facts = "".join(f"- {name}: {value}\n" for name, value in machine(self.options.calipers, "inspect_ai"))
        return f"{words}\nMeasured on {self.options.date} by `cargo xtask bench eval`:\n\n{facts}\n{self.markdown()}"


def ideal():
    return SAMPLES * LATENCY_MS / 1000 / CONNECTIONS


def checked(command, environment):
    """What a command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode != 0:
        print(f"error: {' '.join(command)[:300]} ended with {done.returncode}:\n{done.stderr[-2000:]}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def measure(command):
    """Runs a command: wall seconds, CPU seconds, peak megabytes, and what it printed, as JSON."""
    import resource

    started = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    wall = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.stdout]))
    sys.exit(done.returncode)


def options():
    parser = argparse.ArgumentParser(
        prog="cargo xtask bench eval",
        description="Compares whole evaluations with Inspect AI, and checks the answers.",
        epilog="Exits 1 if an answer differs, 2 if something does not run. Speed is reported, not judged.",
    )
    # Where things are is said by `xtask`.
    parser.add_argument("--calipers", type=lambda path: Path(path).absolute(), required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bench", type=lambda path: Path(path).absolute(), required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, help="how often ours is measured")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the report as Markdown too; needs --date")
    parser.add_argument("--date", help="the day to put into the report")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only these: mock, server, memory")
    options = parser.parse_args()
    if options.write and not options.date:
        parser.error("`--write` needs `--date`, for example `--date 2026-03-01`")
    return options


def main():
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2:])
    given = options()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given, Path(folder))
        bench.run()
        print(bench.markdown(), end="")
        if given.write:
            given.write.write_text(bench.report())
    for difference in bench.differences:
        print(f"error: another answer: {difference}", file=sys.stderr)
    sys.exit(1 if bench.differences else 0)


main()
