//! What a verdict depends on besides results, resolved from flags: for `gate`, `baseline`, `report` and `eval --gate`.

use crate::date;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{JudgingFlags, ScriptFlags};
use crate::human_labels::note_unused;
use crate::looks_file::judge_counted;
use crate::policy_file::PolicyFile;
use crate::reading::{load_files, load_selected, print_notes};
use crate::script_child::limit_memory;
use crate::selection;
use calipers::gate::{self, Baseline, GateOptions, GateReport};
use calipers::io::{LoadedPolicy, Source, read_baseline, read_suite};
use calipers::{LoadedFile, LoadedRun, Needs, Selection};

/// What a verdict depends on besides results.
pub(crate) struct Judging<'a> {
    pub(crate) policy: &'a PolicyFile,
    pub(crate) selection: Selection,
    pub(crate) expressions: Expressions<'a>,
    pub(crate) suite: Option<&'a str>,
    pub(crate) baseline: Option<&'a str>,
    pub(crate) version: Option<&'a str>,
    /// Fields by whose values samples go together, in place of those of the policy.
    pub(crate) cluster: &'a [String],
    /// Where looks at this suite are remembered.
    pub(crate) looks: Option<&'a str>,
    /// Whether a report that is written lists the scenarios.
    pub(crate) lists_scenarios: bool,
}

impl<'a> Judging<'a> {
    /// The policy, the files and the choices that these flags name.
    pub(crate) fn resolve(flags: &'a JudgingFlags, level: f64) -> Result<Self, Failure> {
        flags.policy.load()?;
        let selection = selection::resolve(&flags.selection, &flags.format, level, &flags.scripts)?;
        let human_labels = flags.labels.load_one(&selection)?;
        let sources = selection::distinct_sources(&flags.files, &selection)?;
        let expressions = Expressions::load(&flags.scripts, selection.labels.clone())?;
        let reducers = flags.reducer.as_deref().map(|name| expressions.reducer(name)).transpose()?;
        Ok(Self {
            policy: &flags.policy,
            selection: Selection { sources, human_labels, reducers: reducers.map(|one| vec![one]), ..selection },
            expressions,
            suite: flags.suite.suite.as_deref(),
            baseline: None,
            version: None,
            cluster: &[],
            looks: None,
            lists_scenarios: true,
        })
    }

    /// This policy, for results that are here already, with the usual choices.
    pub(crate) fn of_source(policy: &'a PolicyFile, source: Source, scripts: &'a ScriptFlags) -> Result<Self, Failure> {
        policy.load()?;
        let selection = Selection { scripts: scripts.load.clone(), ..Selection::of([source]) };
        let expressions = Expressions::load(scripts, selection.labels.clone())?;
        let (suite, baseline, version, looks) = (None, None, None, None);
        let (cluster, lists_scenarios) = (&[][..], true);
        Ok(Self { policy, selection, expressions, suite, baseline, version, cluster, looks, lists_scenarios })
    }

    /// Asks something of the policy, with all that the answer depends on. Suite and baseline are read here.
    pub(crate) fn with_options<T>(
        &self,
        ask: impl FnOnce(&LoadedPolicy, &GateOptions<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let policy = self.policy.load()?;
        let (metric, reducer) =
            (|text: &str| self.expressions.metric(text), |name: &str| self.expressions.reducer(name));
        let options = GateOptions {
            suite: self.suite.map(read_suite).transpose()?,
            baseline: self.baseline.map(read_dated).transpose()?,
            version: self.version.map(str::to_owned),
            cluster: self.cluster.to_vec(),
            // Looks are told apart by what became of each scenario.
            lists_scenarios: self.lists_scenarios || self.looks.is_some(),
            provenance: self.policy.provenance(policy),
            expression: &metric,
            reducers: &reducer,
            ..GateOptions::default()
        };
        ask(policy, &options)
    }

    /// The results, with the columns that the policy's metrics read. Scripts have a limit of memory, and reading has none.
    pub(crate) fn load(&self, policy: &LoadedPolicy, options: &GateOptions<'_>) -> Result<LoadedRun, Failure> {
        let needs = {
            let _limit = limit_memory();
            options.needs(&self.selection, &policy.policy)
        };
        let run = load_selected("", &self.selection, &needs)?;
        print_notes(&run);
        note_unused(self.selection.human_labels.as_deref())?;
        Ok(run)
    }

    /// The results with everything that they hold, file by file and as one run: a page shows the files.
    pub(crate) fn load_files(&self) -> Result<(Vec<LoadedFile>, LoadedRun), Failure> {
        let files = load_files(&self.selection, &Needs::everything())?;
        let run = LoadedRun::merge("", files.clone())?;
        print_notes(&run);
        note_unused(self.selection.human_labels.as_deref())?;
        Ok((files, run))
    }

    /// The verdict on a run.
    pub(crate) fn judge(
        &self,
        run: &LoadedRun,
        policy: &LoadedPolicy,
        options: &GateOptions<'_>,
    ) -> Result<GateReport, Failure> {
        let _limit = limit_memory();
        let (policy, selection) = (&policy.policy, &self.selection);
        match self.looks {
            Some(path) => judge_counted(path, run, policy, selection, options),
            None => Ok(gate::gate(run, policy, selection, options)?),
        }
    }
}

/// A baseline with its age in days.
pub(crate) fn read_dated(path: &str) -> Result<(Baseline, Option<f64>), Failure> {
    let baseline = read_baseline(path)?;
    let age = baseline.date.as_deref().and_then(date::age_days);
    Ok((baseline, age))
}
