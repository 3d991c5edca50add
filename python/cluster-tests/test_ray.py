"""A cluster of Ray, with a head and two nodes on this machine, gives the bits of one process."""

import dataclasses
import os
import signal

import pytest

import calipers
import calipers._cluster
import calipers.ray

ray = pytest.importorskip("ray")

POLICY = {"confidence": 0.95, "thresholds": {"blocking": {"accuracy": ">= 0.4"}, "warning": {"latency_p95": "<= 200"}}}
METRICS = ["accuracy", "stderr", 'stderr(cluster="category")', "std"]


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    os.environ["RAY_DEDUP_LOGS"] = "0"
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100 << 20})
    for _ in range(2):
        made.add_node(num_cpus=2, object_store_memory=100 << 20)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def dataset(cluster, table):
    return ray.data.from_arrow(table)


def test_the_guide_shows_what_is_printed(cluster, check_guide):
    check_guide("ray.md")


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_scores_are_those_of_one_machine(dataset, table, alike, partitions):
    reduced = {"metric": "accuracy", "reducer": ["pass_at_2", "mode"]}
    for layout, options in ((dataset, {"metric": METRICS}), (dataset.repartition(5), reduced)):
        ours = calipers.ray.score(layout, partitions=partitions, **options)
        assert alike(ours) == alike(calipers.score(table, **options))


def test_verdicts_and_comparisons_are_those_of_one_machine(dataset, table, alike):
    assert alike(calipers.ray.gate(dataset, POLICY)) == alike(calipers.gate(table, POLICY))
    worse = table.slice(0, 900)
    ours = calipers.ray.compare(dataset, ray.data.from_arrow(worse), partitions=2)
    assert alike(ours) == alike(calipers.compare(table, worse))


def test_numbers_as_ids_and_a_metric_in_python(cluster, alike):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"id": [place % 40 for place in range(120)], "score": [place % 3 / 2 for place in range(120)]})
    share = lambda scores: sum(score.as_float() > 0.5 for score in scores) / len(scores)  # noqa: E731
    for metric in ("mean", share):
        ours = calipers.ray.score(ray.data.from_arrow(table), metric=metric, partitions=3)
        assert alike(ours) == alike(calipers.score(table, metric=metric))


def test_an_error_of_a_worker_is_ours(cluster):
    dataset = ray.data.from_items([{"id": place, "score": "perhaps"} for place in range(9)])
    with pytest.raises(calipers.CalipersError, match=r"share \d of 2"):
        calipers.ray.score(dataset, metric="accuracy", partitions=2)


def test_attempts_in_the_wrong_share_are_refused(dataset, monkeypatch):
    """As if samples were brought together by something else."""

    @dataclasses.dataclass(frozen=True)
    class Shifted(calipers._cluster.Folding):
        def fold(self, rows, number, of, is_bucket=False):
            return super().fold(rows, number % of + 1, of, is_bucket)

    monkeypatch.setattr(calipers._cluster, "Folding", Shifted)
    for ask in (lambda: calipers.ray.score(dataset, partitions=3), lambda: calipers.ray.gate(dataset, POLICY, partitions=3)):
        with pytest.raises(calipers.CalipersError, match="belong to other buckets"):
            ask()


def test_a_node_that_is_killed_loses_nothing(dataset, table, alike, monkeypatch, tmp_path):
    flag = str(tmp_path / "killed")

    @dataclasses.dataclass(frozen=True)
    class Deadly(calipers._cluster.Folding):
        def fold(self, rows, number, of, is_bucket=False):
            if number == 3 and not os.path.exists(flag):
                open(flag, "w").close()
                # The parent of a worker is the process of its node.
                os.kill(os.getppid(), signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)
            return super().fold(rows, number, of, is_bucket)

    monkeypatch.setattr(calipers._cluster, "Folding", Deadly)
    ours = calipers.ray.score(dataset, metric=METRICS, partitions=4)
    assert os.path.exists(flag)
    assert alike(ours) == alike(calipers.score(table, metric=METRICS))
