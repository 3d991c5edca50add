//! `calipers score`.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{FormatFlag, LevelFlag, ScriptFlags, SelectionFlags};
use crate::reading_progress::ReadingProgress;
use crate::script_child::{self, limit_memory};
use crate::selection;
use crate::terminal::{ink, print_json, print_text, screen, with_plot};
use calipers::plan::{Report, RunReport};
use calipers::render::{results_json, results_plot, results_text};
use calipers::score::{ScoreOptions, score, score_file};
use calipers::{RunError, Selection, load};
use clap::{Args, ValueEnum};

/// `calipers score`
#[derive(Args, Debug)]
pub(crate) struct Score {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// A metric in place of the recorded ones, such as `accuracy`, `stderr(cluster="category")` or one of a loaded file
    /// (repeatable; see docs/expressions.md)
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Vec<String>,

    /// A reducer of attempts, such as `mean`, `mode`, `pass_at_3`; `none` turns reduction off (repeatable)
    #[arg(long, value_name = "NAME")]
    reducer: Vec<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    level: LevelFlag,

    /// Compute and print as another tool does
    #[arg(long, value_enum, value_name = "TOOL")]
    compat: Option<Compat>,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// Show the reduced score of every sample too
    #[arg(long)]
    reductions: bool,

    /// Draw the figures too
    #[arg(long)]
    plot: bool,

    /// Print JSON (`calipers.results/1`)
    #[arg(long)]
    json: bool,
}

/// Tools whose numbers can be printed in place of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// Inspect AI: unknown labels count 0, and undefined figures are its 0 or NaN
    Inspect,
}

impl Score {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        script_child::is_needed(&self.metric, &self.scripts.load)
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let (report, failure) = self.measure()?;
        if self.json {
            print_json(&results_json(&report))?;
        } else {
            let plot = if self.plot { results_plot(&report, screen(), ink()) } else { String::new() };
            print_text(&with_plot(results_text(&report, screen()), &plot))?;
        }
        // One bad file takes nothing from the others, but it is not passed over either.
        failure.map_or(Ok(Outcome::Done), Err)
    }

    /// The report of all files that can be scored, and what is wrong with the others. If none can, that is all there is.
    fn measure(&self) -> Result<(Report, Option<Failure>), Failure> {
        let (selection, options) = self.resolve()?;
        // A file that cannot be opened is reported when its turn comes.
        let total = selection.sources.iter().filter_map(|source| source.stored_len().ok()).sum();
        let progress = ReadingProgress::start(total);
        let counted = selection.sources.iter().map(|source| source.clone().with_counter(progress.read.clone()));
        let selection = selection.with_sources(counted);
        let mut report = Report::default();
        let mut failure: Option<Failure> = None;
        let mut add = |reports: Result<Vec<RunReport>, RunError>| match reports {
            Ok(reports) => report.runs.extend(reports),
            Err(error) => {
                let error = Failure::from(error);
                failure = Some(match failure.take() {
                    Some(first) => first.and(error),
                    None => error,
                });
            }
        };
        if script_child::is_child() {
            // Scripts have a limit of memory, and reading has none.
            for file in load(&selection, &options.needs(&selection)) {
                let _limit = limit_memory();
                add(file.and_then(|file| score_file(file, &selection, &options)));
            }
        } else {
            score(&selection, &options).for_each(add);
        }
        match failure {
            Some(failure) if report.runs.is_empty() => Err(failure),
            failure => Ok((report, failure)),
        }
    }

    fn resolve(&self) -> Result<(Selection, ScoreOptions), Failure> {
        let selection = selection::resolve(&self.selection, &self.format, self.level.level, &self.scripts)?;
        let is_inspect = self.compat == Some(Compat::Inspect);
        let labels = selection.labels.clone();
        let labels = if is_inspect { labels.unknown_as_zero() } else { labels };
        let expressions = Expressions::load(&self.scripts, labels)?;
        let options = ScoreOptions {
            metrics: expressions.metric_specs(&self.metric)?,
            inspect: is_inspect,
            keep_reductions: self.reductions,
            ..ScoreOptions::default()
        };
        let reducers = selection::reducers(&self.reducer, |name| Ok(expressions.reducer(name)?))?;
        let sources = selection::sources(&self.files, self.format.format.as_deref())?;
        Ok((Selection { sources, reducers, ..selection }, options))
    }
}
