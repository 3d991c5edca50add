"""What the tests share."""

import json
import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def program():
    """The command line of the wheel: not one that happens to be on the path."""
    found = shutil.which("calipers", path=sysconfig.get_path("scripts"))
    assert found, "the wheel has no command line"

    def run(*args, code=0, **kwargs):
        done = subprocess.run([found, *map(str, args)], capture_output=True, text=True, **kwargs)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def records():
    """Two hundred samples with three attempts each."""
    chance = random.Random(7)
    made = []
    for sample in range(200):
        hardness = chance.random()
        for epoch in (1, 2, 3):
            made.append(
                {
                    "id": f"q{sample:03}",
                    "epoch": epoch,
                    "score": 1.0 if chance.random() > hardness else 0.0,
                    "category": ["physics", "chemistry", "biology"][sample % 3],
                    "latency_ms": 100.0 + chance.random() * 50,
                }
            )
    return made


@pytest.fixture(scope="session")
def lines(tmp_path_factory, records):
    """The same in a file."""
    file = tmp_path_factory.mktemp("lines") / "results.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file
