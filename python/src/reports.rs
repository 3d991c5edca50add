//! Reports, as text, JSON, Markdown, JUnit and parts of pages.

use calipers::compare::CompareReport;
use calipers::gate::GateReport;
use calipers::judge::JudgeReport;
use calipers::page::{PageReport, PageRun, PassBasis};
use calipers::plan;
use calipers::render::{
    FlagNames, Ink, Screen, Style, compare_json, compare_markdown, compare_plot, compare_text, gate_decision,
    gate_json, gate_junit, gate_markdown, gate_plot, gate_text, judge_json, judge_markdown, judge_text, page_fragment,
    plan_json, plan_text, results_json, results_plot, results_text,
};
use calipers::sizing::PlanReport;
use calipers::text::{defuse_json, defuse_markup};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A report in any form.
#[pyclass(frozen, module = "calipers._core")]
pub(crate) struct Report {
    pub(crate) content: Content,
    pub(crate) notes: Vec<String>,
}

/// What a report is about.
pub(crate) enum Content {
    Results(Box<plan::Report>),
    Gate(Box<GateReport>),
    Compare(Box<CompareReport>),
    Plan(Box<PlanReport>),
    Judge(Box<JudgeReport>),
}

/// What texts name where they advise something.
const ARGUMENTS: FlagNames =
    FlagNames { everything: Some("to_dict()"), long: None, version: Some("for_version="), baseline: Some("baseline=") };

#[pymethods]
impl Report {
    /// The document that the command line prints with `--json`.
    fn json(&self) -> String {
        let json = match &self.content {
            Content::Results(report) => results_json(report),
            Content::Gate(report) => gate_json(report),
            Content::Compare(report) => compare_json(report),
            Content::Plan(report) => plan_json(report),
            Content::Judge(report) => judge_json(report),
        };
        defuse_json(&format!("{json:#}\n")).into_owned()
    }

    /// Tables for a terminal of this width.
    #[pyo3(signature = (width=80, colour=false, plot=false))]
    fn text(&self, width: usize, colour: bool, plot: bool) -> String {
        let style = if colour { Style::Colour } else { Style::Plain };
        let screen = Screen { style, width, flags: ARGUMENTS };
        let text = match &self.content {
            Content::Results(report) => results_text(report, screen),
            Content::Gate(report) => gate_text(report, screen),
            Content::Compare(report) => compare_text(report, screen),
            Content::Plan(report) => plan_text(report, screen, Ink::Unicode),
            Content::Judge(report) => judge_text(report, screen),
        };
        let picture = match &self.content {
            Content::Results(report) if plot => results_plot(report, screen, Ink::Unicode),
            Content::Gate(report) if plot => gate_plot(report, screen, Ink::Unicode),
            Content::Compare(report) if plot => compare_plot(report, screen, Ink::Unicode),
            _ => String::new(),
        };
        if picture.is_empty() { text } else { format!("{text}\n{picture}") }
    }

    /// Markdown, for a pull request; nothing where a report has no such form.
    fn markdown(&self) -> Option<String> {
        match &self.content {
            Content::Gate(report) => Some(gate_markdown(report)),
            Content::Compare(report) => Some(compare_markdown(report)),
            Content::Judge(report) => Some(judge_markdown(report)),
            Content::Results(_) | Content::Plan(_) => None,
        }
    }

    /// JUnit, for a CI server; nothing where a report has no such form.
    fn junit(&self) -> PyResult<Option<String>> {
        match &self.content {
            Content::Gate(report) => {
                gate_junit(report).map(Some).map_err(|error| PyValueError::new_err(error.to_string()))
            }
            _ => Ok(None),
        }
    }

    /// A part of a page, for a notebook.
    fn html(&self) -> String {
        match &self.content {
            Content::Results(report) => {
                page_fragment(&PageReport { runs: report.runs.iter().map(page_run).collect(), ..PageReport::default() })
            }
            Content::Gate(report) => {
                page_fragment(&PageReport { gate: Some((**report).clone()), ..PageReport::default() })
            }
            Content::Compare(report) => {
                page_fragment(&PageReport { compare: Some((**report).clone()), ..PageReport::default() })
            }
            Content::Plan(_) | Content::Judge(_) => {
                let text = self.text(Screen::WIDTH, false, false);
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                format!("<pre style=\"overflow-x: auto\">{}</pre>", defuse_markup(&text))
            }
        }
    }

    /// What decided a verdict, in words; nothing for other reports.
    fn decision(&self) -> Option<String> {
        match &self.content {
            Content::Gate(report) => Some(gate_decision(report)),
            _ => None,
        }
    }

    /// What was not read, and why.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// A run that is drawn by its figures alone.
fn page_run(report: &plan::RunReport) -> PageRun {
    PageRun {
        report: report.clone(),
        counts: Default::default(),
        pass_basis: PassBasis::Nothing,
        scorers: Vec::new(),
        distributions: Vec::new(),
        repeats: None,
        spending: Vec::new(),
    }
}
