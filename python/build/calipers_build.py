"""Builds the wheel: the command line first, then the library around it.

maturin puts a library or a program into a wheel, but not both. It copies what is in `data/scripts`, so the program is put there.
`CALIPERS_PROFILE=dev` builds both quickly, for tests; without it they are built as for a release. `CALIPERS_PROGRAM` names a program
that has been built already.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import maturin
from maturin import (  # noqa: F401  (the hooks of PEP 517 and 660)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

HERE = Path(__file__).resolve().parent.parent
SCRIPTS = HERE / "data" / "scripts"
PROGRAM = "calipers.exe" if sys.platform == "win32" else "calipers"


def _profile():
    return os.environ.get("CALIPERS_PROFILE", "release")


def _build_program():
    """Compiles the command line."""
    root = HERE.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    profile = _profile()
    command = ["cargo", "build", "--locked", "--package", "calipers-cli", "--profile", profile]
    subprocess.run(command, cwd=root, check=True, stdout=sys.stderr)
    return root / target / ("debug" if profile == "dev" else profile) / PROGRAM


def _place_program():
    """Puts the command line where maturin finds it."""
    built = os.environ.get("CALIPERS_PROGRAM") or _build_program()
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    program = SCRIPTS / PROGRAM
    program.unlink(missing_ok=True)
    shutil.copy2(built, program)
    if shutil.which("strip") and sys.platform != "win32":
        subprocess.run(["strip", str(program)], check=False)
    program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _prepare():
    _place_program()
    # Builds for tests share their compiled dependencies with the tests of the main workspace.
    features = " --features shared" if _profile() == "dev" else ""
    os.environ["MATURIN_PEP517_ARGS"] = f"--profile {_profile()}{features}"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    # Without this hook, pip would compile everything to learn the name and the version. maturin asks only that the folder is there.
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _prepare()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _prepare()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("the package is built from the repository: `pip install ./python`")
