//! What was found in a policy, for its renderers.

use calipers_gate::{Finding, Severity};

/// What was found in a policy.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The file, as it was named.
    pub policy: String,
    /// The findings, in the order of the file.
    pub findings: Vec<Finding>,
}

impl Findings {
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}
