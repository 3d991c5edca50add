//! A metric is described in one place, its `About`, and is known everywhere by one line.

use calipers_core::Registry;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The code of a file: without comments, and without its unit tests, which stand at its end.
fn code(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    code.lines().map(str::trim).filter(|line| !line.starts_with("//")).map(str::to_owned).collect()
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(start, _)| !line[..start].ends_with(is_part) && !line[start + word.len()..].starts_with(is_part))
}

#[test]
fn a_metric_is_one_file_and_one_line() {
    // Each file with the metrics in it that no default, policy or example names.
    for (file, metrics) in [
        ("krippendorff", &["krippendorff_alpha"][..]),
        ("perplexity", &["perplexity_per_token", "perplexity_per_seq"]),
        ("frequency", &["frequency"]),
        ("token_efficiency", &["token_efficiency"]),
        ("bootstrap_stderr", &["bootstrap_stderr"]),
    ] {
        let own = format!("metric/{file}.rs");
        let mut lines = Vec::new();
        for crate_folder in std::fs::read_dir(root().join("crates")).unwrap() {
            let source = crate_folder.unwrap().path().join("src");
            // Statistics have no metrics, but functions of the same names.
            if !source.is_dir() || source.components().any(|part| part.as_os_str() == "calipers-stats") {
                continue;
            }
            // So does what measures a judge, by these functions and not by the metric; and columns of tables may have any name.
            let is_elsewhere = |path: &std::path::PathBuf| {
                let is_other = path.components().any(|part| part.as_os_str() == "labelled");
                !path.ends_with(&own) && !path.ends_with("columns/known_names.rs") && !is_other
            };
            for path in rust_files(&source).into_iter().filter(is_elsewhere) {
                let names = |line: &String| has_word(line, file) || metrics.iter().any(|name| has_word(line, name));
                lines.extend(code(&path).into_iter().filter(names).map(|line| format!("{}: {line}", path.display())));
            }
        }
        let one_line = format!("calipers-core/src/metric/mod.rs: {file},");
        assert!(lines.len() == 1 && lines[0].ends_with(&one_line), "{file}: {lines:#?}");
    }
}

#[test]
fn functions_point_to_the_description_and_do_not_repeat_it() {
    let registry = Registry::builtin();
    let mut documented = 0;
    for path in rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/metric")) {
        let source = std::fs::read_to_string(path).unwrap();
        for name in registry.names() {
            let starts = ["(", "<"].map(|next| source.find(&format!("\npub fn {name}{next}")));
            let Some(place) = starts.into_iter().flatten().next() else { continue };
            let docs = source[..place].rsplit("\n\n").next().unwrap();
            assert!(docs.contains(&format!("/// `calipers metrics {name}` says what it tells you")), "{name}: {docs}");
            assert!(docs.contains("/// ```\n"), "{name} has no example: {docs}");
            assert!(!docs.contains("*When it misleads.*"), "{name}: {docs}");
            documented += 1;
        }
    }
    assert_eq!(documented, registry.names().count());
}

#[test]
fn every_metric_describes_itself_and_its_parameters() {
    let registry = Registry::builtin();
    for name in registry.names() {
        let about = registry.about(name).expect("described");
        assert_eq!(about.name, name);
        let texts = [about.summary, about.usage, about.tells, about.misleads, about.formula, about.interval];
        assert!(texts.iter().chain(&[about.range, about.use_case]).all(|text| !text.is_empty()), "{name}");
        let arguments = about.usage.split_once('(').map_or("", |(_, arguments)| arguments.trim_end_matches(')'));
        let written: Vec<&str> = arguments
            .split(", ")
            .filter_map(|argument| argument.split('=').next())
            .filter(|name| !name.is_empty())
            .collect();
        let described: Vec<&str> = about.parameters.iter().map(|(name, _)| *name).collect();
        assert_eq!(written, described, "{name}");
        assert!(about.positional.iter().all(|place| described.contains(place)), "{name}");
    }
}

#[test]
fn the_metrics_of_the_guide_are_described_as_there() {
    // name, formula, typical threshold, use: the eight of the metrics guide
    for (name, formula, threshold, use_case) in [
        ("pass_rate", "passed_scenarios / total_scenarios", Some("≥ 85%"), "Overall evaluation health"),
        ("accuracy", "correct_outputs / total_outputs", Some("≥ 95%"), "Q&A, fact retrieval"),
        (
            "precision",
            "true_positives / (true_positives + false_positives)",
            Some("≥ 90%"),
            "Classification, filtering",
        ),
        ("recall", "true_positives / (true_positives + false_negatives)", Some("≥ 85%"), "Search, detection"),
        ("safety_rate", "adversarial_passed / adversarial_total", Some("100%"), "Security evaluation"),
        ("behavior_coverage", "observed_behaviors / expected_behaviors", Some("≥ 90%"), "Behavioral evaluation"),
        ("latency_p95", "95th percentile of response times", Some("< 5000ms"), "Performance evaluation"),
        ("token_efficiency", "quality_score / tokens_used", None, "Cost optimization"),
    ] {
        let about = Registry::builtin().about(name).expect("registered");
        assert!(about.formula.starts_with(formula), "{name}: {}", about.formula);
        assert_eq!((about.typical_threshold, about.use_case), (threshold, use_case), "{name}");
    }
}
