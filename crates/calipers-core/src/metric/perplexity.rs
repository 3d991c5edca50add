//! `perplexity_per_token` and `perplexity_per_seq`.

use super::registry::Definition;
use super::{Context, Measure, Metric, Tally};
use crate::{
    About, Answer, Error, Family, Figure, Points, Reason, StateReader, StateWriter, Undefined, Unit, Value, labels,
};
use calipers_stats::threshold_test::Direction;
use calipers_stats::{ExactSum, Moments, Undefined as NoStatistic};

const PERPLEXITY_PER_TOKEN: About = About {
    name: "perplexity_per_token",
    summary: "the perplexity of all tokens together",
    usage: "perplexity_per_token()",
    tells: "How surprised the model is by a token; long samples count more.",
    misleads: "When models with different tokenizers are compared.",
    formula: "exp(−Σ log p / Σ tokens), from `num_tokens` and `sum_log_probs` in the scores' metadata; scores \
              without them are left out.",
    interval: "None.",
    example: "calipers score results.jsonl -m perplexity_per_token",
    unit: Unit::Plain,
    range: "≥ 1",
    direction: Some(Direction::AtMost),
    typical_threshold: None,
    use_case: "Language modelling",
    family: Family::Scores,
    parameters: &[],
    positional: &[],
    inspect: Some("perplexity_per_token"),
    role: None,
};

const PERPLEXITY_PER_SEQ: About = About {
    name: "perplexity_per_seq",
    summary: "the mean perplexity of samples",
    usage: "perplexity_per_seq()",
    tells: "How surprised the model is by a sample; all samples count the same.",
    misleads: "For very short samples.",
    formula: "exp(mean(−log p / tokens)), from `num_tokens` and `sum_log_probs` in the scores' metadata; scores \
              without them are left out.",
    interval: "None.",
    example: "calipers score results.jsonl -m perplexity_per_seq",
    unit: Unit::Plain,
    range: "≥ 1",
    direction: Some(Direction::AtMost),
    typical_threshold: None,
    use_case: "Language modelling",
    family: Family::Scores,
    parameters: &[],
    positional: &[],
    inspect: Some("perplexity_per_seq"),
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "exponential of the mean loss";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[
    Definition { about: PERPLEXITY_PER_TOKEN, make: |_| Ok(perplexity_per_token()) },
    Definition { about: PERPLEXITY_PER_SEQ, make: |_| Ok(perplexity_per_seq()) },
];

/// The perplexity of all tokens together: long samples count more.
///
/// Each score's metadata must hold `num_tokens` and `sum_log_probs`; scores without them are left out.
///
/// `calipers metrics perplexity_per_token` says what it tells you, when it misleads, its formula and its interval.
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
    Metric::recorded("perplexity_per_token", Perplexity { per_token: true })
}

/// The geometric mean of the samples' perplexities: each sample counts the same.
///
/// Each score's metadata must hold `num_tokens` and `sum_log_probs`; scores without them are left out.
///
/// `calipers metrics perplexity_per_seq` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{perplexity_per_seq, Metadata, Plan, Samples, Score, Value};
///
/// let mut samples = Samples::new();
/// for (id, tokens, log_probs) in [(1, 10, -20.0), (2, 1000, -1000.0)] {
///     let facts = Metadata::new([("num_tokens", Value::from(tokens)), ("sum_log_probs", Value::from(log_probs))]);
///     samples.push(id).score("nll", Score::new(0.0).metadata(facts));
/// }
/// let results = Plan::new().metrics([perplexity_per_seq()]).measure(&samples)?;
/// let perplexity = results.figure("nll", "perplexity_per_seq").expect("asked for").value.clone();
/// assert!((perplexity.expect("defined") - 1.5f64.exp()).abs() < 1e-12); // losses of 2 and 1 per token
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn perplexity_per_seq() -> Metric {
    Metric::recorded("perplexity_per_seq", Perplexity { per_token: false })
}

struct Perplexity {
    per_token: bool,
}

#[derive(Default)]
struct PerplexityState {
    used: u64,
    /// Wide enough for any number of samples, whatever they claim.
    tokens: i128,
    log_probs: ExactSum,
    /// −log p / tokens of each sample that has tokens.
    losses: Moments,
}

/// A number in a score's metadata, which may be written as text; `None` where there is none.
fn number(points: &Points<'_>, row: usize, key: &str, context: &Context) -> Result<Option<f64>, Error> {
    let number = match points.score_metadata(row).and_then(|metadata| metadata.get(key)) {
        None | Some(Value::Null) => return Ok(None),
        // Inspect computes with the NaN.
        Some(Value::Missing) => return Ok(context.inspect.then_some(f64::NAN)),
        Some(Value::Text(text)) => labels::number(text),
        Some(other) => other.as_number(),
    };
    number.map(Some).ok_or_else(|| bad_number(points, row, key))
}

fn bad_number(points: &Points<'_>, row: usize, key: &str) -> Error {
    let found = points.score_metadata(row).and_then(|metadata| metadata.get(key)).map(Value::to_string);
    let message = format!("the score's metadata has `{}` for `{key}`", found.unwrap_or_default());
    points.at(row, Error::argument(message, "record a number there, or leave it out"))
}

impl Measure for Perplexity {
    type State = PerplexityState;

    fn start(&self) -> PerplexityState {
        PerplexityState::default()
    }

    fn fold(&self, state: &mut PerplexityState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        for row in 0..points.len() {
            let number = |key| number(points, row, key, context);
            let (Some(tokens), Some(log_prob)) = (number("num_tokens")?, number("sum_log_probs")?) else { continue };
            if !tokens.is_finite() {
                return Err(bad_number(points, row, "num_tokens"));
            }
            let tokens = tokens.trunc();
            state.tokens += i128::from(tokens as i64);
            state.log_probs.add(log_prob);
            if tokens > 0.0 {
                state.losses.add(-log_prob / tokens);
            }
            state.used += u64::from(self.per_token || tokens > 0.0);
        }
        Ok(())
    }

    fn save(&self, state: &PerplexityState, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&state.used);
        out.put(&state.tokens);
        out.put(&state.log_probs);
        out.put(&state.losses);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<PerplexityState, Error> {
        Ok(PerplexityState { used: from.take()?, tokens: from.take()?, log_probs: from.take()?, losses: from.take()? })
    }

    fn merge(&self, state: &mut PerplexityState, other: PerplexityState) {
        state.used += other.used;
        state.tokens += other.tokens;
        state.log_probs.merge(&other.log_probs);
        state.losses.merge(&other.losses);
    }

    fn finish(&self, state: PerplexityState, tally: Tally, _: &Context) -> Result<Answer, Error> {
        let losses = state.losses.count();
        let loss = match (self.per_token, state.tokens) {
            (true, 0) => None,
            (true, tokens) => Some(-state.log_probs.value() / tokens as f64),
            (false, _) => (losses > 0).then(|| state.losses.sum() / losses as f64),
        };
        let value = match loss {
            Some(loss) if loss.is_finite() => Ok(loss.exp()),
            Some(value) => Err(Undefined::new(Reason::Statistic(NoStatistic::NotFinite { value }), value.exp())),
            None => Err(Undefined::new(Reason::NoTokenCounts, f64::NAN)),
        };
        let tally = Tally { n: state.used, missing: tally.missing + tally.n - state.used };
        Ok(Figure::from_result(value, tally, METHOD).into())
    }
}
