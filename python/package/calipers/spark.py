"""Calipers on Spark: `calipers.spark.score(df)`, and `gate` and `compare`, of data frames of PySpark.

Samples are brought together by a hash of their ids, each partition folds its share, and the driver puts the shares together. Executors
need this package and pyarrow.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from ._cluster import Folding, Questions

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARE = "number int, content binary, is_share boolean"


def _fold_all(df: Any, folding: Folding, partitions: int | None) -> list[tuple[str, bytes]]:
    of = partitions or int(df.sparkSession.conf.get("spark.sql.shuffle.partitions"))

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        task = TaskContext.get()
        first = next(batches, None)
        rows = None if first is None else pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        number, content, is_share = folding.fold(rows, task.partitionId() + 1, of)
        yield pyarrow.RecordBatch.from_pydict({"number": [number], "content": [content], "is_share": [is_share]}, schema=schema())

    def schema() -> Any:
        import pyarrow

        return pyarrow.schema([("number", pyarrow.int32()), ("content", pyarrow.binary()), ("is_share", pyarrow.bool_())])

    shares = df.repartition(of, *folding.ids).mapInArrow(fold, _SHARE).collect()
    return folding.gather(((share.number, bytes(share.content), share.is_share) for share in shares), of)


_questions: Questions[Any] = Questions(lambda df: df.columns, _fold_all)
score, gate, compare = _questions.score, _questions.gate, _questions.compare

__all__ = ["compare", "gate", "score"]
