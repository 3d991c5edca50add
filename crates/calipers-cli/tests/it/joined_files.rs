//! Runs that are spread over files: samples of different tasks are no attempts at one, and what cannot be known is said.

use crate::program::calipers;
use crate::strangers::score;
use calipers_testing::{Scratch, text};
use serde_json::json;

/// Two models with two tasks each, in files of the harness: ten questions that are all right, and thirty that are all wrong. Both
/// tasks number them from 0.
fn harness() -> Scratch {
    let folder = Scratch::new();
    for model in ["A", "B"] {
        for (task, questions, right) in [("arc", 10, 1.0), ("piqa", 30, 0.0)] {
            let line = |doc: usize| {
                let record = json!({"doc_id": doc, "doc": {"q": "x"}, "target": "0", "arguments": [], "resps": [],
                    "filtered_resps": ["0"], "acc": right, "filter": "none", "metrics": ["acc"]});
                format!("{record}\n")
            };
            let lines: String = (0..questions).map(line).collect();
            folder.write(&format!("runs/{model}/samples_{task}_2024-05-01.jsonl"), lines);
        }
    }
    folder
}

/// The same as tables.
fn tables() -> Scratch {
    let folder = Scratch::new();
    for model in ["A", "B"] {
        for (task, questions, right) in [("arc", 10, 1), ("piqa", 30, 0)] {
            let rows: String = (0..questions).map(|id| format!("{id},{right}\n")).collect();
            folder.write(&format!("runs/{model}/{task}.csv"), format!("question_id,score\n{rows}"));
        }
    }
    folder
}

/// What a command says, with the words in one line.
fn said(folder: &Scratch, arguments: &[&str]) -> String {
    let output = calipers().run_in(folder, arguments);
    let said = text(&output.stdout) + &text(&output.stderr);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn questions_of_different_tasks_are_not_attempts_at_one() {
    let folder = harness();
    assert_eq!(score(&folder, "runs", &["--columns", "run=@path.2"]), Ok(vec![(0.25, 40), (0.25, 40)]));
    let note = "the tasks `arc` and `piqa` have samples of the same names, which are no attempts at one: `0` is called \
                `piqa/0`";
    let compared = said(&folder, &["compare", "runs/A", "runs/B"]);
    assert!(compared.contains("40 samples matched") && compared.contains("25.0 % → 25.0 %"), "{compared}");
    assert!(compared.contains(note), "{compared}");
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": 0.2}}}"#);
    let judged = said(&folder, &["gate", "runs/A", "--policy", "policy.json"]);
    assert!(judged.contains(note), "{judged}");
    // Tasks whose names differ already need no longer ones.
    let folder = Scratch::new();
    for (task, doc) in [("arc", 1), ("piqa", 2)] {
        let record = json!({"doc_id": doc, "doc": {}, "target": "0", "arguments": [], "resps": [], "filtered_resps": ["0"],
            "acc": 1.0, "filter": "none", "metrics": ["acc"]});
        folder.write(&format!("runs/samples_{task}_2024-05-01.jsonl"), format!("{record}\n"));
    }
    let plain = said(&folder, &["score", "runs", "--columns", "run=@path.1"]);
    assert!(plain.contains("2 samples") && !plain.contains("is called"), "{plain}");
}

#[test]
fn samples_that_several_tables_have_are_noted() {
    let folder = tables();
    let note = "10 samples are in several of the 2 files, and count as attempts of one run; if they are different samples, \
                `id=@stem+question_id` tells them apart";
    for arguments in [&["score", "runs", "--columns", "run=@path.2"][..], &["compare", "runs/A", "runs/B"]] {
        let said = said(&folder, arguments);
        assert!(said.contains(note), "{said}");
    }
    let apart = ["--columns", "run=@path.2,id=@stem+question_id"];
    assert_eq!(score(&folder, "runs", &apart), Ok(vec![(0.25, 40), (0.25, 40)]));
    assert!(!said(&folder, &[&["score", "runs"][..], &apart].concat()).contains("several of the"));
    // Attempts that are said to be attempts need no note, and neither do parts of a run.
    let attempts = said(&folder, &["compare", "runs/A", "runs/B", "--attempts-from", "files"]);
    assert!(!attempts.contains("several of the"), "{attempts}");
    let folder = Scratch::with("runs/1/a.csv", "id,score\na,1\n");
    folder.write("runs/1/b.csv", "id,score\nb,1\n");
    folder.write("runs/2/a.csv", "id,score\na,0\n");
    folder.write("runs/2/b.csv", "id,score\nb,1\n");
    let folders = said(&folder, &["score", "runs", "--attempts-from", "folders"]);
    assert!(folders.contains("0.750") && !folders.contains("several of the"), "{folders}");
    let folder = Scratch::with("part/1.csv", "id,score\na,1\nb,0\n");
    folder.write("part/2.csv", "id,score\nc,1\nd,0\n");
    let parts = said(&folder, &["score", "part", "--columns", "run=@path.1"]);
    assert!(parts.contains("4 samples") && !parts.contains("several of the"), "{parts}");
    // Files of the same name are told apart by their folders.
    let folder = Scratch::with("runs/one/results.csv", "id,score\na,1\nb,0\n");
    folder.write("runs/two/results.csv", "id,score\na,1\nb,0\n");
    let note = "2 samples are in several of the 2 files, and count as attempts of one run; if they are different samples, \
                `id=@path.2+id` tells them apart";
    let same = said(&folder, &["score", "runs", "--columns", "run=@path.1"]);
    assert!(same.contains(note), "{same}");
    assert_eq!(score(&folder, "runs", &["--columns", "run=@path.1,id=@path.2+id"]), Ok(vec![(0.5, 4)]));
}

#[test]
fn a_run_that_is_asked_for_need_not_be_in_every_file() {
    let folder = Scratch::new();
    for (name, right) in [("gpt_1", 1), ("gpt_2", 0), ("claude_1", 1), ("claude_2", 1)] {
        let rows: String = (0..8).map(|id| format!("{id},{right}\n")).collect();
        folder.write(&format!("runs/{name}.csv"), format!("id,score\n{rows}"));
    }
    let columns = ["--columns", "run=@name.1,epoch=@name.2"];
    let of = |names: &[&str]| {
        let runs: Vec<&str> = names.iter().flat_map(|name| ["--run", *name]).collect();
        score(&folder, "runs", &[&columns[..], &runs].concat())
    };
    assert_eq!(of(&["claude"]), Ok(vec![(1.0, 8)]));
    assert_eq!(of(&["gpt", "claude"]), Ok(vec![(0.5, 8), (1.0, 8)]));
    let error = of(&["claud"]).expect_err("no such run");
    assert!(error.contains("there is no run `claud`") && error.contains("did you mean `claude`?"), "{error}");
    let planned = calipers().run_in(&folder, &[&["plan", "runs", "--run", "claude"][..], &columns].concat());
    assert!(planned.status.success(), "{}", text(&planned.stderr));
}
