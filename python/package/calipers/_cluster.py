"""Questions about results that lie on many machines.

An engine such as Spark or Ray brings the attempts of a sample together, and each executor folds its share: to the states of metrics,
or to the attempts with the columns that a question reads. The shares travel to the driver, where they make the answer. Each says which
samples it holds, so that shares that do not make a whole are refused.
"""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _core, _questions
from ._data import sources
from ._errors import CalipersError, DataError, UsageError
from ._metrics import metric_choices, reducer_choices
from ._options import SHARED, selection, strings
from ._results import Comparison, Results, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ._questions import PolicyLike

Frame = TypeVar("Frame")

#: Which columns name samples if nothing else is said.
_IDS = ("id", "sample_id")


@dataclass(frozen=True)
class Folding:
    """What an executor makes of its share. It travels to the executors."""

    choices: dict[str, Any]
    ids: list[str]
    metric: tuple[str, ...] = ()
    reducer: tuple[str, ...] = ()
    #: The columns that attempts are kept with; without it, states of metrics are kept.
    needs: bytes | None = None

    def fold(self, rows: Any, number: int, of: int, is_bucket: bool = False) -> tuple[int, bytes, bool]:
        """A share as its number, its bytes, and whether it is one: an error of ours travels to the driver, since trying again would not
        help. `rows` is None if there are none."""
        place = (number, of, is_bucket)
        try:
            given = [] if rows is None else sources(rows)
            if self.needs is None:
                return number, _core.fold_states(given, self.choices, list(self.metric), list(self.reducer), place), True
            return number, _core.fold_rows(given, self.choices, self.needs, place), True
        except CalipersError as error:
            parts = (type(error), error.what, error.place, error.hint, error.others)
            return number, pickle.dumps(parts), False

    def gather(self, shares: Iterable[tuple[int, bytes, bool]], of: int) -> list[tuple[str, bytes]]:
        """What all executors have made, each share once; whether they make a whole is looked at where they are merged."""
        found: dict[int, bytes] = {}
        for number, content, is_share in shares:
            if not is_share:
                kind, what, place, hint, others = pickle.loads(content)
                raise kind(what, place=f"{place or 'in data'}, share {number} of {of}", hint=hint, others=others)
            # Of two answers to one question it is not known which is right.
            if found.setdefault(number, content) != content:
                hint = "read the table from where it is stored, so that it is the same every time"
                raise DataError(f"share {number} of {of} came twice, with different content", hint=hint)
        return [(f"share {number}", content) for number, content in sorted(found.items())]


class Questions(Generic[Frame]):
    """The questions, about what an engine holds. `fold_all` folds its rows into so many shares, or as many as it likes."""

    def __init__(
        self,
        columns: Callable[[Frame], Sequence[str]],
        fold_all: Callable[[Frame, Folding, int | None], list[tuple[str, bytes]]],
    ) -> None:
        self._columns = columns
        self._fold_all = fold_all

    def score(self, data: Frame, *, partitions: int | None = None, **options: Any) -> Results:
        """The metrics of results: `calipers.score`, with its options, from the same bits.

        Metrics and reducers that are names or expressions are folded where the rows are; with functions in Python, `labels`, `missing`,
        `compat`, `reductions` or `load`, the attempts travel to the driver.
        """
        inspect.signature(_questions.score).bind(data, **options)
        choices = selection("score", "question", _shared(options), options.get("cluster"), options.get("limits"))
        metric, reducer = metric_choices(options.get("metric")), reducer_choices(options.get("reducer"))
        # What is wrong with a metric is said before anything runs.
        needs = _core.needs_of_score(choices, metric, reducer, bool(options.get("reductions")))
        all_in_one_place = ("labels", "missing", "compat", "reductions", "load", "attempts_from")
        is_asked = [options.get(name) is not None and options[name] is not False for name in all_in_one_place]
        if all(isinstance(one, str) for one in metric + reducer) and not any(is_asked):
            folding = Folding(choices, self._ids(data, choices), tuple(metric), tuple(reducer))
            return Results(_core.merge_states(self._fold_all(data, folding, partitions), choices, metric, reducer))
        return _questions.score(self._whole(data, choices, needs, partitions), **_at_driver(options))

    def gate(self, data: Frame, policy: PolicyLike, *, partitions: int | None = None, **options: Any) -> Verdict:
        """Judges a run by a policy: `calipers.gate`, with its options, from the same bits."""
        asked = inspect.signature(_questions.gate).bind(data, policy, **options).arguments
        choices = selection("gate", "question", _shared(options), options.get("cluster"))
        own = ("baseline", "suite", "for_version", "looks", "metric", "reducer")
        needs = _core.needs_of_gate(choices, _questions._judging(policy, *(asked.get(name) for name in own)))
        return _questions.gate(self._whole(data, choices, needs, partitions), policy, **_at_driver(options))

    def compare(self, candidate: Frame, *baselines: Frame, partitions: int | None = None, **options: Any) -> Comparison:
        """What changed between runs: `calipers.compare`, with its options, from the same bits.

        With one argument, `run` names the runs that it holds, the candidate first.
        """
        inspect.signature(_questions.compare).bind(candidate, *baselines, **options)
        choices = selection("compare", "question", _shared(options))
        needs = _core.needs_of_compare(choices, metric_choices(options.get("metric")), strings(options.get("cluster")))
        if not baselines and len(choices["run"]) < 2:
            what = "which run is the candidate is not said, and rows on a cluster have no order"
            raise UsageError(what, hint='name the candidate first, as in `run=["new", "old"]`, or pass each run by itself')
        by = options.pop("by", None)
        if by is not None:
            choices = {**choices, "columns": [*choices["columns"], ("run", by)]}
        names = ["candidate", "baseline"] if len(baselines) == 1 else ["candidate", *(f"baseline {n + 1}" for n in range(len(baselines)))]
        runs = zip((candidate, *baselines), names if baselines else ["data"])
        wholes = [self._whole(run, choices, needs, partitions, name) for run, name in runs]
        return _questions.compare(*wholes, **_at_driver(options))

    def _whole(self, data: Frame, choices: dict[str, Any], needs: bytes, partitions: int | None, name: str = "data") -> _core.Source:
        """All attempts, with the columns that are needed: which of them count is decided at the driver."""
        folding = Folding({**choices, "where": [], "scorer": []}, self._ids(data, choices), needs=needs)
        return _core.Source.bytes(name, _core.merge_rows(self._fold_all(data, folding, partitions)))

    def _ids(self, data: Frame, choices: dict[str, Any]) -> list[str]:
        """The columns by which samples are brought together. If they are others than those that name samples, the shares do not fit
        together, and are refused."""
        known = list(self._columns(data))
        name = dict(_pairs(choices["columns"])).get("id") or next((one for one in _IDS if one in known), None)
        if name is None:
            raise UsageError("no column is called `id`, by which samples are brought together", hint='write `columns={"id": "question"}`')
        ids = [name] if name in known else [part.strip() for part in name.split("+")]
        for one in ids:
            if one not in known:
                raise UsageError(f"the table has no column `{one}`, by which samples are brought together", hint=f"it has {', '.join(known)}")
        return ids


def _pairs(columns: list[str | tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """What is said about columns, in either form."""
    for one in columns:
        pairs = [one] if isinstance(one, tuple) else [pair.partition("=")[::2] for pair in one.split(",")]
        yield from ((name.strip(), column.strip()) for name, column in pairs)


def _shared(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in SHARED["question"]}


def _at_driver(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a question, without those that say how rows are read."""
    return {name: value for name, value in options.items() if name not in ("columns", "format")}
