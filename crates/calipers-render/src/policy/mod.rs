//! A policy itself: what was found in it, its baseline, and higher thresholds for it.

mod baseline_text;
pub(crate) mod findings;
mod raise_json;
mod raise_text;

pub use baseline_text::baseline_text;
pub use findings::{FINDINGS_SCHEMA, Findings, findings_json, findings_text};
pub use raise_json::{RAISE_SCHEMA, Raised, raise_json};
pub use raise_text::raise_text;
