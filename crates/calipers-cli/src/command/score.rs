//! `calipers score`.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{FormatFlag, LabelFlags, LevelFlag, ScriptFlags, SelectionFlags};
use crate::human_labels::note_unused;
use crate::reading::with_progress;
use crate::script_child::{self, limit_memory};
use crate::selection;
use crate::terminal::{ink, print_json, print_text, screen, with_plot};
use crate::value_limits::LimitsFlag;
use calipers::plan::{Report, RunReport};
use calipers::render::{results_json, results_plot, results_table, results_text};
use calipers::score::{ScoreOptions, score, score_file};
use calipers::{RunError, Selection, load};
use clap::{Args, ValueEnum};

/// More runs than this have one line each, unless all figures are asked for.
const RUNS_IN_FULL: usize = 12;

/// `calipers score`
#[derive(Args, Debug)]
pub(crate) struct Score {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// A metric to use instead of the recorded ones, such as `accuracy`, `stderr(cluster="category")` or one from a loaded file
    /// (repeatable; `calipers metrics` lists them, https://calipers-eval.github.io/calipers/expressions.html explains them)
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Vec<String>,

    /// A reducer of attempts, such as `mean`, `mode`, `pass_at_3`; `none` turns reduction off (repeatable)
    #[arg(long, value_name = "NAME")]
    reducer: Vec<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    labels: LabelFlags,

    #[command(flatten)]
    level: LevelFlag,

    /// Samples with the same value of this field belong together, such as questions about one `document`; all intervals are
    /// then computed over clusters (repeatable, or separated by commas)
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    cluster: Vec<String>,

    #[command(flatten)]
    limits: LimitsFlag,

    /// Compute and print like another tool
    #[arg(long, value_enum, value_name = "TOOL")]
    compat: Option<Compat>,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// Also show the reduced score of every sample
    #[arg(long)]
    reductions: bool,

    /// Show every run with all its figures, even if there are so many runs that each has only one line
    #[arg(long)]
    long: bool,

    #[cfg(feature = "view")]
    #[command(flatten)]
    history: crate::history_file::HistoryFlag,

    /// Also draw the figures
    #[arg(long)]
    plot: bool,

    /// Print JSON (`calipers.results/1`)
    #[arg(long)]
    json: bool,
}

/// What would make one run of files that hold one sample each: the last part of the path that all of them share.
fn columns_to_join(report: &Report) -> Option<String> {
    let is_sample = |run: &RunReport| run.samples.total == 1 && run.name.is_none();
    if report.runs.len() < 3 || !report.runs.iter().all(is_sample) {
        return None;
    }
    let parts = |run: &RunReport| {
        let parts = run.source.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".");
        parts.map(str::to_owned).collect::<Vec<String>>()
    };
    let first = parts(report.runs.first()?);
    let shared = report.runs.iter().map(parts).map(|parts| {
        let same = parts.iter().zip(&first).take_while(|(a, b)| a == b).count();
        // The name of the file is not shared by all.
        same.min(parts.len().saturating_sub(1))
    });
    let shared = shared.min().filter(|shared| *shared > 0)?;
    Some(format!("run=@path.{shared}"))
}

/// Tools whose numbers can be printed in place of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// Inspect AI: unknown labels count as 0, and undefined figures are 0 or NaN as in Inspect
    Inspect,
}

impl Score {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        script_child::is_needed(&self.metric, &self.scripts.load)
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        #[cfg(feature = "view")]
        self.history.check(&self.files)?;
        let (report, failure) = self.measure()?;
        if self.json {
            print_json(&results_json(&report))?;
        } else {
            let plot = if self.plot { results_plot(&report, screen(), ink()) } else { String::new() };
            let is_compact = report.runs.len() > RUNS_IN_FULL && !self.long && !self.reductions;
            let text = if is_compact { results_table(&report, screen()) } else { results_text(&report, screen()) };
            print_text(&with_plot(text, &plot))?;
        }
        if let Some(columns) = columns_to_join(&report) {
            let runs = report.runs.len();
            eprintln!("note: each of these {runs} files holds one sample; `--columns {columns}` makes one run of them");
        }
        #[cfg(feature = "view")]
        self.history.record(
            &self.files,
            &selection::resolve(&self.selection, &self.format, self.level.level, &self.scripts)?,
            crate::history_file::RecordedAnswer::Metrics,
        )?;
        // One bad file takes nothing from the others, but it is not passed over either.
        failure.map_or(Ok(Outcome::Done), Err)
    }

    /// The report of all files that can be scored, and what is wrong with the others. If none can, that is all there is.
    fn measure(&self) -> Result<(Report, Option<Failure>), Failure> {
        let (selection, options) = self.resolve()?;
        let (selection, _progress) = with_progress(&selection);
        let mut report = Report::default();
        let mut failure: Option<Failure> = None;
        let mut fail = |error: Failure| {
            failure = Some(match failure.take() {
                Some(first) => first.and(error),
                None => error,
            });
        };
        let mut add = |reports: Result<Vec<RunReport>, RunError>| match reports {
            Ok(reports) => {
                // A log without samples says so itself, and has figures of its own.
                let is_empty =
                    |run: &RunReport| run.samples.total == 0 && run.recorded.is_empty() && run.notes.is_empty();
                let (empty, runs): (Vec<RunReport>, Vec<RunReport>) = reports.into_iter().partition(is_empty);
                report.runs.extend(runs);
                for run in empty {
                    let hint = "rerun the evaluation that should have written it, or leave the file out";
                    fail(Failure::new("the file has no records").at(format!("in {}", run.source)).hint(hint));
                }
            }
            Err(error) => fail(error.into()),
        };
        if script_child::is_script_child() {
            // Scripts have a limit of memory, and reading has none.
            for file in load(&selection, &options.needs(&selection)) {
                let _limit = limit_memory();
                add(file.and_then(|file| score_file(file, &selection, &options)));
            }
        } else {
            score(&selection, &options).for_each(add);
        }
        if selection.human_labels.is_some() && report.runs.len() > 1 {
            let what = format!("`--labels` belongs to one run, and there are {}", report.runs.len());
            return Err(Failure::new(what).hint("score each run separately, with the labels of its answers"));
        }
        if !report.runs.is_empty() {
            note_unused(selection.human_labels.as_deref())?;
        }
        match failure {
            Some(failure) if report.runs.is_empty() => Err(failure),
            failure => Ok((report, failure)),
        }
    }

    fn resolve(&self) -> Result<(Selection, ScoreOptions), Failure> {
        let selection = selection::resolve(&self.selection, &self.format, self.level.level, &self.scripts)?;
        let is_inspect = self.compat == Some(Compat::Inspect);
        if is_inspect && !self.cluster.is_empty() {
            let hint = "name the clusters where Inspect does, as in `--metric 'ci(cluster=\"document\")'`; `CALIPERS_CONFIG=none` \
                        leaves `calipers.toml` out";
            return Err(Failure::new("Inspect has no `--cluster` for all metrics").hint(hint));
        }
        let labels = selection.labels.clone();
        let labels = if is_inspect { labels.unknown_as_zero() } else { labels };
        let expressions = Expressions::load(&self.scripts, labels)?;
        let options = ScoreOptions {
            metrics: expressions.metric_specs(&self.metric)?,
            inspect: is_inspect,
            keep_reductions: self.reductions,
            loaded: expressions.loaded_names()?,
            ..ScoreOptions::default()
        };
        let reducers = selection::reducers(&self.reducer, |name| Ok(expressions.reducer(name)?))?;
        let human_labels = self.labels.load_one(&selection)?;
        let sources = selection::sources(&self.files, &selection)?;
        let (cluster, limits) = (self.cluster.clone(), self.limits.resolve()?);
        Ok((Selection { sources, human_labels, reducers, cluster, limits, ..selection }, options))
    }
}
