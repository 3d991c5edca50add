//! What is worth knowing, each thing once, with the runs and figures it is about.

use super::cells::title;
use crate::screen::Screen;
use crate::text::{clean, join_names, wrap};
use crate::words::{caveat_next_step, caveat_sentence};
use calipers_core::{Caveat, Report};

/// A caveat, the runs and the figures that have it.
struct Known<'a> {
    caveat: &'a Caveat,
    runs: Vec<String>,
    names: Vec<String>,
}

/// Of one kind of caveat, so many are shown before the rest is counted: fifty small groups have fifty of them.
const SHOWN_MAX: usize = 4;

pub(super) fn caveats(report: &Report, screen: Screen) -> String {
    let known = collect(report);
    if known.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", screen.style.bold("worth knowing"));
    for (place, entry) in known.iter().enumerate() {
        let alike = |other: &&Known<'_>| other.caveat.id() == entry.caveat.id();
        let before = known[..place].iter().filter(alike).count();
        let all = known.iter().filter(alike).count();
        if all <= SHOWN_MAX || before < SHOWN_MAX - 1 {
            text += &entry.text(report.runs.len(), screen);
        } else if before == SHOWN_MAX - 1 {
            text += &format!("  and {} more like this one, for other figures (`--json` has all)\n", all - before);
        }
    }
    text
}

fn collect(report: &Report) -> Vec<Known<'_>> {
    let mut known: Vec<Known<'_>> = Vec::new();
    let mut add = |caveat, run: Option<usize>, name: Option<&String>| {
        let place = known.iter().position(|entry| entry.caveat == caveat).unwrap_or_else(|| {
            known.push(Known { caveat, runs: Vec::new(), names: Vec::new() });
            known.len() - 1
        });
        let entry = &mut known[place];
        let run = run.map(|run| (run + 1).to_string());
        entry.runs.extend(run.filter(|run| entry.runs.last() != Some(run)));
        entry.names.extend(name.filter(|name| !entry.names.contains(name)).cloned());
    };
    report.caveats.iter().for_each(|caveat| add(caveat, None, None));
    for (run, report) in report.runs.iter().enumerate() {
        report.results.caveats.iter().for_each(|caveat| add(caveat, Some(run), None));
        let is_only = report.results.scores.len() == 1;
        for score in &report.results.scores {
            for (name, metric) in &score.metrics {
                // Of several scores, the name of a metric alone does not tell which is meant.
                let name = if is_only { name.clone() } else { format!("{name} of {}", title(score)) };
                metric.figure.caveats.iter().for_each(|caveat| add(caveat, Some(run), Some(&name)));
            }
        }
    }
    known
}

impl Known<'_> {
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
