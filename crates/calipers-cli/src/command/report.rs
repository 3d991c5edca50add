//! `calipers report`: a page to look at.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{BaselineFlag, FormatFlag, LevelFlag, ScriptFlags, SelectionFlags, SuiteFlag};
use crate::judging::Judging;
use crate::policy_file::PolicyFile;
use crate::{report_files, script_child, selection};
use calipers::compare::{CompareOptions, CompareReport, compare};
use calipers::gate::GateReport;
use calipers::io::OutputFile;
use calipers::page::{PageReport, page};
use calipers::render::page_html;
use calipers::{LoadedFile, LoadedRun, Needs, RunError, Selection, load};
use clap::Args;

/// `calipers report`
///
/// A policy puts its verdict on the page; the exit code stays 0: it is `calipers gate` that judges.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// The file to write, which is replaced if it exists; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: String,

    /// Judge the results by this policy, all files as one version
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PolicyFile>,

    #[command(flatten)]
    baseline: BaselineFlag,

    /// Compare with the run in this file, folder or pattern, sample by sample
    #[arg(long, value_name = "RUN", conflicts_with = "baseline")]
    against: Option<String>,

    #[command(flatten)]
    suite: SuiteFlag,

    /// The version whose `progressive` thresholds apply, such as v2.0
    #[arg(long, value_name = "VERSION", requires = "policy")]
    for_version: Option<String>,

    /// The reducer of attempts for the verdict and the comparison, such as `mean`, `mode`, `pass_k_3`
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
}

impl Report {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        match &self.policy {
            Some(policy) => policy.scripts(&self.scripts),
            None => script_child::is_needed(&[], &self.scripts.load),
        }
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        self.check()?;
        let output = match self.output.as_str() {
            "-" => OutputFile::stdout(),
            file => OutputFile::create(file, true)?,
        };
        let page = self.page()?;
        output.finish_with(&page_html(&page))?;
        Ok(Outcome::Done)
    }

    /// What is read must not be written, and a baseline is compared with by a policy's metrics.
    fn check(&self) -> Result<(), Failure> {
        let policy = self.policy.as_ref().map(PolicyFile::path);
        let read = self.files.iter().chain(policy).chain(&self.baseline.baseline).chain(&self.against);
        let mut read = read.chain(&self.suite.suite).chain(&self.scripts.load);
        let written = report_files::identity(&self.output);
        if self.output != "-" && read.any(|file| report_files::identity(file) == written) {
            let what = format!("`--output {}` would replace what is read", self.output);
            return Err(Failure::new(what).hint("write the page to another file"));
        }
        if let (Some(baseline), None) = (&self.baseline.baseline, &self.policy) {
            let hint = "name the policy that it was recorded with, or compare with a run by `--against`";
            return Err(Failure::new(format!("`--baseline {baseline}` needs `--policy`")).hint(hint));
        }
        if let (Some(suite), None) = (&self.suite.suite, &self.policy) {
            let hint = "a suite says what a policy should find; leave it out";
            return Err(Failure::new(format!("`--suite {suite}` needs `--policy`")).hint(hint));
        }
        Ok(())
    }

    /// The page. The results are read once, for the verdict, the comparison and the page itself.
    fn page(&self) -> Result<PageReport, Failure> {
        let selection = selection::resolve(&self.selection, &self.format, self.level.level, &self.scripts)?;
        let sources = selection::distinct_sources(&self.files, selection.format.as_deref())?;
        let expressions = Expressions::load(&self.scripts, selection.labels.clone())?;
        let reducer = self.reducer.as_deref().map(|name| expressions.reducer(name)).transpose()?;
        let selection = Selection { sources, reducers: reducer.map(|one| vec![one]), ..selection };
        let files = load(&selection, &Needs::everything()).collect::<Result<Vec<_>, RunError>>()?;
        let comparison = match &self.against {
            Some(against) => Some(self.compare(against, &files, &selection)?),
            None => None,
        };
        let gate = match &self.policy {
            Some(policy) => Some(self.judge(policy, &files, &selection, expressions)?),
            None => None,
        };
        Ok(page(files, &selection, gate, comparison)?)
    }

    fn compare(&self, against: &String, files: &[LoadedFile], selection: &Selection) -> Result<CompareReport, Failure> {
        let options = CompareOptions::default();
        let candidate = LoadedRun::merge(&self.files.join(", "), files.iter().cloned());
        let sources = selection::distinct_sources(std::slice::from_ref(against), selection.format.as_deref())?;
        let others = selection.with_sources(sources);
        let baseline = LoadedRun::load(against, &others, &options.needs(&others))?;
        let _limit = script_child::limit_memory();
        Ok(compare(&[candidate, baseline], selection, &options)?)
    }

    fn judge(
        &self,
        policy: &PolicyFile,
        files: &[LoadedFile],
        selection: &Selection,
        expressions: Expressions<'_>,
    ) -> Result<GateReport, Failure> {
        let judging = Judging {
            policy,
            selection: selection.clone(),
            expressions,
            suite: self.suite.suite.as_deref(),
            baseline: self.baseline.baseline.as_deref(),
            version: self.for_version.as_deref(),
        };
        let run = LoadedRun::merge("", files.iter().cloned());
        crate::judging::print_notes(&run);
        judging.with_options(|policy, options| judging.judge(&run, policy, options))
    }
}
