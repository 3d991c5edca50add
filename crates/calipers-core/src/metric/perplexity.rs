//! `perplexity_per_token` and `perplexity_per_seq`.

use super::{Context, Measure, Metric, Tally};
use crate::{Answer, Error, Figure, Points, Undefined, Value};
use calipers_stats::{ExactSum, Moments};

/// The perplexity of all tokens together: long samples count more.
///
/// Each score's metadata must hold `num_tokens` and `sum_log_probs`; scores without them are left out.
/// *What it tells you.* How surprised the model is by a token. *When it misleads.* Across tokenizers.
/// *Formula.* exp(−Σ log p / Σ tokens).
///
/// ```
/// use calipers_core::{perplexity_per_token, Metadata, Plan, Samples, Score, Value};
///
/// let mut samples = Samples::new();
/// let facts = Metadata::new([("num_tokens", Value::from(10)), ("sum_log_probs", Value::from(-20.0))]);
/// samples.push(1).score("nll", Score::new(2.0).metadata(facts));
/// let results = Plan::new().metrics([perplexity_per_token()]).measure(&samples)?;
/// let perplexity = results.figure("nll", "perplexity_per_token").expect("asked for").value.clone();
/// assert!((perplexity.expect("defined") - 2f64.exp()).abs() < 1e-12);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn perplexity_per_token() -> Metric {
    Metric::new("perplexity_per_token", Perplexity { per_token: true })
}

/// The geometric mean of the samples' perplexities: each sample counts the same.
///
/// Each score's metadata must hold `num_tokens` and `sum_log_probs`; scores without them are left out.
/// *What it tells you.* How surprised the model is by a sample. *When it misleads.* For very short samples.
/// *Formula.* exp(mean(−log p / tokens)).
#[must_use]
pub fn perplexity_per_seq() -> Metric {
    Metric::new("perplexity_per_seq", Perplexity { per_token: false })
}

struct Perplexity {
    per_token: bool,
}

#[derive(Default)]
struct Seen {
    tokens: u64,
    log_probs: ExactSum,
    /// −log p / tokens of each sample.
    losses: Moments,
}

impl Measure for Perplexity {
    type State = Seen;

    fn start(&self) -> Seen {
        Seen::default()
    }

    fn fold(&self, state: &mut Seen, points: &Points<'_>, _: &Context) -> Result<(), Error> {
        for row in 0..points.len() {
            let number = |key| points.score_metadata(row)?.get(key).and_then(Value::as_number);
            let (Some(tokens), Some(log_prob)) = (number("num_tokens"), number("sum_log_probs")) else { continue };
            if tokens >= 1.0 {
                let tokens = tokens.floor();
                state.tokens += tokens as u64;
                state.log_probs.add(log_prob);
                state.losses.add(-log_prob / tokens);
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut Seen, other: Seen) {
        state.tokens += other.tokens;
        state.log_probs.merge(&other.log_probs);
        state.losses.merge(&other.losses);
    }

    fn finish(&self, state: Seen, tally: Tally, _: &Context) -> Result<Answer, Error> {
        let used = state.losses.count();
        let loss = if self.per_token {
            if state.tokens == 0 { None } else { Some(-state.log_probs.value() / state.tokens as f64) }
        } else {
            state.losses.mean().ok()
        };
        let value = loss
            .map(f64::exp)
            .ok_or_else(|| Undefined::other("no score has `num_tokens` and `sum_log_probs` in its metadata", f64::NAN));
        let tally = Tally { n: used, missing: tally.missing + tally.n - used };
        Ok(Figure::from_result(value, tally, "exponential of the mean loss").into())
    }
}
