"""What results may be handed over as."""

from __future__ import annotations

import os
from collections.abc import Mapping

from . import _core
from ._errors import CalipersError, DataError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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
        return [_core.Source.path(_file_name(data))]
    if isinstance(data, (bytes, bytearray, memoryview)):
        return [_core.Source.bytes(name, bytes(data))]
    if _is_from(data, "inspect_ai"):
        return [_inspect_log(data, name)]
    if _is_from(data, "polars") and hasattr(data, "collect"):
        return [_polars(_collected(data, name), name)]
    if _is_from(data, "polars") and hasattr(data, "to_arrow"):
        return [_polars(data, name)]
    if _is_from(data, "pandas") and hasattr(data, "to_numpy"):
        return [_pandas(data, name)]
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return [_stream(data, name)]
    if _is_from(data, "numpy"):
        return [_numpy(data, name)]
    if hasattr(data, "read"):
        return [_open_file(data, name)]
    if isinstance(data, Mapping):
        return [_columns({str(key): column for key, column in data.items()}, name)]
    if isinstance(data, (list, tuple)):
        return _list(data, name)
    # Sets have no order, and groups of a frame are no rows.
    if hasattr(data, "__iter__") and not isinstance(data, (set, frozenset)) and not _is_from(data, "pandas"):
        return _list(list(data), name)
    kind = type(data).__name__
    raise UsageError(f"a `{kind}` holds no results", hint="pass a file, a data frame, arrays or a list of dicts")


def _file_name(given: str | os.PathLike[str]) -> str:
    text = os.fspath(given)
    if not text:
        raise UsageError("an empty text names no file", hint="pass the name of a file")
    if "\n" in text and not os.path.exists(text):
        raise UsageError("a text names a file, and this one looks like its content", hint="pass its bytes, as in `text.encode()`")
    return text


def _open_file(file: Any, name: str) -> _core.Source:
    content = file.read()
    if isinstance(content, str):
        content = content.encode()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise UsageError(f"a `{type(file).__name__}` reads no bytes", hint="pass the name of the file")
    known = getattr(file, "name", None)
    return _core.Source.bytes(known if isinstance(known, str) else name, bytes(content))


def _is_from(data: object, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


def _list(items: Sequence[Any], name: str) -> list[_core.Source]:
    if not items:
        raise DataError("there are no records", place=f"in {name}", hint="check what the list was made from")
    if all(isinstance(item, (str, os.PathLike)) for item in items) and any(_is_path(item) for item in items):
        return [_core.Source.path(os.fspath(item)) for item in items]
    if all(_is_from(item, "inspect_ai") for item in items):
        return [_inspect_log(item, f"{name} {place + 1}") for place, item in enumerate(items)]
    records = [_record(item) for item in items]
    is_record = [isinstance(record, dict) for record in records]
    if all(is_record):
        return [_records(records, name)]
    if any(is_record):
        place = is_record.index(False)
        what = f"record {place + 1} is a `{type(items[place]).__name__}`, and others are dicts"
        raise DataError(what, place=f"in {name}", hint="make every record a dict, or leave it out")
    if all(isinstance(item, tuple) and len(item) > 1 for item in items):
        hint = 'name their parts: `[{"id": id, "score": score} for id, score in pairs]`'
        raise UsageError("tuples do not say what their parts are", place=f"in {name}", hint=hint)
    return [_scores(items, name)]


def _record(item: Any) -> Any:
    """A dict in place of an object with named parts."""
    if isinstance(item, tuple) and hasattr(item, "_asdict"):
        return item._asdict()
    if hasattr(item, "__dataclass_fields__") and not isinstance(item, type):
        return {name: getattr(item, name) for name in item.__dataclass_fields__}
    if hasattr(item, "model_dump") and not isinstance(item, type):
        return item.model_dump()  # An object of pydantic.
    return dict(item) if isinstance(item, Mapping) and not isinstance(item, dict) else item


def _is_path(item: str | os.PathLike[str]) -> bool:
    """Labels and names of files are both text. A name leads to something, or has an ending or a folder."""
    text = os.fspath(item)
    has_ending = os.path.splitext(text)[1][1:2].isalpha()
    return not isinstance(item, str) or has_ending or "/" in text or os.sep in text or os.path.exists(text)


def _records(records: Sequence[dict[str, Any]], name: str, durations: Sequence[str] = ()) -> _core.Source:
    """One record per line, read as a file with the same lines is."""
    import json

    is_duration_there = False

    def plain(value: Any) -> Any:
        nonlocal is_duration_there
        is_duration_there = is_duration_there or _is_duration(value)
        return _plain(value)

    try:
        lines = "\n".join(json.dumps(record, default=plain) for record in records)
    except CalipersError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a record is not read: {error}", place=f"in {name}", hint="use numbers, text, lists and dicts") from error
    found = _duration_keys(records) if is_duration_there else []
    return _core.Source.bytes(name, lines.encode(), [*durations, *found])


def _is_duration(value: Any) -> bool:
    return type(value).__name__ == "timedelta64" or hasattr(value, "total_seconds")


def _duration_keys(records: Iterable[dict[str, Any]]) -> list[str]:
    """The keys under which records have durations, themselves or in a map."""
    keys: dict[str, None] = {}
    for record in records:
        for key, value in record.items():
            for part, one in value.items() if isinstance(value, dict) else [("", value)]:
                if _is_duration(one):
                    keys[f"{key}.{part}" if part else str(key)] = None
    return list(keys)


def _plain(value: Any) -> Any:
    """What JSON has no form for. A duration is in milliseconds, as in frames."""
    kind = type(value).__name__
    if kind in ("NAType", "NaTType") or (kind == "datetime64" and str(value) == "NaT"):
        return None
    if kind == "UUID" or kind == "Interval" or isinstance(value, os.PathLike):
        return str(value)
    if _is_from(value, "enum"):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if kind == "timedelta64":
        return float(value / type(value)(1, "ms"))
    if kind == "datetime64":
        return str(value)
    if hasattr(value, "total_seconds"):
        return value.total_seconds() * 1000
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        item = value.item()
        return item if type(item) is not type(value) else float(item)  # Numbers that Python has no kind for stand for themselves.
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__float__"):
        return float(value)
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise UsageError(f"a record holds a `{kind}`, which is not read", hint="use numbers, text, lists and dicts")


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.hex()


def _scores(values: Any, name: str, ids: Any = None) -> _core.Source:
    """Scores alone: their samples are called by their places, from 1."""
    return _columns({"id": list(range(1, len(values) + 1)) if ids is None else ids, "score": values}, name)


def _columns(columns: dict[str, Any], name: str) -> _core.Source:
    if not columns:
        raise DataError("the table has no columns", place=f"in {name}", hint="check what the table was made from")
    durations = [label for label, column in columns.items() if _holds_durations(column)]
    columns = {label: _column(label, column, name) for label, column in columns.items()}
    try:
        made = _core.Source.columns(name, columns, durations)
    except UnicodeError as error:
        raise DataError(f"a text is not Unicode: {error}", place=f"in {name}", hint="decode it another way") from None
    except ValueError as error:
        raise DataError(str(error), place=f"in {name}", hint="give every row a value or None") from None
    if made is not None:
        return made
    lists = {label: column.tolist() if hasattr(column, "tolist") else column for label, column in columns.items()}
    (first, rows), *others = ((label, len(column)) for label, column in lists.items())
    for other, length in others:
        if length != rows:
            what = f"columns have different lengths: `{first}` has {rows} rows, and `{other}` has {length}"
            raise DataError(what, place=f"in {name}", hint="give every row a value or None")
    records = [dict(zip(lists, row)) for row in zip(*lists.values())]
    return _records(records, name, durations)


def _holds_durations(column: Any) -> bool:
    return _is_from(column, "numpy") and getattr(getattr(column, "dtype", None), "kind", None) == "m"


def _column(label: str, column: Any, name: str) -> Any:
    """A column as a list or an array."""
    if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
        what = f"the column `{label}` is a `{type(column).__name__}`"
        hint = 'pass a list or an array for each column; scores by sample are `[{"id": id, "score": score} for id, score in scores.items()]`'
        raise UsageError(what, place=f"in {name}", hint=hint)
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if _holds_durations(column):
        return column / column.dtype.type(1, "ms")  # A duration is in milliseconds, as in frames.
    if kind == "M" and _is_from(column, "numpy"):
        return [None if text == "NaT" else text for text in column.astype(str).tolist()]
    return column if hasattr(column, "tolist") else list(column)


def _polars(data: Any, name: str) -> _core.Source:
    """A frame or a series of polars. Columns without any value, and of kinds that only polars knows, are exported in forms that others do
    not read."""
    import polars

    own = (polars.Object, getattr(polars, "Int128", polars.Object), getattr(polars, "UInt128", polars.Object))
    if isinstance(data, polars.Series):
        if data.dtype in own:
            return _scores(data.to_list(), name)
        return _stream(data.cast(polars.String) if data.dtype == polars.Null else data, name)
    if any(kind in own for kind in data.schema.values()):
        return _columns({column.name: column.to_list() for column in data.get_columns()}, name)
    empty = [column for column, kind in data.schema.items() if kind == polars.Null]
    return _stream(data.with_columns(polars.col(empty).cast(polars.String)) if empty else data, name)


def _collected(data: Any, name: str) -> Any:
    try:
        return data.collect()
    except Exception as error:
        what = f"the query of a `{type(data).__name__}` fails: {_first_line(error)}"
        raise DataError(what, place=f"in {name}", hint="check the query with `collect()`") from error


def _stream(data: Any, name: str) -> _core.Source:
    try:
        return _core.Source.arrow(name, data)
    except CalipersError:
        raise
    except Exception as error:
        # It comes from the table or its library: what it says is all that is known.
        what = f"the Arrow data of a `{type(data).__name__}` cannot be read: {_first_line(error)}"
        raise DataError(what, place=f"in {name}", hint="check the table, or pass its columns as a dict of lists") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else repr(error)


def _pandas(data: Any, name: str) -> _core.Source:
    row_names = _row_names(data) if data.ndim == 1 else None
    if data.ndim > 1 and not data.columns.is_unique:
        twice = data.columns[data.columns.duplicated()][0]
        raise DataError(f"two columns are called `{twice}`", place=f"in {name}", hint="rename one of them, or leave it out")
    data = _with_texts(data)
    if data.ndim > 1:
        data = _with_index(data)
    if hasattr(data, "__arrow_c_stream__") and row_names is None:
        try:
            return _core.Source.arrow(name, data)
        except CalipersError:
            raise
        except Exception:
            # pandas exports its frames with the help of pyarrow, which may not be there, or not take what a column holds.
            pass
    if data.ndim == 1:
        return _scores(_cells(data), name, row_names)
    return _columns({str(label): _cells(data[label]) for label in data.columns}, name)


def _with_index(data: Any) -> Any:
    """The same frame with the named parts of its index as columns. Arrow has none of an index that counts, as that of `set_index("id")` does
    where ids are consecutive numbers."""
    named = [label for label in data.index.names if label is not None and label not in data.columns]
    if not named:
        return data
    others = [place for place, label in enumerate(data.index.names) if label not in named]
    return (data.reset_index(others, drop=True) if others else data).reset_index()


def _with_texts(data: Any) -> Any:
    """The same frame or series, with texts in place of the intervals that `pandas.cut` makes and of periods: Arrow has no form for them."""

    def has_form(column: Any) -> bool:
        kinds = (column.dtype, getattr(getattr(column.dtype, "categories", None), "dtype", None))
        return not any(type(kind).__name__ in ("IntervalDtype", "PeriodDtype") for kind in kinds)

    def texts(column: Any) -> Any:
        return column.astype(object).map(str, na_action="ignore")

    if data.ndim == 1:
        return data if not hasattr(data, "map") or has_form(data) else texts(data)
    others = [label for label in data.columns if not has_form(data[label])]
    if not others:
        return data
    data = data.copy(deep=False)
    for label in others:
        data[label] = texts(data[label])
    return data


def _row_names(series: Any) -> list[Any] | None:
    """The labels of the rows of a series, if they tell samples apart."""
    index: Any = getattr(series, "index", None)
    is_plain = index is None or type(index).__name__ == "RangeIndex" or index.nlevels > 1 or not index.is_unique or index.hasnans
    return None if is_plain else index.tolist()


def _cells(column: Any) -> list[Any]:
    """The values of a column of pandas, with None where there is none."""
    if hasattr(column.dtype, "categories"):
        column = column.astype(object)
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna().tolist())]


def _numpy(data: Any, name: str) -> _core.Source:
    names = getattr(data.dtype, "names", None)
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

    # Samples that are not in memory yet are loaded here. While it writes, Inspect would load them inside of its own event loop, and for that
    # it replaces `asyncio.run` of the whole process by one that leaves its event loops open.
    bool(log.samples)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "log.json")
        write_eval_log(log, file, format="json")
        with open(file, "rb") as content:
            return _core.Source.bytes(str(log.location or name), content.read())
