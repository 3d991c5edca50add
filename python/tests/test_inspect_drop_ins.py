"""`calipers.inspect` inside Inspect: the same numbers, names, errors and logs."""

import asyncio
import logging
import math
import random
import re
import subprocess
import sys
import textwrap

import pytest

theirs = pytest.importorskip("inspect_ai.scorer")
import calipers  # noqa: E402
from calipers import inspect as ours  # noqa: E402
from calipers.inspect import _scorers  # noqa: E402
from inspect_ai import Epochs, Task  # noqa: E402
from inspect_ai import eval as inspect_eval  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.solver import TaskState  # noqa: E402
from test_inspect import CASES, random_scores, random_value, same  # noqa: E402

SampleScore, Score = theirs.SampleScore, theirs.Score
# What Inspect warns about in its own parts is not ours to fix.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def outcome(call):
    """What a call gives, or how it fails, in words."""
    try:
        return call()
    except (ValueError, TypeError, AttributeError, re.error) as error:
        return type(error).__name__, str(error)


def halves(value):
    """A conversion in Python that no label says."""
    return {"C": 1.0, "I": 0.0}.get(value, 0.5) if isinstance(value, str) else float(value or 0)


def random_metric(chance):
    kind = chance.randrange(10)
    convert = chance.choice([None, None, halves, theirs.value_to_float(correct="yes")])
    given = {} if convert is None else {"to_float": convert}
    cluster = chance.choice([None, "cluster", "gone"])
    level = chance.choice([0.8, 0.95, 0.99])
    if kind < 4:
        return lambda module: getattr(module, ["accuracy", "mean", "var", "std"][kind])(**given)
    if kind < 6:
        return lambda module: module.stderr(**given, cluster=cluster)
    if kind == 6:
        return lambda module: module.ci(level=level, **given, cluster=cluster)
    if kind == 7:
        return lambda module: module.ci_wilson(level, **given, cluster=cluster)
    inner, whole = chance.choice(["accuracy", "mean", "stderr", "ci"]), chance.choice(["samples", "groups", False])
    label, key = chance.choice(["all", "x"]), chance.choice(["group", "group", "group", "gone"])
    if inner == "ci":
        whole = "samples"  # The mean of dicts is nothing that Inspect can record.
    return lambda module: module.grouped(getattr(module, inner)(), key, all=whole, all_label=label)


def test_metrics_give_the_numbers_and_the_errors_of_inspect():
    chance = random.Random(21)
    failures = 0
    for case in range(CASES):
        scores = [
            SampleScore(
                score=Score(value=random_value(chance)),
                sample_id=place,
                sample_metadata={"cluster": chance.choice([1, "a", "b", 2.0, True]), "group": chance.choice(["x", "y", 3, None])},
            )
            for place in range(chance.choice([0, 1, 2, 3, 7, 30, 200]))
        ]
        make = random_metric(chance)
        got, want = (outcome(lambda: make(module)(scores)) for module in (ours, theirs))
        assert same(got, want), (case, got, want, scores)
        failures += isinstance(want, tuple)
    assert failures > 50, "errors are compared too"


def random_reducer(chance):
    kind = chance.choice(["mean", "median", "mode", "max", "majority", "collect", "at_least", "pass_at", "pass_k"])
    convert = chance.choice([None, None, halves])
    given = {} if convert is None else {"value_to_float": convert}
    if kind in ("mode", "majority", "collect"):
        return kind, lambda module: getattr(module, f"{kind}_score")()
    if kind in ("mean", "median", "max"):
        return kind, lambda module: getattr(module, f"{kind}_score")(**given)
    k, value = chance.choice([1, 2, 3, 5]), chance.choice([1.0, 0.5])
    return kind, lambda module: getattr(module, kind)(k, value, **given)


def test_reducers_give_the_scores_and_the_errors_of_inspect():
    chance = random.Random(22)
    failures = 0
    for case in range(CASES):
        values = random_scores(chance)
        if chance.random() < 0.2:
            values += random_scores(chance)  # Of another shape, for the most part.
        if isinstance(values[0], dict) and chance.random() < 0.5:
            values[0] = {**values[0], "a": chance.choice([None, math.nan])}
        scores = [
            Score(value=value, answer=chance.choice(["A", "A", None]), explanation="same", metadata={"place": place, "set": {1}})
            for place, value in enumerate(values)
        ]
        name, make = random_reducer(chance)
        got, want = (outcome(lambda: make(module)(scores)) for module in (ours, theirs))
        if isinstance(want, tuple) or isinstance(got, tuple):
            assert got == want, (case, name, values)
            failures += 1
            continue
        assert type(got) is Score
        assert same(got.value, want.value), (case, name, values, got.value, want.value)
        left, right = (score.model_dump(exclude={"value", "metadata"}) for score in (got, want))
        assert left == right, (case, name)
        assert same(got.metadata, want.metadata), (case, name)
    assert failures > 50, "errors are compared too"


WORDS = [
    "42", "42.0", "(42)", "42!", "$1,000", "1e3", "25%", "½", "-3", "٣", "yes", "Yes.", "no", "foo", "FOO bar", "straße", "STRASSE", "é", "İ", "A", "b",
    "C", "A,C", "10", "ANSWER: B", "answer : c", "ANSWER: yes.", "ANSWER: A. No.\nANSWER: B)", "ANSWER:", "", " ", "\n", "\u00a0", "a_b", ".", "(", "\\d",
]  # fmt: skip


PATTERNS = [r"(\w+)", r"ANSWER: (\w)", r"(foo|yes) ?(bar)?", r"yes|no", r"(?P<n>\d+)", r"^(.*)$", r"(a)(?!_)", r"(", r"(\S*)\s(?=\S)"]


def random_scorer(chance):
    kind = chance.choice(["match", "match", "includes", "pattern", "answer", "choice"])
    ignore_case, other = chance.choice([True, False]), chance.choice([True, False])
    if kind == "match":
        location = chance.choice(["begin", "end", "any", "exact"])
        return lambda module: module.match(location, ignore_case=ignore_case, numeric=other)
    if kind == "includes":
        return lambda module: module.includes(ignore_case)
    if kind == "pattern":
        pattern = chance.choice(PATTERNS)
        return lambda module: module.pattern(pattern, ignore_case, match_all=other)
    if kind == "answer":
        form = chance.choice(["letter", "word", "line"])
        return lambda module: module.answer(form)
    return lambda module: module.choice()


def random_state(chance):
    words = [chance.choice(WORDS) for _ in range(chance.choice([0, 1, 2, 2, 3]))]
    said = chance.choice(["", " ", "\n"]).join(words)
    targets = [chance.choice(words if words and chance.random() < 0.5 else WORDS) for _ in range(chance.choice([0, 1, 1, 1, 2]))]
    size = chance.choice([0, 2, 3, 4])
    state = TaskState(
        model="mockllm/model", sample_id=1, epoch=1, input="?", messages=[], choices=[f"choice {place}" for place in range(size)],
        target=theirs.Target(targets), output=ModelOutput.from_content("mockllm/model", said),
    )  # fmt: skip
    if chance.random() < 0.3:
        state.choices.shuffle(chance)
    for place in range(size):
        if chance.random() < 0.7:
            state.choices.mark_choice(place, chance.random() < 0.4)
    return state, theirs.Target(targets)


def test_scorers_give_the_scores_and_the_errors_of_inspect():
    chance = random.Random(24)
    failures, ours_alone, grades = 0, 0, {"C": 0, "I": 0}
    for case in range(3 * CASES):
        make = random_scorer(chance)
        state, target = random_state(chance)
        grade = _scorers.grade
        seen = []
        _scorers.grade = lambda *args: seen.append(grade(*args)) or seen[-1]
        try:
            got, want = (outcome(lambda: asyncio.run(make(module)(state, target))) for module in (ours, theirs))
        finally:
            _scorers.grade = grade
        if isinstance(want, tuple) or isinstance(got, tuple):
            assert got == want, (case, state.output.completion, target)
            failures += 1
            continue
        assert got.model_dump() == want.model_dump(), (case, state.output.completion, target, got, want)
        if seen and seen[0] is not None:
            ours_alone += 1
            grades[got.value] += 1
    assert failures > 50, "errors are compared too"
    assert ours_alone > CASES and min(grades.values()) > 200, (ours_alone, grades)


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", ["accuracy", "mean", "var", "std", "stderr", "bootstrap_stderr", "ci", "ci_wilson"])
def test_placeholders_are_those_of_inspect(name, size):
    scores = [SampleScore(score=Score(value="C"), sample_id=1)] * size
    assert same(getattr(ours, name)()(scores), getattr(theirs, name)()(scores))
    groups = [getattr(module, "grouped")(getattr(module, name)(), "g") for module in (ours, theirs)]
    metadata = [SampleScore(score=Score(value="C"), sample_id=1, sample_metadata={"g": 1})] * size
    assert same(groups[0](metadata), groups[1](metadata))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", ["accuracy", "mean", "var", "std", "stderr"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scores_that_are_not_finite_give_what_inspect_gives(name, value):
    scores = [SampleScore(score=Score(value=one), sample_id=place) for place, one in enumerate([1.0, value, 0.0])]
    got, want = getattr(ours, name)()(scores), float(getattr(theirs, name)()(scores))
    assert got == want or same(got, want)


def random_value_metric(chance):
    """A metric of scores as they are, and scores for it."""
    kind = chance.choice(["frequency", "krippendorff_alpha", "perplexity_per_token", "perplexity_per_seq"])
    size = chance.choice([1, 2, 3, 8, 40])
    if kind == "frequency":
        values = [chance.choice([random_value(chance), "C", "refuses", True, 1, 1.0, 1e21, 0.1, "", math.nan]) for _ in range(size)]
        given = chance.choice([{}, {"categories": ["C", "unclear"]}, {"normalize": False}, {"categories": "C"}])
        return [Score(value=value) for value in values], lambda module: module.frequency(**given)
    if kind == "krippendorff_alpha":
        level, length = chance.choice(["nominal", "ordinal", "interval"]), chance.choice([1, 2, 3])
        convert = chance.choice([None, theirs.value_to_float()])
        scale = [0, 1, 2, 3] if convert is None and level != "nominal" else ["C", "I", "P"]
        values = [[chance.choice(scale) for _ in range(length)] for _ in range(size)]
        return [Score(value=value) for value in values], lambda module: module.krippendorff_alpha(level, to_float=convert)
    notes = [{"num_tokens": chance.randrange(0, 50), "sum_log_probs": -chance.random() * 40} for _ in range(size)]
    scores = [Score(value=0.0, metadata=chance.choice([note, note, note, None, {"num_tokens": 3}, {**note, "set": {1}}])) for note in notes]
    return scores, lambda module: getattr(module, kind)()


def test_metrics_of_scores_as_they_are_give_the_numbers_of_inspect():
    chance = random.Random(23)
    for case in range(CASES):
        given, make = random_value_metric(chance)
        scores = [SampleScore(score=score, sample_id=place) for place, score in enumerate(given)]
        got, want = (outcome(lambda: make(module)(scores)) for module in (ours, theirs))
        assert same(got, want), (case, got, want, scores)


@pytest.mark.parametrize("call", [lambda module: module.ci(level=2), lambda module: module.ci(method="z"), lambda module: module.stderr(1, 2, 3)])
def test_wrong_arguments_fail_as_in_inspect(call):
    assert outcome(lambda: call(ours)) == outcome(lambda: call(theirs))


def test_the_error_of_a_bootstrap_can_be_computed_again():
    scores = [SampleScore(score=Score(value=place % 3 / 2), sample_id=place) for place in range(60)]
    assert ours.bootstrap_stderr()(scores) == ours.bootstrap_stderr()(scores)
    assert ours.bootstrap_stderr()(scores) == pytest.approx(theirs.stderr()(scores), rel=0.1)


def model():
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)

    def answer(messages, *_):
        text = messages[-1].text
        output = ModelOutput.from_content("mockllm", "yes" if text.endswith(("1", "4", "7")) else "no")
        output.usage = usage
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def run(module, tmp_path, **more):
    samples = [
        Sample(input=f"Question {place}", target="yes", id=place, metadata={"category": "ab"[place % 2], "human_label": place % 2})
        for place in range(10)
    ]
    metrics = [module.accuracy(), module.stderr(cluster="category"), module.grouped(module.mean(), "category"), module.std()]
    task = Task(
        dataset=samples,
        scorer=module.match(),
        metrics=metrics + more.pop("metrics", []),
        epochs=Epochs(2, [module.mean_score(), module.at_least(2), module.pass_at(1)]),
        name="questions",
    )
    [log] = inspect_eval(task, model=model(), log_dir=str(tmp_path / module.__name__), display="none", **more)
    assert log.status == "success", log.error
    return log


def test_a_task_has_the_same_names_and_values_in_its_log(tmp_path):
    log, other = run(ours, tmp_path), run(theirs, tmp_path)
    assert same(log.results.model_dump(exclude={"metadata"}), other.results.model_dump(exclude={"metadata"}))
    assert [scorer.model_dump() for scorer in log.eval.scorers] == [scorer.model_dump() for scorer in other.eval.scorers]
    assert log.eval.config.epochs_reducer == other.eval.config.epochs_reducer
    assert {metric.name for score in log.eval.scorers for metric in score.metrics} >= {"inspect_ai/accuracy", "inspect_ai/stderr"}
    assert same([one.model_dump() for one in log.reductions], [one.model_dump() for one in other.reductions])


def test_a_log_is_scored_again_by_inspect_alone(tmp_path):
    log = run(ours, tmp_path)
    code = textwrap.dedent("""
        import sys
        sys.modules["calipers"] = None  # Not installed.
        from inspect_ai.log import read_eval_log, recompute_metrics
        log = read_eval_log(sys.argv[1])
        before = log.results.scores[0].metrics["accuracy"].value
        recompute_metrics(log)
        print(log.results.scores[0].metrics["accuracy"].value == before)
    """)
    done = subprocess.run([sys.executable, "-c", code, log.location], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_our_own_metrics_are_recorded_as_ours_and_found_by_their_names(tmp_path):
    own = [ours.interval(), ours.interval(cluster="category"), ours.corrected(), ours.figure("accuracy"), ours.suite_interval()]
    log = run(ours, tmp_path, metrics=own)
    names = {metric.name for metric in log.eval.scorers[0].metrics}
    assert {"calipers/interval", "calipers/corrected", "calipers/figure", "calipers/suite_interval"} <= names
    [mean] = [score for score in log.results.scores if score.reducer == "mean"]
    values = {name: metric.value for name, metric in mean.metrics.items()}
    figure = calipers.score(log, metric="accuracy", reducer="mean")["accuracy"]
    assert (values["lower"], values["upper"]) == (figure.interval.lower, figure.interval.upper)
    code = textwrap.dedent("""
        import sys
        from inspect_ai.log import read_eval_log, recompute_metrics
        log = read_eval_log(sys.argv[1])
        assert "calipers" not in sys.modules
        recompute_metrics(log)
        print(log.results.scores[0].metrics["lower"].value)
    """)
    done = subprocess.run([sys.executable, "-c", code, log.location], capture_output=True, text=True)
    assert done.stdout.strip() == str(values["lower"]), done.stderr


def scored(values, **metadata):
    return [
        SampleScore(score=Score(value=value), sample_id=place, sample_metadata={key: column[place] for key, column in metadata.items()})
        for place, value in enumerate(values)
    ]


def test_intervals_are_those_of_calipers_and_undefined_ones_are_nan():
    chance = random.Random(5)
    values, clusters = [chance.choice([0, 1]) for _ in range(60)], [place % 7 for place in range(60)]
    records = [{"id": place, "score": value, "c": f"c{cluster}"} for place, (value, cluster) in enumerate(zip(values, clusters))]
    for cluster, expression in ((None, "ci()"), ("c", 'ci(cluster="c")')):
        want = calipers.score(records, metric=expression)
        got = ours.interval(cluster=cluster)(scored(values, c=[f"c{cluster}" for cluster in clusters]))
        assert got == {"lower": want["lower"].value, "upper": want["upper"].value}
    for scores in ([], scored([3.5]), scored([math.nan])):
        assert all(math.isnan(bound) for bound in ours.interval()(scores).values()), scores
    wide, narrow = ours.interval(level=0.99)(scored(values)), ours.interval(level=0.5)(scored(values))
    assert wide["lower"] < narrow["lower"] < narrow["upper"] < wide["upper"]


def test_the_interval_of_this_suite_rerun_needs_attempts():
    chance = random.Random(6)
    scores = []
    for place in range(30):
        hardness = chance.random()
        scores += [SampleScore(score=Score(value=float(chance.random() > hardness)), sample_id=place) for _ in range(4)]
    suite, population = ours.suite_interval()(scores), ours.figure("accuracy")(scores)
    assert population["lower"] < suite["lower"] < population["accuracy"] < suite["upper"] < population["upper"]
    assert all(math.isnan(bound) for bound in ours.suite_interval()([]).values())


def test_a_judge_is_corrected_by_the_labels_of_people():
    chance = random.Random(8)
    truth = [chance.random() < 0.6 for _ in range(300)]
    judged = [float(right or chance.random() < 0.4) for right in truth]
    labels = [float(right) if place % 5 == 0 else None for place, right in enumerate(truth)]
    got = ours.corrected(labels="person")(scored(judged, person=labels))
    records = [{"id": place, "score": judge, "person": label} for place, (judge, label) in enumerate(zip(judged, labels))]
    want = calipers.score(records, metric='corrected(labels="person")')["corrected"]
    assert got == {"corrected": want.value, "lower": want.interval.lower, "upper": want.interval.upper}
    assert got["upper"] < sum(judged) / 300, "the judge is too kind"


def test_hostile_metadata_and_ids_do_no_harm():
    odd = ['"', "\\", "${x}", "a'b", "\n", "<script>", "", "\u202e", "id"]
    scores = [
        SampleScore(score=Score(value=place % 2), sample_id=odd[place % 9] + str(place), sample_metadata={key: object() for key in odd})
        for place in range(40)
    ]
    assert ours.figure("accuracy")(scores)["accuracy"] == 0.5
    assert ours.interval()(scores) == ours.interval()(scored([place % 2 for place in range(40)]))


def test_logs_are_gated_compared_and_measured(tmp_path):
    log = run(ours, tmp_path)
    for form in (log, log.location):
        verdict = calipers.gate(form, {"thresholds": {"blocking": {"accuracy": ">= 0.2"}}}, reducer="mean")
        assert verdict.passed and verdict.gates[0].value == pytest.approx(0.3)
        assert calipers.compare(form, log, reducer="mean", metric="accuracy")["accuracy"].value == 0.0
        assert calipers.score(form, reducer="mean", metric="accuracy")["accuracy"].n == 10
    for estimand in ("population", "suite"):
        change = calipers.compare(log, log, reducer="mean", metric="accuracy", estimand=estimand)["accuracy"]
        assert change.value == 0.0 and change.n == 10
    header = log.model_copy(update={"samples": None})
    assert calipers.gate(header, {"thresholds": {"blocking": {"accuracy": ">= 0.2"}}}).undecided, "there is nothing to judge"


def test_nothing_is_replaced_until_it_is_asked_for():
    import inspect_ai.scorer._match as module

    match = theirs.match
    mean, default = theirs.mean_score, theirs.match.__registry_info__.metadata["metrics"]
    before = list(default)
    with ours.install() as installation:
        assert theirs.mean_score is not mean and theirs.accuracy()([]) == 0.0
        assert module.accuracy is theirs.accuracy is not ours.accuracy
        assert theirs.match is not match and theirs.match().__module__ == "calipers.inspect._scorers"
        assert default != before
        from inspect_ai.scorer._reducer import create_reducers

        assert create_reducers("mode")[0].__module__ == "calipers.inspect._reducers"
        assert create_reducers("at_least_2")[0].__module__ == "calipers.inspect._reducers"
        with ours.install():
            pass
        assert theirs.mean_score is not mean, "the outer one is still there"
    assert theirs.mean_score is mean and theirs.match is match and default == before and module.accuracy is theirs.accuracy
    assert create_reducers("mode")[0].__module__.startswith("inspect_ai")
    installation.undo()
    ours.install()
    namespace = sys.modules[__name__].__dict__
    namespace["imported_later"] = theirs.accuracy
    kept = ours.accuracy
    ours.uninstall()
    ours.uninstall()
    assert theirs.mean_score is mean and ours.accuracy is kept
    assert namespace.pop("imported_later") is theirs.accuracy


def test_an_installation_changes_no_log(tmp_path):
    plain = run(theirs, tmp_path)
    with ours.install():
        installed = run(theirs, tmp_path)
    assert same(plain.results.model_dump(exclude={"metadata"}), installed.results.model_dump(exclude={"metadata"}))


def test_without_inspect_the_import_says_what_to_do():
    code = "import sys; sys.modules['inspect_ai'] = None\ntry:\n    import calipers.inspect\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install inspect_ai" in done.stdout and "calipers.scorer" in done.stdout


def test_the_factories_are_documented_and_show_their_parameters():
    import inspect

    for name in ours.__all__:
        assert getattr(ours, name).__doc__, name
    assert list(inspect.signature(ours.interval).parameters) == ["level", "cluster"]
    assert list(inspect.signature(ours.stderr).parameters) == ["to_float", "cluster"]


LAZY_LOG = """
import asyncio, sys, warnings
import calipers, inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

def outputs(*_):
    made = ModelOutput.from_content("mockllm/model", "b")
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made

run = asyncio.run
task = inspect_ai.Task(dataset=[Sample(input="a", target="b"), Sample(input="c", target="b")], scorer=match())
[log] = inspect_ai.eval(task, model=get_model("mockllm/model", custom_outputs=outputs), display="none", log_dir=sys.argv[1])
print(calipers.score(log)["accuracy"].value, asyncio.run is run)
"""


def test_a_log_in_memory_leaves_asyncio_as_it_is(tmp_path):
    # Inspect has not read the samples of a log that it has just written.
    done = subprocess.run([sys.executable, "-c", LAZY_LOG, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.stdout.split()[-2:] == ["1.0", "True"], done.stdout + done.stderr
