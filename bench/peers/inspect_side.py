"""The Python half of the bench: Inspect AI on its own objects, and numpy on bare arrays.

Started by the Rust half with the folder of the data. It says hello with its versions and cases, and then answers one
request a line on standard input with one line on standard output, both JSON:

    {"build": "scores"}                                        {"seconds": 12.3}
    {"case": "labels.mean", "peer": "numpy", "runs": 20, "budget": 2}   {"seconds": [...], "names": [...], "values": [...]}
    {"drop": "all"}                                            {}

Times are CPU seconds of this process. Objects are made beforehand, with the garbage collector off, and then hidden from
it, which is to the advantage of the Python side. (Their ordinary constructors are used: pydantic's `model_construct`
turned out to be slower.)
"""

import gc
import json
import platform
import sys
import time
from pathlib import Path

import inspect_ai
import numpy as np
from inspect_ai._eval.task.results import ScorerInfo, eval_results, reduce_scores
from inspect_ai.scorer import (
    SampleScore,
    Score,
    accuracy,
    bootstrap_stderr,
    ci,
    frequency,
    grouped,
    mean,
    std,
    stderr,
    value_to_float,
)
from inspect_ai.scorer._reducer import create_reducers

FOLDER = Path(sys.argv[1])
SIZES = json.loads((FOLDER / "sizes.json").read_text())
SCORER = "judge"
RESAMPLES = 1000
WHOLE_REDUCERS = ["mean", "mode", "pass_at_3"]

# What the requests build, by name.
data = {}


def read(name, kind):
    return np.fromfile(FOLDER / f"{name}.bin", dtype=kind)


def labels(bits):
    return ["C" if bit else "I" for bit in bits.tolist()]


def sample_score(value, sample_id, metadata):
    return SampleScore(score=Score(value=value), sample_id=sample_id, sample_metadata=metadata)


# What there is to build.


def build_scores():
    clusters = [f"cluster-{code}" for code in read("clusters", "<u4").tolist()]
    groups = [f"group-{code:02}" for code in read("groups", "<u4").tolist()]
    metadata = [{"cluster": cluster, "group": group} for cluster, group in zip(clusters, groups)]
    columns = {"labels": labels(read("labels", "u1")), "floats": read("floats", "<f8").tolist()}
    start = time.process_time()
    for name, values in columns.items():
        data[name] = [sample_score(*row) for row in zip(values, range(len(values)), metadata)]
    return time.process_time() - start


def build_arrays():
    start = time.process_time()
    bits = read("labels", "u1")
    data["arrays"] = {
        "bits": bits.astype(bool),
        "codes": bits.astype(np.int64),
        "labels": bits.astype(float),
        "floats": read("floats", "<f8"),
        "clusters": read("clusters", "<u4").astype(np.int64),
        "groups": read("groups", "<u4").astype(np.int64),
        "attempts": read("attempts", "u1").astype(float).reshape(-1, SIZES["epochs"]),
        "dicts": read("dicts", "<f8").reshape(-1, SIZES["keys"]),
    }
    return time.process_time() - start


def build_attempts():
    values = labels(read("attempts", "u1"))
    epochs = SIZES["epochs"]
    metadata = [{"group": f"group-{row % SIZES['groups']:02}"} for row in range(len(values) // epochs)]
    rows = [(value, row // epochs, metadata[row // epochs]) for row, value in enumerate(values)]
    start = time.process_time()
    data["attempts"] = [sample_score(*row) for row in rows]
    data["attempts by scorer"] = [{SCORER: score} for score in data["attempts"]]
    return time.process_time() - start


def build_dicts():
    keys = [f"key-{key}" for key in range(SIZES["keys"])]
    rows = read("dicts", "<f8").reshape(-1, len(keys)).tolist()
    rows = [(dict(zip(keys, row)), sample, None) for sample, row in enumerate(rows)]
    start = time.process_time()
    data["dicts by scorer"] = [{SCORER: sample_score(*row)} for row in rows]
    return time.process_time() - start


BUILDS = {"scores": build_scores, "arrays": build_arrays, "attempts": build_attempts, "dicts": build_dicts}


# Answers as names and numbers; names are empty where the place says it all.


def named(answer):
    if isinstance(answer, dict):
        return [str(name) for name in answer], [float(value) for value in answer.values()]
    return [], [float(answer)]


to_float = value_to_float()


def reduced(scores):
    values = [score.score.value for score in scores]
    if values and isinstance(values[0], list):
        return [], [to_float(value) for row in values for value in row]
    return [], [to_float(value) for value in values]


def whole(answer):
    results, _ = answer
    found = {
        f"{score.name}/{score.reducer or ''}/{name}": metric.value
        for score in results.scores
        for name, metric in score.metrics.items()
    }
    return named(found)


def array(values):
    return [], np.asarray(values, dtype=float).ravel().tolist()


# Inspect's cases: what runs, and how its answer reads.


def of_scores(column, metric):
    return lambda: metric(data[column]), named


def of_attempts(name):
    (reducer,) = create_reducers(name)
    return lambda: reduce_scores(data["attempts"], reducer), reduced


def of_plan(column, metrics, reducers):
    info = ScorerInfo(name=SCORER, metrics=metrics)

    def run():
        rows = data[f"{column} by scorer"]
        return eval_results(len(rows), rows, create_reducers(reducers), [info], None)

    return run, whole


METRICS = {
    "accuracy": accuracy(),
    "mean": mean(),
    "std": std(),
    "stderr": stderr(),
    "stderr_cluster": stderr(cluster="cluster"),
    "grouped_accuracy": grouped(accuracy(), "group"),
    "ci": ci(),
    "bootstrap_stderr": bootstrap_stderr(RESAMPLES),
}
REDUCERS = ["mean", "median", "mode", "max", "at_least_2", "pass_at_3", "pass_k_3", "collect"]

INSPECT = {f"{column}.{name}": of_scores(column, metric) for column in ["labels", "floats"] for name, metric in METRICS.items()}
INSPECT["labels.frequency"] = of_scores("labels", frequency())
INSPECT |= {f"reduce.{name}": of_attempts(name) for name in REDUCERS}
INSPECT["dicts.mean_stderr"] = of_plan("dicts", {"*": [mean(), stderr()]}, None)
INSPECT["whole.eval_results"] = of_plan("attempts", [accuracy(), stderr(), grouped(accuracy(), "group")], WHOLE_REDUCERS)


# numpy's cases, on bare arrays: what a careful user would write.


def arrays(name):
    return data["arrays"][name]


def np_stderr(x):
    return x.std(ddof=1) / np.sqrt(x.size)


def np_stderr_cluster(x):
    sums = np.bincount(arrays("clusters"), weights=x - x.mean(), minlength=SIZES["clusters"])
    count = np.count_nonzero(np.bincount(arrays("clusters")))
    return np.sqrt(np.square(sums).sum() * count / (count - 1)) / x.size


def np_grouped(x):
    codes = arrays("groups")
    means = np.bincount(codes, weights=x) / np.bincount(codes)
    return {f"group-{code:02}": value for code, value in enumerate(means)} | {"all": x.mean()}


def np_bootstrap_labels():
    n, hits = arrays("bits").size, np.count_nonzero(arrays("bits"))
    return np.std(np.random.default_rng(1).binomial(n, hits / n, RESAMPLES) / n, ddof=1)


def np_bootstrap_floats():
    x, rng = arrays("floats"), np.random.default_rng(1)
    means = [x.take(rng.integers(0, x.size, x.size, dtype=np.int32)).mean() for _ in range(RESAMPLES)]
    return np.std(means, ddof=1)


def np_frequency():
    counts = np.bincount(arrays("codes"))
    return {"I": counts[0] / counts.sum(), "C": counts[1] / counts.sum()}


def np_falling(x, k):
    return np.prod([x - step for step in range(k)], axis=0)


def np_pass(kind):
    n, hits = SIZES["epochs"], arrays("attempts").sum(axis=1)
    if kind == "at":
        return 1 - np.clip(np_falling(n - hits, 3), 0, None) / np_falling(n, 3)
    return np.clip(np_falling(hits, 3), 0, None) / np_falling(n, 3)


def np_dicts():
    x = arrays("dicts")
    means, errors = x.mean(axis=0), x.std(axis=0, ddof=1) / np.sqrt(len(x))
    return {
        f"key-{key}//{name}": value
        for key in range(SIZES["keys"])
        for name, value in [("mean", means[key]), ("stderr", errors[key])]
    }


NUMPY = {
    "labels.accuracy": (lambda: np.count_nonzero(arrays("bits")) / arrays("bits").size, named),
    "labels.bootstrap_stderr": (np_bootstrap_labels, named),
    "floats.bootstrap_stderr": (np_bootstrap_floats, named),
    "labels.frequency": (np_frequency, named),
    "dicts.mean_stderr": (np_dicts, named),
    "reduce.mean": (lambda: arrays("attempts").mean(axis=1), array),
    "reduce.median": (lambda: np.median(arrays("attempts"), axis=1), array),
    "reduce.max": (lambda: arrays("attempts").max(axis=1), array),
    "reduce.mode": (lambda: arrays("attempts").mean(axis=1) > 0.5, array),
    "reduce.at_least_2": (lambda: arrays("attempts").sum(axis=1) >= 2, array),
    "reduce.pass_at_3": (lambda: np_pass("at"), array),
    "reduce.pass_k_3": (lambda: np_pass("k"), array),
}
for column in ["labels", "floats"]:
    for name, formula in [
        ("mean", np.mean),
        ("std", lambda x: x.std(ddof=1)),
        ("stderr", np_stderr),
        ("stderr_cluster", np_stderr_cluster),
        ("grouped_accuracy", np_grouped),
    ]:
        NUMPY[f"{column}.{name}"] = (lambda column=column, formula=formula: formula(arrays(column)), named)
NUMPY["floats.accuracy"] = NUMPY["floats.mean"]

PEERS = {"inspect": INSPECT, "numpy": NUMPY}


def measure(run, runs, budget):
    """The CPU time of each run and the last answer; at least one run, then until either limit is met."""
    np.random.seed(1)
    seconds = []
    while not seconds or (len(seconds) < runs and sum(seconds) < budget):
        answer = None  # freed before the clock starts, as on the Rust side
        start = time.process_time()
        answer = run()
        seconds.append(time.process_time() - start)
    return seconds, answer


def respond(request):
    if "build" in request:
        gc.disable()
        seconds = BUILDS[request["build"]]()
        gc.enable()
        gc.freeze()
        return {"seconds": seconds}
    if "drop" in request:
        data.clear()
        return {}
    run, read_answer = PEERS[request["peer"]][request["case"]]
    seconds, answer = measure(run, request["runs"], request["budget"])
    names, values = read_answer(answer)
    return {"seconds": seconds, "names": names, "values": values}


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    versions = {"python": platform.python_version(), "inspect_ai": inspect_ai.__version__, "numpy": np.__version__}
    say({"versions": versions, "cases": {peer: list(cases) for peer, cases in PEERS.items()}})
    for line in sys.stdin:
        say(respond(json.loads(line)))


main()
