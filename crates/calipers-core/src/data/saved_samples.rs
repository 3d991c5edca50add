//! Samples as bytes, attempt by attempt.
//!
//! What is read goes through the same functions as what any reader of files finds, so bytes that are wrong can make samples that
//! are wrong, but none that could not have been in a file. A text takes its length once and then a byte or two.

use crate::data::field_column::FieldColumn;
use crate::data::row_codes::FactColumn;
use crate::data::scores::Scores;
use crate::{Error, Outcome, SampleId, Samples, Score, StateReader, StateWriter, Stored, Value, damaged};
use indexmap::IndexSet;
use std::sync::Arc;

/// The id is that of the attempt before.
const SAME_SAMPLE: u8 = 1;
/// The id is a number, written as its distance from the last one.
const IS_NUMBER: u8 = 1 << 1;
/// The epoch is the one after that of the attempt before, or the first.
const IS_NEXT_EPOCH: u8 = 1 << 2;
const HAS_METADATA: u8 = 1 << 3;
const HAS_FIELDS: u8 = 1 << 4;
const HAS_ERROR: u8 = 1 << 5;
/// Every scorer gives a plain value.
const IS_PLAIN: u8 = 1 << 6;

/// Rows are counted with four bytes.
const ATTEMPTS_MAX: usize = u32::MAX as usize - 1;

/// Texts that were written already.
#[derive(Default)]
struct KnownTexts(IndexSet<Arc<str>>);

impl KnownTexts {
    fn save(&mut self, text: &Arc<str>, out: &mut StateWriter) {
        let (place, is_new) = self.0.insert_full(text.clone());
        if is_new {
            out.byte(0);
            out.put(text);
        } else {
            out.number(place as u64 + 1);
        }
    }

    fn save_value(&mut self, value: &Value, out: &mut StateWriter) {
        out.put(&matches!(value, Value::Text(_)));
        match value {
            Value::Text(text) => self.save(text, out),
            other => out.put(other),
        }
    }

    /// Reads a text; those that were read are in `known`.
    fn load(known: &mut Vec<Arc<str>>, from: &mut StateReader<'_>) -> Result<Arc<str>, Error> {
        match from.below(known.len() + 1)? {
            0 => {
                let text: Arc<str> = from.take()?;
                known.push(text.clone());
                Ok(text)
            }
            place => Ok(known[place - 1].clone()),
        }
    }

    fn load_value(known: &mut Vec<Arc<str>>, from: &mut StateReader<'_>) -> Result<Value, Error> {
        if from.take()? { Ok(Value::Text(Self::load(known, from)?)) } else { from.take() }
    }
}

fn save_names<'a>(names: impl ExactSizeIterator<Item = &'a Arc<str>>, out: &mut StateWriter) {
    out.length(names.len());
    names.for_each(|name| out.put(name));
}

impl Stored for Samples {
    fn save(&self, out: &mut StateWriter) {
        save_names(self.scores.keys(), out);
        save_names(self.metadata.keys(), out);
        save_names(self.fields.keys(), out);
        out.put(&self.gives_epochs());
        out.length(self.attempts());
        let mut texts = KnownTexts::default();
        let (mut last_id, mut last_number, mut last_epoch) = (None::<SampleId>, 0i64, 0u32);
        for record in self.records() {
            let is_same = last_id.as_ref() == Some(&record.id);
            let next_epoch = if is_same { last_epoch.saturating_add(1) } else { 1 };
            let is_plain = |outcome: &Outcome| matches!(outcome, Outcome::Scored(score) if !score.has_extras());
            let has_all = record.scores.len() == self.scores.len();
            let is_plain = has_all && record.scores.iter().all(|(_, outcome)| is_plain(outcome));
            let has_metadata = record.metadata.iter().next().is_some();
            let flags = [
                (SAME_SAMPLE, is_same),
                (IS_NUMBER, matches!(record.id, SampleId::Int(_))),
                (IS_NEXT_EPOCH, record.epoch == next_epoch),
                (HAS_METADATA, has_metadata),
                (HAS_FIELDS, !record.fields.is_empty()),
                (HAS_ERROR, record.error.is_some()),
                (IS_PLAIN, is_plain),
            ];
            out.byte(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).sum());
            match &record.id {
                _ if is_same => {}
                SampleId::Int(number) => {
                    out.put(&number.wrapping_sub(last_number));
                    last_number = *number;
                }
                SampleId::Text(text) => out.put(text),
            }
            if record.epoch != next_epoch {
                out.put(&record.epoch);
            }
            (last_id, last_epoch) = (Some(record.id), record.epoch);
            if has_metadata {
                out.length(record.metadata.iter().count());
                for (key, value) in record.metadata.iter() {
                    texts.save(key, out);
                    texts.save_value(value, out);
                }
            }
            if !record.fields.is_empty() {
                out.length(record.fields.len());
                for (key, value) in &record.fields {
                    texts.save(key, out);
                    texts.save_value(value, out);
                }
            }
            if let Some(error) = &record.error {
                texts.save(error, out);
            }
            if is_plain {
                for (_, outcome) in &record.scores {
                    if let Outcome::Scored(score) = outcome {
                        texts.save_value(&score.value, out);
                    }
                }
            } else {
                out.length(record.scores.len());
                for (scorer, outcome) in &record.scores {
                    texts.save(scorer, out);
                    out.put(outcome);
                }
            }
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let mut samples = Self::new();
        let scorers: Vec<Arc<str>> = from.take()?;
        let (keys, fields): (Vec<Arc<str>>, Vec<Arc<str>>) = from.take()?;
        // Names come in the order of the run, whichever attempt has them first.
        samples.scores.extend(scorers.iter().map(|name| (name.clone(), Scores::default())));
        samples.metadata.extend(keys.into_iter().map(|name| (name, FactColumn::default())));
        samples.fields.extend(fields.into_iter().map(|name| (name, FieldColumn::default())));
        let gives_epochs = from.take()?;
        let length = from.length()?;
        if length > ATTEMPTS_MAX {
            return Err(damaged("there are more attempts than can be counted"));
        }
        let mut known = Vec::new();
        let (mut id, mut last_number, mut last_epoch) = (None::<SampleId>, 0i64, 0u32);
        for _ in 0..length {
            let flags = from.byte()?;
            let has = |flag: u8| flags & flag != 0;
            let here = match id.take() {
                Some(id) if has(SAME_SAMPLE) => id,
                _ if has(SAME_SAMPLE) => return Err(damaged("the first attempt has no id")),
                _ => {
                    last_epoch = 0;
                    if has(IS_NUMBER) {
                        last_number = last_number.wrapping_add(from.take()?);
                        SampleId::Int(last_number)
                    } else {
                        SampleId::Text(from.take()?)
                    }
                }
            };
            let epoch = if has(IS_NEXT_EPOCH) { last_epoch.saturating_add(1) } else { from.take()? };
            (id, last_epoch) = (Some(here.clone()), epoch);
            let mut attempt = if gives_epochs { samples.push_epoch(here, epoch) } else { samples.push(here) };
            if has(HAS_METADATA) {
                for _ in 0..from.length()? {
                    let key = KnownTexts::load(&mut known, from)?;
                    attempt = attempt.metadata(key, KnownTexts::load_value(&mut known, from)?);
                }
            }
            if has(HAS_FIELDS) {
                for _ in 0..from.length()? {
                    let key = KnownTexts::load(&mut known, from)?;
                    attempt = attempt.field(key, KnownTexts::load_value(&mut known, from)?);
                }
            }
            if has(HAS_ERROR) {
                attempt = attempt.error(KnownTexts::load(&mut known, from)?);
            }
            if has(IS_PLAIN) {
                for scorer in &scorers {
                    let value = KnownTexts::load_value(&mut known, from)?;
                    attempt = attempt.score(scorer.clone(), Score::new(value));
                }
            } else {
                for _ in 0..from.length()? {
                    let scorer = KnownTexts::load(&mut known, from)?;
                    let outcome: Outcome = from.take()?;
                    attempt = attempt.score(scorer, outcome);
                }
            }
        }
        // A scorer is known by its scores.
        if samples.scores.values().any(|scores| scores.sample.is_empty()) {
            return Err(damaged("a scorer has no score"));
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metadata;

    fn samples() -> Samples {
        let mut samples = Samples::new();
        samples.push_epoch("b", 2).score("y", 0.25).metadata("topic", "law").field("latency_ms", 5.0);
        samples.push_epoch("b", 1).score("x", "C").field("passed", true);
        samples.push_epoch(17, 1).score("x", Outcome::unscored("refusal")).metadata("topic", "law");
        samples.push_epoch(-3, 7).error("timeout");
        samples.push_epoch("a", 1).score("x", Score::new("I").answer("z").metadata(Metadata::new([("k", 1)])));
        samples
    }

    fn bytes(samples: &Samples) -> Vec<u8> {
        let mut out = StateWriter::new();
        out.put(samples);
        out.finish()
    }

    #[test]
    fn samples_come_back_with_all_that_is_known_of_them() {
        let mut counted = Samples::new();
        for at in 0..3 {
            counted.push(at / 2).score("x", f64::from(at)).score("y", "C");
        }
        for samples in [samples(), counted, Samples::new()] {
            let bytes = bytes(&samples);
            let mut from = StateReader::new(&bytes);
            let back: Samples = from.take().expect("what was written");
            from.end().expect("all of it");
            assert_eq!(back.records().collect::<Vec<_>>(), samples.records().collect::<Vec<_>>());
            assert!(back.scorers().eq(samples.scorers()) && back.fields().eq(samples.fields()));
            assert_eq!(back.gives_epochs(), samples.gives_epochs());
        }
    }

    #[test]
    fn every_changed_byte_is_an_error_or_other_samples() {
        let good = bytes(&samples());
        for place in 0..good.len() {
            assert!(StateReader::new(&good[..place]).take::<Samples>().is_err(), "{place} bytes");
            for change in 1..=255 {
                let mut bad = good.clone();
                bad[place] ^= change;
                if let Ok(other) = StateReader::new(&bad).take::<Samples>() {
                    let _ = (other.counts(), other.records().count(), other.contradiction());
                }
            }
        }
    }
}
