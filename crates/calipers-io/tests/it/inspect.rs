//! Inspect logs: what is read of them, that their own figures come out again, and what becomes of damaged ones.

use crate::archives::{Entry, Method, archive, deflate};
use calipers_core::{Metric, MetricSpec, Plan, Reducer, Registry, Results, Value};
use calipers_io::{ReadError, RecordedMetric, RecordedRun, Source, read};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats/inspect").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

fn log(name: &str) -> RecordedRun {
    let mut runs = read(&Source::path(path(name)), None).unwrap();
    assert_eq!(runs.len(), 1);
    let run = runs.remove(0);
    assert_eq!(run.format, "inspect");
    run
}

fn read_as(name: &str, bytes: impl Into<Vec<u8>>) -> Result<RecordedRun, ReadError> {
    read(&Source::bytes(name, bytes.into()), None).map(|mut runs| runs.remove(0))
}

fn record_error(name: &str, bytes: impl Into<Vec<u8>>) -> String {
    read_as(name, bytes).unwrap_err().to_string()
}

/// The metrics that a log records, made again.
fn specs(recorded: &[RecordedMetric]) -> Vec<MetricSpec> {
    let registry = Registry::builtin().as_logged();
    let made = |metric: &RecordedMetric| -> Metric {
        let RecordedMetric::Named { name, params } = metric else { panic!("metrics by key do not nest") };
        registry.metric(name, params).unwrap()
    };
    let spec = |metric: &RecordedMetric| match metric {
        RecordedMetric::Named { .. } => MetricSpec::One(made(metric)),
        RecordedMetric::Custom { name, .. } => panic!("`{name}` is not a custom metric"),
        RecordedMetric::Keyed(keys) => {
            let keys = keys.iter().map(|(key, metrics)| (key.clone(), metrics.iter().map(made).collect()));
            MetricSpec::Keyed(keys.collect())
        }
    };
    recorded.iter().map(spec).collect()
}

/// The log measured as it says it was measured.
fn measure(run: &RecordedRun) -> Results {
    let mut plan = Plan::new();
    for scorer in &run.recorded.scorers {
        plan = plan.scorer(scorer.name.as_str(), specs(&scorer.metrics));
    }
    if let Some(reducers) = &run.recorded.reducers {
        let reducer = |name: &String| match (run.task.as_deref(), &**name) {
            // The task has `pass_at(2, value=0.5)`. Logs do not record the threshold: Inspect, too, takes 1 when it
            // computes this log again, and gets another figure than it wrote.
            (Some("dict_epochs"), "pass_at_2") => Reducer::parse(name).unwrap().value(0.5),
            _ => Reducer::parse(name).unwrap(),
        };
        plan = plan.reducers(reducers.iter().map(reducer));
    }
    plan.inspect_compatible().measure(&run.samples).unwrap()
}

#[test]
fn every_figure_of_inspect_comes_out_again() {
    for name in ["multi_scorer", "dict_epochs"] {
        let summary: Json = serde_json::from_slice(&bytes(&format!("{name}.summary.json"))).unwrap();
        for ending in ["eval", "json"] {
            let run = log(&format!("{name}.{ending}"));
            assert_eq!(run.notes, Vec::<String>::new());
            let results = measure(&run);
            assert_eq!(results.attempts, summary["total_samples"]);
            assert_eq!(results.completed_attempts, summary["completed_samples"]);
            let expected = summary["scores"].as_array().unwrap();
            assert_eq!(results.scores.len(), expected.len());
            for (found, want) in results.scores.iter().zip(expected) {
                let place = format!("{name}.{ending}: {} {:?}", found.name, found.reducer);
                assert_eq!(found.name, want["name"], "{place}");
                assert_eq!(found.scorer.as_deref(), want["scorer"].as_str(), "{place}");
                // Ours says the threshold that the task has.
                let reducer = found.reducer.as_deref().map(|name| name.replace("pass_at(2, value=0.5)", "pass_at_2"));
                assert_eq!(reducer.as_deref(), want["reducer"].as_str(), "{place}");
                assert_eq!(found.scored_samples, want["scored_samples"], "{place}");
                assert_eq!(found.unscored_samples, want["unscored_samples"], "{place}");
                let metrics = want["metrics"].as_object().unwrap();
                assert!(found.metrics.keys().eq(metrics.keys()), "{place}");
                for (metric, want) in metrics {
                    let found = found.metrics[metric].figure.inspect_value();
                    let want = want.as_f64().unwrap();
                    // The last bit of a sum may differ; Inspect's figures are not correctly rounded.
                    assert!(
                        (found - want).abs() <= 4.0 * f64::EPSILON * want.abs(),
                        "{place} {metric}: {found} {want}"
                    );
                }
            }
        }
    }
}

#[test]
fn unscored_errored_clustered_and_grouped_figures_come_out_again() {
    for name in ["edges.eval", "edges.json"] {
        let run = log(name);
        assert_eq!((run.samples.len(), run.samples.attempts(), run.samples.errored_attempts()), (8, 24, 1), "{name}");
        assert_eq!(run.notes, Vec::<String>::new());
        let results = measure(&run);
        let mut found = results.scores.iter().flat_map(|score| {
            let scorer = score.scorer.as_deref().unwrap_or_default();
            score.metrics.iter().map(move |(key, metric)| (scorer, score, key, metric.figure.inspect_value()))
        });
        for want in &run.recorded.figures {
            let (scorer, score, key, value) = found.next().unwrap();
            assert_eq!(
                (scorer, &score.name, &score.reducer, key),
                (&*want.scorer, &want.score, &want.reducer, &want.metric)
            );
            let wanted = want.value.unwrap();
            assert!((value - wanted).abs() <= 8.0 * f64::EPSILON * wanted.abs(), "{want:?}: {value}");
        }
        assert!(found.next().is_none());
        let part = |name: &str| results.scores.iter().find(|score| score.name == name).unwrap();
        assert_eq!((part("b").scored_samples, part("b").unscored_samples), (7, 1));
    }
}

#[test]
fn the_figures_in_a_log_are_those_of_its_summary() {
    for name in ["multi_scorer", "dict_epochs"] {
        let summary: Json = serde_json::from_slice(&bytes(&format!("{name}.summary.json"))).unwrap();
        for ending in ["eval", "json"] {
            let mut figures = log(&format!("{name}.{ending}")).recorded.figures.into_iter();
            for score in summary["scores"].as_array().unwrap() {
                for (metric, value) in score["metrics"].as_object().unwrap() {
                    let figure = figures.next().unwrap();
                    assert_eq!((&figure.score, &figure.metric), (&score["name"].as_str().unwrap().into(), metric));
                    assert_eq!(
                        (&figure.scorer[..], &figure.reducer.as_deref()),
                        (score["scorer"].as_str().unwrap(), &score["reducer"].as_str())
                    );
                    assert_eq!(figure.value, value.as_f64());
                }
            }
            assert_eq!(figures.next(), None);
        }
    }
}

#[test]
fn several_scorers_are_read_with_what_they_said() {
    for ending in ["eval", "json"] {
        let run = log(&format!("multi_scorer.{ending}"));
        assert_eq!((run.task.as_deref(), run.model.as_deref()), (Some("multi_scorer"), Some("mockllm/model")));
        assert_eq!((run.samples.len(), run.samples.attempts(), run.samples.errored_attempts()), (6, 6, 0));
        let scorers: Vec<&str> = run.samples.scorers().map(|name| &**name).collect();
        assert_eq!(scorers, ["match", "match1", "includes", "pattern", "exact", "f1"]);
        let recorded: Vec<&str> = run.recorded.scorers.iter().map(|scorer| &*scorer.name).collect();
        assert_eq!(recorded, scorers);
        let fields: Vec<&str> = run.samples.fields().map(|name| &**name).collect();
        assert_eq!(fields, ["latency_ms", "working_time_ms", "tokens_used"]);
        assert_eq!(run.recorded.reducers, None);
        let first = run.samples.points("match").unwrap().get(0);
        assert_eq!(first.score.value, Value::from("C"));
        assert_eq!(first.score.answer.as_deref(), Some("The answer is 4"));
        assert_eq!(first.sample_metadata.get("topic"), Some(&"math".into()));
    }
}

#[test]
fn epochs_and_map_scores_are_read() {
    for ending in ["eval", "json"] {
        let run = log(&format!("dict_epochs.{ending}"));
        assert_eq!((run.samples.len(), run.samples.attempts()), (6, 30));
        let reducers = ["mean", "median", "mode", "max", "at_least_2", "pass_at_3", "pass_k_2", "pass_at_2"];
        assert_eq!(run.recorded.reducers.unwrap(), reducers);
        let RecordedMetric::Keyed(keys) = &run.recorded.scorers[0].metrics[0] else { panic!("they are by key") };
        let names: Vec<&str> = keys.iter().map(|(key, _)| &**key).collect();
        assert_eq!(names, ["*", "help*", "safe"]);
        let want = RecordedMetric::Named { name: "accuracy".into(), params: Value::Map(Vec::new()) };
        assert_eq!(keys[2].1, [want]);
    }
}

#[test]
fn the_smallest_logs_are_read_whatever_their_compression() {
    for name in ["min_stored.eval", "min_deflate.eval", "min_zstd.eval", "min_summ.eval", "min.json"] {
        let run = log(name);
        assert_eq!((run.samples.len(), run.samples.scorers().count()), (1, 0), "{name}");
        assert_eq!((run.task.as_deref(), run.model.as_deref()), (Some("t"), Some("m")), "{name}");
        assert_eq!(run.notes, Vec::<String>::new(), "{name}");
    }
    let run = log("2026-01-01T00-00-00+00-00_t_abc.eval");
    assert_eq!((run.samples.len(), run.recorded.figures.len()), (1, 1));
    assert_eq!(measure(&run).figure("match", "accuracy").unwrap().inspect_value(), 1.0);
}

#[test]
fn a_log_without_a_header_says_that_it_is_not_finished() {
    let run = log("min_nohdr.eval");
    assert_eq!(run.samples.len(), 1);
    assert_eq!(run.notes, ["the log has no header: the evaluation is still running, or it was cut short"]);
}

#[test]
fn bare_nan_is_unscored_and_null_in_a_map_is_not() {
    let run = log("nan.json");
    let value = |scorer: &str| run.samples.points(scorer).unwrap().get(0).score.value;
    assert_eq!(value("m"), Value::Missing);
    assert_eq!(value("d"), Value::from([("a", Value::Missing), ("b", Value::Null), ("c", 1.into())]));
    assert_eq!(value("l"), Value::List(vec![1.into(), "x".into(), true.into()]));
    let plan = Plan::new().metrics([calipers_core::accuracy()]).inspect_compatible();
    let score = plan.measure(&run.samples).unwrap().scores.into_iter().find(|score| score.name == "m").unwrap();
    assert_eq!((score.scored_samples, score.unscored_samples), (0, 1));
}

#[test]
fn scores_that_inspect_refuses_are_refused_by_name() {
    for (name, want) in [
        ("null.json", "the score of scorer `m` on sample `1` (epoch 1) is null"),
        ("nulll.json", "the score of scorer `m` on sample `1` (epoch 1) holds a null inside a list"),
        ("nest.json", "the score of scorer `m` on sample `1` (epoch 1) holds a map inside a map"),
    ] {
        let document = bytes(name);
        let error = record_error(name, document.clone());
        assert!(
            error.starts_with(want) && error.contains(&format!("in {name}, at `samples[0]`\n  hint: Inspect")),
            "{error}"
        );
        // The same sample in an archive.
        let document: Json = serde_json::from_slice(&document).unwrap();
        let sample = serde_json::to_vec(&document["samples"][0]).unwrap();
        let error = record_error("x.eval", archive(&[Entry::new("samples/1_epoch_1.json", &sample)]));
        assert!(error.starts_with(want), "{error}");
        assert!(error.contains("in x.eval, member `samples/1_epoch_1.json`\n  hint: Inspect"), "{error}");
    }
}

fn sample(id: impl Into<Json>, epoch: u32, value: impl Into<Json>) -> Vec<u8> {
    let score = json!({"value": value.into()});
    serde_json::to_vec(&json!({"id": id.into(), "epoch": epoch, "input": "q", "scores": {"m": score}})).unwrap()
}

fn header(extra: Json) -> Vec<u8> {
    let mut header = json!({"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "created": "now"}});
    for (key, value) in extra.as_object().unwrap() {
        header[key] = value.clone();
    }
    serde_json::to_vec(&header).unwrap()
}

#[test]
fn the_last_of_members_with_one_name_counts() {
    let run = read_as(
        "x.eval",
        archive(&[
            Entry::new("header.json", &header(json!({"status": "started"}))),
            Entry::new("samples/1_epoch_1.json", &sample(1, 1, 0)),
            Entry::new("samples/1_epoch_1.json", &sample(1, 1, 1)),
            Entry::new("header.json", &header(json!({}))),
        ]),
    )
    .unwrap();
    assert_eq!((run.samples.attempts(), run.notes.len()), (1, 0));
    assert_eq!(run.samples.points("m").unwrap().get(0).score.value, Value::from(1));
}

#[test]
fn samples_come_in_the_order_of_inspect_however_they_are_stored() {
    let ids = [json!(10), json!("b"), json!(2), json!("a"), json!(-1)];
    let entries: Vec<Entry> = (1..=2)
        .rev()
        .flat_map(|epoch| {
            ids.iter()
                .map(move |id| Entry::new(&format!("samples/{id}_epoch_{epoch}.json"), &sample(id.clone(), epoch, 1)))
        })
        .collect();
    let run = read_as("x.eval", archive(&entries)).unwrap();
    let points = run.samples.points("m").unwrap();
    let order: Vec<String> = (0..points.len()).map(|row| points.get(row).sample_id.to_string()).collect();
    assert_eq!(order[..5], ["-1", "2", "10", "a", "b"]);
    assert_eq!(order[5..], order[..5]);
}

#[test]
fn a_sample_stored_in_parts_is_put_together() {
    let run = read_as(
        "x.eval",
        archive(&[
            Entry::new("samples/a/b_epoch_1/events/0.json", b"[1]"),
            Entry::new("samples/a/b_epoch_1/metadata.json", br#"{"topic": "x"}"#),
            Entry::new("samples/a/b_epoch_1/sample.json", &sample("a/b", 1, 1)),
            Entry::new("samples/a/c_epoch_1.json", &sample("a/c", 1, 1)),
            Entry::new("header.json", &header(json!({}))),
        ]),
    )
    .unwrap();
    assert_eq!(run.samples.attempts(), 2);
    let first = run.samples.points("m").unwrap().get(0);
    assert_eq!((first.sample_id.to_string(), first.sample_metadata.get("topic")), ("a/b".into(), Some(&"x".into())));
}

#[test]
fn zstd_in_several_frames_and_zip64_sizes_are_read() {
    let sample = sample(1, 1, "C");
    let (one, two) = sample.split_at(20);
    let frames = [zstd::bulk::compress(one, 3).unwrap(), zstd::bulk::compress(two, 3).unwrap()].concat();
    let mut entry = Entry::new("samples/1_epoch_1.json", &sample).stored_as(Method::Zstd, frames);
    assert_eq!(read_as("x.eval", archive(&[entry.clone()])).unwrap().samples.len(), 1);
    entry.zip64 = true;
    assert_eq!(read_as("x.eval", archive(&[entry])).unwrap().samples.len(), 1);
}

#[test]
fn old_documents_are_read() {
    let document = json!({
        "version": 1,
        "status": "success",
        "eval": {"task": "old", "created": "2024", "model": "m", "config": {}},
        "results": {
            "scorer": {"name": "match", "params": {}},
            "metrics": {"accuracy": {"name": "accuracy", "value": 0.5, "options": {}}},
            "sample_reductions": [1, 2, 3],
        },
        "samples": [
            {"id": 1, "epoch": 1, "score": {"value": "C", "answer": "x"}, "transcript": {"events": []}},
            {"id": 2, "epoch": 1, "score": {"value": "I"}},
        ],
    });
    let run = read_as("old.json", document.to_string()).unwrap();
    assert_eq!(run.samples.scorers().map(|name| &**name).collect::<Vec<_>>(), ["match"]);
    assert_eq!(run.recorded.figures[0].value, Some(0.5));
    let found = measure(&run).figure("match", "accuracy").unwrap().inspect_value();
    assert_eq!(found, 0.5);
}

#[test]
fn figures_alone_tell_the_metrics_of_map_scores() {
    let figure = |name: &str| json!({"name": name, "value": 1.0, "params": {}});
    let score = |name: &str, reducer: &str| json!({"name": name, "scorer": "rubric", "reducer": reducer, "metrics": {"mean": figure("mean")}});
    let results = json!({"scores": [score("a", "mean"), score("b", "mean"), score("a", "max"), score("b", "max")]});
    let run = read_as(
        "x.eval",
        archive(&[
            Entry::new("header.json", &header(json!({"results": results}))),
            Entry::new("samples/1_epoch_1.json", &sample(1, 1, json!({"a": 1, "b": 1}))),
        ]),
    )
    .unwrap();
    let mean = vec![RecordedMetric::Named { name: "mean".into(), params: Value::Map(Vec::new()) }];
    assert_eq!(
        run.recorded.scorers[0].metrics,
        [RecordedMetric::Keyed(vec![("a".into(), mean.clone()), ("b".into(), mean)])]
    );
    assert_eq!(run.recorded.figures.len(), 4);
}

#[test]
fn metrics_are_recorded_with_their_parameters_and_the_tasks_own() {
    let grouped = json!({"name": "inspect_ai/grouped", "options": {
        "metric": {"type": "metric", "name": "inspect_ai/accuracy", "params": {}}, "group_key": "topic"}});
    let eval = json!({"task": "t", "model": "m", "created": "now",
        "config": {"epochs_reducer": []},
        "metrics": [{"name": "inspect_ai/std", "options": {}}],
        "scorers": [{"name": "pack/judge", "metrics": [grouped, {"x*": [{"name": "mean"}]}]}, {"name": "judge"}]});
    let mut one: Json = serde_json::from_slice(&sample(1, 1, "C")).unwrap();
    one["scores"] = json!({"judge": {"value": "C"}, "judge-1": {"value": "C"}, "solver": {"value": 1}});
    one["metadata"] = json!({"topic": "a"});
    let document = json!({"version": 2, "eval": eval, "samples": [one]});
    let run = read_as("x.json", document.to_string()).unwrap();
    let names: Vec<&str> = run.recorded.scorers.iter().map(|scorer| &*scorer.name).collect();
    assert_eq!(names, ["judge", "judge-1", "solver"]);
    assert_eq!(run.recorded.reducers, Some(Vec::new()));
    assert!(matches!(&run.recorded.scorers[0].metrics[1], RecordedMetric::Keyed(keys) if keys[0].0 == "x*"));
    assert!(matches!(&run.recorded.scorers[2].metrics[0], RecordedMetric::Named { name, .. } if name == "std"));
    specs(&run.recorded.scorers[0].metrics);
}

#[test]
fn errored_samples_count_as_errored_and_keep_their_scores() {
    let mut one: Json = serde_json::from_slice(&sample(1, 1, "C")).unwrap();
    one["error"] = json!({"message": "boom", "traceback": "…", "traceback_ansi": "…"});
    one["limit"] = json!({"type": "token", "limit": 100});
    let document = json!({"status": "error", "error": {"message": "boom\n"}, "eval": {"task": "t", "created": "now"},
        "results": {"total_samples": 4}, "samples": [one]});
    let run = read_as("x.json", document.to_string()).unwrap();
    assert_eq!((run.samples.errored_attempts(), run.samples.points("m").unwrap().len()), (1, 1));
    assert_eq!(run.samples.fields().map(|name| &**name).collect::<Vec<_>>(), ["limit"]);
    assert_eq!(run.notes, ["the evaluation ended in an error: boom"]);
    let completeness = run.completeness.unwrap();
    assert_eq!((completeness.samples, completeness.samples_expected, completeness.never_ran.len()), (1, 4, 3));
    assert!(!completeness.has_names, "the log lists none");
}

#[test]
fn a_damaged_member_is_left_out_and_named() {
    let good = sample(1, 1, "C");
    let mut bad = Entry::new("samples/2_epoch_1.json", &sample(2, 1, "C"));
    bad.crc ^= 1;
    let header = Entry::new("header.json", &header(json!({})));
    let run = read_as("x.eval", archive(&[Entry::new("samples/1_epoch_1.json", &good), bad.clone(), header.clone()]))
        .unwrap();
    assert_eq!(run.samples.len(), 1);
    assert_eq!(
        run.notes,
        ["1 damaged member left out: `samples/2_epoch_1.json` (its checksum is wrong); \
        copy the log again from where it was written"]
    );
    let error = record_error("x.eval", archive(&[bad, header]));
    let want =
        "no sample can be read: its checksum is wrong\n  in x.eval, member `samples/2_epoch_1.json`\n  hint: the file";
    assert!(error.starts_with(want), "{error}");
}

#[test]
fn an_archive_that_was_cut_off_gives_what_is_whole() {
    let whole = bytes("dict_epochs.eval");
    let run = read_as("x.eval", &whole[..whole.len() * 2 / 3]).unwrap();
    assert_eq!(run.task.as_deref(), Some("dict_epochs"));
    assert!((10..30).contains(&run.samples.attempts()), "{}", run.samples.attempts());
    assert_eq!(run.notes.len(), 2, "{:?}", run.notes);
    assert!(run.notes[1].starts_with("the archive is cut off or its directory is damaged"), "{:?}", run.notes);
    let error = record_error("x.eval", &whole[..700]);
    assert!(error.starts_with("not a whole ZIP archive") && error.contains("hint: the file is cut off"), "{error}");
}

#[test]
fn archives_of_other_things_are_not_taken_for_logs() {
    let other = archive(&[Entry::new("xl/workbook.xml", b"<x/>")]);
    assert!(record_error("book.xlsx", other.clone()).starts_with("the file is a spreadsheet, which is not read"));
    let error = record_error("x.eval", other);
    assert!(error.starts_with("the archive has neither `header.json` nor samples"), "{error}");
    let error = record_error("x.eval", b"\0\0garbage".to_vec());
    assert!(error.starts_with("the content is neither a ZIP archive nor JSON"), "{error}");
    let error = record_error("x.eval", archive(&[]));
    assert!(error.starts_with("the archive has neither"), "{error}");
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let started = Instant::now();
    let bomb = vec![b' '; 40 << 20];
    for (name, entry) in [
        ("claims too much", {
            let mut entry = Entry::new("samples/1_epoch_1.json", b"{}").stored_as(Method::Deflate, deflate(b"{}"));
            entry.size = u32::MAX - 1;
            entry
        }),
        ("claims more than deflate can", {
            let mut entry = Entry::new("samples/1_epoch_1.json", b"{}").stored_as(Method::Deflate, deflate(b"{}"));
            entry.size = 100 << 20;
            entry
        }),
        ("claims too little", {
            let mut entry = Entry::new("samples/1_epoch_1.json", &bomb).stored_as(Method::Deflate, deflate(&bomb));
            entry.size = 10;
            entry
        }),
        ("claims too little, zstd", {
            let packed = zstd::bulk::compress(&bomb, 3).unwrap();
            let mut entry = Entry::new("samples/1_epoch_1.json", &bomb).stored_as(Method::Zstd, packed);
            entry.size = 10;
            entry
        }),
        ("claims too much, zstd", {
            let packed = zstd::bulk::compress(&bomb, 3).unwrap();
            let mut entry = Entry::new("samples/1_epoch_1.json", &bomb).stored_as(Method::Zstd, packed);
            entry.size = 1 << 30;
            entry
        }),
    ] {
        let error = record_error("x.eval", archive(&[entry]));
        let is_refused = error.contains("no sample can be read") || error.contains("expands beyond the limit");
        assert!(is_refused && error.contains("hint"), "{name}: {error}");
    }
    // Much space that is there in truth is read, and turns out not to be a sample.
    let packed = zstd::bulk::compress(&bomb, 3).unwrap();
    let error =
        record_error("x.eval", archive(&[Entry::new("samples/1_epoch_1.json", &bomb).stored_as(Method::Zstd, packed)]));
    assert!(error.starts_with("not a sample: it ends within itself"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn wrong_content_is_refused_with_its_place() {
    let with = |member: &[u8]| {
        archive(&[Entry::new("header.json", &header(json!({}))), Entry::new("samples/1_epoch_1.json", member)])
    };
    for (member, want) in [
        (&b"[1, 2]"[..], "not a sample: expected a map with `id` and `epoch`"),
        (b"{\"id\": 1, \"epoch\": 1, \"scores\": {\"m\": 5}}", "expected a score, which is a map"),
        (
            b"{\"id\": 1, \"epoch\": 1, \"scores\": {\"m\": {\"value\": 1e999}}}",
            "not a sample: `scores`: number out of range",
        ),
        (b"{\"id\": 1, \"epoch\": 99999999999}", "the `epoch` of sample `1` is `99999999999`"),
        (b"{\"id\": 1, \"epoch\": 1, \"metadata\": [1]}", "expected a map"),
        (b"{\"id\": \"\xff\", \"epoch\": 1}", "not a sample: `id`: invalid unicode code point"),
        (b"{\"id\": 123456789012345678901234567890, \"epoch\": 1}", "the `id` of the sample is a number"),
        (b"", "not a sample: it ends within itself"),
    ] {
        let error = record_error("x.eval", with(member));
        assert!(error.contains(want), "{error}");
        assert!(error.contains("in x.eval, member `samples/1_epoch_1.json`\n  hint: "), "{error}");
    }
    let deep = format!("{{\"id\": 1, \"epoch\": 1, \"events\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read_as("x.eval", with(deep.as_bytes())).unwrap().samples.len(), 1);
    let deep = deep.replace("events", "metadata");
    assert!(record_error("x.eval", with(deep.as_bytes())).contains("not a sample"));
    let huge =
        br#"{"id": 1, "epoch": 4294967295, "scores": {"m": {"value": 1e308}, "n": {"value": 99999999999999999999}}}"#;
    assert_eq!(read_as("x.eval", with(huge)).unwrap().samples.len(), 1);
    let error = record_error("x.eval", archive(&[Entry::new("header.json", b"{\"eval\": 5}")]));
    assert!(error.starts_with("not the header of a log: invalid type: integer `5`"), "{error}");
    assert!(error.contains("in x.eval, member `header.json`\n  hint: "), "{error}");
}

#[test]
fn of_several_wrong_samples_the_first_is_reported() {
    let null = |id: usize| sample(id, 1, Json::Null);
    let entries: Vec<Entry> =
        (0..2000).map(|id| Entry::new(&format!("samples/{id}_epoch_1.json"), &null(id))).collect();
    let samples: Vec<String> = (0..2000).map(|id| String::from_utf8(null(id)).unwrap()).collect();
    let document =
        format!("{{\"eval\": {{\"task\": \"t\", \"created\": \"now\"}}, \"samples\": [{}]}}", samples.join(","));
    for _ in 0..20 {
        assert!(record_error("x.eval", archive(&entries)).contains("on sample `0` (epoch 1)"));
        assert!(record_error("x.json", document.clone()).contains("on sample `0` (epoch 1)"));
    }
}

#[test]
fn wrong_documents_are_refused_with_their_place() {
    let document =
        |samples: &str| format!("{{\"eval\": {{\"task\": \"t\", \"created\": \"now\"}}, \"samples\": {samples}}}\n");
    let one = String::from_utf8(sample(1, 1, 1)).unwrap();
    for (samples, want) in [
        (format!("[{one} {one}]"), "a comma or the end of the list is missing before this"),
        (format!("[{one}, 5]"), "a sample is not a map"),
        (format!("[{one}, {{\"id\": }}]"), "not a sample: expected a value"),
        (format!("[{one}], \"x\": tru"), "not the header of a log: expected ident"),
        (format!("[{one}"), "a comma or the end of the list is missing before this"),
    ] {
        let error = record_error("x.json", document(&samples));
        assert!(error.starts_with(want), "{error}");
    }
    assert!(record_error("x.json", document("[]") + "{}").starts_with("more content follows the log"));
    assert_eq!(read_as("x.json", document(&format!("[{one}]")) + "\n ").unwrap().samples.len(), 1);
    for none in ["null", "[]"] {
        let run = read_as("x.json", document(none)).unwrap();
        assert_eq!(run.notes, ["the log has no samples: only its own figures can be shown"]);
    }
    // Two attempts of one number must agree, unless the first failed to run: then it was run again.
    let other = one.replace(":1}}", ":0}}");
    let error = record_error("x.json", document(&format!("[{one}, {other}]")));
    assert!(error.contains("two different scores by `m`: `1` (at `samples[0]`) and `0` (at `samples[1]`)"), "{error}");
    let failed = one.replacen('{', "{\"error\": {\"message\": \"boom\"}, ", 1);
    for (first, value) in [(&one, 1), (&failed, 0)] {
        let later = if value == 0 { &other } else { &one };
        let twice = read_as("x.json", document(&format!("[{first}, {later}]"))).unwrap();
        assert_eq!(twice.samples.points("m").unwrap().get(0).score.value, Value::from(value));
        assert_eq!(twice.notes, ["1 attempt left out: the log has them again, and the later one counts"]);
    }
    let escaped = document(&format!("[{}]", one.replace("\"q\"", r#""a \" } ] \\""#)));
    assert_eq!(read_as("x.json", escaped).unwrap().samples.len(), 1);
    let marked = [b"\xef\xbb\xbf".to_vec(), document(&format!("[{one}]")).into_bytes()].concat();
    assert_eq!(read_as("x.json", marked).unwrap().samples.len(), 1);
}

/// Reading ends, one way or the other, and what cannot be read says why.
fn check_damaged(name: &str, bytes: Vec<u8>, place: usize) {
    let started = Instant::now();
    if let Err(error) = read_as(name, bytes) {
        let text = error.to_string();
        assert!(text.contains(name) && !error.what().is_empty(), "{place}: {text}");
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{name} damaged at {place}");
}

#[test]
fn no_cut_breaks_the_reader() {
    for (name, step) in [
        ("min_deflate.eval", 1),
        ("min_zstd.eval", 1),
        ("2026-01-01T00-00-00+00-00_t_abc.eval", 1),
        ("nan.json", 1),
        ("dict_epochs.eval", 211),
        ("multi_scorer.json", 503),
        ("edges.eval", 307),
    ] {
        let whole = bytes(name);
        for cut in (1..whole.len()).step_by(step) {
            check_damaged(name, whole[..cut].to_vec(), cut);
        }
    }
}

#[test]
fn no_flipped_byte_breaks_the_reader() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        // xorshift64*: Vigna 2016
        random ^= random >> 12;
        random ^= random << 25;
        random ^= random >> 27;
        random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    };
    for (name, times) in [
        ("min_stored.eval", 2000),
        ("min_deflate.eval", 2000),
        ("min_zstd.eval", 2000),
        ("2026-01-01T00-00-00+00-00_t_abc.eval", 2000),
        ("nan.json", 2000),
        ("dict_epochs.eval", 300),
        ("multi_scorer.json", 100),
    ] {
        let whole = bytes(name);
        for _ in 0..times {
            let mut damaged = whole.clone();
            let place = next() as usize % damaged.len();
            damaged[place] ^= (next() % 255 + 1) as u8;
            check_damaged(name, damaged, place);
        }
    }
}

#[test]
fn a_flipped_byte_in_an_archive_never_changes_a_score_in_silence() {
    let whole = bytes("2026-01-01T00-00-00+00-00_t_abc.eval");
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x15;
        let Ok(run) = read_as("x.eval", damaged) else { continue };
        let Some(points) = run.samples.points("match").ok().filter(|points| !points.is_empty()) else {
            assert!(!run.notes.is_empty(), "{place}");
            continue;
        };
        assert_eq!(points.get(0).score.value, Value::from("C"), "{place}");
    }
}

#[test]
fn a_log_within_gzip_is_read() {
    use std::io::Write;
    for name in ["min_zstd.eval", "min.json"] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes(name)).unwrap();
        assert_eq!(read_as("log.gz", gzip.finish().unwrap()).unwrap().samples.len(), 1, "{name}");
    }
}
