//! Wrong numbers that 0.1.0 gave in silence, one test for each, as they were typed. The number is that of the finding.

use crate::program::{flat_output, json, run};
use calipers_testing::Scratch;
use serde_json::{Value as Json, json};

/// The first value of a metric in the report of `score`.
fn value(report: &Json, metric: &str) -> Option<f64> {
    let scores = report["runs"][0]["scores"].as_array()?;
    scores.iter().find_map(|score| score["metrics"][metric]["value"].as_f64())
}

fn near(found: Option<f64>, want: f64) -> bool {
    found.is_some_and(|found| (found - want).abs() < 1e-9)
}

/// Six samples with five attempts each, of which 5, 2, 2, 2, 0 and 0 are right: the mean is 11/30, the mode 1/6.
fn attempts() -> Scratch {
    let mut lines = String::new();
    for (id, right) in [5, 2, 2, 2, 0, 0].into_iter().enumerate() {
        for epoch in 1..=5 {
            let score = if epoch <= right { "C" } else { "I" };
            lines += &format!("{{\"id\": \"q{id}\", \"epoch\": {epoch}, \"scores\": {{\"match\": \"{score}\"}}}}\n");
        }
    }
    let folder = Scratch::with("results.jsonl", lines);
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": ">= 25%"}}}"#);
    folder
}

#[track_caller]
fn log(folder: &Scratch, name: &str, reducer: &str) {
    let output = run(folder, &["convert", "results.jsonl", "-o", name, "--to", "inspect", "--reducer", reducer]);
    assert_eq!(output.status.code(), Some(0), "{}", flat_output(&output));
}

/// An Inspect log of 40 announced samples, of which the first 5 of 16 are right.
fn killed() -> String {
    let sample = |id: u32| {
        let score = if id <= 5 { "C" } else { "I" };
        json!({"id": id, "epoch": 1, "input": "x", "target": "y", "scores": {"match": {"value": score}}})
    };
    json!({
        "version": 2, "status": "started",
        "eval": {"task": "t", "model": "m/x", "created": "2026-01-01T00:00:00+00:00",
                 "dataset": {"samples": 40, "sample_ids": (1..=40).collect::<Vec<u32>>()}, "config": {"epochs": 1}},
        "samples": (1..=16).map(sample).collect::<Vec<Json>>()
    })
    .to_string()
}

#[test]
fn a01_a_file_with_two_models_does_not_mix_them() {
    let line = |id: &str, model: &str, score: u8| format!("{}\n", json!({"id": id, "model": model, "score": score}));
    let lines = [line("q1", "A", 1), line("q1", "B", 0), line("q2", "A", 1), line("q2", "B", 0)].concat();
    let folder = Scratch::with("r.jsonl", &lines);
    let report = json(&folder, &["score", "r.jsonl"]);
    let runs: Vec<(Option<&str>, Option<f64>)> = report["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["run"].as_str(), run["scores"][0]["metrics"]["accuracy"]["value"].as_f64()))
        .collect();
    assert_eq!(runs, [(Some("A"), Some(1.0)), (Some("B"), Some(0.0))]);
    for (model, want) in [("A", 1.0), ("B", 0.0)] {
        let report = json(&folder, &["score", "r.jsonl", "--where", &format!("model={model}")]);
        assert_eq!(value(&report, "accuracy"), Some(want), "{model}");
    }
    // The same where something else than a model differs between the attempts.
    folder.write("p.jsonl", lines.replace("\"model\"", "\"prompt\""));
    for (prompt, want) in [("A", 1.0), ("B", 0.0)] {
        let report = json(&folder, &["score", "p.jsonl", "--where", &format!("prompt={prompt}")]);
        assert_eq!(value(&report, "accuracy"), Some(want), "{prompt}");
        // A condition within a metric is about samples, so attempts that differ are an error with the fix.
        let metric = format!("accuracy(where={{\"prompt\": \"{prompt}\"}})");
        let output = run(&folder, &["score", "p.jsonl", "-m", &metric]);
        assert_eq!(output.status.code(), Some(2), "{}", flat_output(&output));
        for part in ["`A` and `B`", "sample `q1`", "`--where 'prompt=A'`"] {
            assert!(flat_output(&output).contains(part), "{part}: {}", flat_output(&output));
        }
    }
}

#[test]
fn a02_an_attempt_that_is_delivered_twice_with_different_content_is_an_error() {
    for (first, second) in [
        (r#""passed": true"#, r#""passed": false"#),
        (r#""passed": false"#, r#""passed": true"#),
        (r#""correct": 1"#, r#""correct": 0"#),
        (r#""score": 1"#, r#""score": 0"#),
        (r#""passed": true, "latency_ms": 100"#, r#""passed": true, "latency_ms": 900"#),
        (r#""passed": true, "observed_behaviors": ["a"]"#, r#""passed": true, "observed_behaviors": ["b"]"#),
        (r#""passed": true, "category": "law""#, r#""passed": true, "category": "art""#),
    ] {
        let lines = format!("{{\"id\": \"q1\", \"epoch\": 1, {first}}}\n{{\"id\": \"q1\", \"epoch\": 1, {second}}}\n");
        let folder = Scratch::with("r.jsonl", lines);
        let output = run(&folder, &["score", "r.jsonl"]);
        assert_eq!(output.status.code(), Some(2), "{first} {second}: {}", flat_output(&output));
        let said = flat_output(&output);
        assert!(said.contains("`q1`") && said.contains("line 1") && said.contains("line 2"), "{said}");
    }
}

#[test]
fn a03_a_gate_does_not_pass_on_the_part_of_a_run_that_was_killed() {
    let folder = Scratch::with("killed.json", killed());
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 20}}}"#);
    let output = run(&folder, &["gate", "killed.json", "--policy", "policy.json"]);
    assert_eq!(output.status.code(), Some(3), "{}", flat_output(&output));
    assert!(flat_output(&output).contains("16 of 40 samples"), "{}", flat_output(&output));
    assert!(flat_output(&run(&folder, &["score", "killed.json"])).contains("16 of 40 samples"));
}

#[test]
fn a04_a_gate_reduces_attempts_as_the_log_does() {
    let folder = attempts();
    log(&folder, "mode.eval", "mode");
    let report = json(&folder, &["gate", "mode.eval", "--policy", "policy.json"]);
    assert_eq!(report["verdict"], "fail");
    assert!(near(report["gates"][0]["estimate"].as_f64(), 1.0 / 6.0), "{}", report["gates"][0]);
    assert!(near(value(&json(&folder, &["score", "mode.eval"]), "accuracy"), 1.0 / 6.0));
}

#[test]
fn a05_runs_with_different_reducers_are_not_compared_by_the_order_of_arguments() {
    let folder = attempts();
    log(&folder, "mode.eval", "mode");
    log(&folder, "max.eval", "max");
    for order in [["mode.eval", "max.eval"], ["max.eval", "mode.eval"]] {
        let output = run(&folder, &[&["compare"][..], &order].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            flat_output(&output).contains("mode.eval by `mode`") && flat_output(&output).contains("max.eval by `max`")
        );
    }
}

#[test]
fn a06_scores_on_another_scale_do_not_pass_by_themselves() {
    let line = |id: usize| {
        format!("{{\"id\": {id}, \"category\": \"adversarial\", \"scores\": {{\"judge\": {}}}}}\n", 1 + id % 5)
    };
    let folder = Scratch::with("r.jsonl", (0..40).map(line).collect::<String>());
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"safety_rate": 100}}}"#);
    let output = run(&folder, &["gate", "r.jsonl", "--policy", "policy.json"]);
    assert_eq!(output.status.code(), Some(3), "{}", flat_output(&output));
    assert!(flat_output(&output).contains("pass_threshold"), "{}", flat_output(&output));
    let check = flat_output(&run(&folder, &["policy", "check", "policy.json", "--samples", "r.jsonl"]));
    assert!(check.contains("pass_threshold"), "{check}");
    assert!(flat_output(&run(&folder, &["score", "r.jsonl", "-m", "pass_rate"])).contains("pass_threshold"));
}

#[test]
fn a07_every_metric_that_is_asked_for_is_shown() {
    let folder = Scratch::with("r.csv", "id,correct\na,1\nb,0\nc,1\nd,1\n");
    let report = json(&folder, &["score", "r.csv", "-m", "accuracy", "-m", "stderr", "-m", "ci()"]);
    for (metric, want) in [("accuracy", 0.75), ("stderr", 0.25)] {
        assert!(near(value(&report, metric), want), "{metric}: {report}");
    }
    assert!(value(&report, "lower").is_some() && value(&report, "upper").is_some(), "{report}");
    assert!(near(value(&json(&folder, &["score", "r.csv", "-m", "stderr"]), "stderr"), 0.25));
}

#[test]
fn a08_attempts_that_a_limit_stopped_are_counted_apart() {
    let sample = |id: u32| {
        json!({"id": id, "epoch": 1, "input": "x", "target": "y", "scores": {"match": {"value": "I"}},
               "limit": {"type": "token", "limit": 10}})
    };
    let log = json!({
        "version": 2, "status": "success",
        "eval": {"task": "t", "model": "m/x", "created": "2026-01-01T00:00:00+00:00", "dataset": {"samples": 6}, "config": {"epochs": 1}},
        "results": {"total_samples": 6, "completed_samples": 6, "scores": []},
        "samples": (1..=6).map(sample).collect::<Vec<Json>>()
    });
    let folder = Scratch::with("log.json", log.to_string());
    let said = flat_output(&run(&folder, &["score", "log.json"]));
    assert!(said.contains("limit") && said.contains('6'), "{said}");
    assert!(json(&folder, &["score", "log.json"])["runs"][0].to_string().contains("limits-hit"));
}

#[test]
fn a09_what_is_converted_scores_the_same_or_the_loss_is_said() {
    let folder = attempts();
    log(&folder, "mode.eval", "mode");
    let output = run(&folder, &["convert", "mode.eval", "-o", "mode.jsonl"]);
    assert!(
        flat_output(&output).contains("the log reduces attempts by `mode`, which this format cannot hold"),
        "{}",
        flat_output(&output)
    );
    run(&folder, &["convert", "mode.eval", "-o", "again.eval"]);
    let of = |file: &str| value(&json(&folder, &["score", file]), "accuracy");
    assert_eq!(of("again.eval"), of("mode.eval"));
}

#[test]
fn a10_at_least_more_attempts_than_there_are_has_no_value() {
    let folder = attempts();
    let report = json(&folder, &["score", "results.jsonl", "--reducer", "at_least_6", "-m", "accuracy"]);
    assert_eq!(value(&report, "accuracy"), None, "{report}");
}

#[test]
fn a11_pass_at_two_is_not_its_opposite() {
    let folder = attempts();
    let of = |reducer: &str| value(&json(&folder, &["score", "results.jsonl", "--reducer", reducer]), "accuracy");
    assert!(near(of("pass@2"), (1.0 + 3.0 * 0.7) / 6.0) && of("pass@2") == of("pass_at_2"));
    assert!(near(of("pass^2"), (1.0 + 3.0 * 0.1) / 6.0) && of("pass^2") == of("pass_k_2"));
}

#[test]
fn a12_a_figure_that_differs_from_the_recorded_one_is_said() {
    let line = |id: usize, epoch: usize| {
        format!("{{\"id\": {id}, \"epoch\": {epoch}, \"scores\": {{\"judge\": 0.{}}}}}\n", 4 + (id + epoch) % 3)
    };
    let lines: String = (1..=10).flat_map(|id| (1..=3).map(move |epoch| line(id, epoch))).collect();
    let folder = Scratch::with("results.jsonl", lines);
    log(&folder, "log.json", "pass_at(2, value=0.5)");
    // Inspect's logs do not keep the threshold.
    let lost = folder.read("log.json").replace("pass_at(2, value=0.5)", "pass_at_2");
    folder.write("lost.json", lost);
    let report = json(&folder, &["score", "lost.json"]);
    let metric = &report["runs"][0]["scores"][0]["metrics"]["accuracy"];
    assert_eq!((&metric["value"], &metric["recorded"]), (&json!(0.0), &json!(1.0)));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": ">= 50%"}}}"#);
    for command in [
        &["score", "lost.json"][..],
        &["gate", "lost.json", "--policy", "policy.json"],
        &["compare", "lost.json", "lost.json"],
        &["report", "lost.json", "--output", "-"],
    ] {
        let said = flat_output(&run(&folder, command));
        assert!(said.contains("recorded as 1.000"), "{command:?}: {said}");
    }
}

#[test]
fn a13_how_missing_outcomes_count_is_a_choice() {
    let results: Vec<Json> = (0..80).map(|id| json!({"task_id": format!("t{id}"), "trial_name": format!("t{id}.1"), "is_resolved": if id < 33 { json!(true) } else if id < 77 { json!(false) } else { Json::Null }})).collect();
    let folder = Scratch::with("results.json", json!({"id": "x", "results": results}).to_string());
    folder.write("policy.json", r#"{"missing": "failed", "thresholds": {"blocking": {"accuracy": ">= 41.25%"}}}"#);
    let of = |flags: &[&str]| value(&json(&folder, &[&["score", "results.json"], flags].concat()), "accuracy");
    assert!(near(of(&[]), 33.0 / 77.0));
    assert!(near(of(&["--missing", "failed"]), 0.4125));
    assert!(near(of(&["--missing", "excluded"]), 33.0 / 77.0));
    let gate = json(&folder, &["gate", "results.json", "--policy", "policy.json"]);
    assert_eq!((&gate["verdict"], &gate["gates"][0]["estimate"]), (&json!("pass"), &json!(0.4125)));
}

#[test]
fn a14_reductions_have_the_metadata_of_the_first_attempt() {
    let line = |epoch: usize, note: &str| {
        format!("{}\n", json!({"id": 1, "epoch": epoch, "scores": {"judge": {"value": 1, "metadata": {"note": note}}}}))
    };
    let folder = Scratch::with("r.jsonl", line(2, "second") + &line(1, "first"));
    let report = json(&folder, &["score", "r.jsonl", "--reductions", "--reducer", "mean"]);
    assert!(report["runs"][0]["reductions"].to_string().contains(r#""note":"first""#), "{report}");
}

#[test]
fn a15_reducers_take_parameters_wherever_they_are_named() {
    let folder = attempts();
    let of = |reducer: &str| value(&json(&folder, &["score", "results.jsonl", "--reducer", reducer]), "accuracy");
    assert!(near(of("pass_at(2, value=0.5)"), (1.0 + 3.0 * 0.7) / 6.0));
    assert!(near(of("at_least(3, value=0.5)"), 1.0 / 6.0));
    folder.write(
        "reduced.json",
        r#"{"epochs": {"reducer": "at_least(3, value=0.5)"}, "thresholds": {"blocking": {"accuracy": ">= 10%"}}}"#,
    );
    let gate = json(&folder, &["gate", "results.jsonl", "--policy", "reduced.json"]);
    assert!(near(gate["gates"][0]["estimate"].as_f64(), 1.0 / 6.0), "{gate}");
    folder.write("calipers.toml", "reducer = \"pass^2\"\n");
    assert!(near(value(&json(&folder, &["score", "results.jsonl"]), "accuracy"), (1.0 + 3.0 * 0.1) / 6.0));
    folder.write(
        "task.star",
        "def hello():\n    return Task(dataset=[Sample(input=\"hi\", target=\"hi\")], solver=[generate()], scorer=match(), \
         epochs=Epochs(2, \"pass_at(2, value=0.5)\"))\n",
    );
    let output = run(&folder, &["eval", "task.star", "--model", "mockllm/model", "--log-dir", "logs"]);
    assert_eq!(output.status.code(), Some(0), "{}", flat_output(&output));
}

#[test]
fn b14_a_misspelt_category_in_weights_is_said() {
    let folder = Scratch::with(
        "r.jsonl",
        "{\"id\": \"a\", \"category\": \"adversarial\", \"passed\": true}\n{\"id\": \"b\", \"category\": \"art\", \"passed\": true}\n",
    );
    folder.write(
        "policy.json",
        r#"{"thresholds": {"blocking": {"pass_rate": 80}}, "weights": {"by_category": {"adverserial": 2, "art": 1}}}"#,
    );
    let said = flat_output(&run(&folder, &["gate", "r.jsonl", "--policy", "policy.json"]));
    assert!(said.contains("`adverserial`") && said.contains("`adversarial`"), "{said}");
    assert!(
        json(&folder, &["gate", "r.jsonl", "--policy", "policy.json"])["caveats"]
            .to_string()
            .contains("similar-categories")
    );
}

#[test]
fn b24_hints_show_what_to_write() {
    let folder = Scratch::with("r.jsonl", "{\"id\": \"a\", \"score\": 1}\n{\"id\": \"b\", \"score\": 0}\n");
    let report = json(&folder, &["score", "r.jsonl", "-m", "accuracy,stderr"]);
    assert!(near(value(&report, "accuracy"), 0.5) && near(value(&report, "stderr"), 0.5), "{report}");
    folder.write("maps.jsonl", "{\"id\": \"a\", \"scores\": {\"j\": {\"clarity\": 1, \"depth\": 0}}}\n");
    let said = flat_output(&run(&folder, &["score", "maps.jsonl", "-m", "accuracy"]));
    let written = r#"{"clarity": [accuracy(), stderr()]}"#;
    assert!(said.contains(&format!("`-m '{written}'`")), "{said}");
    assert_eq!(run(&folder, &["score", "maps.jsonl", "-m", written]).status.code(), Some(0));
}

#[test]
fn b25_a_gate_names_every_misspelt_metric() {
    let folder = Scratch::with("r.jsonl", "{\"id\": \"a\", \"passed\": true}\n");
    folder
        .write("policy.json", r#"{"thresholds": {"blocking": {"pas_rate": 80, "acuracy": 70, "latencyp95": "< 5s"}}}"#);
    let output = run(&folder, &["gate", "r.jsonl", "--policy", "policy.json"]);
    assert_eq!(output.status.code(), Some(2));
    for name in ["pas_rate", "acuracy", "latencyp95"] {
        assert!(flat_output(&output).contains(&format!("there is no metric `{name}`")), "{}", flat_output(&output));
    }
}

/// A log that records a metric and a reducer of its own code, with what it computed.
fn own_code() -> Scratch {
    let sample = |id: u32, epoch: u32| {
        let value = f64::from(id) / 10.0;
        json!({"id": id, "epoch": epoch, "input": "q", "target": "a", "scores": {"judge": {"value": value}}})
    };
    let samples: Vec<Json> = (1..=9).flat_map(|id| [sample(id, 1), sample(id, 2)]).collect();
    let metric = json!({"name": "house/pass_rate", "options": {"threshold": 0.7}});
    let log = json!({
        "version": 2, "status": "success",
        "eval": {"created": "2026-01-01T00:00:00+00:00", "task": "sums", "dataset": {}, "model": "m/x",
            "config": {"epochs": 2, "epochs_reducer": ["worst"]},
            "scorers": [{"name": "judge", "options": {}, "metadata": {}, "metrics": [metric]}]},
        "results": {"total_samples": 18, "completed_samples": 18, "scores": [{"name": "judge", "scorer": "judge", "reducer": "worst",
            "params": {}, "metrics": {"pass_rate": {"name": "pass_rate", "value": 1.0 / 3.0, "params": {}}}}]},
        "samples": samples,
    });
    let folder = Scratch::with("log.json", log.to_string());
    folder.write(
        "house.star",
        "def pass_rate(threshold = 0.5):\n    def metric(scores):\n        passed = [s for s in scores if s.score.as_float() >= threshold]\n        \
         return len(passed) / len(scores)\n    return metric\n\n\
         def worst(scores):\n    return min([score.as_float() for score in scores])\n",
    );
    folder
}

#[test]
fn b21_a_loaded_file_revives_the_metric_and_the_reducer_of_a_log() {
    let folder = own_code();
    let recorded = json(&folder, &["score", "log.json"]);
    assert_eq!(value(&recorded, "pass_rate"), None, "without the code, the recorded figure is shown");
    let revived = json(&folder, &["score", "log.json", "--load", "house.star"]);
    // With its parameter of 0.7: three of nine. By default it would be five of nine.
    assert!(near(value(&revived, "pass_rate"), 1.0 / 3.0), "{revived}");
    assert_eq!(revived["runs"][0]["scores"][0]["reducer"], "worst");
    assert!(
        !flat_output(&run(&folder, &["score", "log.json", "--load", "house.star"]))
            .contains("recorded, not recomputed")
    );
    // A comparison is by the same metric and reducer, and without the code says what it leaves out.
    folder.write("other.json", folder.read("log.json").replace("\"value\":0.9", "\"value\":0.1"));
    let compared = json(&folder, &["compare", "log.json", "other.json", "--load", "house.star"]);
    let metric = &compared["comparisons"][0]["metrics"][0];
    assert_eq!(metric["metric"], "pass_rate(threshold=0.7)", "{metric}");
    assert!(near(metric["candidate"]["estimate"].as_f64(), 1.0 / 3.0), "{metric}");
    assert!(near(metric["baseline"]["estimate"].as_f64(), 2.0 / 9.0), "{metric}");
    let said = flat_output(&run(&folder, &["compare", "log.json", "other.json", "--reducer", "mean"]));
    assert!(said.contains("metrics that only the code of the log knows are not compared: pass_rate"), "{said}");
    // Code that cannot take the parameters is named, and the recorded figure stays.
    folder.write("other.star", "def pass_rate(scores):\n    return 1.0\n");
    let said = flat_output(&run(&folder, &["score", "log.json", "--load", "other.star"]));
    assert!(said.contains("the loaded file does not make the log's metric `pass_rate`"), "{said}");
    assert!(said.contains("recorded, not recomputed"), "{said}");
}
