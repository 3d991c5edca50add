//! Every metric's documentation has the same headings, so that a reader finds the same answers in the same place.

use std::path::Path;

const HEADINGS: [&str; 5] =
    ["*What it tells you.*", "*When it misleads.*", "*Formula.*", "*Interval.*", "*Example.*\n///\n/// ```"];

#[test]
fn every_metric_says_the_same_things_in_the_same_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/metric");
    let registry = calipers_core::Registry::builtin();
    let mut documented = 0;
    for file in std::fs::read_dir(folder).expect("the metrics have a folder") {
        let source = std::fs::read_to_string(file.expect("readable").path()).expect("readable");
        for name in registry.names() {
            let starts = ["(", "<"].map(|next| source.find(&format!("\npub fn {name}{next}")));
            let Some(place) = starts.into_iter().flatten().next() else { continue };
            let docs = source[..place].rsplit("\n\n").next().expect("there is always a last part");
            let places = HEADINGS.map(|heading| docs.find(heading));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{name}: {places:?}");
            documented += 1;
        }
    }
    assert_eq!(documented, registry.names().count());
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
        let about = calipers_core::Registry::builtin().about(name).expect("registered");
        assert!(about.formula.starts_with(formula), "{name}: {}", about.formula);
        assert_eq!((about.typical_threshold, about.use_case), (threshold, use_case), "{name}");
    }
}
