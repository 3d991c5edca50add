"""What results may be handed over as."""

from __future__ import annotations

import os

from . import _core
from ._errors import CalipersError, DataError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Protocol, Union

    class ArrowStream(Protocol):
        """A table or a column that exports an Arrow stream: pandas, polars, pyarrow, duckdb and others do."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    #: A file, a folder or a pattern; several of them; a data frame or table; columns by name; records; or scores.
    Data = Union[
        str,
        "os.PathLike[str]",
        ArrowStream,
        Mapping[str, "Sequence[Any]"],
        Sequence[Any],
        Any,
    ]


def sources(data: Data, name: str = "data") -> list[_core.Source]:
    """Results in the form that the library takes. `name` is what messages call what has no name."""
    from ._results import Records, Results

    if isinstance(data, _core.Source):
        return [data]
    if isinstance(data, Records):
        return list(data._sources)
    if isinstance(data, Results) and hasattr(data, "log"):
        return [_core.Source.path(data.log)]  # A run is what its log holds.
    if isinstance(data, (str, os.PathLike)):
        return [_core.Source.path(os.fspath(data))]
    if isinstance(data, bytes):
        return [_core.Source.bytes(name, data)]
    if _is_from(data, "inspect_ai"):
        return [_inspect_log(data, name)]
    if hasattr(data, "__arrow_c_stream__"):
        return [_stream(data, name)]
    if _is_from(data, "polars") and hasattr(data, "collect"):
        return [_stream(data.collect(), name)]
    if _is_from(data, "pandas"):
        return [_pandas(data, name)]
    if _is_from(data, "numpy"):
        return [_numpy(data, name)]
    if isinstance(data, dict):
        return [_columns({str(key): column for key, column in data.items()}, name)]
    if isinstance(data, (list, tuple)):
        return _list(data, name)
    if hasattr(data, "__iter__"):
        return _list(list(data), name)
    kind = type(data).__name__
    raise UsageError(f"a `{kind}` holds no results", hint="pass a file, a data frame, arrays or a list of dicts")


def _is_from(data: object, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


def _list(items: Sequence[Any], name: str) -> list[_core.Source]:
    if not items:
        raise DataError("there are no records", place=f"in {name}", hint="check what the list was made from")
    if all(isinstance(item, (str, os.PathLike)) for item in items) and any(_is_path(item) for item in items):
        return [_core.Source.path(os.fspath(item)) for item in items]
    if all(isinstance(item, dict) for item in items):
        return [_records(items, name)]
    if all(_is_from(item, "inspect_ai") for item in items):
        return [_inspect_log(item, f"{name} {place + 1}") for place, item in enumerate(items)]
    return [_scores(items, name)]


def _is_path(item: str | os.PathLike[str]) -> bool:
    """Labels and names of files are both text. A name leads to something, or has an ending or a folder."""
    text = os.fspath(item)
    has_ending = os.path.splitext(text)[1][1:2].isalpha()
    return not isinstance(item, str) or has_ending or "/" in text or os.sep in text or os.path.exists(text)


def _records(records: Iterable[dict[str, Any]], name: str) -> _core.Source:
    """One record per line, read as a file with the same lines is."""
    import json

    lines = "\n".join(json.dumps(record, default=_plain) for record in records)
    return _core.Source.bytes(name, lines.encode())


def _plain(value: Any) -> Any:
    """What JSON has no form for."""
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    kind = type(value).__name__
    raise UsageError(f"a record holds a `{kind}`, which is not read", hint="use numbers, text, lists and dicts")


def _scores(values: Any, name: str) -> _core.Source:
    """Scores alone: their samples are called by their places, from 1."""
    return _columns({"id": list(range(1, len(values) + 1)), "score": values}, name)


def _columns(columns: dict[str, Any], name: str) -> _core.Source:
    try:
        made = _core.Source.columns(name, columns)
    except ValueError as error:
        raise DataError(str(error), place=f"in {name}", hint="give every row a value or None") from None
    if made is not None:
        return made
    lists = [column.tolist() if hasattr(column, "tolist") else list(column) for column in columns.values()]
    return _records([dict(zip(columns, row)) for row in zip(*lists)], name)


def _stream(data: Any, name: str) -> _core.Source:
    try:
        return _core.Source.arrow(name, _without_nulls(data) if _is_from(data, "polars") else data)
    except ImportError:
        # pandas exports its frames with the help of pyarrow, which may not be there.
        if _is_from(data, "pandas"):
            return _pandas(data, name)
        raise
    except CalipersError:
        raise
    except Exception as error:
        # It comes from the table or its library: what it says is all that is known.
        what = f"the Arrow stream of a `{type(data).__name__}` cannot be read: {str(error).splitlines()[0] if str(error) else error!r}"
        raise DataError(what, place=f"in {name}", hint="check the table, or pass its columns as a dict of lists") from error


def _without_nulls(data: Any) -> Any:
    """A frame of polars whose columns without any value are text: polars exports them in a form that others do not read."""
    import polars

    if isinstance(data, polars.Series):
        return data.cast(polars.String) if data.dtype == polars.Null else data
    empty = [column for column, kind in data.schema.items() if kind == polars.Null]
    return data.with_columns(polars.col(empty).cast(polars.String)) if empty else data


def _pandas(data: Any, name: str) -> _core.Source:
    if data.ndim == 1:
        return _scores(_cells(data), name)
    if any(label is not None for label in data.index.names):
        data = data.reset_index()
    return _columns({str(label): _cells(data[label]) for label in data.columns}, name)


def _cells(column: Any) -> list[Any]:
    """The values of a column of pandas, with None where there is none."""
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna().tolist())]


def _numpy(data: Any, name: str) -> _core.Source:
    names = data.dtype.names
    if names is not None:
        return _columns({str(field): data[field] for field in names}, name)
    if data.ndim != 1:
        what = f"an array with {data.ndim} dimensions has no one score for each sample"
        raise UsageError(what, hint="pass one dimension, or a dict of columns")
    return _scores(data, name)


def _inspect_log(log: Any, name: str) -> _core.Source:
    """A log that Inspect has in memory."""
    if not hasattr(log, "eval"):
        kind = type(log).__name__
        raise UsageError(f"a `{kind}` of Inspect holds no results", hint="pass an `EvalLog`, or the name of its file")
    import tempfile

    from inspect_ai.log import write_eval_log

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "log.json")
        write_eval_log(log, file, format="json")
        with open(file, "rb") as content:
            return _core.Source.bytes(str(log.location or name), content.read())
