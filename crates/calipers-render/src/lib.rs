//! A report for people and for programs. Renderers compute nothing: they lay out what is in the report.
//!
//! - [`results_text`] and [`results_json`]: the metrics of runs.
//! - [`gate_text`], [`gate_json`], [`gate_markdown`], [`gate_junit`] and [`gate_annotations`]: a verdict, for a terminal, a
//!   program, a pull request, a CI server, and the log of a GitHub workflow.
//! - [`compare_text`], [`compare_json`] and [`compare_markdown`]: what changed between runs; [`plan_text`] and [`plan_json`]:
//!   how many samples. [`compare_plot`], [`gate_plot`] and [`results_plot`] draw with letters.
//! - [`raise_text`] and [`raise_json`]: higher thresholds for a policy.
//! - [`page_html`]: a page in one file, for a browser.
//! - [`findings_text`] and [`findings_json`]: what was found in a policy.
//!
//! Text from models and files is untrusted everywhere: its control characters are made visible before it reaches a
//! terminal, and what has a meaning in Markdown, XML, HTML or a workflow's log is escaped there.

mod annotations;
mod compare;
mod compare_json;
mod compare_markdown;
mod findings;
mod gate;
mod gate_json;
mod html;
mod json;
mod junit;
mod markdown;
mod numbers;
mod plan;
mod plan_json;
mod raise_json;
mod terminal;
mod text;

pub use annotations::gate_annotations;
pub use compare_json::{COMPARE_SCHEMA, compare_json};
pub use compare_markdown::{COMPARE_MARKER, compare_markdown};
pub use findings::{FINDINGS_SCHEMA, Findings, findings_json, findings_text};
pub use gate_json::{GATE_SCHEMA, gate_json};
pub use html::page_html;
pub use json::{RESULTS_SCHEMA, SCHEMA, results_json};
pub use junit::{JunitError, gate_junit};
pub use markdown::{GATE_MARKER, gate_markdown};
pub use numbers::number;
pub use plan_json::{PLAN_SCHEMA, plan_json};
pub use raise_json::{RAISE_SCHEMA, Raised, raise_json};
pub use terminal::{
    Ink, Screen, Style, baseline_text, compare_plot, compare_text, gate_plot, gate_text, plan_text, raise_text,
    results_plot, results_text,
};
