//! Policies as people write them: in three languages, with mistakes, and extending one another.

use calipers_gate::policy::document::{Data, Item};
use calipers_gate::policy::{Level, OnMissingValues, OnUndecided, Origin, Policy, RiskLevel};
use calipers_io::{load_policy, read_document};
use std::path::{Path, PathBuf};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/policies").join(name)
}

fn loaded(name: &str) -> Policy {
    load_policy(&testdata(name)).unwrap_or_else(|error| panic!("{name}: {error}")).policy
}

fn parsed(name: &str, text: &str) -> Result<Policy, String> {
    let document = read_document(name, text.as_bytes()).map_err(|mistake| mistake.to_string())?;
    Policy::parse(&document)
        .map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n"))
}

/// The gates in a line each.
fn gates(policy: &Policy) -> Vec<String> {
    let line = |gate: &calipers_gate::policy::GateSpec| {
        let sign = gate.threshold.comparison.map_or("", |comparison| comparison.sign());
        let unit = gate.threshold.unit.map_or(String::new(), |unit| format!(" {unit:?}"));
        let level = if gate.level == Level::Blocking { "blocking" } else { "warning" };
        format!("{level} {} {sign}{}{unit}", gate.metric.value, gate.threshold.number)
    };
    policy.gates.iter().map(line).collect()
}

#[test]
fn every_block_of_the_guide_is_a_policy() {
    let mut read = 0;
    for file in std::fs::read_dir(testdata("guide")).unwrap() {
        let path = file.unwrap().path();
        load_policy(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        read += 1;
    }
    assert_eq!(read, 16);
}

#[test]
fn the_blocks_of_the_guide_say_what_they_mean() {
    let thresholds = loaded("guide/thresholds.json");
    let want = [
        "blocking safety_rate 100",
        "blocking accuracy 90",
        "warning behavior_coverage 85",
        "warning latency_p95 5000",
    ];
    assert_eq!(gates(&thresholds), want);

    let weights = loaded("guide/weights.json").weights;
    let pairs = |weights: &[(calipers_gate::policy::Spanned<String>, f64)]| -> Vec<(String, f64)> {
        weights.iter().map(|(name, weight)| (name.value.clone(), *weight)).collect()
    };
    let want = [("happy_path", 1.0), ("edge_case", 1.0), ("adversarial", 2.0), ("regression", 1.5)];
    assert_eq!(pairs(&weights.by_category), want.map(|(name, weight)| (name.to_owned(), weight)));
    let want = [("core_function", 2.0), ("convenience_feature", 0.5)];
    assert_eq!(pairs(&weights.by_capability), want.map(|(name, weight)| (name.to_owned(), weight)));
    let weights = loaded("guide/weighted_score.json").weights;
    let want = [("accuracy", 1.0), ("safety_rate", 3.0), ("behavior_coverage", 1.5)];
    assert_eq!(pairs(&weights.by_metric), want.map(|(name, weight)| (name.to_owned(), weight)));

    let scenarios = loaded("guide/required_scenarios_and_optional_scenarios.json");
    let ids =
        |ids: &[calipers_gate::policy::Spanned<String>]| ids.iter().map(|id| id.value.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&scenarios.required), ["SEC-001", "SEC-002", "CORE-001"]);
    assert_eq!(ids(&scenarios.optional), ["EDGE-001", "PERF-001"]);

    let criteria = loaded("guide/pass_criteria.json");
    let want = ["≥80 Percent", "100 Percent", "≥90 Percent", "≥70 Percent"];
    assert_eq!(gates(&criteria), want.map(|gate| format!("blocking pass_rate {gate}")));
    let origins: Vec<&Origin> = criteria.gates.iter().map(|gate| &gate.origin).collect();
    let category = |name: &str| Origin::Category(name.into());
    assert_eq!(origins, [&Origin::Overall, &category("adversarial"), &category("happy_path"), &category("edge_case")]);

    let risk = loaded("guide/risk_and_progressive.json");
    let want = [
        "blocking safety_rate 100 Percent",
        "blocking accuracy ≥95 Percent",
        "warning behavior_coverage ≥85 Percent",
        "warning latency_p95 <10000 Milliseconds",
    ];
    assert_eq!(gates(&risk), want);
    let rationale = Some("No security compromises".to_owned());
    assert_eq!(risk.gates[0].origin, Origin::Risk { level: RiskLevel::Critical, rationale });
    let versions: Vec<&str> = risk.progressive[0].versions.iter().map(|(version, _)| version.value.as_str()).collect();
    assert_eq!(versions, ["v1.0", "v2.0", "v3.0", "Target"]);
}

#[test]
fn a_metric_of_the_guide_warns_at_its_typical_threshold() {
    for (metric, want) in [
        ("pass_rate", "≥85 Percent"),
        ("accuracy", "≥95 Percent"),
        ("precision", "≥90 Percent"),
        ("recall", "≥85 Percent"),
        ("safety_rate", "100 Percent"),
        ("behavior_coverage", "≥90 Percent"),
        ("latency_p95", "<5000 Milliseconds"),
    ] {
        assert_eq!(gates(&loaded(&format!("guide/{metric}.json"))), [format!("warning {metric} {want}")]);
    }
    let without = loaded("guide/token_efficiency.json");
    assert!(without.gates.is_empty());
    assert_eq!(without.shown[0].value, "token_efficiency");
}

#[test]
fn the_composite_is_the_same_as_a_text_in_json_and_as_a_block_in_yaml() {
    for name in ["guide/composite.json", "guide/composite.yaml"] {
        let policy = loaded(name);
        let score = &policy.composite[0];
        assert_eq!(score.name.value, "final_score");
        let terms: Vec<String> =
            score.formula.expression.terms().iter().map(|(_, term)| score.formula.written(term)).collect();
        let want = ["accuracy × 0.3", "safety_rate × 0.4", "behavior_coverage × 0.2", "(1 - normalized_latency) × 0.1"];
        assert_eq!(terms, want);
        let pass = policy.pass.unwrap();
        assert_eq!(pass.text, "final_score ≥ 0.85 AND safety_rate = 1.0");
        assert_eq!(pass.span.raw(), pass.text, "{name}");
        // The place of a part, behind escapes or indentation.
        let mut last = None;
        score.formula.expression.visit(&mut |part| last = Some(part));
        assert_eq!(score.formula.place(&score.formula.span, last.unwrap()).raw(), "0.1", "{name}");
    }
}

fn without_places(item: &Item) -> String {
    match &item.value {
        Data::List(items) => format!("[{}]", items.iter().map(without_places).collect::<Vec<_>>().join(", ")),
        Data::Map(entries) => {
            let entries = entries.iter().map(|(key, item)| format!("{}: {}", key.value, without_places(item)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_three_languages_say_the_same() {
    let read = |name: &str| {
        let bytes = std::fs::read(testdata(name)).unwrap();
        without_places(&read_document(name, &bytes).unwrap_or_else(|mistake| panic!("{mistake}")))
    };
    let json = read("full.json");
    assert_eq!(read("full.yaml"), json);
    assert_eq!(read("full.toml"), json);
}

#[test]
fn every_key_is_read() {
    let policy = loaded("full.json");
    assert_eq!(policy.name.as_deref(), Some("support agent"));
    let want = [
        "blocking safety_rate 100",
        "blocking accuracy ≥90 Percent",
        "blocking pass_rate(where={\"capability\": \"search\"}) 0.8",
        "warning behavior_coverage 85",
        "warning latency_p95 <5000 Milliseconds",
        "blocking pass_rate ≥80 Percent",
        "blocking pass_rate 100 Percent",
        "blocking pass_rate ≥70 Percent",
        "blocking safety_rate 100 Percent",
        "warning latency_p95 <10000 Milliseconds",
        "blocking accuracy 0.9",
        "blocking tone ≥0.7",
    ];
    assert_eq!(gates(&policy), want);
    let ids: Vec<&str> = policy.required.iter().map(|id| id.value.as_str()).collect();
    assert_eq!(ids, ["SEC-003", "SEC-001", "SEC-002"]);
    assert_eq!(policy.optional[1].value, "17");
    let kinds: Vec<&str> = policy.blocking_failures.iter().map(|kind| kind.value.as_str()).collect();
    assert_eq!(kinds, ["prompt_injection", "data_leak"]);
    assert_eq!(policy.composite.len(), 1);
    assert_eq!(policy.pass.as_ref().unwrap().expression.names(), ["final_score", "safety_rate"]);
    assert_eq!(policy.normalize[0].1.number, 10.0);
    let baseline = policy.baseline.unwrap();
    assert_eq!((baseline.level, baseline.max_age_days, baseline.margin.number), (Level::Warning, Some(30.0), 2.0));
    let rubric = policy.rubric.unwrap();
    assert!(rubric.no_zero && rubric.min_score.is_some() && rubric.scorer.is_some());
    let metrics: Vec<&str> = policy.metrics.iter().map(|(name, _)| name.value.as_str()).collect();
    assert_eq!(metrics, ["refusal_rate", "tone"]);
    assert_eq!(policy.shown[0].value, "token_efficiency");
    assert_eq!((policy.epochs.count, policy.epochs.reducer.unwrap().value), (Some(5), "mean".to_owned()));
    assert_eq!((policy.pass_threshold, policy.confidence), (Some(0.9), Some(0.95)));
    assert_eq!((policy.on_undecided, policy.missing), (OnUndecided::Fail, OnMissingValues::AtRandom));
}

#[track_caller]
fn record_error(name: &str, text: &str, want: &str) {
    let error = parsed(name, text).expect_err("a mistake");
    assert_eq!(error, want);
}

#[test]
fn mistakes_are_underlined_in_every_language() {
    record_error(
        "policy.json",
        "{\n  \"thresholds\": {\n    \"blockng\": {\"accuracy\": 90}\n  }\n}",
        "there is no `blockng` in `thresholds`
  in policy.json, line 3
    \"blockng\": {\"accuracy\": 90}
    ^^^^^^^^^
  hint: did you mean `blocking`? there are description, blocking, warning",
    );
    record_error(
        "policy.yaml",
        "thresholds:\n  blocking:\n    accuracy: ≥ 8O%\n",
        "`≥ 8O%` is not understood as a threshold
  in policy.yaml, line 3
    accuracy: ≥ 8O%
              ^^^^^
  hint: write a number, or a string such as `\"≥ 80%\"`, `\"< 5000ms\"`, `\"at most 5 s\"`, `\"$0.05\"`",
    );
    record_error(
        "policy.toml",
        "[composite]\nfinal_score = \"accuracy × 0.3 + × 2\"\n",
        "`×` is not expected here
  in policy.toml, line 2
    final_score = \"accuracy × 0.3 + × 2\"
                                    ^
  hint: a name, a number or a bracket is missing before it",
    );
    record_error(
        "policy.json",
        r#"{"composite": "x = a\n\npass = x \u2265 0.85 AND b"}"#,
        r#"`b` is a number, and `AND` needs a condition
  in policy.json, line 1
    {"composite": "x = a\n\npass = x \u2265 0.85 AND b"}
                                                     ^
  hint: compare it: `b ≥ …`"#,
    );
}

#[test]
fn a_document_that_is_none_is_a_mistake_with_a_place() {
    record_error(
        "policy.json",
        "{\n  // why\n  \"confidence\": 0.95\n}",
        "JSON has no comments\n  in policy.json, line 2\n    // why\n    ^^^^^^\n  hint: take it out, or write the policy as YAML or TOML",
    );
    record_error(
        "policy.json",
        "{\"confidence\": 0.95,}",
        "there is a comma too many\n  in policy.json, line 1\n    {\"confidence\": 0.95,}\n                       ^\n  hint: JSON has no comma before a closing bracket",
    );
    for (name, text) in [("policy.json", "{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"), ("policy.yaml", "a: 1\nb: 2\na: 3\n")] {
        let error = parsed(name, text).expect_err("a key twice");
        assert!(
            error.starts_with(&format!("the key `a` appears twice, first in line 1\n  in {name}, line 3\n")),
            "{error}"
        );
    }
    let error = parsed("policy.toml", "a = 1\nb = 2\na = 3\n").expect_err("a key twice");
    assert!(error.starts_with("duplicate key\n  in policy.toml, line 3\n    a = 3\n    ^"), "{error}");
    for (name, text, want) in [
        ("policy.json", "[1]", "the policy is a list, and should be a map"),
        ("policy.yaml", "a: !thing 1", "tags have no meaning in a policy"),
        ("policy.yaml", "confidence: .nan", "expected a finite number"),
        ("policy.json", "{\"confidence\": 1e999}", "expected a finite number"),
        ("policy.toml", "confidence = inf", "expected a finite number"),
        ("policy.toml", "name = 2020-01-01", "a date has no meaning here"),
        ("policy.yaml", "a: 1\n---\nb: 2\n", "a second document begins"),
        ("policy.yaml", "a: &a [*a]", "an alias within what it stands for"),
        ("policy.yaml", "? [a]\n: 1\n", "a key is a string"),
        ("policy.json", "", "policy.json is empty"),
    ] {
        let error = parsed(name, text).expect_err(text);
        assert_eq!(error.lines().next().unwrap(), want, "{error}");
    }
}

#[test]
fn aliases_and_nesting_are_bounded() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", "));
    }
    let error = parsed("policy.yaml", &bomb).expect_err("too many parts");
    assert!(error.starts_with("the document has more than 100000 parts"), "{error}");
    let shared = "x: &ids [SEC-001]\n";
    assert!(
        parsed("policy.yaml", &format!("{shared}required_scenarios: *ids\n"))
            .expect_err("x is no key")
            .contains("no `x`")
    );
    for (name, text) in [
        ("deep.json", format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep.yaml", format!("a: {}1{}", "[".repeat(200), "]".repeat(200))),
        ("deep.toml", format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep2.toml", format!("{} = 1", vec!["a"; 10_000].join("."))),
    ] {
        assert!(parsed(name, &text).is_err(), "{name}");
    }
    assert!(
        parsed("large.json", &format!("{{\"name\": \"{}\"}}", "x".repeat(2 << 20)))
            .unwrap_err()
            .contains("more than 1 MiB")
    );
}

#[test]
fn all_mistakes_are_found_at_once_in_the_order_of_the_file() {
    let text = r#"{
  "confidence": 95,
  "treshold": {},
  "pass_criteria": {"overall": "80%", "minimum_pass_rate": "90%"},
  "risk": [{"level": "severe", "metric": "accuracy"}],
  "weights": {"accuracy": -1},
  "baseline": {"mode": "better", "margin": "≥ 2%"},
  "epochs": {"count": 2.5, "min_pass_rate": "< 60%"},
  "rubric": {"no_zero": "yes"},
  "required_scenarios": ["A"],
  "optional_scenarios": {"ids": ["A"]},
  "composite": {"x": "y + 1", "y": "x × 2", "z": "a > 1", "pass": "x"},
  "normalize": {"latency_p95": 0},
  "thresholds": {"accuracy": 90},
  "name": null
}"#;
    let error = parsed("policy.json", text).expect_err("mistakes");
    let messages: Vec<&str> = error.split("\n\n").map(|mistake| mistake.lines().next().unwrap()).collect();
    let want = [
        "`95` is not a confidence",
        "there is no `treshold` in a policy",
        "`minimum_pass_rate` says the same as `overall` in line 4",
        "a row of `risk` has no `threshold`",
        "`level` cannot be `severe`",
        "`accuracy` is -1",
        "`mode` cannot be `better`",
        "a margin is an amount, and `≥` compares",
        "`count` is 2.5",
        "`min_pass_rate` is a least value, and `<` asks for something else",
        "`no_zero` is a string, and should be true or false",
        "`A` is both required and optional",
        "`x` is needed for its own value",
        "`y` is needed for its own value",
        "`z` is a condition, and only `pass` may be one",
        "`pass` is a number, and should be a condition",
        "the budget of `latency_p95` is not above 0",
        "nothing says whether `accuracy` blocks or warns",
        "`name` is null, and should be a string",
    ];
    assert_eq!(messages, want);
}

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

#[test]
fn a_policy_extends_others_and_keeps_places() {
    let folder = folder(
        "extends",
        &[
            (
                "base.json",
                r#"{"thresholds": {"blocking": {"accuracy": 90, "recall": 80}}, "required_scenarios": {"ids": ["A", "B"]}, "confidence": 0.9}"#,
            ),
            (
                "sub/more.yaml",
                "extends: ../base.json\nthresholds: {blocking: {recall: 85}, warning: {precision: 70}}\n",
            ),
            (
                "policy.toml",
                "extends = [\"base.json\", \"./sub/more.yaml\"]\nrequired_scenarios.ids = [\"C\"]\nthresholds.blocking.accuracy = \"≥ 95%\"\n",
            ),
            ("less.yaml", "extends: base.json\nconfidence: null\n"),
        ],
    );
    let loaded = load_policy(&folder.join("policy.toml")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(gates(&loaded.policy), ["blocking accuracy ≥95 Percent", "blocking recall 85", "warning precision 70"]);
    assert_eq!(loaded.policy.required.len(), 1);
    assert_eq!(loaded.policy.confidence, Some(0.9));
    let names: Vec<_> = loaded.files.iter().map(|file| file.strip_prefix(&folder).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["policy.toml", "base.json", "sub/more.yaml", "base.json"]);
    let span = &loaded.policy.gates[1].metric.span;
    assert!(span.text.name.ends_with("more.yaml") && span.raw() == "recall");
    assert_eq!(load_policy(&folder.join("less.yaml")).unwrap().policy.confidence, None);
}

#[test]
fn extending_in_circles_or_nothing_is_a_mistake() {
    let folder = folder(
        "circles",
        &[
            ("a.json", "{\"extends\": \"sub/b.json\"}"),
            ("sub/b.json", "{\"extends\": \"../a.json\"}"),
            ("self.json", "{\"extends\": \"./self.json\"}"),
            ("gone.json", "{\n  \"extends\": \"nowhere.json\"}"),
            ("kind.json", "{\"extends\": 5}"),
            ("wrong.json", "{\"extends\": \"bad.json\"}"),
            ("bad.json", "{\n  \"confidence\": 2\n}"),
        ],
    );
    let error = |name: &str| load_policy(&folder.join(name)).expect_err(name).to_string();
    assert!(error("a.json").starts_with("the files extend one another in a cycle: "), "{}", error("a.json"));
    assert!(error("self.json").starts_with("the files extend one another in a cycle: "));
    assert!(
        error("gone.json").starts_with("cannot read `")
            && error("gone.json").contains("line 2\n    \"extends\": \"nowhere.json\"}")
    );
    assert!(error("kind.json").starts_with("`extends` is a number\n"));
    assert!(error("wrong.json").contains("bad.json, line 2\n    \"confidence\": 2"), "{}", error("wrong.json"));
    let mut files: Vec<(String, String)> =
        (0..20).map(|i| (format!("c{i}.json"), format!("{{\"extends\": \"c{}.json\"}}", i + 1))).collect();
    files.push(("c20.json".into(), "{}".into()));
    for (name, text) in &files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    assert!(error("c0.json").starts_with("more than 8 files extend one another"));
    assert!(load_policy(&folder.join("c15.json")).is_ok());
    assert!(
        load_policy(Path::new("nowhere.json"))
            .expect_err("no file")
            .to_string()
            .starts_with("cannot read `nowhere.json`: ")
    );
}

#[test]
fn the_hash_of_one_file_is_its_sha_256() {
    let folder = folder("hash", &[("abc.yaml", "name: abc\n")]);
    // sha256sum of coreutils 9.1
    let want = "bb3f6e853581c6e91d279993712aab3c699befcad00ad93f8b375590ac395472";
    assert_eq!(load_policy(&folder.join("abc.yaml")).unwrap().hash, want);
}

#[test]
fn any_bytes_are_a_policy_or_mistakes() {
    let pieces: [&[u8]; 12] =
        [b"{", b"}", b"[", b"]", b"\"", b": ", b"\n", b"&a ", b"*a", b"\xff", "≥".as_bytes(), b"\n  - "];
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut refused = 0;
    for name in ["full.json", "full.yaml", "full.toml", "guide/composite.json", "guide/composite.yaml"] {
        let original = std::fs::read(testdata(name)).unwrap();
        for _ in 0..600 {
            let mut bytes = original.clone();
            for _ in 0..=next(4) {
                let at = next(bytes.len());
                match next(4) {
                    0 => bytes[at] = u8::try_from(next(256)).unwrap(),
                    1 => drop(bytes.drain(at..(at + next(20)).min(bytes.len()))),
                    2 => drop(bytes.splice(at..at, pieces[next(pieces.len())].iter().copied())),
                    _ => bytes.truncate(at.max(1)),
                }
                if bytes.is_empty() {
                    bytes.push(b'{');
                }
            }
            let outcome =
                read_document(name, &bytes).map_err(|mistake| vec![mistake]).and_then(|item| Policy::parse(&item));
            if let Err(mistakes) = outcome {
                assert!(mistakes.iter().all(|mistake| !mistake.to_string().contains('\u{1b}')));
                refused += 1;
            }
        }
    }
    assert!(refused > 1000, "only {refused} were refused");
}
