//! What may be wrong with a policy, before it is used.

use crate::gate::{GateOptions, resolve};
use calipers_core::Samples;
use calipers_gate::policy::Policy;
use calipers_gate::{Draft, Finding, lint};

/// What may be wrong with a policy, in the order of the file. Samples of the kind that it will judge say more, and so do the
/// suite and the baseline of the options.
///
/// ```
/// use calipers::check::check;
/// use calipers::gate::GateOptions;
/// use calipers::io::read_document;
/// use calipers::policy::Policy;
///
/// let policy = read_document("policy.json", br#"{"thresholds": {"blocking": {"accuracy": 95}}, "confidence": 0.95}"#)?;
/// let policy = Policy::parse(&policy).expect("no mistakes");
/// let findings = check(&policy, None, &GateOptions::default());
/// assert_eq!(findings[0].id(), "undecidable-gate");
/// let message = calipers::render::finding_message(&findings[0]);
/// assert_eq!(message, "`accuracy ≥ 95 %` needs at least 59 samples to pass at 95 % confidence");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check(policy: &Policy, samples: Option<&Samples>, options: &GateOptions<'_>) -> Vec<Finding> {
    lint(&Draft {
        policy,
        registry: &options.registry,
        resolve: &|expression| resolve(options, expression),
        reducers: options.reducers,
        samples,
        suite: options.suite.as_deref(),
        baseline: options.baseline.as_ref().map(|(baseline, _)| baseline),
    })
}
