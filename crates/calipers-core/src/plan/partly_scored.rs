//! Samples of which some attempts have a score and others have none.

use crate::{Context, Error, Metric, Points, RunRows, Samples, StateReader, StateWriter};

/// How many samples are scored in part, and how many of their attempts have no score. Attempts that ended in errors are not
/// among them: they are counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PartlyScored {
    pub(super) samples: u64,
    pub(super) attempts: u64,
}

impl PartlyScored {
    /// What whole samples add to it. Most runs are complete, and are not looked at attempt by attempt.
    pub(super) fn of(points: &Points<'_>, samples: &Samples) -> Self {
        let scored = points.scored();
        let is_complete = scored.len() >= samples.attempts();
        if samples.attempts() <= samples.len() || is_complete {
            return Self::default();
        }
        let has_score = count(scored.sample_codes().iter().copied(), samples.len());
        let all = samples.attempt_points();
        let ran = (0..all.len()).filter(|&row| !all.is_errored(row)).map(|row| all.sample_codes()[row]);
        let ran = count(ran, samples.len());
        let unscored = has_score.iter().zip(&ran).filter(|(scored, ran)| (1..**ran).contains(*scored));
        unscored.fold(Self::default(), |sum, (scored, ran)| {
            sum.plus(Self { samples: 1, attempts: u64::from(ran - scored) })
        })
    }

    /// The same for a share of attempts that passed, to which an attempt that ended in an error has not.
    pub(super) fn of_shares(metric: &Metric, samples: &Samples, context: &Context) -> Result<Self, Error> {
        let partly = metric.partly_missing(&RunRows::new(samples), None, context)?;
        let attempts = partly.iter().map(|one| u64::from(one.missing)).sum();
        Ok(Self { samples: partly.len() as u64, attempts })
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { samples: self.samples + other.samples, attempts: self.attempts + other.attempts }
    }

    pub(super) fn save(self, out: &mut StateWriter) {
        out.put(&(self.samples, self.attempts));
    }

    pub(super) fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (samples, attempts) = from.take()?;
        Ok(Self { samples, attempts })
    }
}

fn count(of_samples: impl Iterator<Item = u32>, samples: usize) -> Vec<u32> {
    let mut counts = vec![0; samples];
    of_samples.for_each(|sample| counts[sample as usize] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caveat, Plan, StateReader, StateWriter, pass_rate};

    /// Three attempts of each sample: `a` lacks a score and has an error, `b` is complete, `c` has no score at all.
    fn samples() -> Samples {
        let mut samples = Samples::new();
        samples.push("a").score("judge", 1.0);
        samples.push("a").field("latency_ms", 3.0);
        samples.push("a").error("connection reset");
        for _ in 0..3 {
            samples.push("b").score("judge", 1.0);
            samples.push("c").field("latency_ms", 3.0);
        }
        samples
    }

    fn caveats(samples: &Samples, plan: &Plan) -> Vec<Caveat> {
        let mut partial = plan.start();
        partial.fold(samples).expect("valid scores");
        let mut out = StateWriter::new();
        partial.save(&mut out).expect("metrics of ours");
        let bytes = out.finish();
        let mut whole = plan.start();
        whole.merge(plan.load(&mut StateReader::new(&bytes)).expect("what was written"));
        let caveats = whole.finish().expect("figures").caveats;
        { caveats }.into_iter().filter(|caveat| matches!(caveat, Caveat::PartlyScored { .. })).collect()
    }

    #[test]
    fn only_attempts_that_ran_of_samples_that_are_scored_count() {
        let expected = Caveat::PartlyScored { scorer: Some("judge".into()), samples: 1, attempts: 1 };
        assert_eq!(caveats(&samples(), &Plan::new()), [expected]);
    }

    #[test]
    fn a_field_that_stands_in_for_scores_is_counted_likewise() {
        let mut samples = Samples::new();
        samples.push("a").field("passed", true);
        samples.push("a").field("latency_ms", 3.0);
        samples.push("a").error("connection reset");
        samples.push("b").field("passed", true);
        samples.push("b").field("passed", false);
        let expected = Caveat::PartlyScored { scorer: None, samples: 1, attempts: 1 };
        assert_eq!(caveats(&samples, &Plan::new().metrics([pass_rate()])), [expected]);
    }
}
