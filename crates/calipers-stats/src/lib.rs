//! Statistics for evaluations: numbers in; numbers with method, n and caveats out.
//!
//! The crate knows no word of evaluation. It takes values, counts and clusters, and answers with
//! estimates that say how many values they rest on, by which method they were made, and what to beware
//! of. What has no answer is [`Undefined`], never 0 and never NaN.
//!
//! Two promises hold throughout:
//! - **The same bits always.** Sums are exact ([`ExactSum`]) and randomness comes from a recorded
//!   [`Seed`], one stream per replicate. Order, sharding and threads change nothing.
//! - **The caller chooses.** Whatever changes an answer (level, seed, resamples) is an argument.

pub mod adjusted_ratio;
pub mod agreement;
mod betting;
mod blaker;
pub mod bootstrap;
pub mod bounded_ratio;
mod bracket;
mod caveat;
pub mod cluster;
pub mod components;
mod confidence;
pub mod confusion;
pub mod corrected_mean;
pub mod corrected_units;
pub mod double_sampling;
pub mod eprocess;
pub mod exact;
mod exponential_sum;
mod fixed_sums;
pub mod joined_difference;
pub mod matthews;
pub mod mean;
pub mod misclassification;
mod moments;
pub mod multiplicity;
pub mod paired;
pub mod pass_at_k;
pub mod planned_mean;
pub mod power;
mod power_sums;
pub mod prediction_powered;
pub mod proportion;
pub mod quantile;
pub mod ratio;
pub mod recorded_error;
pub mod rerun_mean;
mod seed;
pub mod skewed_mean;
pub mod skewed_ratio;
pub mod special;
mod sum;
pub mod threshold_test;
pub mod two_sample;
pub mod typical_change;
mod undefined;
pub mod unit_quantile;
pub mod weighted;

pub use caveat::StatisticCaveat;
pub use confidence::{Confidence, Interval, Method, Side};
pub use moments::{MomentParts, Moments, find_scale, find_scale_ends};
pub use seed::Seed;
pub use sum::ExactSum;
pub use threshold_test::Verdict;
pub use undefined::{AllowedRange, Goal, Quantity, Undefined};
