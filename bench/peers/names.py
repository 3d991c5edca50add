"""How time grows with what a file holds: `cargo xtask bench names`.

For each kind of name or row, files of growing sizes are written, one command reads each, and the least CPU seconds of all rounds
count. The slope of the logarithms says how time grows: 1 is in proportion to the size, 2 is with its square. It is that of the
straight line through all sizes but the first, after the time of the first is taken off, so that starting the program does not
hide the growth.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = [12_500, 25_000, 50_000, 100_000]
SLOPE_MAX = 1.2
POLICY = '{"thresholds": {"blocking": {"accuracy": 10}}}'


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def scorers(size):
    return lines({"id": f"q{place}", "scores": {f"s{place}": place % 2}} for place in range(size))


def categories(size):
    return lines({"id": f"q{place}", "score": place % 2, "category": f"c{place}"} for place in range(size))


def keys(size):
    return lines({"id": f"q{place}", "score": place % 2, "metadata": {f"k{place}": 1}} for place in range(size))


def fields(size):
    return lines({"id": f"q{place}", "score": place % 2, "fields": {f"f{place}": 1}} for place in range(size))


def map_keys(size):
    entries = {f"k{place}": place % 2 for place in range(size)}
    return lines({"id": f"q{place}", "score": entries} for place in range(2))


def samples(size):
    return lines({"id": f"q{place}", "score": place % 2} for place in range(size))


def attempts(size):
    return lines({"id": f"q{place % 10}", "score": place % 2} for place in range(size))


def runs(size):
    return lines({"id": "q", "score": place % 2, "model": f"m{place}"} for place in range(size))


# What grows, what it is made by, what reads it, and the part of the size that is used: some figures cost more than a row.
CASES = [
    ("scorers with one sample each", scorers, ["score", "FILE", "-m", "accuracy"], 1),
    ("groups", categories, ["score", "FILE", "-m", 'grouped(accuracy(), "category")'], 10),
    ("categories, in a gate", categories, ["gate", "FILE", "--policy", "POLICY"], 10),
    ("clusters", categories, ["score", "FILE", "-m", 'stderr(cluster="category")'], 10),
    ("metadata keys", keys, ["score", "FILE"], 1),
    ("metadata keys, converted", keys, ["convert", "FILE", "--to", "native", "--output", "-"], 1),
    ("fields", fields, ["score", "FILE"], 1),
    ("keys of a score", map_keys, ["score", "FILE"], 1),
    ("samples", samples, ["score", "FILE"], 10),
    ("samples, in a gate", samples, ["gate", "FILE", "--policy", "POLICY"], 10),
    ("attempts", attempts, ["score", "FILE"], 10),
    ("runs in a file", runs, ["score", "FILE", "-m", "accuracy"], 0.25),
    ("metrics in a command", samples, None, 0.008),
    ("files", samples, None, 0.1),
]


def cpu_seconds(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"error: {' '.join(command[:6])[:200]}: {done.stderr.decode()[:500]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fit(xs, ys):
    """The slope of the straight line with the least squares."""
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


def command_of(name, make, arguments, size, folder):
    if name == "files":
        for place in range(size):
            (folder / "files").mkdir(exist_ok=True)
            (folder / "files" / f"f{place}.jsonl").write_text(lines({"id": f"q{row}", "score": row % 2} for row in range(3)))
        return ["score", "files", "-m", "accuracy"]
    (folder / "data.jsonl").write_text(make(100 if name.startswith("metrics") else size))
    (folder / "policy.json").write_text(POLICY)
    if name.startswith("metrics"):
        metrics = ", ".join(f"ci(level={(place + 1) / (size + 2):.5f})" for place in range(size))
        return ["score", "data.jsonl", "-m", f"[{metrics}]"]
    names = {"FILE": "data.jsonl", "POLICY": "policy.json"}
    return [names.get(word, word) for word in arguments]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calipers", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--date", default="")
    parser.add_argument("--note", default="", help="a sentence about the build or the machine")
    options = parser.parse_args()
    calipers = str(Path(options.calipers).resolve())
    rows, is_behind = [], False
    for name, make, arguments, scale in CASES:
        times = []
        for size in SIZES:
            with tempfile.TemporaryDirectory() as folder:
                command = [calipers, *command_of(name, make, arguments, max(int(size * scale), 1), Path(folder))]
                times.append(min(cpu_seconds(command, folder) for _ in range(options.rounds)))
        # From the second size on: the first has as much to start as to read.
        growth = [max(later - times[0], 1e-3) for later in times[1:]]
        extra = [size - SIZES[0] for size in SIZES[1:]]
        slope = fit([math.log(size) for size in extra], [math.log(seconds) for seconds in growth])
        is_slow = slope > SLOPE_MAX and times[-1] > 0.2
        is_behind |= is_slow
        cells = [name] + [f"{seconds:.2f} s" for seconds in times] + [f"{slope:.2f}", "behind" if is_slow else "ok"]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    heads = [f"{size:,}" for size in SIZES]
    text = "\n".join(
        [
            "# Growth with names and rows",
            "",
            "CPU seconds of whole commands on files that hold growing numbers of names or rows; groups, categories, clusters, samples and",
            "attempts are ten times the number in the head, runs a quarter, files a tenth, metrics a 125th. A slope of 1 is growth in proportion.",
            f"At most {SLOPE_MAX} is required. This file is written by `cargo xtask bench names --write bench/reports/names.md --date DATE`.",
            "",
            f"Measured on {options.date}, {platform.machine()}, {os.cpu_count()} cores. {options.note}".strip(),
            "",
            f"| what grows | {' | '.join(heads)} | slope | |",
            "|---" + "|---:" * (len(SIZES) + 1) + "|---|",
            *rows,
            "",
        ]
    )
    if options.write:
        options.write.write_text(text)
    sys.exit(1 if is_behind else 0)


main()
