"""Samples: what is asked, and what is right; and the files that they are read from."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Union, overload

from ._errors import DataError, UsageError
from .model import to_messages

__all__ = ["Dataset", "FieldSpec", "MemoryDataset", "RecordToSample", "Sample", "csv_dataset", "json_dataset"]


class Sample:
    """One question: what is asked, and what is right.

    `input` is a text, or messages. `target` is the right answer, or several; for choices, the letters.
    """

    def __init__(
        self,
        input: str | Sequence[Any],
        choices: Sequence[str] | None = None,
        target: str | Sequence[str] = "",
        id: int | str | None = None,
        metadata: dict[str, Any] | None = None,
        sandbox: Any = None,
        files: Any = None,
        setup: Any = None,
    ) -> None:
        for name, given in (("sandbox", sandbox), ("files", files), ("setup", setup)):
            if given is not None:
                raise UsageError(f"a sample with `{name}` does not run here", hint="tasks with sandboxes belong to Inspect")
        self.input = input
        self.choices = None if choices is None else list(choices)
        self.target = target
        self.id = id
        self.metadata = metadata

    def to_choice(self) -> dict[str, Any]:
        """The sample in the form that the library takes."""
        target = [self.target] if isinstance(self.target, str) else [str(text) for text in self.target]
        messages = None if isinstance(self.input, str) else to_messages(self.input)
        return {
            "input": self.input if messages is None else [(one.role, one.content) for one in messages],
            "target": [text for text in target if text != ""] if target != [""] else [],
            "choices": list(self.choices or ()),
            "id": self.id,
            "metadata": self.metadata,
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sample(input={self.input!r}, target={self.target!r}, id={self.id!r})"


#: Makes a sample, or several, of a record.
RecordToSample = Callable[[dict[str, Any]], Union[Sample, list[Sample]]]


def _length(sample: Sample) -> int:
    return len(sample.input) if isinstance(sample.input, str) else sum(len(one.text) for one in to_messages(sample.input))


class Dataset(Sequence[Sample]):
    """Samples in a certain order, under a name."""

    samples: list[Sample]
    name: str | None
    location: str | None
    shuffled: bool

    def __init__(
        self,
        samples: Iterable[Sample],
        name: str | None = None,
        location: str | None = None,
        shuffled: bool = False,
    ) -> None:
        self.samples = list(samples)
        self.name = name
        self.location = location
        self.shuffled = shuffled

    @overload
    def __getitem__(self, place: int) -> Sample: ...
    @overload
    def __getitem__(self, place: slice) -> Dataset: ...
    def __getitem__(self, place: int | slice) -> Sample | Dataset:
        if isinstance(place, slice):
            return type(self)(self.samples[place], self.name, self.location, self.shuffled)
        return self.samples[place]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def filter(self, predicate: Callable[[Sample], bool], name: str | None = None) -> Dataset:
        """Only the samples for which something holds."""
        return type(self)(filter(predicate, self.samples), name or self.name, self.location, self.shuffled)

    def shuffle(self, seed: int | None = None) -> None:
        """Puts the samples into a random order; with a seed, always into the same, which is that of Inspect."""
        random.Random(seed).shuffle(self.samples)
        self.shuffled = True

    def shuffle_choices(self, seed: int | None = None) -> None:
        """Puts the choices of each sample into a random order. Targets that are letters follow."""
        chance = random.Random(seed)
        for sample in self.samples:
            if not sample.choices:
                continue
            places = list(range(len(sample.choices)))
            chance.shuffle(places)
            letters = {_letter(old): _letter(new) for new, old in enumerate(places)}
            sample.choices = [sample.choices[place] for place in places]
            if isinstance(sample.target, str):
                sample.target = _new_letter(sample, sample.target, letters)
            else:
                sample.target = [_new_letter(sample, target, letters) for target in sample.target]

    def sort(self, reverse: bool = False, key: Callable[[Sample], Any] = _length) -> None:
        """Sorts the samples, by the length of what is asked or by another key."""
        self.samples.sort(key=key, reverse=reverse)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or ''} of {len(self)} samples>"


class MemoryDataset(Dataset):
    """Samples in memory."""


def _letter(place: int) -> str:
    """The letter of a choice; after the 26th they are numbered."""
    return chr(ord("A") + place) if place < 26 else str(place - 25)


def _new_letter(sample: Sample, target: str, letters: dict[str, str]) -> str:
    known = letters.get(target.upper())
    if known is None:
        what = f"the target {target!r} of sample {sample.id!r} is the letter of none of its choices"
        raise DataError(what, hint="shuffle only choices whose targets are letters")
    return known


class FieldSpec:
    """Which fields of a record are what. `metadata` lists those that are kept about a sample."""

    def __init__(
        self,
        input: str = "input",
        target: str = "target",
        choices: str = "choices",
        id: str = "id",
        metadata: Sequence[str] | None = None,
    ) -> None:
        self.input = input
        self.target = target
        self.choices = choices
        self.id = id
        self.metadata = None if metadata is None else list(metadata)

    def __call__(self, record: dict[str, Any]) -> Sample:
        """The sample of a record."""
        asked = record.get(self.input)
        if _is_missing(asked) or not asked:
            raise ValueError(f"it has no `{self.input}`")
        return Sample(
            input=asked if isinstance(asked, str) else to_messages(asked),
            target=_target(record.get(self.target)),
            choices=_choices(record.get(self.choices)),
            id=record.get(self.id),
            metadata=self._metadata(record),
        )

    def _metadata(self, record: dict[str, Any]) -> dict[str, Any] | None:
        if self.metadata:
            return {name: record.get(name) for name in self.metadata}
        given = record.get("metadata")
        if _is_missing(given):
            return None
        known = json.loads(given) if isinstance(given, str) else given
        if not isinstance(known, dict):
            raise ValueError("its `metadata` is no object")
        return known


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _target(value: Any) -> str | list[str]:
    if _is_missing(value):
        return ""
    return [str(one) for one in value] if isinstance(value, list) else str(value)


def _choices(value: Any) -> list[str] | None:
    if _is_missing(value):
        return None
    if isinstance(value, list):
        return [str(one) for one in value if str(one).strip()]
    if not isinstance(value, str):
        return [str(value)]
    parts = value.split(",") if "," in value else value.split()
    return [part.strip() for part in parts if part.strip()]


def _samples(
    file: str,
    records: Iterable[tuple[int, dict[str, Any]]],
    fields: FieldSpec | RecordToSample | None,
    auto_id: bool,
) -> list[Sample]:
    """The samples of records, which come with their lines."""
    convert = FieldSpec() if fields is None else fields
    samples: list[Sample] = []
    for line, record in records:
        try:
            made = convert(record)
        except UsageError:
            raise
        except Exception as error:
            what = f"a record gives no sample: {error}"
            raise DataError(what, place=f"in {file}, line {line}", hint="correct it, or `sample_fields`") from error
        samples.extend(made if isinstance(made, list) else [made])
    if auto_id:
        for number, sample in enumerate(samples, 1):
            sample.id = number
    return samples


def _arranged(
    dataset: MemoryDataset,
    shuffle: bool | int,
    seed: int | None,
    shuffle_choices: bool | int | None,
    limit: int | None,
) -> Dataset:
    """The dataset in the order that is asked for; the limit comes last."""
    if shuffle is not False:
        if shuffle is not True and seed is not None:
            raise UsageError("`shuffle` is a seed, and `seed` another", hint="give one of them")
        dataset.shuffle(seed if shuffle is True else shuffle)
    if shuffle_choices is not None and shuffle_choices is not False:
        dataset.shuffle_choices(None if shuffle_choices is True else shuffle_choices)
    return dataset if limit is None else dataset[:limit]


def _open(file: str, encoding: str) -> Any:
    try:
        return open(file, encoding=encoding, newline="")
    except OSError as error:
        raise DataError(str(error.strerror or error), place=f"in {file}", hint="check the name of the file") from error


def _broken(file: str, line: int, what: str) -> DataError:
    return DataError(what, place=f"in {file}, line {line}", hint="correct the line")


def csv_dataset(
    csv_file: str | os.PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    auto_id: bool = False,
    shuffle: bool | int = False,
    seed: int | None = None,
    shuffle_choices: bool | int | None = None,
    limit: int | None = None,
    dialect: str = "unix",
    encoding: str = "utf-8-sig",
    name: str | None = None,
    fieldnames: Sequence[str] | None = None,
    delimiter: str = ",",
) -> Dataset:
    """The samples of a CSV file. Rows that are blank are passed over; one with too many or too few cells is an error."""
    file = os.fspath(csv_file)
    with _open(file, encoding) as text:
        reader = csv.DictReader(text, fieldnames=fieldnames, dialect=dialect, delimiter=delimiter, strict=True)
        records: list[tuple[int, dict[str, Any]]] = []
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise _broken(file, reader.line_num, "a row has more or fewer cells than there are columns")
                if any(str(cell).strip() for cell in row.values()):
                    records.append((reader.line_num, dict(row)))
        except (csv.Error, UnicodeDecodeError) as error:
            raise _broken(file, reader.line_num + 1, str(error)) from error
    samples = _samples(file, records, sample_fields, auto_id)
    dataset = MemoryDataset(samples, name or _stem(file), os.path.abspath(file))
    return _arranged(dataset, shuffle, seed, shuffle_choices, limit)


def json_dataset(
    json_file: str | os.PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    auto_id: bool = False,
    shuffle: bool | int = False,
    seed: int | None = None,
    shuffle_choices: bool | int | None = None,
    limit: int | None = None,
    encoding: str = "utf-8",
    name: str | None = None,
) -> Dataset:
    """The samples of a JSON file: one record, a list of them, or, in a file that ends in `.jsonl`, one per line."""
    file = os.fspath(json_file)
    records: list[tuple[int, dict[str, Any]]] = []
    line = 1
    try:
        with _open(file, encoding) as text:
            if file.lower().endswith(".jsonl"):
                for line, content in enumerate(text, 1):
                    if content.strip():
                        records.append((line, json.loads(content)))
            else:
                document = json.load(text)
                records = [(1, record) for record in (document if isinstance(document, list) else [document])]
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) and not records else line
        raise _broken(file, line, str(error)) from error
    for line, record in records:
        if not isinstance(record, dict):
            raise _broken(file, line, "a record is no object")
    samples = _samples(file, records, sample_fields, auto_id)
    dataset = MemoryDataset(samples, name or _stem(file), os.path.abspath(file))
    return _arranged(dataset, shuffle, seed, shuffle_choices, limit)


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


def __getattr__(name: str) -> Any:
    if name in ("example_dataset", "file_dataset", "hf_dataset"):
        raise ImportError(f"`{name}` belongs to Inspect: read a file with `json_dataset` or `csv_dataset`")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
