"""Makes the files of `cargo xtask bench files`, those that are not there yet:

    file_data.py FOLDER SAMPLES JSON_ROWS PARQUET_ROWS

`log.eval` is written by Inspect AI itself, `log-deflate.eval` has the same members as older versions compressed them,
`rows.jsonl`, `rows.csv` and `rows.parquet` are written by polars with its defaults, and so are `other.jsonl` and
`other.parquet`, other results of the same samples. All is made from fixed seeds. Prints how
many bytes the members of `log.eval` have, and those of its samples alone, as JSON.
"""

import itertools
import json
import random
import sys
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
from inspect_ai.dataset import Sample
from inspect_ai.event import ModelEvent, SampleInitEvent, ScoreEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.log._log import EvalMetricDefinition, EvalScorer
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score

MODEL = "bench/model"
SCORER = "match"
STARTED = datetime(2026, 1, 1, tzinfo=timezone.utc)
SYSTEM = "You are a careful assistant. Think step by step and give the answer alone on the last line."
TOPICS = [f"topic-{number}" for number in range(20)]
CLUSTERS = 50_000


def words_of_a_language(draw):
    """Made-up words. Which of them are frequent follows Zipf, so that text compresses about as well as English."""
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "ou")]
    words = ["".join(draw.choices(syllables, k=draw.choice((1, 2, 2, 3)))) for _ in range(4000)]
    return words, list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))


def text(draw, language, length):
    words, frequencies = language
    return " ".join(draw.choices(words, cum_weights=frequencies, k=length))


def sample(number, draw, language):
    """One sample of a question-answering task: 6 to 7 KB of JSON, as Inspect writes it."""
    question = text(draw, language, draw.randint(40, 60))
    target, reasoning = str(draw.randint(0, 999)), text(draw, language, draw.randint(66, 80))
    is_correct = draw.random() < 0.3 + 0.02 * (number % 20)
    answer = target if is_correct else str(draw.randint(1000, 1999))
    start = STARTED + timedelta(seconds=number)
    metadata = {
        "topic": draw.choice(TOPICS),
        "cluster": f"passage-{draw.randrange(4000)}",
        "difficulty": draw.choice(["easy", "medium", "hard"]),
        "source": f"collection/{number // 100}.json",
        "length": len(question),
    }
    asked = [
        ChatMessageSystem(id=f"s{number}", content=SYSTEM),
        ChatMessageUser(id=f"u{number}", content=question, source="input"),
    ]
    said = ChatMessageAssistant(
        id=f"a{number}", content=f"{reasoning}\n\nANSWER: {answer}", model=MODEL, source="generate"
    )
    usage = ModelUsage(input_tokens=len(question) // 4, output_tokens=len(reasoning) // 4)
    usage.total_tokens = usage.input_tokens + usage.output_tokens
    seconds = round(draw.uniform(0.5, 8), 3)
    output = ModelOutput(
        model=MODEL, choices=[ChatCompletionChoice(message=said, stop_reason="stop")], usage=usage, time=seconds
    )
    score = Score(value="C" if is_correct else "I", answer=answer, explanation=said.text)
    config = GenerateConfig(temperature=0.7, max_tokens=1024)
    events = [
        SampleInitEvent(sample=Sample(input=question, target=target, id=f"q{number}", metadata=metadata), state={}),
        ModelEvent(model=MODEL, input=asked, tools=[], tool_choice="none", config=config, output=output),
        ScoreEvent(score=score, target=target, scorer=SCORER),
    ]
    for place, event in enumerate(events):
        event.uuid, event.span_id = f"e{number}-{place}", f"span{number}"
        event.timestamp, event.working_start = start + timedelta(seconds=place), float(place)
    return EvalSample(
        id=f"q{number}",
        epoch=1,
        uuid=f"sample{number}",
        input=question,
        target=target,
        messages=[*asked, said],
        output=output,
        scores={SCORER: score},
        metadata=metadata,
        events=events,
        model_usage={MODEL: usage},
        started_at=start.isoformat(),
        completed_at=(start + timedelta(seconds=seconds)).isoformat(),
        total_time=seconds,
        working_time=seconds,
    )


def write_log(path, samples):
    draw = random.Random(1)
    language = words_of_a_language(draw)
    metrics = [EvalMetricDefinition(name=f"inspect_ai/{name}", options={}) for name in ("accuracy", "stderr")]
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            eval_id="bench",
            run_id="bench",
            created=STARTED.isoformat(),
            task="questions",
            task_id="questions",
            dataset=EvalDataset(name="questions", samples=samples),
            model=MODEL,
            config=EvalConfig(epochs=1),
            scorers=[EvalScorer(name=SCORER, options={}, metrics=metrics)],
        ),
        plan=EvalPlan(steps=[EvalPlanStep(solver="generate")]),
        stats=EvalStats(started_at=STARTED.isoformat(), completed_at=STARTED.isoformat()),
        samples=[sample(number, draw, language) for number in range(samples)],
    )
    recompute_metrics(log)
    write_eval_log(log, str(path))


def write_deflated(path, log):
    with zipfile.ZipFile(log) as members, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as deflated:
        for member in members.infolist():
            deflated.writestr(member.filename, members.read(member))


def rows(count, seed=1):
    """A table of results. Scores have two digits, as those of a rubric; `tokens` and `note` are never asked for."""
    draw = np.random.default_rng(seed)
    cluster = draw.integers(0, CLUSTERS, count)
    numbers = {
        "id": np.arange(count),
        "score": np.clip(draw.normal(0.3 + 0.4 * (cluster % 7) / 7, 0.2, count), 0, 1).round(2),
        "model": draw.integers(0, 8, count),
        "task": draw.integers(0, 20, count),
        "cluster": cluster,
        "latency_ms": draw.gamma(2, 400, count).round(1),
        "tokens": draw.integers(20, 4000, count),
        "note": draw.integers(0, 1_000_000, count),
    }
    named = {"id": "q{}", "model": "model-{}", "task": "task-{}", "cluster": "doc-{}", "note": "batch {}, first try"}
    return pl.DataFrame(numbers).with_columns(pl.format(form, name).alias(name) for name, form in named.items())


def make(path, write):
    """Has `path` written, unless it is there. A file that is there is whole."""
    if path.exists():
        return
    print(f"making {path.name} ...", file=sys.stderr)
    partial = path.with_name(f"partial-{path.name}")
    write(partial)
    partial.replace(path)


def inflated(log):
    with zipfile.ZipFile(log) as archive:
        sizes = {member.filename: member.file_size for member in archive.infolist()}
    samples = sum(size for name, size in sizes.items() if name.startswith("samples/"))
    return {"members": sum(sizes.values()), "samples": samples}


def main():
    folder = Path(sys.argv[1])
    samples, json_rows, parquet_rows = map(int, sys.argv[2:])
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log.eval"
    make(log, lambda path: write_log(path, samples))
    make(folder / "log-deflate.eval", lambda path: write_deflated(path, log))
    make(folder / "ten.jsonl", lambda path: rows(10).write_ndjson(path))
    make(folder / "rows.jsonl", lambda path: rows(json_rows).write_ndjson(path))
    make(folder / "rows.csv", lambda path: rows(json_rows).write_csv(path))
    make(folder / "rows.parquet", lambda path: rows(parquet_rows).write_parquet(path))
    make(folder / "other.jsonl", lambda path: rows(json_rows, 2).write_ndjson(path))
    make(folder / "other.parquet", lambda path: rows(parquet_rows, 2).write_parquet(path))
    print(json.dumps(inflated(log)))


main()
