//! `calipers gate`: may this version ship?

use crate::exit::Outcome;
use crate::failure::Failure;
use crate::flags::{BaselineFlag, JudgingFlags, LevelFlag, VersionFlag};
use crate::judging::Judging;
use crate::report_files::{OpenReports, ReportFiles, output_help};
use crate::terminal::{ink, screen, with_plot};
use calipers::gate::GateReport;
use calipers::page::page;
use calipers::render::{GATE_FORMS, gate_annotations, gate_markdown, gate_plot, gate_text, page_html};
use clap::Args;
use std::fs::OpenOptions;
use std::io::Write;

/// `calipers gate`
///
/// Exit codes: 0 pass, 1 fail, 2 invalid usage, policy or input, 3 undecided.
#[derive(Args, Debug)]
pub(crate) struct Gate {
    #[command(flatten)]
    judging: JudgingFlags,

    #[command(flatten)]
    baseline: BaselineFlag,

    #[command(flatten)]
    level: LevelFlag,

    #[command(flatten)]
    version: VersionFlag,

    /// Samples with the same value of this field belong together, such as questions about one `document`; replaces the policy's
    /// `cluster` (repeatable, or separated by commas)
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    cluster: Vec<String>,

    /// A file that counts the looks at this suite; each look uses up part of the error that the policy's confidence allows
    #[arg(long, value_name = "FILE")]
    looks: Option<String>,

    #[arg(short, long, value_name = "FORM=FILE", value_delimiter = ',', help = output_help(GATE_FORMS, true))]
    output: Vec<String>,

    #[cfg(feature = "view")]
    #[command(flatten)]
    history: crate::history_file::HistoryFlag,

    /// Also draw the gates
    #[arg(long)]
    plot: bool,

    /// Print JSON (`calipers.gate/1`)
    #[arg(long)]
    json: bool,
}

impl Gate {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        self.judging.scripts()
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        #[cfg(feature = "view")]
        self.history.check(&self.judging.files)?;
        // A wrong name fails before any work is done.
        let outputs = self.open_outputs()?;
        let judging = Judging {
            baseline: self.baseline.baseline.as_deref(),
            version: self.version.for_version.as_deref(),
            cluster: &self.cluster,
            looks: self.looks.as_deref(),
            lists_scenarios: !outputs.is_text_only() || is_workflow() || self.is_recorded(),
            ..Judging::resolve(&self.judging, self.level.level)?
        };
        let (report, files) = judging.with_options(|policy, options| {
            let (files, run) = match outputs.has_page() {
                true => judging.load_files()?,
                false => (Vec::new(), judging.load(policy, options)?),
            };
            Ok((judging.judge(&run, policy, options)?, files))
        })?;
        let text = || {
            let plot = if self.plot { gate_plot(&report, screen(), ink()) } else { String::new() };
            with_plot(gate_text(&report, screen()), &plot)
        };
        let page = match outputs.has_page() {
            true => Some(page_html(&page(files, &judging.selection, Some(report.clone()), None)?)),
            false => None,
        };
        outputs.write(&report, page.as_deref(), text)?;
        if is_workflow() {
            annotate_workflow(&report)?;
        }
        #[cfg(feature = "view")]
        self.history.record(
            &self.judging.files,
            &judging.selection,
            crate::history_file::RecordedAnswer::Verdict(&report),
        )?;
        Ok(Outcome::Judged(report.verdict))
    }

    #[cfg(feature = "view")]
    fn is_recorded(&self) -> bool {
        self.history.is_set()
    }

    #[cfg(not(feature = "view"))]
    fn is_recorded(&self) -> bool {
        false
    }

    /// The reports to write, opened.
    fn open_outputs(&self) -> Result<OpenReports<GateReport>, Failure> {
        let judging = &self.judging;
        let inputs = judging.files.iter().chain([judging.policy.path()]).chain(&self.baseline.baseline);
        let inputs = inputs.chain(&judging.suite.suite).chain(&judging.scripts.load).chain(&judging.labels.labels);
        let files = ReportFiles {
            forms: GATE_FORMS,
            has_page: true,
            options: &self.output,
            json: self.json,
            inputs: inputs.map(String::as_str).collect(),
        };
        files.open()
    }
}

/// True in a workflow on GitHub, which gets annotations and a summary beside the text.
fn is_workflow() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some()
}

/// Annotations where GitHub reads them, and the summary of the step.
fn annotate_workflow(report: &GateReport) -> Result<(), Failure> {
    eprint!("{}", gate_annotations(report));
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else { return Ok(()) };
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| writeln!(file, "{}", gate_markdown(report)));
    written.map_err(|error| Failure::new(format!("the step summary cannot be written: {error}")))
}
