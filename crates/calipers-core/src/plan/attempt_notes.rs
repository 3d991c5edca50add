//! What is noticed about attempts while they are reduced: ties, too few of them, unknown labels.

use crate::data::column::Column;
use crate::data::scores::Values;
use crate::reduce::{AttemptGroups, ReduceRule, first_equals, has_tie};
use crate::{Caveat, Context, Error, Points, Reducer, StateReader, StateWriter, Stored, Value};
use calipers_stats::StatisticCaveat as Statistic;

/// What is noticed about the attempts on the way.
#[derive(Clone, Default)]
pub(super) struct AttemptNotes {
    /// Samples whose mode is decided by the order of attempts.
    ties: u64,
    /// Samples that have too few attempts for the reducer.
    too_few: u64,
    /// The most attempts that a sample has.
    attempts_max: u64,
    /// True when some sample's attempts differ in their score.
    varied: bool,
    /// A label that was counted as 0.
    unknown: Option<String>,
    /// Rows and samples, when attempts are rows.
    pub(super) pooled: Option<(u64, u64)>,
}

impl Stored for AttemptNotes {
    fn save(&self, out: &mut StateWriter) {
        out.put(&(self.ties, self.too_few));
        out.put(&self.attempts_max);
        out.put(&self.varied);
        out.put(&self.unknown);
        out.put(&self.pooled);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (ties, too_few) = from.take()?;
        let (attempts_max, varied) = from.take()?;
        Ok(Self { ties, too_few, attempts_max, varied, unknown: from.take()?, pooled: from.take()? })
    }
}

impl AttemptNotes {
    pub(super) fn take(
        &mut self,
        attempts: &Points<'_>,
        rows: &Points<'_>,
        reducer: Option<&Reducer>,
        context: &Context,
    ) {
        if context.labels.is_lenient() && self.unknown.is_none() {
            self.unknown = attempts.unknown_label(context);
        }
        let Some(reducer) = reducer else {
            let (all, samples) = self.pooled.unwrap_or_default();
            self.pooled = Some((all + rows.len() as u64, samples + rows.distinct_samples()));
            return;
        };
        if reducer.attempts_needed().is_some() {
            self.too_few += (rows.len() - rows.scored().len()) as u64;
        }
        // As in Inspect, at least k of fewer attempts is 0, and not without a value.
        let is_zero = context.labels.is_lenient() && reducer.is_rule(|r| matches!(r, ReduceRule::AtLeast { .. }));
        if let Some(k) = reducer.attempts_needed().filter(|_| is_zero) {
            self.too_few += short_of(k, attempts);
        }
        // As many attempts as samples may also be several at one and none at another.
        if attempts.len() == rows.len() && attempts.distinct_samples() == attempts.len() as u64 {
            self.attempts_max = self.attempts_max.max(1);
            return;
        }
        let Ok(grouped) = AttemptGroups::of(attempts.scores()) else { return };
        self.attempts_max = grouped.iter().map(|(_, rows)| rows.len() as u64).max().unwrap_or(0).max(self.attempts_max);
        self.varied = self.varied || grouped.iter().any(|(_, rows)| attempts.values().differ(rows));
        if reducer.is_rule(|rule| matches!(rule, ReduceRule::Mode)) {
            self.ties += ties(attempts, &grouped);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.ties += other.ties;
        self.too_few += other.too_few;
        self.attempts_max = self.attempts_max.max(other.attempts_max);
        self.varied |= other.varied;
        // The smaller of two, so that the order of shards does not show.
        self.unknown = match (self.unknown.take(), other.unknown) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.pooled = match (self.pooled, other.pooled) {
            (Some(mine), Some(theirs)) => Some((mine.0 + theirs.0, mine.1 + theirs.1)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    pub(super) fn caveats(&self, reducer: Option<&Reducer>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if let Some(example) = &self.unknown {
            caveats.push(Caveat::UnknownLabels { example: example.clone() });
        }
        let Some(reducer) = reducer else { return caveats };
        if self.ties > 0 {
            caveats.push(Caveat::ModeTies { samples: self.ties });
        }
        if self.too_few > 0 {
            caveats.push(Caveat::TooFewAttempts { reducer: reducer.name().to_owned(), samples: self.too_few });
        }
        if self.attempts_max > 1 && !self.varied {
            caveats.push(Statistic::IdenticalAttempts.into());
        }
        let estimates_k = reducer.is_rule(|rule| matches!(rule, ReduceRule::PassAt { .. } | ReduceRule::PassK { .. }));
        if let Some(k) =
            reducer.attempts_needed().filter(|&k| estimates_k && k > 1 && self.attempts_max < k.saturating_mul(2))
        {
            caveats.push(Statistic::FewAttempts { attempts: self.attempts_max, k }.into());
        }
        caveats
    }
}

/// How many samples have scored attempts, but fewer than k: they cannot have k successes.
fn short_of(k: u64, attempts: &Points<'_>) -> u64 {
    let Ok(grouped) = AttemptGroups::of(attempts.scores()) else { return 0 };
    let scored =
        |rows: &[u32]| rows.iter().filter(|&&row| !attempts.values().is_root_missing(row as usize)).count() as u64;
    grouped.iter().filter(|(_, rows)| (1..k).contains(&scored(rows))).count() as u64
}

/// How many samples have more than one commonest score.
fn ties(attempts: &Points<'_>, grouped: &AttemptGroups) -> u64 {
    match attempts.values() {
        // Both zeros are equal.
        Values::Scalars(Column::Floats(floats)) => {
            count_ties(grouped, |row| Some(floats[row]).filter(|x| !x.is_nan()).map(|x| (x + 0.0).to_bits()))
        }
        Values::Scalars(Column::Coded(coded)) => {
            let (values, first) = (coded.dictionary(), first_equals(coded.dictionary().iter()));
            let is_scored = |code: &usize| values.get(*code).is_some_and(|value| !value.is_missing());
            count_ties(grouped, |row| Some(coded.codes[row] as usize).filter(is_scored).map(|code| first[code]))
        }
        others => {
            let values: Vec<Value> = (0..attempts.len()).map(|row| others.get(row)).collect();
            let first = first_equals(values.iter());
            count_ties(grouped, |row| (!values[row].is_missing()).then(|| first[row]))
        }
    }
}

/// The same by the classes of rows, of which those without a score have none.
fn count_ties<Class: Ord>(grouped: &AttemptGroups, class: impl Fn(usize) -> Option<Class>) -> u64 {
    let mut classes = Vec::new();
    let mut is_tied = |(_, rows): &(u32, &[u32])| {
        classes.clear();
        classes.extend(rows.iter().filter_map(|&row| class(row as usize)));
        has_tie(&mut classes)
    };
    grouped.iter().filter(|sample| sample.1.len() > 1 && is_tied(sample)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Samples, accuracy};

    #[test]
    fn as_many_attempts_as_samples_may_be_several_at_one_of_them() {
        let mut samples = Samples::new();
        samples.push(0).error("connection reset");
        samples.push(1).score("judge", 0.0);
        samples.push(1).score("judge", 0.0);
        let results = Plan::new().metrics([accuracy()]).measure(&samples).expect("the samples can be measured");
        assert!(results.caveats.contains(&Statistic::IdenticalAttempts.into()), "{:?}", results.caveats);
    }
}
