"""The code of a guide, which runs and prints what the guide shows."""

import contextlib
import io
import os
import re

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def check_guide(path, names):
    """Runs the blocks of a guide one after the other; with BLESS they show what they print."""
    import pandas

    text = path.read_text(encoding="utf-8")
    names = {"__name__": "guide", **names}
    printed = []

    def run(block):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), pandas.option_context("display.width", 80):
            exec(compile(block[1], str(path), "exec"), names)
        shown = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        printed.append(shown)
        if block[2] is None:
            assert shown == "", f"{path.name} does not show what it prints:\n{shown}"
            return block[0]
        return f"```python\n{block[1]}```\n\n```text\n{shown}\n```\n"

    new = BLOCK.sub(run, text)
    assert printed, "there is no code"
    if os.environ.get("BLESS"):
        path.write_text(new, encoding="utf-8")
    else:
        assert new == text
