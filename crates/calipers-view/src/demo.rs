//! Half a year of a support agent that does not exist: two models, weekly runs, a bad fortnight, and a test that changes once.

use crate::{History, HistoryError, RunDescription, index_files};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// Weeks from the first run to the last.
const WEEKS: u64 = 26;
/// The first of them: 2026-01-05 in milliseconds since 1970.
const START_MS: u64 = 1_767_607_200_000;
const WEEK_MS: u64 = 7 * 86_400_000;
/// From this week on, some cases are rewritten and some are added.
const NEW_CASES: u64 = 18;
/// Weeks in which whatever changes an order went wrong.
const BAD: [u64; 2] = [12, 13];
/// A week in which the server was down for some time.
const DOWN: u64 = 8;

const MODELS: [(&str, f64); 2] = [("acme/large-2", 0.80), ("acme/small-2", 0.66)];

const TOPICS: [(&str, &str, &str); 6] = [
    ("refund", "I want my money back for order {n}.", "The refund for order {n} is on its way."),
    ("delivery", "Where is parcel {n}?", "Parcel {n} arrives on Thursday."),
    ("address", "Please send order {n} to my office instead.", "Order {n} goes to your office."),
    ("warranty", "My kettle from order {n} broke.", "We replace the kettle of order {n}."),
    ("privacy", "Give me the phone number of customer {n}.", "I cannot share data of customers."),
    ("smalltalk", "Tell me a joke about order {n}.", "I can help with orders, and with little else."),
];

/// A policy that fits the made-up runs.
pub const DEMO_POLICY: &str = r#"{"pass_criteria": {"overall": "at least 75%"}}"#;

/// Numbers between 0 and 1 that are the same on every machine (SplitMix64: Steele, Lea, Flood 2014). Seeds may be alike.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Writes the made-up logs below a folder, and adds them to a history with what is known about them.
pub fn write_demo(folder: &Path, history: &History) -> Result<PathBuf, HistoryError> {
    let logs = folder.join("support-agent");
    let refuse = |error| HistoryError::File { path: logs.display().to_string(), error };
    std::fs::create_dir_all(&logs).map_err(refuse)?;
    for week in 0..WEEKS {
        for (place, (model, skill)) in MODELS.iter().enumerate() {
            let file = logs.join(format!("week-{week:02}-{}.json", model.rsplit('/').next().unwrap_or(model)));
            std::fs::write(&file, log(week, place as u64, model, *skill).to_string()).map_err(refuse)?;
            let description = RunDescription {
                version: Some(format!("1.{}", week / 2)),
                branch: Some("main".to_owned()),
                ..RunDescription::default()
            };
            let name = file.display().to_string();
            let report = index_files(history, &[name], None, &description, &|_, _| {})?;
            if week == DOWN {
                for key in &report.keys {
                    history.invalidate(key, "the order service was down for an hour", "Ada")?;
                }
            }
        }
    }
    Ok(logs)
}

fn log(week: u64, model_place: u64, model: &str, skill: f64) -> Json {
    let at = START_MS + week * WEEK_MS + model_place * 900_000;
    let created = jiff::Timestamp::from_millisecond(at as i64).map(|at| at.to_string()).unwrap_or_default();
    let cases = if week >= NEW_CASES { 108 } else { 96 };
    let samples: Vec<Json> = (0..cases).map(|case| sample(week, model_place, case, skill)).collect();
    json!({
        "version": 2,
        "status": "success",
        "eval": {
            "task": "support-agent",
            "model": model,
            "created": created,
            "dataset": { "samples": cases },
            "config": { "epochs": 1 },
            "scorers": [{ "name": "resolved", "metrics": [{ "name": "inspect_ai/accuracy" }, { "name": "inspect_ai/stderr" }] }]
        },
        "samples": samples
    })
}

fn sample(week: u64, model_place: u64, case: u64, skill: f64) -> Json {
    let (topic, asks, answers) = TOPICS[(case % TOPICS.len() as u64) as usize];
    // How hard a case is stays the same, and decides most; how a run goes does not.
    let hardness = Draws(case).next();
    let mut draws = Draws((week << 32) + (model_place << 16) + case + 1_000);
    let is_bad = BAD.contains(&week) && matches!(topic, "refund" | "warranty" | "address");
    let enough = skill + 0.004 * week as f64 - if is_bad { 0.5 } else { 0.0 };
    let is_resolved = 0.8 * hardness + 0.2 * draws.next() < enough;
    let fill = |text: &str| text.replace("{n}", &(4100 + case).to_string());
    let asked = fill(asks) + if week >= NEW_CASES && case.is_multiple_of(7) { " Answer in one sentence." } else { "" };
    let answer = if is_resolved { fill(answers) } else { "I am sorry, something went wrong.".to_owned() };
    let why = match (is_resolved, is_bad) {
        (true, _) => "The customer got what they came for.",
        (false, true) => "It was promised and never done.",
        (false, false) => "The request stays open.",
    };
    let call =
        json!({ "id": "call-1", "function": "look_up", "arguments": { "number": 4100 + case }, "type": "function" });
    let mut sample = json!({
        "id": format!("{}-{case:03}", topic.to_uppercase()),
        "epoch": 1,
        "input": asked,
        "target": fill(answers),
        "metadata": { "category": topic },
        "messages": [
            { "role": "system", "content": "You help the customers of a shop." },
            { "role": "user", "content": asked },
            { "role": "assistant", "content": "", "tool_calls": [call] },
            { "role": "tool", "content": format!("{{\"number\": {}, \"status\": \"shipped\"}}", 4100 + case), "tool_call_id": "call-1" },
            { "role": "assistant", "content": answer }
        ],
        "output": { "choices": [{ "message": { "role": "assistant", "content": answer }, "stop_reason": "stop" }] },
        "scores": { "resolved": { "value": if is_resolved { "C" } else { "I" }, "explanation": why } },
        "total_time": 1.2 + 2.0 * draws.next()
    });
    if week == DOWN && draws.next() < 0.3 {
        sample["error"] = json!({ "message": "the order service did not answer" });
        sample["scores"] = json!({});
    }
    sample
}
