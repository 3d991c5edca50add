//! Nothing is lost in silence: what records hold twice, differently, too little or too much of is counted or named, by every
//! command that reads.

use crate::program;
use calipers_testing::{Scratch, text};
use std::collections::BTreeSet;
use std::process::Output;

/// Every command that reads results, with `FILE` for the results; a command that begins to read needs a row here. What is written
/// for another command to answer from is followed by that command, after `&&`.
const COMMANDS: [&[&str]; 19] = [
    &["score", "FILE"],
    &["score", "FILE", "--json"],
    &["score", "FILE", "-m", "accuracy"],
    &["gate", "FILE", "--policy", "policy.json"],
    &["gate", "FILE", "--policy", "policy.json", "--json"],
    &["compare", "FILE", "good.jsonl"],
    &["compare", "good.jsonl", "FILE"],
    &["plan", "FILE", "--half-width", "0.1"],
    &["report", "FILE", "--output", "-"],
    &["baseline", "record", "FILE", "--policy", "policy.json", "--output", "-"],
    &["baseline", "raise", "FILE", "--policy", "policy.json"],
    &["policy", "check", "policy.json", "--samples", "FILE"],
    &["convert", "FILE", "--to", "native", "--output", "-"],
    &["judge", "FILE", "--labels", "good.jsonl"],
    &["judge", "good.jsonl", "--labels", "FILE"],
    &["fold", "FILE", "-m", "accuracy", "-o", "1.state", "--force", "&&", "merge", "1.state"],
    &[
        "fold",
        "FILE",
        "--for",
        "gate",
        "-p",
        "policy.json",
        "-o",
        "2.state",
        "--force",
        "&&",
        "merge",
        "2.state",
        "--gate",
        "policy.json",
    ],
    &[
        "fold", "FILE", "--for", "any", "-o", "3.state", "--force", "&&", "merge", "3.state", "-o", "4.state",
        "--force", "&&", "score", "4.state",
    ],
    &["history", "add", "FILE", "--database", "h.db", "&&", "history", "show", "LAST", "--database", "h.db"],
];

const POLICY: &str = r#"{"thresholds": {"blocking": {"pass_rate": 1}}}"#;

/// Whole records, so that a policy has something to judge.
fn good() -> String {
    (0..40).map(|id| format!("{{\"id\": \"q{id}\", \"epoch\": 1, \"score\": {}}}\n", id % 2)).collect()
}

fn folder() -> Scratch {
    let folder = Scratch::with("policy.json", POLICY);
    folder.write("good.jsonl", good());
    folder
}

/// Runs a command, and what follows it if it succeeds. What both say counts.
fn run(folder: &Scratch, command: &[&str], file: &str) -> Output {
    let mut whole: Option<Output> = None;
    for step in command.split(|word| *word == "&&") {
        let last = if step.contains(&"LAST") { last_run(folder) } else { String::new() };
        let place = |word: &&str| match *word {
            "FILE" => file.to_owned(),
            "LAST" => last.clone(),
            word => word.to_owned(),
        };
        let arguments: Vec<String> = step.iter().map(place).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = program::calipers().run_in(folder, &arguments);
        let is_over = !output.status.success();
        whole = Some(match whole {
            None => output,
            Some(before) => Output {
                status: output.status,
                stdout: [before.stdout, output.stdout].concat(),
                stderr: [before.stderr, output.stderr].concat(),
            },
        });
        if is_over {
            break;
        }
    }
    whole.unwrap()
}

/// The key of the run that was added to the history last.
fn last_run(folder: &Scratch) -> String {
    let list = program::json(folder, &["history", "list", "--database", "h.db"]);
    list["runs"][0]["key"].as_str().unwrap_or("none").to_owned()
}

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn every_command_that_reads_is_in_the_table() {
    let help = |arguments: &[&str]| text(&program::calipers().run(&[arguments, &["--help"]].concat()).stdout);
    let commands = |help: &str| -> Vec<String> {
        let listed = help.split("Commands:\n").nth(1).unwrap_or_default().lines();
        let names = listed.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let mut reading = BTreeSet::new();
    let mut ways: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(way) = ways.pop() {
        let page = help(&way.iter().map(String::as_str).collect::<Vec<_>>());
        let inner = commands(&page);
        let is_help = way.last().is_some_and(|name| name == "help");
        if inner.is_empty() && page.contains("--columns <") {
            reading.insert(way.join(" "));
        }
        let further = inner.into_iter().filter(|_| !is_help).map(|name| [way.clone(), vec![name]].concat());
        ways.extend(further);
    }
    let tested: BTreeSet<String> = COMMANDS
        .iter()
        .map(|command| {
            let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
            command.iter().take_while(is_name).copied().collect::<Vec<_>>().join(" ")
        })
        .collect();
    // A server does not end; it reads as `history add` does.
    assert!(reading.remove("view"));
    assert!(reading.len() >= 9, "{reading:?}");
    assert_eq!(tested, reading);
}

/// What two deliveries of one attempt may differ in, as the rest of two JSON records, and what the error names.
const DIFFERENCES: [(&str, &str, &str); 19] = [
    (r#""score": 1"#, r#""score": 0"#, "scores by `score`"),
    (r#""score": 1"#, r#""score": null"#, "scores by `score`"),
    (r#""scores": {"judge": "C"}"#, r#""scores": {"judge": "I"}"#, "scores by `judge`"),
    (r#""scores": {"judge": {"a": 1, "b": 0}}"#, r#""scores": {"judge": {"a": 1, "b": 1}}"#, "scores by `judge`"),
    (
        r#""scores": {"judge": {"value": 1, "answer": "A"}}"#,
        r#""scores": {"judge": {"value": 1, "answer": "B"}}"#,
        "answers by `judge`",
    ),
    (
        r#""scores": {"judge": {"value": 1, "explanation": "A"}}"#,
        r#""scores": {"judge": {"value": 1, "explanation": "B"}}"#,
        "explanations of the score by `judge`",
    ),
    (
        r#""scores": {"judge": {"value": 1, "metadata": {"k": 1}}}"#,
        r#""scores": {"judge": {"value": 1, "metadata": {"k": 2}}}"#,
        "values of `k` in the score by `judge`",
    ),
    (r#""passed": true"#, r#""passed": false"#, "values of `passed`"),
    (r#""correct": true"#, r#""correct": false"#, "values of `correct`"),
    (r#""score": 1, "latency_ms": 5"#, r#""score": 1, "latency_ms": 6"#, "values of `latency_ms`"),
    (r#""score": 1, "tokens_used": 5"#, r#""score": 1, "tokens_used": 6"#, "values of `tokens_used`"),
    (r#""score": 1, "cost_usd": 0.5"#, r#""score": 1, "cost_usd": 0.6"#, "values of `cost_usd`"),
    (r#""score": 1, "predicted": "a""#, r#""score": 1, "predicted": "b""#, "values of `predicted`"),
    (r#""score": 1, "fields": {"x": 1}"#, r#""score": 1, "fields": {"x": 2}"#, "values of `x`"),
    (
        r#""score": 1, "observed_behaviors": ["a"]"#,
        r#""score": 1, "observed_behaviors": ["b"]"#,
        "values of `observed_behaviors`",
    ),
    (r#""score": 1, "category": "a""#, r#""score": 1, "category": "b""#, "values of `category`"),
    (r#""score": 1, "metadata": {"k": 1}"#, r#""score": 1, "metadata": {"k": 2}"#, "values of `k`"),
    (r#""error": "timeout""#, r#""error": "reset""#, "two different errors"),
    (r#""error": "timeout""#, r#""score": 1"#, "an error and a result"),
];

/// The two records of one attempt, between others, and the two places as the format names them.
fn contradicting(form: &str, first: &str, other: &str) -> (String, [String; 2]) {
    let record = |id: &str, rest: &str| format!("{{\"id\": \"{id}\", \"epoch\": 1, {rest}}}");
    let filler = (0..5).map(|id| record(&format!("f{id}"), r#""score": 1"#));
    let records: Vec<String> = [record("q", first)].into_iter().chain(filler).chain([record("q", other)]).collect();
    match form {
        "jsonl" => (records.join("\n") + "\n", ["line 1".to_owned(), "line 7".to_owned()]),
        _ => (format!("[{}]", records.join(",\n")), ["at `[0]`".to_owned(), "at `[6]`".to_owned()]),
    }
}

#[test]
fn two_deliveries_of_one_attempt_that_differ_are_refused_with_both_places() {
    let folder = folder();
    for (first, other, named) in DIFFERENCES {
        for form in ["jsonl", "json"] {
            let (content, places) = contradicting(form, first, other);
            let file = format!("twice.{form}");
            folder.write(&file, content);
            // One form with one command each is enough for what does not depend on the command.
            let commands = if form == "jsonl" { &COMMANDS[..] } else { &COMMANDS[2..4] };
            for command in commands {
                let output = run(&folder, command, &file);
                let said = said(&output);
                assert_eq!(output.status.code(), Some(2), "{command:?} on {first} and {other}: {said}");
                assert!(said.contains(named) && said.contains("sample `q`, epoch 1"), "{command:?}: {said}");
                assert!(places.iter().all(|place| said.contains(place.as_str())), "{command:?}, {places:?}: {said}");
            }
        }
    }
}

#[test]
fn tables_and_logs_are_compared_as_records_are() {
    let folder = folder();
    folder.write("twice.csv", "id,epoch,score,latency_ms\nq,1,1,5\nr,1,1,5\nq,1,1,6\n");
    folder.write("named.csv", "question,trial,is_correct,cost\nq,1,1,5\nr,1,1,5\nq,1,1,6\n");
    let sample = |id: &str, time: &str| {
        format!(
            r#"{{"id": "{id}", "epoch": 1, "input": "x", "target": "y", "scores": {{"match": {{"value": "C"}}}}, "total_time": {time}}}"#
        )
    };
    let samples = [sample("q", "1.0"), sample("r", "1.0"), sample("q", "2.0")].join(", ");
    folder.write(
        "log.json",
        format!(r#"{{"version": 2, "status": "success", "eval": {{"task": "t", "model": "m", "created": "2026-01-01T00:00:00+00:00"}}, "samples": [{samples}]}}"#),
    );
    folder.write("a.jsonl", r#"{"id": "q", "epoch": 1, "score": 1, "note": "a"}"#);
    folder.write("b.jsonl", r#"{"id": "q", "epoch": 1, "score": 1, "note": "b"}"#);
    folder.write("runs/a.jsonl", folder.read("a.jsonl")).write("runs/b.jsonl", folder.read("b.jsonl"));
    for (arguments, wanted) in [
        (&["score", "twice.csv"][..], &["line 2", "line 4", "`latency_ms`"][..]),
        (&["gate", "twice.csv", "--policy", "policy.json"], &["line 2", "line 4", "`latency_ms`"]),
        (
            &["score", "named.csv", "--columns", "id=question,epoch=trial,score=is_correct"],
            &["line 2", "line 4", "`cost`"],
        ),
        (&["score", "log.json"], &["samples[0]", "samples[2]"]),
        (&["gate", "a.jsonl", "b.jsonl", "--policy", "policy.json"], &["a.jsonl", "b.jsonl", "`note`"]),
        (&["plan", "a.jsonl", "b.jsonl", "--half-width", "0.1"], &["a.jsonl", "b.jsonl", "`note`"]),
        (&["score", "runs/a.jsonl", "runs/b.jsonl", "--columns", "run=@folder"], &["a.jsonl", "b.jsonl", "`note`"]),
    ] {
        let output = program::calipers().run_in(&folder, arguments);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(wanted.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
    }
}

#[test]
fn parts_of_one_attempt_are_put_together_and_copies_are_counted() {
    let folder = folder();
    folder.write(
        "parts.jsonl",
        "{\"id\": \"q\", \"epoch\": 1, \"score\": 1}\n{\"id\": \"q\", \"epoch\": 1, \"latency_ms\": 7}\n{\"id\": \"r\", \"epoch\": 1, \"score\": 0, \"latency_ms\": 9}\n",
    );
    let output = run(&folder, &["score", "FILE", "-m", "mean(\"latency_ms\")", "--json"], "parts.jsonl");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let metric = &report["runs"][0]["scores"][0]["metrics"]["mean"];
    assert_eq!((metric["value"].as_f64(), metric["n"].as_u64()), (Some(8.0), Some(2)), "{report:#}");
    for command in COMMANDS {
        let said = said(&run(&folder, command, "parts.jsonl"));
        assert!(said.contains("1 record read twice"), "{command:?}: {said}");
    }
    // The same attempts in two files.
    folder.write("copy.jsonl", good());
    let said =
        said(&program::calipers().run_in(&folder, &["gate", "good.jsonl", "copy.jsonl", "--policy", "policy.json"]));
    assert!(said.contains("40 attempts are in more than one file: each counts once"), "{said}");
}

#[test]
fn a_record_that_contradicts_itself_is_refused() {
    let folder = folder();
    for (record, named) in [
        (r#"{"id": 1, "id": 2, "score": 1}"#, "`id`"),
        (r#"{"id": 1, "epoch": 1, "epoch": 2, "score": 1}"#, "`epoch`"),
        (r#"{"id": 1, "passed": true, "passed": false}"#, "`passed`"),
        (r#"{"id": 1, "score": 1, "category": "a", "metadata": {"category": "b"}}"#, "`category`"),
        (r#"{"id": 1, "score": 1, "latency_ms": 1, "fields": {"latency_ms": 2}}"#, "`latency_ms`"),
        (r#"{"id": 1, "score": 1, "value": 0}"#, "`score`"),
        (r#"{"id": 1, "error": "a", "error": "b"}"#, "`error`"),
    ] {
        folder.write("one.jsonl", format!("{record}\n{{\"id\": 9, \"score\": 1, \"passed\": true}}\n"));
        for command in COMMANDS {
            let output = run(&folder, command, "one.jsonl");
            let said = said(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?} on {record}: {said}");
            assert!(said.contains("two different") && said.contains(named), "{command:?} on {record}: {said}");
            assert!(said.contains("line 1"), "{command:?} on {record}: {said}");
        }
    }
}

#[test]
fn what_is_missing_is_counted_by_every_command() {
    let folder = folder();
    // Two of 42 records have no score: one says so, one does not mention it.
    let records = good() + "{\"id\": \"m1\", \"epoch\": 1, \"score\": null}\n{\"id\": \"m2\", \"epoch\": 1}\n";
    folder.write("missing.jsonl", records);
    for command in COMMANDS {
        let output = run(&folder, command, "missing.jsonl");
        let said = said(&output);
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        // How many are missing, how many there are, or their names.
        let is_counted = flat.contains("42 samples")
            || flat.contains("42 scenarios")
            || flat.contains("\"unscored\": 2")
            || flat.contains("\"unscored\":2")
            || flat.contains("m1") && flat.contains("m2")
            || flat.contains("2 of 42")
            || flat.contains("2 unscored")
            || flat.contains("2 missing")
            || flat.contains("2 without")
            || flat.contains("2 scored by neither")
            // Of labels, only an empty one is blank; a record without one is not labelled.
            || command[..2] == ["judge", "good.jsonl"] && flat.contains("1 left blank in the labels");
        assert!(is_counted, "{command:?}: {said}");
    }
}

#[test]
fn what_is_unknown_or_too_much_is_kept_or_named() {
    let folder = folder();
    // A key that means nothing to us is a fact about the sample, and stays.
    folder.write("unknown.jsonl", "{\"id\": 1, \"epoch\": 1, \"score\": 1, \"zeal\": \"z\"}\n{\"id\": 2, \"epoch\": 1, \"score\": 0, \"zeal\": \"y\"}\n");
    for (command, wanted) in [
        (&["score", "FILE", "--where", "zeal=z"][..], "1 sample"),
        (&["gate", "FILE", "--policy", "policy.json", "--where", "zeal=z"], "1 scenario"),
        (&["convert", "FILE", "--to", "native", "--output", "-"], "\"zeal\":\"z\""),
        (&["convert", "FILE", "--to", "csv", "--output", "-"], "metadata.zeal"),
        (&["report", "FILE", "--output", "-"], "zeal"),
    ] {
        let said = said(&run(&folder, command, "unknown.jsonl"));
        assert!(said.contains(wanted), "{command:?}: {said}");
    }
    // Parts of what is configured that mean nothing are mistakes.
    folder.write("odd.json", r#"{"thresholds": {"blocking": {"pass_rate": 1}}, "treshold": 1}"#);
    for command in [
        &["gate", "good.jsonl", "--policy", "odd.json"][..],
        &["baseline", "record", "good.jsonl", "--policy", "odd.json", "--output", "-"],
        &["policy", "check", "odd.json"],
    ] {
        let output = program::calipers().run_in(&folder, command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(said(&output).contains("`treshold`"), "{command:?}: {}", said(&output));
    }
    // More than fits is an error with its place.
    for (file, content, wanted) in [
        ("wide.csv", "id,epoch,score\nq,1,1\nr,1,1,surplus\n", "line 3"),
        ("narrow.csv", "id,epoch,score\nq,1,1\nr,1\n", "line 3"),
        ("same.csv", "id,score,score\nq,1,0\n", "`score` and `score (2)` could each be the score"),
        ("tail.jsonl", "{\"id\": 1, \"score\": 1} {\"id\": 2, \"score\": 0}\n", "line 1"),
        ("half.jsonl", "{\"id\": 1, \"score\": 1}\n{\"id\": 2, \"sco", "line 2"),
        ("junk.json", "[{\"id\": 1, \"score\": 1}] []", "junk.json"),
    ] {
        folder.write(file, content);
        for command in COMMANDS {
            let output = run(&folder, command, file);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?} on {file}: {said}");
            assert!(said.contains(wanted), "{command:?} on {file}: {said}");
        }
    }
    // Attempts of two models are never those of one run, whatever was said of runs, and whatever the table is written in.
    let models: String =
        (0..8).flat_map(|id| ["a", "b"].map(|model| format!("q{id},{model},x,{}\n", id % 2))).collect();
    folder.write("models.csv", format!("id,model,prompt,score\n{models}"));
    let folder_of = |form: &str, file: &str| {
        let output = program::calipers()
            .run_in(&folder, &["convert", "models.csv", "--columns", "model=model", "--to", form, "--output", file]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    };
    folder_of("native", "models.jsonl");
    folder_of("native", "models.json");
    folder_of("parquet", "models.parquet");
    for file in ["models.csv", "models.jsonl", "models.json", "models.parquet"] {
        let commands = if file == "models.csv" { &COMMANDS[..] } else { &COMMANDS[2..4] };
        for command in commands.iter().filter(|command| command[0] != "history") {
            let file_at = command.iter().position(|word| *word == "FILE").unwrap() + 1;
            let (before, after) = command.split_at(file_at);
            let output = run(&folder, &[before, &["--columns", "run=prompt"], after].concat(), file);
            let said = said(&output);
            // `good.jsonl` has no such column, which may be what is said first.
            let is_named = said.contains("`model` has several values for sample") || said.contains("`prompt`");
            assert_eq!(output.status.code(), Some(2), "{command:?} on {file}: {said}");
            assert!(is_named, "{command:?} on {file}: {said}");
        }
    }
    // A run that is asked for and not there is named.
    folder.write(
        "runs.jsonl",
        "{\"id\": 1, \"score\": 1, \"model\": \"a\"}\n{\"id\": 1, \"score\": 0, \"model\": \"b\"}\n",
    );
    for command in
        [&["score", "FILE", "--run", "c"][..], &["convert", "FILE", "--to", "native", "-o", "-", "--run", "c"]]
    {
        let output = run(&folder, command, "runs.jsonl");
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", said(&output));
        assert!(said(&output).contains("no run `c`"), "{command:?}: {}", said(&output));
    }
}

#[test]
fn what_was_tried_is_named_by_every_command_wherever_it_stands() {
    let folder = folder();
    let lines = |rest: &dyn Fn(usize) -> String| -> String {
        (0..40)
            .map(|row| format!("{{\"id\": \"q{}\", \"score\": {}, {}}}\n", row / 2, row % 2, rest(row % 2)))
            .collect()
    };
    folder.write("metadata.jsonl", lines(&|way| format!("\"metadata\": {{\"temperature\": {way}}}")));
    folder.write("config.jsonl", lines(&|way| format!("\"config\": {{\"temperature\": {way}}}")));
    for file in ["metadata.jsonl", "config.jsonl"] {
        for command in COMMANDS {
            let output = run(&folder, command, file);
            let said = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("temperature") && said.contains("tells them apart"), "{command:?} on {file}: {said}");
        }
    }
    // Files of two models are no attempts of one run either.
    for model in ["a", "b"] {
        let records: String =
            (0..20).map(|id| format!("{{\"id\": \"q{id}\", \"score\": 1, \"model\": \"{model}\"}}\n")).collect();
        folder.write(&format!("of_{model}.jsonl"), records);
    }
    for command in [
        &["gate", "of_a.jsonl", "of_b.jsonl", "--policy", "policy.json"][..],
        &["plan", "of_a.jsonl", "of_b.jsonl", "--half-width", "0.1"],
        &["score", "of_a.jsonl", "of_b.jsonl", "--attempts-from", "files"],
        &["policy", "check", "policy.json", "--samples", "of_a.jsonl", "of_b.jsonl"],
    ] {
        let output = program::calipers().run_in(&folder, command);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        let is_named =
            said.contains("of_a.jsonl and of_b.jsonl") && said.contains("two values of `model`: `a` and `b`");
        assert!(is_named || command[0] == "policy" && said.contains("unexpected argument"), "{command:?}: {said}");
    }
    // Two models are two runs: what needs one says so.
    let model = |way: usize| ["a", "b"][way];
    folder.write("models.jsonl", lines(&|way| format!("\"args\": {{\"model_name\": \"{}\"}}", model(way))));
    for command in COMMANDS {
        let output = run(&folder, command, "models.jsonl");
        let said = said(&output);
        let is_apart = said.contains("args.model_name") || said.contains("2 runs");
        assert!(is_apart, "{command:?}: {said}");
        let figure = text(&run(&folder, &["score", "FILE", "--json"], "models.jsonl").stdout);
        assert!(!figure.contains("\"value\": 0.5,"), "{figure}");
    }
}
