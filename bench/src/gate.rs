//! The time that a verdict takes beyond reading.

use calipers::gate::{GateOptions, GateReport, gate};
use calipers::io::{Source, read_document};
use calipers::policy::Policy;
use calipers::{LoadedRun, Selection};
use cpu_time::ProcessTime;
use std::fmt::Write;
use std::time::{Duration, Instant};

const SCENARIOS: usize = 10_000;
const ATTEMPTS: usize = 5;
const CATEGORIES: usize = 20;
const RUNS: usize = 15;
/// What we hold ourselves to.
const MILLISECONDS_MAX: f64 = 100.0;

/// Measures, and prints what was found.
pub(crate) fn run() -> Result<bool, String> {
    let lines = results();
    let options = GateOptions::default();
    println!(
        "{SCENARIOS} scenarios × {ATTEMPTS} attempts, {:.1} MB of JSON Lines; least of {RUNS} runs",
        lines.len() as f64 / 1e6
    );
    // A verdict takes one thread, so that its CPU time is what it takes on a machine that has nothing else to do.
    println!("| mode | gates | verdict | read, wall | judge, wall | judge, CPU | required | |");
    println!("|:--|--:|:--|--:|--:|--:|--:|:--|");
    for (mode, confidence) in [("point", ""), ("confidence", r#", "confidence": 0.95"#)] {
        let document =
            read_document("policy.json", policy(confidence).as_bytes()).map_err(|mistake| mistake.to_string())?;
        let policy = Policy::parse(&document).map_err(|mistakes| mistakes[0].to_string())?;
        let [mut reading, mut judging, mut computing] = [Duration::MAX; 3];
        let mut last: Option<GateReport> = None;
        for _ in 0..RUNS {
            let start = Instant::now();
            let source = Source::bytes("results.jsonl", lines.as_bytes());
            let selection = Selection { format: Some("native".to_owned()), ..Selection::of([source]) };
            let needs = options.needs(&selection, &policy);
            let run = LoadedRun::load("results.jsonl", &selection, &needs).map_err(|error| error.to_string())?;
            reading = reading.min(start.elapsed());
            let (start, start_cpu) = (Instant::now(), ProcessTime::now());
            last = Some(gate(&run, &policy, &selection, &options).map_err(|error| error.to_string())?);
            (judging, computing) = (judging.min(start.elapsed()), computing.min(start_cpu.elapsed()));
        }
        let report = last.ok_or("nothing was run")?;
        let milliseconds = computing.as_secs_f64() * 1e3;
        let word = if milliseconds < MILLISECONDS_MAX { "ok" } else { "behind" };
        println!(
            "| {mode} | {} | {} | {:.0} ms | {:.1} ms | {milliseconds:.1} ms | {MILLISECONDS_MAX:.0} ms | {word} |",
            report.gates.len(),
            report.verdict,
            reading.as_secs_f64() * 1e3,
            judging.as_secs_f64() * 1e3,
        );
    }
    Ok(true)
}

/// Attempts that are all a little different, from arithmetic alone.
fn results() -> String {
    let mut lines = String::new();
    for id in 0..SCENARIOS {
        for epoch in 1..=ATTEMPTS {
            let chance = (id * 7919 + epoch * 104_729) % 1000;
            let observed = if chance < 930 { r#""a", "b", "c""# } else { r#""a", "b""# };
            let category =
                if id % CATEGORIES == 0 { "adversarial".to_owned() } else { format!("c{}", id % CATEGORIES) };
            let _ = writeln!(
                lines,
                r#"{{"id": "S-{id:05}", "epoch": {epoch}, "category": "{category}", "capability": "k{}", "expected_behaviors": ["a", "b", "c"], "observed_behaviors": [{observed}], "must_not": ["x"], "violations": [], "correct": {}, "predicted": {}, "actual": {}, "quality_score": {}, "latency_ms": {}, "tokens_used": {}, "cost_usd": {}}}"#,
                id % 7,
                chance < 940,
                chance % 2 == 0,
                chance % 3 != 0,
                chance as f64 / 1000.0,
                400 + chance * 4,
                200 + chance,
                chance as f64 / 1e5
            );
        }
    }
    lines
}

/// Forty gates of every kind.
fn policy(confidence: &str) -> String {
    let mut categories: Vec<String> = (1..CATEGORIES).map(|c| format!(r#""c{c}": "≥ 80%""#)).collect();
    categories.push(r#""adversarial": "≥ 80%""#.to_owned());
    format!(
        r#"{{"thresholds": {{
            "blocking": {{"pass_rate": 85, "accuracy": 90, "safety_rate": 80, "precision": 20, "recall": 20, "behavior_coverage": 90}},
            "warning": {{"latency_p50": 5000, "latency_p90": 5000, "latency_p95": 5000, "latency_p99": 6000, "cost": 0.02,
                         "token_efficiency": 0.0001}}}},
          "pass_criteria": {{"overall": "≥ 80%", "by_category": {{{}}}}},
          "required_scenarios": {{"ids": ["S-00001", "S-00002"]}},
          "weights": {{"by_category": {{"adversarial": 2.0}}, "by_capability": {{"k1": 2.0, "k2": 0.5}},
                       "by_metric": {{"accuracy": 1.0, "safety_rate": 3.0, "behavior_coverage": 1.5}}}},
          "risk": [{{"level": "critical", "metric": "safety_rate", "threshold": "85%"}},
                   {{"level": "medium", "metric": "behavior_coverage", "threshold": "≥ 85%"}},
                   {{"level": "low", "metric": "latency_p95", "threshold": "< 10000ms"}}],
          "composite": {{"final_score": "accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2 + (1 - normalized_latency) × 0.1",
                         "pass": "final_score ≥ 0.5 AND safety_rate ≥ 0.5"}},
          "limits": {{"cost_usd": 0.05, "tokens_used": 2000}},
          "blocking_failures": ["data_leak"], "epochs": {{"min_pass_rate": "20%"}}{confidence}}}"#,
        categories.join(", ")
    )
}
