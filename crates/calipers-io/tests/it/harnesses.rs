//! The result files of other harnesses: what is read from each fixture, value by value, and that no damage panics.

use calipers_core::{Metadata, Outcome, Samples, Score, Value};
use calipers_io::{RecordedRun, Source, formats, read};
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats").join(name)
}

/// Reads a fixture as whatever it is recognised as, which must be this.
fn runs(name: &str, format: &str) -> Vec<RecordedRun> {
    let runs = read(&Source::path(fixture(name)), None).unwrap_or_else(|error| panic!("{error}"));
    assert!(runs.iter().all(|run| run.format == format), "{name} is read as {}", runs[0].format);
    runs
}

/// All that samples hold, as text: every attempt with its scores, facts, fields and error.
fn whole(samples: &Samples) -> String {
    format!("{:#?}", samples.records().collect::<Vec<_>>())
}

type Figure<'a> = (&'a str, &'a str, Option<f64>);

fn check(
    run: &RecordedRun,
    task: Option<&str>,
    model: Option<&str>,
    want: &Samples,
    figures: &[Figure<'_>],
    notes: &[&str],
) {
    assert_eq!((run.task.as_deref(), run.model.as_deref()), (task, model));
    let (found, expected) = (whole(&run.samples), whole(want));
    if let Some((line, (a, b))) = found.lines().zip(expected.lines()).enumerate().find(|(_, (a, b))| a != b) {
        let around = |text: &str| text.lines().skip(line.saturating_sub(40)).take(50).collect::<Vec<_>>().join("\n");
        panic!("line {line}: found {a}, expected {b}\n\nfound\n{}\n\nexpected\n{}", around(&found), around(&expected));
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    let recorded: Vec<_> = run.recorded.figures.iter().map(|f| (&*f.scorer, &*f.metric, f.value)).collect();
    assert_eq!(recorded, figures);
    assert_eq!(run.notes, notes);
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries)
}

fn about<const N: usize>(entries: [(&str, Value); N]) -> Metadata {
    Metadata::new(entries)
}

mod promptfoo {
    use super::*;

    fn graded(score: impl Into<Value>, reason: &str, answer: &str, pass: bool, tone: impl Into<Value>) -> Score {
        let score = score.into();
        let contains = map([
            ("type", "contains".into()),
            ("pass", pass.into()),
            ("score", score.clone()),
            ("reason", reason.into()),
        ]);
        let rubric = map([
            ("type", "llm-rubric".into()),
            ("metric", "tone".into()),
            ("weight", 2.into()),
            ("pass", true.into()),
            ("score", tone.into()),
            ("reason", "fine".into()),
        ]);
        let assertions = about([("assertions", Value::List(vec![contains, rubric]))]);
        Score::new(score).explanation(reason).answer(answer).metadata(assertions)
    }

    #[test]
    fn a_column_is_a_run_and_repeats_are_attempts() {
        let runs = runs("promptfoo/export.json", "promptfoo");
        assert_eq!(runs.len(), 2);

        let mut small = Samples::new();
        small
            .push("city=Oslo")
            .metadata("category", "happy_path")
            .metadata("vars.city", "Oslo")
            .score("score", graded(1, "All assertions passed", "Hello Oslo", true, 0.9))
            .score("tone", 0.9)
            .field("latency_ms", 100.0)
            .field("tokens_used", 30.0)
            .field("cost_usd", 0.002)
            .field("passed", true);
        let missing = "Expected output to contain Oslo";
        small
            .push("city=Oslo")
            .score("score", graded(0.5, missing, "Hi", false, 0.7))
            .score("tone", 0.7)
            .field("latency_ms_cached", 200.0)
            .field("tokens_used", 25.0)
            .field("cost_usd", 0.0)
            .field("passed", false);
        small
            .push("Lima, politely")
            .metadata("category", "happy_path")
            .metadata("description", "Lima, politely")
            .metadata("vars.city", "Lima")
            .field("latency_ms", 300.0)
            .error("API error: 429");
        small
            .push("city=Bergen")
            .metadata("vars.city", "Bergen")
            .score("score", Score::new(1).explanation("No assertions").answer("Hello Bergen"))
            .field("latency_ms", 400.0)
            .field("tokens_used", 30.0)
            .field("cost_usd", 0.002)
            .field("metadata.category", "happy_path")
            .field("passed", true);
        check(
            &runs[0],
            Some("greetings"),
            Some("acme:small"),
            &small,
            &[
                ("score", "sum", Some(2.5)),
                ("score", "testPassCount", Some(2.0)),
                ("score", "testFailCount", Some(1.0)),
                ("score", "testErrorCount", Some(1.0)),
                ("tone", "sum", Some(1.6)),
                ("score", "cost", Some(0.004)),
            ],
            &[
                "the latency of 1 row from promptfoo's cache is under `latency_ms_cached`",
                "1 row without assertions: promptfoo counts these as passed with score 1",
                "2 samples without 2 attempts, as the file's `repeat` says: test cases that are alike count as repeats, \
                 and runs that were stopped have fewer",
            ],
        );

        let mut large = Samples::new();
        large
            .push("city=Oslo")
            .metadata("category", "happy_path")
            .metadata("vars.city", "Oslo")
            .score("score", graded(1, "All assertions passed", "Hello Oslo", true, 1))
            .score("tone", 1)
            .field("latency_ms", 100.0)
            .field("tokens_used", 30.0)
            .field("cost_usd", 0.002)
            .field("passed", true);
        large.push("city=Oslo").field("latency_ms", 200.0).error("API error: 503");
        let no_score = Score::unscored().answer("Hello Lima");
        let no_score = Outcome::Unscored { reason: "promptfoo gave no score".into(), score: Some(Box::new(no_score)) };
        large
            .push("Lima, politely")
            .metadata("category", "happy_path")
            .metadata("description", "Lima, politely")
            .metadata("vars.city", "Lima")
            .score("score", no_score)
            .field("latency_ms", 300.0)
            .field("tokens_used", 30.0)
            .field("cost_usd", 0.002)
            .field("metadata.region", "eu")
            .field("passed", true);
        check(
            &runs[1],
            Some("greetings"),
            Some("Large"),
            &large,
            &[("score", "sum", Some(1.0)), ("score", "testPassCount", Some(2.0)), ("tone", "sum", Some(1.0))],
            &[
                "1 sample without 2 attempts, as the file's `repeat` says: test cases that are alike count as repeats, and \
               runs that were stopped have fewer",
            ],
        );
    }

    #[test]
    fn lines_are_rows_and_prompts_of_one_provider_stay_apart() {
        let runs = runs("promptfoo/rows.jsonl", "promptfoo");
        assert_eq!(runs.len(), 2);
        let oslo = |score: Score, passed: bool| {
            let mut samples = Samples::new();
            samples
                .push("city=Oslo")
                .metadata("category", "happy_path")
                .metadata("vars.city", "Oslo")
                .score("score", score)
                .score("tone", 0.9)
                .field("latency_ms", 100.0)
                .field("tokens_used", 30.0)
                .field("cost_usd", 0.002)
                .field("passed", passed);
            samples
        };
        let mut greet = oslo(graded(1, "All assertions passed", "Hello Oslo", true, 0.9), true);
        // A row from before there were failure reasons: not graded, with an error.
        greet
            .push("Lima, politely")
            .metadata("category", "happy_path")
            .metadata("description", "Lima, politely")
            .metadata("vars.city", "Lima")
            .field("latency_ms", 300.0)
            .error("API error: 429");
        check(&runs[0], Some("Greet {{city}}"), Some("acme:small"), &greet, &[], &[]);
        let hail = oslo(graded(0, "no", "Hello Oslo", false, 0.9), false);
        check(&runs[1], Some("Hail {{city}}"), Some("acme:small"), &hail, &[], &[]);
    }

    #[test]
    fn tests_that_share_a_description_stay_apart_by_their_content() {
        let row = |n: u32, city: &str| {
            format!(
                r#"{{"testIdx": {n}, "promptIdx": 0, "provider": "p", "success": true, "score": 1,
                   "testCase": {{"description": "same", "vars": {{"city": "{city}"}}}}}}"#
            )
            .replace('\n', " ")
        };
        let text = [row(0, "Oslo"), row(1, "Lima"), row(2, "Oslo")].join("\n");
        let runs = read(&Source::bytes("rows.jsonl", text.into_bytes()), None).unwrap();
        assert_eq!((runs[0].samples.len(), runs[0].samples.attempts()), (2, 3));
        let points = runs[0].samples.points("score").unwrap();
        let ids: Vec<String> = (0..3).map(|row| points.sample_id(row).to_string()).collect();
        assert!(ids.iter().all(|id| id.starts_with("same #")), "{ids:?}");
        assert!(ids[0] == ids[2] && ids[0] != ids[1], "{ids:?}");
    }
}

mod deepeval {
    use super::*;

    fn judged(score: impl Into<Value>, success: bool, answer: Option<&str>) -> Score {
        let score = Score::new(score.into()).metadata(about([
            ("threshold", 0.5.into()),
            ("success", success.into()),
            ("strictMode", false.into()),
            ("evaluationModel", "judge-1".into()),
            ("evaluationCost", 0.001.into()),
        ]));
        answer.map_or(score.clone(), |answer| score.answer(answer))
    }

    #[test]
    fn cases_that_share_only_their_input_are_different_samples() {
        let case = |name: &str, rest: &str| {
            format!(
                r#"{{"name": "{name}", "input": "hi", "actualOutput": "{name}", "success": true, {rest}
                    "metricsData": [{{"name": "M", "success": true, "score": 1}}]}}"#
            )
        };
        let of = |cases: &[String]| {
            let content = format!(r#"{{"testCases": [{}], "conversationalTestCases": []}}"#, cases.join(","));
            let run = read(&Source::bytes("run.json", content.as_bytes()), None).unwrap().remove(0);
            (run.samples.len(), run.samples.attempts(), run.notes.len())
        };
        let other = case("test_case_1", r#""expectedOutput": "y","#);
        // Unnamed cases, which DeepEval numbers: repeats, and two that expect different answers.
        assert_eq!(of(&[case("test_case_0", ""), case("test_case_1", "")]), (1, 2, 1));
        assert_eq!(of(&[case("test_case_0", r#""expectedOutput": "x","#), other]), (2, 2, 0));
        assert_eq!(of(&[case("first", ""), case("second", "")]), (2, 2, 0));
    }

    #[test]
    fn cases_of_one_name_and_input_are_attempts_and_metric_errors_are_unscored() {
        let runs = runs("deepeval/test_run.json", "deepeval");
        let mut want = Samples::new();
        let flaky = Score::new(0.2).answer("Yes, within 30 days.").metadata(about([
            ("threshold", 0.5.into()),
            ("success", false.into()),
            ("strictMode", false.into()),
            ("flaky", true.into()),
            ("evaluationModel", "judge-1".into()),
            ("evaluationCost", 0.001.into()),
        ]));
        let refund = names(&runs[0]);
        want.push(&*refund[0])
            .metadata("category", "happy_path")
            .metadata("name", "test_refund[1-2]")
            .metadata("input", "May I return this?")
            .metadata("tags", Value::List(vec!["refund".into(), "policy".into()]))
            .score("Relevancy", judged(0.9, true, Some("Yes, within 30 days.")).explanation("on topic"))
            .score("Tone", flaky)
            .field("latency_ms", 250.0)
            .field("tokens_used", 20.0)
            .field("cost_usd", 0.003)
            .field("evaluation_ms", 1500.0)
            .field("evaluation_cost_usd", 0.002)
            .field("passed", true);
        want.push(&*refund[0])
            .metadata("name", "test_refund[2-2]")
            .score("Relevancy", judged(0.3, false, Some("No.")).explanation("off topic"))
            .score("Tone", Outcome::unscored("metric error: judge timed out"))
            .field("latency_ms", 500.0)
            .field("passed", false);
        // Failed only because the judge did: neither passed nor failed.
        want.push(&*refund[1])
            .metadata("name", "test_refund[1-1]")
            .metadata("input", "Who are you?")
            .score("Relevancy", Outcome::unscored("metric error: invalid JSON from judge"));
        want.push("Where is my parcel?")
            .metadata("name", "test_case_3")
            .metadata("input", "Where is\nmy parcel?")
            .score("Relevancy", judged(0.8, true, Some("On its way.")))
            .score("Relevancy (2)", judged(0.6, true, Some("On its way.")))
            .field("passed", true);
        want.push("Where is my parcel?").metadata("name", "test_case_4");
        want.push("test_crash")
            .metadata("name", "test_crash")
            .metadata("input", "Crash")
            .field("trace_status", "ERRORED")
            .error("RateLimitError: slow down");
        want.push("test_trace")
            .metadata("name", "test_trace")
            .metadata("input", "Trace")
            .score("Relevancy", judged(1, true, Some("ok")))
            .field("trace_status", "SUCCESS")
            .field("passed", true);
        want.push("angry customer")
            .metadata("name", "angry customer")
            .metadata("scenario", "customer shouts")
            .metadata("tags", Value::List(vec!["chat".into()]))
            .score("Patience", judged(0.75, true, None))
            .field("evaluation_ms", 2000.0)
            .field("passed", true);
        check(
            &runs[0],
            Some("test_refunds.py"),
            Some("acme-2"),
            &want,
            &[
                ("Relevancy", "passes", Some(1.0)),
                ("Relevancy", "fails", Some(1.0)),
                ("Relevancy", "errors", Some(1.0)),
                ("run", "testPassed", Some(4.0)),
                ("run", "testFailed", Some(3.0)),
                ("run", "runDuration", Some(9.5)),
                ("run", "evaluationCost", Some(0.02)),
            ],
            &[
                "2 cases with the name, input and expectations of another: attempts of one sample",
                "3 metrics of spans within traces not read: they judge parts of a case",
                "1 case failed only because a metric had an error: neither passed nor failed",
                "1 case without metrics: unscored",
                "the file has 8 test cases and counts 7: reruns may be counted twice",
            ],
        );
    }

    /// The two samples that share the name `test_refund`: each has a digest of its input behind the name.
    fn names(run: &RecordedRun) -> Vec<String> {
        let points = run.samples.points("Relevancy").expect("the fixture has this metric");
        let names: Vec<String> = [0, 2].map(|row| points.sample_id(row).to_string()).into();
        assert!(names.iter().all(|name| name.starts_with("test_refund #")) && names[0] != names[1], "{names:?}");
        names
    }
}

mod lm_eval {
    use super::*;

    const RESULTS: &[Figure<'static>] = &[
        ("exact_match,strict-match", "exact_match", Some(0.5)),
        ("exact_match,strict-match", "stderr", Some(0.25)),
        ("exact_match,flexible-extract", "exact_match", Some(0.75)),
        ("exact_match,flexible-extract", "stderr", None),
    ];

    fn sums() -> Samples {
        let mut want = Samples::new();
        let (strict, flexible) = ("exact_match,strict-match", "exact_match,flexible-extract");
        for (id, first, second, answer) in [(0, 1.0, 1.0, "1"), (1, 0.0, 1.0, "[invalid]"), (2, f64::NAN, 0.0, "1")] {
            let first = Score::new(first).answer(answer);
            let first = match first.value {
                Value::Missing => {
                    Outcome::Unscored { reason: "lm-eval gave no value".into(), score: Some(Box::new(first)) }
                }
                _ => first.into(),
            };
            want.push(id)
                .metadata("doc_hash", format!("d{id}"))
                .metadata("prompt_hash", format!("p{id}"))
                .metadata("target_hash", format!("t{id}"))
                .metadata("target", (id + 1).to_string())
                .metadata("question", format!("{id}+1?"))
                .metadata("subject", "sums")
                .metadata("choices", Value::List(vec!["1".into(), "2".into()]))
                .score(strict, first)
                .score(flexible, Score::new(second).answer("1"));
            if id == 0 {
                want.push(0).score(strict, Score::new(0.0).answer("1"));
            }
        }
        want
    }

    const CORPUS: [&str; 2] = [
        "3 values of `bleu,flexible-extract` not read: parts of a figure over all samples, not scores",
        "4 values of `bleu,strict-match` not read: parts of a figure over all samples, not scores",
    ];

    #[test]
    fn filters_are_scorers_and_results_beside_the_samples_name_the_model() {
        let runs = runs("lm_eval/samples_sums_2026-01-02T03-04-05.678901.jsonl", "lm-eval");
        check(&runs[0], Some("sums"), Some("acme/tiny"), &sums(), RESULTS, &CORPUS);
    }

    #[test]
    fn samples_alone_are_enough() {
        let bytes = std::fs::read(fixture("lm_eval/samples_sums_2026-01-02T03-04-05.678901.jsonl")).unwrap();
        let runs = read(&Source::bytes("-", bytes), None).unwrap();
        check(&runs[0], None, None, &sums(), &[], &CORPUS);
    }

    #[test]
    fn results_alone_are_recorded_figures() {
        let runs = runs("lm_eval/results_2026-01-02T03-04-05.678901.json", "lm-eval");
        let only = "the file records figures only; read the samples file for scores";
        let none = Samples::new();
        check(&runs[0], Some("sums"), Some("acme/tiny"), &none, RESULTS, &[only]);
        let other = [("accuracy", "avg", Some(0.4)), ("accuracy", "stderr", Some(0.1))];
        check(&runs[1], Some("other"), Some("acme/tiny"), &none, &other, &["`odd` is a list, not a figure", only]);
        check(&runs[2], Some("all"), Some("acme/tiny"), &none, &[("acc,none", "acc", Some(0.6))], &[only]);
        assert_eq!(runs.len(), 3);
    }

    #[test]
    fn lines_that_do_not_list_their_metrics_are_read() {
        let runs = runs("lm_eval/old.jsonl", "lm-eval");
        let mut want = Samples::new();
        want.push(0).metadata("target", 1).score("acc", true).score("acc_norm", 0.0);
        check(&runs[0], None, None, &want, &[], &[]);
    }
}

mod openai_evals {
    use super::*;

    #[test]
    fn events_become_attempts() {
        let runs = runs("openai_evals/log.jsonl", "openai-evals");
        let expected = |expected: Value| about([("expected", expected)]);
        let lima = || Value::List(vec!["Lima".into(), "lima".into()]);
        let mut want = Samples::new();
        want.push("capitals.dev.0")
            .score("match", Score::new(true).answer("Oslo").metadata(expected("Oslo".into())))
            .score("f1", 0.5)
            .field("tokens_used", 7.0)
            .field("correct", true)
            .field("passed", true);
        want.push("capitals.dev.1")
            .score("match", Score::new(false).metadata(expected(lima())))
            .field("tokens_used", 8.0)
            .field("correct", false)
            .field("passed", false);
        want.push("capitals.dev.1")
            .score("match", Score::new(true).answer("Lima").metadata(expected(lima())))
            .field("correct", true)
            .field("passed", true);
        want.push("capitals.dev.2").error("Timeout: no answer in 60 s");
        want.push("capitals.dev.3");
        want.push("capitals.dev.4")
            .score("match", Score::new(false).answer("Milan").metadata(expected("Rome".into())))
            .score("f1", Outcome::unscored("the metric has no value"))
            .field("correct", false)
            .field("passed", false);
        want.push("capitals.dev.5").error("ValueError");
        check(
            &runs[0],
            Some("capitals.dev.v0"),
            Some("acme-2"),
            &want,
            &[
                ("final_report", "accuracy", Some(0.4)),
                ("final_report", "boostrap_std", Some(0.2)),
                ("final_report", "by_split.dev", Some(0.4)),
            ],
            &[
                "1 sample without a match, metrics or an error: unscored",
                "1 attempt with both an error and a score: the error counts",
                "1 event of type `raw_sample` not read",
            ],
        );
    }

    #[test]
    fn a_log_without_its_end_says_so() {
        let log = std::fs::read_to_string(fixture("openai_evals/log.jsonl")).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        let cut = lines[..3].join("\n");
        let runs = read(&Source::bytes("-", cut.into_bytes()), None).unwrap();
        assert_eq!(runs[0].notes, ["there is no final report: the run may not have finished"]);
        let events = lines[1..3].join("\n");
        let runs = read(&Source::bytes("-", events.into_bytes()), None).unwrap();
        assert_eq!(runs[0].notes[0], "the log does not begin with its `spec`: task and model are unknown");
        assert_eq!(runs[0].samples.len(), 1);
    }
}

mod pydantic_evals {
    use super::*;

    #[test]
    fn failures_are_errored_attempts_of_their_case() {
        let runs = runs("pydantic_evals/report.json", "pydantic-evals");
        let said = |value: Value| Score::new(value).answer("hello");
        let mut want = Samples::new();
        want.push_epoch("greeting", 1)
            .metadata("category", "edge_case")
            .metadata("inputs", "hi")
            .metadata("expected_output", "hello")
            .score("closeness", said(0.5.into()).explanation("near"))
            .score("polite", said(true.into()))
            .score("short", said(true.into()))
            .field("latency_ms", 500.0)
            .field("total_ms", 750.0)
            .field("tokens_used", 14.0)
            .field("cost_usd", 0.01)
            .field("metrics.input_tokens", 10.0)
            .field("metrics.output_tokens", 4.0)
            .field("metrics.cost", 0.01)
            .field("attributes.route", "a")
            .field("labels.mood", "happy")
            .field("passed", true);
        want.push_epoch("greeting", 3)
            .score("closeness", said(1.into()))
            .score("polite", said(true.into()))
            .score("short", said(false.into()).explanation("too long"))
            .field("latency_ms", 500.0)
            .field("total_ms", 750.0)
            .field("passed", false);
        // An evaluator raised, so it is unknown whether the case passed.
        want.push("farewell")
            .metadata("expected_output", "hello")
            .score("closeness", 0.25)
            .score("polite", true)
            .score("short", Outcome::unscored("the evaluator raised: ValueError: no text"))
            .field("latency_ms", 500.0)
            .field("total_ms", 750.0);
        want.push_epoch("greeting", 2).error("TimeoutError: 30 s");
        want.push("question").metadata("inputs", "?").error("KeyError");
        check(
            &runs[0],
            Some("greeter"),
            Some("acme-2"),
            &want,
            &[("worst", "value", Some(0.25))],
            &[
                "1 analysis not read: no single number",
                "1 report evaluator raised",
                "2 failures counted as errored: the report's own averages leave them out",
                "1 evaluator failure: unscored",
            ],
        );
    }

    #[test]
    fn the_same_attempt_twice_is_refused() {
        let case = |name: &str, source: &str| format!(r#"{{"name": "{name}", "source_case_name": {source}}}"#);
        for (first, second) in
            [(case("a [1/2]", r#""a""#), case("a [1/2]", r#""a""#)), (case("a", "null"), case("a [1/2]", r#""a""#))]
        {
            let report = format!(r#"{{"cases": [{first}, {second}], "failures": []}}"#);
            let error = read(&Source::bytes("f", report.into_bytes()), None).unwrap_err().to_string();
            assert!(error.starts_with("`a [1/2]` appears twice\n  in f, at `cases[1]`"), "{error}");
        }
    }

    #[test]
    fn a_list_of_cases_is_read() {
        let runs = runs("pydantic_evals/cases.json", "pydantic-evals");
        let mut want = Samples::new();
        want.push("a")
            .metadata("category", "edge_case")
            .metadata("inputs", "hi")
            .metadata("expected_output", "hello")
            .score("closeness", Score::new(0.5).answer("hello"))
            .field("latency_ms", 500.0)
            .field("total_ms", 750.0);
        check(&runs[0], None, None, &want, &[], &[]);
    }
}

mod waza {
    use super::*;

    fn graded(score: Score, kind: &str, weight: f64, passed: bool) -> Score {
        score.metadata(about([("type", kind.into()), ("weight", weight.into()), ("passed", passed.into())]))
    }

    #[test]
    fn runs_of_a_task_are_attempts() {
        let runs = runs("waza/results.json", "waza");
        assert_eq!(runs.len(), 2);
        let mut want = Samples::new();
        want.push_epoch("short-note", 1)
            .metadata("display_name", "Short note")
            .metadata("group", "happy_path")
            .metadata("category", "happy_path")
            .score("mentions", graded(Score::new(1.0).explanation("has it"), "regex", 1.0, true))
            .score("style", graded(Score::new(0.75).explanation("plain"), "prompt", 2.0, true))
            .field("latency_ms", 1000.0)
            .field("tokens_used", 150.0)
            .field("tool_calls", 2.0)
            .field("turns", 3.0)
            .field("tries", 1.0)
            .field("passed", true);
        let silent = graded(Score::unscored().explanation("judge said nothing"), "prompt", 1.0, false);
        let silent = Outcome::Unscored { reason: "the grader gave no score".into(), score: Some(Box::new(silent)) };
        want.push_epoch("short-note", 2)
            .score("mentions", graded(Score::new(0.0), "regex", 1.0, false))
            .score("style", silent)
            .field("latency_ms", 2000.0)
            .field("tokens_used", 15.0)
            .field("tool_calls", 0.0)
            .field("turns", 1.0)
            .field("tries", 2.0)
            .field("passed", false);
        for epoch in [1, 2] {
            let attempt = want
                .push_epoch("long-note", epoch)
                .metadata("display_name", "Long note")
                .field("latency_ms", f64::from(epoch) * 1000.0)
                .field("tokens_used", 150.0)
                .field("tool_calls", 2.0)
                .field("turns", 3.0)
                .field("tries", 1.0);
            match epoch {
                1 => attempt.error("agent crashed"),
                _ => attempt.score("mentions", Outcome::unscored("the run was skipped")),
            };
        }
        want.push_epoch("lost-note", 1)
            .metadata("display_name", "Lost note")
            .error("the task ended in an error before its first run");
        check(
            &runs[0],
            Some("summarise-eval"),
            Some("acme-2"),
            &want,
            &[
                ("summary", "total_tests", Some(4.0)),
                ("summary", "success_rate", Some(0.25)),
                ("summary", "aggregate_score", Some(0.5)),
                ("speed", "value", Some(0.5)),
            ],
            &[
                "1 run skipped: unscored",
                "1 score of runs that ended in an error not counted",
                "task `empty-note` (skipped) has no runs and is left out",
                "1 trigger result not read: they have no scores",
            ],
        );
        let mut baseline = Samples::new();
        baseline
            .push_epoch("short-note", 1)
            .metadata("display_name", "Short note")
            .score("mentions", graded(Score::new(0.5), "regex", 1.0, false))
            .field("latency_ms", 1000.0)
            .field("tokens_used", 150.0)
            .field("tool_calls", 2.0)
            .field("turns", 3.0)
            .field("tries", 1.0)
            .field("passed", false);
        check(&runs[1], Some("summarise-eval (baseline)"), Some("acme-2"), &baseline, &[], &[]);
    }
}

mod agentv {
    use super::*;

    #[test]
    fn a_target_is_a_run() {
        let runs = runs("agentv/index.jsonl", "agentv");
        assert_eq!(runs.len(), 2);
        let diff = |score: i64, verdict: &str| {
            let facts = about([("type", "code".into()), ("weight", 1.into()), ("verdict", verdict.into())]);
            Score::new(score).metadata(facts)
        };
        let mut want = Samples::new();
        want.push("fix-typo")
            .metadata("category", "happy_path")
            .score("score", 0.9)
            .score("diff", diff(1, "pass"))
            .score("judge", Score::new(0.8).metadata(about([("type", "llm".into()), ("verdict", "pass".into())])))
            .field("latency_ms", 1500.0)
            .field("tokens_used", 30.0)
            .field("cost_usd", 0.05)
            .field("passed", true);
        let silent = Score::unscored().metadata(about([("type", "llm".into())]));
        want.push("fix-typo")
            .score("score", 0.2)
            .score("diff", diff(0, "fail"))
            .score(
                "judge",
                Outcome::Unscored { reason: "the grader gave no score".into(), score: Some(Box::new(silent)) },
            )
            .field("passed", false);
        want.push("rename").metadata("failure_stage", "agent").error("agent exited with 1");
        check(&runs[0], Some("edits"), Some("acme-2"), &want, &[], &[]);
        let mut other = Samples::new();
        other.push("fix-typo").score("score", 0.5);
        check(&runs[1], Some("edits"), Some("acme-1"), &other, &[], &[]);
    }
}

const FIXTURES: &[(&str, &str)] = &[
    ("promptfoo/version_1.json", "promptfoo"),
    ("promptfoo/package.json", "promptfoo"),
    ("lm_eval/results_2023.json", "lm-eval"),
    ("swe_bench/report.json", "swe-bench"),
    ("swe_bench/older/report.json", "swe-bench"),
    ("swe_bench/instances.json", "swe-bench"),
    ("bfcl/BFCL_v3_simple_score.json", "bfcl"),
    ("bigcode/metrics.json", "bigcode"),
    ("bigcode/results.json", "bigcode"),
    ("alpaca_eval/annotations.json", "alpaca-eval"),
    ("every_eval_ever/aggregate.json", "every-eval-ever"),
    ("every_eval_ever/instances_samples.jsonl", "every-eval-ever"),
    ("promptfoo/export.json", "promptfoo"),
    ("promptfoo/rows.jsonl", "promptfoo"),
    ("deepeval/test_run.json", "deepeval"),
    ("lm_eval/samples_sums_2026-01-02T03-04-05.678901.jsonl", "lm-eval"),
    ("lm_eval/results_2026-01-02T03-04-05.678901.json", "lm-eval"),
    ("lm_eval/old.jsonl", "lm-eval"),
    ("openai_evals/log.jsonl", "openai-evals"),
    ("pydantic_evals/report.json", "pydantic-evals"),
    ("pydantic_evals/cases.json", "pydantic-evals"),
    ("waza/results.json", "waza"),
    ("agentv/index.jsonl", "agentv"),
];

/// Examples that are no JSON.
const TABLES: &[(&str, &str)] = &[("promptfoo/table.csv", "promptfoo"), ("promptfoo/older_table.csv", "promptfoo")];

/// The next number of a small generator (Steele, Lea and Flood 2014): tests need no more, and the same every time.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Reads damaged bytes in every way. Errors are fine and say something; a panic fails the test.
fn survive(name: &str, format: &str, bytes: Vec<u8>) {
    let source = Source::bytes(name, bytes);
    for chosen in [Some(format), None] {
        if let Err(error) = read(&source, chosen) {
            assert!(error.to_string().contains(name) && !error.what().is_empty(), "{error}");
        }
    }
}

#[test]
fn files_cut_off_anywhere_are_read_or_refused() {
    for &(name, format) in FIXTURES.iter().chain(TABLES) {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let step = (bytes.len() / 400).max(1);
        for cut in (0..bytes.len()).step_by(step) {
            survive(name, format, bytes[..cut].to_vec());
        }
    }
}

#[test]
fn a_cut_off_document_is_refused_with_a_hint() {
    for &(name, format) in FIXTURES.iter().chain(TABLES) {
        let bytes = std::fs::read(fixture(name)).unwrap();
        // Within the last line, so that JSON Lines are cut, too.
        let cut = bytes[..bytes.len() - 3].to_vec();
        let error = read(&Source::bytes(name, cut), Some(format)).unwrap_err().to_string();
        assert!(error.contains("line ") && error.contains("cut off"), "{name}: {error}");
    }
}

#[test]
fn flipped_bytes_do_not_panic() {
    let mut state = 7;
    for &(name, format) in FIXTURES.iter().chain(TABLES) {
        let bytes = std::fs::read(fixture(name)).unwrap();
        for _ in 0..600 {
            let mut damaged = bytes.clone();
            for _ in 0..=next(&mut state) % 3 {
                let at = next(&mut state) as usize % damaged.len();
                damaged[at] ^= 1 << (next(&mut state) % 8);
            }
            survive(name, format, damaged);
        }
    }
}

/// Every value of a document replaced in turn by one of another kind.
#[test]
fn values_of_the_wrong_kind_are_read_or_refused_with_their_place() {
    let others = [
        serde_json::json!(null),
        "x".into(),
        7.into(),
        true.into(),
        serde_json::json!([1]),
        serde_json::json!({"a": 1}),
    ];
    for &(name, format) in FIXTURES {
        let text = std::fs::read_to_string(fixture(name)).unwrap().replace("NaN", "0.25");
        let documents: Vec<serde_json::Value> =
            serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>().unwrap();
        for (index, document) in documents.iter().enumerate() {
            let mut paths = Vec::new();
            pointers(document, String::new(), &mut paths);
            for (path, other) in paths.iter().flat_map(|path| others.iter().map(move |other| (path, other))) {
                let mut documents = documents.clone();
                *documents[index].pointer_mut(path).unwrap() = other.clone();
                let text: Vec<String> = documents.iter().map(ToString::to_string).collect();
                let source = Source::bytes(name, text.join("\n").into_bytes());
                if let Err(error) = read(&source, Some(format)) {
                    assert!(error.place().is_some() && error.to_string().contains("hint: "), "{path}: {error}");
                }
            }
        }
    }
}

fn pointers(value: &serde_json::Value, path: String, paths: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, format!("{path}/{index}"), paths));
        }
        serde_json::Value::Object(entries) => {
            for (key, item) in entries {
                pointers(item, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), paths);
            }
        }
        _ => {}
    }
    paths.push(path);
}

#[test]
fn errors_name_the_file_the_place_and_what_was_expected() {
    // content, format, expected
    for (content, format, want) in [
        (
            r#"{"evalId": "e", "results": {"version": 3, "results": [{"success": "yes", "testIdx": 0}]}, "config": {}}"#,
            "promptfoo",
            "`results.results[0].success` is a string, not true or false\n  in f, at `results.results[0].success`",
        ),
        (
            r#"{"evalId": "e", "results": {"version": 3, "table": {}}, "config": {}}"#,
            "promptfoo",
            "`results.results` is missing; expected a list of results\n  in f, at `results.results`",
        ),
        (
            r#"{"testIdx": 0, "promptIdx": 0, "success": false, "failureReason": 9}"#,
            "promptfoo",
            "`failureReason` is 9; expected 0, 1 or 2\n  in f, line 1",
        ),
        (
            r#"{"testCases": [{"name": "a", "input": "b", "metricsData": [{"name": "m", "score": "high"}]}]}"#,
            "deepeval",
            "`testCases[0].metricsData[0].score` is a string, not a number\n  in f, at `testCases[0].metricsData[0].score`",
        ),
        (r#"{"doc_id": [], "resps": []}"#, "lm-eval", "`doc_id` is a list, not a number or text\n  in f, line 1"),
        (
            r#"{"spec": {"run_id": "r"}}
{"run_id": "r", "event_id": 0, "sample_id": "s", "type": "match", "data": {}}"#,
            "openai-evals",
            "`data.correct` is missing; expected true or false\n  in f, line 2",
        ),
        (
            r#"{"cases": [{"name": "a", "assertions": {"x": {"value": 1}}}], "failures": []}"#,
            "pydantic-evals",
            "`cases[0].assertions.x.value` is an integer, not true or false",
        ),
        (
            r#"{"eval_id": "e", "config": {"model_id": "m"}, "tasks": [{"test_id": "t", "runs": [{"run_number": 1, "status": "maybe"}]}]}"#,
            "waza",
            "`status` is `maybe`; expected `passed`, `failed`, `error`, `skipped` or `n/a`\n  in f, at `tasks[0].runs[0].status`",
        ),
        (
            r#"{"eval_id": "e", "config": {"model_id": "m"}, "tasks": [{"test_id": "t", "runs": [{"run_number": 1, "status": "passed"}, {"run_number": 1, "status": "failed"}]}]}"#,
            "waza",
            "run 1 of task `t` appears twice\n  in f, at `tasks[0].runs[1]`",
        ),
        (
            r#"{"test_id": "t", "score": 1, "target": "m", "execution_status": "fine"}"#,
            "agentv",
            "`execution_status` is `fine`; expected `ok`, `quality_failure` or `execution_error`\n  in f, line 1",
        ),
    ] {
        let error = read(&Source::bytes("f", content.as_bytes().to_vec()), None).unwrap_err().to_string();
        assert!(error.starts_with(want), "{format}: {error}");
    }
}

#[test]
fn nothing_to_read_is_said() {
    let empty_export = r#"{"evalId": "e", "results": {"version": 3, "results": []}, "config": {"description": "t"}}"#;
    let runs = read(&Source::bytes("f", empty_export.as_bytes().to_vec()), None).unwrap();
    check(&runs[0], Some("t"), None, &Samples::new(), &[], &["the file has no results"]);
    let empty_results = r#"{"results": {}, "configs": {}, "model_name": "m"}"#;
    let runs = read(&Source::bytes("f", empty_results.as_bytes().to_vec()), None).unwrap();
    check(&runs[0], None, Some("m"), &Samples::new(), &[], &["the file has no results"]);
    for format in ["promptfoo", "lm-eval", "openai-evals", "agentv"] {
        let error = read(&Source::bytes("f", b" \n\n".to_vec()), Some(format)).unwrap_err();
        assert_eq!(error.what(), "the file has no records", "{format}");
    }
}

#[test]
fn every_format_has_its_own_name() {
    let names: Vec<&str> = formats().iter().map(|format| format.name()).collect();
    let mut distinct = names.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len());
}

#[test]
fn every_format_has_a_page_and_example_files() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let index = std::fs::read_to_string(root.join("docs/formats/README.md")).unwrap();
    for format in formats() {
        let file = format.name().replace('-', "_");
        // CSV and Parquet hold native records, and are on their page.
        let page = if matches!(&*file, "csv" | "parquet") { "native" } else { &file };
        assert!(root.join(format!("docs/formats/{page}.md")).is_file(), "`{file}` has no page");
        assert!(index.contains(&format!("({page}.md)")), "`{page}` is not in the list of formats");
        assert!(root.join("testdata/formats").join(&file).is_dir(), "`{file}` has no example files");
    }
}
