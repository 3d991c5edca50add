"""Calipers on Ray: `calipers.ray.score(dataset)`, and `gate` and `compare`, of datasets of Ray Data.

Samples are brought together by the digest of their ids, each group folds its share, and the driver puts the shares together. Workers need
this package and pyarrow.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._cluster import Folding, Questions
from ._errors import UsageError

#: The column with the share that a row belongs to.
_BUCKET = "__calipers_bucket"


def _fold_all(dataset: Any, folding: Folding, partitions: int | None) -> list[tuple[str, bytes]]:
    import ray

    of = partitions or max(1, int(ray.cluster_resources().get("CPU", 1)))
    if len(folding.ids) > 1:
        raise UsageError("samples are brought together by one column", hint="add a column that joins the others, and name it as `id`")
    [ids] = folding.ids

    def add_bucket(rows: Any) -> Any:
        import pyarrow

        numbers = pyarrow.py_buffer(_core.buckets(rows.column(ids), of))
        return rows.append_column(_BUCKET, pyarrow.Array.from_buffers(pyarrow.int32(), rows.num_rows, [None, numbers]))

    def fold(rows: Any) -> Any:
        import pyarrow

        [number] = rows.column(_BUCKET).unique().to_pylist()
        number, content, is_share = folding.fold(rows.drop_columns([_BUCKET]), number, of, is_bucket=True)
        content = pyarrow.array([content], pyarrow.large_binary())
        return pyarrow.table({"number": [number], "content": content, "is_share": [is_share]})

    numbered = dataset.map_batches(add_bucket, batch_format="pyarrow")
    found = numbered.groupby(_BUCKET, num_partitions=of).map_groups(fold, batch_format="pyarrow").take_all()
    shares = [(share["number"], share["content"], share["is_share"]) for share in found]
    # A share without rows is no group.
    empty = set(range(1, of + 1)) - {number for number, *_ in shares}
    return folding.gather([*shares, *(folding.fold(None, number, of, is_bucket=True) for number in empty)], of)


def _columns(dataset: Any) -> list[str]:
    schema = dataset.schema()
    return [] if schema is None else list(schema.names)


_questions: Questions[Any] = Questions(_columns, _fold_all)
score, gate, compare = _questions.score, _questions.gate, _questions.compare

__all__ = ["compare", "gate", "score"]
