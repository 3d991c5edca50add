//! `calipers report`: a page to look at.

use crate::arguments::{Chosen, Compared, Judging, Level, Reading, Scripts, Suite};
use crate::exit::Failure;
use crate::expressions::Expressions;
use crate::{gate, output, score};
use calipers::compare::{self as comparing, Chosen as Picked};
use calipers::io::{OutputFile, Source, load_policy};
use calipers::page::{PageReport, page};
use calipers::render::page_html;
use calipers::{GateReport, Reducer, Seed, score::Options};
use clap::Args;
use std::path::Path;

/// `calipers report`
///
/// A policy puts its verdict on the page; the exit code stays 0, for it is `calipers gate` that judges.
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
    policy: Option<String>,

    #[command(flatten)]
    compared: Compared,

    /// Compare with the run in this file, folder or pattern, sample by sample
    #[arg(long, value_name = "RUN", conflicts_with = "baseline")]
    against: Option<String>,

    #[command(flatten)]
    suite: Suite,

    /// The version whose `progressive` thresholds hold, such as v2.0
    #[arg(long, value_name = "VERSION", requires = "policy")]
    for_version: Option<String>,

    /// The reducer of attempts for the verdict and the comparison, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    reducer: Option<String>,

    #[command(flatten)]
    chosen: Chosen,

    #[command(flatten)]
    level: Level,

    #[command(flatten)]
    scripts: Scripts,

    #[command(flatten)]
    reading: Reading,
}

/// True unless it is certain that no script runs.
pub(crate) fn has_scripts(report: &Report) -> bool {
    report.policy.as_deref().is_some_and(|policy| gate::runs_scripts(policy, &report.scripts))
}

pub(crate) fn run(report: Report) -> Result<(), Failure> {
    check(&report)?;
    let output = match report.output.as_str() {
        "-" => OutputFile::stdout(),
        file => OutputFile::create(file, true)?,
    };
    let page = made(report)?;
    Ok(output.finish_with(&page_html(&page))?)
}

/// What is read must not be written, and a baseline is compared with by a policy's metrics.
fn check(report: &Report) -> Result<(), Failure> {
    let read = report.files.iter().chain(&report.policy).chain(&report.compared.baseline).chain(&report.against);
    let read = read.chain(&report.suite.suite).chain(&report.scripts.load);
    let written = output::identity(&report.output);
    if report.output != "-" && read.into_iter().any(|file| output::identity(file) == written) {
        let hint = "write the page to another file";
        return Err(Failure::Input(format!("`--output {}` would replace what is read\n  hint: {hint}", report.output)));
    }
    if let (Some(baseline), None) = (&report.compared.baseline, &report.policy) {
        let hint = "name the policy that it was recorded with, or compare with a run by `--against`";
        return Err(Failure::Input(format!("`--baseline {baseline}` needs `--policy`\n  hint: {hint}")));
    }
    if let (Some(suite), None) = (&report.suite.suite, &report.policy) {
        let hint = "a suite says what a policy should find; leave it out";
        return Err(Failure::Input(format!("`--suite {suite}` needs `--policy`\n  hint: {hint}")));
    }
    Ok(())
}

fn made(report: Report) -> Result<PageReport, Failure> {
    let sources = gate::once(score::sources(&report.files, report.reading.format.as_deref())?);
    let options = Options {
        scorers: report.chosen.scorer.clone(),
        filter: score::filters(&report.chosen.filter)?,
        labels: score::labels(&report.chosen.label)?,
        level: report.level.level,
        seed: Seed(report.chosen.seed),
        ..Options::default()
    };
    let format = report.reading.format.clone();
    let compare = match &report.against {
        None => None,
        Some(run) => {
            let expressions = Expressions::new(&report.scripts, options.labels.clone());
            let reducer: Option<Reducer> =
                report.reducer.as_deref().map(|name| expressions.reducer(name)).transpose()?;
            let picked = Picked { scorers: options.scorers.clone(), filter: options.filter.clone() };
            let candidate = comparing::read(&report.files.join(", "), sources.clone(), format.as_deref(), &picked)?;
            let others = gate::once(score::sources(std::slice::from_ref(run), format.as_deref())?);
            let baseline = comparing::read(run, others, format.as_deref(), &picked)?;
            let asked = comparing::Options {
                reducer,
                labels: options.labels.clone(),
                level: options.level,
                seed: options.seed,
                ..comparing::Options::default()
            };
            Some(comparing::compare(&[candidate, baseline], &asked)?)
        }
    };
    let gate = judged(report, &sources)?;
    page(&sources, format.as_deref(), &options, gate, compare).map_err(score::told)
}

/// The verdict, where a policy is named.
fn judged(report: Report, sources: &[Source]) -> Result<Option<GateReport>, Failure> {
    let Some(policy) = report.policy else { return Ok(None) };
    let loaded = load_policy(Path::new(&policy))?;
    let judging = Judging {
        files: report.files,
        policy,
        suite: report.suite,
        reducer: report.reducer,
        chosen: report.chosen,
        scripts: report.scripts,
        reading: report.reading,
    };
    let asked =
        gate::Asked { compared: &report.compared, level: &report.level, for_version: report.for_version.as_ref() };
    gate::judge(&judging, &asked, &loaded, sources.to_vec()).map(Some)
}
