//! A run in memory: samples, attempts and scores, column by column.

pub(crate) mod column;
pub(crate) mod cow_indices;
mod distribution;
pub(crate) mod estimand;
pub(crate) mod ids;
pub(crate) mod labels;
mod outcome_counts;
pub(crate) mod points;
mod records;
pub(crate) mod samples;
pub(crate) mod scenario;
mod score;
pub(crate) mod scores;
mod shards;
mod shortcoming;
mod table;
mod value;

pub use column::Column;
pub use distribution::{Bar, Distribution, DistributionOf};
pub use ids::SampleId;
pub use labels::{Labels, digit as decimal_digit, number as parse_number};
pub use outcome_counts::OutcomeCounts;
pub use points::Points;
pub use records::Record;
pub use samples::{Attempt, Metadata, Samples};
pub use scenario::{FIELDS, PassRule, Scenario, ScenarioOutcome, Scenarios, latencies, several_scorers};
pub use score::{Outcome, SampleScore, Score};
pub use shards::Shards;
pub use shortcoming::Shortcoming;
pub use table::{Cells, Table};
pub use value::Value;
