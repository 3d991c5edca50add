//! The history that a command uses, and what its flags say about runs.

use crate::failure::Failure;
use crate::flags::{FileFlags, SelectionFlags};
use crate::selection::resolve_files;
use crate::surroundings::describe_surroundings;
use calipers::Selection;
use calipers::compare::CompareReport;
use calipers::gate::GateReport;
use calipers::io::{Source, is_address};
use calipers::render::{compare_json, gate_json};
use calipers::text::brief;
use calipers_view::{
    DEFAULT_FILE, History, HistoryError, IndexReport, ReadingChoices, RunDescription, VerdictRecord, index_files,
};
use clap::Args;
use std::path::Path;

/// The variable that names another history.
const VARIABLE: &str = "CALIPERS_HISTORY";

/// Which history.
#[derive(Args, Clone, Debug)]
pub(crate) struct DatabaseFlag {
    /// The history: a file, or `postgres://…` [default: `.calipers/history.db`, or what `CALIPERS_HISTORY` names]
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Option<String>,
}

impl DatabaseFlag {
    /// The name of the history.
    fn name(&self) -> String {
        let named = || std::env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        self.database.clone().or_else(named).unwrap_or_else(|| DEFAULT_FILE.to_owned())
    }

    /// The history, created if there is none.
    pub(crate) fn open(&self) -> Result<History, Failure> {
        let name = self.name();
        match History::is_address(&name) {
            true => Ok(History::connect(&name)?),
            false => Ok(History::open(Path::new(&name))?),
        }
    }

    /// The history, which must be there.
    pub(crate) fn open_existing(&self) -> Result<History, Failure> {
        let name = self.name();
        if !History::is_address(&name) && !Path::new(&name).exists() {
            let what = format!("there is no history in `{name}`");
            return Err(Failure::new(what).hint("add runs to it with `calipers history add FOLDER`"));
        }
        self.open()
    }
}

/// How the files of a history are read.
#[derive(Args, Debug)]
pub(crate) struct ReadingFlags {
    #[command(flatten)]
    pub(crate) files: FileFlags,

    #[command(flatten)]
    pub(crate) selection: SelectionFlags,
}

impl ReadingFlags {
    /// What the flags say; nothing if none is there, and files are read as they were read before.
    pub(crate) fn resolve(&self) -> Result<Option<ReadingChoices>, Failure> {
        let choices = ReadingChoices::of(&resolve_files(&self.selection, &self.files)?);
        Ok(Some(choices).filter(|choices| !choices.is_empty()))
    }
}

/// What is said about runs that are added.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DescriptionFlags {
    /// What the runs belong to, instead of their task or their folder
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,

    /// The version that was evaluated
    #[arg(long = "version-name", value_name = "NAME")]
    version: Option<String>,

    /// Its branch
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Its commit, instead of the one that the log names
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,

    /// A further name and value (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    tag: Vec<String>,
}

impl DescriptionFlags {
    pub(crate) fn resolve(&self) -> Result<RunDescription, Failure> {
        let pair = |tag: &String| match tag.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                check_length(name, value)?;
                Ok((name.to_owned(), value.to_owned()))
            }
            _ => Err(Failure::new(format!("`--tag {tag}` has no name and value")).hint("write `--tag team=support`")),
        };
        Ok(RunDescription {
            suite: self.suite.clone(),
            version: self.version.clone(),
            branch: self.branch.clone(),
            commit: self.commit.clone(),
            tags: self.tag.iter().map(pair).collect::<Result<_, _>>()?,
        })
    }
}

/// Whether a command records what it did.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HistoryFlag {
    /// Record the runs, and the verdict if there is one, in a history: a file or `postgres://…` [default: `.calipers/history.db`,
    /// or what `CALIPERS_HISTORY` names]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    history: Option<String>,

    /// What to record about the runs: `version=1.4`, `branch=main`, `commit=…`, `suite=…`, or any other name and value
    /// (repeatable). CI systems and git say which branch and commit it is
    #[arg(long, value_name = "NAME=VALUE", requires = "history")]
    tag: Vec<String>,
}

/// What a command found out about its runs.
#[derive(Clone, Copy)]
pub(crate) enum RecordedAnswer<'a> {
    /// Only what they measure.
    Metrics,
    /// What a policy says.
    Verdict(&'a GateReport),
    /// How they compare with others, which are in these files.
    Comparison(&'a CompareReport, &'a [String]),
}

/// No name of a tag is longer, and no value.
const TAG_MAX: usize = 500;

impl HistoryFlag {
    /// True if the command records what it does.
    pub(crate) fn is_set(&self) -> bool {
        self.history.is_some()
    }

    /// Fails before any work if there will be nothing to record, or nowhere to record it.
    pub(crate) fn check<'a>(&self, files: impl IntoIterator<Item = &'a String>) -> Result<(), Failure> {
        if !self.is_set() {
            return Ok(());
        }
        self.description()?;
        for file in files {
            if file == "-" {
                let hint = "write the results to a file, and name that";
                return Err(Failure::new("standard input cannot be recorded in a history").hint(hint));
            }
            let source = is_address(file).then(|| Source::path(file));
            if let Some(source) = source.filter(|source| !source.is_found_by_name()) {
                return Err(HistoryError::NotFoundAgain(source.name).into());
            }
        }
        self.open().map(drop)
    }

    fn open(&self) -> Result<History, Failure> {
        let database = self.history.clone().filter(|name| !name.is_empty());
        DatabaseFlag { database }.open()
    }

    /// Records the runs in these files, if that is asked for, read as the selection says, and what was found out about them.
    pub(crate) fn record(
        &self,
        files: &[String],
        selection: &Selection,
        answer: RecordedAnswer<'_>,
    ) -> Result<(), Failure> {
        if !self.is_set() {
            return Ok(());
        }
        let history = self.open()?;
        let said = self.description()?;
        let choices = ReadingChoices::of(selection);
        let added = add(&history, files, &choices, &said)?;
        // What is said counts more than what surrounds it.
        let mut around = describe_surroundings();
        around.version.take_if(|_| said.version.is_some());
        around.branch.take_if(|_| said.branch.is_some());
        around.commit.take_if(|_| said.commit.is_some());
        around.tags.retain(|name, _| !said.tags.contains_key(name));
        for key in &added.keys {
            history.describe_by_surroundings(key, &around, added.runs.contains(key))?;
        }
        match answer {
            RecordedAnswer::Metrics => {}
            RecordedAnswer::Verdict(verdict) => {
                let record = VerdictRecord {
                    verdict: verdict.verdict.name().to_owned(),
                    policy: verdict.provenance.policy.clone(),
                    policy_hash: verdict.provenance.policy_hash.clone(),
                    report: gate_json(verdict),
                };
                for key in &added.keys {
                    history.record_verdict(key, &record)?;
                }
            }
            RecordedAnswer::Comparison(report, others) => {
                // What is said here is said of the candidate: the others are of other versions.
                let others = if others.is_empty() {
                    Vec::new()
                } else {
                    add(&history, others, &choices, &RunDescription::default())?.keys
                };
                for key in &added.keys {
                    history.record_comparison(key, &others, &compare_json(report))?;
                }
            }
        }
        Ok(())
    }

    /// What the flags say.
    fn description(&self) -> Result<RunDescription, Failure> {
        let mut said = RunDescription::default();
        for tag in &self.tag {
            let (name, value) = tag.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                Failure::new(format!("`--tag {tag}` has no name and value")).hint("write `--tag version=1.4`")
            })?;
            check_length(name, value)?;
            let value = value.to_owned();
            match name {
                "suite" => said.suite = Some(value),
                "version" => said.version = Some(value),
                "branch" => said.branch = Some(value),
                "commit" => said.commit = Some(value),
                name => drop(said.tags.insert(name.to_owned(), value)),
            }
        }
        Ok(said)
    }
}

/// Adds files to a history; one that cannot be read is a failure.
fn add(
    history: &History,
    files: &[String],
    choices: &ReadingChoices,
    said: &RunDescription,
) -> Result<IndexReport, Failure> {
    let mut report = index_files(history, files, Some(choices), said, &|_, _| {})?;
    let problems = std::mem::take(&mut report.problems).into_iter().chain(std::mem::take(&mut report.obstacles));
    problems.map(|(_, error)| Failure::from(error)).reduce(Failure::and).map_or(Ok(report), Err)
}

fn check_length(name: &str, value: &str) -> Result<(), Failure> {
    if name.len() > TAG_MAX || value.len() > TAG_MAX {
        let what = format!("`--tag {}…` is longer than {TAG_MAX} bytes", brief(name));
        return Err(Failure::new(what).hint("say it in fewer words"));
    }
    Ok(())
}

/// Who uses this program, for the audit trail.
pub(crate) fn user_name() -> String {
    let named = ["USER", "USERNAME", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "someone at the command line".to_owned())
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        let hint = match &error {
            HistoryError::Run(_) => {
                let HistoryError::Run(error) = error else { return Self::new("") };
                return error.into();
            }
            HistoryError::UnknownRun(_) => "`calipers history list` shows the keys of all runs",
            HistoryError::AmbiguousRun(_) => "write more of its letters",
            HistoryError::Newer { .. } => "use that version, or name another file with `--database`",
            HistoryError::File { .. } => "check its name, and whether you may use it",
            HistoryError::Database(_) => {
                "check that the database is a history and may be written, or name another with `--database`"
            }
            HistoryError::Foreign => "name another file with `--database`",
            HistoryError::NotFoundAgain(_) => "copy it to this machine or into a bucket, and name the copy",
            HistoryError::CountedDifferently => {
                "add their files again with the same `--label`, `--pass-threshold`, `--missing` and `--seed`"
            }
            HistoryError::Server(_) => "",
            _ => "",
        };
        let failure = Self::new(error.to_string());
        if hint.is_empty() { failure } else { failure.hint(hint) }
    }
}
