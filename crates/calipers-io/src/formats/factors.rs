//! What tells attempts of one sample apart, though its name does not say that it names runs: `language`, `temperature`.
//!
//! The first records show which columns may do that. Whether one does is decided when the table has been read: a setting of
//! a model if a sample has two of its values, anything else only if samples are crossed with it, each having each value equally
//! often. An answer or an outcome is not.

use super::fact_path::{FactPath, each_fact, fact_at};
use crate::columns::{Columns, known_names, quote};
use crate::error::printable;
use crate::{RecordedRun, Source};
use calipers_core::{Samples, Shards, Value, parse_number};
use indexmap::IndexMap;
use std::collections::HashSet;
use std::sync::Arc;

/// A column that may tell attempts apart.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    pub(super) path: FactPath,
    is_setting: bool,
    /// True when its values are numbers, or true and false: two samples may be crossed with these by chance.
    is_number: bool,
}

/// The columns that may tell attempts apart.
#[derive(Debug, Default)]
pub(super) struct Factors {
    /// Those that do so in the first records, and the settings of models.
    pub(super) likely: Vec<Factor>,
    /// Those that may do so further down: the first records are all of different samples.
    pub(super) possible: Vec<Factor>,
}

/// As many columns are looked at.
const FACTORS_MAX: usize = 8;
/// A column with more values than this among the first records measures something.
const WORDS_MAX: usize = 40;
/// A longer text is no name of what was tried; a prompt may be.
const WORD_MAX: usize = 2000;
/// As much of a name is shown.
const SHOWN_MAX: usize = 40;
/// As many samples must be crossed with numbers, for which two or three may be by chance.
const CROSSED_BY_NUMBERS_MIN: usize = 4;

impl Factors {
    /// Those among these records, whose samples have these names.
    pub(super) fn find(records: &[Value], ids: &[Option<String>], source: &Source, columns: &Columns) -> Self {
        let mut facts: IndexMap<Vec<Arc<str>>, (String, FactSurvey)> = IndexMap::new();
        let mut samples: IndexMap<&str, u32> = IndexMap::new();
        for (place, (record, id)) in records.iter().zip(ids).enumerate() {
            let next = samples.len() as u32;
            // A record without a name is a sample by itself.
            let sample = id.as_ref().map_or(u32::MAX, |id| *samples.entry(id).or_insert(next));
            each_fact(record, &mut |keys, text, value| {
                // Only columns that the first record has can be in all of them; a setting may come and go.
                if let Some((_, survey)) = facts.get_mut(keys) {
                    survey.look(sample, value);
                } else if place == 0 || keys.last().is_some_and(|key| known_names::is_setting(key)) {
                    let mut survey = FactSurvey::default();
                    survey.look(sample, value);
                    facts.insert(keys.to_vec(), (text.to_owned(), survey));
                }
            });
        }
        let repeats = samples.len() < ids.iter().flatten().count();
        let mut found = Self::default();
        for (keys, (text, survey)) in facts {
            let Some(path) = fact_at(&keys, &text) else { continue };
            let is_free = !path.is_said(columns) && !source.is_condition(&path.fact);
            if !is_free {
                continue;
            }
            let factor = Factor { is_setting: path.is_setting(), is_number: survey.is_number(), path };
            // With many attempts per sample, the first records may be of a few samples only.
            let are_few = survey.is_of_few_words() || survey.is_shared || samples.len() == 1;
            let is_whole = survey.rows == records.len() && !survey.is_other && are_few;
            if factor.is_setting {
                found.likely.insert(0, factor);
            } else if is_whole && !survey.counts(&factor.path) {
                match (survey.differs, repeats) {
                    (true, _) => found.likely.push(factor),
                    (false, false) => found.possible.push(factor),
                    (false, true) => {}
                }
            }
        }
        found.likely.truncate(FACTORS_MAX);
        found.possible.truncate(FACTORS_MAX);
        found
    }
}

/// What the first records have in one place.
#[derive(Default)]
struct FactSurvey {
    /// The words, each with the sample that had it first.
    words: IndexMap<String, u32>,
    by_sample: IndexMap<u32, String>,
    /// True when two samples have the same word.
    is_shared: bool,
    /// True when a sample has two of them.
    differs: bool,
    rows: usize,
    /// True when a value is none of a few words.
    is_other: bool,
}

impl FactSurvey {
    fn look(&mut self, sample: u32, value: &Value) {
        self.rows += 1;
        if self.is_other {
            return;
        }
        let word = match value {
            Value::Null | Value::Missing => String::new(),
            value => value.to_string(),
        };
        self.is_other = word.trim().is_empty() || word.len() > WORD_MAX;
        if !self.is_other {
            if sample != u32::MAX {
                self.differs |= *self.by_sample.entry(sample).or_insert_with(|| word.clone()) != word;
            }
            self.is_shared |= *self.words.entry(word).or_insert(sample) != sample;
        }
    }

    fn is_of_few_words(&self) -> bool {
        self.words.len() <= WORDS_MAX
    }

    fn is_number(&self) -> bool {
        let is_flag = |word: &String| matches!(word.to_lowercase().as_str(), "true" | "false");
        self.words.keys().all(|word| parse_number(word).is_some() || is_flag(word))
    }

    /// True when it counts or dates attempts, and says nothing about what was tried.
    fn counts(&self, path: &FactPath) -> bool {
        let has_digit = |word: &String| word.contains(|c: char| c.is_ascii_digit());
        if path.name_parts().last().is_some_and(|last| known_names::is_attempt(last)) {
            return self.words.keys().all(has_digit);
        }
        // 0, 1, 2 or 1, 2, 3 are places in a list, whatever they are called; 0 and 1 may be yes and no.
        let number = |word: &String| word.parse::<u64>().ok();
        let numbers: Option<HashSet<u64>> = self.words.keys().map(number).collect();
        let is_place = || path.name_parts().last().is_some_and(|last| known_names::is_place(last));
        numbers.is_some_and(|numbers| {
            let most = numbers.iter().max().copied().unwrap_or(0);
            most <= numbers.len() as u64 && (numbers.len() > 2 || is_place())
        })
    }
}

/// Says that attempts of a sample differ in something that may name runs, or be a part of the id. `run_text` is what names the
/// runs already, and `id` what names the samples.
pub(super) fn note_factors(
    mut runs: Vec<RecordedRun<Shards>>,
    factors: &[Factor],
    id: &str,
    run_text: Option<&str>,
) -> Vec<RecordedRun<Shards>> {
    let run_start = run_text.map_or_else(String::new, |run| format!("{run}+"));
    for run in &mut runs {
        for factor in factors {
            let Some((values, is_crossed)) = factor.find_values(&run.samples) else { continue };
            let [a, b, ..] = &values[..] else { continue };
            let (name, written) = (printable(factor.path.short_name()), factor.path.path.to_string());
            let (a, b) = (shorten(a), shorten(b));
            let who = if is_crossed {
                format!("every sample has attempts with each `{name}` (`{a}`, `{b}` …), which")
            } else {
                format!("samples have attempts with several values of `{name}` (`{a}`, `{b}` …), which")
            };
            run.notes.push(format!(
                "{who} count as attempts of one run: `run={run_start}{written}` tells them apart, and `id={written}+{id}` \
                 makes them different samples"
            ));
        }
    }
    runs
}

fn shorten(value: &str) -> String {
    let mut letters = printable(value).chars().collect::<Vec<_>>();
    if letters.len() > SHOWN_MAX {
        letters.truncate(SHOWN_MAX - 1);
        letters.push('…');
    }
    letters.into_iter().collect()
}

impl Factor {
    /// A name or a setting that is not within the records.
    pub(super) fn of_path(path: FactPath) -> Self {
        Self { is_setting: path.is_setting(), path, is_number: false }
    }

    /// The values that tell attempts of a sample apart, and whether every sample has all of them.
    fn find_values(&self, samples: &Shards) -> Option<(Vec<String>, bool)> {
        let fact = &*self.path.fact;
        let parts = || samples.iter().filter(|part| part.attempts() > part.len());
        let crossed: Vec<_> = parts().filter_map(|part| part.find_crossed(fact)).collect();
        let several = parts().map(Samples::with_several_attempts).sum::<usize>();
        let is_enough = self.is_setting || !self.is_number || several >= CROSSED_BY_NUMBERS_MIN;
        if let Some(values) = crossed.first().filter(|_| crossed.len() == parts().count() && is_enough) {
            return Some((values.iter().map(ToString::to_string).collect(), true));
        }
        // Subjects of different sizes, whose questions are all numbered from 1, are not crossed with samples.
        let told_apart: Vec<_> = parts().filter_map(|part| part.find_told_apart(fact)).collect();
        let are_names = !self.is_setting && !self.is_number && told_apart.len() == parts().count();
        if let Some(values) = told_apart.first().filter(|_| are_names) {
            return Some((values.iter().map(ToString::to_string).collect(), false));
        }
        // What is known to be a setting matters wherever it differs.
        let mixed = |part: &Samples| {
            let others = part.other_values(fact);
            let (&sample, others) = others.iter().next()?;
            let first = part.metadata_column(fact)?.value(sample)?;
            Some(vec![first.to_string(), others[0].to_string()])
        };
        self.is_setting.then(|| parts().find_map(mixed).map(|values| (values, false))).flatten()
    }
}

/// As it is written in a proposal for the id.
pub(super) fn written_id(columns: &Columns) -> String {
    use super::native::ColumnRole;
    use crate::columns::{ColumnPair, ColumnTarget};
    let id = columns.pairs().iter().find(|pair| pair.target == ColumnTarget::Role(ColumnRole::Id));
    id.map_or_else(|| quote("id"), ColumnPair::to_text)
}
