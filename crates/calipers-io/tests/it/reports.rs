//! Reports that list instances, preferences, or figures only: SWE-bench, AlpacaEval, Every Eval Ever, HELM's `stats.json`,
//! lm-eval of 2023, and the older versions of promptfoo.

use crate::seen::{counts, error, fact, fixture, mean, run, scores};
use calipers_io::{RecordedRun, Source, read};

fn runs(name: &str) -> Vec<RecordedRun> {
    read(&Source::path(fixture(name)), None).unwrap_or_else(|error| panic!("{error}"))
}

/// `score/metric=value±error n`, figure by figure.
fn figures(run: &RecordedRun) -> String {
    let text = |figure: &calipers_io::RecordedFigure| {
        let value = figure.value.map_or("-".to_owned(), |value| value.to_string());
        let stderr = figure.stderr.map_or(String::new(), |stderr| format!("±{stderr}"));
        let n = figure.n.map_or(String::new(), |n| format!(" n={n}"));
        format!("{}/{}={value}{stderr}{n}", figure.score, figure.metric)
    };
    run.recorded.figures.iter().map(text).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_report_of_swe_bench_counts_every_instance_it_names() {
    let run = run("swe_bench/report.json");
    assert_eq!(run.format, "swe-bench");
    assert_eq!(counts(&run), (9, 9, 0));
    assert_eq!(mean(&run, "passed"), 3.0 / 9.0);
    assert_eq!(
        scores(&run, "resolved"),
        "acme__widgets-101=1.0 acme__gears-7=1.0 acme__gears-8=1.0 acme__widgets-103=0.0 acme__widgets-104=0.0 \
         acme__gears-11=0.0 acme__widgets-102=0.0 acme__gears-9=0.0 acme__gears-12=0.0"
    );
    assert_eq!(fact(&run, "resolved", 3, "outcome"), "empty_patch");
    assert_eq!(fact(&run, "resolved", 0, "repository"), "acme/widgets");
    assert_eq!(
        run.notes,
        [
            "counted as not resolved, as the harness does: empty_patch 1, error 2, no_prediction 1",
            "the report counts 10 instances and names 9: 1 missing here; resolved are 3 of 10",
        ]
    );
}

#[test]
fn an_older_report_takes_the_instances_without_a_patch_from_the_list_beside_it() {
    let run = runs("swe_bench/older/report.json").remove(0);
    assert_eq!(counts(&run), (8, 8, 0));
    assert_eq!(mean(&run, "passed"), 1.0 / 8.0);
    assert_eq!(
        run.notes,
        ["counted as not resolved, as the harness does: empty_patch 1, patch_not_applied 1, tests_timed_out 1, \
          no_prediction 3"]
    );
    // From memory, there is nothing beside it, and the report names five.
    let alone = read(&Source::bytes("r.json", crate::seen::bytes("swe_bench/older/report.json")), None).unwrap();
    assert_eq!(counts(&alone[0]), (5, 5, 0));
}

#[test]
fn reports_of_single_instances_are_read() {
    let run = run("swe_bench/instances.json");
    assert_eq!(scores(&run, "resolved"), "acme__widgets-101=1.0 acme__widgets-102=0.0 acme__widgets-103=0.0");
    assert_eq!(fact(&run, "resolved", 1, "outcome"), "patch_not_applied");
}

#[test]
fn a_report_that_does_not_say_how_many_were_tried_is_refused() {
    let said = error(r#"{"no_generation": [], "no_logs": [], "resolved": ["a__b-1"]}"#);
    assert!(said.contains("not how many were tried") && said.contains("tasks.txt"), "{said}");
}

#[test]
fn a_score_file_of_bfcl_has_its_figure_and_no_samples() {
    let run = run("bfcl/BFCL_v3_simple_score.json");
    assert_eq!((run.format, run.model.as_deref(), run.task.as_deref()), ("bfcl", Some("acme-1"), Some("simple")));
    assert_eq!(figures(&run), "valid/accuracy=0.7 n=10");
    assert_eq!((run.samples.len(), run.notes.len()), (0, 1));
    // What the lines and the counts say differently is said.
    let cut =
        "{\"accuracy\": 0.8, \"correct_count\": 7, \"total_count\": 10}\n{\"id\": \"simple_1\", \"valid\": false}\n";
    let notes = read(&Source::bytes("BFCL_v3_simple_score.json", cut.as_bytes()), None).unwrap().remove(0).notes;
    assert_eq!(notes[1], "the accuracy of the first line is not its 7 of 10");
    assert_eq!(notes[2], "1 failure listed, and 3 counted: the file may be cut off");
}

#[test]
fn results_of_bigcode_are_figures_by_task_or_outcomes_of_completions() {
    let runs = runs("bigcode/metrics.json");
    let named = |run: &RecordedRun| (run.format, run.model.clone(), run.task.clone());
    let model = Some("acme-code-1b".to_owned());
    assert_eq!(named(&runs[0]), ("bigcode", model.clone(), Some("humaneval".to_owned())));
    assert_eq!(named(&runs[1]), ("bigcode", model, Some("mbpp".to_owned())));
    assert_eq!(figures(&runs[0]), "passed/pass@1=0.3; passed/pass@10=0.55");
    assert_eq!((runs.len(), runs[1].samples.len(), runs[1].notes.len()), (2, 0, 1));
    let run = run("bigcode/results.json");
    assert_eq!((run.format, counts(&run)), ("bigcode", (4, 12, 0)));
    assert_eq!(
        scores(&run, "passed"),
        "HumanEval/0=1 HumanEval/0=0 HumanEval/0=1 HumanEval/1=0 HumanEval/1=0 HumanEval/1=0 HumanEval/2=1 \
         HumanEval/2=1 HumanEval/2=1 HumanEval/3=0 HumanEval/3=1 HumanEval/3=0"
    );
    // A map of lists of pairs that are something else is none of its files.
    let other = r#"{"a": [[0, {"passed": true}]]}"#;
    assert!(!read(&Source::bytes("r.json", other.as_bytes()), None).is_ok_and(|runs| runs[0].format == "bigcode"));
}

#[test]
fn a_table_of_promptfoo_has_a_run_for_each_column_of_outcomes() {
    let runs = runs("promptfoo/table.csv");
    let models: Vec<_> = runs.iter().map(|run| run.model.as_deref().unwrap_or("none")).collect();
    assert_eq!((runs[0].format, models), ("promptfoo", vec!["acme:chat-1", "acme:tiny"]));
    // Two rows with the same variables are attempts.
    assert_eq!((counts(&runs[0]), counts(&runs[1])), ((2, 3, 0), (2, 3, 1)));
    let city = |name: &str| format!("city={name}, unit=celsius");
    let (oslo, lima) = (city("Oslo"), city("Lima"));
    assert_eq!(scores(&runs[0], "score"), format!("{oslo}=1.0 {lima}=0.9 {oslo}=0.0"));
    assert_eq!(scores(&runs[0], "tone"), format!("{oslo}=0.5 {lima}=1.0 {oslo}=0.0"));
    // Over samples: one passed in one of two attempts, the other in its only one.
    assert_eq!(mean(&runs[0], "passed"), 0.75);
    assert_eq!(mean(&runs[1], "passed"), 0.5);
    let older = run("promptfoo/older_table.csv");
    assert_eq!(scores(&older, "score"), "question=2+2=1 question=3+3=0 question=4+4=1");
    assert!(older.notes.is_empty(), "{:?}", older.notes);
    // What begins with no outcome is no failure.
    let edited = "q,[a] p\n1,[PASS] x\n2,y\n";
    let error = read(&Source::bytes("t.csv", edited.as_bytes()), None).unwrap_err().to_string();
    assert!(error.contains("does not begin with `[PASS]`") && error.contains("line 3"), "{error}");
}

#[test]
fn preferences_are_wins_and_what_is_none_is_unscored() {
    let runs = runs("alpaca_eval/annotations.json");
    assert_eq!(runs.len(), 2);
    let chat = &runs[0];
    assert_eq!((chat.format, chat.model.as_deref()), ("alpaca-eval", Some("acme-chat")));
    assert_eq!(chat.task.as_deref(), Some("against acme-base, judged by acme-judge"));
    assert_eq!(
        scores(chat, "win"),
        "Name three rivers.=1.0 Explain rain to a child.=0.0 Write a haiku about tin.=0.5 \
         Translate \"bread\" to Welsh.=0.5 Sum 2 and 2.=0.75 Summarise the plot.=nan Sort these numbers.=nan"
    );
    assert_eq!(mean(chat, "annotator_latency_ms"), 500.0);
    assert_eq!(chat.notes, ["2 annotations without a preference from 1 to 2: unscored, as AlpacaEval leaves them out"]);
    assert_eq!(runs[1].model.as_deref(), Some("acme-tiny"));
}

#[test]
fn aggregate_records_are_figures_with_their_errors() {
    let runs = runs("every_eval_ever/aggregate.json");
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].task.as_deref(), runs[0].model.as_deref()), (Some("sums"), Some("acme/chat-1")));
    assert_eq!(figures(&runs[0]), "score/accuracy=0.75±0.05 n=76; length/length=31.5");
    assert_eq!(figures(&runs[1]), "f1/f1=0.4");
}

#[test]
fn instance_records_of_one_sample_are_scores_and_attempts() {
    let run = run("every_eval_ever/instances_samples.jsonl");
    assert_eq!(run.format, "every-eval-ever");
    assert_eq!(counts(&run), (4, 5, 1));
    assert_eq!(scores(&run, "score"), "2+2=1.0 2+2=0.0 1+3=0.0 8/2=0.0");
    assert_eq!(scores(&run, "format"), "2+2=0.5");
    assert_eq!(fact(&run, "score", 0, "subject"), "arithmetic");
    assert_eq!((mean(&run, "latency_ms"), mean(&run, "tokens_used")), (250.0, 17.0));
    assert_eq!(run.notes, ["1 record with an error and an output: the score counts, the error is its explanation"]);
}

#[test]
fn results_of_2023_keep_each_figure_with_its_error() {
    let runs = runs("lm_eval/results_2023.json");
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].model.as_deref(), Some("acme/tiny@step1000"));
    let norm = "acc_norm/acc_norm=0.7±0.0525; acc_norm/stderr=0.0525";
    assert_eq!(figures(&runs[0]), format!("acc/acc=0.75±0.05; acc/stderr=0.05; {norm}"));
}

#[test]
fn statistics_of_helm_have_no_error_and_count_their_instances() {
    let run = run("helm/stats.json");
    assert_eq!(
        figures(&run),
        "exact_match (test)/exact_match=0.3 n=10; exact_match (test, typos(prob=0.1))/exact_match=0.2; \
         exact_match (valid)/exact_match=1 n=2; quasi_exact_match (test)/quasi_exact_match=- n=10"
    );
    assert_eq!(run.notes[1], "1 statistic about requests not read: they do not measure quality");
}

#[test]
fn the_first_version_of_promptfoo_says_passed_or_failed() {
    let runs = runs("promptfoo/version_1.json");
    assert_eq!(runs.len(), 2, "a run for each prompt");
    assert_eq!(scores(&runs[0], "score"), "body=Hello=1 body=Bread=1");
    assert_eq!(scores(&runs[1], "score"), "body=Hello=0");
    assert_eq!(counts(&runs[1]), (2, 2, 1));
    assert_eq!(mean(&runs[0], "tokens_used"), 20.0);
    assert!(runs.iter().all(|run| run.notes.is_empty()), "{:?}", runs[0].notes);

    let changed = String::from_utf8(crate::seen::bytes("promptfoo/version_1.json")).unwrap();
    let changed = changed.replace("\"successes\": 2", "\"successes\": 3");
    let runs = read(&Source::bytes("x", changed.into_bytes()), None).unwrap();
    assert_eq!(runs[0].notes, ["the file has 2 passed of 4 rows, and its `stats` count 3 of 5"]);
}

#[test]
fn what_promptfoo_returns_without_rows_has_figures() {
    let run = run("promptfoo/package.json");
    assert_eq!(run.model.as_deref(), Some("acme:small"));
    assert_eq!(
        figures(&run),
        "score/sum=1.5; score/testPassCount=1; score/testFailCount=1; score/testErrorCount=0; score/cost=0.002"
    );
}
