"""The history of 10,000 runs: how long its pages take, how fast files are read, and what it needs; beside `inspect view` on one folder.

`cargo xtask bench view` runs this. Files are made on first use below the folder of the bench (1.5 GB). Times are those of whole
requests on one connection, as a browser or a script sees them; the first look at something and later ones are told apart. The
time of commands is that of their processors, so that a busy machine does not count against them.
"""

import argparse
import asyncio
import http.client
import json
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "xtask" / "page"))
from check import Browser  # noqa: E402
from seen import Clock  # noqa: E402

RUNS, CASES = 10_000, 100
SUITES = 10
LARGE = 20_000
LOG_BYTES = 1 << 30
PEER_LOGS, PEER_SAMPLES = 300, 40
RATE, CONNECTIONS, SECONDS = 1_000, 50, 20
DAY = 86_400

BUDGETS = {
    "list of 10,000 runs": (100, "ms"),
    "trend of 1,000 points": (200, "ms"),
    "compare two runs of 20,000 samples": (1_200, "ms"),
    "a sample of a 1 GB log": (300, "ms"),
    "first paint of the list": (1_000, "ms"),
    "memory at 1,000 requests a second": (150, "MB"),
}


def write_runs(folder):
    """Ten suites of a thousand runs, a hundred samples each. Runs of a suite share their questions."""
    if (folder / "done").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    draw = random.Random(7)
    for place in range(RUNS):
        suite = folder / f"suite-{place % SUITES}"
        suite.mkdir(parents=True, exist_ok=True)
        rate = 0.6 + 0.2 * (place / RUNS)
        lines = []
        for case in range(CASES):
            record = {"id": f"case-{case:03}", "input": f"question {case} of suite {place % SUITES}", "output": "an answer " * 4}
            lines.append(json.dumps(record | {"score": int(draw.random() < rate), "latency_ms": 300 + draw.randrange(900)}))
        file = suite / f"{place // SUITES:04}.jsonl"
        file.write_text("\n".join(lines) + "\n")
        when = 1_700_000_000 + place * 3_600
        os.utime(file, (when, when))
    (folder / "done").touch()


def write_large(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rate in [("old", 0.80), ("new", 0.82)]:
        file = folder / f"{name}.jsonl"
        if not file.exists():
            draw = random.Random(name)
            with file.open("w") as out:
                for case in range(LARGE):
                    score = int(draw.random() < rate)
                    out.write(json.dumps({"id": case, "input": f"question {case}", "score": score, "latency_ms": draw.randrange(2_000)}) + "\n")


def inspect_sample(place, size):
    """A sample as Inspect writes it, with a conversation of about this size."""
    draw = random.Random(place)
    text = lambda bytes_: draw.randbytes(bytes_ // 2).hex()  # noqa: E731
    messages = [{"id": f"m{place}-{n}", "role": ["user", "assistant"][n % 2], "content": text(size // 20)} for n in range(20)]
    output = {"model": "mock/model", "choices": [{"message": messages[-1], "stop_reason": "stop"}]}
    score = {"value": "C" if draw.random() < 0.7 else "I", "answer": "x", "explanation": text(60)}
    sample = {"id": place + 1, "epoch": 1, "input": f"question {place}", "target": "x", "messages": messages, "output": output}
    return sample | {"scores": {"match": score}, "metadata": {}, "store": {}, "events": [], "model_usage": {}, "attachments": {}}


def write_log(file, samples, size, created, task="bench"):
    """An `.eval` archive with the parts that Inspect's own have."""
    if file.exists():
        return
    spec = {"run_id": "r" + file.stem, "eval_id": "e" + file.stem, "task_id": "t" + file.stem, "created": created, "task": task, "task_version": 0, "task_file": "bench.py", "task_attribs": {}, "task_args": {}}
    spec |= {"dataset": {"name": "bench", "samples": samples, "sample_ids": [n + 1 for n in range(samples)]}, "model": "mock/model", "model_args": {}, "config": {"epochs": 1}, "packages": {"inspect_ai": "0.3.285"}}
    spec |= {"scorers": [{"name": "match", "options": {}, "metrics": [{"name": "inspect_ai/accuracy", "options": {}}, {"name": "inspect_ai/stderr", "options": {}}], "metadata": {}}]}
    metric = lambda name, value: {"name": name, "value": value, "options": {}}  # noqa: E731
    part = file.with_suffix(".part")
    summaries, passed = [], 0
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": spec, "plan": {"name": "plan", "steps": [], "config": {}}}))
        for place in range(samples):
            sample = inspect_sample(place, size)
            passed += sample["scores"]["match"]["value"] == "C"
            archive.writestr(f"samples/{place + 1}_epoch_1.json", json.dumps(sample))
            summaries.append({key: sample[key] for key in ["id", "epoch", "input", "target", "scores", "metadata", "model_usage"]})
        archive.writestr("summaries.json", json.dumps(summaries))
        scores = [{"name": "match", "scorer": "match", "params": {}, "metrics": {"accuracy": metric("accuracy", passed / samples), "stderr": metric("stderr", 0.01)}}]
        results = {"total_samples": samples, "completed_samples": samples, "scores": scores}
        stats = {"started_at": created, "completed_at": created, "model_usage": {}}
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": spec, "plan": {"name": "plan", "steps": [], "config": {}}, "results": results, "stats": stats}))
    part.rename(file)


def write_peer_logs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(PEER_LOGS):
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(1_760_000_000 + place * 600))
        created = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(1_760_000_000 + place * 600))
        write_log(folder / f"{stamp}+00-00_task{place:03}_id{place:05}.eval", PEER_SAMPLES, 20_000, created, f"task{place:03}")


class Served:
    """A server of ours."""

    def __init__(self, calipers, words):
        self.process = subprocess.Popen([calipers, "view", "--port", "0", "--no-open", *map(str, words)], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip().rstrip("/")
        self.connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=120)

    def get(self, path):
        """The answer and the milliseconds that it took."""
        begun = time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"error: {path}: {answer.status} {body[:300]}")
        return body, (time.perf_counter() - begun) * 1000

    def wait(self, runs):
        while json.loads(self.get("/api/runs?size=1")[0])["total"] < runs:
            time.sleep(0.1)

    def memory(self):
        """Megabytes in memory now, of the program and of what it started."""
        pids, kilobytes = [self.process.pid], 0
        while pids:
            pid = pids.pop()
            pids += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    kilobytes += int(line.split()[1])
        return kilobytes / 1024

    def close(self):
        self.process.terminate()
        if code := self.process.wait(timeout=60):
            sys.exit(f"error: the server ended with {code}")


def repeat(served, paths):
    """The median and the 95th percentile of the milliseconds that each takes."""
    times = sorted(served.get(path)[1] for path in paths)
    return statistics.median(times), times[int(len(times) * 0.95)]


def cpu(words):
    """Wall seconds and processor seconds of a command."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"error: {words}: {done.stderr.decode()[:500]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def load(served, paths):
    """Requests at a steady rate from many connections. How many were answered, the milliseconds, and the memory over time."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    answered, times, memory = 0, [], []
    begun = time.perf_counter()

    async def ask(number):
        nonlocal answered
        reader, writer = await asyncio.open_connection(host, int(port))
        turn = number / RATE
        place = number
        while turn < SECONDS:
            await asyncio.sleep(max(0, begun + turn - time.perf_counter()))
            sent = time.perf_counter()
            writer.write(f"GET {paths[place % len(paths)]} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                sys.exit(f"error: {head[:200]}")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            await reader.readexactly(length)
            times.append((time.perf_counter() - sent) * 1000)
            answered += 1
            turn += CONNECTIONS / RATE
            place += CONNECTIONS
        writer.close()

    async def watch():
        while time.perf_counter() - begun < SECONDS:
            memory.append(served.memory())
            await asyncio.sleep(1)

    await asyncio.gather(watch(), *(ask(number) for number in range(CONNECTIONS)))
    times.sort()
    return answered / (time.perf_counter() - begun), times, memory


def first_paint(page, url):
    page.ask("Page.navigate", url="about:blank")
    page.ask("Page.navigate", url=url)
    page.wait("location.href !== 'about:blank' && document.readyState === 'complete' && performance.getEntriesByName('first-contentful-paint').length > 0")
    return page.do("performance.getEntriesByName('first-contentful-paint')[0].startTime")


def start_inspect(python, folder):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [pathlib.Path(python).with_name("inspect"), "view", "start", "--log-dir", folder, "--port", port, "--host", "127.0.0.1"]
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/")
            connection.getresponse().read()
            return process, f"http://127.0.0.1:{port}"
        except OSError:
            time.sleep(0.1)
    sys.exit("error: inspect view did not start")


#: How a visit begins. Both servers are visited in turn, so that what else the machine does is the same for both.
VISITS = {
    "nothing kept": {"is_cold": True},
    "later": {},
    "from another site": {"is_foreign": True},
}


def beside_inspect(calipers, python, chromium, folder, rounds):
    """Both servers on one folder: the list, and a sample, in a browser, until they are seen. Milliseconds of every visit."""
    write_peer_logs(folder)
    database = folder.parent / "peer.db"
    remove(database)
    served = Served(calipers, [folder, "--database", database])
    process, inspect = start_inspect(python, folder)
    served.wait(PEER_LOGS)
    last = sorted(folder.glob("*.eval"))[-1]
    run = json.loads(served.get("/api/runs?size=1")[0])["runs"][0]
    task, sample = f"task{PEER_LOGS - 1:03}", PEER_SAMPLES // 2
    # The second message of the conversation that both show.
    text = inspect_sample(sample - 1, 20_000)["messages"][1]["content"][:60]
    # Pages of each server, and of another site, from which a link might lead here.
    starts = [served.url + "/health", inspect + "/api/log-dir"]
    foreign = starts[0].replace("127.0.0.1", "localhost")
    shown = {
        f"the list of {PEER_LOGS} logs": (task, served.url + "/", inspect + "/"),
        "a sample with its conversation": (text, f"{served.url}/runs/{run['key']}/sample?id={sample}", f"{inspect}/#/logs/{urllib.parse.quote(last.name, safe='')}/samples/sample/{sample}/1"),
        # What any page takes in this browser, even one with a single line.
        "a page with one line, for comparison": ("ok", served.url + "/health", None),
    }
    browser = Browser(chromium)
    times = {}
    try:
        clock = Clock(browser)
        for turn in range(rounds + 1):
            for what, (wanted, *urls) in shown.items():
                for visit, options in VISITS.items():
                    is_foreign = options.get("is_foreign", False)
                    for side, url in enumerate(urls):
                        if url is None:
                            continue
                        start = foreign if is_foreign else starts[side]
                        seen = clock.visit(url + ("?one" if url == start else ""), wanted, start=start, is_cold=options.get("is_cold", False))
                        if seen["top"] > seen["height"]:
                            sys.exit(f"error: {what} is not within the window: {seen}")
                        # The first turn warms the servers and the browser.
                        if turn > 0:
                            times.setdefault((what, visit), ([], []))[side].append(seen["painted"])
    finally:
        browser.close()
        served.close()
        process.terminate()
        process.wait(timeout=60)
    return [(f"{what}, {visit}", *map(middle_and_least, sides)) for (what, visit), sides in times.items()]


def middle_and_least(times):
    return (statistics.median(times), min(times)) if times else None


def remove(database):
    for end in ["", "-wal", "-shm"]:
        pathlib.Path(f"{database}{end}").unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calipers", type=pathlib.Path, required=True)
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part: pages, load, speed, inspect; with --write, inspect replaces its part of the report")
    parser.add_argument("--write", type=pathlib.Path, help="write the report to this file")
    parser.add_argument("--date", default="")
    parser.add_argument("--note", default="", help="what to know about the machine")
    arguments = parser.parse_args()
    data = arguments.data / "view"
    is_asked = lambda part: arguments.only in ("", part)  # noqa: E731
    found, notes = {}, []

    runs, large, logs = data / "runs", data / "large", data / "logs"
    if is_asked("pages") or is_asked("load") or is_asked("speed"):
        write_runs(runs)
    if is_asked("speed"):
        rows = []
        for _ in range(min(arguments.rounds, 3)):
            database = data / "speed.db"
            remove(database)
            rows.append((cpu([arguments.calipers, "score", runs, "--json"]), cpu([arguments.calipers, "history", "add", runs, "--database", database])))
            remove(database)
        score, add = (min(row[side][1] for row in rows) for side in (0, 1))
        wall = tuple(min(row[side][0] for row in rows) for side in (0, 1))
        found["speed"] = (score, add, wall)
        print(f"score {score:.2f} s of processor ({wall[0]:.2f} s), history add {add:.2f} s ({wall[1]:.2f} s): {score / add:.2f} of the speed", flush=True)

    if is_asked("pages") or is_asked("load"):
        database = data / "pages.db"
        words = [runs, large, logs] if is_asked("pages") else [runs]
        count = RUNS
        if is_asked("pages"):
            write_large(large)
            logs.mkdir(parents=True, exist_ok=True)
            write_log(logs / "big.eval", 1_000, LOG_BYTES * 2 // 1_000, "2026-01-01T00:00:00+00:00")
            notes.append(f"the log has {(logs / 'big.eval').stat().st_size / (1 << 30):.2f} GB")
            count = RUNS + 3
        served = Served(arguments.calipers, [*words, "--database", database])
        served.wait(count)
        # The first look at all files is over when none is read.
        while b"reading files" in served.get("/")[0]:
            time.sleep(0.2)
        try:
            if is_asked("pages"):
                pages = ["/", "/?page=150", "/?suite=suite-3", "/?q=suite-7", "/?state=whole&page=3", "/?verdict=none"] * 8
                found["list of 10,000 runs"] = repeat(served, pages)
                key = lambda text: json.loads(served.get("/api/runs?size=1&q=" + text)[0])["runs"][0]["key"]  # noqa: E731
                trends = [f"/trend?suite=suite-{place}&score=score&metric=accuracy" for place in range(SUITES)]
                cold = repeat(served, trends)
                found["trend of 1,000 points, first look"] = cold
                found["trend of 1,000 points"] = repeat(served, trends * 3)
                new, old = key("new.jsonl"), key("old.jsonl")
                found["compare two runs of 20,000 samples"] = repeat(served, [f"/compare?run={new}&run={old}"] * arguments.rounds)
                big = key("big.eval")
                samples = [f"/runs/{big}/sample?id={place}" for place in range(1, 1_000, 37)]
                found["a sample of a 1 GB log"] = repeat(served, samples)
                for name in ["list of 10,000 runs", "trend of 1,000 points, first look", "trend of 1,000 points", "compare two runs of 20,000 samples", "a sample of a 1 GB log"]:
                    print(f"{name}: {found[name][0]:.0f} ms, 95 of 100 within {found[name][1]:.0f} ms", flush=True)
                browser = Browser(arguments.chromium)
                try:
                    page = browser.page(domains=["Page", "Runtime"])
                    page.size(1280, 900)
                    paints = sorted(first_paint(page, served.url + "/") for _ in range(arguments.rounds))
                    found["first paint of the list"] = (statistics.median(paints), paints[-1])
                    print(f"first paint: {found['first paint of the list']}", flush=True)
                finally:
                    browser.close()
            if is_asked("load"):
                some = json.loads(served.get("/api/runs?size=20&q=suite-1")[0])["runs"]
                paths = ["/", "/?page=20", "/api/runs?size=50", "/assets/view.js", "/health"]
                paths += [f"/api/runs/{run['key']}" for run in some] + [f"/runs/{run['key']}/samples" for run in some]
                before = served.memory()
                rate, times, memory = asyncio.run(load(served, paths))
                found["load"] = (rate, times[len(times) // 2], times[int(len(times) * 0.99)], before, memory)
                found["memory at 1,000 requests a second"] = (max(memory), max(memory))
                print(f"load: {rate:.0f} a second, median {times[len(times) // 2]:.1f} ms, 99 of 100 within {times[int(len(times) * 0.99)]:.0f} ms; memory {before:.0f} MB before, {memory[0]:.0f} to {max(memory):.0f} MB", flush=True)
        finally:
            served.close()

    if is_asked("inspect"):
        found["others"] = os.getloadavg()[0]
        found["inspect"] = beside_inspect(arguments.calipers, sys.executable, arguments.chromium, data / "peer", arguments.rounds)
        for name, ours, theirs in found["inspect"]:
            beside = f", inspect view {theirs[0]:.0f} ms ({theirs[1]:.0f} at least): {theirs[0] / ours[0]:.1f} times" if theirs else ""
            print(f"{name}: {ours[0]:.0f} ms ({ours[1]:.0f} at least){beside}", flush=True)
    if arguments.write:
        text = report(arguments, found, notes)
        # This part alone: the others stay as they were measured.
        if arguments.only == "inspect" and arguments.write.exists():
            text = arguments.write.read_text().split(BESIDE)[0] + BESIDE + text.split(BESIDE)[1]
        arguments.write.write_text(text)


#: How the part about both servers begins.
BESIDE = "Beside `inspect view` "


def report(arguments, found, notes):
    lines = ["# The history of 10,000 runs", ""]
    lines += [f"Made by `cargo xtask bench view -- --write bench/reports/view.md --date {arguments.date}`. {arguments.note}".rstrip(), ""]
    lines += [f"{RUNS:,} runs of {CASES} samples in {SUITES} suites, one file each: {RUNS * CASES:,} attempts. Times are whole requests on one connection" + "".join("; " + note for note in notes) + ".", ""]
    lines += ["| what | median | 95 of 100 within | budget | |", "|---|---:|---:|---:|---|"]
    for name, (budget, unit) in BUDGETS.items():
        if name in found:
            middle, most = found[name]
            lines.append(f"| {name} | {middle:.0f} {unit} | {most:.0f} {unit} | {budget:,} {unit} | {'within' if middle <= budget else 'missed'} |")
    if "trend of 1,000 points, first look" in found:
        middle, most = found["trend of 1,000 points, first look"]
        lines.append(f"| the same trend, first look: 60 pairs of runs are read and compared | {middle:.0f} ms | {most:.0f} ms | | |")
    lines.append("")
    if "load" in found:
        rate, middle, most, before, memory = found["load"]
        lines += [f"At {RATE:,} requests a second from {CONNECTIONS} connections for {SECONDS} s, {rate:.0f} a second were answered, half of them within {middle:.1f} ms and 99 of 100 within {most:.0f} ms. Memory was {before:.0f} MB before, {memory[0]:.0f} MB after the first second, {memory[-1]:.0f} MB at the end, and {max(memory):.0f} MB at most.", ""]
    if "speed" in found:
        score, add, wall = found["speed"]
        lines += [f"`calipers score` reads these files in {score:.2f} s of processor time ({wall[0]:.2f} s on the clock), `calipers history add` in {add:.2f} s ({wall[1]:.2f} s): {score / add:.2f} of the speed. The budget is 0.7.", ""]
    if "inspect" in found:
        lines += [f"{BESIDE}{version('inspect_ai')} on a folder of {PEER_LOGS} logs with {PEER_SAMPLES} samples each, in the same tab of the same browser, {arguments.rounds} visits of each in turn. Time runs on the browser's clock, from the beginning of the navigation until the frame with the text is made: the name of the latest log, and the second message of a conversation. Both servers show the first rows of the list, and say that there are {PEER_LOGS}. Visits begin on a page of one line from the same server, with nothing kept (neither files nor storage) or later; or on one of another site, for which the browser starts a process. Median, and the least in brackets; the budget is 10 times. The machine has {os.cpu_count()} processors, and its load average was {found['others']:.1f} before.", ""]
        lines += ["| what | calipers view | inspect view | times |", "|---|---:|---:|---:|"]
        for name, ours, theirs in found["inspect"]:
            cell = lambda side: f"{side[0]:.0f} ms ({side[1]:.0f})" if side else ""  # noqa: E731
            lines.append(f"| {name} | {cell(ours)} | {cell(theirs)} | {f'{theirs[0] / ours[0]:.1f}' if theirs else ''} |")
        lines.append("")
    return "\n".join(lines)


def version(package):
    from importlib.metadata import version as of

    return of(package)


if __name__ == "__main__":
    main()
