//! `calipers policy check`: what may be wrong with a policy, before it is used.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flag_hints;
use crate::flags::{BaselineFlag, FormatFlag, ScriptFlags, SuiteFlag};
use crate::judging::Judging;
use crate::policy_file::PolicyFile;
use crate::script_child::limit_memory;
use crate::selection;
use crate::terminal::{allow_closed_pipe, note, print_json, print_text, screen};
use calipers::check::check;
use calipers::data::Samples;
use calipers::gate::{Finding, Severity};
use calipers::render::{Findings, findings_json, findings_text};
use calipers::{LoadedRun, Needs, Selection};
use clap::{Args, Subcommand};

/// `calipers policy`
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Report likely mistakes in a policy, with or without results
    Check(Box<Check>),
}

/// `calipers policy check`
///
/// Exit codes: 0 no errors, 2 errors; with `--strict` warnings count as errors.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The policy: JSON, YAML or TOML (https://calipers-eval.github.io/calipers/policy-check.html lists the checks)
    #[arg(value_name = "FILE")]
    policy: PolicyFile,

    /// Results of the kind that will be judged: files, folders or patterns; `-` is standard input (repeatable)
    #[arg(short, long, value_name = "FILES", num_args = 1..)]
    samples: Vec<String>,

    #[command(flatten)]
    suite: SuiteFlag,

    #[command(flatten)]
    baseline: BaselineFlag,

    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// Print JSON (`calipers.findings/1`)
    #[arg(long)]
    json: bool,
}

impl Policy {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        let Self::Check(check) = self;
        check.policy.scripts(&check.scripts)
    }

    /// Prints what was found, and counts it in the exit code.
    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let Self::Check(arguments) = self;
        let report = Findings { policy: arguments.policy.path().clone(), findings: arguments.findings()? };
        let printed = match arguments.json {
            true => print_json(&findings_json(&report)),
            false => print_text(&findings_text(&report, screen(), &flag_hints::of_finding)),
        };
        allow_closed_pipe(printed)?;
        let worst = if arguments.strict { Severity::Warning } else { Severity::Error };
        let has_mistakes = report.findings.iter().any(|finding| finding.severity <= worst);
        Ok(if has_mistakes { Outcome::FoundMistakes } else { Outcome::Done })
    }
}

impl Check {
    fn findings(&self) -> Result<Vec<Finding>, Failure> {
        if let Err(error) = self.policy.read() {
            // A file that is not understood has nothing more to look at.
            return Ok(error.mistakes().iter().cloned().map(Finding::from).collect());
        }
        let judging = Judging {
            cluster: &[],
            looks: None,
            lists_scenarios: true,
            policy: &self.policy,
            selection: Selection {
                format: self.format.files.format.clone(),
                columns: selection::columns(&self.format.files.columns)?.into(),
                runs: self.format.files.run.clone(),
                ..Selection::default()
            },
            expressions: Expressions::load(&self.scripts, Selection::default().labels)?,
            suite: self.suite.suite.as_deref(),
            baseline: self.baseline.baseline.as_deref(),
            version: None,
        };
        judging.with_options(|policy, options| {
            let samples = self.load_samples(&judging.selection)?;
            let _limit = limit_memory();
            Ok(check(&policy.policy, samples.as_ref(), options))
        })
    }

    /// The samples to look at, with all their columns: a finding may name any of them.
    fn load_samples(&self, selection: &Selection) -> Result<Option<Samples>, Failure> {
        if self.samples.is_empty() {
            return Ok(None);
        }
        let selection = selection.with_sources(selection::sources(&self.samples, selection)?);
        let run = LoadedRun::load("", &selection, &Needs::everything())?;
        if run.samples.is_empty() {
            let hint = "name the results of a run, or leave `--samples` out";
            return Err(Failure::new("there are no samples to check the policy with")
                .at(format!("in {}", self.samples.join(", ")))
                .hint(hint));
        }
        run.notes.iter().for_each(|text| note(text));
        Ok(Some(run.samples))
    }
}
