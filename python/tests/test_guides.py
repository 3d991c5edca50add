"""The guides say what the package does: their code runs, and prints what they show."""

import contextlib
import io
import os
import re

import pytest

GUIDES = ["docs/guides/python.md", "README.md", "python/README.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


@pytest.mark.parametrize("guide", GUIDES)
def test_the_code_of_a_guide_prints_what_it_shows(guide, root, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    text = (root / guide).read_text(encoding="utf-8")
    names = {"__name__": "guide"}
    printed = []

    def run(block):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), pandas.option_context("display.width", 80):
            exec(compile(block[1], guide, "exec"), names)
        shown = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        printed.append(shown)
        if block[2] is None:
            assert shown == "", f"{guide} does not show what it prints:\n{shown}"
            return block[0]
        return f"```python\n{block[1]}```\n\n```text\n{shown}\n```\n"

    new = BLOCK.sub(run, text)
    assert printed, "there is no code"
    if os.environ.get("BLESS"):
        (root / guide).write_text(new, encoding="utf-8")
    else:
        assert new == text
