//! `calipers merge`: the whole that the shares of a run make.

use super::fold::{MeasureFlags, script_digests};
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::flags::{FormatFlag, ScriptFlags};
use crate::judging::Judging;
use crate::policy_file::PolicyFile;
use crate::reading::print_notes;
use crate::script_child::limit_memory;
use crate::terminal::{ink, note, print_json, print_text, screen, with_plot};
use calipers::compare::{CompareOptions, compare};
use calipers::io::{OutputFile, ReadError, Source};
use calipers::parts::{Part, PartKind, Parts};
use calipers::plan::Report;
use calipers::render::{
    compare_json, compare_plot, compare_text, gate_json, gate_plot, gate_text, results_json, results_plot, results_text,
};
use calipers::{LoadedRun, Selection, Verdict};
use clap::{Args, Parser};
use std::path::Path;

/// `calipers merge`
///
/// Parts that were folded for `score` give the figures; parts that were folded for another command give one file, which that command
/// reads as it reads results. Exit codes with `--gate`: 0 pass, 1 fail, 2 invalid usage, policy or input, 3 undecided.
#[derive(Args, Debug)]
pub(crate) struct Merge {
    /// The files of all parts, or patterns or folders with `.state` files
    #[arg(required = true)]
    files: Vec<String>,

    /// Write the whole run to this file, for `gate`, `compare`, `report` and the others; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["gate", "against"])]
    output: Option<String>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Judge the whole run by this policy
    #[arg(long, value_name = "POLICY", conflicts_with = "against")]
    gate: Option<PolicyFile>,

    /// Compare the whole run with the one that these parts make
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<String>,

    #[command(flatten)]
    scripts: ScriptFlags,

    /// Also draw the figures
    #[arg(long)]
    plot: bool,

    /// Print JSON, as the command does that the parts were folded for
    #[arg(long)]
    json: bool,

    /// How much memory the command may use, such as `4GB`, or `none` for no limit; without this, 80 % of the machine's
    #[arg(long, value_name = "SIZE", value_parser = crate::memory_limit::MemorySize::parse)]
    memory: Option<crate::memory_limit::MemorySize>,
}

/// The options that a part keeps, read again.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct KeptFlags {
    #[command(flatten)]
    choices: MeasureFlags,
    #[command(flatten)]
    format: FormatFlag,
}

impl Merge {
    /// What the parts ask is known once they are read, so scripts may run.
    pub(crate) fn scripts(&self) -> bool {
        let _ = self.memory;
        true
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let out = match self.output.as_deref() {
            None => None,
            Some("-") => Some(OutputFile::stdout()),
            Some(path) => Some(OutputFile::create(path, self.force)?),
        };
        let parts = read_parts(&self.files)?;
        let count = parts.header().place.of;
        match (parts.header().kind == PartKind::States, out) {
            (true, Some(_)) => {
                let what = "these parts hold states of metrics, which make figures and no run";
                Err(Failure::new(what)
                    .hint("leave out `--output`, or fold with `--for gate`, `--for compare` or `--for any`"))
            }
            (true, None) => self.score(parts),
            (false, Some(out)) => {
                let whole = parts.into_whole()?;
                out.finish_with_bytes(&whole.to_bytes())?;
                if let Some(path) = self.output.as_deref().filter(|path| *path != "-") {
                    note(&format!(
                        "{path} holds the whole run, from {}",
                        calipers::text::pluralize(count as usize, "part")
                    ));
                }
                Ok(Outcome::Done)
            }
            (false, None) => match &self.gate {
                Some(policy) => self.judge(parts, policy),
                None if !self.against.is_empty() => self.compare(parts),
                None => {
                    let what = "these parts hold attempts, of which any command can make something";
                    let hint = "judge them with `--gate POLICY`, compare them with `--against PARTS`, or write the whole run with `-o run.state`";
                    Err(Failure::new(what).hint(hint))
                }
            },
        }
    }

    fn score(&self, parts: Parts) -> Result<Outcome, Failure> {
        if self.gate.is_some() || !self.against.is_empty() {
            let what = "these parts hold states of metrics, and judging or comparing needs the attempts";
            return Err(Failure::new(what).hint("fold the files again with `--for gate` or `--for compare`"));
        }
        let kept = KeptFlags::try_parse_from(&parts.header().words).map_err(|_| {
            Failure::new("the parts keep options that this version does not know")
                .hint("fold and merge with the same version")
        })?;
        let scripts = script_digests(&self.scripts)?;
        if let Some((name, _)) = scripts.iter().find(|pair| !parts.header().plan.contains(pair)) {
            let what = format!("the {name} are not those that the parts were folded with");
            return Err(Failure::new(what).hint("name the same files with `--load`, in the same order"));
        }
        let (selection, options) = kept.choices.resolve(&kept.format, &self.scripts)?;
        let _limit = limit_memory();
        let report = Report { runs: vec![parts.score(&selection, &options)?], ..Report::default() };
        if self.json {
            print_json(&results_json(&report))?;
        } else {
            let plot = if self.plot { results_plot(&report, screen(), ink()) } else { String::new() };
            print_text(&with_plot(results_text(&report, screen()), &plot))?;
        }
        Ok(Outcome::Done)
    }

    fn judge(&self, parts: Parts, policy: &PolicyFile) -> Result<Outcome, Failure> {
        let source = whole_source(parts, "merged parts")?;
        let judging = Judging::of_source(policy, source, &self.scripts)?;
        let report = judging.with_options(|policy, options| {
            let run = judging.load(policy, options)?;
            judging.judge(&run, policy, options)
        })?;
        if self.json {
            print_json(&gate_json(&report))?;
        } else {
            let plot = if self.plot { gate_plot(&report, screen(), ink()) } else { String::new() };
            print_text(&with_plot(gate_text(&report, screen()), &plot))?;
        }
        Ok(Outcome::Judged(report.verdict))
    }

    fn compare(&self, parts: Parts) -> Result<Outcome, Failure> {
        let (selection, options) = (Selection::default(), CompareOptions::default());
        let load = |name: &str, parts: Parts| -> Result<LoadedRun, Failure> {
            let selection = selection.with_sources([whole_source(parts, name)?]);
            Ok(LoadedRun::load(name, &selection, &options.needs(&selection))?)
        };
        let runs = [load("candidate", parts)?, load("baseline", read_parts(&self.against)?)?];
        runs.iter().for_each(print_notes);
        let report = compare(&runs, &selection, &options)?;
        if self.json {
            print_json(&compare_json(&report))?;
        } else {
            let plot = if self.plot { compare_plot(&report, screen(), ink()) } else { String::new() };
            print_text(&with_plot(compare_text(&report, screen()), &plot))?;
        }
        Ok(Outcome::Judged(match report.verdict {
            Verdict::Fail => Verdict::Pass,
            verdict => verdict,
        }))
    }
}

/// The parts that names lead to.
fn read_parts(names: &[String]) -> Result<Parts, Failure> {
    let mut parts = Vec::new();
    for name in names {
        let pattern = match Path::new(name).is_dir() {
            true => Path::new(name).join("*.state").display().to_string(),
            false => name.clone(),
        };
        for source in Source::resolve(&pattern)? {
            let part = Part::read(&source).map_err(|error: ReadError| Failure::from(error))?;
            parts.push((source.name, part));
        }
    }
    Ok(Parts::new(parts)?)
}

/// The whole run as something that can be read like a file.
fn whole_source(parts: Parts, name: &str) -> Result<Source, Failure> {
    Ok(Source::bytes(name, parts.into_whole()?.to_bytes()))
}
