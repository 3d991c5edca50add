//! A comparison in every form, straight from the report.

use calipers_compare::{ChangeVerdict, CompareQuestion, CompareReport, ComparedRun, compare};
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::{Context, PassRule, Registry, Samples, accuracy, mean_score};
use calipers_render::{COMPARE_FORMS, COMPARE_MARKER, Form, Screen, compare_json, compare_schema, compare_text};

/// Forty samples, of which the first so many pass.
fn passing(passed: i64) -> Samples {
    let mut samples = Samples::new();
    for id in 0..40 {
        samples.push(id).score("match", if id < passed { "C" } else { "I" });
    }
    samples
}

fn report(candidate: &Samples, baseline: &Samples, margin: Option<f64>) -> CompareReport {
    let runs =
        [("new", candidate), ("old", baseline)].map(|(name, samples)| ComparedRun { name: name.into(), samples });
    let question = CompareQuestion {
        metrics: &[accuracy()],
        registry: &Registry::builtin(),
        reducer: mean_score(),
        context: Context::default(),
        estimand: Estimand::Population,
        cluster: &[],
        margin,
        correction: Correction::Holm,
        pass_rule: PassRule::default(),
        pairs_max: None,
    };
    compare(&runs, &question).unwrap()
}

fn first_line(report: &CompareReport) -> String {
    compare_text(report, Screen::PLAIN).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_change_is_said_with_its_sign_its_unit_and_its_verdict() {
    for (candidate, want) in
        [(20, "accuracy  -25.0 points"), (30, "accuracy  0 points"), (40, "accuracy  +25.0 points")]
    {
        let line = first_line(&report(&passing(candidate), &passing(30), None));
        assert!(line.starts_with(want), "{line}");
    }
    for (candidate, verdict) in [(20, "regressed"), (40, "improved"), (30, "no change detected")] {
        let line = first_line(&report(&passing(candidate), &passing(30), None));
        assert!(line.contains(verdict), "{line}");
    }
}

#[test]
fn the_verdict_comes_first_only_where_it_counts() {
    let mut worse = report(&passing(20), &passing(30), None);
    assert!(first_line(&worse).starts_with("accuracy"));
    worse.is_judged = true;
    assert!(first_line(&worse).starts_with("FAIL  accuracy"), "{}", first_line(&worse));
    let mut others = Samples::new();
    others.push("other").score("match", "C");
    // Nothing is known: that is said even if no verdict was asked for.
    assert!(first_line(&report(&passing(20), &others, None)).starts_with("UNDECIDED"));
}

#[test]
fn every_form_has_the_same_verdict_of_the_metric() {
    let report = report(&passing(20), &passing(30), None);
    assert_eq!(report.comparisons[0].metrics[0].verdict, ChangeVerdict::Regressed);
    for form in COMPARE_FORMS {
        let text = (form.render)(&report, Screen::PLAIN).unwrap();
        assert!(text.contains("accuracy") && text.contains("regressed"), "{:?}: {text}", form.names);
    }
    let markdown = Form::find(COMPARE_FORMS, "md").unwrap();
    assert!((markdown.render)(&report, Screen::PLAIN).unwrap().starts_with(COMPARE_MARKER));
    assert!(Form::find(COMPARE_FORMS, "junit").is_none());
}

#[test]
fn json_keeps_what_text_rounds_and_follows_its_schema() {
    let schema = serde_json::from_str(&compare_schema()).unwrap();
    let validator = jsonschema::options().build(&schema).unwrap();
    for margin in [None, Some(0.1)] {
        let document = compare_json(&report(&passing(23), &passing(30), margin));
        assert!(validator.is_valid(&document), "{document:#}");
        assert_eq!(document["comparisons"][0]["metrics"][0]["change"]["estimate"], -7.0 / 40.0, "{document:#}");
    }
}
