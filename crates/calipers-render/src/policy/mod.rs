//! A policy itself: what was found in it, its baseline, and higher thresholds for it.

mod baseline_text;
mod findings;
pub(crate) mod findings_json;
mod findings_text;
mod findings_words;
mod raise_json;
mod raise_text;
mod raise_words;

pub use baseline_text::baseline_text;
pub use findings::Findings;
pub use findings_json::{findings_json, findings_schema};
pub use findings_text::findings_text;
pub use findings_words::{finding_fix, finding_message};
pub use raise_json::{RaiseReport, raise_json, raise_schema};
pub use raise_text::raise_text;
