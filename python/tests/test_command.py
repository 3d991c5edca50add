"""`calipers eval` runs tasks in Python, with its flags, output and exit codes."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time

import pytest

import calipers

COLORS = """
    from calipers import Task, task
    from calipers.dataset import Sample
    from calipers.scorer import Score, mean, metric, scorer
    from calipers.solver import generate, solver
    from helper import WORDS

    @metric
    def at_least(least=0.5):
        return lambda scores: sum(score.as_float() >= least for score in scores) / len(scores)

    @scorer(metrics=[mean(), at_least()])
    def word_overlap():
        async def score(state, target):
            hits = sum(word in state.output.completion for word in target.text.split())
            return Score(value=hits / len(target.text.split()))
        return score

    @solver
    def polite():
        async def solve(state, generate):
            state.user_prompt.text += " Please."
            return await generate(state)
        return solve

    @task
    def colors(words: int = 2):
        samples = [Sample(input="Name it.", target=" ".join(WORDS[:words]), id=place) for place in range(10)]
        return Task(samples, solver=polite(), scorer=word_overlap())

    @task
    def broken():
        return Task([Sample(input="x")], scorer=word_overlap(), solver=lambda state, generate: 1 / 0)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "colors.py").write_text(textwrap.dedent(COLORS))
    (tmp_path / "helper.py").write_text('WORDS = ["mockllm", "red", "model"]\n')
    # A module of the folder must not stand in for the package.
    (tmp_path / "calipers.py").write_text("raise ImportError('not this one')\n")
    return tmp_path


@pytest.fixture
def command(folder):
    program = os.path.join(sysconfig.get_path("scripts"), "calipers")

    def run(*args, **environment):
        return subprocess.run(
            [program, "eval", *args], cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
        )

    return run


def test_a_task_of_a_file_runs(command, folder):
    done = command("colors.py@colors", "--model", "mockllm/model", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    figures = report["runs"][0]["scores"][0]["metrics"]
    assert (figures["mean"]["value"], figures["at_least"]["value"]) == (0.5, 1.0)
    [log] = (folder / "logs").iterdir()
    assert calipers.read(log).runs[0]["task"] == "colors"


def test_it_has_the_flags_of_the_command(command, folder):
    done = command(
        "colors.py@colors", "--model", "mockllm/model", "-T", "words=3", "--limit", "4", "--epochs", "2", "--reducer", "max",
        "--metric", "mean", "--scorer", "includes()", "--solver", "generate()", "--log-dir", "there", "--json",
    )
    assert done.returncode == 0, done.stderr
    [score] = json.loads(done.stdout)["runs"][0]["scores"]
    assert (score["name"], score["reducer"], score["metrics"]["mean"]["n"]) == ("includes", "max", 4)
    assert len(list((folder / "there").iterdir())) == 1
    text = command("colors.py@colors", "--model", "mockllm/model")
    assert "word_overlap" in text.stdout and "at_least" in text.stdout


def test_a_policy_sets_the_exit_code(command, folder):
    for rule, code in ((">= 0.2", 0), (">= 0.9", 1)):
        (folder / "policy.json").write_text(json.dumps({"thresholds": {"blocking": {"mean": rule}}}))
        done = command("colors.py@colors", "--model", "mockllm/model", "--gate", "policy.json")
        assert done.returncode == code, done.stdout + done.stderr


def test_mistakes_are_said_with_a_hint_and_exit_code_2(command, folder):
    for args, said in (
        (["colors.py"], "there are several tasks: colors, broken"),
        (["colors.py@nothing"], "there is no task `nothing`"),
        (["absent.py"], "there is no such file"),
        (["colors.py@colors", "-T", "size=3"], "the task does not take these parameters"),
        (["colors.py@colors"], "no model is named"),
        (["colors.py@broken", "--model", "mockllm/model"], "ZeroDivisionError"),
        (["colors.py@colors", "--model", "mockllm/model", "--nonsense"], "--nonsense"),
    ):
        done = command(*args)
        assert done.returncode == 2 and said in done.stderr, (args, done.stdout, done.stderr)
    (folder / "wrong.py").write_text("import calipers\nnonsense\n")
    done = command("wrong.py")
    assert done.returncode == 2 and "NameError" in done.stderr and 'wrong.py", line 2' in done.stderr


def test_without_the_package_the_fix_is_named(command, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    done = command("colors.py@colors", CALIPERS_PYTHON=str(bare / "bin" / "python"))
    assert done.returncode == 2 and "need the package `calipers`" in done.stderr and "pip install ./python" in done.stderr
    done = command("colors.py@colors", CALIPERS_PYTHON=str(tmp_path / "absent"))
    assert done.returncode == 2 and "none was found" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_run_goes_on(folder):
    (folder / "slow.py").write_text(
        textwrap.dedent("""
            import asyncio, os
            from calipers import Task, task
            from calipers.dataset import Sample

            async def slow(state, target):
                open(f"scored-{state.sample_id}", "w").close()
                await asyncio.sleep(0.0 if os.environ.get("QUICK") else 0.2)
                return 1.0

            @task
            def crawl():
                return Task([Sample(input="x", id=place) for place in range(200)], scorer=slow)
        """)
    )
    program = os.path.join(sysconfig.get_path("scripts"), "calipers")
    words = [program, "eval", "slow.py", "--model", "mockllm/model", "--max-samples", "2"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if (folder / "scored-5").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and "--resume" in errors, errors
    [log] = (folder / "logs").iterdir()
    done = subprocess.run([*words, "--resume", log], cwd=folder, capture_output=True, text=True, env={**os.environ, "QUICK": "1"})
    assert done.returncode == 0, done.stderr
    assert calipers.read(log).runs[0]["attempts"] == 200
