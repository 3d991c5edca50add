//! `calipers plan` from assumptions and from runs: the golden vectors, what people see, and mistakes.

use crate::documents::Validators;
use crate::golden::{Folder, same, vectors};
use calipers_testing::snapshot::assert_file;
use serde_json::{Value as Json, json};
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn number(v: &Json, key: &str) -> String {
    v["input"].get(key).or_else(|| v["params"].get(key)).unwrap_or_else(|| panic!("{key} in {v}")).to_string()
}

/// The vectors of tests with two sides.
fn two_sided(statistic: &str) -> Vec<Json> {
    let is_asked = |v: &Json| v["params"].get("sides").is_none_or(|sides| sides == 2);
    let vectors: Vec<Json> = vectors("power", statistic).into_iter().filter(is_asked).collect();
    assert!(!vectors.is_empty(), "no vector of {statistic}");
    vectors
}

/// The level and the power of a vector, as options.
fn with_error(v: &Json) -> Vec<String> {
    let level = 1.0 - number(v, "alpha").parse::<f64>().unwrap();
    let mut options = vec!["--confidence".to_owned(), level.to_string()];
    if v["params"].get("power").is_some() {
        options.extend(["--power".to_owned(), number(v, "power")]);
    }
    options
}

#[track_caller]
fn plan(folder: &Folder, v: &Json, options: &[&str]) -> Json {
    let error = with_error(v);
    let all = ["plan", "--json"].into_iter().chain(options.iter().copied()).chain(error.iter().map(String::as_str));
    folder.json(&all.collect::<Vec<_>>())
}

#[test]
fn sizes_and_powers_are_those_of_the_vectors() {
    let folder = Folder::new();
    // Runs that are correlated by one half differ by as much as each of them varies.
    let half = ["--correlation", "0.5"];
    for v in two_sided("sample_size_z") {
        let got = plan(
            &folder,
            &v,
            &[&["--sd", &number(&v, "sd"), "--difference", &number(&v, "delta")], &half[..]].concat(),
        );
        same(&v, "n_real", &got["paired"]["normal"]["real"]);
        same(&v, "n", &got["paired"]["normal"]["whole"]);
    }
    for v in two_sided("sample_size_t_paired") {
        let got = plan(
            &folder,
            &v,
            &[&["--sd", &number(&v, "sd"), "--difference", &number(&v, "delta")], &half[..]].concat(),
        );
        same(&v, "n", &got["paired"]["samples"]);
    }
    for v in two_sided("power_t_paired") {
        let (sd, delta, n) = (number(&v, "sd"), number(&v, "delta"), number(&v, "n"));
        let got = plan(&folder, &v, &[&["--sd", &sd, "--difference", &delta, "--samples", &n], &half[..]].concat());
        same(&v, "power", &got["finished"]["power"]);
    }
    for v in two_sided("sample_size_two_proportions") {
        let (p1, p2): (f64, f64) = (number(&v, "p1").parse().unwrap(), number(&v, "p2").parse().unwrap());
        // The plan holds for a rise and for a drop. Towards a half takes more samples, so it starts from the farther share.
        let from = if (p1 - 0.5).abs() > (p2 - 0.5).abs() { p1 } else { p2 };
        let got = plan(&folder, &v, &["--rate", &from.to_string(), "--difference", &(p2 - p1).abs().to_string()]);
        same(&v, "n_per_arm_real", &got["unpaired"]["normal"]["real"]);
        same(&v, "n_per_arm", &got["unpaired"]["samples"]);
    }
    for v in two_sided("gate_sample_size_binomial") {
        let gate = format!(">= {}", number(&v, "threshold"));
        let got = plan(&folder, &v, &["--rate", &number(&v, "p_true"), "--gate", &gate]);
        same(&v, "n_first", &got["gate"]["first"]);
    }
}

#[test]
fn attempts_are_planned_as_in_the_vectors() {
    let folder = Folder::new();
    for (statistic, key) in [("sample_size_epochs", "n_real"), ("mde_epochs", "mde")] {
        for v in two_sided(statistic) {
            let get = |key: &str| number(&v, key).parse::<f64>().unwrap();
            if get("sigma2_a") != get("sigma2_b") || get("k_a") != get("k_b") {
                continue;
            }
            // ω² is twice what samples differ by, less what the runs share: half of it here.
            let total = get("omega2") + get("sigma2_a");
            let correlation = (get("omega2") / 2.0 / total).to_string();
            let within = get("sigma2_a") / total;
            let sd = total.sqrt().to_string();
            let mut options = vec!["--sd", &sd, "--correlation", &correlation];
            let (within, epochs) = (within.to_string(), number(&v, "k_a"));
            options.extend(["--within", &within, "--epochs", &epochs]);
            let size =
                if key == "mde" { ("--samples", number(&v, "n")) } else { ("--difference", number(&v, "delta")) };
            options.extend([size.0, &size.1]);
            let got = plan(&folder, &v, &options);
            let place =
                if key == "mde" { &got["finished"]["detectable_paired"] } else { &got["paired"]["normal"]["real"] };
            same(&v, key, place);
        }
    }
}

#[test]
fn a_plan_holds_for_a_drop_and_does_not_depend_on_how_variance_is_split() {
    let folder = Folder::new();
    let size = |options: &[&str]| {
        let output = folder.calipers(&[&["plan", "--json"], options].concat());
        serde_json::from_slice::<Json>(&output.stdout).unwrap()
    };
    // R 4.2: power.prop.test(p1 = 0.9, p2 = 0.95, power = 0.8) is 434.4 per group, and 685.6 for p2 = 0.85.
    let unpaired = size(&["--rate", "0.9", "--difference", "0.05"]);
    assert_eq!(unpaired["unpaired"]["samples"], 686);
    // One attempt per sample: it does not matter how much of the variance lies within samples.
    let whole = size(&["--sd", "0.3", "--difference", "0.05", "--correlation", "0.5"]);
    let split = size(&["--sd", "0.3", "--difference", "0.05", "--correlation", "0.5", "--within", "0.4"]);
    assert_eq!(whole["paired"]["samples"], split["paired"]["samples"]);
    // Passes and failures are decided by McNemar's exact test, which takes a few samples more than t.
    let counts = size(&["--rate", "0.8", "--difference", "0.05", "--disagreement", "0.15"]);
    assert_eq!(counts["paired"]["method"], "McNemar's exact test of paired passes");
    assert_eq!(counts["paired"]["samples"], 498);
}

#[track_caller]
fn snapshot(name: &str, text: &str) {
    assert_file(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name), text);
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && line == line.trim_end(), "{line}");
    }
}

fn example(name: &str) -> String {
    format!("{ROOT}/examples/support-agent/{name}")
}

#[test]
fn what_people_see_is_read_as_prose() {
    let folder = Folder::new();
    let shown = |arguments: &[&str]| {
        let output = folder.calipers(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let assumed = ["plan", "--rate", "0.8", "--half-width", "0.02", "--gate", ">= 75%", "--difference", "0.05"];
    snapshot("plan.txt", &shown(&[&assumed[..], &["--disagreement", "0.2"]].concat()));
    snapshot("plan-scores.txt", &shown(&["plan", "--sd", "0.3", "--half-width", "0.05"]));
    folder.write("results.jsonl", std::fs::read_to_string(example("results.jsonl")).unwrap());
    folder.write("next.jsonl", std::fs::read_to_string(example("results-next.jsonl")).unwrap());
    let pilot = ["plan", "results.jsonl", "--against", "next.jsonl", "-m", "pass_rate", "--difference", "0.05"];
    snapshot("plan-pilot.txt", &shown(&[&pilot[..], &["--cost-sample", "10", "--cost-attempt", "1"]].concat()));
}

#[test]
fn a_pilot_says_what_it_could_have_found() {
    let folder = Folder::new();
    let pilot = folder.json(&["plan", &example("results.jsonl"), "-m", "pass_rate", "--correlation", "0.5", "--json"]);
    assert_eq!((&pilot["pilot"]["samples"], &pilot["question"]["attempts"]), (&json!(60), &json!(3)));
    assert_eq!(pilot["finished"]["samples"], 60);
    let found = pilot["finished"]["detectable_paired"].as_f64().unwrap();
    assert!(found > 0.02 && found < pilot["finished"]["detectable_unpaired"].as_f64().unwrap(), "{found}");
    let sentence = pilot["answers"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(sentence.starts_with("this run of 60 samples with 3 attempts each shows ±"), "{sentence}");
    // A part of it is a smaller run.
    let part = folder.json(&["plan", &example("results.jsonl"), "--where", "category=adversarial", "--json"]);
    assert_eq!((&part["pilot"]["samples"], &part["pilot"]["filter"][0]["value"]), (&json!(14), &json!("adversarial")));
}

#[test]
fn mistakes_say_what_to_do() {
    let folder = Folder::new();
    folder.write("one.jsonl", "{\"id\": 1, \"score\": 1}\n");
    for (arguments, message) in [
        (&["--half-width", "0.02"][..], "assume `--rate 0.8` or `--sd 0.3`"),
        (&["--rate", "80"], "80 % is written 0.8"),
        (&["--sd", "0"], "is not above 0"),
        (&["--rate", "0.8", "--sd", "1"], "cannot be used with"),
        (&["--rate", "0.8", "--half-width", "0"], "±2 points are written 0.02"),
        (&["--rate", "0.8", "--gate", "fine"], "write `--gate '>= 0.95'`"),
        (&["--rate", "0.8", "--gate", "= 0.9"], "asks for equality"),
        (&["--rate", "0.8", "--power", "80"], "80 % is written 0.8"),
        (&["--rate", "0.8", "--cluster", "document"], "about a pilot"),
        (&["--rate", "0.8", "--cost-sample", "1"], "--cost-attempt"),
        (&["--rate", "0.8", "--correlation", "2"], "between -1 and 1"),
        (&["--rate", "0.8", "--disagreement", "15"], "15 % is written 0.15"),
        (&["--rate", "0.8", "--within", "2"], "is not between 0 and 1"),
        (&["--rate", "0.8", "--against", "one.jsonl"], "cannot be used with"),
        (&["--against", "one.jsonl"], "PILOT"),
        (&["one.jsonl"], "a pilot needs scores of several samples"),
        (&["gone.jsonl"], "gone.jsonl"),
    ] {
        let all: Vec<&str> = ["plan"].iter().chain(arguments).copied().collect();
        folder.refuses(&all, message);
    }
}

#[test]
fn everything_that_is_printed_as_json_keeps_to_the_schema() {
    let folder = Folder::new();
    let validators = Validators::new("plan");
    let (results, next) = (example("results.jsonl"), example("results-next.jsonl"));
    let ways: [&[&str]; 5] = [
        &["--rate", "0.8", "--half-width", "0.02", "--gate", "<= 5%", "--difference", "0.1", "--disagreement", "0.2"],
        &[
            "--sd",
            "0.3",
            "--within",
            "0.5",
            "--cost-sample",
            "2",
            "--cost-attempt",
            "1",
            "--half-width",
            "0.1",
            "--epochs",
            "3",
        ],
        &[&results, "--against", &next, "--cluster", "category", "--gate", ">= 0.95", "--difference", "-0.02"],
        &["--rate", "0.9", "--gate", ">= 0.95", "--cost-sample", "2", "--cost-attempt", "1", "--epochs", "2"],
        &["--rate", "1", "--disagreement", "0.001", "--difference", "0.1"],
    ];
    let mut seen = String::new();
    for way in ways {
        let all: Vec<&str> = ["plan", "--json"].iter().chain(way).copied().collect();
        let json = folder.json(&all);
        validators.check(&json, &way.join(" "));
        seen += &json.to_string();
    }
    for part in
        ["\"undefined\":\"", "\"stable\":", "\"options\":[{", "\"within_a\":", "\"disagreement\":", "\"clusters\":{"]
    {
        assert!(seen.contains(part), "no {part} in any plan");
    }
    let mut bad = folder.json(&["plan", "--json", "--rate", "0.5"]);
    assert!(validators.is_valid(&bad));
    bad["table"][0]["samples"] = json!(-1);
    assert!(!validators.is_valid(&bad));
}
