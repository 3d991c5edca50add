"""What the reports of benchmarks share: the machine, and numbers as people read them."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def machine(calipers, *packages):
    """The machine, our version, and those of Python and its packages, as rows of a table."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    ours = subprocess.run([calipers, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return [
        ("processor", processor()),
        ("cores", cores),
        ("system", f"{platform.system().lower()} {platform.machine()}"),
        ("calipers", ours),
        ("python", platform.python_version()),
        *((name, version(name)) for name in packages),
    ]


def processor():
    """The processor's name, where the system tells it in a file."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def significant(number):
    return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f}"


def seconds(time):
    scaled, unit = (time, "s") if time >= 1 else (time * 1e3, "ms")
    return f"{significant(scaled)} {unit}"


def times(ratio):
    return f"{significant(ratio)}×"
