//! `calipers compare`: what changed between runs, and is it real?

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{FormatFlag, LabelFlags, LevelFlag, ScriptFlags, SelectionFlags};
use crate::human_labels::note_unused;
use crate::reading::{load_files, load_run, print_notes};
use crate::reading_progress::ReadingProgress;
use crate::report_files::{OpenReports, ReportFiles, output_help};
use crate::script_child::{self, limit_memory};
use crate::selection;
use crate::terminal::{ink, screen, with_plot};
use crate::value_limits::LimitsFlag;
use calipers::compare::{CompareOptions, CompareReport, compare};
use calipers::io::ColumnsError;
use calipers::page::page;
use calipers::render::{COMPARE_FORMS, compare_plot, compare_text, page_html};
use calipers::stats::components::Estimand;
use calipers::stats::multiplicity::Correction;
use calipers::{LoadedFile, LoadedRun, Needs, Selection, Verdict};
use clap::{Args, ValueEnum};
use std::sync::Arc;

/// More pairs than the text shows of the largest changes.
const PAIRS_MAX: usize = 100;

/// `calipers compare`
///
/// Exit codes: 0 compared, 2 invalid usage or input, 3 nothing could be compared; with `--fail-on regression`, 1 if a metric
/// regressed.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// The candidate run: a file, a folder or a quoted pattern; `-` is standard input
    candidate: String,

    /// The runs to compare it with, each a file, a folder or a quoted pattern. Without any, the runs in the first argument
    /// are compared with one another
    baseline: Vec<String>,

    /// The column that tells the runs of a file apart, such as `model`
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,

    /// A metric to use instead of the recorded ones, such as `accuracy` or `pass_rate(where={"category": "adversarial"})`
    /// (repeatable; `calipers metrics` lists them, https://calipers-eval.github.io/calipers/expressions.html explains them)
    #[arg(short, long, value_name = "EXPR")]
    metric: Vec<String>,

    /// The largest change that does not matter: 0.02 is two points of a rate, or 2 % of latency, tokens and cost
    #[arg(long, value_name = "SHARE")]
    margin: Option<f64>,

    /// A field by whose values samples go together, such as the document of a question (repeatable, or separated by commas)
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    cluster: Vec<String>,

    #[command(flatten)]
    limits: LimitsFlag,

    /// What the intervals account for
    #[arg(long, value_enum, default_value = "population")]
    estimand: EstimandName,

    /// How p-values are adjusted for the number of tests
    #[arg(long, value_enum, default_value = "holm")]
    correction: CorrectionName,

    /// What sets the exit code to 1
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_on: Option<FailOn>,

    /// The reducer of attempts, instead of the recorded one, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    reducer: Option<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    labels: LabelFlags,

    #[command(flatten)]
    level: LevelFlag,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,

    #[arg(short, long, value_name = "FORM=FILE", value_delimiter = ',', help = output_help(COMPARE_FORMS, true))]
    output: Vec<String>,

    #[cfg(feature = "view")]
    #[command(flatten)]
    history: crate::history_file::HistoryFlag,

    /// Also draw the changes
    #[arg(long)]
    plot: bool,

    /// Print JSON (`calipers.compare/1`)
    #[arg(long)]
    json: bool,
}

/// What error bars are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EstimandName {
    /// All questions like these: the choice of questions counts as chance
    Population,
    /// A rerun of this suite: only the attempts count as chance
    Suite,
}

/// How p-values are adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CorrectionName {
    /// Holm: limits the chance of any false alarm
    Holm,
    /// Benjamini-Hochberg: limits the share of alarms that are false
    Bh,
}

/// What ends in exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A metric that regressed
    Regression,
}

impl Compare {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        script_child::is_needed(&self.metric, &self.scripts.load)
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        #[cfg(feature = "view")]
        self.history.check(std::iter::once(&self.candidate).chain(&self.baseline))?;
        // A wrong name fails before any work is done.
        let outputs = self.open_outputs()?;
        let (selection, options) = self.resolve()?;
        let is_only_printed = outputs.is_text_only() && !self.is_recorded();
        let options = CompareOptions { pairs_max: is_only_printed.then_some(PAIRS_MAX), ..options };
        let (runs, files) = self.load(&selection, &options, outputs.has_page())?;
        let mut report = {
            let _limit = limit_memory();
            let _progress = ReadingProgress::working("comparing");
            compare(&runs, &selection, &options)?
        };
        drop(runs);
        report.is_judged = self.fail_on == Some(FailOn::Regression);
        let text = || {
            let plot = if self.plot { compare_plot(&report, screen(), ink()) } else { String::new() };
            with_plot(compare_text(&report, screen()), &plot)
        };
        let page = match outputs.has_page() {
            true => Some(page_html(&page(files, &selection, None, Some(report.clone()))?)),
            false => None,
        };
        outputs.write(&report, page.as_deref(), text)?;
        #[cfg(feature = "view")]
        self.history.record(
            std::slice::from_ref(&self.candidate),
            &selection,
            crate::history_file::RecordedAnswer::Comparison(&report, &self.baseline),
        )?;
        Ok(Outcome::Judged(match report.verdict {
            Verdict::Fail if !report.is_judged => Verdict::Pass,
            verdict => verdict,
        }))
    }

    #[cfg(feature = "view")]
    fn is_recorded(&self) -> bool {
        self.history.is_set()
    }

    #[cfg(not(feature = "view"))]
    fn is_recorded(&self) -> bool {
        false
    }

    fn resolve(&self) -> Result<(Selection, CompareOptions), Failure> {
        let mut selection = selection::resolve(&self.selection, &self.format, self.level.level, &self.scripts)?;
        if let Some(column) = &self.by {
            let columns = Arc::make_mut(&mut selection.columns);
            let refuse = |error: ColumnsError| Failure::new(format!("`--by`: {error}")).hint(error.hint());
            // It may have been said twice: here and in `calipers.toml`.
            if !columns.iter().any(|(name, known)| name == "run" && known == column.trim()) {
                columns.set("run", column).and_then(|()| columns.check()).map_err(refuse)?;
            }
        }
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
            loaded: expressions.loaded_names()?,
            ..CompareOptions::default()
        };
        let reducers = selection::pairing_reducer(&expressions, self.reducer.as_deref())?;
        Ok((Selection { reducers, limits: self.limits.resolve()?, ..selection }, options))
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
            let what = "standard input is named twice, and can be read only once";
            return Err(Failure::new(what).hint("write one of the runs to a file"));
        }
        let needs = options.needs(selection);
        let (mut runs, mut files) = (Vec::new(), Vec::new());
        if self.baseline.is_empty() {
            if !self.labels.labels.is_empty() {
                let hint = "name a file for each run, or record labels as the column `human_label`";
                return Err(Failure::new("`--labels` does not say which run of the file it belongs to").hint(hint));
            }
            return self.load_within(selection, &needs, has_page);
        }
        let labels = self.labels.load(selection, names.len())?;
        let of_run = |place: usize| Selection { human_labels: labels[place].clone(), ..selection.clone() };
        if has_page {
            let sources = selection::distinct_sources(std::slice::from_ref(&self.candidate), selection)?;
            files = load_files(&of_run(0).with_sources(sources), &Needs::everything())?;
            runs.push(LoadedRun::merge(&self.candidate, files.clone())?);
        }
        for name in &names[runs.len()..] {
            runs.push(load_run(&[(*name).to_owned()], &of_run(runs.len()), &needs)?);
        }
        runs.iter().for_each(print_notes);
        labels.iter().try_for_each(|labels| note_unused(labels.as_deref()))?;
        let shared = shared_folder(&names);
        for run in &mut runs {
            run.name.drain(..shared);
        }
        Ok((runs, files))
    }

    /// The runs that the first argument holds.
    fn load_within(
        &self,
        selection: &Selection,
        needs: &Needs,
        has_page: bool,
    ) -> Result<(Vec<LoadedRun>, Vec<LoadedFile>), Failure> {
        let everything = Needs::everything();
        let sources = selection::distinct_sources(std::slice::from_ref(&self.candidate), selection)?;
        let needs = if has_page { &everything } else { needs };
        let (mut runs, files) = LoadedRun::load_split(&selection.with_sources(sources), needs)?;
        let is_called = |run: &LoadedRun, name: &String| {
            [Some(&run.name), run.model.as_ref(), run.task.as_ref()].contains(&Some(name))
        };
        let place = |run: &LoadedRun| selection.runs.iter().position(|name| is_called(run, name));
        runs.sort_by_key(|run| place(run).unwrap_or(usize::MAX));
        if runs.len() < 2 {
            let what = format!("{} holds one run, and there is no other to compare it with", self.candidate);
            let hint = "name a second file, or say with `--by model` which column tells the runs apart";
            return Err(Failure::new(what).hint(hint));
        }
        runs.iter().for_each(print_notes);
        Ok((runs, if has_page { files } else { Vec::new() }))
    }

    fn open_outputs(&self) -> Result<OpenReports<CompareReport>, Failure> {
        let inputs = std::iter::once(&self.candidate).chain(&self.baseline).chain(&self.scripts.load);
        let inputs = inputs.chain(&self.labels.labels);
        let files = ReportFiles {
            forms: COMPARE_FORMS,
            has_page: true,
            options: &self.output,
            json: self.json,
            inputs: inputs.map(String::as_str).collect(),
        };
        files.open()
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
