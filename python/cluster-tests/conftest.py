"""What the tests on clusters share."""

import random
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/tests"))


@pytest.fixture
def check_guide(monkeypatch):
    """Runs the code of a guide."""
    from guide_code import check_guide

    monkeypatch.setenv("COLUMNS", "80")
    return lambda name, **names: check_guide(ROOT / "docs/guides" / name, names)


@pytest.fixture(scope="session")
def table():
    """Two hundred samples with three attempts each, and one sample with five hundred."""
    import pyarrow

    chance = random.Random(3)
    rows = []
    for sample in range(200):
        hardness = chance.random()
        for epoch in range(1, 501 if sample == 7 else 4):
            rows.append(
                {
                    "id": f"question {sample}",
                    "epoch": epoch,
                    "score": 1.0 if chance.random() > hardness else chance.random(),
                    "category": f"category {sample % 5}",
                    "latency_ms": 100 + chance.random(),
                }
            )
    chance.shuffle(rows)
    return pyarrow.Table.from_pylist(rows)


@pytest.fixture(scope="session")
def alike():
    """What a report says, whatever the order in which rows arrived."""
    from unordered import alike

    return alike


@pytest.fixture(scope="session")
def patience():
    def wait(condition, what, seconds=60):
        """Waits until something is the case."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        raise TimeoutError(f"{what} after {seconds} s")

    return wait
