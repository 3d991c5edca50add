//! A run in memory: samples, attempts and scores, column by column.

mod attempt_facts;
mod cached_answers;
pub(crate) mod clusters;
pub(crate) mod column;
mod completeness;
mod counted_names;
pub(crate) mod cow_indices;
mod deliveries;
pub(crate) mod distinct_texts;
mod distribution;
pub(crate) mod estimand;
mod field_column;
pub(crate) mod ids;
pub(crate) mod labels;
mod missing_rule;
mod outcome_counts;
pub(crate) mod points;
mod predictions;
mod records;
pub(crate) mod row_codes;
pub(crate) mod row_index;
pub(crate) mod samples;
mod saved_samples;
pub(crate) mod scenario;
mod score;
pub(crate) mod score_rows;
pub(crate) mod scores;
mod shards;
mod shortcoming;
mod table;
mod value;

pub use cached_answers::CACHED_ANSWERS;
pub use clusters::{Clusters, cluster_name};
pub use column::Column;
pub use column::PackedText;
pub use completeness::{Completeness, ExpectedRun, NEVER_RAN, RunEnding};
pub use deliveries::{Contradiction, DeliveredAttempt, Delivery, Difference, DifferentPart};
pub use distinct_texts::{DistinctTexts, TextList};
pub use distribution::{Bar, Distribution, DistributionOf};
pub use ids::SampleId;
pub use labels::{Labels, digit as decimal_digit, number as parse_number};
pub use missing_rule::{MissingRule, RuledSamples};
pub use outcome_counts::OutcomeCounts;
pub use points::Points;
pub use records::Record;
pub use row_codes::FactColumn;
pub use samples::{Attempt, Metadata, Samples};
pub use scenario::{
    FIELDS, PassRule, Scenario, ScenarioOutcome, Scenarios, count_timeouts, latencies, several_scorers,
};
pub use score::{Outcome, SampleScore, Score};
pub use score_rows::ScoreRows;
pub use shards::Shards;
pub use shortcoming::Shortcoming;
pub use table::{Cells, Table};
pub use value::Value;
