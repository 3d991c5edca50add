//! A report for people and for programs. Renderers compute nothing: they lay out what is in the report.
//!
//! - [`results_text`] and [`results_json`]: the metrics of runs.
//! - [`gate_text`], [`gate_json`], [`gate_markdown`], [`gate_junit`] and [`gate_annotations`]: a verdict, for a terminal, a
//!   program, a pull request, a CI server, and the log of a GitHub workflow.
//! - [`compare_text`], [`compare_json`] and [`compare_markdown`]: what changed between runs; [`plan_text`] and [`plan_json`]:
//!   how many samples. [`compare_plot`], [`gate_plot`] and [`results_plot`] draw with letters.
//! - [`judge_text`], [`judge_json`] and [`judge_markdown`]: how far a judge can be trusted.
//! - [`raise_text`] and [`raise_json`]: higher thresholds for a policy.
//! - [`metric_list_text`], [`metric_text`], [`metric_json`] and [`metric_reference_markdown`]: what metrics are.
//! - [`page_html`]: a page in one file, for a browser; [`page_fragment`]: its first part, for a notebook.
//! - [`GATE_FORMS`], [`COMPARE_FORMS`] and [`JUDGE_FORMS`]: these by name, for a program that lets its user choose.
//! - [`history_text`] and [`history_json`]: the runs of a history; [`view`]: its pages.
//! - [`findings_text`] and [`findings_json`]: what was found in a policy.
//!
//! Text from models and files is untrusted everywhere: its control characters are made visible before it reaches a
//! terminal, and what has a meaning in Markdown, XML, HTML or a workflow's log is escaped there.

mod compare;
mod document;
mod forest;
mod form;
mod gate;
mod history;
mod judge;
mod metrics;
mod notes;
mod numbers;
mod outcome_words;
pub mod page;
mod plan;
mod policy;
mod results;
mod screen;
mod text;
pub mod view;
mod words;

pub use compare::words::incomparable as incomparable_sentence;
pub use compare::{COMPARE_FORMS, COMPARE_MARKER, compare_json, compare_markdown, compare_schema, compare_text};
pub use document::schema_text;
pub use forest::{Ink, compare_plot, gate_plot, results_plot};
pub use form::{Form, Renderer};
pub use gate::{
    GATE_FORMS, GATE_MARKER, JunitError, gate_annotations, gate_decision, gate_json, gate_junit, gate_markdown,
    gate_reason, gate_rule, gate_schema, gate_text,
};
pub use history::{
    HistoryFigure, HistoryList, HistoryRun, HistoryVerdict, RunFilter, RunState, history_json, history_schema,
    history_text,
};
pub use judge::{JUDGE_FORMS, JUDGE_MARKER, judge_json, judge_markdown, judge_schema, judge_text};
pub use metrics::{
    expression_table_markdown, metric_json, metric_list_json, metric_list_text, metric_reference_markdown,
    metric_table_markdown, metric_text,
};
pub use notes::{RunNote, first_and_more, note_sentence};
pub use numbers::number;
pub use outcome_words::shortcoming_sentence;
pub use page::{page_fragment, page_html, page_policy};
pub use plan::{plan_json, plan_schema, plan_text};
pub use policy::{
    Findings, RaiseReport, baseline_text, finding_fix, finding_message, findings_json, findings_schema, findings_text,
    raise_json, raise_schema, raise_text,
};
pub use results::{SCHEMA, results_json, results_schema, results_table, results_text};
pub use screen::{FlagNames, Screen, Style};
pub use words::{caveat_next_step, caveat_sentence, reason_sentence, statistic_reason_sentence, undefined_sentence};
