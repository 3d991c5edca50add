//! What a log says a run should hold, beside what was read of it.

use crate::{Caveat, SampleId, Samples, Value};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Why an attempt that never ran has no score. It stands where other attempts have the message of their error.
pub const NEVER_RAN: &str = "never ran";

/// What stops attempts, as logs name it. Other texts in a column `limit` mean something else.
const LIMIT_KINDS: [&str; 9] = ["token", "cost", "time", "working", "message", "turn", "context", "operator", "custom"];

/// How a run ended, as its log says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunEnding {
    /// It came to its end.
    #[default]
    Finished,
    /// It is still running, or was killed.
    Open,
    /// It was cancelled.
    Cancelled,
    /// It ended in an error.
    Broken,
}

impl RunEnding {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Open => "open",
            Self::Cancelled => "cancelled",
            Self::Broken => "broken",
        }
    }
}

/// The samples and attempts that a log announces.
///
/// ```
/// use calipers_core::{ExpectedRun, RunEnding, Samples};
///
/// let mut samples = Samples::new();
/// samples.push_epoch("a", 1).score("judge", 1.0);
/// let expected = ExpectedRun {
///     samples: 2,
///     epochs: 1,
///     ids: Some(vec!["a".into(), "b".into()]),
///     skipped: Vec::new(),
///     ending: RunEnding::Open,
/// };
/// let completeness = expected.compare(&samples, "run.eval");
/// assert_eq!((completeness.samples, completeness.samples_expected), (1, 2));
/// assert_eq!(completeness.never_ran, [("b".into(), 1)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedRun {
    /// How many samples.
    pub samples: u64,
    /// How many attempts of each.
    pub epochs: u32,
    /// Their names, if the log has them.
    pub ids: Option<Vec<SampleId>>,
    /// Attempts that were left out on purpose: the question was settled without them.
    pub skipped: Vec<(SampleId, u32)>,
    /// How the run ended.
    pub ending: RunEnding,
}

/// What was read of a run, beside what its log announces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completeness {
    /// The samples of which at least one attempt was read.
    pub samples: u64,
    /// The samples that the log announces.
    pub samples_expected: u64,
    /// The attempts that were read.
    pub attempts: u64,
    /// The attempts that the log announces, without those that were skipped on purpose.
    pub attempts_expected: u64,
    /// The attempts that are not there. Where the log has no names, these are numbered.
    pub never_ran: Vec<(SampleId, u32)>,
    /// True when `never_ran` has the names of the log.
    pub has_names: bool,
    /// How the run ended.
    pub ending: RunEnding,
}

/// More attempts than this are counted and not listed: a damaged header must not fill the memory.
const NEVER_RAN_MAX: u64 = 10_000_000;

impl ExpectedRun {
    /// What of it these samples, read from this source, hold.
    #[must_use]
    pub fn compare(&self, samples: &Samples, source: &str) -> Completeness {
        let read = places(samples);
        let epochs = self.epochs.max(1);
        let skipped: HashSet<(String, u32)> = self.skipped.iter().map(|(id, epoch)| (id.to_string(), *epoch)).collect();
        let wanted = self.samples.saturating_mul(u64::from(epochs)).min(NEVER_RAN_MAX);
        let known: Vec<SampleId> = match &self.ids {
            Some(ids) => ids.clone(),
            None => samples.ids().collect(),
        };
        // A name that the log does not list means that the list is not about these samples.
        let listed: HashSet<String> = known.iter().map(SampleId::to_string).collect();
        let has_names = self.ids.is_some() && samples.ids().all(|id| listed.contains(&id.to_string()));
        let known = if has_names || self.ids.is_none() { known } else { samples.ids().collect() };
        let unnamed = self.samples.saturating_sub(known.len() as u64).min(NEVER_RAN_MAX);
        let named = known.into_iter().map(|id| (id.to_string(), id));
        let numbered = (1..=unnamed).map(|place| {
            let id = format!("{NEVER_RAN} {place} ({source})");
            (id.clone(), SampleId::from(id))
        });
        let mut never_ran = Vec::new();
        for (name, id) in named.chain(numbered) {
            for epoch in 1..=epochs {
                let place = (name.clone(), epoch);
                if never_ran.len() as u64 >= wanted {
                    break;
                }
                if !read.contains(&place) && !skipped.contains(&place) {
                    never_ran.push((id.clone(), epoch));
                }
            }
        }
        let attempts = read.len() as u64;
        Completeness {
            samples: samples.len() as u64,
            samples_expected: self.samples,
            attempts,
            attempts_expected: attempts + never_ran.len() as u64,
            never_ran,
            has_names,
            ending: self.ending,
        }
    }
}

impl Completeness {
    /// True when nothing is missing and the run came to its end.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.never_ran.is_empty() && self.ending == RunEnding::Finished
    }

    /// The same after more samples were read, which may hold what this run lacks.
    #[must_use]
    pub fn without(mut self, samples: &Samples) -> Self {
        let read = places(samples);
        self.never_ran.retain(|(id, epoch)| !read.contains(&(id.to_string(), *epoch)));
        let missing = self.missing_samples(samples).len() as u64;
        self.attempts = self.attempts_expected - self.never_ran.len() as u64;
        self.samples = self.samples_expected.saturating_sub(missing);
        if self.never_ran.is_empty() {
            // What another file holds has come to its end there.
            self.ending = RunEnding::Finished;
        }
        self
    }

    /// The samples of which no attempt is there.
    fn missing_samples(&self, samples: &Samples) -> Vec<String> {
        let read: HashSet<String> = samples.ids().map(|id| id.to_string()).collect();
        let mut known = HashSet::new();
        let names = self.never_ran.iter().map(|(id, _)| id.to_string());
        names.filter(|id| !read.contains(id) && known.insert(id.clone())).collect()
    }

    /// What is known of two parts of a run that share no sample.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.samples += other.samples;
        self.samples_expected = self.samples_expected.saturating_add(other.samples_expected);
        self.attempts += other.attempts;
        self.attempts_expected = self.attempts_expected.saturating_add(other.attempts_expected);
        self.never_ran.extend(other.never_ran);
        self.has_names &= other.has_names;
        if other.ending != RunEnding::Finished {
            self.ending = other.ending;
        }
        self
    }

    /// The share of these samples, to which the attempts that are wanted belong.
    #[must_use]
    pub fn share(mut self, samples: &Samples, is_wanted: impl Fn(&SampleId) -> bool) -> Self {
        self.never_ran.retain(|(id, _)| is_wanted(id));
        let missing = self.missing_samples(samples).len() as u64;
        (self.samples, self.samples_expected) = (samples.len() as u64, samples.len() as u64 + missing);
        self.attempts = samples.attempts() as u64;
        self.attempts_expected = self.attempts + self.never_ran.len() as u64;
        self
    }

    /// What to know about the run, if it is not whole; `run` names it where there are several.
    #[must_use]
    pub fn caveat(&self, run: Option<&str>) -> Option<Caveat> {
        if self.is_whole() {
            return None;
        }
        let mut known = HashSet::new();
        let names = self.never_ran.iter().map(|(id, _)| id.to_string()).filter(|id| known.insert(id.clone()));
        Some(Caveat::Incomplete {
            run: run.map(str::to_owned),
            samples: self.samples,
            samples_expected: self.samples_expected.max(self.samples),
            attempts: self.attempts,
            attempts_expected: self.attempts_expected,
            never_ran: if self.has_names { names.collect() } else { Vec::new() },
            ending: self.ending,
        })
    }
}

/// The attempts that are there.
fn places(samples: &Samples) -> HashSet<(String, u32)> {
    let names: Vec<String> = samples.ids().map(|id| id.to_string()).collect();
    let (sample, epoch) = samples.attempt_places();
    sample.iter().zip(epoch).map(|(&sample, &epoch)| (names[sample as usize].clone(), epoch)).collect()
}

impl Samples {
    /// Adds attempts that never ran, so that they count as missing wherever attempts that broke do.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").score("judge", 1.0);
    /// samples.add_never_ran(&[("b".into(), 1)]);
    /// assert_eq!((samples.counts().scored, samples.counts().errored), (1, 1));
    /// ```
    pub fn add_never_ran(&mut self, attempts: &[(SampleId, u32)]) {
        for (id, epoch) in attempts {
            self.push_epoch(id.clone(), *epoch).error(NEVER_RAN);
        }
    }

    /// How many attempts each kind of limit stopped, by kind.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").field("limit", "token");
    /// samples.push("b").field("limit", "unlimited"); // no limit that stops an attempt
    /// assert_eq!(samples.limits_hit(), [("token".into(), 1)]);
    /// ```
    #[must_use]
    pub fn limits_hit(&self) -> Vec<(Arc<str>, u64)> {
        let Some(column) = self.fields.get("limit") else { return Vec::new() };
        let mut kinds: BTreeMap<Arc<str>, u64> = BTreeMap::new();
        for value in column.values() {
            if let Value::Text(kind) = value
                && LIMIT_KINDS.contains(&&*kind)
            {
                *kinds.entry(kind).or_default() += 1;
            }
        }
        kinds.into_iter().collect()
    }

    /// What to know about the limits that stopped attempts, if any did.
    #[must_use]
    pub fn limits_caveat(&self, run: Option<&str>) -> Option<Caveat> {
        let kinds = self.limits_hit();
        let kinds: Vec<(String, u64)> = kinds.into_iter().map(|(kind, count)| (kind.to_string(), count)).collect();
        (!kinds.is_empty()).then(|| Caveat::LimitsHit { run: run.map(str::to_owned), kinds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(ids: Option<Vec<SampleId>>) -> ExpectedRun {
        ExpectedRun { samples: 3, epochs: 2, ids, skipped: Vec::new(), ending: RunEnding::Open }
    }

    fn samples() -> Samples {
        let mut samples = Samples::new();
        samples.push_epoch(1, 1).score("judge", 1.0);
        samples.push_epoch(1, 2).score("judge", 0.0);
        samples.push_epoch(2, 1).score("judge", 1.0);
        samples
    }

    #[test]
    fn what_is_not_there_is_named_where_the_log_has_names() {
        let whole = expected(Some(vec![1.into(), 2.into(), 3.into()])).compare(&samples(), "run");
        assert_eq!(whole.never_ran, [(2.into(), 2), (3.into(), 1), (3.into(), 2)]);
        assert_eq!((whole.samples, whole.samples_expected), (2, 3));
        assert_eq!((whole.attempts, whole.attempts_expected), (3, 6));
        let counted = expected(None).compare(&samples(), "run");
        assert_eq!((counted.never_ran.len(), counted.has_names), (3, false));
        // A list of other names says only how many there are.
        let foreign = expected(Some(vec![7.into(), 8.into(), 9.into()])).compare(&samples(), "run");
        assert_eq!((foreign.never_ran.len(), foreign.has_names), (3, false));
    }

    #[test]
    fn what_was_skipped_or_stands_in_another_file_is_not_missing() {
        let ids = Some(vec![1.into(), 2.into(), 3.into()]);
        let skipping = ExpectedRun { skipped: vec![(3.into(), 1), (3.into(), 2)], ..expected(ids.clone()) };
        assert_eq!(skipping.compare(&samples(), "run").never_ran, [(2.into(), 2)]);
        let mut more = samples();
        more.push_epoch(2, 2).score("judge", 1.0);
        more.push_epoch(3, 1).score("judge", 1.0);
        let rest = expected(ids).compare(&samples(), "run").without(&more);
        assert_eq!(rest.never_ran, [(3.into(), 2)]);
        assert_eq!((rest.samples, rest.attempts), (3, 5));
        more.push_epoch(3, 2).score("judge", 1.0);
        assert!(rest.without(&more).is_whole());
    }
}
