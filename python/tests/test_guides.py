"""The guides say what the package does: their code runs, and prints what they show."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from guide_code import check_guide

GUIDES = ["docs/guides/python.md", "docs/guides/inspect.md", "docs/guides/from-inspect-python.md", "README.md", "python/README.md"]
PYTEST = "docs/guides/pytest.md"
NOTEBOOK = "examples/python/frame-to-verdict.ipynb"


# What Inspect warns about in its own parts is not ours to fix.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("guide", GUIDES)
def test_the_code_of_a_guide_prints_what_it_shows(guide, root, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    if "inspect.md" in guide:
        pytest.importorskip("inspect_ai")
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    check_guide(root / guide, {})


def test_the_guide_to_pytest_shows_what_pytest_prints(root, tmp_path):
    """Its files are written, its command is run, and what the plugin prints is what it shows."""
    text = (root / PYTEST).read_text(encoding="utf-8")
    found = re.search(
        r"`(test_\w+\.py)`:\n\n```python\n(.*?)```\n\n`(policy\.json)`:\n\n```json\n(.*?)```\n\n```sh\npytest (.*?)\n```\n\n(```text\n.*?```\n)", text, re.S
    )
    (tmp_path / found[1]).write_text(found[2])
    (tmp_path / found[3]).write_text(found[4])
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *shlex.split(found[5])]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.partition("= calipers =")[2].partition("\n")[2].rpartition("\n=")[0]
    new = text.replace(found[6], "```text\n" + "\n".join(line.rstrip() for line in shown.strip("\n").splitlines()) + "\n```\n")
    if os.environ.get("BLESS"):
        (root / PYTEST).write_text(new, encoding="utf-8")
    else:
        assert new == text


def test_the_notebook_runs_and_shows_what_it_did(root, tmp_path):
    """A notebook is run in a process of its own, as a person would. Texts stay the same, and every answer draws itself."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    notebook = nbformat.read(root / NOTEBOOK, as_version=4)
    before = [shown(cell) for cell in notebook.cells]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(root)}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    if os.environ.get("BLESS"):
        notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        nbformat.write(notebook, root / NOTEBOOK)
    else:
        assert [shown(cell) for cell in notebook.cells] == before
    drawn = [output.data["text/html"] for cell in notebook.cells for output in cell.get("outputs", []) if "text/html" in output.get("data", {})]
    assert len(drawn) >= 3 and all("<script" not in html for html in drawn)


def shown(cell):
    """The text of a cell's outputs. What is printed may arrive in one piece or in several."""
    outputs = cell.get("outputs", [])
    printed = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    return [printed, *(output["data"].get("text/plain") for output in outputs if "data" in output)]
