"""What shares of a run weigh and cost: `cargo xtask bench parts`. The figures of docs/guides/billion.md come from here.

Sizes are those of the bytes that travel. CPU seconds are those of all processes of this one: Java and the Python workers of Spark too.
"""

import os
import random
import resource
import sys
import time

import pyarrow

import calipers
from calipers import _core
from calipers._metrics import metric_choices
from calipers._options import selection

ROWS = 1_000_000
ATTEMPTS = 10


def table(rows):
    """Samples with ten attempts each, in the order of their ids."""
    chance = random.Random(1)
    samples = rows // ATTEMPTS
    return pyarrow.table(
        {
            "id": [f"question {at // ATTEMPTS}" for at in range(rows)],
            "epoch": pyarrow.array([at % ATTEMPTS + 1 for at in range(rows)], pyarrow.int32()),
            "score": [float(chance.random() < 0.7) for _ in range(rows)],
            "category": pyarrow.array([f"category {at // ATTEMPTS % 20}" for at in range(rows)]),
            "document": pyarrow.array([f"document {at // ATTEMPTS % (samples // 10)}" for at in range(rows)]),
            "latency_ms": [chance.expovariate(1 / 900) for _ in range(rows)],
        }
    )


def sizes(rows):
    """The bytes of a part with so many rows, for each question."""
    data = [_core.Source.arrow("data", rows)]
    place = (1, 1, True)  # A bucket proves by itself which samples it holds.
    choices = selection("score", "question", {"scorer": "score"}, None)
    for name, metric in (
        ("accuracy, stderr", ["accuracy", "stderr"]),
        ("grouped(mean), 20 groups", ['grouped(mean(), "category")']),
        ("stderr(cluster)", ['stderr(cluster="document")']),
        ("quantile of a field", ['quantile("latency_ms", 0.9)']),
        ("bootstrap of means of ten attempts", ["bootstrap_stderr()"]),
    ):
        part = _core.fold_states(data, choices, metric_choices(metric), [], place)
        yield f"score: {name}", len(part)
    judging = {
        "policy": ("policy", b'{"confidence": "95%", "thresholds": {"blocking": {"accuracy": ">= 0.5"}}}'),
        **dict.fromkeys(("suite", "baseline", "baseline_age", "for_version", "looks")),
        "metric": [],
        "reducer": [],
    }
    part = _core.fold_rows(data, choices, _core.needs_of_gate(choices, judging), place)
    yield "gate: accuracy", len(part)
    judging["policy"] = ("policy", b'{"confidence": "95%", "thresholds": {"blocking": {"latency_p95": "<= 5000"}}}')
    yield "gate: latency", len(_core.fold_rows(data, choices, _core.needs_of_gate(choices, judging), place))
    needs = _core.needs_of_compare(choices, [], [])
    yield "compare", len(_core.fold_rows(data, choices, needs, place))
    with_ids = _core.fold_states(data, choices, ["accuracy"], [], (1, 1, False))
    without = _core.fold_states(data, choices, ["accuracy"], [], place)
    yield f"evidence of {rows.num_rows // ATTEMPTS:,} text ids, as on Spark", len(with_ids) - len(without)


def cpu():
    """CPU seconds of this process and of all below it, those that still run included."""
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    total = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    fields = stat.read().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(name)] = (int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK"))
    below = {os.getpid()}
    while True:
        more = {child for child, (parent, _) in parents.items() if parent in below} - below
        if not more:
            break
        below |= more
    return total + sum(parents[child][1] for child in below if child != os.getpid() and child in parents)


def measure(name, rows, ask):
    ask()  # What is started once is not counted.
    before, start = cpu(), time.monotonic()
    ask()
    print(f"{name}: {(cpu() - before) / rows * 1e6:.2f} s of CPU and {(time.monotonic() - start) / rows * 1e6:.2f} s per 10⁶ rows")


def main():
    rows = table(ROWS)
    print(f"{ROWS:,} attempts at {ROWS // ATTEMPTS:,} samples")
    for name, size in sizes(rows):
        print(f"{name}: {size:,} bytes, {size / ROWS:.2f} per attempt")
    metric = ["accuracy", "stderr"]
    rows = rows.select(["id", "epoch", "score"])
    policy = {"confidence": 0.95, "thresholds": {"blocking": {"accuracy": ">= 0.5"}}}
    measure("one process, score", ROWS, lambda: calipers.score(rows, metric=metric))
    measure("one process, gate", ROWS, lambda: calipers.gate(rows, policy))
    if "spark" in sys.argv:
        import pyspark

        os.environ.update({"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"})
        builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "4g").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        from calipers import spark as on_spark

        folder = os.path.abspath("target/bench-data/parts.parquet")
        spark.createDataFrame(rows).write.mode("overwrite").parquet(folder)
        df = spark.read.parquet(folder)
        measure("Spark, read alone", ROWS, lambda: df.selectExpr("max(id)", "max(score)", "max(epoch)").collect())
        measure("Spark, score", ROWS, lambda: on_spark.score(df, metric=metric, partitions=4))
        measure("Spark, gate", ROWS, lambda: on_spark.gate(df, policy, partitions=4))
        spark.stop()
    if "ray" in sys.argv:
        import ray

        from calipers import ray as on_ray

        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
        dataset = ray.data.from_arrow(rows).repartition(4).materialize()
        measure("Ray, score", ROWS, lambda: on_ray.score(dataset, metric=metric, partitions=4))
        measure("Ray, gate", ROWS, lambda: on_ray.gate(dataset, policy, partitions=4))


main()
