//! `calipers history`: the runs of a project over time, without a browser.

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::history_file::{DatabaseFlag, DescriptionFlags, ReadingFlags, user_name};
use crate::reading_progress::ReadingProgress;
use crate::selection::note_left_out;
use crate::terminal::{note, print, print_json, print_text, screen};
use calipers::render::{HistoryList, RunFilter, RunState, history_json, history_text};
use calipers_view::{IndexReport, index_files};
use clap::{Args, Subcommand};

/// `calipers history`
#[derive(Debug, Subcommand)]
pub(crate) enum History {
    /// Add the results in files and folders; those that were added before are read again only if they changed
    Add(Add),
    /// List runs, the latest first
    List(List),
    /// Show the metrics of one run
    Show(Show),
    /// Say that a run is not to be counted, and why; `--restore` takes it back
    Invalidate(Invalidate),
    /// Print what cannot be computed again (what was said about runs, verdicts, labels) as JSON Lines
    Export(Export),
}

/// `calipers history add`
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// Files, folders or patterns
    #[arg(required = true)]
    files: Vec<String>,

    #[command(flatten)]
    reading: ReadingFlags,

    #[command(flatten)]
    description: DescriptionFlags,

    #[command(flatten)]
    database: DatabaseFlag,
}

/// `calipers history list`
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only runs with this in their suite, model, version, branch, commit, file or key
    text: Option<String>,

    /// Only this suite
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,

    /// Only this model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Only this branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Only this version
    #[arg(long = "version-name", value_name = "NAME")]
    version: Option<String>,

    /// Only runs with this tag
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Option<String>,

    /// Only runs with this last verdict: `pass`, `fail`, `undecided`, or `none` for those that were never judged
    #[arg(long, value_name = "VERDICT", value_parser = ["pass", "fail", "undecided", "none"])]
    verdict: Option<String>,

    /// Only runs with nothing missing (`whole`), with something missing (`lacking`), or not to be counted (`invalid`)
    #[arg(long, value_name = "STATE", value_parser = ["whole", "lacking", "invalid"])]
    state: Option<String>,

    /// How many runs to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    limit: u64,

    /// How many of the latest runs to pass over
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,

    /// Print JSON (`calipers.history/1`)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseFlag,
}

/// `calipers history show`
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The key of a run, or the beginning of it
    run: String,

    /// Print JSON (`calipers.results/1`), as `calipers score` did when the run was added
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseFlag,
}

/// `calipers history invalidate`
#[derive(Args, Debug)]
pub(crate) struct Invalidate {
    /// The key of a run, or the beginning of it
    run: String,

    /// Why it is not to be counted
    #[arg(long, value_name = "TEXT", required_unless_present = "restore")]
    why: Option<String>,

    /// Count it again
    #[arg(long, conflicts_with = "why")]
    restore: bool,

    #[command(flatten)]
    database: DatabaseFlag,
}

/// `calipers history export`
#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    database: DatabaseFlag,
}

impl History {
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        match self {
            Self::Add(add) => add.run(),
            Self::List(list) => list.run(),
            Self::Show(show) => show.run(),
            Self::Invalidate(invalidate) => invalidate.run(),
            Self::Export(export) => export.run(),
        }
    }
}

impl Add {
    fn run(self) -> Result<Outcome, Failure> {
        let description = self.description.resolve()?;
        let choices = self.reading.resolve()?;
        let history = self.database.open()?;
        let report = {
            let _progress = ReadingProgress::working("reading");
            index_files(&history, &self.files, choices.as_ref(), &description, &|_, _| {})?
        };
        say_what_was_added(&report)?;
        let failure = report
            .problems
            .into_iter()
            .chain(report.obstacles)
            .map(|(_, error)| Failure::from(error))
            .reduce(Failure::and);
        failure.map_or(Ok(Outcome::Done), Err)
    }
}

fn say_what_was_added(report: &IndexReport) -> Result<(), Failure> {
    let files = |count: usize| calipers::text::pluralize(count, "file");
    let mut parts =
        vec![format!("{} from {}", calipers::text::pluralize(report.runs.len(), "run"), files(report.read))];
    for name in &report.left_out {
        note_left_out(name);
    }
    let left_out = report.left_out.len();
    for (count, words) in [(report.unchanged, "unchanged"), (left_out, "without results"), (report.gone, "gone")] {
        if count > 0 {
            parts.push(format!("{} {words}", files(count)));
        }
    }
    print_text(&format!("added {}\n", parts.join(", ")))
}

impl List {
    fn run(self) -> Result<Outcome, Failure> {
        let tag = match &self.tag {
            Some(tag) => {
                Some(tag.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
                    Failure::new(format!("`--tag {tag}` has no `=`")).hint("write `--tag team=support`")
                })?)
            }
            None => None,
        };
        let filter = RunFilter {
            text: self.text,
            suite: self.suite,
            model: self.model,
            branch: self.branch,
            version: self.version,
            tag,
            verdict: self.verdict,
            state: self.state.as_deref().and_then(RunState::parse),
        };
        let history = self.database.open_existing()?;
        let list = history.list(&filter, self.skip, self.limit)?;
        if self.json {
            print_json(&history_json(&list))?;
        } else {
            print_text(&history_text(&list, screen()))?;
            let next = list.first + list.runs.len() as u64;
            if next < list.total && !list.runs.is_empty() {
                note(&format!("`--skip {next}` shows the next ones"));
            }
        }
        Ok(Outcome::Done)
    }
}

impl Show {
    fn run(self) -> Result<Outcome, Failure> {
        let history = self.database.open_existing()?;
        let run = history.find(&self.run)?;
        if self.json {
            let report = history.report_json(&run.key)?;
            print(|out| out.write_all(calipers::text::defuse_json(&report).as_bytes()))?;
            return Ok(Outcome::Done);
        }
        let list = HistoryList { runs: vec![run.clone()], first: 0, total: 1 };
        print_text(&history_text(&list, screen()))?;
        print_text(&format!("\n{}\n\n", run.source))?;
        match calipers_view::score_again(&run) {
            Ok(report) => print_text(&calipers::render::results_text(&report, screen()))?,
            Err(error) => {
                let hint = "`--json` prints what was computed when the run was added";
                return Err(Failure::from(error).hint_if_none(hint));
            }
        }
        Ok(Outcome::Done)
    }
}

impl Invalidate {
    fn run(self) -> Result<Outcome, Failure> {
        let history = self.database.open_existing()?;
        let run = history.find(&self.run)?;
        match self.why.filter(|_| !self.restore) {
            Some(why) if why.trim().is_empty() => {
                return Err(Failure::new("`--why` is empty").hint("say why, for those who look at it later"));
            }
            Some(why) => history.invalidate(&run.key, &why, &user_name())?,
            None => history.restore(&run.key, &user_name())?,
        }
        Ok(Outcome::Done)
    }
}

impl Export {
    fn run(self) -> Result<Outcome, Failure> {
        let history = self.database.open_existing()?;
        let mut lines = String::new();
        history.export(|line| {
            lines.push_str(line);
            lines.push('\n');
        })?;
        print(|out| out.write_all(calipers::text::defuse_json(&lines).as_bytes()))?;
        Ok(Outcome::Done)
    }
}
