//! `calipers fold`: one share of a run.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flag_hints::quote_argument;
use crate::flags::{FormatFlag, LevelFlag, ScriptFlags, SelectionFlags};
use crate::policy_file::PolicyFile;
use crate::reading::with_progress;
use crate::script_child::{self, limit_memory};
use crate::selection;
use crate::terminal::note;
use crate::value_limits::LimitsFlag;
use calipers::compare::CompareOptions;
use calipers::gate::GateOptions;
use calipers::io::{OutputFile, digest_of};
use calipers::parts::{FoldOptions, Part, PartPlace, files_by_run, fold_rows, fold_scores};
use calipers::score::ScoreOptions;
use calipers::{Needs, RunError, Selection};
use clap::{Args, ValueEnum};

/// `calipers fold`
///
/// Each machine folds its share of the samples with the same options, and `calipers merge` puts the parts together. All attempts
/// of a sample have to be in one part.
#[derive(Args, Debug)]
pub(crate) struct Fold {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// The file to write, such as `part-3.state`; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: String,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Which share of the run these files are, such as `3/8`; the other machines fold other files
    #[arg(long, value_name = "K/N", conflicts_with = "bucket")]
    part: Option<String>,

    /// Keep the samples of one bucket only, such as `3/8`; the other machines fold the same files
    #[arg(long, value_name = "K/N")]
    bucket: Option<String>,

    /// The ids ascend from part to part, so that the first and the last say which samples a part holds
    #[arg(long)]
    ascending: bool,

    /// What will be asked of the whole run. For `score` a part holds states of metrics; for the others it holds the attempts, with
    /// the columns that the question reads
    #[arg(long = "for", value_enum, value_name = "COMMAND", default_value_t = Question::Score)]
    question: Question,

    /// The policy, with `--for gate`: a part holds the columns that it reads
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PolicyFile>,

    #[command(flatten)]
    choices: MeasureFlags,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,
}

/// What figures depend on: the options that a part of states keeps.
#[derive(Args, Debug)]
pub(crate) struct MeasureFlags {
    /// A metric to use instead of the recorded ones, such as `accuracy` or `stderr(cluster="category")` (repeatable)
    #[arg(short, long, value_name = "EXPR")]
    metric: Vec<String>,

    /// A reducer of attempts, such as `mean`, `mode`, `pass_at_3`; `none` turns reduction off (repeatable)
    #[arg(long, value_name = "NAME")]
    reducer: Vec<String>,

    /// Samples with the same value of this field belong together (repeatable, or separated by commas)
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    cluster: Vec<String>,

    #[command(flatten)]
    limits: LimitsFlag,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    level: LevelFlag,
}

/// What will be asked of the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Question {
    /// `calipers merge` prints the figures
    Score,
    /// `calipers merge --gate POLICY` judges the whole
    Gate,
    /// `calipers merge --against OTHER` compares two wholes
    Compare,
    /// Any command, with all columns: parts are as large as the results without their transcripts
    Any,
}

impl MeasureFlags {
    /// The flags as words, in one spelling.
    fn words(&self) -> Vec<String> {
        let flags = &self.selection;
        let mut words = Vec::new();
        let mut add = |flag: &str, values: &[String]| {
            for value in values {
                words.push(format!("--{flag}={value}"));
            }
        };
        add("metric", &self.metric);
        add("reducer", &self.reducer);
        add("cluster", &self.cluster);
        add("limits", &self.limits.limits);
        add("scorer", &flags.scorer);
        add("where", &flags.filter);
        add("label", &flags.label);
        add("pass-threshold", &flags.pass_threshold.iter().map(f64::to_string).collect::<Vec<_>>());
        add("seed", &[flags.seed.to_string()]);
        add("level", &[self.level.level.to_string()]);
        words
    }

    /// What these flags and scripts stand for.
    pub(crate) fn resolve(
        &self,
        format: &FormatFlag,
        scripts: &ScriptFlags,
    ) -> Result<(Selection, ScoreOptions), Failure> {
        let selection = selection::resolve(&self.selection, format, self.level.level, scripts)?;
        let expressions = Expressions::load(scripts, selection.labels.clone())?;
        let options = ScoreOptions {
            metrics: expressions.metric_specs(&self.metric)?,
            loaded: expressions.loaded_names()?,
            ..ScoreOptions::default()
        };
        let reducers = selection::reducers(&self.reducer, |name| Ok(expressions.reducer(name)?))?;
        let (cluster, limits) = (self.cluster.clone(), self.limits.resolve()?);
        Ok((Selection { reducers, cluster, limits, ..selection }, options))
    }
}

/// What figures depend on beside flags: the content of scripts.
pub(crate) fn script_digests(scripts: &ScriptFlags) -> Result<Vec<(String, String)>, Failure> {
    let mut digests = Vec::new();
    for file in &scripts.load {
        let bytes = std::fs::read(file).map_err(|error| Failure::new(error.to_string()).at(format!("in {file}")))?;
        digests.push(digest_of(&bytes));
    }
    Ok(vec![("scripts".to_owned(), digests.join(", "))])
}

impl Fold {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        let by_policy = self.policy.as_ref().filter(|_| self.question == Question::Gate);
        script_child::is_needed(&self.choices.metric, &self.scripts.load)
            || by_policy.is_some_and(|policy| policy.scripts(&self.scripts))
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        // A wrong name fails before any work is done.
        let out = match self.output.as_str() {
            "-" => OutputFile::stdout(),
            path => OutputFile::create(path, self.force)?,
        };
        let part = self.fold()?;
        let (place, size) = (part.header.place, part.payload.len());
        out.finish_with_bytes(&part.to_bytes())?;
        if self.output != "-" {
            let what = if place.is_bucket { "bucket" } else { "part" };
            note(&format!("{} is {what} {} of {}, {size} bytes", self.output, place.number, place.of));
        }
        Ok(Outcome::Done)
    }

    fn fold(&self) -> Result<Part, Failure> {
        let place = self.place()?;
        let (selection, score) = self.choices.resolve(&self.format, &self.scripts)?;
        let sources = selection::distinct_sources(&self.files, &selection)?;
        let selection = selection.with_sources(sources);
        let (selection, _progress) = with_progress(&selection);
        let options = FoldOptions { place, ascending: self.ascending, ..FoldOptions::default() };
        if self.question == Question::Score {
            let options =
                FoldOptions { words: self.choices.words(), depends_on: script_digests(&self.scripts)?, ..options };
            let _limit = limit_memory();
            let part = fold_scores(&selection, &score, &options);
            return part.map_err(|error| self.name_runs(error, &selection));
        }
        let flags = &self.choices.selection;
        if let Some(condition) = flags.filter.first() {
            let what =
                format!("`--where {condition}` chooses samples, and a part for another command holds all of them");
            return Err(Failure::new(what).hint("give `--where` to the command that reads the merged run"));
        }
        let (needs, depends_on) = self.needs(&selection, &score)?;
        let part = fold_rows(&selection, &needs, &FoldOptions { depends_on, ..options });
        part.map_err(|error| self.name_runs(error, &selection))
    }

    /// The failure for files of several runs, with the command for each of them.
    fn name_runs(&self, error: RunError, selection: &Selection) -> Failure {
        const COMMANDS_MAX: usize = 4;
        /// How the message about files ends that are not shares of one run.
        const DIFFERENT_RUNS: &str = "these are different runs";
        let what = error.to_string();
        let what = what.lines().next().unwrap_or_default();
        let is_about_runs = what.ends_with(DIFFERENT_RUNS) && !self.files.iter().any(|file| file == "-");
        let groups = match is_about_runs.then(|| files_by_run(selection, &Needs::everything())) {
            Some(Ok(groups)) if !groups.is_empty() => groups,
            _ => return error.into(),
        };
        let commands: Vec<String> = groups.iter().map(|(name, files)| self.command_for(name, files)).collect();
        let shown = commands.iter().take(COMMANDS_MAX).map(|command| format!("`{command}`")).collect::<Vec<_>>();
        let more = commands.len().saturating_sub(COMMANDS_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Failure::new(what).hint(format!("fold each run by itself: {}{more}", shown.join(", ")))
    }

    /// The command that folds these files as this one would all.
    fn command_for(&self, name: &str, files: &[String]) -> String {
        let plain: String = name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let mut words = vec!["calipers".to_owned(), "fold".to_owned()];
        words.extend(files.iter().map(|file| quote_argument(file)));
        let typed: Vec<String> = std::env::args().skip_while(|word| word != "fold").skip(1).collect();
        let mut typed = typed.into_iter().filter(|word| !self.files.contains(word));
        while let Some(word) = typed.next() {
            match word.as_str() {
                "-o" | "--output" => drop(typed.next()),
                word if word.starts_with("--output=") || word.starts_with("-o=") => {}
                word => words.push(quote_argument(word)),
            }
        }
        words.push(format!("-o {plain}.state"));
        words.join(" ")
    }

    /// The columns that the question reads, and what they depend on.
    fn needs(&self, selection: &Selection, score: &ScoreOptions) -> Result<(Needs, Vec<(String, String)>), Failure> {
        let cluster = self.choices.cluster.clone();
        match (self.question, &self.policy) {
            (Question::Gate, None) => {
                let hint = "name it, as in `--for gate --policy policy.toml`";
                Err(Failure::new("which columns a part holds depends on the policy").hint(hint))
            }
            (Question::Gate, Some(policy)) => {
                let loaded = policy.load()?;
                let expressions = Expressions::load(&self.scripts, selection.labels.clone())?;
                let (metric, reducer) = (|text: &str| expressions.metric(text), |name: &str| expressions.reducer(name));
                let options =
                    GateOptions { cluster, expression: &metric, reducers: &reducer, ..GateOptions::default() };
                let _limit = limit_memory();
                let hash = vec![("policies".to_owned(), loaded.hash.clone())];
                Ok((options.needs(selection, &loaded.policy), hash))
            }
            (Question::Compare, _) => {
                let expressions = Expressions::load(&self.scripts, selection.labels.clone())?;
                let metrics = expressions.metrics(&self.choices.metric)?;
                let loaded = score.loaded.clone();
                let options = CompareOptions { metrics, cluster, loaded, ..CompareOptions::default() };
                Ok((options.needs(selection), Vec::new()))
            }
            (Question::Score | Question::Any, _) => Ok((Needs::everything(), Vec::new())),
        }
    }

    fn place(&self) -> Result<PartPlace, Failure> {
        let (text, is_bucket) = match (&self.part, &self.bucket) {
            (Some(part), _) => (part, false),
            (_, Some(bucket)) => (bucket, true),
            _ => return Ok(PartPlace::WHOLE),
        };
        PartPlace::parse(text, is_bucket).ok_or_else(|| {
            let flag = if is_bucket { "--bucket" } else { "--part" };
            let hint = format!("write the number of the share and how many there are, as in `{flag} 3/8`");
            Failure::new(format!("`{flag} {text}` is no share of a run")).hint(hint)
        })
    }
}
