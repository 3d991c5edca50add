//! `calipers baseline`: what later runs are compared with.

use crate::date;
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::flags::JudgingFlags;
use crate::judging::{Judging, read_dated};
use crate::script_child::limit_memory;
use crate::terminal::{for_log, note, print_json, print_text, screen};
use calipers::gate::{self, GateKind, GateReport, RaiseOptions};
use calipers::io::{LoadedPolicy, OutputFile, baseline_json, baseline_text as file_text, edit_policy};
use calipers::policy::{Level, OnMissingValues, Span};
use calipers::render::{RaiseReport, baseline_text, caveat_sentence, gate_reason, raise_json, raise_text};
use calipers::text::pluralize;
use calipers::{Registry, Verdict};
use clap::{Args, Subcommand};

/// `calipers baseline`
#[derive(Debug, Subcommand)]
pub(crate) enum Baseline {
    /// Record the metrics of a run and the outcome of each scenario
    Record(Box<Record>),
    /// Print a baseline: its age, metrics and scenarios
    Show(Show),
    /// Propose higher thresholds for a policy where the results support them
    Raise(Box<Raise>),
}

/// `calipers baseline record`
#[derive(Args, Debug)]
pub(crate) struct Record {
    #[command(flatten)]
    judging: JudgingFlags,

    /// The file to write; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: String,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,

    /// The date of the baseline, instead of today (UTC)
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<String>,
}

/// `calipers baseline show`
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The baseline file
    file: String,

    /// Print JSON (`calipers.baseline/1`, with a summary)
    #[arg(long)]
    json: bool,
}

/// `calipers baseline raise`
#[derive(Args, Debug)]
pub(crate) struct Raise {
    #[command(flatten)]
    judging: JudgingFlags,

    /// Raise no threshold whose metric is worse than in this baseline
    #[arg(short, long, value_name = "FILE")]
    baseline: Option<String>,

    /// Write the new thresholds to the policy file instead of only printing them
    #[arg(long)]
    write: bool,

    /// Lower thresholds that the results do not support to the level they do support
    #[arg(long)]
    allow_lower: bool,

    /// How far a threshold stays below what the results show: 0.01 is one point of a rate, or 1 % of any other metric
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    headroom: f64,

    /// Print JSON (`calipers.raise/1`)
    #[arg(long)]
    json: bool,
}

/// The level of the intervals in a baseline, and of what a raised threshold is shown by.
const LEVEL: f64 = 0.95;

impl Baseline {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        match self {
            Self::Record(record) => record.judging.scripts(),
            Self::Raise(raise) => raise.judging.scripts(),
            Self::Show(_) => false,
        }
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        match self {
            Self::Record(record) => record.run()?,
            Self::Show(show) => show.run()?,
            Self::Raise(raise) => raise.run()?,
        }
        Ok(Outcome::Done)
    }
}

impl Record {
    fn run(&self) -> Result<(), Failure> {
        let day = match &self.date {
            Some(day) => date::parse(day)?,
            None => date::today(),
        };
        // A wrong name fails before any work is done.
        let output = match self.output.as_str() {
            "-" => OutputFile::stdout(),
            file => OutputFile::create(file, self.force)?,
        };
        let (mut baseline, report) = self.record()?;
        baseline.date = Some(day);
        if baseline.scenarios.is_empty() || baseline.metrics.is_empty() {
            return Err(nothing(&self.judging, baseline.scenarios.len()));
        }
        if let Some(why) = shortcoming(&report) {
            note(&why);
        }
        eprintln!(
            "recorded {} and {}",
            pluralize(baseline.metrics.len(), "metric"),
            pluralize(baseline.scenarios.len(), "scenario")
        );
        let text = file_text(&baseline);
        let is_log = output.name() == "-";
        Ok(output.finish_with(&if is_log { for_log(&text) } else { text.into() })?)
    }

    fn record(&self) -> Result<(gate::Baseline, GateReport), Failure> {
        let judging = Judging::resolve(&self.judging, LEVEL)?;
        judging.with_options(|policy, options| {
            let run = judging.load(policy, options)?;
            let is_decided = judging.selection.missing.is_some()
                || matches!(policy.policy.missing, OnMissingValues::Failed | OnMissingValues::Excluded);
            if let Some(caveat) = run.incomplete.iter().find_map(|one| one.caveat(None)).filter(|_| !is_decided) {
                let hint = "finish the run first, or record it with `--missing failed` or `--missing excluded`";
                let what = format!("the run is incomplete: {}", caveat_sentence(&caveat));
                return Err(Failure::new(what).at(format!("in {}", self.judging.files.join(", "))).hint(hint));
            }
            let _limit = limit_memory();
            let baseline = gate::record(&run, &policy.policy, &judging.selection, options)?;
            Ok((baseline, gate::gate(&run, &policy.policy, &judging.selection, options)?))
        })
    }
}

fn nothing(judging: &JudgingFlags, scenarios: usize) -> Failure {
    let what = match scenarios {
        0 => "the run is empty, so there is nothing to work with".to_owned(),
        n => format!("nothing of {} can be measured, so there is nothing to work with", pluralize(n, "scenario")),
    };
    let hint = "check that the evaluation ran, and what `--scorer` chooses";
    Failure::new(what).at(format!("in {}", judging.files.join(", "))).hint(hint)
}

/// Why a run is a poor one to compare with. A baseline that the policy asks for does not count: this is about to be one.
fn shortcoming(report: &GateReport) -> Option<String> {
    let blocking = report.gates.iter().filter(|gate| gate.level == Level::Blocking);
    let mut blocking: Vec<_> = blocking.filter(|gate| !matches!(gate.kind, GateKind::Baseline(_))).collect();
    blocking.retain(|gate| gate.verdict != Verdict::Pass);
    let first = blocking.iter().find(|gate| gate.verdict == Verdict::Fail).or(blocking.first())?;
    let what = match first.verdict {
        Verdict::Fail => "fails the policy",
        _ => "is undecided under the policy",
    };
    Some(format!("this run {what} ({}: {}); it is recorded as it is", first.metric, gate_reason(&first.reason)))
}

impl Show {
    fn run(&self) -> Result<(), Failure> {
        let (baseline, age) = read_dated(&self.file)?;
        if self.json {
            return print_json(&baseline_json(&baseline, age));
        }
        let registry = Registry::builtin();
        // An expression begins with the name of its metric.
        let name = |metric: &str| metric.split('(').next().unwrap_or_default().to_owned();
        let unit = |metric: &str| registry.about(&name(metric)).map(|about| about.unit).unwrap_or_default();
        print_text(&baseline_text(&baseline, age, &unit, screen()))
    }
}

impl Raise {
    fn run(&self) -> Result<(), Failure> {
        let judging = Judging { baseline: self.baseline.as_deref(), ..Judging::resolve(&self.judging, LEVEL)? };
        let raising = RaiseOptions { headroom: self.headroom, allow_lower: self.allow_lower };
        let (raises, scenarios) = judging.with_options(|policy, options| {
            let run = judging.load(policy, options)?;
            let _limit = limit_memory();
            let raises = gate::raise(&run, &policy.policy, &raising, &judging.selection, options)?;
            Ok((raises, run.samples.len()))
        })?;
        if scenarios == 0 {
            return Err(nothing(&self.judging, 0));
        }
        let policy = self.judging.policy.load()?;
        if self.write {
            write(policy, &raises)?;
        }
        if self.json {
            let path = self.judging.policy.path();
            let raised = RaiseReport { policy: path, options: raising, is_written: self.write, raises: &raises };
            print_json(&raise_json(&raised))?;
        } else {
            print_text(&raise_text(&raises, screen()))?;
        }
        let changed = raises.iter().any(|raise| raise.change.is_ok());
        if changed && !self.write {
            note("nothing is written; add `--write` to change the policy");
        }
        if changed && policy.policy.confidence.is_some() {
            // Bounds of two runs of the same agent differ as estimates do.
            note(
                "the policy asks for confidence, and the bound of the next run may be lower; a larger `--headroom` keeps \
                 an unchanged agent from becoming undecided",
            );
        }
        Ok(())
    }
}

fn write(policy: &LoadedPolicy, raises: &[gate::Raise]) -> Result<(), Failure> {
    let edit = |raise: &gate::Raise| Some((raise.span.clone(), raise.change.as_ref().ok()?.written.clone()));
    let edits: Vec<(Span, String)> = raises.iter().filter_map(edit).collect();
    let files = edit_policy(policy, &edits)?;
    // All of them can be written before any is.
    let outputs = files.into_iter().map(|(path, text)| Ok((OutputFile::create(path, true)?, text)));
    for (output, text) in outputs.collect::<Result<Vec<_>, Failure>>()? {
        output.finish_with(&text)?;
    }
    Ok(())
}
