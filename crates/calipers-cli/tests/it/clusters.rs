//! `--cluster`: which samples go together, in every command that has the flag, and mistakes.
//!
//! Expected bounds were computed by numpy 2.4.6 and scipy 1.17.1 from the formula that `docs/design/intervals.md` gives: clusters,
//! 1.15 of average size added at both ends, CR2 and Satterthwaite's degrees of freedom, those of clusters that are alike if they
//! are fewer.

use crate::golden::Folder;
use crate::program::calipers;
use calipers_testing::text;
use serde_json::{Value, json};

/// Sixty samples in nine documents of seven samples, one of four; grades beside passes.
fn record(id: u32) -> Value {
    let document = id * id % 17;
    let passes = id * 7 % 10 < 8 || document == 1 || document == 4;
    json!({
        "id": id,
        "score": u8::from(passes),
        "grade": f64::from(id * 13 % 11) / 10.0,
        "document": format!("d{document}"),
        "page": id / 2,
        "source": if id < 40 { id / 2 % 20 } else { 100 + id / 4 },
        "third": id % 3,
        "kind": if id < 30 { "early" } else { "late" },
    })
}

fn write(folder: &Folder, name: &str, records: impl IntoIterator<Item = Value>) {
    let lines: String = records.into_iter().map(|record| format!("{record}\n")).collect();
    folder.write(name, lines);
}

fn example() -> Folder {
    let folder = Folder::new();
    write(&folder, "run.jsonl", (0..60).map(record));
    folder
}

/// The figure of a metric in what `score --json` prints.
#[track_caller]
fn figure<'d>(document: &'d Value, metric: &str) -> &'d Value {
    let scores = document["runs"][0]["scores"].as_array().unwrap_or_else(|| panic!("{document:#}"));
    let found = scores.iter().find_map(|score| score["metrics"].get(metric));
    found.unwrap_or_else(|| panic!("no {metric} in {document:#}"))
}

#[track_caller]
fn assert_interval(figure: &Value, method: &str, (lower, upper): (f64, f64)) {
    let interval = &figure["interval"];
    assert_eq!(interval["method"], method, "{figure:#}");
    for (end, want) in [("lower", lower), ("upper", upper)] {
        let got = interval[end].as_f64().unwrap_or_else(|| panic!("{figure:#}"));
        assert!((got - want).abs() < 1e-9, "{end}: {got}, want {want}");
    }
}

#[test]
fn score_shows_the_interval_of_clusters() {
    let folder = example();
    let score = |extra: &[&str]| folder.json(&[&["score", "run.jsonl", "--json"], extra].concat());
    let of_documents = score(&["--cluster", "document", "-m", "accuracy", "-m", "mean(\"grade\")", "-m", "stderr"]);
    let accuracy = figure(&of_documents, "accuracy");
    assert_eq!(accuracy["value"], 0.8);
    assert_eq!(accuracy["details"]["clusters"], 9.0);
    assert_interval(accuracy, "adjusted-cluster-t", (0.513_837_817_976_142_5, 0.963_832_201_402_348_2));
    let grades = figure(&of_documents, "mean");
    assert_interval(grades, "adjusted-cluster-t", (0.291_285_751_381_711_7, 0.695_445_636_968_885_5));
    let error = figure(&of_documents, "stderr")["value"].as_f64().unwrap();
    assert!((error - 0.077_384_235_191_958_74).abs() < 1e-12, "{error}");
    let at_90 = score(&["--cluster", "document", "-m", "accuracy", "--level", "0.9"]);
    let want = (0.576_113_659_481_759_4, 0.932_201_717_752_156_5);
    assert_interval(figure(&at_90, "accuracy"), "adjusted-cluster-t", want);
    let plain = score(&["-m", "accuracy"]);
    assert_eq!(figure(&plain, "accuracy")["interval"]["method"], "blaker");
}

#[test]
fn samples_that_share_a_value_of_any_field_go_together() {
    let folder = example();
    let want = (0.660_891_473_361_959_1, 0.888_460_971_553_474_4);
    for fields in [&["--cluster", "page,source"][..], &["--cluster", "source", "--cluster", "page"]] {
        let both = folder.json(&[&["score", "run.jsonl", "--json", "-m", "accuracy"], fields].concat());
        assert_eq!(figure(&both, "accuracy")["details"]["clusters"], 25.0);
        assert_interval(figure(&both, "accuracy"), "adjusted-cluster-t", want);
    }
    folder.write("calipers.toml", "cluster = [\"page\", \"source\"]\n");
    let both = folder.json(&["score", "run.jsonl", "--json", "-m", "accuracy"]);
    assert_interval(figure(&both, "accuracy"), "adjusted-cluster-t", want);
}

#[test]
fn grouped_metrics_have_the_clusters_of_each_group() {
    let folder = example();
    let found = folder.json(&[
        "score",
        "run.jsonl",
        "--json",
        "--cluster",
        "document",
        "-m",
        "grouped(accuracy(), \"kind\", all=False)",
    ]);
    let early = (0.483_583_423_931_597_3, 0.994_086_595_446_893_4);
    assert_interval(figure(&found, "early"), "adjusted-cluster-t", early);
    let late = (0.517_088_779_912_592_8, 0.960_581_239_465_897_8);
    assert_interval(figure(&found, "late"), "adjusted-cluster-t", late);
}

#[test]
fn few_clusters_show_little_and_one_shows_nothing() {
    let folder = example();
    let of = |field: &str| folder.json(&["score", "run.jsonl", "--json", "-m", "accuracy", "--cluster", field]);
    assert_interval(figure(&of("third"), "accuracy"), "adjusted-cluster-t", (0.199_032_123_178_827_9, 1.0));
    write(&folder, "run.jsonl", (0..60).map(|id| json!({"id": id, "score": id % 2, "document": "only"})));
    let one = of("document");
    let accuracy = figure(&one, "accuracy");
    assert!(accuracy["interval"].is_null(), "{accuracy:#}");
    assert!(accuracy["caveats"].to_string().contains("few-clusters"), "{accuracy:#}");
}

#[test]
fn samples_without_the_field_stand_alone_and_a_field_that_none_has_is_refused() {
    let folder = example();
    let without = |id: u32| {
        let mut one = record(id);
        if id < 6 {
            one.as_object_mut().unwrap().remove("document");
        }
        one
    };
    write(&folder, "run.jsonl", (0..60).map(without));
    let found = folder.json(&["score", "run.jsonl", "--json", "-m", "accuracy", "--cluster", "document"]);
    let want = (0.568_929_717_184_390_9, 0.951_154_932_252_180_1);
    assert_interval(figure(&found, "accuracy"), "adjusted-cluster-t", want);
    assert!(found.to_string().contains("6 samples have no `document`"), "{found:#}");
    for command in [&["score", "run.jsonl"][..], &["report", "run.jsonl", "-o", "page.html"]] {
        folder.refuses(&[command, &["--cluster", "documents"]].concat(), "no sample has the field `documents`");
    }
}

#[test]
fn attempts_of_one_sample_in_two_documents_are_refused() {
    let folder = Folder::new();
    let attempt = |(id, epoch): (u32, u32)| json!({"id": id, "epoch": epoch, "score": 1, "document": if id == 7 { id + epoch } else { id / 3 }});
    write(&folder, "run.jsonl", (0..20).flat_map(|id| [(id, 1), (id, 2)]).map(attempt));
    folder.write("policy.json", r#"{"thresholds": {"blocking": {"accuracy": "50%"}}, "confidence": "95%"}"#);
    for command in [
        &["score", "run.jsonl", "-m", "accuracy"][..],
        &["report", "run.jsonl", "-o", "page.html"],
        &["gate", "run.jsonl", "--policy", "policy.json"],
        &["compare", "run.jsonl", "run.jsonl", "-m", "accuracy"],
        &["plan", "run.jsonl", "-m", "accuracy", "--half-width", "0.1"],
    ] {
        let ran = folder.calipers(&[command, &["--cluster", "document"]].concat());
        let errors = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{command:?}: {errors}");
        assert!(errors.contains("`document`") && errors.contains('7'), "{command:?}: {errors}");
    }
}

#[test]
fn a_rate_that_labels_correct_is_wider_with_clusters() {
    let folder = example();
    write(&folder, "labels.jsonl", (0..40).map(|id| json!({"id": id, "label": id * 7 % 10 % 2})));
    let score = |extra: &[&str]| {
        let asked = ["score", "run.jsonl", "--json", "--labels", "labels.jsonl"];
        let metrics = ["-m", "corrected(accuracy())", "-m", "accuracy"];
        folder.json(&[&asked[..], &metrics, extra].concat())
    };
    let (alone, together) = (score(&[]), score(&["--cluster", "document"]));
    let (alone, corrected) = (figure(&alone, "corrected"), figure(&together, "corrected"));
    assert_eq!(corrected["value"], alone["value"]);
    assert_eq!(corrected["interval"]["method"], "double-sampling");
    let width =
        |figure: &Value| figure["interval"]["upper"].as_f64().unwrap() - figure["interval"]["lower"].as_f64().unwrap();
    assert!(width(corrected) > width(alone), "{corrected:#} {alone:#}");
    assert_eq!(figure(&together, "accuracy")["interval"]["method"], "adjusted-cluster-t");
}

#[test]
fn a_page_has_the_intervals_that_score_has() {
    let folder = example();
    let page = |extra: &[&str]| {
        let ran = folder.calipers(&[&["report", "run.jsonl", "-o", "-"], extra].concat());
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        text(&ran.stdout)
    };
    let of_documents = page(&["--cluster", "document"]);
    assert!(of_documents.contains("clusters by document"), "the field is named");
    assert!(of_documents.contains("adjusted-cluster-t, 95 %"), "the method is named");
    // 0.5138 to 0.9638, as above.
    assert!(of_documents.contains("[51.4, 96.4]") || of_documents.contains("[0.514, 0.964]"), "the interval");
    assert!(page(&["--cluster", "page", "--cluster", "source"]).contains("clusters by page, source"));
    assert!(!page(&[]).contains("clusters by"));
}

#[test]
fn comparisons_and_plans_take_several_fields_too() {
    let folder = example();
    let worse = |id: u32| {
        let mut one = record(id);
        one["score"] = json!(u8::from(!id.is_multiple_of(5) && one["score"] == 1));
        one
    };
    write(&folder, "old.jsonl", (0..60).map(worse));
    // One field that names the clusters which both fields make together.
    let mut joined: Vec<u32> = (0..60).collect();
    for _ in 0..60 {
        for (a, b) in (0..60).flat_map(|a| (0..60).map(move |b| (a, b))) {
            let (one, other) = (record(a), record(b));
            if one["page"] == other["page"] || one["source"] == other["source"] {
                let least = joined[a as usize].min(joined[b as usize]);
                (joined[a as usize], joined[b as usize]) = (least, least);
            }
        }
    }
    for (name, new) in [("run.jsonl", true), ("old.jsonl", false)] {
        write(
            &folder,
            name,
            (0..60).map(|id| {
                let mut one = if new { record(id) } else { worse(id) };
                one["both"] = json!(joined[id as usize]);
                one
            }),
        );
    }
    let compared = |fields: &str| {
        let arguments = ["compare", "run.jsonl", "old.jsonl", "-m", "accuracy", "--json", "--cluster", fields];
        folder.json(&arguments)["comparisons"][0]["metrics"][0].clone()
    };
    assert_eq!(compared("page,source"), compared("both"));
    assert_ne!(compared("page,source")["change"]["interval"], compared("page")["change"]["interval"]);
    let planned = |fields: &str| {
        let arguments = ["plan", "run.jsonl", "-m", "accuracy", "--json", "--half-width", "0.1", "--cluster", fields];
        let mut report = folder.json(&arguments);
        report["runs"].take();
        report["interval"].take()
    };
    assert_eq!(planned("page,source"), planned("both"));
    assert_ne!(planned("page,source"), planned("page"));
    folder.write("calipers.toml", "cluster = \"page,source\"\n");
    let ran = calipers().run_in(&folder, &["compare", "run.jsonl", "old.jsonl", "-m", "accuracy"]);
    assert!(text(&ran.stdout).contains("clustered by page, source"), "{}", text(&ran.stdout));
}
