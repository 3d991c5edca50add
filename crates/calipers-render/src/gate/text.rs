//! A verdict on one screen: the verdict first, then what it rests on, then what is worth knowing.

use super::table as gate_table;
use crate::gate::reason_words::gate_decision;
use crate::gate::words::{
    baseline, changes, coverage, estimate, first_of, interval, missing_from, provenance, restriction, scenarios,
};
use crate::numbers::{Scale, count, number};
use crate::outcome_words::{error_line, outcome_word, shortcoming_sentence};
use crate::results::caveats::known_thing;
use crate::screen::{FlagNames, Screen};
use crate::text::{abridge, clean, join_names, left, right, shorten, shorten_apart, wrap};
use crate::words::{caveat_next_step, caveat_sentence, undefined_sentence};
use calipers_core::{Caveat, GateCaveat, ScenarioOutcome, Unit, pluralize};
use calipers_gate::{BaselineResult, CompositeResult, GateReport, MetricDifference, ScenarioCheck};
use unicode_width::UnicodeWidthStr;

/// Scenarios that are named before the rest is counted.
const NAMES_MAX: usize = 6;
/// Lines of a list before the rest is counted.
const LINES_MAX: usize = 8;
/// Caveats before the rest is counted.
const CAVEATS_MAX: usize = 5;
/// As much of one text as is shown.
const TEXT_MAX: usize = 400;
/// As much of a name.
const NAME_MAX: usize = 60;

/// The verdict as text.
///
/// The first line says the verdict and what decided it. A section that has nothing to say is left out, and long lists are
/// cut; [`gate_json`](crate::gate_json) has everything.
#[must_use]
pub fn gate_text(report: &GateReport, screen: Screen) -> String {
    let page = Page { report, screen };
    let mut sections =
        vec![page.verdict(), gate_table::gates(report, screen), page.required_scenarios(), page.categories()];
    sections.extend(report.composites.iter().map(|composite| page.composite(composite)));
    sections.extend(report.baseline.as_ref().map(|found| page.baseline(found)));
    sections.extend([page.caveats(), page.coverage() + &page.provenance()]);
    sections.retain(|section| !section.is_empty());
    screen.join_sections(&sections)
}

struct Page<'a> {
    report: &'a GateReport,
    screen: Screen,
}

/// What to do about a caveat, with the flag that does it.
fn next_step(caveat: &Caveat, flags: FlagNames) -> Option<String> {
    let step = caveat_next_step(caveat)?;
    let flag = flags.version.filter(|_| matches!(caveat, Caveat::Gate(GateCaveat::NoVersion)));
    Some(flag.map_or_else(|| step.clone(), |flag| format!("{step} with `{flag}`")))
}

/// A name from data, short enough for a line.
fn name(text: &str) -> String {
    clean(&abridge(text, NAME_MAX))
}

fn names(ids: &[String], max: usize) -> String {
    let shown: Vec<String> = ids.iter().take(max).map(|id| name(id)).collect();
    let more = ids.len() - shown.len();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// Names from data below one another, at most so wide. Different ones stay different.
fn column(names: &[&str], width_max: usize) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|name| clean(name)).collect();
    let short = shorten_apart(&names, width_max.min(NAME_MAX));
    let width = widest(short.iter().map(String::as_str));
    short.iter().map(|name| left(name, width)).collect()
}

fn widest<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    texts.map(UnicodeWidthStr::width).max().unwrap_or(0)
}

impl Page<'_> {
    /// Text after a start, with further lines below the text.
    fn hanging(&self, start: &str, text: &str) -> String {
        self.hanging_painted(start, start.width(), text, str::to_owned)
    }

    fn hanging_painted(&self, start: &str, margin: usize, text: &str, paint: impl Fn(&str) -> String) -> String {
        let text = clean(&abridge(text, TEXT_MAX));
        let lines = wrap(&text, self.screen.width.saturating_sub(margin).max(24));
        let lines: Vec<String> = lines.iter().map(|line| paint(line)).collect();
        format!("{start}{}\n", lines.join(&format!("\n{}", " ".repeat(margin))))
    }

    fn verdict(&self) -> String {
        let verdict = self.report.verdict;
        let word = verdict.name().to_uppercase();
        let start = format!("{}  ", self.screen.style.verdict(verdict, &word));
        let mut text = self
            .hanging_painted(&start, word.len() + 2, &gate_decision(self.report), |line| self.screen.style.bold(line));
        if let Some(restriction) = restriction(self.report) {
            text += &self.hanging(&" ".repeat(word.len() + 2), &restriction);
        }
        text
    }

    fn required_scenarios(&self) -> String {
        let all = &self.report.required;
        if all.is_empty() {
            return String::new();
        }
        let in_full =
            |check: &&ScenarioCheck| check.outcome == Some(ScenarioOutcome::Passed) && check.passed.0 == check.passed.1;
        let passed = all.iter().filter(|check| check.outcome == Some(ScenarioOutcome::Passed)).count();
        let mut text = format!("{passed} of {} passed\n", pluralize(all.len(), "required scenario"));
        let rest: Vec<&ScenarioCheck> = all.iter().filter(|check| !in_full(check)).collect();
        // The gate says that all passed.
        if rest.is_empty() {
            return String::new();
        }
        let shown = &rest[..rest.len().min(LINES_MAX)];
        let ids = column(&shown.iter().map(|check| &*check.id).collect::<Vec<_>>(), self.screen.width / 2);
        for (id, check) in ids.iter().zip(shown) {
            text += &self.hanging(&format!("  {id}  "), &check_text(check));
        }
        if rest.len() > shown.len() {
            text += &format!("  and {} more\n", rest.len() - shown.len());
        }
        text
    }

    /// Categories without a gate; those that have one stand among the gates.
    fn categories(&self) -> String {
        let all = &self.report.categories;
        // A policy that does not speak of categories is not answered in them.
        let capabilities = &self.report.capability_weights;
        if capabilities.is_empty() && !all.iter().any(|category| category.gate.is_some() || category.weight.is_some()) {
            return String::new();
        }
        let rest: Vec<_> = all.iter().filter(|category| category.gate.is_none()).collect();
        let shown = &rest[..rest.len().min(LINES_MAX)];
        let names: Vec<&str> = shown.iter().map(|category| &*category.category).collect();
        let names = column(&names, self.screen.width / 2);
        let mut text = String::new();
        for (name, category) in names.iter().zip(shown) {
            let figure = &category.figure;
            let start = format!("  {name}  ");
            let estimate = estimate(figure, Unit::Rate);
            if figure.value.is_err() {
                text += &self.hanging(&start, &estimate);
                continue;
            }
            let interval = left(&interval(figure, Scale::Percent), "[80.4, 99.9] %".len());
            text += &format!("{start}{}  {interval}  n {}\n", right(&estimate, "100.0 %".len()), count(figure.n));
        }
        if rest.len() > shown.len() {
            text += &format!("  and {} more\n", rest.len() - shown.len());
        }
        let weights: Vec<String> = all
            .iter()
            .filter_map(|category| Some(format!("{} × {}", name(&category.category), category.weight?)))
            .collect();
        let by_capability = capabilities.iter().map(|(capability, weight)| format!("{} × {weight}", name(capability)));
        let by_capability: Vec<String> = by_capability.collect();
        let kinds = [("weights", weights), ("weights by capability", by_capability)];
        for (title, weights) in kinds.iter().filter(|(_, weights)| !weights.is_empty()) {
            text += &self.hanging(&format!("  {title}  "), &first_of(weights, LINES_MAX));
        }
        let is_weighted = kinds.iter().any(|(_, weights)| !weights.is_empty());
        // The column is there only where weights change a number.
        if is_weighted && gate_table::has_plain_column(self.report) {
            text += "  plain: the estimate without weights\n";
        }
        let title = if rest.is_empty() { "categories" } else { "categories without a gate, pass rates" };
        if text.is_empty() { text } else { format!("{}\n{text}", self.screen.style.bold(title)) }
    }

    fn composite(&self, composite: &CompositeResult) -> String {
        let figure = &composite.figure;
        let value = format!("{}  {}", estimate(figure, Unit::Plain), interval(figure, Scale::Number));
        let own = shorten(&name(&composite.name), self.screen.width / 2);
        let start = format!("{}  ", self.screen.style.bold(&own));
        let mut text = self.hanging_painted(&start, own.width() + 2, value.trim_end(), str::to_owned);
        let shown = &composite.terms[..composite.terms.len().min(LINES_MAX)];
        let terms = column(&shown.iter().map(|term| &*term.text).collect::<Vec<_>>(), self.screen.width / 2);
        for (written, term) in terms.iter().zip(shown) {
            let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
            let parts: Vec<String> = term.metrics.iter().map(|(metric, x)| format!("{metric} {}", value(*x))).collect();
            let start = format!("  {written}  {}  ", right(&value(term.value), "0.000".len()));
            text += &self.dim_after(&start, &first_of(&parts, NAMES_MAX));
        }
        if composite.terms.len() > shown.len() {
            text += &format!("  and {} more\n", composite.terms.len() - shown.len());
        }
        text
    }

    /// Details after a start; nothing but the start if there are none.
    fn dim_after(&self, start: &str, details: &str) -> String {
        if details.is_empty() {
            return format!("{}\n", start.trim_end());
        }
        self.hanging_painted(start, start.width(), details, |line| self.screen.style.dim(line))
    }

    fn baseline(&self, found: &BaselineResult) -> String {
        let about = format!("against {}", baseline(found));
        let mut text = self.hanging_painted("", 0, &about, |line| self.screen.style.bold(line));
        let shown = &found.differences[..found.differences.len().min(LINES_MAX)];
        let metrics: Vec<&str> = shown.iter().map(|difference| &*difference.metric).collect();
        let metrics = column(&metrics, self.screen.width / 3);
        let changed: Vec<(String, String, String)> = shown.iter().map(change).collect();
        let width = widest(metrics.iter().map(String::as_str)).max("newly passing".len());
        let widths = [
            widest(changed.iter().map(|(difference, ..)| &**difference)),
            widest(changed.iter().map(|(_, interval, _)| &**interval)),
        ];
        for (metric, (difference, interval, values)) in metrics.iter().zip(&changed) {
            let numbers = format!("{}  {}", right(difference, widths[0]), left(interval, widths[1]));
            text += &self.dim_after(&format!("  {}  {numbers}  ", left(metric, width)), values);
        }
        if found.differences.len() > shown.len() {
            text += &format!("  and {}\n", pluralize(found.differences.len() - shown.len(), "more metric"));
        }
        for (title, ids) in changes(found).iter().filter(|(_, ids)| !ids.is_empty()) {
            text += &self.hanging(&format!("  {}  ", left(title, width)), &names(ids, NAMES_MAX));
        }
        text
    }

    fn caveats(&self) -> String {
        let of_run =
            self.report.caveats.iter().map(|caveat| (caveat_sentence(caveat), next_step(caveat, self.screen.flags)));
        let of_gates = self.report.gate_caveats().into_iter().map(|(caveat, gates)| {
            let gates: Vec<String> = gates.iter().map(|gate| name(gate)).collect();
            (format!("{}: {}", join_names(&gates), caveat_sentence(caveat)), caveat_next_step(caveat))
        });
        let all: Vec<(String, Option<String>)> = of_run.chain(of_gates).collect();
        if all.is_empty() {
            return String::new();
        }
        let mut text = format!("{}\n", self.screen.style.bold("worth knowing"));
        for (what, next) in all.iter().take(CAVEATS_MAX) {
            let next = next.as_ref().map(|next| abridge(next, TEXT_MAX));
            text += &known_thing(&abridge(what, TEXT_MAX), next.as_deref(), self.screen);
        }
        if all.len() > CAVEATS_MAX {
            text += &format!("  and {} more{}\n", all.len() - CAVEATS_MAX, self.screen.where_all());
        }
        text
    }

    fn coverage(&self) -> String {
        let found = &self.report.coverage;
        let mut parts = coverage(found);
        parts[0] = format!("{}: {}", scenarios(found), parts[0]);
        let mut text = self.parts(&parts, str::to_owned);
        if !found.missing.is_empty() {
            text += &self.hanging("  ", &format!("{}: {}", missing_from(found), names(&found.missing, NAMES_MAX)));
        }
        if !found.unexpected.is_empty() {
            let unexpected = names(&found.unexpected, NAMES_MAX);
            text += &self.hanging("  ", &format!("not in the suite: {unexpected}"));
        }
        text
    }

    fn provenance(&self) -> String {
        self.parts(&provenance(self.report), |line| self.screen.style.dim(line))
    }

    /// Parts in a row, and as many rows as they need; a part is not cut.
    fn parts(&self, parts: &[String], paint: impl Fn(&str) -> String) -> String {
        let mut lines = vec![String::new()];
        for part in parts {
            let part = shorten(&clean(&abridge(part, TEXT_MAX)), self.screen.width);
            let line = lines.last_mut().expect("there is always a line");
            if line.is_empty() {
                *line = part;
            } else if line.width() + 3 + part.width() <= self.screen.width {
                *line += &format!(" · {part}");
            } else {
                lines.push(part);
            }
        }
        lines.iter().map(|line| paint(line) + "\n").collect()
    }
}

/// The outcome of a required scenario.
fn check_text(check: &ScenarioCheck) -> String {
    let mut text = outcome_word(check.outcome).to_owned();
    if check.passed.1 > 1 {
        text += &format!(", {} of {} attempts passed", check.passed.0, check.passed.1);
    }
    if let Some(reason) = &check.reason {
        let reason = error_line(reason).map_or_else(|| shortcoming_sentence(reason), str::to_owned);
        text += &format!(": {reason}");
    }
    text
}

/// A difference, its interval, and the two values.
fn change(difference: &MetricDifference) -> (String, String, String) {
    let scale = Scale::of(difference.unit, difference.baseline);
    let now = difference.candidate.map_or_else(|| "undefined".to_owned(), |now| scale.text(now));
    let values = format!("from {} to {now}", scale.text(difference.baseline));
    match &difference.difference.value {
        Ok(change) => {
            let scale = scale.of_differences();
            (scale.signed(*change), interval(&difference.difference, scale), values)
        }
        Err(why) => ("–".to_owned(), String::new(), format!("{values}; undefined: {}", undefined_sentence(why))),
    }
}
