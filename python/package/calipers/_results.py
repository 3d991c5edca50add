"""Answers: frozen objects that print as tables and draw themselves in notebooks."""

from __future__ import annotations

import json
import os

from ._errors import GateFailed, GateUndecided, RegressionError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    import pandas
    import polars
    from typing_extensions import Self

    from . import _core


class _Frozen:
    """A value whose parts do not change."""

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"`{type(self).__name__}` does not change: `{name}` cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"`{type(self).__name__}` does not change: `{name}` cannot be deleted")

    def _set(self, **parts: object) -> None:
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def _parts(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    # What does not change is its own copy.
    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        slots = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        return _frozen, (type(self), {name: getattr(self, name) for name in slots})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__name__, repr(self._parts())))

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({parts})"


def _frozen(kind: Any, parts: dict[str, Any]) -> Any:
    """The value that was pickled."""
    made = kind.__new__(kind)
    made._set(**parts)
    return made


class Interval(_Frozen):
    """How far a figure may be from the truth. A bound is None where the interval has only the other."""

    __slots__ = ("lower", "upper", "level", "method")
    lower: float | None
    upper: float | None
    level: float
    method: str

    def __init__(self, document: dict[str, Any]) -> None:
        self._set(**{name: document[name] for name in self.__slots__})

    def __contains__(self, value: float) -> bool:
        return (self.lower is None or self.lower <= value) and (self.upper is None or value <= self.upper)

    def __iter__(self) -> Iterator[float | None]:
        return iter((self.lower, self.upper))


class Caveat(_Frozen):
    """What to know before relying on a figure. `id` is stable; the texts may change."""

    __slots__ = ("id", "text", "next_step")
    id: str
    text: str
    next_step: str | None

    def __init__(self, document: dict[str, Any]) -> None:
        self._set(id=document["id"], text=document["text"], next_step=document.get("next_step"))

    def __str__(self) -> str:
        return self.text


class Figure(_Frozen):
    """One number with what is needed to defend it.

    `value` is None where it is undefined, and `undefined` says why.
    """

    __slots__ = (
        "metric",
        "value",
        "interval",
        "n",
        "missing",
        "method",
        "caveats",
        "undefined",
        "scorer",
        "reducer",
        "run",
        "group",
        "params",
        "details",
    )
    metric: str
    value: float | None
    interval: Interval | None
    n: int | None
    missing: int | None
    method: str | None
    caveats: tuple[Caveat, ...]
    undefined: str | None
    scorer: str | None
    reducer: str | None
    run: str | None
    group: str | None
    params: dict[str, Any]
    details: dict[str, Any]

    def __init__(
        self,
        metric: str,
        document: dict[str, Any],
        *,
        scorer: str | None = None,
        reducer: str | None = None,
        run: str | None = None,
    ) -> None:
        interval = document.get("interval")
        self._set(
            metric=metric,
            value=document["value"] if "value" in document else document.get("estimate"),
            interval=None if interval is None else Interval(interval),
            n=document.get("n"),
            missing=document.get("missing"),
            method=document.get("method"),
            caveats=tuple(Caveat(caveat) for caveat in document.get("caveats", ())),
            undefined=document.get("undefined"),
            scorer=scorer,
            reducer=reducer,
            run=run,
            group=document.get("group"),
            params=document.get("params") or {},
            details=document.get("details") or {},
        )

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"`{self.metric}` is undefined: {self.undefined}")
        return float(self.value)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def _refuse(self, other: object) -> NoReturn:
        # An estimate above a threshold is no proof that the truth is.
        raise TypeError(f"a figure has an interval: compare `.value` or `.interval.lower`, or ask `calipers.gate` about `{self.metric}`")

    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __repr__(self) -> str:
        if self.value is None:
            return f"<Figure {self.metric}: undefined, {self.undefined}>"
        interval = "" if self.interval is None else f" [{self.interval.lower}, {self.interval.upper}]"
        return f"<Figure {self.metric}: {self.value}{interval}, n={self.n}, missing={self.missing}>"


def _row(figure: Figure) -> dict[str, Any]:
    interval = figure.interval
    return {
        "run": figure.run,
        "scorer": figure.scorer,
        "reducer": figure.reducer,
        "metric": figure.metric,
        "value": figure.value,
        "lower": None if interval is None else interval.lower,
        "upper": None if interval is None else interval.upper,
        "level": None if interval is None else interval.level,
        "n": figure.n,
        "missing": figure.missing,
        "method": figure.method,
        "undefined": figure.undefined,
        "caveats": "; ".join(caveat.text for caveat in figure.caveats),
    }


# The names of columns that hold numbers: they have no value rather than None where a frame tells the two apart.
_NUMBERS = ("value", "lower", "upper", "level", "margin", "p", "adjusted", "half_width")


class _Report(_Frozen):
    """A report of the library."""

    __slots__ = ("_report", "_document", "notes")
    _report: _core.Report
    _document: dict[str, Any]
    #: What was not read, and why.
    notes: tuple[str, ...]

    def __init__(self, report: _core.Report) -> None:
        self._set(_report=report, _document=json.loads(report.json()), notes=tuple(report.notes))

    def to_dict(self) -> dict[str, Any]:
        """The document that the command line prints with `--json`."""
        document: dict[str, Any] = json.loads(self._report.json())
        return document

    def to_json(self) -> str:
        """The same as text."""
        return self._report.json()

    def to_text(self, *, width: int | None = None, color: bool = False, plot: bool = False) -> str:
        """Tables as the command line prints them, with a picture of the figures if it is asked for."""
        if width is not None and width < 0:
            raise UsageError(f"`width={width}` is no number of columns", hint="write a number such as 80, or leave it out")
        return self._report.text(width or _width(), color, plot)

    def __reduce__(self) -> tuple[Any, ...]:
        frozen, (kind, parts) = super().__reduce__()
        return frozen, (kind, {**parts, "_report": StoredReport(self._report)})

    def _rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """One row per figure, as a frame of pandas."""
        import pandas

        frame = pandas.DataFrame(self._rows())
        numbers = [name for name in _NUMBERS if name in frame.columns]
        return frame.astype({name: "float64" for name in numbers})

    def to_polars(self) -> polars.DataFrame:
        """One row per figure, as a frame of polars."""
        import polars

        rows = self._rows()
        numbers = {name: polars.Float64 for name in _NUMBERS if rows and name in rows[0]}
        return polars.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What to know about the answer as a whole."""
        return tuple(Caveat(caveat) for caveat in self._document.get("caveats", ()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Report) and self._document == other._document

    def __hash__(self) -> int:
        return hash(self._report.json())

    def __str__(self) -> str:
        return self.to_text().rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._report.html()


class StoredReport:
    """A report that was pickled: everything that it says, with texts in lines of 80 characters and without colors."""

    def __init__(self, report: Any) -> None:
        self.notes: list[str] = report.notes
        self._texts: dict[bool, str] = {plot: report.text(80, False, plot) for plot in (False, True)}
        self._forms: dict[str, str | None] = {name: getattr(report, name)() for name in ("json", "markdown", "junit", "html", "decision")}

    def text(self, width: int = 80, colour: bool = False, plot: bool = False) -> str:
        return self._texts[plot]

    def json(self) -> str | None:
        return self._forms["json"]

    def markdown(self) -> str | None:
        return self._forms["markdown"]

    def junit(self) -> str | None:
        return self._forms["junit"]

    def html(self) -> str | None:
        return self._forms["html"]

    def decision(self) -> str | None:
        return self._forms["decision"]


def _width() -> int:
    """As wide as the terminal, or as files and pipes are."""
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80


class Results(_Report):
    """The metrics of runs.

    A figure is found by the name of its metric: `results["accuracy"].interval`. Where several have the name, `figure()` takes the
    scorer, the reducer and the run too.
    """

    __slots__ = ("figures",)
    #: Every figure of every run.
    figures: tuple[Figure, ...]

    def __init__(self, report: _core.Report) -> None:
        super().__init__(report)
        figures: list[Figure] = []
        for run in self._document["runs"]:
            name = run.get("run") or run["source"]
            for score in run["scores"]:
                of_score = {"scorer": score["name"], "reducer": score["reducer"], "run": name}
                figures.extend(Figure(key, metric, **of_score) for key, metric in score["metrics"].items())
        self._set(figures=tuple(figures))

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What to know about the runs as wholes."""
        of_runs = (caveat for run in self._document["runs"] for caveat in run["caveats"])
        return tuple(Caveat(caveat) for caveat in [*self._document["caveats"], *of_runs])

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(run.get("run") or run["source"] for run in self._document["runs"])

    def figure(
        self, metric: str, *, scorer: str | None = None, reducer: str | None = None, run: str | None = None
    ) -> Figure:
        """The one figure with these names."""
        wanted = {"metric": metric, "scorer": scorer, "reducer": reducer, "run": run}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        found = [one for one in self.figures if all(getattr(one, name) == value for name, value in wanted.items())]
        if len(found) == 1:
            return found[0]
        if not found:
            known = ", ".join(dict.fromkeys(one.metric for one in self.figures)) or "none"
            raise KeyError(f"there is no figure {wanted}; the metrics are {known}")
        which = [f"(scorer={one.scorer!r}, reducer={one.reducer!r}, run={one.run!r})" for one in found]
        raise KeyError(f"{len(found)} figures are called {metric!r}: use `figure()` with one of {', '.join(which)}")

    def __getitem__(self, metric: str) -> Figure:
        return self.figure(metric)

    def __contains__(self, metric: object) -> bool:
        return metric in self.figures or any(one.metric == metric for one in self.figures)

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)

    def _rows(self) -> list[dict[str, Any]]:
        return [_row(figure) for figure in self.figures]


class _AboutFigure(_Frozen):
    """Something that is said about a figure."""

    __slots__ = ()
    figure: Figure

    @property
    def value(self) -> float | None:
        """The estimate."""
        return self.figure.value

    @property
    def interval(self) -> Interval | None:
        """Its interval."""
        return self.figure.interval

    @property
    def n(self) -> int | None:
        """How many samples or pairs it rests on."""
        return self.figure.n

    @property
    def missing(self) -> int | None:
        """How many have no score, or no partner."""
        return self.figure.missing

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What to know before relying on it."""
        return self.figure.caveats

    @property
    def undefined(self) -> str | None:
        """Why there is no estimate."""
        return self.figure.undefined


class Gate(_AboutFigure):
    """One gate of a policy."""

    __slots__ = ("metric", "level", "rule", "verdict", "reason", "figure", "margin", "subject")
    metric: str
    level: str
    rule: str
    verdict: str
    reason: str
    figure: Figure
    margin: float | None
    subject: str | None

    def __init__(self, document: dict[str, Any]) -> None:
        self._set(
            metric=document["metric"],
            level=document["level"],
            rule=document["rule"],
            verdict=document["verdict"],
            reason=document["reason"],
            figure=Figure(document["metric"], document),
            margin=document.get("margin"),
            subject=document.get("subject"),
        )


class Verdict(_Report):
    """What a policy says about a run: `pass`, `fail` or `undecided`."""

    __slots__ = ("verdict", "decided_by", "gates")
    verdict: str
    #: What decided it, in words.
    decided_by: str
    gates: tuple[Gate, ...]

    def __init__(self, report: _core.Report) -> None:
        super().__init__(report)
        self._set(
            verdict=self._document["verdict"],
            decided_by=self._document["decided_by"],
            gates=tuple(Gate(gate) for gate in self._document["gates"]),
        )

    @property
    def passed(self) -> bool:
        """True if the run passed. An undecided run did not."""
        return self.verdict == "pass"

    @property
    def failed(self) -> bool:
        """True if the run failed. An undecided run did not."""
        return self.verdict == "fail"

    @property
    def undecided(self) -> bool:
        """True if the results do not decide."""
        return self.verdict == "undecided"

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values: ask for `.passed`, `.failed` or `.undecided`")

    def raise_for_status(self) -> None:
        """Raises `GateFailed` if the run failed, and `GateUndecided` if the results do not decide."""
        if self.failed:
            raise GateFailed(f"the run failed: {self.decided_by}", self)
        if not self.passed:
            raise GateUndecided(f"the run is undecided: {self.decided_by}", self)

    def to_markdown(self) -> str:
        """Markdown, for a pull request."""
        return self._report.markdown() or ""

    def to_junit(self) -> str:
        """JUnit, for a CI server."""
        return self._report.junit() or ""

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for gate in self.gates:
            figure = _row(gate.figure)
            names = ("value", "lower", "upper", "level", "n", "missing", "undefined", "caveats")
            about = {"metric": gate.metric, "verdict": gate.verdict, "blocking": gate.level == "blocking"}
            more = {"rule": gate.rule, "reason": gate.reason, "margin": gate.margin}
            rows.append({**about, **more, **{name: figure[name] for name in names}})
        return rows


class Change(_AboutFigure):
    """What became of one metric between two runs."""

    __slots__ = ("metric", "run", "against", "verdict", "sentence", "figure", "candidate", "baseline", "p", "adjusted")
    metric: str
    run: str
    against: str
    verdict: str
    sentence: str
    #: The change itself, with its interval.
    figure: Figure
    candidate: Figure
    baseline: Figure
    p: float | None
    adjusted: float | None

    def __init__(self, run: str, against: str, document: dict[str, Any]) -> None:
        test = document.get("test") or {}
        metric = document["metric"]
        self._set(
            metric=metric,
            run=run,
            against=against,
            verdict=document["verdict"],
            sentence=document["sentence"],
            figure=Figure(metric, document["change"]),
            candidate=Figure(metric, document["candidate"], run=run),
            baseline=Figure(metric, document["baseline"], run=against),
            p=test.get("p"),
            adjusted=test.get("adjusted"),
        )


class Comparison(_Report):
    """What changed between runs: `regressed`, `not_regressed` or `undecided`."""

    __slots__ = ("verdict", "changes")
    verdict: str
    changes: tuple[Change, ...]

    def __init__(self, report: _core.Report) -> None:
        super().__init__(report)
        changes: list[Change] = []
        for comparison in self._document["comparisons"]:
            runs = comparison["candidate"], comparison["baseline"]
            names = [run["name"] if isinstance(run, dict) else run for run in runs]
            changes.extend(Change(names[0], names[1], metric) for metric in comparison["metrics"])
        self._set(verdict=self._document["verdict"], changes=tuple(changes))

    def __getitem__(self, metric: str) -> Change:
        found = [change for change in self.changes if change.metric == metric]
        if len(found) == 1:
            return found[0]
        known = ", ".join(dict.fromkeys(change.metric for change in self.changes)) or "none"
        what = "is not compared" if not found else "is compared with several runs: look in `changes`"
        raise KeyError(f"{metric!r} {what}; the metrics are {known}")

    def __bool__(self) -> bool:
        raise TypeError("a comparison has three answers: look at `.verdict`")

    def raise_for_status(self) -> None:
        """Raises `RegressionError` if a metric regressed."""
        if self.verdict == "regressed":
            sentences = [change.sentence for change in self.changes if change.verdict == "regressed"]
            raise RegressionError("; ".join(sentences) or "a metric regressed", self)

    def to_markdown(self) -> str:
        """Markdown, for a pull request."""
        return self._report.markdown() or ""

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for change in self.changes:
            figure = _row(change.figure)
            about = {"metric": change.metric, "run": change.run, "against": change.against, "verdict": change.verdict}
            numbers = {"candidate": change.candidate.value, "baseline": change.baseline.value}
            names = ("value", "lower", "upper", "level", "n", "missing", "undefined", "caveats")
            test = {"p": change.p, "adjusted": change.adjusted}
            rows.append({**about, **numbers, **{name: figure[name] for name in names}, **test})
        return rows


class PlanReport(_Report):
    """How many samples the next run needs."""

    __slots__ = ("answers", "samples")
    #: The answers, in words.
    answers: tuple[str, ...]
    #: How many samples each question needs: `interval`, `gate`, `paired` and `unpaired`; None where that cannot be said.
    samples: dict[str, int | None]

    def __init__(self, report: _core.Report) -> None:
        super().__init__(report)
        document = self._document
        samples = {}
        for name in ("interval", "paired", "unpaired"):
            if document.get(name) is not None:
                samples[name] = document[name]["samples"]
        if document.get("gate") is not None:
            samples["gate"] = document["gate"]["stable"]
        self._set(answers=tuple(document["answers"]), samples=samples)

    def _rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self._document["table"]]


class JudgeReport(_Report):
    """How well a judge agrees with people, and its rate corrected by their labels."""

    __slots__ = ("figures",)
    #: The figures of all samples, by name: `agreement`, `kappa`, `corrected` and so on.
    figures: dict[str, Figure]

    def __init__(self, report: _core.Report) -> None:
        super().__init__(report)
        whole = self._document["all"]
        parts = {name: part for name, part in whole.items() if isinstance(part, dict) and "estimate" in part}
        self._set(figures={name: Figure(name, part) for name, part in parts.items()})

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def to_markdown(self) -> str:
        """Markdown, for a pull request."""
        return self._report.markdown() or ""

    def _rows(self) -> list[dict[str, Any]]:
        return [_row(figure) for figure in self.figures.values()]


class Page(_Frozen):
    """A page in one file, for a browser."""

    __slots__ = ("html",)
    html: str

    def __init__(self, html: str) -> None:
        self._set(html=html)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.html)
        except OSError as error:
            place = f"writing {os.fspath(path)}"
            raise UsageError(f"the page cannot be written: {error.strerror}", place=place, hint="name a file, such as `report.html`") from error

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<Page of {len(self.html)} characters>"

    def _repr_html_(self) -> str:
        escaped = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{escaped}" style="width: 100%; height: 70vh; border: 0"></iframe>'


class Records(_Frozen):
    """The attempts of runs, as they were read."""

    __slots__ = ("_records", "_sources", "notes", "runs")
    _records: _core.Records
    _sources: tuple[_core.Source, ...]
    #: What was not read, and why.
    notes: tuple[str, ...]
    #: Each run: its source, format, name, task, model, and how many samples and attempts it has.
    runs: tuple[dict[str, Any], ...]

    def __init__(self, records: _core.Records, sources: list[_core.Source]) -> None:
        self._set(_records=records, _sources=tuple(sources), notes=tuple(records.notes), runs=tuple(records.runs()))

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are not pickled: keep `to_columns()`, which every question takes")

    def __len__(self) -> int:
        return len(self._records)

    def to_columns(self) -> dict[str, list[Any]]:
        """One list per column, with None where a record has nothing."""
        return self._records.columns()

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict per attempt."""
        columns = self.to_columns()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per attempt, as a frame of pandas."""
        import pandas

        return pandas.DataFrame(self.to_columns())

    def to_polars(self) -> polars.DataFrame:
        """One row per attempt, as a frame of polars."""
        import polars

        return polars.DataFrame(self.to_columns(), strict=False, infer_schema_length=None)

    def __repr__(self) -> str:
        runs = ", ".join(f"{run['source']}: {run['samples']} samples, {run['attempts']} attempts" for run in self.runs)
        return f"<Records {runs}>"
