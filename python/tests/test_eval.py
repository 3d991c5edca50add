"""Tasks run on the runner of the library, with solvers, scorers, models and metrics in Python."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import calipers
from calipers import Epochs, Task, task
from calipers.dataset import FieldSpec, MemoryDataset, Sample, csv_dataset, json_dataset
from calipers.model import ChatMessageSystem, ChatMessageUser, ModelOutput, get_model
from calipers.scorer import (
    CORRECT,
    INCORRECT,
    AnswerPattern,
    Score,
    accuracy,
    answer,
    choice,
    exact,
    f1,
    includes,
    match,
    mean,
    model_graded_qa,
    pattern,
    scorer,
)
from calipers.solver import Generate, TaskState, chain, generate, multiple_choice, solver, system_message

QUESTIONS = [Sample(input=f"Question {place}", target="yes", id=place, metadata={"hard": place % 2}) for place in range(6)]


@pytest.fixture
def run(tmp_path):
    """Runs a task in a folder of its own."""

    def run(task, model="mockllm/model", **options):
        return calipers.eval(task, model=model, log_dir=tmp_path / "logs", **options)

    return run


def saying(text):
    """A model that always says this."""
    return get_model("mockllm/model", custom_outputs=lambda messages, *rest: ModelOutput.from_content("mock", text))


@solver
def ask_twice(second="Are you sure?"):
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(state)
        state.messages.append(ChatMessageUser(content=second))
        return await generate(state)

    return solve


@scorer(metrics=[mean()])
def conversation():
    """How many messages there are."""

    async def score(state, target):
        roles = [message.role for message in state.messages]
        return Score(value=len(roles), explanation=" ".join(roles), metadata={"store": dict(state.store.items())})

    return score


def records(done):
    return calipers.read(done.log).to_dicts()


def test_solvers_in_python_ask_the_model_and_change_the_conversation(run):
    done = run(Task(QUESTIONS, solver=[system_message("Be brief."), ask_twice()], scorer=conversation()))
    assert done["mean"].value == 5.0 and done.status == "success"
    for sample in attempts(done):
        assert [message.role for message in sample.messages] == ["system", "user", "assistant", "user", "assistant"]
        assert sample.scores["conversation"].explanation == "system user assistant user assistant"


def attempts(done):
    """The attempts of a log, as Inspect reads them."""
    return pytest.importorskip("inspect_ai.log").read_eval_log(done.log).samples


def limited(done):
    """How many attempts reached a limit."""
    return sum(sample.limit is not None for sample in attempts(done))


def test_solvers_call_one_another_and_those_of_the_library(run):
    @solver
    def outer():
        inner = ask_twice("Really?")

        async def solve(state, generate):
            state.store.set("before", len(state.messages))
            state = await system_message("Careful.")(state, generate)
            state = await chain(inner, generate_step())(state, generate)
            state.metadata["seen"] = True
            return state

        return solve

    @solver
    def generate_step():
        async def solve(state, generate):
            assert state.user_prompt.text == "Really?"
            assert state.output.completion.startswith("Default")
            return await generate(state, temperature=0.5, max_tokens=10)

        return solve

    done = run(Task(QUESTIONS, solver=outer(), scorer=conversation()))
    assert done["mean"].value == 6.0
    assert all(record["seen"] for record in records(done))


def test_a_plain_function_and_a_class_are_solvers_and_completed_skips_the_rest(run):
    async def early(state, generate):
        state.output = ModelOutput.from_content("none", "yes")
        state.completed = True
        return state

    @solver
    class Never:
        async def __call__(self, state, generate):
            raise AssertionError("the attempt is over")

    done = run(Task(QUESTIONS, solver=[early, Never()], scorer=match()))
    assert done["accuracy"].value == 1.0


def test_questions_are_asked_side_by_side(run):
    running, most = 0, 0

    @solver
    def slow():
        async def solve(state, generate):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.05)
            states = await asyncio.gather(*(get_model().generate(f"Part {part}") for part in range(3)))
            assert len(states) == 3
            running -= 1
            return state

        return solve

    run(Task(QUESTIONS, solver=slow(), scorer=includes()), max_samples=6)
    assert most == 6


def test_a_model_in_python_answers_by_what_it_is_asked(run):
    def answers(messages, tools, tool_choice, config):
        return "yes" if messages[-1].text.endswith(("0", "2")) else "no"

    model = get_model("mockllm/mine", custom_outputs=answers)
    done = run(Task(QUESTIONS, solver=generate(), scorer=match()), model=model)
    assert done["accuracy"].value == pytest.approx(2 / 6)
    in_turn = get_model("mockllm/turns", custom_outputs=[ModelOutput.from_content("m", "yes"), "no"])
    done = run(Task(QUESTIONS[:2], scorer=match()), model=in_turn, max_samples=1, max_connections=1)
    assert done["accuracy"].value == 0.5


def test_a_scorer_asks_a_grader_and_calls_scorers_of_the_library(run):
    @scorer(metrics={"graded": [mean()], "found": [accuracy()]})
    def both():
        found = includes()

        async def score(state, target):
            graded = await get_model(role="grader").generate([ChatMessageSystem("Grade."), ChatMessageUser(state.input_text)])
            inner = await found(state, target)
            return Score(value={"graded": float(graded.completion), "found": inner.value})

        return score

    done = run(Task(QUESTIONS, scorer=both()), model=saying("I say yes"), model_roles={"grader": saying("0.25")})
    assert done.figure("mean", scorer="graded").value == 0.25
    assert done.figure("accuracy", scorer="found").value == 1.0


def test_model_graded_scorers_are_those_of_the_library(run):
    done = run(Task(QUESTIONS, scorer=model_graded_qa()), model_roles={"grader": saying("GRADE: C")})
    assert done["accuracy"].value == 1.0
    done = run(Task(QUESTIONS, scorer=model_graded_qa(partial_credit=True)), model_roles={"grader": saying("GRADE: P")})
    assert done["accuracy"].value == 0.5


def scored(scorer, output, target, **about):
    """The value that a scorer gives outside a run."""
    state = TaskState.of("Which?", output, target=target, **about)
    return asyncio.run(scorer(state, state.target)).value


def test_scorers_of_the_library_can_be_called_by_themselves():
    assert scored(match(), "The answer is 42", "42") == CORRECT
    assert scored(match(location="begin"), "The answer is 42", "42") == INCORRECT
    assert scored(match(numeric=True), "It costs $1,000.", "1000") == CORRECT
    assert scored(includes(), "yes and no", "NO") == CORRECT
    assert scored(exact(), "The Cat!", "the cat") == CORRECT
    assert scored(pattern(r"x=(\d+)"), "x=3", "3") == CORRECT
    assert scored(pattern(AnswerPattern.LETTER), "ANSWER: A, or rather\nANSWER: B", "B") == CORRECT
    assert scored(answer("letter"), "ANSWER: B", "B") == CORRECT
    assert scored(f1(), "the red fox", "red fox") == pytest.approx(1.0)
    with pytest.raises(calipers.UsageError, match="models are asked while a task runs"):
        scored(model_graded_qa(), "yes", "yes")


def test_choices_are_marked_and_scored(run):
    samples = [Sample(input="?", choices=["red", "blue"], target="AB"[place % 2], id=place) for place in range(4)]
    done = run(Task(samples, solver=multiple_choice(), scorer=choice()), model=saying("ANSWER: B"))
    assert done["accuracy"].value == 0.5

    @solver
    def first():
        async def solve(state, generate):
            for place, _ in enumerate(state.choices):
                state.choices.mark_choice(place, place == 0)
            state.output = ModelOutput.from_content("none", "ANSWER: A")
            return state

        return solve

    assert run(Task(samples, solver=first(), scorer=choice()))["accuracy"].value == 0.5


def test_limits_end_an_attempt_which_is_scored_as_it_is(run):
    done = run(Task(QUESTIONS, solver=ask_twice(), scorer=conversation(), message_limit=3))
    assert done["mean"].value == 3.0, "the second question was asked, and not answered"
    assert limited(done) == 6
    done = run(Task(QUESTIONS[:1], solver=ask_twice(), scorer=conversation(), token_limit=2))
    assert limited(done) == 1


def test_a_time_limit_cancels_the_code(run):
    ended = []

    @solver
    def stuck():
        async def solve(state, generate):
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                ended.append(state.sample_id)
                raise
            return state

        return solve

    done = run(Task(QUESTIONS[:2], solver=stuck(), scorer=includes()), time_limit=0.2)
    assert limited(done) == 2 and sorted(ended) == [0, 1]


def test_an_exception_ends_the_run_and_is_the_cause(run):
    @solver
    def broken():
        async def solve(state, generate):
            raise LookupError("no such thing")

        return solve

    with pytest.raises(calipers.EvaluationError, match="the solver `broken` failed: LookupError") as raised:
        run(Task(QUESTIONS, solver=broken(), scorer=includes()))
    error = raised.value
    assert isinstance(error.__cause__, LookupError) and error.evaluation.status == "error"
    assert "test_eval.py, line" in str(error) and "resume" in error.hint and os.path.exists(error.evaluation.log)


def test_exceptions_may_be_counted_instead(run):
    @scorer(metrics=[accuracy()])
    def half():
        async def score(state, target):
            if state.sample_id % 2:
                raise RuntimeError("odd")
            return CORRECT

        return score

    done = run(Task(QUESTIONS, scorer=half(), fail_on_error=False))
    assert done.to_dict()["runs"][0]["samples"]["errored"] == 3 and done["accuracy"].n == 3
    assert run(Task(QUESTIONS, scorer=half()), fail_on_error=0.9).status == "success"
    with pytest.raises(calipers.EvaluationError):
        run(Task(QUESTIONS, scorer=half(), fail_on_error=2), max_samples=1)


def test_an_attempt_that_failed_is_tried_again(run):
    tries = {}

    @scorer(metrics=[accuracy()])
    def second_time():
        async def score(state, target):
            tries[state.sample_id] = tries.get(state.sample_id, 0) + 1
            if tries[state.sample_id] == 1:
                raise RuntimeError("not yet")
            return CORRECT

        return score

    assert run(Task(QUESTIONS, scorer=second_time()), retry_on_error=1)["accuracy"].value == 1.0


def test_a_failing_model_is_an_exception_that_code_may_catch(run):
    def refuse(*_):
        raise ConnectionError("down")

    @solver
    def careful():
        async def solve(state, generate):
            try:
                await generate(state)
            except calipers.ModelError as error:
                state.output = ModelOutput.from_content("none", "yes" if "down" in str(error) else "no")
            return state

        return solve

    model = get_model("mockllm/down", custom_outputs=refuse)
    assert run(Task(QUESTIONS, solver=careful(), scorer=match()), model=model)["accuracy"].value == 1.0


def test_what_the_runner_does_not_have_is_refused():
    for name in ("sandbox", "approval", "working_limit", "early_stopping"):
        with pytest.raises(calipers.UsageError, match=f"`{name}` does not run here"):
            Task(QUESTIONS, **{name: "docker"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'scorers'"):
        Task(QUESTIONS, scorers=match())
    with pytest.raises(calipers.UsageError, match="`files` does not run here"):
        Sample(input="x", files={"a": "b"})
    with pytest.raises(ImportError, match="belongs to Inspect"):
        from calipers.solver import use_tools  # noqa: F401
    with pytest.raises(calipers.UsageError, match="not told `logprobs`"):
        calipers.model.GenerateConfig(logprobs=True)
    with pytest.raises(calipers.UsageError, match="nothing scores"):
        calipers.eval(Task(QUESTIONS), model="mockllm/model")


def test_options_stand_in_place_of_the_task(run):
    base = Task(QUESTIONS, solver=ask_twice(), scorer=match(), epochs=Epochs(2, "max"), tags=["a"], name="base")
    done = run(base, scorer=conversation(), solver=generate(), limit=3, epochs=1, tags=["b"], metadata={"who": "me"})
    assert done["mean"].value == 2.0 and done["mean"].n == 3
    assert run(base, sample_id=[1, "2"], metric=["mean"])["mean"].n == 2
    with pytest.raises(calipers.UsageError, match="no sample `9`"):
        run(base, sample_id=9)
    with pytest.raises(calipers.UsageError, match="no amount of money"):
        run(base, budget=-1.0)


def test_a_run_of_a_file_knows_its_task(run):
    @task
    def sized(count: int = 2):
        return Task(QUESTIONS[:count], scorer=match())

    assert run(sized, task_args={"count": 3})["accuracy"].n == 3
    assert calipers.read(run(sized(1)).log).runs[0]["task"] == "sized"


def test_a_run_can_be_judged_by_itself(run):
    done = run(Task(QUESTIONS, scorer=match()), model=saying("yes"))
    assert calipers.gate(done, {"thresholds": {"blocking": {"accuracy": ">= 0.5"}}}).passed


RESUMED = """
    import os, sys, time
    import calipers
    from calipers.dataset import Sample
    from calipers.scorer import scorer, mean

    @scorer(metrics=[mean()])
    def slow():
        async def score(state, target):
            with open("scored.txt", "a") as file:
                print(state.sample_id, file=file)
            if os.environ.get("STUCK") and state.sample_id >= 12:
                time.sleep(600)
            return 1.0
        return score

    task = calipers.Task([Sample(input=f"Q{place}", id=place) for place in range(40)], scorer=slow(), name="slow")
    log = sys.argv[1] if len(sys.argv) > 1 else None
    try:
        done = calipers.eval(task, model="mockllm/model", log_dir="logs", resume=log, max_samples=1)
        print("mean", done["mean"].value, "of", done["mean"].n)
    except KeyboardInterrupt:
        print("interrupted")
"""


def start(folder, *args, stuck=False):
    file = folder / "run.py"
    file.write_text(textwrap.dedent(RESUMED))
    environment = {**os.environ, "STUCK": "1" if stuck else ""}
    return subprocess.Popen(
        [sys.executable, str(file), *args], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(holds, process):
    for _ in range(600):
        if holds():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError("it did not get there")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_run_resumes(tmp_path):
    scored = tmp_path / "scored.txt"
    process = start(tmp_path, stuck=True)
    wait_until(lambda: scored.exists() and "12" in scored.read_text().split(), process)
    # What is written to the log is written in parts, every few seconds.
    time.sleep(3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    [log] = (tmp_path / "logs").iterdir()
    process = start(tmp_path, str(log))
    out, errors = process.communicate(timeout=120)
    assert "mean 1.0 of 40" in out, out + errors
    assert len(scored.read_text().split()) < 13 + 40, "what was done is not done again"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_run_ends_and_keeps_its_log(tmp_path):
    scored = tmp_path / "scored.txt"
    process = start(tmp_path, stuck=True)
    wait_until(lambda: scored.exists() and "12" in scored.read_text().split(), process)
    # The attempt under way does not end by itself: the first interrupt lets it finish, and the second ends it.
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert "interrupted" in out, out + errors
    [log] = (tmp_path / "logs").iterdir()
    out, errors = start(tmp_path, str(log)).communicate(timeout=120)
    assert "mean 1.0 of 40" in out, out + errors


def test_datasets_are_read_as_inspect_reads_them(tmp_path):
    inspect_dataset = pytest.importorskip("inspect_ai.dataset")
    lines = [
        {"input": "a", "target": "A", "choices": ["x", "y", "z"], "id": "q1", "metadata": {"k": 1}},
        {"input": [{"role": "user", "content": "b"}], "target": ["B", "C"], "choices": "p, q,, r", "note": 5},
        {"input": "c", "target": 3, "choices": "u v w"},
        {"input": "d", "target": None},
    ]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "set.json").write_text(json.dumps(lines))
    (tmp_path / "set.csv").write_text('input,target,id,extra\n"a, b",A,1,x\n\nc,B,2,y\nd,C,3,z\n')

    def compare(ours, theirs):
        assert len(ours) == len(theirs) and ours.name == theirs.name and ours.location == theirs.location
        for one, other in zip(ours, theirs):
            text = one.input if isinstance(one.input, str) else [message.text for message in one.input]
            other_text = other.input if isinstance(other.input, str) else [message.text for message in other.input]
            assert (text, one.target, one.choices, one.id, one.metadata) == (
                other_text, other.target, other.choices, other.id, other.metadata,
            )

    for file in ("set.jsonl", "set.json"):
        path = str(tmp_path / file)
        for options in ({}, {"auto_id": True}, {"shuffle": True, "seed": 3}, {"shuffle": 7, "limit": 2}):
            compare(json_dataset(path, **options), inspect_dataset.json_dataset(path, **options))
    path = str(tmp_path / "set.csv")
    compare(csv_dataset(path), inspect_dataset.csv_dataset(path))
    spec = {"input": "input", "target": "extra", "metadata": ["target"]}
    compare(csv_dataset(path, FieldSpec(**spec)), inspect_dataset.csv_dataset(path, inspect_dataset.FieldSpec(**spec)))

    def convert(sample):
        return lambda record: [sample(input=record["input"], target=str(place)) for place in range(2)]

    compare(
        csv_dataset(path, convert(Sample), auto_id=True),
        inspect_dataset.csv_dataset(path, convert(inspect_dataset.Sample), auto_id=True),
    )
    chance = random.Random(5)
    for _ in range(50):
        count = chance.randrange(2, 6)
        samples = [
            {"input": str(place), "choices": [f"c{at}" for at in range(count)], "target": "ABCDE"[chance.randrange(count)]}
            for place in range(5)
        ]
        ours = MemoryDataset([Sample(**one) for one in samples])
        theirs = inspect_dataset.MemoryDataset([inspect_dataset.Sample(**one) for one in samples])
        seed = chance.randrange(1000)
        for dataset in (ours, theirs):
            dataset.shuffle(seed)
            dataset.shuffle_choices(seed)
        compare(ours, theirs)
    some = ours.filter(lambda sample: sample.target == "A", name="some")
    assert some.name == "some" and isinstance(ours[:2], MemoryDataset) and len(ours[:2]) == 2


def test_a_broken_dataset_says_where(tmp_path):
    file = tmp_path / "broken.jsonl"
    file.write_text('{"input": "a"}\n{"target": "x"}\n')
    with pytest.raises(calipers.DataError, match="it has no `input`") as raised:
        json_dataset(file)
    assert raised.value.place.endswith("broken.jsonl, line 2")
    file.write_text('{"input": "a"}\n{"input": \n')
    with pytest.raises(calipers.DataError) as raised:
        json_dataset(file)
    assert raised.value.place.endswith("line 2")
    table = tmp_path / "ragged.csv"
    table.write_text("input,target\na,b,c\n")
    with pytest.raises(calipers.DataError, match="more or fewer cells"):
        csv_dataset(table)
    with pytest.raises(calipers.DataError, match="No such file"):
        csv_dataset(tmp_path / "absent.csv")


def test_the_live_line_is_drawn_on_a_terminal(tmp_path):
    pty = pytest.importorskip("pty")
    code = textwrap.dedent("""
        import asyncio, calipers
        from calipers.dataset import Sample
        async def slow(state, target):
            await asyncio.sleep(0.1)
            return 1.0
        task = calipers.Task([Sample(input=str(place)) for place in range(8)], scorer=slow, name="colours")
        calipers.eval(task, model="mockllm/model", log_dir="logs", max_samples=1)
    """)
    main, side = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=side, env={**os.environ, "TERM": "xterm"})
    os.close(side)
    seen = b""
    try:
        while chunk := os.read(main, 4096):
            seen += chunk
    except OSError:
        pass  # The other side is closed.
    assert process.wait() == 0
    assert b"colours" in seen and b"/8" in seen and b"mean 1.000 so far" in seen, seen


def overlap(name, delay=0.0):
    async def score(state, target):
        await asyncio.sleep(delay)
        return 1.0 if target.text in state.output.completion else 0.0

    samples = [Sample(input=f"{name} {place}", target="mockllm" if place % 4 else "no", id=place) for place in range(40)]
    return Task(samples, scorer=score, name=name)


def test_runs_in_threads_share_a_folder_and_keep_their_logs_apart(tmp_path):
    """The same task several times, at once: each run has a log with all of its attempts and no other's."""
    with ThreadPoolExecutor(4) as threads:
        names = ["same", "same", "same", "other"] * 2
        runs = list(threads.map(lambda name: calipers.eval(overlap(name, 0.01), "mockllm/model", log_dir=tmp_path), names))
    assert len({done.log for done in runs}) == len(runs) == len(os.listdir(tmp_path))
    for name, done in zip(names, runs):
        assert done["accuracy"].value == 0.75 and done["accuracy"].n == 40
        [facts] = calipers.read(done.log).runs
        assert (facts["task"], facts["samples"], facts["attempts"]) == (name, 40, 40)


def test_runs_in_processes_share_a_folder_and_a_log_has_one_writer(tmp_path):
    code = textwrap.dedent("""
        import asyncio, sys
        import calipers
        from calipers.dataset import Sample

        async def score(state, target):
            await asyncio.sleep(0.2)
            return 1.0

        task = calipers.Task([Sample(input=str(place), id=place) for place in range(20)], scorer=score, name="same")
        resume = sys.argv[2] if len(sys.argv) > 2 else None
        try:
            print(calipers.eval(task, "mockllm/model", log_dir=sys.argv[1], resume=resume, max_samples=2).log)
        except calipers.CalipersError as error:
            print("refused:", error.what)
    """)

    def start(*more):
        return subprocess.Popen([sys.executable, "-c", code, str(tmp_path), *more], stdout=subprocess.PIPE, text=True)

    running = [start(), start()]
    deadline = time.monotonic() + 60
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    # A run that is under way cannot be gone on with.
    busy = tmp_path / sorted(os.listdir(tmp_path))[0]
    third = start(str(busy))
    refused = third.communicate(timeout=120)[0]
    logs = [process.communicate(timeout=120)[0].strip() for process in running]
    assert refused.startswith("refused:"), refused
    assert len(set(logs)) == 2
    for log in logs:
        assert calipers.read(log).runs[0]["attempts"] == 20
