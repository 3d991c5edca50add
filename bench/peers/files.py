"""Whole commands on files beside the tools people use today: `cargo xtask bench files`.

Every case alternates its sides for several rounds and keeps the least wall and CPU seconds of each. Our side is always
a fresh process, measured from its start to its end. The answers of all sides have to agree.

This process imports nothing large: on Linux the peak memory of a child is never less than that of its parent.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path

from report_parts import machine, seconds, times

HERE = Path(__file__).parent
FULL = {"samples": 20_000, "json_rows": 1_000_000, "parquet_rows": 10_000_000}
QUICK = {"samples": 200, "json_rows": 10_000, "parquet_rows": 100_000}
TOLERANCE = 1e-9
METRICS = ["-m", 'grouped(mean(), "task")', "-m", 'stderr(cluster="cluster")']

# What we hold ourselves to.
INSPECT_RATIO = 100
INFLATE_RATIO = 1 / 1.5
TABLE_RATIO = 1.2
CLUSTERED_RATIO = 1 / 1.25
GATE_RATIO = 1 / 1.5
COMPARE_RATIO = 1 / 3
WHOLE_PEAK_MB_MAX = 1000
PEAK_MB_MAX = 150
START_MS_MAX = 15


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


@dataclass
class Run:
    """One run of one side, and later the best of all its runs."""

    wall: float
    cpu: float
    peak_mb: float | None = None
    answer: dict = field(default_factory=dict)

    def best(self, other):
        peak = max(self.peak_mb, other.peak_mb) if self.peak_mb else None
        return Run(min(self.wall, other.wall), min(self.cpu, other.cpu), peak, self.answer)


class Command:
    """A side that is a fresh process each time."""

    def __init__(self, name, arguments, answer, rounds):
        self.name, self.arguments, self.answer, self.rounds = name, [str(a) for a in arguments], answer, rounds

    def run(self):
        start = time.perf_counter()
        process = subprocess.Popen(self.arguments, stdout=subprocess.PIPE)
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        if process.returncode:
            fail(f"{self.name}: exit code {process.returncode} of `{' '.join(self.arguments)}`")
        peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
        return Run(wall, used.ru_utime + used.ru_stime, peak, self.answer(output))

    def stop(self):
        pass


class Worker:
    """A side in Python whose process lives through all rounds, so that its imports do not count."""

    def __init__(self, name, path, rounds):
        self.name, self.rounds = name, rounds
        arguments = [sys.executable, HERE / "file_peers.py", name, path]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.line()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            fail(f"{self.name} stopped")
        return line

    def run(self):
        print(file=self.process.stdin, flush=True)
        return Run(**json.loads(self.line()))

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Row:
    """A line of the table. What is required is a ratio to a peer, or a bound of our own."""

    case: str
    ours: Run
    peer: Run | None
    required: str
    verdict: str

    def cells(self):
        peer = ["", "", "", ""]
        if self.peer:
            ratios = [times(self.peer.wall / self.ours.wall), times(self.peer.cpu / self.ours.cpu)]
            peer = [seconds(self.peer.wall), seconds(self.peer.cpu), *ratios]
        ours = [seconds(self.ours.wall), seconds(self.ours.cpu), f"{self.ours.peak_mb:.0f} MB"]
        return [self.case, *ours, *peer, self.required, self.verdict]


HEADS = ["case/peer", "ours", "CPU", "peak", "peer", "CPU", "ratio", "of CPU", "required", ""]


def ratio(case, ours, peer, required, in_words):
    """A row for a peer that has to take so many times as long as we do."""
    ratios = {"wall": peer.wall / ours.wall, "CPU": peer.cpu / ours.cpu}
    behind = [name for name, ratio in ratios.items() if ratio < required]
    verdict = ["ok", f"{''.join(behind)} behind", "behind"][len(behind)]
    return Row(case, ours, peer, in_words, verdict)


def bound(case, ours, peer, value, limit, in_words):
    """A row for something of ours that has to stay below a limit."""
    return Row(case, ours, peer, in_words, "ok" if value < limit else "behind")


def measure(case, sides):
    """The best runs of all sides, which take turns."""
    print(f"{case} ...", file=sys.stderr)
    best = {}
    for number in range(max(side.rounds for side in sides)):
        for side in sides:
            if number < side.rounds:
                run = side.run()
                best[side.name] = best[side.name].best(run) if side.name in best else run
    for side in sides:
        side.stop()
    return best


def difference(ours, theirs):
    """How two answers differ, or nothing."""
    if ours.keys() != theirs.keys():
        return f"other names: {sorted(ours.keys() ^ theirs.keys())}"
    for name, value in ours.items():
        if not math.isclose(value, theirs[name], rel_tol=TOLERANCE):
            return f"`{name}` is {value!r} here and {theirs[name]!r} there"
    return None


def our_metrics(output):
    metrics = json.loads(output)["runs"][0]["scores"][0]["metrics"]
    return {name: metric["value"] for name, metric in metrics.items()}


def our_mean(output):
    return {"mean": our_metrics(output)["mean"]}


def no_metrics(output):
    return {}


def inflated_bytes(output):
    return {"bytes": int(output)}


class Bench:
    def __init__(self, options):
        self.options = options
        self.sizes = QUICK if options.quick else FULL
        self.folder = options.data / ("quick" if options.quick else "full")
        self.inflated = self.make_data()
        self.rows, self.differences = [], []

    def make_data(self):
        """Has the files made, and returns how large the log is when it is decompressed."""
        arguments = [sys.executable, HERE / "file_data.py", self.folder, *map(str, self.sizes.values())]
        made = subprocess.run(arguments, stdout=subprocess.PIPE)
        if made.returncode:
            fail("the files could not be made")
        return json.loads(made.stdout)

    def wanted(self, case):
        return not self.options.cases or any(text in case for text in self.options.cases)

    def score(self, path, metrics, rounds):
        return Command("ours", [self.options.calipers, "score", path, *metrics, "--json"], our_metrics, rounds)

    def compare(self, case, best, peer):
        found = difference(best["ours"].answer, best[peer].answer)
        if found:
            self.differences.append(f"{case}: {found}")

    def log(self, case, path):
        """A log of Inspect, end to end."""
        if not self.wanted(case):
            return
        parts = {"members": [], "samples": ["samples/"]}
        inflate = [
            Command(part, [self.options.bench, "inflate", path, *prefix], inflated_bytes, 15)
            for part, prefix in parts.items()
        ]
        best = measure(case, [self.score(path, [], 15), *inflate, Worker("inspect", path, 3)])
        self.compare(f"{case}/inspect", best, "inspect")
        ours = best["ours"]
        self.rows.append(ratio(f"{case}/inspect", ours, best["inspect"], INSPECT_RATIO, f"{INSPECT_RATIO}×"))
        for part in parts:
            if best[part].answer["bytes"] != self.inflated[part]:
                self.differences.append(f"{case}/{part}: {best[part].answer} of {self.inflated[part]}")
            self.rows.append(ratio(f"{case}/{part}", ours, best[part], INFLATE_RATIO, "1/1.5×"))
        self.rows.append(bound(f"{case}/memory", ours, None, ours.peak_mb, PEAK_MB_MAX, f"{PEAK_MB_MAX} MB"))

    def table(self, case, path):
        """Grouped means and a clustered error of a table."""
        if not self.wanted(case):
            return
        peers = ["polars", "duckdb"]
        best = measure(case, [self.score(path, METRICS, 9), *(Worker(peer, path, 9) for peer in peers)])
        for peer in peers:
            self.compare(f"{case}/{peer}", best, peer)
            self.rows.append(ratio(f"{case}/{peer}", best["ours"], best[peer], TABLE_RATIO, f"{TABLE_RATIO}×"))

    def clusters(self, case, path):
        """A mean with its clustered interval, beside the same mean with its clustered error alone."""
        if not self.wanted(case):
            return
        mean = [self.options.calipers, "score", path, "-m", "mean()", "--json"]
        ours = Command("ours", [*mean, "--cluster", "cluster"], our_mean, 9)
        error = Command("error", [*mean, "-m", 'stderr(cluster="cluster")'], our_mean, 9)
        best = measure(case, [ours, error])
        self.compare(f"{case}/error", best, "error")
        self.rows.append(ratio(f"{case}/error", best["ours"], best["error"], CLUSTERED_RATIO, "1/1.25×"))

    def whole(self, case, path, lists_scenarios):
        """A verdict and a comparison, which keep all samples, beside the scores of one file; and a verdict with all scenarios."""
        if not self.wanted(case):
            return
        policy = self.folder / "policy.json"
        policy.write_text('{"thresholds": {"blocking": {"accuracy": 10}}}')
        calipers = self.options.calipers
        score = Command("score", [calipers, "score", path, "-m", "accuracy"], no_metrics, 3)
        gate = Command("gate", [calipers, "gate", path, "--policy", policy], no_metrics, 3)
        compare = Command("compare", [calipers, "compare", path, path.with_stem("other"), "-m", "accuracy"], no_metrics, 3)
        best = measure(case, [score, gate, compare])
        for name, required, in_words in [("gate", GATE_RATIO, "1/1.5×"), ("compare", COMPARE_RATIO, "1/3×")]:
            ours = best[name]
            self.rows.append(ratio(f"{case}/{name}", ours, best["score"], required, in_words))
            memory = bound(f"{case}/{name} memory", ours, None, ours.peak_mb, WHOLE_PEAK_MB_MAX, f"{WHOLE_PEAK_MB_MAX} MB")
            self.rows.append(memory)
        if lists_scenarios:
            listing = Command("listing", [calipers, "gate", path, "--policy", policy, "--json"], no_metrics, 3)
            ours = measure(f"{case}, listed", [listing])["listing"]
            in_words = f"{WHOLE_PEAK_MB_MAX} MB"
            self.rows.append(bound(f"{case}/gate --json memory", ours, None, ours.peak_mb, WHOLE_PEAK_MB_MAX, in_words))

    def start(self, case, arguments):
        """What a command costs that has next to nothing to do, beside the import of Inspect."""
        if not self.wanted(case):
            return
        ours = Command("ours", [self.options.calipers, *arguments], no_metrics, 20)
        inspect = Command("inspect", [sys.executable, "-c", "import inspect_ai.log"], no_metrics, 3)
        best = measure(case, [ours, inspect])
        required = f"{START_MS_MAX} ms"
        wall_ms = best["ours"].wall * 1e3
        self.rows.append(bound(f"{case}/import", best["ours"], best["inspect"], wall_ms, START_MS_MAX, required))

    def run(self):
        self.log("log.zstd", self.folder / "log.eval")
        self.log("log.deflate", self.folder / "log-deflate.eval")
        self.table("rows.jsonl", self.folder / "rows.jsonl")
        self.table("rows.csv", self.folder / "rows.csv")
        self.table("rows.parquet", self.folder / "rows.parquet")
        self.whole("whole.jsonl", self.folder / "rows.jsonl", True)
        self.whole("whole.parquet", self.folder / "rows.parquet", False)
        self.clusters("clusters.parquet", self.folder / "rows.parquet")
        self.start("start.version", ["--version"])
        self.start("start.ten_rows", ["score", self.folder / "ten.jsonl"])
        if not self.rows:
            fail("no case matches")

    def sizes_in_words(self):
        def file(name):
            return f"`{name}` ({(self.folder / name).stat().st_size / 1e6:.1f} MB)"

        sizes, inflated = self.sizes, self.inflated
        text = (
            f"{file('log.eval')} and {file('log-deflate.eval')}: {sizes['samples']} samples, "
            f"{inflated['samples'] / sizes['samples'] / 1e3:.1f} KB of JSON each; {inflated['members'] / 1e6:.0f} MB "
            "with the summaries and reductions that Inspect puts beside them. "
            f"{file('rows.jsonl')} and {file('rows.csv')}: {sizes['json_rows']} rows. "
            f"{file('rows.parquet')}: {sizes['parquet_rows']} rows. All have 8 columns."
        )
        return textwrap.fill(text, width=120)

    def markdown(self):
        rows = [HEADS, *(row.cells() for row in self.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]

        def line(row):
            return "| " + " | ".join(pad(cell, column, widths[column]) for column, cell in enumerate(row)) + " |"

        rules = [":" + "-" * (w + 1) if column == 0 else "-" * (w + 1) + ":" for column, w in enumerate(widths)]
        return "\n".join([line(rows[0]), f"|{'|'.join(rules)}|", *map(line, rows[1:])]) + "\n"

    def report(self):
        facts = "\n".join(f"- {name}: {fact}" for name, fact in machine(self.options.calipers, "inspect_ai", "polars", "duckdb"))
        when = f"Measured on {self.options.date} by `cargo xtask bench files`:"
        return f"{INTRODUCTION}\n{when}\n\n{facts}\n\n{self.sizes_in_words()}\n\n{self.markdown()}"


INTRODUCTION = """\
# Benchmarks on files

Whole commands of ours beside [Inspect AI](https://inspect.aisi.org.uk), [polars](https://pola.rs) and
[DuckDB](https://duckdb.org) on the same files, after checking that the answers agree (to 1e-9). This file is written by
`cargo xtask bench files --write bench/reports/files.md --date DATE` and not by hand.

*How to read it.* Sides take turns; times are the least of all rounds (3 of Inspect, 9 to 20 of all others), with the
files in the cache of the system. `ours` is the wall time of a fresh process from its start to its end, beside the CPU
time of all its threads and its peak memory. (The peak of a very small command is that of the script that starts it.)
`ratio` is the peer's wall time over ours, `of CPU` the same of CPU times. `required` is the ratio, or the bound on
memory or on wall time, that we hold ourselves to; where only one of wall and CPU time misses a ratio, the last column
says which.

*What is compared.* `log` is `calipers score FILE --json` on a log that Inspect wrote (zstd) and on one with the same
members in deflate; `inspect` is `read_eval_log` and `recompute_metrics`; `members` merely decompresses all members on
all cores with the libraries that we use too, without a checksum; `samples` does the same with those of the samples
alone, the least that scoring them takes. `rows` is the mean of each of 20 tasks, and the error of the mean of
all, clustered by 50000 documents:
`calipers score FILE -m 'grouped(mean(), "task")' -m 'stderr(cluster="cluster")' --json` beside a lazy scan of three
columns in polars (streaming engine) and one scan with grouping sets in DuckDB, which is told the types of the columns
of JSON. The peers run in a process that is already there, so neither their start nor their import counts; ours does.
`whole` is `calipers gate FILE --policy POLICY` and `calipers compare FILE OTHER -m accuracy`, which keep all samples in memory,
beside `calipers score FILE -m accuracy`; a comparison reads two files. With `--json`, a verdict lists every scenario.
`clusters` is the mean with its interval, clustered by the same documents, `calipers score FILE -m 'mean()' --cluster cluster`;
`error` is the same mean with `stderr(cluster="cluster")` beside it.
`start` is a command with next to nothing to do, and `import` is `python -c "import inspect_ai.log"`.
"""


def pad(cell, column, width):
    return cell.ljust(width) if column == 0 else cell.rjust(width)


def options():
    parser = argparse.ArgumentParser(
        prog="cargo xtask bench files",
        description="Compares whole commands on files with Inspect AI, polars and DuckDB, and checks the answers.",
        epilog="Exits 1 if an answer differs, 2 if something does not run. Speed is reported, not judged.",
    )
    # Where things are is said by `xtask`.
    parser.add_argument("--calipers", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bench", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="small files: a smoke test, whose ratios mean little")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the report as Markdown too; needs --date")
    parser.add_argument("--date", help="the day to put into the report")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only cases whose name contains this text")
    options = parser.parse_args()
    if options.write and not options.date:
        parser.error("`--write` needs `--date`, for example `--date 2026-03-01`")
    return options


def main():
    bench = Bench(options())
    bench.run()
    print(bench.markdown(), end="")
    if bench.options.write:
        bench.options.write.write_text(bench.report())
    for difference in bench.differences:
        print(f"error: another answer: {difference}", file=sys.stderr)
    sys.exit(1 if bench.differences else 0)


main()
