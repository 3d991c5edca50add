"""Tables through `--columns` beside the same tables with our names: `cargo xtask bench columns`.

Each form is written twice, with our names and with others; the rest of the files is the same. The sides take turns, each a
fresh process, and the least wall and CPU seconds of all rounds count. The answers have to agree to the bit.
"""

import argparse
import csv
import json
import os
import platform
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

ROWS = 1_000_000
REQUIRED = 0.8
NATIVE = ["id", "epoch", "score", "category"]
OTHER = ["question", "try", "judged", "subject"]
COLUMNS = "id=question,epoch=try,score=judged,category=subject"
METRICS = ["-m", "mean", "-m", "stderr", "--json"]


def rows(count):
    generator = random.Random(1)
    for place in range(count):
        yield f"q{place // 4:07}", place % 4 + 1, int(generator.random() < 0.6), f"subject {place // 4 % 20}"


def make(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    for side, names in (("native", NATIVE), ("other", OTHER)):
        stem = folder / f"columns-{side}-{count}"
        if not stem.with_suffix(".csv").exists():
            with open(stem.with_suffix(".csv"), "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(names)
                writer.writerows(rows(count))
        if not stem.with_suffix(".jsonl").exists():
            with open(stem.with_suffix(".jsonl"), "w") as file:
                file.writelines(json.dumps(dict(zip(names, row))) + "\n" for row in rows(count))
        if not stem.with_suffix(".parquet").exists():
            import polars

            table = list(zip(*rows(count)))
            polars.DataFrame(dict(zip(names, map(list, table)))).write_parquet(stem.with_suffix(".parquet"))


def once(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr.decode()}")
    metrics = json.loads(done.stdout)["runs"][0]["scores"][0]["metrics"]
    answer = {name: metric["value"] for name, metric in metrics.items()}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calipers", required=True)
    parser.add_argument("--bench", help="not used")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--date", default="")
    parser.add_argument("--note", default="", help="a sentence about the build or the machine")
    options = parser.parse_args()
    make(options.data, options.rows)
    lines, is_behind = [], False
    for form in ("csv", "jsonl", "parquet"):
        sides = {}
        for side, flags in (("native", []), ("other", ["--columns", COLUMNS])):
            file = options.data / f"columns-{side}-{options.rows}.{form}"
            sides[side] = [options.calipers, "score", file, *flags, *METRICS]
        best = {side: (float("inf"), float("inf")) for side in sides}
        answers = {}
        for _ in range(options.rounds):
            for side, command in sides.items():
                wall, cpu, answers[side] = once(command)
                best[side] = (min(best[side][0], wall), min(best[side][1], cpu))
        if answers["native"] != answers["other"]:
            sys.exit(f"error: {form}: the answers differ: {answers}")
        ratio = best["native"][0] / best["other"][0]
        of_cpu = best["native"][1] / best["other"][1]
        is_behind |= ratio < REQUIRED
        verdict = "ok" if ratio >= REQUIRED else "behind"
        cells = [form] + [f"{seconds * 1e3:.0f} ms" for side in ("native", "other") for seconds in best[side]]
        lines.append("| " + " | ".join([*cells, f"{ratio:.2f}×", f"{of_cpu:.2f}×", f"{REQUIRED}×", verdict]) + " |")
    text = "\n".join(
        [
            "# Tables through `--columns`",
            "",
            f"`calipers score FILE --columns {COLUMNS} -m mean -m stderr --json` on tables of {options.rows} rows, beside the same",
            "tables with our names. Sides take turns; times are the least of all rounds, each of a fresh process. The answers agree to the bit.",
            "This file is written by `cargo xtask bench columns --write bench/reports/columns.md --date DATE`.",
            "",
            f"Measured on {options.date}, {platform.machine()}, {os.cpu_count()} cores. {options.note}".strip(),
            "",
            "| form | our names | CPU | other names | CPU | ratio | of CPU | required | |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---|",
            *lines,
            "",
        ]
    )
    print(text)
    if options.write:
        options.write.write_text(text)
    sys.exit(1 if is_behind else 0)


main()
