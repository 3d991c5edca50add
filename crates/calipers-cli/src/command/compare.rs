//! `calipers compare`: what changed between runs, and is it real?

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{FormatFlag, LevelFlag, ScriptFlags, SelectionFlags};
use crate::report_files::{NamedForm, ReportFiles, takes_stdout};
use crate::script_child::{self, limit_memory};
use crate::selection;
use crate::terminal::{allow_closed_pipe, ink, print_text, screen, with_plot};
use calipers::compare::{CompareOptions, CompareReport, compare};
use calipers::io::{OutputFile, printable};
use calipers::page::page;
use calipers::render::{Screen, compare_json, compare_markdown, compare_plot, compare_text, page_html};
use calipers::stats::components::Estimand;
use calipers::stats::multiplicity::Correction;
use calipers::{LoadedFile, LoadedRun, Needs, RunError, Selection, Verdict, load};
use clap::{Args, ValueEnum};

/// `calipers compare`
///
/// Exit codes: 0 compared, 2 a mistake in the usage or the input, 3 nothing could be compared; with `--fail-on regression`
/// also 1 if a metric has surely regressed.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// The run to look at: a file, a folder or a pattern in quotes; `-` is standard input
    candidate: String,

    /// The runs to compare it with, each a file, a folder or a pattern in quotes
    #[arg(required = true)]
    baseline: Vec<String>,

    /// A metric in place of the recorded ones, such as `accuracy` or `pass_rate(where={"category": "adversarial"})`
    /// (repeatable; see docs/expressions.md)
    #[arg(short, long, value_name = "EXPR")]
    metric: Vec<String>,

    /// How much of a change does not matter: 0.02 is two points of a rate, and 2 % of latency, tokens and cost
    #[arg(long, value_name = "SHARE")]
    margin: Option<f64>,

    /// Samples with the same value of this metadata belong together
    #[arg(long, value_name = "KEY")]
    cluster: Option<String>,

    /// What the error bars are about
    #[arg(long, value_enum, default_value = "population")]
    estimand: EstimandName,

    /// How p-values are adjusted for the number of tests
    #[arg(long, value_enum, default_value = "holm")]
    correction: CorrectionName,

    /// What makes the exit code 1
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_on: Option<FailOn>,

    /// The reducer of attempts, in place of the recorded one, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    reducer: Option<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    level: LevelFlag,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// Write the report to files too: json=FILE, markdown=FILE, text=FILE, html=FILE (repeatable, or separated by commas).
    /// Files from an earlier run are removed first; `-` replaces what is printed
    #[arg(short, long, value_name = "FORM=FILE", value_delimiter = ',')]
    output: Vec<String>,

    /// Draw the changes too
    #[arg(long)]
    plot: bool,

    /// Print JSON (`calipers.compare/1`)
    #[arg(long)]
    json: bool,
}

/// What error bars are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EstimandName {
    /// Questions like these: which ones were drawn counts as luck
    Population,
    /// This suite rerun: only the attempts count as luck
    Suite,
}

/// How p-values are adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CorrectionName {
    /// Holm: bounds the chance of any false alarm
    Holm,
    /// Benjamini-Hochberg: bounds the share of false alarms among all
    Bh,
}

/// What ends in exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A metric that has surely regressed
    Regression,
}

impl Compare {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        script_child::is_needed(&self.metric, &self.scripts.load)
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        // A wrong name fails before any work is done.
        let outputs = self.open_outputs()?;
        let (selection, options) = self.resolve()?;
        let has_page = outputs.iter().any(|(form, _)| *form == CompareForm::Html);
        let (runs, files) = self.load(&selection, &options, has_page)?;
        let report = {
            let _limit = limit_memory();
            compare(&runs, &selection, &options)?
        };
        drop(runs);
        let is_judged = self.fail_on == Some(FailOn::Regression);
        let is_printed = !takes_stdout(&outputs);
        for (form, output) in outputs {
            output.finish_with(&form.render(&report, is_judged, &selection, &files)?)?;
        }
        if is_printed {
            let plot = if self.plot { compare_plot(&report, screen(), ink()) } else { String::new() };
            allow_closed_pipe(print_text(&with_plot(compare_text(&report, is_judged, screen()), &plot)))?;
        }
        Ok(Outcome::Judged(match report.verdict {
            Verdict::Fail if !is_judged => Verdict::Pass,
            verdict => verdict,
        }))
    }

    fn resolve(&self) -> Result<(Selection, CompareOptions), Failure> {
        let selection = selection::resolve(&self.selection, &self.format, self.level.level, &self.scripts)?;
        let expressions = Expressions::load(&self.scripts, selection.labels.clone())?;
        let options = CompareOptions {
            metrics: expressions.metrics(&self.metric)?,
            estimand: match self.estimand {
                EstimandName::Population => Estimand::Population,
                EstimandName::Suite => Estimand::FixedSuite,
            },
            cluster: self.cluster.clone(),
            margin: self.margin,
            correction: match self.correction {
                CorrectionName::Holm => Correction::Holm,
                CorrectionName::Bh => Correction::BenjaminiHochberg,
            },
            ..CompareOptions::default()
        };
        let reducers = selection::pairing_reducer(&expressions, self.reducer.as_deref())?;
        Ok((Selection { reducers, ..selection }, options))
    }

    /// The candidate and the runs to compare it with; for a page, also the files of the candidate with all they hold.
    fn load(
        &self,
        selection: &Selection,
        options: &CompareOptions,
        has_page: bool,
    ) -> Result<(Vec<LoadedRun>, Vec<LoadedFile>), Failure> {
        let names: Vec<&str> = std::iter::once(&self.candidate).chain(&self.baseline).map(String::as_str).collect();
        if names.iter().filter(|name| **name == "-").count() > 1 {
            let what = "standard input is named twice, and can be read once";
            return Err(Failure::new(what).hint("write one of the runs to a file"));
        }
        let needs = options.needs(selection);
        let (mut runs, mut files) = (Vec::new(), Vec::new());
        if has_page {
            files = load_files(&self.candidate, selection)?;
            runs.push(LoadedRun::merge(&self.candidate, files.clone()));
        }
        for name in &names[runs.len()..] {
            runs.push(load_run(&[(*name).to_owned()], selection, &needs)?);
        }
        runs.iter().for_each(print_notes);
        let shared = shared_folder(&names);
        for run in &mut runs {
            run.name.drain(..shared);
        }
        Ok((runs, files))
    }

    fn open_outputs(&self) -> Result<Vec<(CompareForm, OutputFile)>, Failure> {
        let inputs = std::iter::once(&self.candidate).chain(&self.baseline).chain(&self.scripts.load);
        let files = ReportFiles {
            forms: FORMS,
            options: &self.output,
            json: self.json.then_some(CompareForm::Json),
            inputs: inputs.map(String::as_str).collect(),
        };
        files.open()
    }
}

/// All files that these names lead to, as one run.
pub(crate) fn load_run(names: &[String], selection: &Selection, needs: &Needs) -> Result<LoadedRun, Failure> {
    let sources = selection::distinct_sources(names, selection.format.as_deref())?;
    Ok(LoadedRun::load(&names.join(", "), &selection.with_sources(sources), needs)?)
}

/// The files of a run with all that they hold.
fn load_files(name: &String, selection: &Selection) -> Result<Vec<LoadedFile>, Failure> {
    let sources = selection::distinct_sources(std::slice::from_ref(name), selection.format.as_deref())?;
    let selection = selection.with_sources(sources);
    Ok(load(&selection, &Needs::everything()).collect::<Result<_, RunError>>()?)
}

/// Says what was not read of a run.
pub(crate) fn print_notes(run: &LoadedRun) {
    for note in &run.notes {
        eprintln!("note: {}: {}", printable(&run.name), printable(note));
    }
}

/// The length of the folder that all paths begin with. It says nothing, and takes the room of what does.
fn shared_folder(paths: &[&str]) -> usize {
    let Some((first, others)) = paths.split_first() else { return 0 };
    let ends = first
        .char_indices()
        .filter(|(_, c)| *c == '/' || *c == std::path::MAIN_SEPARATOR)
        .map(|(at, c)| at + c.len_utf8());
    let is_shared = |end: &usize| others.iter().all(|path| path.len() > *end && path.starts_with(&first[..*end]));
    ends.filter(is_shared).filter(|end| *end < first.len()).max().unwrap_or(0)
}

/// The forms that a comparison can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompareForm {
    Json,
    Markdown,
    Text,
    Html,
}

/// The forms by name.
const FORMS: &[NamedForm<CompareForm>] = &[
    (&["json"], CompareForm::Json),
    (&["markdown", "md"], CompareForm::Markdown),
    (&["text", "txt"], CompareForm::Text),
    (&["html"], CompareForm::Html),
];

impl CompareForm {
    /// The report in this form. The files are for a page, which shows the samples of the candidate.
    fn render(
        self,
        report: &CompareReport,
        is_judged: bool,
        selection: &Selection,
        files: &[LoadedFile],
    ) -> Result<String, Failure> {
        Ok(match self {
            Self::Json => format!("{:#}\n", compare_json(report)),
            Self::Markdown => compare_markdown(report),
            Self::Html => page_html(&page(files.iter().cloned(), selection, None, Some(report.clone()))?),
            Self::Text => compare_text(report, is_judged, Screen::PLAIN),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_all_runs_share_is_left_out() {
        for (paths, want) in [
            (["logs/a/new.jsonl", "logs/a/old.jsonl"], "new.jsonl"),
            (["logs/new/run.eval", "logs/old/run.eval"], "new/run.eval"),
            (["new.jsonl", "old.jsonl"], "new.jsonl"),
            (["logs/", "logs/old"], "logs/"),
            (["/new.jsonl", "old.jsonl"], "/new.jsonl"),
        ] {
            assert_eq!(&paths[0][shared_folder(&paths)..], want);
        }
    }
}
