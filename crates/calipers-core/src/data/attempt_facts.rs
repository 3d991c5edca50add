//! Metadata that the attempts of one sample do not share.
//!
//! A sample has the first value that was given under a key. Where it has several attempts, each attempt also keeps its own:
//! conditions, groups and clusters of attempts go by it, and a question that needs one value per sample can see that there
//! are two.

use crate::data::column::{ABSENT, Coded};
use crate::{Error, ErrorKind, Samples, Value};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The codes of metadata by attempt, in the dictionaries of the samples' metadata. A column may be shorter than there are
/// attempts; [`ABSENT`] is an attempt that does not say.
pub(crate) type AttemptFacts = IndexMap<Arc<str>, Vec<u32>>;

impl Samples {
    /// From now on, attempts keep their own metadata. Until a sample has a second attempt they are its metadata.
    pub(super) fn keep_attempt_facts(&mut self) -> &mut AttemptFacts {
        self.attempt_facts.get_or_insert_with(|| {
            let by_attempt = |column: &Coded| {
                let code = |&sample: &u32| column.codes.get(sample as usize).copied().unwrap_or(ABSENT);
                self.attempt_sample.iter().map(code).collect()
            };
            self.metadata.iter().map(|(key, column)| (key.clone(), by_attempt(column))).collect()
        })
    }

    /// Whether a sample's attempts have several values of a key, sample by sample. `None` if no sample's have.
    fn varying_samples(&self, key: &str) -> Option<Vec<bool>> {
        let codes = self.attempt_facts.as_ref()?.get(key)?;
        let first = &self.metadata.get(key)?.codes;
        let differs = |(code, sample): (&u32, &u32)| *code != ABSENT && first.get(*sample as usize) != Some(code);
        if !codes.iter().zip(&*self.attempt_sample).any(differs) {
            return None;
        }
        let mut varying = vec![false; self.ids.len()];
        for (code, sample) in codes.iter().zip(&*self.attempt_sample) {
            varying[*sample as usize] |= differs((code, sample));
        }
        Some(varying)
    }

    /// The code of every attempt's own value of a key. `None` if all attempts of each sample have the same.
    ///
    /// An attempt that does not say has the value of its sample, unless its sample has several.
    pub(crate) fn own_codes(&self, key: &str) -> Option<OwnCodes> {
        let varying = self.varying_samples(key)?;
        let column = self.metadata.get(key)?;
        let mut codes = self.attempt_facts.as_ref()?.get(key)?.clone();
        codes.resize(self.attempt_sample.len(), ABSENT);
        for (code, &sample) in codes.iter_mut().zip(&*self.attempt_sample) {
            if *code == ABSENT && !varying[sample as usize] {
                *code = column.codes.get(sample as usize).copied().unwrap_or(ABSENT);
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
            let is_other = own.varying[sample as usize] && column.codes.get(sample as usize) != Some(&code);
            if let Some(value) = column.dictionary().get(code as usize).filter(|_| is_other) {
                let values = others.entry(sample).or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        others
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
        let first = self.metadata_of(sample).get(key).cloned().unwrap_or(Value::Missing);
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
