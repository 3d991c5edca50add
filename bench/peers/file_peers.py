"""One peer of `cargo xtask bench files`:

    file_peers.py PEER FILE

Says `ready` once its modules are imported, and then answers each line on standard input with one run: a line of JSON
with wall and CPU seconds and the answer, whose names are those of our metrics.
"""

import gc
import json
import math
import sys
import time


def inspect(path):
    from inspect_ai.log import read_eval_log, recompute_metrics

    def run():
        log = read_eval_log(path)
        recompute_metrics(log)
        return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}

    return run


def clustered(groups, clusters, count, total, squares, products, counts_squared):
    """The means of the groups and of all, and the error of the latter: from the sum s and the count k of each cluster,
    the sums of k, s, s², s·k and k²."""
    mean = total / count
    spread = squares - 2 * mean * products + mean * mean * counts_squared
    stderr = math.sqrt(spread * clusters / (clusters - 1)) / count
    return {**groups, "all": mean, "stderr": stderr}


def polars(path):
    import polars as pl

    def run():
        scans = {"parquet": pl.scan_parquet, "jsonl": pl.scan_ndjson, "csv": pl.scan_csv}
        rows = scans[path.rpartition(".")[2]](path).select("task", "cluster", "score")
        tasks = rows.group_by("task").agg(pl.col("score").mean())
        s, k = pl.col("s"), pl.col("k").cast(pl.Float64)
        clusters = rows.group_by("cluster").agg(s=pl.col("score").sum(), k=pl.len())
        powers = {"n": k, "s": s, "ss": s * s, "sk": s * k, "kk": k * k}
        sums = clusters.select(pl.len(), **{name: power.sum() for name, power in powers.items()})
        # The streaming engine is the faster one here; both queries share one scan.
        tasks, sums = pl.collect_all([tasks, sums], engine="streaming")
        return clustered(dict(tasks.iter_rows()), *sums.row(0))

    return run


def duckdb(path):
    import duckdb

    columns = "{task: 'VARCHAR', cluster: 'VARCHAR', score: 'DOUBLE'}"
    table = f"read_ndjson('{path}', columns={columns})" if path.endswith(".jsonl") else f"'{path}'"
    # One scan for both groupings is faster than a query for each.
    query = f"""
        with sums as materialized (
            select task, grouping(task) = 1 as is_cluster, sum(score) as s, count(*)::double as k
            from {table} group by grouping sets ((task), (cluster))
        )
        select null, count(*), sum(k), sum(s), sum(s * s), sum(s * k), sum(k * k) from sums where is_cluster
        union all
        select task, s / k, null, null, null, null, null from sums where not is_cluster
    """

    def run():
        groups = {}
        for task, *numbers in duckdb.connect().execute(query).fetchall():
            if task is None:
                sums = numbers
            else:
                groups[task] = numbers[0]
        return clustered(groups, *sums)

    return run


def main():
    peer, path = sys.argv[1:]
    run = {"inspect": inspect, "polars": polars, "duckdb": duckdb}[peer](path)
    print("ready", flush=True)
    for _ in sys.stdin:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        answer = run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"wall": wall, "cpu": cpu, "answer": answer}), flush=True)


main()
