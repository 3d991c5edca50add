//! Tables of every shape: what `--columns` says, what is found by itself, and what is refused.

use crate::program::{calipers, with_input};
use calipers_testing::{Scratch, text};
use serde_json::Value as Json;

fn json(folder: &Scratch, arguments: &[&str]) -> Json {
    let output = calipers().run_in(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each run by name, with its accuracy and n.
fn accuracies(report: &Json) -> Vec<(String, f64, u64)> {
    let of = |run: &Json| {
        let accuracy = &run["scores"][0]["metrics"]["accuracy"];
        let name = run["run"].as_str().unwrap_or_default().to_owned();
        (name, rounded(accuracy["value"].as_f64().unwrap_or(f64::NAN)), accuracy["n"].as_u64().unwrap_or(0))
    };
    report["runs"].as_array().unwrap().iter().map(of).collect()
}

/// Means are sums of samples, which are means of attempts: the last bit depends on the order of the divisions.
fn rounded(x: f64) -> f64 {
    (x * 1e9).round() / 1e9
}

#[track_caller]
fn scores(content: &str, name: &str, columns: &[&str], want: &[(&str, f64, u64)]) -> Json {
    let folder = Scratch::with(name, content);
    let mut arguments = vec!["score", name, "--json"];
    columns.iter().for_each(|columns| arguments.extend(["--columns", columns]));
    let report = json(&folder, &arguments);
    let want: Vec<(String, f64, u64)> =
        want.iter().map(|(name, value, n)| ((*name).to_owned(), rounded(*value), *n)).collect();
    assert_eq!(accuracies(&report), want, "{content}\n{columns:?}");
    report
}

#[track_caller]
fn refused(content: &str, name: &str, arguments: &[&str], message: &str) {
    let folder = Scratch::with(name, content);
    let output = calipers().run_in(&folder, &[&["score", name], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr), message);
}

const LINES: &str = r#"{"question_id": "q1", "is_correct": true, "subject": "law", "trial": 1}
{"question_id": "q1", "is_correct": false, "subject": "law", "trial": 2}
{"question_id": "q2", "is_correct": null, "subject": "art", "trial": 1}
{"question_id": "q3", "subject": "art", "trial": 1}
"#;

#[test]
fn columns_of_other_names_are_what_is_said() {
    let columns = "id=question_id,score=is_correct,epoch=trial,category=subject";
    let report = scores(LINES, "r.jsonl", &[columns], &[("", 0.5, 1)]);
    assert_eq!(report["runs"][0]["samples"], serde_json::json!({"total": 3, "scored": 1, "unscored": 2, "errored": 0}));
    assert_eq!(
        report["runs"][0]["columns"],
        serde_json::json!({"id": "question_id", "score": "is_correct", "epoch": "trial", "category": "subject"})
    );
    // A record without the column is as unscored as one with null in it.
    assert_eq!(report["runs"][0]["scores"][0]["metrics"]["accuracy"]["missing"], 2);
    // The flag can be repeated, and well-known names need not be said.
    scores(LINES, "r.jsonl", &["id=question_id", "score=is_correct"], &[("", 0.5, 1)]);
    scores(LINES, "r.jsonl", &[], &[("", 0.5, 1)]);
    let folder = Scratch::with("r.jsonl", LINES);
    let law = json(&folder, &["score", "r.jsonl", "--json", "--columns", columns, "--where", "category=law"]);
    assert_eq!(law["runs"][0]["samples"]["total"], 1);
}

#[test]
fn the_header_says_what_was_read_as_what() {
    let folder = Scratch::with("r.jsonl", LINES);
    let output = calipers().run_in(&folder, &["score", "r.jsonl"]);
    let head: Vec<String> = text(&output.stdout).lines().take(2).map(str::to_owned).collect();
    assert_eq!(
        head,
        ["r.jsonl  native · 3 samples, 4 attempts", "  columns: id = question_id, score = is_correct, epoch = trial"]
    );
}

#[test]
fn a_table_in_every_form_gives_the_same() {
    let rows = [("a", "1"), ("b", "0"), ("c", "1")];
    for delimiter in [",", ";", "\t", "|"] {
        let lines: String = rows.iter().map(|(id, score)| format!("{id}{delimiter}{score}\n")).collect();
        let table = format!("case{delimiter}judged\n{lines}");
        scores(&table, "r.csv", &["id=case,score=judged"], &[("", 2.0 / 3.0, 3)]);
    }
    let list = r#"[{"case": "a", "judged": 1}, {"case": "b", "judged": 0}, {"case": "c", "judged": 1}]"#;
    scores(list, "r.json", &["id=case,score=judged"], &[("", 2.0 / 3.0, 3)]);
    let folder =
        Scratch::with("r.json", r#"[{"id": "a", "score": 1, "kind": "x"}, {"id": "b", "score": 0, "kind": "y"}]"#);
    assert!(calipers().run_in(&folder, &["convert", "r.json", "-o", "r.parquet"]).status.success());
    let report =
        json(&folder, &["score", "r.parquet", "--json", "--columns", "id=metadata.kind,score.judge=scores.score"]);
    assert_eq!(report["runs"][0]["scores"][0]["scorer"], "judge");
    let runs = json(&folder, &["score", "r.parquet", "--json", "--columns", "run=metadata.kind"]);
    assert_eq!(accuracies(&runs), [("x".to_owned(), 1.0, 1), ("y".to_owned(), 0.0, 1)]);
}

#[test]
fn values_are_found_in_maps_and_lists() {
    let nested = r#"{"case": "a", "info": {"reward": 1}}
{"case": "b", "info": {"reward": 0}}"#;
    scores(nested, "r.jsonl", &["id=case,score=info.reward"], &[("", 0.5, 2)]);
    let dotted = r#"{"case": "a", "info.reward": 1, "info": {"reward": 0}}"#;
    scores(dotted, "r.jsonl", &["id=case,score=info.reward"], &[("", 1.0, 1)]);
    let attempts = r#"[{"idx": 1, "infos": [{"r": 1}, {"r": 0}, {"r": 1}, {"r": 1}]}, {"idx": 2, "infos": []}]"#;
    let report = scores(attempts, "r.json", &["id=idx,score=infos[].r"], &[("", 0.75, 1)]);
    assert_eq!(report["runs"][0]["samples"], serde_json::json!({"total": 2, "scored": 1, "unscored": 1, "errored": 0}));
    let below = r#"{"about": {"model": "m1"}, "out": {"items": [{"n": 7, "ok": true}, {"n": 8, "ok": false}]}}"#;
    scores(below, "r.json", &["records=out.items,id=n,score=ok,run=^^about.model"], &[("m1", 0.5, 2)]);
    let cells = "case,info\na,\"{\"\"reward\"\": 1}\"\nb,\"{\"\"reward\"\": 0}\"\n";
    scores(cells, "r.csv", &["id=case,score=info.reward"], &[("", 0.5, 2)]);
}

#[test]
fn maps_of_records_have_ids_for_keys() {
    scores(r#"{"results": {"q1": true, "q2": false}}"#, "r.json", &["records=results"], &[("", 0.5, 2)]);
    scores(r#"{"q1": {"ok": 1}, "q2": {"ok": 0}}"#, "r.json", &["records=.,score=ok"], &[("", 0.5, 2)]);
    let runs = r#"{"m1": {"q1": 1, "q2": 0}, "m2": {"q1": 1, "q2": 1}}"#;
    scores(runs, "r.json", &["records=*.*,run=^@key"], &[("m1", 0.5, 2), ("m2", 1.0, 2)]);
    let lists = r#"{"q1": [1, 0, 0, 0], "q2": [1, 1, 1, 1]}"#;
    scores(lists, "r.json", &["records=*[],id=@key"], &[("", 0.625, 2)]);
    let models =
        r#"{"models": [{"name": "m1", "items": [{"n": 1, "ok": 1}]}, {"name": "m2", "items": [{"n": 1, "ok": 0}]}]}"#;
    scores(models, "r.json", &["records=models[].items,id=n,score=ok,run=^name"], &[("m1", 1.0, 1), ("m2", 0.0, 1)]);
}

#[test]
fn one_column_or_object_a_model_becomes_a_run() {
    let wide = r#"{"question": "x", "m1": {"is_correct": true}, "m2": {"is_correct": false}}
{"question": "y", "m1": {"is_correct": false}}"#;
    let report = scores(wide, "r.jsonl", &["id=question,score=*.is_correct,run=*"], &[("m1", 0.5, 2), ("m2", 0.0, 1)]);
    // A model that has no entry for a question is unscored there, wherever it first appears.
    assert_eq!(report["runs"][1]["samples"]["unscored"], 1);
    let late = r#"{"question": "x", "m1": {"is_correct": true}}
{"question": "y", "m2": {"is_correct": false}}"#;
    let report = scores(late, "r.jsonl", &["id=question,score=*.is_correct,run=*"], &[("m1", 1.0, 1), ("m2", 0.0, 1)]);
    assert_eq!([0, 1].map(|run| report["runs"][run]["samples"]["total"].as_u64()), [Some(2), Some(2)]);
    let table = "question,m1_correct,m2_correct,note\nx,1,0,a\ny,1,1,b\n";
    scores(table, "r.csv", &["id=question,score=*_correct,run=*"], &[("m1", 1.0, 2), ("m2", 0.5, 2)]);
    let plain = "question,m1,m2\nx,1,0\ny,1,1\n";
    scores(plain, "r.csv", &["id=question,score={m1,m2},run=*"], &[("m1", 1.0, 2), ("m2", 0.5, 2)]);
    scores(plain, "r.csv", &["id=question,score=*,run=*"], &[("m1", 1.0, 2), ("m2", 0.5, 2)]);
    // Turned around: a row per model and a column per question.
    let turned = "model,q1,q2,q3\nm1,1,0,1\nm2,1,1,1\n";
    scores(turned, "r.csv", &["run=model,score=q*,id=*"], &[("m1", 2.0 / 3.0, 3), ("m2", 1.0, 3)]);
    // Each a scorer of the same attempt.
    let scorers = "question,judge_score,exact_score\nx,1,0\ny,1,1\n";
    let folder = Scratch::with("r.csv", scorers);
    let report = json(&folder, &["score", "r.csv", "--json", "--columns", "id=question,score.*=*_score"]);
    let names: Vec<&str> =
        report["runs"][0]["scores"].as_array().unwrap().iter().map(|s| s["scorer"].as_str().unwrap()).collect();
    assert_eq!(names, ["judge", "exact"]);
}

const TWO_MODELS: &str = r#"{"id": "q1", "model": "A", "score": 1}
{"id": "q1", "model": "B", "score": 0}
{"id": "q2", "model": "A", "score": 1}
{"id": "q2", "model": "B", "score": 0}
"#;

#[test]
fn a_file_with_two_models_holds_two_runs() {
    for columns in [&[][..], &["run=model"]] {
        scores(TWO_MODELS, "r.jsonl", columns, &[("A", 1.0, 2), ("B", 0.0, 2)]);
    }
    let folder = Scratch::with("r.jsonl", TWO_MODELS);
    for model in ["A", "B"] {
        let want = [(model.to_owned(), f64::from(u8::from(model == "A")), 2)];
        let condition = format!("model={model}");
        assert_eq!(accuracies(&json(&folder, &["score", "r.jsonl", "--json", "--where", &condition])), want);
        assert_eq!(accuracies(&json(&folder, &["score", "r.jsonl", "--json", "--run", model])), want);
    }
    let by_model = json(&folder, &["score", "r.jsonl", "--json", "-m", "grouped(accuracy(), \"model\")"]);
    assert_eq!(by_model["runs"][0]["scores"][0]["metrics"]["A"]["value"], 1.0);
    // Models that answered different questions stay one run.
    let apart = "{\"id\": 1, \"model\": \"A\", \"score\": 1}\n{\"id\": 2, \"model\": \"B\", \"score\": 0}\n";
    scores(apart, "r.jsonl", &[], &[("", 0.5, 2)]);
    // The same for attempts that are numbered.
    let numbered = TWO_MODELS.replace("\"score\"", "\"epoch\": 1, \"score\"");
    scores(&numbered, "r.jsonl", &[], &[("A", 1.0, 2), ("B", 0.0, 2)]);
    let table = "id,model,score\nq1,A,1\nq1,B,0\n";
    scores(table, "r.csv", &[], &[("A", 1.0, 1), ("B", 0.0, 1)]);
}

/// Two questions by two models, each with two prompts: only one of the four is always right.
const TWO_BY_TWO: &str = "id,model,prompt,metric,score\n\
    q1,A,short,acc,1\nq1,A,long,acc,0\nq1,B,short,acc,0\nq1,B,long,acc,0\n\
    q2,A,short,acc,1\nq2,A,long,acc,0\nq2,B,short,acc,0\nq2,B,long,acc,0\n";

#[test]
fn a_run_that_is_named_does_not_pool_what_else_was_tried() {
    // Whatever names the run, `model` must have one value for a sample in it.
    for said in ["run=prompt", "run=metric", "id=id,run=prompt"] {
        let folder = Scratch::with("r.csv", TWO_BY_TWO);
        let output = calipers().run_in(&folder, &["score", "r.csv", "--columns", said]);
        let error = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{said}: {}", text(&output.stdout));
        assert!(error.contains("`model` has several values for sample `q1` in the run"), "{said}: {error}");
        assert!(error.contains("`A` and `B`") && error.contains("+model`"), "{said}: {error}");
    }
    refused(
        TWO_BY_TWO,
        "r.csv",
        &["--columns", "run=prompt"],
        "error: `model` has several values for sample `q1` in the run `short`: `A` and `B`\n  in r.csv\n  hint: keep the \
         rows of one by a condition such as `model=A`, say `model=model` too to count all as attempts of one run, or name \
         the run by both with `--columns run=prompt+model`\n",
    );
    // The three ways out that the error names.
    let four = [("short/A", 1.0, 2), ("long/A", 0.0, 2), ("short/B", 0.0, 2), ("long/B", 0.0, 2)];
    scores(TWO_BY_TWO, "r.csv", &["run=prompt+model"], &four);
    scores(TWO_BY_TWO, "r.csv", &["run=prompt,model=model"], &[("short", 0.5, 2), ("long", 0.0, 2)]);
    let folder = Scratch::with("r.csv", TWO_BY_TWO);
    let kept = json(&folder, &["score", "r.csv", "--json", "--columns", "run=prompt", "--where", "model=A"]);
    assert_eq!(accuracies(&kept), [("short".to_owned(), 1.0, 2), ("long".to_owned(), 0.0, 2)]);
    // The same from a file, and in JSON.
    folder.write("calipers.toml", "[columns]\nrun = \"prompt\"\n");
    let output = calipers().run_in(&folder, &["score", "r.csv"]);
    assert!(text(&output.stderr).contains("`model` has several values"), "{}", text(&output.stderr));
    let nested =
        TWO_MODELS.replace("\"model\": ", "\"day\": 1, \"metadata\": {\"model\": ").replace(", \"score", "}, \"score");
    scores(&nested, "r.jsonl", &[], &[("A", 1.0, 2), ("B", 0.0, 2)]);
    let output = calipers().run_in(&Scratch::with("r.jsonl", nested), &["score", "r.jsonl", "--columns", "run=day"]);
    assert!(text(&output.stderr).contains("`model` has several values"), "{}", text(&output.stderr));
}

#[test]
fn what_was_tried_is_told_apart_by_as_many_columns_as_it_takes() {
    let crossed = TWO_BY_TWO.replace("prompt", "variant");
    let four = [("A/short", 1.0, 2), ("A/long", 0.0, 2), ("B/short", 0.0, 2), ("B/long", 0.0, 2)];
    scores(&crossed.replace("acc", ""), "r.csv", &[], &four);
    // Two names of one thing are one, and the finer one is the run.
    let same = "id,model,model_id,score\nq1,A,a,1\nq1,B,b,0\nq2,A,a,1\nq2,B,b,0\n";
    scores(same, "r.csv", &[], &[("A", 1.0, 2), ("B", 0.0, 2)]);
    let finer = "id,model,agent,score\nq1,A,x,1\nq1,A,y,0\nq1,B,z,0\n";
    scores(finer, "r.csv", &[], &[("x", 1.0, 1), ("y", 0.0, 1), ("z", 0.0, 1)]);
}

#[test]
fn attempts_that_differ_in_a_column_of_another_name_are_noted() {
    let rows = |name: &str| format!("id,{name},score\n1,en,1\n1,de,0\n2,en,1\n2,de,0\n3,en,1\n3,de,0\n");
    let folder = Scratch::with("r.csv", rows("language"));
    let said = |folder: &Scratch, arguments: &[&str]| {
        let output = calipers().run_in(folder, arguments);
        (text(&output.stdout) + &text(&output.stderr)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let note = "every sample has attempts with each `language` (`en`, `de` …), which count as attempts of one run: \
                `run=language` tells them apart, and `id=language+id` makes them different samples";
    assert!(said(&folder, &["score", "r.csv"]).contains(note), "{}", said(&folder, &["score", "r.csv"]));
    // What it says is true.
    scores(&rows("language"), "r.csv", &["run=language"], &[("en", 1.0, 3), ("de", 0.0, 3)]);
    scores(&rows("language"), "r.csv", &["id=language+id"], &[("", 0.5, 6)]);
    // Settings of a model are numbers, and stay attempts beside a run as well.
    let settings =
        "id,model,temperature,score\n1,A,0,1\n1,A,0.7,0\n1,B,0,1\n1,B,0.7,1\n2,A,0,1\n2,A,0.7,0\n2,B,0,1\n2,B,0.7,1\n";
    folder.write("settings.csv", settings);
    let note = "each `temperature` (`0`, `0.7` …), which count as attempts of one run: `run=model+temperature` tells them apart";
    for arguments in [&["score", "settings.csv"][..], &["score", "settings.csv", "--columns", "run=model"]] {
        assert!(said(&folder, arguments).contains(note), "{}", said(&folder, arguments));
    }
    let apart = [("A/0", 1.0, 2), ("A/0.7", 0.0, 2), ("B/0", 1.0, 2), ("B/0.7", 1.0, 2)];
    scores(settings, "r.csv", &["run=model+temperature"], &apart);
    // A seed, a choice and a word that only some samples share say nothing of what was tried.
    folder.write("seeds.csv", rows("seed_name").replace(",en,", ",s-1,").replace(",de,", ",s-2,"));
    folder.write("answers.csv", "id,answer,score\n1,yes,1\n1,yes,0\n2,no,1\n2,yes,0\n3,no,1\n3,no,0\n");
    for arguments in
        [&["score", "seeds.csv"][..], &["score", "answers.csv"], &["score", "r.csv", "--where", "language=en"]]
    {
        assert!(!said(&folder, arguments).contains("every sample has attempts"), "{arguments:?}");
    }
}

#[test]
fn items_of_lists_are_told_apart_by_their_names() {
    let records = "{\"id\": 1, \"checks\": [{\"name\": \"tone\", \"ok\": 1}, {\"name\": \"facts\", \"ok\": 0}]}\n\
                   {\"id\": 2, \"checks\": [{\"name\": \"facts\", \"ok\": 0}, {\"name\": \"tone\", \"ok\": 1}]}\n";
    let report = scores(records, "r.jsonl", &["score.*=checks[name].ok"], &[("", 1.0, 2)]);
    assert_eq!(report["runs"][0]["scores"][1]["metrics"]["accuracy"]["value"], 0.0);
    scores(records, "r.jsonl", &["score=checks[name].ok,run=*"], &[("tone", 1.0, 2), ("facts", 0.0, 2)]);
    let report = scores(records, "r.jsonl", &["score=checks[].ok"], &[("", 0.5, 2)]);
    assert!(report.to_string().contains("`checks[name].ok` tells them apart"), "{report:#}");
    let unnamed = records.replacen("\"name\": \"tone\", ", "", 1);
    let folder = Scratch::with("r.jsonl", unnamed);
    let output = calipers().run_in(&folder, &["score", "r.jsonl", "--columns", "score.*=checks[name].ok"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("which has no text under that key"), "{}", text(&output.stderr));
}

#[test]
fn runs_of_one_file_are_compared() {
    let lines: String = (0..40)
        .flat_map(|id| [("new", u8::from(id % 4 == 0)), ("old", 1)].map(|(model, score)| (id, model, score)))
        .map(|(id, model, score)| format!("{{\"task\": {id}, \"tried_with\": \"{model}\", \"ok\": {score}}}\n"))
        .collect();
    let folder = Scratch::with("r.jsonl", lines);
    let columns = ["--columns", "id=task,score=ok", "--by", "tried_with", "--json"];
    let report = json(&folder, &[&["compare", "r.jsonl"][..], &columns].concat());
    assert_eq!(report["provenance"]["runs"][0]["name"], "new");
    assert_eq!(report["comparisons"][0]["metrics"][0]["verdict"], "regressed");
    let turned = json(&folder, &[&["compare", "r.jsonl", "--run", "old", "--run", "new"][..], &columns].concat());
    assert_eq!(turned["comparisons"][0]["metrics"][0]["verdict"], "improved");
    let output = calipers().run_in(&folder, &["compare", "r.jsonl", "--columns", "id=task,score=ok"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("say with `--by model` which column tells the runs apart"));
}

#[test]
fn a_gate_and_a_plan_are_about_one_run() {
    let folder = Scratch::with("r.jsonl", TWO_MODELS);
    folder.write("p.json", r#"{"thresholds": {"blocking": {"accuracy": 50}}}"#);
    for command in [&["gate", "r.jsonl", "-p", "p.json"][..], &["plan", "r.jsonl", "--half-width", "0.1"]] {
        let output = calipers().run_in(&folder, command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert_eq!(
            text(&output.stderr),
            "error: there are 2 runs (A, B), and this is about one\n  hint: choose one with `--run A`\n"
        );
    }
    let output = calipers().run_in(&folder, &["gate", "r.jsonl", "-p", "p.json", "--run", "B"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

fn folders() -> Scratch {
    let folder = Scratch::new();
    for (agent, scores) in [("x", [1, 1, 0]), ("y", [0, 1, 0])] {
        for (attempt, score) in scores.iter().enumerate() {
            let content = format!(
                r#"[{{"task_id": "a", "epoch": 1, "reward": {score}}}, {{"task_id": "b", "epoch": 1, "reward": 1}}]"#
            );
            folder.write(&format!("{agent}/run-{attempt}/results.json"), content);
        }
    }
    folder
}

#[test]
fn files_and_folders_are_attempts_and_runs() {
    let folder = folders();
    let from = |unit: &str| json(&folder, &["score", "x", "--json", "--attempts-from", unit]);
    for unit in ["files", "folders"] {
        let report = from(unit);
        assert_eq!(report["runs"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&report["runs"][0]["samples"]["total"], &report["runs"][0]["attempts"]["total"]),
            (&2.into(), &6.into())
        );
        assert_eq!(accuracies(&report), [(String::new(), rounded(5.0 / 6.0), 2)]);
    }
    let agents = ["score", "x", "y", "--json", "--attempts-from", "files", "--columns", "run=@path.-3"];
    assert_eq!(
        accuracies(&json(&folder, &agents)),
        [("x".to_owned(), rounded(5.0 / 6.0), 2), ("y".to_owned(), rounded(4.0 / 6.0), 2)]
    );
    let output = calipers().run_in(&folder, &["score", "x", "--columns", "run=@path.9"]);
    assert!(text(&output.stderr).contains("the path has no `@path.9`"), "{}", text(&output.stderr));
}

#[test]
fn what_is_missing_or_unclear_is_an_error_that_says_what_to_type() {
    refused(
        "question,judged,note\nwhat?,1,x\nwhy?,0,y\n",
        "r.csv",
        &[],
        "error: the format of the content is unknown\n  in r.csv\n  hint: the columns are question, judged, note; if it is a \
         table of results, say what the columns mean with `--columns id=question,score=judged`\n",
    );
    refused(
        "{\"task_id\": 1, \"doc_id\": 1, \"reward\": 1}\n{\"task_id\": 2, \"doc_id\": 7, \"reward\": 1}\n",
        "r.jsonl",
        &[],
        "error: `task_id` and `doc_id` could each be the id\n  in r.jsonl\n  hint: the columns are task_id, doc_id, reward; say \
         what the columns mean with `--columns id=task_id`\n",
    );
    refused(
        "{\"about\": {}, \"items\": [{\"n\": 1, \"ok\": true}, {\"n\": 2, \"ok\": false}]}",
        "r.json",
        &[],
        "error: the format of the content is unknown\n  in r.json\n  hint: the columns are n, ok; if it is a table of results, \
         say what the columns mean with `--columns records=items,id=n,score=ok`\n",
    );
    for (columns, content, name) in [
        ("id=question_idd,score=is_correct", LINES, "r.jsonl"),
        ("id=question_idd,score=is_correct", "question_id,is_correct\na,1\n", "r.csv"),
    ] {
        let folder = Scratch::with(name, content);
        let output = calipers().run_in(&folder, &["score", name, "--columns", columns]);
        let message = text(&output.stderr);
        assert!(message.contains("no record has `question_idd`, which is named as the `id`"), "{message}");
        assert!(
            message.contains("did you mean `id=question_id`? the columns are question_id, is_correct"),
            "{message}"
        );
    }
    let folder = Scratch::with("r.jsonl", "{\"case\": \"a\", \"ok\": 1}\n{\"ok\": 0}\n");
    let output = calipers().run_in(&folder, &["score", "r.jsonl", "--columns", "id=case,score=ok"]);
    assert!(text(&output.stderr).starts_with("error: the record has no `case`\n  in r.jsonl, line 2\n"), "{output:?}");
    refused(
        "{\"case\": \"a\", \"x\": [1, 2], \"y\": [1]}",
        "r.jsonl",
        &["--columns", "id=case,score.a=x[],score.b=y[]"],
        "error: `x[]` has 2 items and `y[]` has 1\n  in r.jsonl, line 1\n  hint: lists of attempts are matched item by item, so \
         they need the same length\n",
    );
    for (columns, message) in [
        ("scroe=ok", "`--columns`: `scroe` is not a known column name"),
        ("id=a,id=b", "`--columns`: two columns are given for `id`: `a` and `b`"),
        ("score=", "`--columns`: in `score=`, there is no column name"),
        ("score=*_ok", "`--columns`: nothing says what the `*` in `score=*_ok` stands for"),
    ] {
        let output = with_input(&["score", "-", "--columns", columns], b"{}");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).starts_with(&format!("error: {message}\n")), "{}", text(&output.stderr));
    }
}

#[test]
fn the_log_of_a_tool_is_a_table_where_its_columns_are_named() {
    let bench = r#"[{"task_id": 0, "reward": 0.0, "info": {}, "other": 1}, {"task_id": 1, "reward": 0.0, "info": {}, "other": 1}]"#;
    scores(bench, "r.json", &["id=task_id,score=other"], &[("", 1.0, 2)]);
    let folder = Scratch::with("r.json", bench);
    let output = calipers().run_in(&folder, &["score", "r.json", "--format", "tau2", "--columns", "id=task_id"]);
    assert!(
        text(&output.stderr).contains("the columns of a file in the format `tau2` are known"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_column_that_is_named_takes_the_place_of_ours() {
    let lines = "{\"id\": \"x1\", \"task\": \"a\", \"score\": 0, \"ok\": 1}\n{\"id\": \"x2\", \"task\": \"a\", \"score\": 0, \"ok\": 1}\n";
    let report = scores(lines, "r.jsonl", &["id=task,score=ok"], &[("", 1.0, 1)]);
    assert_eq!(report["runs"][0]["attempts"]["total"], 2);
}

#[test]
fn the_column_of_the_runs_may_be_said_twice() {
    let rows: String = (0..12).map(|id| format!("q{id},small,{}\nq{id},large,1\n", id % 2)).collect();
    let folder = Scratch::with("r.csv", format!("question,which,ok\n{rows}"));
    folder.write("calipers.toml", "[columns]\nid = \"question\"\nscore = \"ok\"\nrun = \"which\"\n");
    let by_file = ["compare", "r.csv", "--by", "which"];
    let by_flag = ["compare", "r.csv", "--columns", "id=question,score=ok,run=which", "--by", "which"];
    let here = folder.join("calipers.toml");
    for (arguments, config) in [(&by_file[..], here.to_str().unwrap()), (&by_flag[..], "none")] {
        let mut command = calipers().command();
        command.current_dir(folder.join("")).env("CALIPERS_CONFIG", config).args(arguments);
        let output = command.output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success() && said.contains("accuracy"), "{said}");
    }
    let other = ["compare", "r.csv", "--columns", "id=question,score=ok,run=which", "--by", "ok"];
    let output = calipers().run_in(&folder, &other);
    assert!(text(&output.stderr).contains("two columns are given for `run`: `which` and `ok`"));
}
