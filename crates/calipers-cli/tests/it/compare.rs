//! `calipers compare` from files to an answer: the golden vectors, what people see, mistakes and exit codes.

use crate::documents::Validators;
use crate::golden::{Folder, same, vectors};
use calipers::stats::special::t_quantile;
use calipers_testing::snapshot::assert_file;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// One record a value.
fn scored(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().enumerate().map(|(id, value)| format!("{}\n", json!({"id": id, "score": value}))).collect()
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn pair(folder: &Folder, candidate: &str, baseline: &str) {
    folder.write("new.jsonl", candidate);
    folder.write("old.jsonl", baseline);
}

/// The first metric of the runs in a folder, with further options.
#[track_caller]
fn first(folder: &Folder, more: &[&str]) -> Json {
    let arguments: Vec<&str> = ["compare", "new.jsonl", "old.jsonl", "--json"].iter().chain(more).copied().collect();
    folder.json(&arguments)["comparisons"][0]["metrics"][0].clone()
}

/// So many samples that both pass, only the first, only the second, and none.
fn table([both, first, second, neither]: [usize; 4]) -> (String, String) {
    let rows = [(1.0, 1.0, both), (1.0, 0.0, first), (0.0, 1.0, second), (0.0, 0.0, neither)];
    let pairs = rows.into_iter().flat_map(|(a, b, times)| std::iter::repeat_n((a, b), times));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    (scored(a), scored(b))
}

#[test]
fn paired_differences_are_those_of_the_vectors() {
    let folder = Folder::new();
    let mut intervals = 0;
    for v in vectors("paired", "paired_diff") {
        pair(&folder, &scored(numbers(&v["input"]["a"])), &scored(numbers(&v["input"]["b"])));
        let got = first(&folder, &["-m", "mean", "--level", &v["params"]["level"].to_string()]);
        same(&v, "n", &got["change"]["n"]);
        same(&v, "mean_diff", &got["change"]["estimate"]);
        same(&v, "correlation", &got["correlation"]);
        if got["paired"].is_null() {
            // Runs that are alike have no t.
            assert!(v["expected"]["t"].is_null(), "{}", v["name"]);
            continue;
        }
        for (key, ours) in [("se", "stderr"), ("t", "t"), ("df", "df"), ("p_two_sided", "p")] {
            same(&v, key, &got["paired"][ours]);
        }
        if got["change"]["interval"]["method"] == "skewed-t" {
            intervals += 1;
            // Corrected for skewness, t claims less.
            let (ours, plain) = (&got["change"]["interval"], &v["expected"]);
            assert!(ours["lower"].as_f64() < plain["lower"].as_f64(), "{}", v["name"]);
            assert!(ours["upper"].as_f64() > plain["upper"].as_f64(), "{}", v["name"]);
        }
    }
    // Of few passes that differ, the interval is one for shares.
    assert!(intervals > 0);
}

#[test]
fn clustered_differences_are_those_of_the_vectors() {
    let folder = Folder::new();
    for v in vectors("paired", "paired_diff_clustered") {
        let run = |key: &str| -> String {
            let clusters = v["input"]["clusters"].as_array().unwrap();
            let rows = numbers(&v["input"][key]).into_iter().zip(clusters).enumerate();
            let record = |(id, (value, cluster)): (usize, (f64, &Json))| {
                format!("{}\n", json!({"id": id, "score": value, "metadata": {"document": cluster.to_string()}}))
            };
            rows.map(record).collect()
        };
        pair(&folder, &run("a"), &run("b"));
        let level = v["params"]["level"].to_string();
        let got = first(&folder, &["-m", "mean", "--cluster", "document", "--level", &level]);
        same(&v, "mean_diff", &got["change"]["estimate"]);
        same(&v, "cr2_se", &got["paired"]["stderr"]);
        same(&v, "cr2_df", &got["paired"]["df"]);
        same(&v, "cr2_p", &got["paired"]["p"]);
        // With ten clusters or more, the test that decides also knows of changes that did not occur, and claims less.
        if v["expected"]["n_clusters"].as_f64() >= Some(10.0) {
            assert!(got["test"]["p"].as_f64() > got["paired"]["p"].as_f64(), "{}", v["name"]);
        }
        same(&v, "n_clusters", &got["change"]["details"]["clusters"]);
    }
}

#[test]
fn margins_are_those_of_the_vectors() {
    let folder = Folder::new();
    for v in vectors("paired", "noninferiority_paired") {
        pair(&folder, &scored(numbers(&v["input"]["candidate"])), &scored(numbers(&v["input"]["baseline"])));
        let level = (1.0 - v["params"]["alpha"].as_f64().unwrap()).to_string();
        let got = first(&folder, &["-m", "mean", "--margin", &v["params"]["margin"].to_string(), "--level", &level]);
        same(&v, "mean_diff", &got["change"]["estimate"]);
        // The reference takes t, which claims too often that a loss is within the margin. Ours is no bolder.
        for (key, of_t) in [("noninferiority_p", "p_noninferior"), ("equivalence_p", "tost_p")] {
            let (ours, of_t) = (got["margin"][key].as_f64().unwrap(), v["expected"][of_t].as_f64().unwrap());
            assert!(ours >= of_t, "{}: {key} {ours}, t has {of_t}", v["name"]);
        }
        let decision = match got["margin"]["standing"].as_str().unwrap() {
            "inferior" => "fail",
            "unclear" => "inconclusive",
            _ => "pass",
        };
        assert!(v["expected"]["decision"] == decision || decision == "inconclusive", "{}: {decision}", v["name"]);
    }
}

#[test]
fn p_value_interval_and_margin_are_one_test() {
    // By t, a run that loses a tenth of 30 samples would keep a margin of 10 points in 19 of 100 cases.
    let folder = Folder::new();
    for (lost, gained) in [(3, 0), (0, 0), (6, 0), (8, 1), (2, 9)] {
        let passed = |from: usize, to: usize| (0..30).map(move |id| f64::from(u8::from(!(from..to).contains(&id))));
        pair(&folder, &scored(passed(0, lost)), &scored(passed(lost, lost + gained)));
        let margin = "0.15";
        let got = first(&folder, &["-m", "accuracy", "--margin", margin, "--level", "0.9"]);
        let number = |value: &Json| value.as_f64().unwrap();
        let (lower, upper) = (number(&got["change"]["interval"]["lower"]), number(&got["change"]["interval"]["upper"]));
        let p = number(&got["test"]["p"]);
        assert_eq!(p <= 0.1, lower > 0.0 || upper < 0.0, "{lost} {gained}: p {p}, [{lower}, {upper}]");
        let noninferior = number(&got["margin"]["noninferiority_p"]);
        assert_eq!(noninferior <= 0.05, lower >= -0.15, "{lost} {gained}: {noninferior}, [{lower}, {upper}]");
        assert_eq!(got["change"]["interval"]["method"], "gaffke");
    }
}

#[test]
fn tests_of_passes_and_of_few_pairs_are_those_of_the_vectors() {
    let folder = Folder::new();
    for v in vectors("tests", "mcnemar") {
        let count = |key: &str| v["input"][key].as_u64().unwrap() as usize;
        let (a, b) = table([count("n11"), count("n10"), count("n01"), count("n00")]);
        pair(&folder, &a, &b);
        let got = first(&folder, &[]);
        assert_eq!(got["metric"], "accuracy");
        same(&v, "p_exact", &got["discordance"]["p_exact"]);
        same(&v, "p_mid", &got["discordance"]["p_mid"]);
        same(&v, "p_exact", &got["test"]["p"]);
    }
    for v in vectors("tests", "paired_exact_tests") {
        let differences = numbers(&v["input"]["diffs"]);
        pair(&folder, &scored(differences.clone()), &scored(vec![0.0; differences.len()]));
        same(&v, "permutation_p", &first(&folder, &["-m", "mean"])["permutation_p"]);
    }
}

#[test]
fn everything_that_is_tested_is_adjusted_for_as_in_the_vectors() {
    let folder = Folder::new();
    // Differences of which t has the p-value that a vector asks for. They are symmetric, and t is a little smaller for so few.
    let errors: Vec<f64> = (0..30).map(|i| f64::from(i) - 14.5).collect();
    let stderr = (errors.iter().map(|x| x * x).sum::<f64>() / 29.0 / 30.0).sqrt();
    let mut checked = 0;
    for v in vectors("tests", "adjust_pvalues") {
        let correction = match v["params"]["method"].as_str().unwrap() {
            "holm" => "holm",
            "bh" | "fdr_bh" => "bh",
            _ => continue,
        };
        let p: Vec<f64> = numbers(&v["input"]["p"]);
        if p.iter().any(|p| !(0.0 < *p && *p < 1.0)) {
            continue;
        }
        checked += 1;
        let (mut candidate, mut baseline) = (String::new(), String::new());
        for (id, error) in errors.iter().enumerate() {
            let scores: serde_json::Map<String, Json> = p
                .iter()
                .enumerate()
                .map(|(k, p)| {
                    (format!("s{k}"), json!(error + stderr * t_quantile(1.0 - p / 2.0, 29.0) * (30.0f64 / 28.0).sqrt()))
                })
                .collect();
            let zeros: serde_json::Map<String, Json> = scores.keys().map(|key| (key.clone(), json!(0.0))).collect();
            writeln!(candidate, "{}", json!({"id": id, "scores": scores})).unwrap();
            writeln!(baseline, "{}", json!({"id": id, "scores": zeros})).unwrap();
        }
        pair(&folder, &candidate, &baseline);
        let metrics: Vec<String> = (0..p.len()).map(|k| format!("mean(scorer=\"s{k}\")")).collect();
        let mut arguments = vec!["compare", "new.jsonl", "old.jsonl", "--json", "--correction", correction];
        metrics.iter().for_each(|metric| arguments.extend(["-m", metric]));
        let report = folder.json(&arguments);
        assert_eq!(report["settings"]["tested"], p.len());
        let want = numbers(&v["expected"]["adjusted"]);
        for (metric, want) in report["comparisons"][0]["metrics"].as_array().unwrap().iter().zip(want) {
            let got = metric["test"]["adjusted"].as_f64().unwrap();
            assert!((got - want).abs() <= 1e-8, "{}: {got} {want}", v["name"]);
        }
    }
    assert!(checked >= 4, "only {checked}");
}

#[test]
fn pairing_shows_what_two_intervals_hide() {
    // Five hundred samples, correlated by 0.69: p is 0.023 unpaired and 0.00006 paired.
    let folder = Folder::new();
    let (a, b) = table([157, 56, 21, 266]);
    pair(&folder, &a, &b);
    let got = first(&folder, &[]);
    assert_eq!((got["correlation"].as_f64().unwrap() * 100.0).round(), 69.0);
    assert_eq!((got["paired"]["p"].as_f64().unwrap() * 1e5).round(), 6.0);
    assert_eq!(got["verdict"], "improved");
    let output = folder.calipers(&["compare", "new.jsonl", "old.jsonl"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().next(), Some("accuracy  +7.0 points  [+3.4, +10.6]  improved (p < 0.0001)"));
}

#[test]
fn the_exit_code_is_the_verdict_where_that_is_asked_for() {
    let folder = Folder::new();
    let code = |arguments: &[&str]| {
        let all: Vec<&str> = ["compare", "new.jsonl", "old.jsonl"].iter().chain(arguments).copied().collect();
        let output = folder.calipers(&all);
        (output.status.code(), String::from_utf8(output.stdout).unwrap().lines().next().unwrap_or_default().to_owned())
    };
    let (a, b) = table([60, 3, 12, 25]);
    pair(&folder, &a, &b);
    assert_eq!(code(&[]).0, Some(0));
    let failed = "FAIL  accuracy has regressed";
    assert_eq!(code(&["--fail-on", "regression"]), (Some(1), failed.to_owned()));
    assert_eq!(code(&["--fail-on", "regression", "--margin", "0.08"]).0, Some(0));
    assert_eq!(code(&["--fail-on", "nonsense"]).0, Some(2));
    pair(&folder, &a, &a);
    let passed = "PASS  no metric has clearly regressed";
    assert_eq!(code(&["--fail-on", "regression"]), (Some(0), passed.to_owned()));
    // Without anything to compare there is no answer, whether it is asked for or not.
    pair(&folder, &a, "");
    let empty = "UNDECIDED  `old.jsonl` has no samples";
    assert_eq!(code(&[]), (Some(3), empty.to_owned()));
    assert_eq!(code(&["--fail-on", "regression"]), (Some(3), empty.to_owned()));
    pair(&folder, &a, "{\"id\": \"elsewhere\", \"score\": 1}\n");
    assert_eq!(code(&[]).0, Some(3));
    pair(&folder, "{\"id\": 1, \"scores\": {\"judge\": 1}}\n", "{\"id\": 1, \"scores\": {\"exact\": 1}}\n");
    let (undecided, first) = code(&[]);
    assert_eq!(undecided, Some(3));
    assert!(first.contains("the runs are scored by different"), "{first}");
}

#[test]
fn mistakes_say_what_to_do() {
    let folder = Folder::new();
    let (a, b) = table([6, 3, 1, 2]);
    pair(&folder, &a, &b);
    let refuses = |more: &[&str], message: &str| {
        let all: Vec<&str> = ["compare", "new.jsonl", "old.jsonl"].iter().chain(more).copied().collect();
        folder.refuses(&all, message);
    };
    folder.refuses(&["compare", "new.jsonl"], "name a second file, or say with `--by model` which column");
    folder.refuses(&["compare", "-", "-"], "standard input is named twice");
    folder.refuses(&["compare", "new.jsonl", "gone.jsonl"], "in gone.jsonl");
    refuses(&["--margin", "0"], "two points of a rate are written 0.02");
    refuses(&["-m", "acuracy"], "did you mean `accuracy`?");
    refuses(&["-m", "grouped(accuracy(), \"topic\")"], "`");
    refuses(&["--cluster", "document"], "document");
    refuses(&["--where", "topic=law"], "no sample has the field `topic`\n  in new.jsonl\n  hint: ");
    refuses(&["--reducer", "none"], "samples are paired, not attempts");
    refuses(&["--level", "95"], "0.95");
    refuses(&["--output", "junit=report.xml"], "the formats are json, markdown, text and html");
    refuses(&["--output", "json=old.jsonl"], "would replace what is judged");
    refuses(&["--output", "json=-", "--json"], "both write to `standard output`");
    pair(&folder, "{\"id\": 1, \"score\": \"maybe\"}\n", "{\"id\": 1, \"score\": \"C\"}\n");
    refuses(&[], "--label 'maybe=0.5'");
    pair(
        &folder,
        "{\"id\": 1, \"scores\": {\"m\": {\"x\": 1, \"y\": 0}}}\n",
        "{\"id\": 1, \"scores\": {\"m\": {\"x\": 1, \"y\": 1}}}\n",
    );
    refuses(
        &[],
        "the scores of `m` are maps, of which no single number is compared\n  hint: compare one of their keys, as in `-m 'aggregate(\"x\", mean())'`",
    );
    // Which works.
    assert_eq!(first(&folder, &["-m", "aggregate(\"x\", mean())"])["change"]["n"], 1);
    refuses(&["--limits", "cost_usd"], "`--limits cost_usd` has no `=`");
}

/// 24 samples that all became 5 to 7 % slower: the mean stays open, the typical sample is sure, and a limit lets fewer samples settle it.
#[test]
fn a_mean_that_stays_open_says_what_would_settle_it() {
    let folder = Folder::new();
    let run = |slower: bool, n: usize| -> String {
        let line = |id: usize| {
            let factor = if slower { 1.05 + 0.001 * (id * 7 % 21) as f64 } else { 1.0 };
            format!("{}\n", json!({"id": id, "score": 1, "latency_ms": (800 + 25 * (id % 24)) as f64 * factor}))
        };
        (0..n).map(line).collect()
    };
    pair(&folder, &run(true, 24), &run(false, 24));
    let shown = |more: &[&str]| {
        let all: Vec<&str> = ["compare", "new.jsonl", "old.jsonl"].iter().chain(more).copied().collect();
        let output = folder.calipers(&all);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = shown(&["-m", "mean(\"latency_ms\")", "--fail-on", "regression"]);
    assert_eq!(code, Some(0), "{text}");
    snapshot("compare-open.txt", &text);
    let (_, comment) = shown(&["--output", "markdown=-"]);
    assert!(comment.contains("24 of 24 higher") && comment.contains("the mean stays open"), "{comment}");
    pair(&folder, &run(true, 90), &run(false, 90));
    let verdict = |more: &[&str]| first(&folder, &[&["-m", "mean(\"latency_ms\")"], more].concat())["verdict"].clone();
    assert_eq!(verdict(&[]), "no_change_detected");
    assert_eq!(verdict(&["--limits", "latency_ms=2s"]), "regressed");
    // A limit that an attempt exceeds is none.
    assert_eq!(verdict(&["--limits", "latency_ms=1s"]), "no_change_detected");
}

#[test]
fn reports_go_to_files_and_take_the_place_of_what_is_printed() {
    let folder = Folder::new();
    let (a, b) = table([60, 3, 12, 25]);
    pair(&folder, &a, &b);
    let all = "markdown=comment.md,json=compare.json,text=compare.txt";
    let output = folder.calipers(&["compare", "new.jsonl", "old.jsonl", "--output", all]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        folder.read("comment.md").starts_with("<!-- calipers compare -->\n> [!CAUTION]\n> **REGRESSED**: accuracy")
    );
    assert_eq!(folder.read("compare.txt"), String::from_utf8(output.stdout).unwrap());
    let json: Json = serde_json::from_str(&folder.read("compare.json")).unwrap();
    assert_eq!(
        (&json["verdict"], &json["provenance"]["runs"][1]["files"][0]),
        (&json!("regressed"), &json!("old.jsonl"))
    );
    // What fails leaves no report of before.
    folder.write("old.jsonl", "{\"id\": 1, \"score\": ");
    folder.refuses(&["compare", "new.jsonl", "old.jsonl", "--output", all], "old.jsonl");
    assert!(!folder.has("compare.json"));
}

/// Runs of several attempts, with categories, behaviours, latency and a text that would like to be markup.
fn agents(folder: &Folder) {
    let run = |shift: usize| -> String {
        let mut text = String::new();
        for id in 0..24 {
            for epoch in 1..=3 {
                let passed = (id * 7 + epoch * 5 + shift * 3) % 11 > 2 + shift;
                let record = json!({
                    "id": format!("<b>case</b>-{id:02}"), "epoch": epoch, "category": (if id % 2 == 0 { "easy" } else { "hard|er" }), "passed": passed,
                    "expected_behaviors": ["says <script>alert(1)</script> @everyone"],
                    "observed_behaviors": (if passed { vec!["says <script>alert(1)</script> @everyone"] } else { vec![] }),
                    "latency_ms": (800 + 37 * ((id * epoch + shift) % 9) + 50 * shift), "tokens_used": (900 + id * 10),
                });
                writeln!(text, "{record}").unwrap();
            }
        }
        text
    };
    for (shift, name) in ["old.jsonl", "new.jsonl", "third.jsonl"].iter().enumerate() {
        folder.write(name, run(shift));
    }
}

#[track_caller]
fn snapshot(name: &str, text: &str) {
    assert_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name), text);
}

#[test]
fn what_people_see_is_read_as_prose() {
    let folder = Folder::new();
    agents(&folder);
    let shown = |arguments: &[&str]| {
        let output = folder.calipers(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        String::from_utf8(output.stdout).unwrap()
    };
    let two = shown(&["compare", "new.jsonl", "old.jsonl", "--margin", "0.02", "--plot"]);
    let three = shown(&["compare", "third.jsonl", "new.jsonl", "old.jsonl", "-m", "pass_rate", "--plot"]);
    for text in [&two, &three] {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
            assert_eq!(line, line.trim_end());
        }
    }
    snapshot("compare.txt", &two);
    snapshot("compare-three.txt", &three);
    let comment = shown(&["compare", "new.jsonl", "old.jsonl", "--margin", "0.02", "--output", "markdown=-"]);
    assert!(!comment.contains("<script>") && !comment.contains("@everyone") && !comment.contains("<b>"), "{comment}");
    snapshot("compare.md", &comment);
}

#[test]
fn plots_need_no_more_than_ascii() {
    let folder = Folder::new();
    agents(&folder);
    let mut command = crate::program::calipers().command();
    command.args(["compare", "--plot"]).arg(folder.join("new.jsonl")).arg(folder.join("old.jsonl"));
    let output = command.env("LC_ALL", "POSIX").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, plot) = text.split_once("change in points").unwrap();
    assert!(plot.contains('o') && plot.contains("[-") && !plot.contains(['├', '●', '■', '┊']), "{plot}");
}

#[test]
fn gates_and_scores_are_drawn_too() {
    let folder = Folder::new();
    agents(&folder);
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"pass_rate": 20}, "warning": {"latency_p95": 5000}}}"#);
    let gate = folder.calipers(&["gate", "new.jsonl", "--policy", "policy.json", "--plot"]);
    let text = String::from_utf8(gate.stdout).unwrap();
    assert!(text.contains("rates; the dotted line is the threshold\n  pass_rate  "), "{text}");
    assert!(text.contains("latency; the dotted line is the threshold\n  latency_p95  "), "{text}");
    let score = folder.calipers(&["score", "new.jsonl", "old.jsonl", "-m", "pass_rate", "--plot"]);
    let text = String::from_utf8(score.stdout).unwrap();
    assert!(text.contains("estimates with their intervals\n  pass_rate / new.jsonl  "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn everything_that_is_printed_as_json_keeps_to_the_schema() {
    let folder = Folder::new();
    let validators = Validators::new("compare");
    let mut seen = Vec::new();
    let mut keeps = |arguments: &[&str]| {
        let all: Vec<&str> = ["compare", "--json"].iter().chain(arguments).copied().collect();
        let json = folder.json(&all);
        validators.check(&json, &arguments.join(" "));
        seen.push(json.to_string());
    };
    agents(&folder);
    keeps(&["new.jsonl", "old.jsonl", "--margin", "0.02", "--where", "category=easy"]);
    keeps(&["new.jsonl", "old.jsonl", "--margin", "0.02", "--cluster", "category"]);
    keeps(&["new.jsonl", "old.jsonl", "third.jsonl", "--correction", "bh", "--estimand", "suite", "--label", "x=1"]);
    keeps(&["new.jsonl", "old.jsonl", "-m", "latency_p50", "-m", "pass_rate"]);
    let (a, b) = table([6, 3, 1, 2]);
    pair(&folder, &a, &b);
    keeps(&["new.jsonl", "old.jsonl"]);
    pair(&folder, &a, "");
    keeps(&["new.jsonl", "old.jsonl"]);
    keeps(&[
        &format!("{ROOT}/examples/support-agent/results-next.jsonl"),
        &format!("{ROOT}/examples/support-agent/results.jsonl"),
    ]);
    // A schema is not tested by what never occurs.
    for part in
        ["\"discordance\":{", "\"standing\":", "\"best_rank\":", "\"flaky\":true", "\"undefined\":\"", "\"bounds\":{"]
    {
        assert!(seen.iter().any(|json| json.contains(part)), "no {part} in any report");
    }
    let bad = folder.json(&["compare", "--json", "new.jsonl", "old.jsonl"]);
    let mut bad = bad;
    bad["verdict"] = json!("fail");
    assert!(!validators.is_valid(&bad));
}

#[test]
fn a_run_may_be_a_folder_and_several_scorers_are_each_compared() {
    let folder = Folder::new();
    let record = |id: usize, passed: bool| {
        format!("{}\n", json!({"id": id, "scores": {"judge": u8::from(passed), "exact": u8::from(id < 7), "extra": 1}}))
    };
    std::fs::create_dir_all(folder.join("runs")).unwrap();
    folder.write("runs/one.jsonl", (0..10).map(|id| record(id, true)).collect::<String>());
    folder.write("runs/two.jsonl", (10..20).map(|id| record(id, false)).collect::<String>());
    let old: String = (0..20).map(|id| record(id, id < 15).replace(",\"extra\":1", "")).collect();
    folder.write("old.jsonl", old.replace("\"extra\":1,", ""));
    let report = folder.json(&["compare", "runs", "old.jsonl", "--json"]);
    let names: Vec<&str> =
        report["comparisons"][0]["metrics"].as_array().unwrap().iter().map(|m| m["metric"].as_str().unwrap()).collect();
    assert_eq!(names, ["accuracy(scorer=exact)", "accuracy(scorer=judge)"]);
    assert_eq!(report["comparisons"][0]["matching"]["matched"], 20);
    assert_eq!(report["provenance"]["runs"][0]["files"].as_array().unwrap().len(), 2);
    assert_eq!(report["caveats"][0]["id"], "unshared-scorer");
    let log = format!("{ROOT}/testdata/formats/inspect/edges.json");
    let maps = folder.json(&["compare", &log, &log, "--json"]);
    let ids: Vec<&str> =
        maps["caveats"].as_array().unwrap().iter().map(|caveat| caveat["id"].as_str().unwrap()).collect();
    // The log has two reducers, and scores of several shapes.
    assert_eq!(ids, ["several-reducers", "map-scores"]);
    let one = folder.json(&["compare", "runs", "old.jsonl", "--json", "--scorer", "judge"]);
    assert_eq!(one["comparisons"][0]["metrics"][0]["metric"], "accuracy");
    assert_eq!(one["provenance"]["scorers"][0], "judge");
}

#[test]
fn a_percentage_is_no_improvement_on_a_share() {
    let folder = Folder::new();
    let refused = |candidate: &str, baseline: &str| {
        pair(&folder, candidate, baseline);
        let output = folder.calipers(&["compare", "new.jsonl", "old.jsonl"]);
        (output.status.code(), calipers_testing::text(&output.stderr))
    };
    let outcomes = || (0..20).map(|id| f64::from(u8::from(id % 3 > 0)));
    let percent = scored(outcomes().map(|score| 100.0 * score));
    let stars = scored((0..20).map(|id| 1.0 + f64::from(id % 5)));
    let shares = scored((0..20).map(|id| 0.2 + 0.2 * f64::from(id % 4)));
    for (candidate, baseline, what) in [
        (&percent, &scored(outcomes()), "scores of `score` go up to 100 in `new.jsonl` and to 1 in `old.jsonl`"),
        (&scored(outcomes()), &percent, "scores of `score` go up to 1 in `new.jsonl` and to 100 in `old.jsonl`"),
        (&stars, &shares, "scores of `score` go up to 5 in `new.jsonl` and to 0.8 in `old.jsonl`"),
        (&stars, &scored(outcomes()), "scores of `score` go up to 5 in `new.jsonl` and to 1 in `old.jsonl`"),
    ] {
        let (code, said) = refused(candidate, baseline);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("{what}: they are on two scales")), "{said}");
    }
    // One scale, of which a run had only the lowest points.
    let low = scored((0..20).map(|id| f64::from(id % 2)));
    let high = scored((0..20).map(|id| f64::from(id % 4)));
    let (code, said) = refused(&low, &high);
    assert_eq!(code, Some(0), "{said}");
}
