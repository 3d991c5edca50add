"""Whole evaluations: `calipers eval` beside Inspect AI, log included.

Three questions: how many samples a second on a model that answers at once, how near to the ideal rate on a server that takes
50 ms with 100 connections, and whether memory grows with the number of samples.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLES = 10_000
LATENCY_MS = 50
CONNECTIONS = 100
PROMPT = "Which of these is a primary color in painting? " + "Think of what a painter would say. " * 8

CALIPERS_TASK = """
def bench():
    return Task(dataset=json_dataset("samples.jsonl"), solver=generate(), scorer=includes())
"""

INSPECT_TASK = """
import sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import json_dataset
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

mode, folder, url, connections = sys.argv[1:5]
dataset = json_dataset(folder + "/samples.jsonl")
if mode == "mock":
    def outputs():
        while True:
            output = ModelOutput.from_content("mockllm/model", "ANSWER: A")
            output.usage = ModelUsage(input_tokens=100, output_tokens=3, total_tokens=103)
            yield output
    model = get_model("mockllm/model", custom_outputs=outputs())
else:
    model = get_model("openai/slow", base_url=url, api_key="none", responses_api=False)
started = time.time()
logs = eval(Task(dataset=dataset, solver=generate(), scorer=includes()), model=model, display="none",
            max_connections=int(connections), max_samples=int(connections), log_dir=folder + "/inspect-logs")
assert logs[0].status == "success", logs[0].error
print(time.time() - started, logs[0].results.scores[0].metrics["accuracy"].value)
"""


def write_samples(folder: Path, count: int) -> None:
    with (folder / "samples.jsonl").open("w") as out:
        for number in range(count):
            target = "A" if number % 3 else "B"
            out.write(json.dumps({"id": number + 1, "input": f"{number}: {PROMPT}", "target": target}) + "\n")


def timed(command: list[str], **options) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds, peak megabytes and output of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.time()
    process = subprocess.Popen(["/usr/bin/env", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    output, errors = process.communicate()
    wall = time.time() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024, output


def calipers(arguments, folder: Path, *more: str, peak: bool = False):
    shutil.rmtree(folder / "logs", ignore_errors=True)
    command = [arguments.calipers, "eval", str(folder / "bench.star"), "--log-dir", str(folder / "logs"), "--json", *more]
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    wall, cpu, _, output = timed(command, env=environment)
    report = json.loads(output)
    accuracy = report["runs"][0]["scores"][0]["metrics"]["accuracy"]["value"]
    return wall, cpu, accuracy


def inspect(folder: Path, mode: str, url: str, connections: int):
    script = folder / "inspect_task.py"
    script.write_text(INSPECT_TASK)
    _, cpu, _, output = timed([sys.executable, str(script), mode, str(folder), url, str(connections)], env=dict(os.environ))
    wall, accuracy = output.split()[-2:]
    return float(wall), cpu, float(accuracy)


def same(one: float, other: float) -> None:
    if abs(one - other) > 1e-9:
        sys.exit(f"different answers: {one} here, {other} in Inspect")


def row(name: str, *cells: object) -> str:
    return "| " + " | ".join([name, *map(str, cells)]) + " |"


def mock(arguments, folder: Path) -> list[str]:
    (folder / "bench.star").write_text(CALIPERS_TASK)
    write_samples(folder, SAMPLES)
    ours = min(calipers(arguments, folder, "--model", "mockllm/ANSWER: A") for _ in range(3))
    lines = [f"mock model, {SAMPLES} samples, log included; ours least of 3, with start-up; theirs one run, without",
             row("", "wall", "samples/s", "CPU"), "|:--|--:|--:|--:|"]
    lines.append(row("calipers", f"{ours[0]:.2f} s", f"{SAMPLES / ours[0]:.0f}", f"{ours[1]:.2f} s"))
    theirs = inspect(folder, "mock", "-", CONNECTIONS)
    same(ours[2], theirs[2])
    lines.append(row("inspect", f"{theirs[0]:.2f} s", f"{SAMPLES / theirs[0]:.0f}", f"{theirs[1]:.2f} s"))
    ratio = theirs[0] / ours[0]
    lines.append(f"ratio {ratio:.0f}×, required 50×: {'ok' if ratio >= 50 else 'behind'}")
    return lines


def server(arguments, folder: Path) -> list[str]:
    process = subprocess.Popen([arguments.bench, "serve", str(LATENCY_MS)], stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        ours = calipers(arguments, folder, "--model", "openai/slow", "--model-base-url", url,
                        "--max-connections", str(CONNECTIONS))
        ideal = SAMPLES * LATENCY_MS / 1000 / CONNECTIONS
        lines = [f"server with {LATENCY_MS} ms, {CONNECTIONS} connections, {SAMPLES} samples; ideal {ideal:.2f} s",
                 row("", "wall", "of the ideal rate", "cores"), "|:--|--:|--:|--:|"]
        lines.append(row("calipers", f"{ours[0]:.2f} s", f"{ideal / ours[0]:.0%}", f"{ours[1] / ours[0]:.2f}"))
        theirs = inspect(folder, "server", url, CONNECTIONS)
        same(ours[2], theirs[2])
        lines.append(row("inspect", f"{theirs[0]:.2f} s", f"{ideal / theirs[0]:.0%}", f"{theirs[1] / theirs[0]:.2f}"))
        is_met = ideal / ours[0] >= 0.9 and ours[1] / ours[0] < 1
        lines.append(f"required 90 % at under 1 core: {'ok' if is_met else 'behind'}")
        return lines
    finally:
        process.kill()


def peak_megabytes(arguments, folder: Path, samples: int) -> float:
    """Peak memory in a process of its own, because the system reports the largest child so far."""
    write_samples(folder, samples)
    answer = "word " * 2000
    (folder / "bench.star").write_text(CALIPERS_TASK.replace("scorer=", f"model=mockllm({answer!r}), scorer="))
    command = [sys.executable, __file__, "--peak", arguments.calipers, str(folder)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def print_peak(program: str, folder: str) -> None:
    shutil.rmtree(Path(folder) / "logs", ignore_errors=True)
    print(timed([program, "eval", folder + "/bench.star", "--log-dir", folder + "/logs", "--json"])[2])


def memory(arguments, folder: Path) -> list[str]:
    few, many = (peak_megabytes(arguments, folder, samples) for samples in (2_000, 40_000))
    lines = ["peak memory with answers of 10 KB", row("samples", "peak"), "|--:|--:|"]
    lines += [row("2000", f"{few:.0f} MB"), row("40000", f"{many:.0f} MB, of which transcripts would be 400 MB")]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calipers")
    parser.add_argument("--bench")
    parser.add_argument("--data")
    parser.add_argument("--peak", nargs=2)
    parser.add_argument("--write", help="write the report as Markdown too")
    parser.add_argument("only", nargs="*", help="mock, server, memory")
    arguments = parser.parse_args()
    if arguments.peak:
        return print_peak(*arguments.peak)
    arguments.calipers, arguments.bench = (str(Path(program).absolute()) for program in (arguments.calipers, arguments.bench))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for part in (mock, server, memory):
            if not arguments.only or part.__name__ in arguments.only:
                found = part(arguments, Path(folder))
                print("\n".join(found), "\n", flush=True)
                lines += [*found, ""]
    if arguments.write:
        Path(arguments.write).write_text("# Speed of evaluations\n\n" + "\n".join(lines))


main()
