//! What is worth knowing, each thing once, with the runs and figures it is about.

use super::cells::{figure_names, title};
use crate::screen::Screen;
use crate::text::{clean, join_names, wrap};
use crate::words::{caveat_next_step, caveat_sentence};
use calipers_core::{Caveat, Report};
use std::collections::{HashMap, HashSet};

/// A caveat, the runs and the figures that have it.
struct CaveatEntry<'a> {
    caveat: &'a Caveat,
    runs: Vec<String>,
    names: Vec<String>,
    /// The same names, to be found quickly.
    known_names: HashSet<String>,
}

/// Of one kind of caveat, so many are shown before the rest is counted: fifty small groups have fifty of them, and caveats must
/// not outweigh results.
const SHOWN_MAX: usize = 3;

pub(super) fn caveats(report: &Report, screen: Screen) -> String {
    let names: Vec<String> = (1..=report.runs.len()).map(|run| run.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    caveats_by_name(report, &names, report.runs.len(), screen)
}

/// The same, for runs that are called so. Several may have one name, and there are so many different ones.
pub(super) fn caveats_by_name(report: &Report, names: &[&str], distinct: usize, screen: Screen) -> String {
    let known = collect(report, names);
    if known.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", screen.style.bold("worth knowing"));
    let mut alike: HashMap<&str, usize> = HashMap::new();
    known.iter().for_each(|entry| *alike.entry(entry.caveat.id()).or_default() += 1);
    let mut shown: HashMap<&str, usize> = HashMap::new();
    for entry in &known {
        let all = alike[entry.caveat.id()];
        let before = *shown.entry(entry.caveat.id()).and_modify(|before| *before += 1).or_default();
        if all <= SHOWN_MAX || before < SHOWN_MAX - 1 {
            text += &entry.text(distinct, screen);
        } else if before == SHOWN_MAX - 1 {
            let more = all - before;
            text += &format!("  and {more} more like this one, for other figures{}\n", screen.where_all());
        }
    }
    text
}

/// One score of 1 may be a grade: it is not "1 of 1", and its interval says the rest.
fn is_single_score(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::PerfectScore { n: 1, .. })
}

fn collect<'r>(report: &'r Report, run_names: &[&str]) -> Vec<CaveatEntry<'r>> {
    let mut known: Vec<CaveatEntry<'r>> = Vec::new();
    // Caveats hold numbers that have no hash; what they print tells them apart.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |caveat, run: Option<usize>, name: Option<&String>| {
        let place = *places.entry(format!("{caveat:?}")).or_insert(known.len());
        if place == known.len() {
            known.push(CaveatEntry { caveat, runs: Vec::new(), names: Vec::new(), known_names: HashSet::new() });
        }
        let entry = &mut known[place];
        let run = run.map(|run| run_names[run].to_owned());
        entry.runs.extend(run.filter(|run| entry.runs.last() != Some(run)));
        entry.names.extend(name.filter(|name| entry.known_names.insert((*name).clone())).cloned());
    };
    report.caveats.iter().for_each(|caveat| add(caveat, None, None));
    for (run, report) in report.runs.iter().enumerate() {
        report.results.caveats.iter().for_each(|caveat| add(caveat, Some(run), None));
        let is_only = report.results.scores.len() == 1;
        for score in &report.results.scores {
            for (name, metric) in figure_names(score).into_iter().zip(score.metrics.values()) {
                // Of several scores, the name of a metric alone does not tell which is meant.
                let name = if is_only { name } else { format!("{name} of {}", title(score)) };
                let said = metric.figure.caveats.iter().filter(|caveat| !is_single_score(caveat));
                said.for_each(|caveat| add(caveat, Some(run), Some(&name)));
            }
        }
    }
    known
}

impl CaveatEntry<'_> {
    fn text(&self, runs: usize, screen: Screen) -> String {
        let mut about = Vec::new();
        // What holds for every run needs no list of them.
        if !self.runs.is_empty() && self.runs.len() < runs {
            let noun = if self.runs.len() == 1 { "run" } else { "runs" };
            about.push(format!("{noun} {}", join_names(&self.runs)));
        }
        if !self.names.is_empty() {
            about.push(join_names(&self.names));
        }
        let about = if about.is_empty() { String::new() } else { format!("{}: ", about.join(" · ")) };
        let next = caveat_next_step(self.caveat);
        known_thing(&format!("{about}{}", caveat_sentence(self.caveat)), next.as_deref(), screen)
    }
}

/// What is worth knowing, and below it what to do about it.
pub(crate) fn known_thing(what: &str, next: Option<&str>, screen: Screen) -> String {
    let mut text = String::new();
    for (line, words) in wrap(&clean(what), screen.width.saturating_sub(4)).iter().enumerate() {
        text += &format!("{}{words}\n", if line == 0 { "  " } else { "    " });
    }
    let Some(next) = next else { return text };
    for (line, words) in wrap(&clean(next), screen.width.saturating_sub(6)).iter().enumerate() {
        let start = if line == 0 { "→ " } else { "  " };
        text += &format!("    {}\n", screen.style.dim(&format!("{start}{words}")));
    }
    text
}
