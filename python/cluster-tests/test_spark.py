"""A standalone cluster of Spark, with a master and two workers on this machine, gives the bits of one process."""

import dataclasses
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import calipers
import calipers._cluster
import calipers.spark

pyspark = pytest.importorskip("pyspark")

POLICY = {"confidence": 0.95, "thresholds": {"blocking": {"accuracy": ">= 0.4"}, "warning": {"latency_p95": "<= 200"}}}
METRICS = ["accuracy", "stderr", 'stderr(cluster="category")', "std"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="session")
def spark(tmp_path_factory, patience):
    """A session on the cluster."""
    folder = tmp_path_factory.mktemp("spark")
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
    }
    os.environ.update({name: environment[name] for name in ("SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_HOME", "PYSPARK_PYTHON")})
    port = free_port()
    started = []

    def start(name, host, *args):
        log = folder / f"{name}.log"
        with log.open("wb") as out:
            command = [str(home / "bin/spark-class"), *args[:1], "--host", host, "--webui-port", "0", *args[1:]]
            # A group of its own, which has the Java process too.
            own = {**environment, "SPARK_LOCAL_IP": host}
            started.append(subprocess.Popen(command, env=own, stdout=out, stderr=out, start_new_session=True))
        return log

    try:
        master = start("master", "127.0.0.1", "org.apache.spark.deploy.master.Master", "--port", str(port))
        patience(lambda: "I have been elected leader" in master.read_text(errors="replace"), "the master did not start")
        # Two hosts, as far as Spark can see: it starts no second attempt of a task where the first one runs.
        for number, host in enumerate(("127.0.0.1", "127.0.0.2") if sys.platform == "linux" else ("127.0.0.1", "127.0.0.1")):
            worker = ("org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", f"spark://127.0.0.1:{port}")
            start(f"worker-{number}", host, *worker)
        patience(lambda: master.read_text(errors="replace").count("Registering worker") >= 2, "the workers did not start")
        builder = pyspark.sql.SparkSession.builder.master(f"spark://127.0.0.1:{port}").appName("calipers")
        for name, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.sql.shuffle.partitions": "4",
            "spark.speculation": "true",
            "spark.speculation.interval": "100ms",
            "spark.speculation.multiplier": "1.5",
            "spark.speculation.quantile": "0.5",
            "spark.speculation.minTaskRuntime": "500ms",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
    finally:
        for one in reversed(started):
            os.killpg(one.pid, signal.SIGTERM)
        for one in started:
            one.wait(20)


@pytest.fixture(scope="session")
def frame(spark, table):
    return spark.createDataFrame(table)


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_scores_are_those_of_one_machine(frame, table, alike, partitions):
    reduced = {"metric": "accuracy", "reducer": ["pass_at_2", "mode"]}
    for layout, options in ((frame, {"metric": METRICS}), (frame.repartition(5), reduced)):
        ours = calipers.spark.score(layout, partitions=partitions, **options)
        assert alike(ours) == alike(calipers.score(table, **options))


def test_verdicts_and_comparisons_are_those_of_one_machine(spark, frame, table, alike):
    assert alike(calipers.spark.gate(frame, POLICY)) == alike(calipers.gate(table, POLICY))
    worse = table.slice(0, 900)
    ours = calipers.spark.compare(frame, spark.createDataFrame(worse), partitions=2)
    assert alike(ours) == alike(calipers.compare(table, worse))


def test_types_of_spark_and_a_metric_in_python(spark, alike):
    """Decimals, dates, shorts and gaps come as Arrow has them."""
    frame = spark.range(100).selectExpr(
        "cast(id % 9 as short) AS id",
        "cast(id % 4 as decimal(4, 2)) / 4 AS score",
        "date '2026-01-02' AS day",
        "string(id % 3) AS kind",
        "if(id % 7 = 0, null, id) AS latency_ms",
    )
    share = lambda scores: sum(score.as_float() > 0.5 for score in scores) / len(scores)  # noqa: E731
    for metric in ("mean", share):
        ours = calipers.spark.score(frame, metric=metric, partitions=3)
        assert alike(ours) == alike(calipers.score(frame.toArrow(), metric=metric))


def test_an_error_of_an_executor_is_ours(frame):
    with pytest.raises(calipers.CalipersError, match=r"share \d of 2"):
        calipers.spark.score(frame.selectExpr("id", "string(score) || '?' score"), metric="accuracy", partitions=2)


def test_attempts_that_were_not_brought_together_are_refused(frame, monkeypatch):
    """As if an optimiser had taken the repartition for superfluous."""
    kind = type(frame)
    by_hash = kind.repartition
    monkeypatch.setattr(kind, "repartition", lambda self, number, *columns: by_hash(self, number))
    for ask in (
        lambda: calipers.spark.score(frame, metric="accuracy", reducer="pass_at_2", partitions=4),
        lambda: calipers.spark.gate(frame, POLICY, partitions=4),
    ):
        with pytest.raises(calipers.CalipersError, match="hold"):
            ask()


def test_an_executor_that_is_killed_loses_nothing(frame, table, alike, monkeypatch, tmp_path):
    flag = str(tmp_path / "killed")

    @dataclasses.dataclass(frozen=True)
    class Deadly(calipers._cluster.Folding):
        def fold(self, rows, number, of, is_bucket=False):
            if number == 3 and not os.path.exists(flag):
                open(flag, "w").close()
                # The parent of a worker's daemon is the executor.
                daemon = os.getppid()
                with open(f"/proc/{daemon}/stat") as stat:
                    os.kill(int(stat.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
            return super().fold(rows, number, of, is_bucket)

    monkeypatch.setattr(calipers._cluster, "Folding", Deadly)
    ours = calipers.spark.score(frame, metric=METRICS, partitions=4)
    assert os.path.exists(flag)
    assert alike(ours) == alike(calipers.score(table, metric=METRICS))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a second address of this machine")
def test_a_share_that_is_folded_twice_counts_once(frame, table, alike, monkeypatch, tmp_path):
    """One attempt of a task is slow, and Spark starts another."""

    @dataclasses.dataclass(frozen=True)
    class Slow(calipers._cluster.Folding):
        def fold(self, rows, number, of, is_bucket=False):
            import time

            from pyspark import TaskContext

            attempt = TaskContext.get().attemptNumber()
            (tmp_path / f"{number}-{attempt}").touch()
            if number == 2 and attempt == 0:
                time.sleep(20)
            return super().fold(rows, number, of, is_bucket)

    monkeypatch.setattr(calipers._cluster, "Folding", Slow)
    ours = calipers.spark.score(frame, metric=METRICS, partitions=5)
    assert (tmp_path / "2-1").exists(), "there was no second attempt"
    assert alike(ours) == alike(calipers.score(table, metric=METRICS))


def test_the_guide_shows_what_is_printed(spark, check_guide):
    check_guide("spark.md", spark=spark)
