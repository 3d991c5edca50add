//! Labels of people, to be joined to the samples of a run as one more field.

use super::join::{combine, ratings_of, several_attempts};
use super::judge_report::{LabelCounts, LabelPlace};
use calipers_core::{Context, Error, HUMAN_LABEL, SampleId, Samples};
use hashbrown::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What people said about some of the samples of a run, or about some of their attempts.
///
/// Joined to samples, a label is a field of attempts, and `corrected` is a metric like any other.
///
/// ```
/// use calipers_compare::labelled::LabelBook;
/// use calipers_core::{Context, Samples, accuracy, corrected, mean_score};
///
/// let (mut run, mut labels) = (Samples::new(), Samples::new());
/// for id in 0..40 {
///     run.push(id).score("judge", 1.0);
/// }
/// for id in 0..21 {
///     labels.push(id * 2).score("label", if id % 2 == 0 { 1.0 } else { 0.0 });
/// }
/// let book = LabelBook::new(&labels, &Context::default())?;
/// book.join(&mut run)?;
/// // There is no sample 40.
/// assert_eq!((book.len(), book.list_unused().len()), (21, 1));
/// let answer = corrected(accuracy(), "human_label")?.answer(&run, &mean_score(), None, &Context::default())?;
/// assert_eq!(answer.figure().expect("one number").value, Ok(0.5));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LabelBook {
    places: HashMap<SampleId, Vec<BookEntry>>,
    by_attempt: bool,
    tied: u64,
}

/// A label, and whether a sample was found that it is of.
#[derive(Debug)]
struct BookEntry {
    epoch: Option<u32>,
    /// None where people are evenly split.
    label: Option<f64>,
    is_used: AtomicBool,
}

impl LabelBook {
    /// The labels in these samples: several of one sample are several people, whose votes are counted and whose grades are
    /// averaged.
    ///
    /// Fails if there is no label, if one person gives two different ones, and if a label is no number.
    pub fn new(labels: &Samples, context: &Context) -> Result<Self, Error> {
        // A threshold is for the scores; labels stay what people gave.
        let context = Context { pass_threshold: None, ..context.clone() };
        let ratings = ratings_of(labels, &context, &mut LabelCounts::default())?;
        let is_voted = ratings.are_votes();
        let mut book = Self { places: HashMap::new(), by_attempt: labels.gives_epochs(), tied: 0 };
        for ((id, epoch), list) in ratings.by_place {
            let given: Vec<f64> = list.given.iter().map(|(_, rating)| *rating).collect();
            let label = combine(&given, is_voted);
            book.tied += u64::from(label.is_none());
            book.places.entry(id).or_default().push(BookEntry { epoch, label, is_used: AtomicBool::new(false) });
        }
        Ok(book)
    }

    /// The number of samples, or attempts, that people said something about.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.values().map(Vec::len).sum()
    }

    /// True when there are none, which [`new`](Self::new) refuses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many of them have no label because people are evenly split.
    #[must_use]
    pub fn count_ties(&self) -> u64 {
        self.tied
    }

    /// Gives samples their labels, as the field `human_label`.
    ///
    /// Fails if there is such a field already, and if a sample has several attempts and its label does not say which one it
    /// is about.
    pub fn join(&self, samples: &mut Samples) -> Result<(), Error> {
        if samples.has_column(HUMAN_LABEL) {
            let message = format!("the results have a column `{HUMAN_LABEL}` already");
            return Err(Error::argument(message, "leave the labels out to use that one, or rename it"));
        }
        let mut epochs: HashMap<SampleId, u32> = HashMap::new();
        samples.set_field(HUMAN_LABEL, |id, epoch| {
            let Some(entries) = self.places.get(id) else { return Ok(None) };
            if !self.by_attempt && *epochs.entry(id.clone()).or_insert(epoch) != epoch {
                return Err(several_attempts(id));
            }
            let Some(entry) = entries.iter().find(|entry| !self.by_attempt || entry.epoch == Some(epoch)) else {
                return Ok(None);
            };
            entry.is_used.store(true, Ordering::Relaxed);
            Ok(entry.label)
        })
    }

    /// Labels of samples, or attempts, that no run had to which they were joined; in the order of their names.
    #[must_use]
    pub fn list_unused(&self) -> Vec<LabelPlace> {
        let entries = self.places.iter().flat_map(|(id, entries)| entries.iter().map(move |entry| (id, entry)));
        let unused = entries.filter(|(_, entry)| !entry.is_used.load(Ordering::Relaxed));
        let mut unused: Vec<LabelPlace> =
            unused.map(|(id, entry)| LabelPlace { id: id.clone(), epoch: entry.epoch }).collect();
        unused.sort_by(|a, b| a.id.cmp(&b.id).then(a.epoch.cmp(&b.epoch)));
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(rows: &[(&str, &str, f64)]) -> Result<LabelBook, Error> {
        let mut labels = Samples::new();
        for (id, annotator, label) in rows {
            labels.push(*id).metadata("annotator", *annotator).score("label", *label);
        }
        LabelBook::new(&labels, &Context::default())
    }

    fn joined(book: &LabelBook) -> Vec<Option<f64>> {
        let mut samples = Samples::new();
        for id in ["a", "b", "c"] {
            samples.push(id).score("judge", 1.0);
        }
        book.join(&mut samples).expect("one attempt each");
        let label = |record: calipers_core::Record| {
            record.fields.iter().find(|(name, _)| **name == *HUMAN_LABEL).and_then(|(_, value)| value.as_number())
        };
        samples.records().map(label).collect()
    }

    #[test]
    fn votes_are_counted_and_grades_averaged() {
        let votes = book(&[("a", "x", 1.0), ("a", "y", 0.0), ("a", "z", 1.0), ("b", "x", 1.0), ("b", "y", 0.0)]);
        let votes = votes.expect("no contradiction");
        assert_eq!((joined(&votes), votes.count_ties()), (vec![Some(1.0), None, None], 1));
        let grades = book(&[("a", "x", 4.0), ("a", "y", 3.0), ("b", "x", 0.0)]).expect("no contradiction");
        assert_eq!(joined(&grades), [Some(3.5), Some(0.0), None]);
    }

    #[test]
    fn a_person_who_says_two_things_is_an_error() {
        assert!(book(&[("a", "x", 1.0), ("a", "x", 1.0)]).is_ok());
        assert!(
            book(&[("a", "x", 1.0), ("a", "x", 0.0)]).expect_err("two labels").to_string().contains("two different")
        );
        assert!(book(&[]).is_err());
    }

    #[test]
    fn a_label_of_one_of_several_attempts_has_to_say_which() {
        let mut samples = Samples::new();
        samples.push("a").score("judge", 1.0);
        samples.push("a").score("judge", 0.0);
        let error = book(&[("a", "x", 1.0)]).expect("a label").join(&mut samples.clone()).expect_err("which one?");
        assert!(error.to_string().contains("has several attempts"), "{error}");
        let mut labels = Samples::new();
        labels.push_epoch("a", 2).score("label", 1.0);
        let book = LabelBook::new(&labels, &Context::default()).expect("a label");
        book.join(&mut samples).expect("it says so");
        assert!(book.list_unused().is_empty());
        assert!(book.join(&mut samples).expect_err("twice").to_string().contains("already"));
    }
}
