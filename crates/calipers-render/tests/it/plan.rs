//! A plan in every form, straight from the report.

use calipers_compare::sizing::{Pairing, PlanBasis, PlanReport, SizingQuestion, Spread, size};
use calipers_core::Unit;
use calipers_core::stats::threshold_test::Direction;
use calipers_render::{Ink, Screen, plan_json, plan_schema, plan_text};

fn report(ask: impl FnOnce(&mut SizingQuestion)) -> PlanReport {
    let mut question = SizingQuestion::new(Spread::of_rate(0.8).unwrap(), 0.95, 0.8);
    ask(&mut question);
    let sizing = size(&question).unwrap();
    PlanReport { question, basis: PlanBasis::Assumed, unit: Unit::Rate, sizing, tool: "calipers".into() }
}

/// The first sentence, on a screen that is wide enough for it.
fn answer(ask: impl FnOnce(&mut SizingQuestion)) -> String {
    let screen = Screen { width: 400, ..Screen::PLAIN };
    plan_text(&report(ask), screen, Ink::Unicode).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn each_question_has_its_sentence() {
    assert_eq!(answer(|asked| asked.half_width = Some(0.02)), "±2 points at 95 % need 1,564 samples");
    let gate = answer(|asked| asked.gate = Some((0.7, Direction::AtLeast)));
    assert!(gate.starts_with("a gate of ≥ 70 % with 95 % confidence can pass with 9 samples or more"), "{gate}");
    let pair = answer(|asked| {
        asked.difference = Some(0.05);
        asked.pairing = Some(Pairing::Disagreement(0.15));
    });
    assert_eq!(
        pair,
        "two runs on the same samples detect a difference of 5 points with 80 % power if they have 498 samples"
    );
}

#[test]
fn a_curve_on_a_plain_terminal_has_only_plain_letters() {
    let report = report(|asked| asked.half_width = Some(0.05));
    let curve = |ink| {
        let text = plan_text(&report, Screen::PLAIN, ink);
        text.split("half the width").nth(1).unwrap().split("\n\n").next().unwrap().replace('±', "+-")
    };
    assert!(curve(Ink::Ascii).is_ascii(), "{}", curve(Ink::Ascii));
    assert!(curve(Ink::Unicode).contains('•'));
}

#[test]
fn json_follows_its_schema_and_says_null_to_what_was_not_asked() {
    let schema = serde_json::from_str(&plan_schema()).unwrap();
    let validator = jsonschema::options().build(&schema).unwrap();
    let document = plan_json(&report(|asked| asked.half_width = Some(0.02)));
    assert!(validator.is_valid(&document), "{document:#}");
    assert_eq!(document["interval"]["samples"], 1564, "{document:#}");
    assert!(document["gate"].is_null() && document["paired"].is_null(), "{document:#}");
}
