//! What the renderers of a verdict share: the words for what is in a report.

use super::reason_words::gate_reason;
use crate::numbers::{Scale, percent};
use crate::words::{columns_sentence, undefined_sentence};
use calipers_core::{Figure, OutcomeCounts, Undefined, Unit, Verdict, pluralize};
use calipers_gate::policy::{Estimand, Level, Looks};
use calipers_gate::{BaselineResult, Coverage, GateKind, GateReport, GateResult, Mode, SampleUnit};

/// Why a figure has no value, and how many have no score.
pub(crate) fn undefined(why: &Undefined, missing: u64) -> String {
    let missing = if missing == 0 { String::new() } else { format!("; {missing} missing") };
    format!("undefined: {}{missing}", undefined_sentence(why))
}

/// A gate by name: that of its metric, with what tells two gates on one metric apart.
pub(crate) fn gate_name(gate: &GateResult) -> String {
    match &gate.kind {
        GateKind::Risk(level) => format!("{} ({})", gate.metric, level.name()),
        GateKind::Progressive(version) => format!("{} ({version})", gate.metric),
        GateKind::Baseline(_) if gate.metric != "baseline" => format!("{} (baseline)", gate.metric),
        _ => gate.metric.clone(),
    }
}

/// A figure that is not compared with anything: its number, or why there is none.
pub(crate) fn estimate(figure: &Figure, unit: Unit) -> String {
    match &figure.value {
        Ok(value) => Scale::of(unit, *value).text(*value),
        Err(why) => undefined(why, figure.missing),
    }
}

/// The interval of a figure, or nothing.
pub(crate) fn interval(figure: &Figure, scale: Scale) -> String {
    figure.interval.map_or_else(String::new, |interval| scale.interval(interval.lower, interval.upper))
}

/// The header of intervals: all that are shown have the same level, or it is left out.
pub(crate) fn interval_header(report: &GateReport) -> String {
    let figures = report.gates.iter().filter_map(|gate| gate.figure.as_ref());
    let mut levels: Vec<f64> =
        figures.filter_map(|figure| figure.interval).map(|interval| interval.confidence.level()).collect();
    levels.dedup();
    match levels[..] {
        [level] => format!("{} interval", percent(level)),
        _ => "interval".to_owned(),
    }
}

/// What else there is to say about a gate, beside its cells.
pub(crate) fn remarks(gate: &GateResult, report: &GateReport) -> Vec<String> {
    let mut remarks = Vec::new();
    if gate.verdict == Verdict::Pass {
        return remarks;
    }
    let has_figure = gate.figure.as_ref().is_some_and(|figure| figure.value.is_ok());
    // In point mode the numbers of a gate that failed say why; words are needed where numbers alone do not decide.
    let is_plain = has_figure && report.mode == Mode::Point && gate.verdict == Verdict::Fail;
    let is_known = report.deciding_gate().is_some_and(|deciding| deciding.reason == gate.reason);
    if has_figure && !is_plain && !is_known {
        remarks.push(gate_reason(&gate.reason));
    }
    remarks.extend(more_samples(gate));
    remarks.extend(gate.rationale.clone());
    remarks
}

/// About how many more samples would decide, where that can be said.
fn more_samples(gate: &GateResult) -> Option<String> {
    gate.more_samples.map(|more| {
        let units = match more.unit {
            SampleUnit::Samples => pluralize(more.count, "more sample"),
            SampleUnit::Attempts => pluralize(more.count, "more attempt"),
            SampleUnit::Clusters => pluralize(more.count, "more cluster"),
            SampleUnit::Labels => pluralize(more.count, "more label"),
        };
        match more.looks {
            Looks::Once => format!("about {units} would decide, if the number is chosen before looking again"),
            Looks::Any => format!("about {units} would decide"),
        }
    })
}

/// Why a gate was not passed, and what would help, in one line.
pub(crate) fn reason(gate: &GateResult) -> String {
    let reason = gate_reason(&gate.reason);
    more_samples(gate).map_or_else(|| reason.clone(), |more| format!("{reason}; {more}"))
}

/// True for a gate that must not look passed: a blocking one that is not, unless the policy lets undecided ones pass.
pub(crate) fn blocks(gate: &GateResult, report: &GateReport) -> bool {
    gate.level == Level::Blocking
        && (gate.verdict == Verdict::Fail || gate.verdict == Verdict::Undecided && report.verdict != Verdict::Pass)
}

/// The scenarios by outcome, in parts: counts of 0 are left out, except for passes and failures.
pub(crate) fn coverage(coverage: &Coverage) -> Vec<String> {
    outcome_parts(&coverage.counts, coverage.missing.len() as u64)
}

/// Scenarios by outcome, in parts.
pub(crate) fn outcome_parts(counts: &OutcomeCounts, missing: u64) -> Vec<String> {
    let mut parts = vec![format!("{} passed", counts.passed), format!("{} failed", counts.failed)];
    let others =
        [(counts.errored, "errored"), (counts.unscored, "unscored"), (missing, "missing"), (counts.flaky, "flaky")];
    parts.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    parts
}

/// How many scenarios and attempts there are: `60 scenarios, 300 attempts (2 errored)`.
pub(crate) fn scenarios(coverage: &Coverage) -> String {
    let counts = &coverage.counts;
    let mut text = pluralize(counts.total, "scenario");
    if counts.attempts != counts.total {
        text += &format!(", {}", pluralize(counts.attempts, "attempt"));
    }
    if counts.errored_attempts > 0 && counts.attempts != counts.total {
        text += &format!(" ({} errored)", counts.errored_attempts);
    }
    text
}

/// Where scenarios are missing that should be there.
pub(crate) fn missing_from(coverage: &Coverage) -> String {
    let them = if coverage.missing.len() == 1 { "it" } else { "them" };
    coverage
        .expected_by
        .map_or_else(|| "missing".to_owned(), |by| format!("missing, though the {} names {them}", by.name()))
}

/// A baseline with its date and age.
pub(crate) fn baseline(baseline: &BaselineResult) -> String {
    let mut parts: Vec<String> = baseline.recorded.iter().map(|date| format!("recorded {date}")).collect();
    parts.extend(baseline.age_days.map(|days| match days.floor() {
        0.0 => "today's".to_owned(),
        days => format!("{} old", pluralize(days, "day")),
    }));
    if parts.is_empty() { baseline.source.clone() } else { format!("{} ({})", baseline.source, parts.join(", ")) }
}

/// The names of scenarios that a comparison with a baseline is about, under their titles.
pub(crate) fn changes(baseline: &BaselineResult) -> [(&'static str, &[String]); 4] {
    [
        ("newly failing", &baseline.newly_failing),
        ("newly passing", &baseline.newly_passing),
        ("added", &baseline.added),
        ("removed", &baseline.removed),
    ]
}

/// Where a verdict comes from, in parts.
pub(crate) fn provenance(report: &GateReport) -> Vec<String> {
    let about = &report.provenance;
    let mut parts = vec![first_of(&about.files, FILES_MAX)];
    parts.extend(about.task.clone());
    parts.extend(about.model.clone());
    parts.extend((!about.columns.is_empty()).then(|| columns_sentence(&about.columns)));
    let hash: String = about.policy_hash.chars().take(HASH_SHOWN).collect();
    parts.push(if hash.is_empty() { about.policy.clone() } else { format!("{} ({hash})", about.policy) });
    parts.extend(about.version.as_ref().map(|version| format!("for {version}")));
    parts.extend((!about.scripts.is_empty()).then(|| format!("loaded {}", first_of(&about.scripts, FILES_MAX))));
    parts.push(match report.mode {
        Mode::Point => "point mode".to_owned(),
        Mode::Confidence(level) => format!("decided with {} confidence", percent(level)),
    });
    parts.extend(terms(report));
    parts.push(format!("reducer {}", about.reducer));
    parts.push(format!("seed {}", about.seed));
    parts.push(about.tool.clone());
    parts.retain(|part| !part.is_empty());
    parts
}

/// What the confidence holds for, in parts, where that is not one look at independent samples.
fn terms(report: &GateReport) -> Vec<String> {
    let (terms, mut parts) = (&report.terms, Vec::new());
    if report.mode == Mode::Point {
        return parts;
    }
    if terms.looks == Looks::Any {
        parts.push("at any number of looks".to_owned());
    }
    if let Some(look) = terms.look {
        parts.push(format!("look {} of a suite whose looks have {} together", look.number, percent(look.level)));
    }
    if terms.estimand == Estimand::ThisSuiteRerun {
        parts.push("about this suite rerun".to_owned());
    }
    if let Some(found) = &terms.clusters {
        parts.push(format!("{} by {}", pluralize(found.clusters, "cluster"), found.fields.join(", ")));
    }
    parts
}

/// What of the run was not looked at, or was read otherwise than it says itself; nothing for a run as it is. Leaving out
/// what fails is the easiest way to a pass, so this stands beside every verdict.
pub(crate) fn restriction(report: &GateReport) -> Option<String> {
    let about = &report.provenance;
    let conditions: Vec<String> = about.filter.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels: Vec<String> = about.labels.iter().map(|(label, number)| format!("{label}={number}")).collect();
    let told = |what: &str, names: &[String], between: &str| {
        (!names.is_empty()).then(|| what.to_owned() + &names.join(between))
    };
    let part = [told("scenarios where ", &conditions, " and "), told("scores by ", &about.scorers, " and ")];
    let part: Vec<String> = part.into_iter().flatten().collect();
    let parts = [told("only a part of the run: ", &part, ", "), told("labels given by hand: ", &labels, ", ")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Files that are named before the rest is counted.
const FILES_MAX: usize = 3;
/// As much of a hash as tells two policies apart.
const HASH_SHOWN: usize = 8;

/// Names one after another, or the first ones and how many more there are.
pub(crate) fn first_of(names: &[String], max: usize) -> String {
    if names.len() <= max {
        return names.join(", ");
    }
    format!("{} and {} more", names[..max].join(", "), names.len() - max)
}
