//! Metadata that the attempts of one sample do not share.
//!
//! A sample has the first value that was given under a key. Where it has several attempts, each attempt also keeps its own:
//! conditions, groups and clusters of attempts go by it, and a question that needs one value per sample can see that there
//! are two.

use crate::data::column::ABSENT;
use crate::data::row_codes::{FactColumn, RowCodes};
use crate::{Error, ErrorKind, Samples, Value};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The codes of metadata by attempt, in the dictionaries of the samples' metadata. An attempt without one does not say.
pub(crate) type AttemptFacts = IndexMap<Arc<str>, RowCodes>;

impl Samples {
    /// From now on, attempts keep their own metadata. Until a sample has a second attempt they are its metadata.
    pub(super) fn keep_attempt_facts(&mut self) -> &mut AttemptFacts {
        if self.attempt_facts.is_none() {
            let attempt_of = self.attempt_of_samples();
            let by_attempt = |column: &FactColumn| column.codes.move_rows(&attempt_of, self.attempt_sample.len());
            let facts = self.metadata.iter().map(|(key, column)| (key.clone(), by_attempt(column))).collect();
            self.attempt_facts = Some(facts);
        }
        self.attempt_facts.get_or_insert_default()
    }

    /// Whether a sample's attempts have several values of a key, sample by sample. `None` if no sample's have.
    fn varying_samples(&self, key: &str) -> Option<Vec<bool>> {
        let codes = self.attempt_facts.as_ref()?.get(key)?;
        let first = &self.metadata.get(key)?.codes;
        let samples: &[u32] = &self.attempt_sample;
        let sample_of = |attempt: u32| samples[attempt as usize];
        let differs = |(attempt, code): &(u32, u32)| first.get(sample_of(*attempt)) != *code;
        let is_shared = match (codes.as_list(), first.as_list()) {
            (Some(own), Some(first)) => {
                let is_first =
                    |(&code, &sample): (&u32, &u32)| code == ABSENT || first.get(sample as usize) == Some(&code);
                own.iter().zip(samples).all(is_first)
            }
            _ => !codes.iter().any(|pair| differs(&pair)),
        };
        if is_shared {
            return None;
        }
        let mut varying = vec![false; self.ids.len()];
        codes.iter().filter(differs).for_each(|(attempt, _)| varying[sample_of(attempt) as usize] = true);
        Some(varying)
    }

    /// The code of every attempt's own value of a key. `None` if all attempts of each sample have the same.
    ///
    /// An attempt that does not say has the value of its sample, unless its sample has several.
    pub(crate) fn own_codes(&self, key: &str) -> Option<OwnCodes> {
        let varying = self.varying_samples(key)?;
        let column = self.metadata.get(key)?;
        let mut codes = self.attempt_facts.as_ref()?.get(key)?.to_list(self.attempt_sample.len());
        for (code, &sample) in codes.iter_mut().zip(&*self.attempt_sample) {
            if *code == ABSENT && !varying[sample as usize] {
                *code = column.codes.get(sample);
            }
        }
        Some(OwnCodes { by_attempt: codes, varying })
    }

    /// The other values of a key in samples whose attempts have several: by sample, each once, in the order of attempts.
    ///
    /// ```
    /// use calipers_core::{Samples, Value};
    ///
    /// let mut samples = Samples::new();
    /// for (id, model) in [("q1", "a"), ("q2", "a"), ("q1", "b")] {
    ///     samples.push(id).metadata("model", model);
    /// }
    /// let others = samples.other_values("model");
    /// assert_eq!(others.get(&0), Some(&vec![&Value::from("b")]));
    /// assert_eq!(others.get(&1), None);
    /// ```
    #[must_use]
    pub fn other_values(&self, key: &str) -> BTreeMap<u32, Vec<&Value>> {
        let mut others: BTreeMap<u32, Vec<&Value>> = BTreeMap::new();
        let (Some(column), Some(own)) = (self.metadata.get(key), self.own_codes(key)) else { return others };
        for (&code, &sample) in own.by_attempt.iter().zip(&*self.attempt_sample) {
            let is_other = own.varying[sample as usize] && column.codes.get(sample) != code;
            if let Some(value) = column.dictionary().get(code as usize).filter(|_| is_other) {
                let values = others.entry(sample).or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        others
    }

    /// The number of samples that have attempts with a value of a key and attempts without one.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").metadata("model", "x");
    /// samples.push("a");
    /// samples.push("b").metadata("model", "x");
    /// assert_eq!(samples.partly_given("model"), 1);
    /// ```
    #[must_use]
    pub fn partly_given(&self, key: &str) -> usize {
        let Some(codes) = self.attempt_facts.as_ref().and_then(|facts| facts.get(key)) else { return 0 };
        let (mut with, mut without) = (vec![false; self.len()], vec![false; self.len()]);
        for (code, &sample) in codes.to_list(self.attempt_sample.len()).into_iter().zip(&*self.attempt_sample) {
            let side = if code == ABSENT { &mut without } else { &mut with };
            side[sample as usize] = true;
        }
        with.into_iter().zip(without).filter(|(with, without)| *with && *without).count()
    }

    /// The number of samples with more than one attempt.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// for id in ["a", "a", "b"] {
    ///     samples.push(id);
    /// }
    /// assert_eq!(samples.with_several_attempts(), 1);
    /// ```
    #[must_use]
    pub fn with_several_attempts(&self) -> usize {
        let mut attempts = vec![0_u32; self.len()];
        self.attempt_sample.iter().for_each(|&sample| attempts[sample as usize] += 1);
        attempts.into_iter().filter(|&attempts| attempts > 1).count()
    }

    /// The values of a key that every sample with several attempts has, each in as many of them: what was tried with all samples
    /// rather than what happened to be in an attempt. None if it is not so for nine samples in ten.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// for (id, language) in [(1, "en"), (1, "de"), (2, "en"), (2, "de")] {
    ///     samples.push(id).metadata("language", language);
    /// }
    /// assert_eq!(samples.find_crossed("language").map(|values| values.len()), Some(2));
    /// ```
    #[must_use]
    pub fn find_crossed(&self, key: &str) -> Option<Vec<&Value>> {
        let (values, counts) = self.count_values(key)?;
        let (mut several, mut crossed) = (0_usize, 0_usize);
        for of_sample in counts.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
            several += usize::from(of_sample.iter().map(|(_, count)| count).sum::<u32>() > 1);
            let is_even = of_sample.iter().all(|(_, count)| *count == of_sample[0].1);
            crossed += usize::from(of_sample.len() == values.len() && is_even);
        }
        (values.len() > 1 && 10 * crossed >= 9 * several).then_some(values)
    }

    /// The values of a key that tell the attempts of samples apart: hardly a sample has the same one twice, though there are few of
    /// them. So it is with subjects whose questions are all numbered from 1.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// for (subject, questions) in [("art", 6), ("law", 8), ("logic", 4)] {
    ///     for id in 0..questions {
    ///         samples.push(id).metadata("subject", subject);
    ///     }
    /// }
    /// assert_eq!(samples.find_crossed("subject"), None);
    /// assert_eq!(samples.find_told_apart("subject").map(|values| values.len()), Some(3));
    /// ```
    #[must_use]
    pub fn find_told_apart(&self, key: &str) -> Option<Vec<&Value>> {
        /// Fewer samples may have different values by chance.
        const SAMPLES_MIN: usize = 6;
        let (values, counts) = self.count_values(key)?;
        let (mut several, mut told_apart) = (0_usize, 0_usize);
        for of_sample in counts.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
            several += usize::from(of_sample.iter().map(|(_, count)| count).sum::<u32>() > 1);
            told_apart += usize::from(of_sample.len() > 1 && of_sample.iter().all(|(_, count)| *count == 1));
        }
        let are_few = several >= SAMPLES_MIN && 2 * values.len() <= several;
        (values.len() > 1 && are_few && 100 * told_apart >= 99 * several).then_some(values)
    }

    /// The values of a key, and how many attempts of each sample have each of them, sample by sample.
    #[expect(clippy::type_complexity, reason = "a pair that two functions take apart at once")]
    fn count_values(&self, key: &str) -> Option<(Vec<&Value>, Vec<((u32, u32), u32)>)> {
        let (column, own) = (self.metadata.get(key)?, self.own_codes(key)?);
        let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (&code, &sample) in own.by_attempt.iter().zip(&*self.attempt_sample) {
            *counts.entry((sample, code)).or_default() += 1;
        }
        let codes: std::collections::BTreeSet<u32> = counts.keys().map(|(_, code)| *code).collect();
        let values = codes.iter().filter_map(|&code| column.dictionary().get(code as usize)).collect();
        Some((values, counts.into_iter().collect()))
    }

    /// An error if the attempts of a sample have several values of a key, where a question needs one per sample.
    pub fn check_single(&self, key: &str) -> Result<(), Error> {
        match self.other_values(key).into_iter().next() {
            None => Ok(()),
            Some((sample, others)) => Err(self.several_values(key, sample, others[0])),
        }
    }

    /// The error for a sample whose attempts have several values of a key.
    fn several_values(&self, key: &str, sample: u32, other: &Value) -> Error {
        let first = self.metadata.get(key).and_then(|column| column.value(sample)).cloned().unwrap_or(Value::Missing);
        let several = ErrorKind::SeveralValues { key: key.to_owned(), first, other: other.clone() };
        Error::from(several).at_sample(&self.id(sample))
    }
}

/// Each attempt's own value of a metadata key.
pub(crate) struct OwnCodes {
    pub(crate) by_attempt: Vec<u32>,
    /// True for samples whose attempts have several values.
    pub(crate) varying: Vec<bool>,
}
