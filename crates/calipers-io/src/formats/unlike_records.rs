//! Records that sum up the others, and are known by their scores: the words for a total are many, and their numbers are the same in every
//! language.
//!
//! Such a record has the sum, the number or the mean of others, and a score that none of them has. That is evidence enough where its name
//! is unlike all other names. Where names say nothing, it has to be at an end of a table in which everything else is right or wrong.

use super::summary_record::{RecordFinder, ScoredSamples, no_samples, records_sum_up};
use crate::error::printable;
use crate::{ReadError, RecordedRun, Source};
use calipers_core::{Labels, SampleId, Samples, Shards};
use std::ops::Range;

/// So many others have to be summed up: with fewer, a score is easily the sum or the mean of the rest.
const OTHERS_MIN: u64 = 4;
/// Names are longer than this only where they are questions.
const NAME_MAX: usize = 40;
/// So are names of more words.
const WORDS_MAX: usize = 4;

/// The records of a run whose names have no digit, if the names of most others have one.
pub(super) struct UnlikeRecords {
    /// Their places among the samples and their names, in order.
    records: Vec<(usize, String)>,
    /// Whether each has a name that summaries are known to have.
    is_known: Vec<bool>,
}

impl UnlikeRecords {
    pub(super) fn find(samples: &Shards, is_known: &dyn Fn(&str) -> bool) -> Self {
        // Where there are many, they have other reasons.
        const MOST: usize = 64;
        let most = (samples.len() / 4).min(MOST);
        let (mut records, mut before) = (Vec::new(), 0);
        for part in samples.iter() {
            let names = part.words_among_ids().filter(|(_, name)| is_word(name));
            let found = names.map(|(place, name)| (before + place as usize, name));
            records.extend(found.take(most + 1).map(|(place, name)| (place, name.to_owned())));
            before += part.len();
        }
        if records.len() > most || records.iter().any(|(_, name)| !is_short(name)) {
            records.clear();
        }
        let is_known = records.iter().map(|(_, name)| is_known(name)).collect();
        Self { records, is_known }
    }

    /// Those that stand beside a record with such a name, without a sample between them.
    pub(super) fn beside(&self, is_named: &dyn Fn(&str) -> bool) -> Vec<(usize, String)> {
        let is_next = |pair: &[(usize, String)]| pair[0].0 + 1 == pair[1].0;
        let mut is_beside: Vec<bool> = self.records.iter().map(|(_, name)| is_named(name)).collect();
        for (at, pair) in self.records.windows(2).enumerate() {
            is_beside[at + 1] |= is_beside[at] && is_next(pair);
        }
        for (at, pair) in self.records.windows(2).enumerate().rev() {
            is_beside[at] |= is_beside[at + 1] && is_next(pair);
        }
        let beside = self.records.iter().zip(is_beside).filter(|((_, name), is)| *is && !is_named(name));
        beside.map(|(record, _)| record.clone()).collect()
    }
}

fn is_short(name: &str) -> bool {
    name.chars().count() <= NAME_MAX && name.split_whitespace().count() <= WORDS_MAX
}

/// True for a name that no counter made: it has no digit.
fn is_word(name: &str) -> bool {
    !name.chars().any(char::is_numeric)
}

/// How surely a record sums up others.
#[derive(Clone, Copy, PartialEq)]
enum Evidence {
    /// It may be chance.
    Likely,
    Sure,
}

/// An error if the score of a record shows that it sums up others; a note if it may.
pub(super) fn check(
    source: &Source,
    run: &RecordedRun<Shards>,
    unlike: UnlikeRecords,
    finder: &RecordFinder<'_>,
) -> Result<Vec<String>, ReadError> {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    if unlike.records.is_empty() {
        for end in [End::First, End::Last] {
            let Some(name) = end.record_beyond_outcomes(&run.samples) else { continue };
            match is_word(&name) && is_short(&name) {
                true => found.push(name),
                false => notes.push(name),
            }
        }
    } else {
        let length = run.samples.len();
        let mut scorers: Vec<_> = run.samples.iter().flat_map(Samples::scorers).cloned().collect();
        scorers.sort();
        scorers.dedup();
        for scorer in &scorers {
            let Some(scored) = ScoredSamples::of(&run.samples, scorer) else { continue };
            for (at, (place, name)) in unlike.records.iter().enumerate().filter(|(at, _)| !unlike.is_known[*at]) {
                let is_at_end = *place == 0 || *place + 1 == length;
                match scored.evidence(&unlike.records, at) {
                    Some(Evidence::Sure) if !found.contains(name) => found.push(name.clone()),
                    Some(Evidence::Likely) if is_at_end && !notes.contains(name) => notes.push(name.clone()),
                    _ => {}
                }
            }
        }
        // A block at an end is one summary.
        let beside = unlike.beside(&|name| found.iter().any(|known| known == name));
        found.extend(beside.into_iter().map(|(_, name)| name));
    }
    if !found.is_empty() {
        let places = (finder.places)(&found);
        let count = places.as_ref().map_or(found.len(), super::row_places::RowPlaces::len);
        let what = match (&found[..], count) {
            ([name], 1) => {
                format!(
                    "the record `{}` has the sum, the mean or the number of others: it is not a sample",
                    printable(name)
                )
            }
            _ => records_sum_up(&found, count),
        };
        return Err(no_samples(source, what, places, finder.as_samples.clone()));
    }
    let note = |name: &String| {
        let places = (finder.places)(std::slice::from_ref(name));
        let place = places.map(|places| format!(" ({places})")).unwrap_or_default();
        format!(
            "the record `{}`{place} has the mean or the sum of the others, and was read as a sample",
            printable(name)
        )
    };
    Ok(notes.iter().map(note).collect())
}

/// True when a part of a table may have such a record. The table is then read as a whole.
pub(super) fn may_be_in(samples: &Samples) -> bool {
    let Some(last) = samples.len().checked_sub(1).map(|last| last as u32) else { return false };
    let is_word_at = |place: u32| matches!(samples.id(place), SampleId::Text(name) if is_word(&name));
    let middle = last / 2;
    let is_unlike = |place: u32| is_word_at(place) && !is_word_at(middle);
    is_unlike(0) || is_unlike(last) || [End::First, End::Last].iter().any(|end| end.is_beyond_outcomes(samples))
}

/// An end of a table.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

impl End {
    /// The name of the record at this end, if its score sums up all others and each of them is right or wrong.
    fn record_beyond_outcomes(self, samples: &Shards) -> Option<String> {
        let mut parts = samples.iter();
        let part = match self {
            Self::First => parts.next()?,
            Self::Last => parts.last()?,
        };
        if !self.is_beyond_outcomes(part) {
            return None;
        }
        let length = samples.len();
        let (place, id) = match self {
            Self::First => (0, part.id(0)),
            Self::Last => (length - 1, part.id(part.len() as u32 - 1)),
        };
        let record = [(place, id.to_string())];
        let scorers = part.scorers().filter_map(|scorer| ScoredSamples::of(samples, scorer));
        let mut scorers = scorers.filter(|scored| scored.others(0..length, &record).is_of_outcomes);
        scorers.any(|scored| scored.evidence(&record, 0) == Some(Evidence::Sure)).then(|| id.to_string())
    }

    /// True when the score at this end of a part is neither 0 nor 1, and those beside it are.
    fn is_beyond_outcomes(self, samples: &Samples) -> bool {
        const BESIDE: usize = 8;
        let labels = Labels::default();
        samples.scorers().any(|scorer| {
            let Ok(points) = samples.points(scorer) else { return false };
            let count = points.len();
            let score = |row: usize| labels.to_float(&points.get(row).score.value).filter(|score| !score.is_nan());
            let row_at = |at: usize| match self {
                Self::First => at,
                Self::Last => count - 1 - at,
            };
            count > BESIDE.min(OTHERS_MIN as usize)
                && score(row_at(0)).is_some_and(|own| !is_outcome(own))
                && (1..count.min(BESIDE)).filter_map(|at| score(row_at(at))).all(is_outcome)
        })
    }
}

fn is_outcome(score: f64) -> bool {
    score == 0.0 || score == 1.0
}

/// The scores of some samples.
struct OtherScores {
    count: u64,
    rows: f64,
    sum: f64,
    row_sum: f64,
    least: f64,
    most: f64,
    /// True when all of them are 0 or 1.
    is_of_outcomes: bool,
    /// A few of their values, if there are no more.
    values: Option<Vec<f64>>,
}

impl ScoredSamples {
    /// What the score of a record says: it is compared with the samples above and below it, up to the next such record, and with all.
    fn evidence(&self, records: &[(usize, String)], at: usize) -> Option<Evidence> {
        let place = records[at].0;
        let own = self.means[place];
        if own.is_nan() || self.attempts[place] != 1 {
            return None;
        }
        let above = at.checked_sub(1).map_or(0, |before| records[before].0 + 1)..place;
        let below = place + 1..records.get(at + 1).map_or(self.means.len(), |next| next.0);
        let ranges = [0..self.means.len(), above, below].map(|range| self.others(range, records));
        let found: Vec<Evidence> = ranges.iter().filter_map(|others| others.evidence(own)).collect();
        if found.contains(&Evidence::Sure) { Some(Evidence::Sure) } else { found.first().copied() }
    }

    /// The scores of a range without those of some records.
    fn others(&self, range: Range<usize>, records: &[(usize, String)]) -> OtherScores {
        const VALUES_MAX: usize = 12;
        let (least, most) = (f64::INFINITY, f64::NEG_INFINITY);
        let values = Some(Vec::new());
        let mut others =
            OtherScores { count: 0, rows: 0.0, sum: 0.0, row_sum: 0.0, least, most, is_of_outcomes: true, values };
        let start = range.start;
        let mut skipped = records.iter().map(|(place, _)| *place).skip_while(|place| *place < start).peekable();
        for at in range {
            if skipped.next_if_eq(&at).is_some() || self.means[at].is_nan() {
                continue;
            }
            let (score, attempts) = (self.means[at], f64::from(self.attempts[at]));
            others.count += 1;
            others.rows += attempts;
            others.sum += score;
            others.row_sum += score * attempts;
            (others.least, others.most) = (others.least.min(score), others.most.max(score));
            others.is_of_outcomes &= is_outcome(score) || attempts > 1.0 && (0.0..=1.0).contains(&score);
            if let Some(values) = others.values.as_mut().filter(|values| !values.contains(&score)) {
                values.push(score);
                if values.len() > VALUES_MAX {
                    others.values = None;
                }
            }
        }
        others
    }
}

impl OtherScores {
    fn evidence(&self, own: f64) -> Option<Evidence> {
        /// So many digits of a mean are hardly the same by chance.
        const DIGITS_MIN: u32 = 4;
        if self.count < OTHERS_MIN || self.least >= self.most {
            return None;
        }
        let (mean, row_mean) = (self.sum / self.count as f64, self.row_sum / self.rows);
        let sums = [self.sum, self.row_sum, self.count as f64, self.rows, 100.0 * mean, 100.0 * row_mean];
        let is_beyond = own > self.most && self.most <= 1.0 && own > 1.0;
        // Of scores on a wider scale the sum is far above all of them, and the number says little.
        let is_far = own > 2.0 * self.most && own > 1.0;
        if is_beyond && sums.iter().any(|want| digits_shared(own, *want).is_some())
            || is_far && sums[..2].iter().any(|want| digits_shared(own, *want).is_some())
        {
            return Some(Evidence::Sure);
        }
        if own <= self.least || own >= self.most {
            return None;
        }
        let digits = [mean, row_mean].iter().filter_map(|want| digits_shared(own, *want)).max()?;
        // Of a few grades that occur again and again, none is the mean of them all: it is no sample's score.
        let is_grade = |values: &Vec<f64>| 2 * values.len() as u64 <= self.count && !values.contains(&own);
        let is_apart = self.values.as_ref().is_some_and(is_grade);
        let is_sure = self.is_of_outcomes && !is_outcome(own) || is_apart && digits > 1 || digits >= DIGITS_MIN;
        Some(if is_sure { Evidence::Sure } else { Evidence::Likely })
    }
}

/// How many digits behind the point a number is written with, if it is the other one written so, rounded or cut off.
fn digits_shared(own: f64, want: f64) -> Option<u32> {
    const DIGITS_MAX: u32 = 12;
    let is_whole = |x: f64| (x - x.round()).abs() < 1e-7;
    let scale = |digits: u32| 10_f64.powi(digits as i32);
    let digits = (0..DIGITS_MAX).find(|digits| is_whole(own * scale(*digits))).unwrap_or(DIGITS_MAX);
    let written = (own * scale(digits)).round();
    let wanted = want * scale(digits);
    let is_same = [wanted.round(), wanted.floor(), (wanted - 1e-6).round()].contains(&written)
        || (own - want).abs() <= 1e-9 * want.abs();
    is_same.then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_may_end_in_a_total_is_not_streamed() {
        let part = |names: [&str; 8], last: (&str, f64)| {
            let mut samples = Samples::new();
            for (at, name) in names.into_iter().enumerate() {
                samples.push(name).score("score", (at % 2) as f64);
            }
            samples.push(last.0).score("score", last.1);
            may_be_in(&samples)
        };
        let numbers = ["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8"];
        let words = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert!(part(numbers, ("Bilanz", 1.0)));
        assert!(part(words, ("Bilanz", 0.5)) && part(numbers, ("q9", 0.5)));
        assert!(!part(words, ("Bilanz", 1.0)) && !part(numbers, ("q9", 1.0)));
    }

    #[test]
    fn a_number_is_compared_as_far_as_it_is_written() {
        for (own, want, digits) in [
            (0.7, 0.7, Some(1)),
            (0.67, 2.0 / 3.0, Some(2)),
            (0.66, 2.0 / 3.0, Some(2)),
            (0.6667, 2.0 / 3.0, Some(4)),
            (2.0 / 3.0, 2.0 / 3.0, Some(12)),
            (0.65, 2.0 / 3.0, None),
            (66.7, 200.0 / 3.0, Some(1)),
            (7.0, 7.0, Some(0)),
            (7.0, 8.0, None),
        ] {
            assert_eq!(digits_shared(own, want), digits, "{own} {want}");
        }
    }
}
