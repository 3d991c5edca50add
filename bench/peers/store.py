"""The same files on the disk and in a bucket of a local S3 server: `cargo xtask bench store`.

The files are made on first use. Every case takes turns between the disk and the bucket
for several rounds and keeps the least wall seconds of each. The server runs in its own process, whose time counts as it
would anywhere else: as waiting. Its log counts the requests.
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

TIMES_MAX = 1.3
REQUESTS_MAX = 10
BUCKET = "bench"


def start(log):
    """A server on a free port, with an empty bucket."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
    base = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            put(f"{base}/{BUCKET}", b"")
            return server, base
        except OSError:
            time.sleep(0.1)
    sys.exit("error: the server did not start")


def put(url, content):
    urllib.request.urlopen(urllib.request.Request(url, data=content, method="PUT"))


def run(program, name, environment):
    begun = time.perf_counter()
    output = subprocess.run([program, "score", name, "--json"], env=environment, capture_output=True)
    seconds = time.perf_counter() - begun
    if output.returncode:
        sys.exit(f"error: {name}: {output.stderr.decode()}")
    return seconds, json.loads(output.stdout)["runs"][0]["scores"]


def make_files(program, folder):
    """One run of 20,000 samples with texts that hardly compress, in several forms, and a table without texts."""
    folder.mkdir(parents=True, exist_ok=True)
    records, table = folder / "records.jsonl", folder / "table.jsonl"
    if not table.exists():
        draw = random.Random(1)
        with records.open("w") as out:
            for place in range(20_000):
                answer = draw.randbytes(1_500).hex()
                out.write(json.dumps({"id": place, "score": draw.choice("CI"), "answer": answer}) + "\n")
        with table.open("w") as out:
            for place in range(1_000_000):
                out.write(json.dumps({"id": place, "score": draw.random(), "category": draw.choice("abcdef")}) + "\n")
    forms = [(records, "log.eval"), (records, "records.parquet"), (table, "table.parquet"), (table, "table.csv")]
    for source, name in forms:
        if not (folder / name).exists():
            subprocess.run([program, "convert", source, "-o", folder / name], check=True)
    return [folder / "log.eval", folder / "records.parquet", folder / "table.parquet", folder / "table.csv", records, table]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calipers", type=Path, required=True)
    parser.add_argument("--bench", type=Path, help="not used here")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    files = make_files(arguments.calipers, arguments.data / "store")
    log_path = arguments.data / "store-server.log"
    with log_path.open("w") as log:
        server, base = start(log)
    environment = os.environ | {
        "AWS_ENDPOINT_URL": base, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
    }
    behind = False
    try:
        print("| file | MB | disk | bucket | times | requests | |")
        print("|---|---|---|---|---|---|---|")
        for path in files:
            put(f"{base}/{BUCKET}/{path.name}", path.read_bytes())
            disk, bucket = [], []
            for _ in range(arguments.rounds):
                before = log_path.read_text().count(f"GET /{BUCKET}/{path.name} ")
                here, answer = run(arguments.calipers, str(path), environment)
                there, other = run(arguments.calipers, f"s3://{BUCKET}/{path.name}", environment)
                if answer != other:
                    sys.exit(f"error: {path.name}: the answers differ")
                requests = log_path.read_text().count(f"GET /{BUCKET}/{path.name} ") - before
                disk.append(here)
                bucket.append(there)
            ratio = min(bucket) / min(disk)
            is_archive = path.suffix == ".eval"
            ok = ratio <= TIMES_MAX and (not is_archive or requests < REQUESTS_MAX)
            behind |= not ok
            size = path.stat().st_size / 1e6
            cells = [path.name, f"{size:.1f}", f"{min(disk):.3f} s", f"{min(bucket):.3f} s", f"{ratio:.2f}", requests]
            print("|", " | ".join(str(cell) for cell in cells), "|", "ok" if ok else "behind", "|")
    finally:
        server.terminate()
        server.wait()
    print(f"\nRequired: at most {TIMES_MAX} times the seconds of the disk, and fewer than {REQUESTS_MAX} requests per archive.")
    sys.exit(1 if behind else 0)


main()
