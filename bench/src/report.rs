//! What was measured, for the terminal and for bench/reports/statistics.md.

use crate::cases::Data;
use crate::clock::Times;
use crate::data::Sizes;
use crate::peer::Peers;
use std::fmt::Write;
use std::process::Command;

/// All that was measured, with the machine it was measured on.
pub(crate) struct Report {
    sizes: Sizes,
    machine: Vec<(&'static str, String)>,
    pub(crate) buildings: Vec<Building>,
    pub(crate) comparisons: Vec<Comparison>,
}

/// What it cost to make the objects that cases run on.
pub(crate) struct Building {
    pub(crate) data: Data,
    pub(crate) ours: f64,
    pub(crate) inspect: f64,
    pub(crate) arrays: f64,
}

/// One case on two sides, or on ours alone.
pub(crate) struct Comparison {
    pub(crate) name: String,
    pub(crate) peer: Option<Times>,
    pub(crate) ours: Times,
    pub(crate) required: Option<f64>,
    pub(crate) difference: Option<String>,
}

impl Comparison {
    pub(crate) fn alone(name: &str, ours: Times) -> Self {
        Self { name: name.to_owned(), peer: None, ours, required: None, difference: None }
    }

    /// How many times faster we are, by the fastest runs.
    fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|peer| peer.fastest() / self.ours.fastest())
    }

    fn cells(&self) -> [String; 7] {
        let peer = |time: fn(&Times) -> f64| self.peer.as_ref().map(time);
        let medians = peer(Times::median).map(|theirs| theirs / self.ours.median());
        let verdict = match (&self.difference, self.required, self.ratio()) {
            (Some(_), ..) => "differs",
            (None, Some(required), Some(ratio)) if ratio < required => "behind",
            (None, None, Some(ratio)) if ratio < 1.0 => "slower",
            _ => "ok",
        };
        [
            self.name.clone(),
            peer(Times::fastest).map_or_else(String::new, seconds),
            seconds(self.ours.fastest()),
            self.ratio().map_or_else(String::new, times),
            medians.map_or_else(String::new, times),
            self.required.map_or_else(String::new, |required| format!("{required}")),
            verdict.to_owned(),
        ]
    }
}

const HEADS: [&str; 7] = ["case/peer", "peer", "calipers", "ratio", "of medians", "required", ""];

impl Report {
    pub(crate) fn new(sizes: Sizes, peers: Option<&Peers>) -> Self {
        let mut machine = vec![
            ("processor", processor()),
            ("cores", std::thread::available_parallelism().map_or_else(|_| "unknown".into(), |n| n.to_string())),
            ("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
            ("rustc", rustc()),
        ];
        if let Some(peers) = peers {
            machine.extend(["python", "inspect_ai", "numpy"].map(|of| (of, peers.version(of).to_owned())));
        }
        Self { sizes, machine, buildings: Vec::new(), comparisons: Vec::new() }
    }

    /// True when every answer was the same on all sides.
    pub(crate) fn agrees(&self) -> bool {
        self.comparisons.iter().all(|comparison| comparison.difference.is_none())
    }

    fn rows(&self) -> Vec<[String; 7]> {
        let heads = HEADS.map(str::to_owned);
        std::iter::once(heads).chain(self.comparisons.iter().map(Comparison::cells)).collect()
    }

    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        for row in aligned(&self.rows()) {
            line(&mut text, row.join("  ").trim_end());
        }
        line(&mut text, "");
        self.notes().iter().for_each(|note| line(&mut text, note));
        text
    }

    pub(crate) fn markdown(&self, date: &str) -> String {
        let mut text = String::from(INTRODUCTION);
        line(&mut text, &format!("Measured on {date} by `cargo xtask bench`:\n"));
        self.machine.iter().for_each(|(what, which)| line(&mut text, &format!("- {what}: {which}")));
        line(&mut text, "\n## Ratios\n");
        line(&mut text, &self.sizes_in_words());
        let rows = aligned(&self.rows());
        for (index, row) in rows.iter().enumerate() {
            line(&mut text, &format!("| {} |", row.join(" | ")));
            if index == 0 {
                let rules = row.iter().enumerate().map(|(column, cell)| rule(column, cell.chars().count()));
                line(&mut text, &format!("|{}|", rules.collect::<Vec<_>>().join("|")));
            }
        }
        line(&mut text, "\n## Notes\n");
        self.notes().iter().for_each(|note| line(&mut text, &format!("- {note}")));
        text
    }

    fn sizes_in_words(&self) -> String {
        let Sizes { scores, clusters, groups, samples, epochs, dicts, keys } = self.sizes;
        format!(
            "`labels` and `floats`: {scores} scores, as C/I and as floats, in {clusters} clusters and {groups} groups \
             at random.\n`reduce` and `whole`: {samples} samples × {epochs} attempts. `dicts`: {dicts} samples × {keys} \
             keys. Bootstraps take 1000 resamples.\n"
        )
    }

    fn notes(&self) -> Vec<String> {
        let building = self.buildings.iter().map(|building| {
            format!(
                "building `{}`: Inspect's objects {}; all of numpy's arrays {}; our samples {}",
                building.data.name(),
                seconds(building.inspect),
                seconds(building.arrays),
                seconds(building.ours),
            )
        });
        let differing = self.comparisons.iter().filter_map(|comparison| {
            Some(format!("`{}` gives another answer: {}", comparison.name, comparison.difference.as_ref()?))
        });
        let mut notes: Vec<String> = building.chain(differing).collect();
        notes.extend(self.listed("below the required ratio", |c| {
            c.required.zip(c.ratio()).is_some_and(|(required, ratio)| ratio < required)
        }));
        notes.extend(self.listed("we are slower than", |c| c.ratio().is_some_and(|ratio| ratio < 1.0)));
        notes
    }

    fn listed(&self, what: &str, wanted: impl Fn(&Comparison) -> bool) -> Option<String> {
        let name = |c: &Comparison| format!("`{}` ({})", c.name, c.ratio().map_or_else(String::new, times));
        let names: Vec<String> = self.comparisons.iter().filter(|c| wanted(c)).map(name).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    }
}

const INTRODUCTION: &str = "\
# Benchmarks of statistics

Our speed beside that of [Inspect AI](https://inspect.aisi.org.uk) and of [numpy](https://numpy.org), on the same data,
after checking that the answers agree (to 1e-9; bootstraps to 10 %). This file is
written by `cargo xtask bench -- --write bench/reports/statistics.md --date DATE` and not by hand.

*How to read it.* Times are CPU times of one thread, the least of several runs; `ratio` is the peer's time over ours,
`of medians` the same from the medians of the runs. Each side works on its own ready-made objects: Inspect on lists of
`SampleScore`, hidden from Python's garbage collector; numpy on bare arrays of the numbers that the case needs, labels
already converted and attempts already in a rectangle; we on `Samples`, which hold identities, labels and metadata.
Making the objects is reported under *Notes*. `required` is the ratio to Inspect that we hold ourselves to; `behind`
says that we missed it, `slower` that the peer is faster.

*Where numpy is faster*, it does less: it adds doubles as they come, while our sums are exact and do not depend on
order; it looks at numbers only, while we look for missing scores, unknown labels and infinities, keep clusters by name
so that shards can be joined, and return intervals and caveats with every figure. `dicts` keeps the reduced score of
every sample too, as Inspect does.

";

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a string can be written to");
}

/// A column of rules for Markdown: text to the left, numbers to the right.
fn rule(column: usize, width: usize) -> String {
    if column == 0 { format!(":{}", "-".repeat(width + 1)) } else { format!("{}:", "-".repeat(width + 1)) }
}

fn aligned(rows: &[[String; 7]]) -> Vec<Vec<String>> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
    let cell = |(column, text): (usize, &String)| {
        let width = widths[column];
        if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

/// Three significant digits with a unit.
fn seconds(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    format!("{} {unit}", significant(scaled))
}

fn times(ratio: f64) -> String {
    format!("{}×", significant(ratio))
}

fn significant(x: f64) -> String {
    let decimals = if x >= 100.0 {
        0
    } else if x >= 10.0 {
        1
    } else {
        2
    };
    format!("{x:.decimals$}")
}

/// The processor's name, where the system tells it in a file.
fn processor() -> String {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| "unknown".into(), |(_, name)| name.trim().to_owned())
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let text = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    text.and_then(|text| Some(text.strip_prefix("rustc ")?.trim().to_owned())).unwrap_or_else(|| "unknown".into())
}
