//! `calipers report`: a page to look at.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{
    BaselineFlag, FormatFlag, LabelFlags, LevelFlag, ScriptFlags, SelectionFlags, SuiteFlag, VersionFlag,
};
use crate::human_labels::note_unused;
use crate::judging::Judging;
use crate::policy_file::PolicyFile;
use crate::reading::{load_files, load_run, print_notes};
use crate::value_limits::LimitsFlag;
use crate::{report_files, script_child, selection};
use calipers::compare::{CompareOptions, CompareReport, compare};
use calipers::gate::GateReport;
use calipers::io::OutputFile;
use calipers::page::{PageReport, page};
use calipers::render::page_html;
use calipers::{LoadedFile, LoadedRun, Needs, Selection};
use clap::Args;

/// `calipers report`
///
/// With a policy, the report shows the verdict. The exit code stays 0; use `calipers gate` to judge.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Files, folders or patterns; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,

    /// The file to write, replaced if it exists; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: String,

    /// The title of the page, instead of the task or the file
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// The commit that was evaluated, instead of the one that the log names
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,

    /// Judge the results by this policy, all files together
    #[arg(short, long, value_name = "FILE")]
    policy: Option<PolicyFile>,

    #[command(flatten)]
    baseline: BaselineFlag,

    /// Compare with the run in this file, folder or pattern
    #[arg(long, value_name = "RUN", conflicts_with = "baseline")]
    against: Option<String>,

    #[command(flatten)]
    suite: SuiteFlag,

    #[command(flatten)]
    version: VersionFlag,

    /// The reducer of attempts for the verdict and the comparison, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    reducer: Option<String>,

    /// Samples with the same value of this field belong together, such as questions about one `document`; replaces the policy's
    /// `cluster` (repeatable, or separated by commas)
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    cluster: Vec<String>,

    #[command(flatten)]
    limits: LimitsFlag,

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
        let mut read = read.chain(&self.suite.suite).chain(&self.scripts.load).chain(&self.labels.labels);
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
        let sources = selection::distinct_sources(&self.files, &selection)?;
        let expressions = Expressions::load(&self.scripts, selection.labels.clone())?;
        let reducer = self.reducer.as_deref().map(|name| expressions.reducer(name)).transpose()?;
        let mut labels = self.labels.load(&selection, 1 + usize::from(self.against.is_some()))?;
        let (cluster, limits) = (self.cluster.clone(), self.limits.resolve()?);
        let selection = Selection { sources, reducers: reducer.map(|one| vec![one]), cluster, limits, ..selection };
        let labelled = Selection { human_labels: labels.remove(0), ..selection.clone() };
        let files = load_files(&labelled, &Needs::everything())?;
        note_unused(labelled.human_labels.as_deref())?;
        if files.iter().all(|file| file.runs.is_empty()) {
            let hint = "rerun the evaluation that should have written it";
            return Err(Failure::new("there are no results to show")
                .at(format!("in {}", self.files.join(", ")))
                .hint(hint));
        }
        let comparison = match &self.against {
            Some(against) => {
                let selection = Selection { human_labels: labels.pop().flatten(), ..selection.clone() };
                Some(self.compare(against, &files, &selection)?)
            }
            None => None,
        };
        let gate = match &self.policy {
            Some(policy) => Some(self.judge(policy, &files, &selection, expressions)?),
            None => None,
        };
        let mut page = page(files, &selection, gate, comparison)?;
        if let Some(title) = &self.title {
            page.title.clone_from(title);
        }
        page.commit.clone_from(&self.commit);
        Ok(page)
    }

    fn compare(&self, against: &String, files: &[LoadedFile], selection: &Selection) -> Result<CompareReport, Failure> {
        let options = CompareOptions::default();
        let candidate = LoadedRun::merge(&self.files.join(", "), files.iter().cloned())?;
        let baseline = load_run(std::slice::from_ref(against), selection, &options.needs(selection))?;
        note_unused(selection.human_labels.as_deref())?;
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
            cluster: &self.cluster,
            looks: None,
            lists_scenarios: true,
            policy,
            selection: selection.clone(),
            expressions,
            suite: self.suite.suite.as_deref(),
            baseline: self.baseline.baseline.as_deref(),
            version: self.version.for_version.as_deref(),
        };
        let run = LoadedRun::merge("", files.iter().cloned())?;
        print_notes(&run);
        judging.with_options(|policy, options| judging.judge(&run, policy, options))
    }
}
