//! Records that sum up the others, as spreadsheets and scripts leave them in a table: `Average`, `Total`, `mean` and `std` at an end,
//! and the subtotals of its parts between them.

use super::row_places::RowPlaces;
use super::unlike_records::{self, UnlikeRecords};
use crate::columns::known_names::{FOREIGN_SUMMARIES, SUMMARIES, SUMMARY_WORDS, plain, words_of};
use crate::error::printable;
use crate::{ReadError, RecordedRun, Source};
use calipers_core::{Context, SampleId, Samples, Shards, pluralize};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// As many records at an end of a table may sum it up: `describe()` of pandas writes eight.
const SUMMARIES_MAX: usize = 12;

/// What is known of the records of a table beside their names.
pub(super) struct RecordFinder<'f> {
    /// Where the records of these samples stand.
    pub(super) places: &'f dyn Fn(&[String]) -> Option<RowPlaces>,
    /// What to say about the columns, so that each record is a sample.
    pub(super) as_samples: Option<String>,
}

/// A sample with the name of a summary.
pub(super) struct NamedRecord {
    /// Its place among all samples.
    pub(super) place: usize,
    pub(super) kind: SummaryName,
    pub(super) name: String,
}

/// How surely a name is that of a summary.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SummaryName {
    /// `Total`, `mean`, `all`: samples rarely have such a name.
    Plain,
    /// `law total`: of a part of the table.
    OfPart,
    /// `Total law`, which a sample may be called too: its score has to tell.
    BeginsAsOne,
    /// Made of words for summaries: `Mean accuracy`, `std`, `25%`.
    OfWords,
}

/// An error if a record has the name of a summary, and its value or its place: it is no sample, and would count as one. With the name
/// alone, it is a sample, and a note says so.
pub(super) fn check(
    source: &Source,
    run: &mut RecordedRun<Shards>,
    finder: &RecordFinder<'_>,
) -> Result<(), ReadError> {
    if run.samples.len() < 3 {
        return Ok(());
    }
    let first = run.samples.iter().next().and_then(|part| part.ids().next());
    let first: Vec<SampleId> = first.into_iter().filter(is_named_like_one).collect();
    let last = last_ids(&run.samples);
    let named = named_records(&run.samples);
    let found = find_summaries(&run.samples, &named);
    let unlike = UnlikeRecords::find(&run.samples, &|name| kind_of_name(name).is_some());
    for (ids, place) in [(&first, "first"), (&last, "last")] {
        let Some(id) = ids
            .iter()
            .find(|id| [is_none, is_part_summary].iter().any(|is_part| sums_up(&run.samples, id, ids, *is_part)))
        else {
            for id in ids.iter().filter(|id| is_plain_name(id)) {
                let name = printable(&id.to_string());
                run.notes.push(format!("the {place} record is named `{name}`, and was read as a sample"));
            }
            continue;
        };
        let name = printable(&id.to_string());
        let mut names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let others = found.iter().map(|place| &named[*place].name).filter(|name| !names.contains(name));
        let mut others: Vec<String> = others.cloned().collect();
        // What stands beside them and is called like none of the samples is a part of the summary: `mean`, `range`.
        let beside = unlike.beside(&|name| names.iter().any(|known| known == name)).into_iter().map(|(_, name)| name);
        let beside: Vec<String> = beside.filter(|name| !others.contains(name)).collect();
        others.extend(beside);
        names.splice(0..0, others.iter().cloned());
        let what = match ids.len() {
            _ if !others.is_empty() => records_sum_up(&names, names.len()),
            1 => format!("the {place} record, `{name}`, has the mean or the sum of the others: it is not a sample"),
            count => format!("the {place} {count} records sum up the others: `{name}` has their mean or their sum"),
        };
        return Err(no_samples(source, what, (finder.places)(&names), finder.as_samples.clone()));
    }
    if !found.is_empty() {
        let mut names: Vec<String> = found.iter().map(|place| named[*place].name.clone()).collect();
        let beside = unlike.beside(&|name| names.iter().any(|known| known == name));
        names.extend(beside.into_iter().map(|(_, name)| name));
        let places = (finder.places)(&names);
        // A name may be that of several records.
        let count = places.as_ref().map_or(names.len(), RowPlaces::len);
        return Err(no_samples(source, records_sum_up(&names, count), places, finder.as_samples.clone()));
    }
    let unlike = unlike_records::check(source, run, unlike, finder)?;
    run.notes.extend(unlike);
    let is_at_end = |record: &&NamedRecord| first.iter().chain(&last).any(|id| id.to_string() == record.name);
    let may_be_one = [SummaryName::Plain, SummaryName::OfPart];
    let between = named.iter().filter(|record| may_be_one.contains(&record.kind) && !is_at_end(record));
    let names: Vec<String> = between.map(|record| record.name.clone()).collect();
    if let [first, rest @ ..] = &names[..] {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let name = printable(first);
        run.notes.push(format!("the name of a record, `{name}`{more}, is that of a summary: it was read as a sample"));
    }
    Ok(())
}

/// What is wrong with records that sum up others.
pub(super) fn records_sum_up(names: &[String], count: usize) -> String {
    const NAMED_MAX: usize = 3;
    let mut distinct: Vec<String> = Vec::new();
    for name in names.iter().map(|name| format!("`{}`", printable(name))) {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    let more = if distinct.len() > NAMED_MAX { " …" } else { "" };
    let listed = distinct.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let (sum, are) = if count == 1 { ("sums", "it is not a sample") } else { ("sum", "they are not samples") };
    format!("{}, {listed}{more}, {sum} up others: {are}", pluralize(count, "record"))
}

/// True for what is wrong with records that sum up others.
pub(super) fn is_about_summaries(what: &str) -> bool {
    [" up others: ", "sum up the others", ": it is not a sample"].iter().any(|part| what.contains(part))
}

/// The error for records that are no samples, with what leaves them out.
pub(super) fn no_samples(
    source: &Source,
    what: String,
    places: Option<RowPlaces>,
    as_samples: Option<String>,
) -> ReadError {
    let is_one = places.as_ref().is_none_or(|places| places.len() == 1);
    let (it, is, its) = if is_one { ("it", "it is a sample", "its") } else { ("them", "they are samples", "their") };
    let what = match &places {
        Some(places) if places.len() > 1 => format!("{what} ({places})"),
        _ => what,
    };
    let mut error = source.error(what);
    let command = places.as_ref().and_then(|places| places.command_without(source));
    let out = match &command {
        Some(command) => format!("`{command}` leaves {it} out"),
        None => format!("remove {it} from the file"),
    };
    if let Some(place) = places.as_ref().and_then(RowPlaces::only) {
        error = error.at(place);
    }
    match as_samples {
        Some(columns) => {
            error.hint(format!("{out}; if {is}, count {it} under {its} line and name")).with_proposal(columns)
        }
        None => error.hint(format!("{out}; if {is}, give {it} another name")),
    }
}

/// The samples of a run with the name of a summary.
fn named_records(samples: &Shards) -> Vec<NamedRecord> {
    let (mut named, mut before) = (Vec::new(), 0);
    for part in samples.iter() {
        let found = part.words_among_ids().filter_map(|(place, name)| {
            let record = |kind| NamedRecord { place: before + place as usize, kind, name: name.to_owned() };
            kind_of_name(name).map(record)
        });
        named.extend(found);
        before += part.len();
    }
    named
}

/// Which of these records sum up others: they have the mean or the sum of those above or below them, more than any other, or there are
/// several of the same name among samples with one attempt. If one does, those with such a name do too.
pub(super) fn find_summaries(samples: &Shards, named: &[NamedRecord]) -> Vec<usize> {
    // A table in which many records have such names has other reasons for them.
    if named.is_empty() || named.len() * 3 > samples.len() {
        return Vec::new();
    }
    let mut scorers: Vec<_> = samples.iter().flat_map(Samples::scorers).cloned().collect();
    scorers.sort();
    scorers.dedup();
    let mut is_found = vec![false; named.len()];
    for scorer in &scorers {
        let Some(scored) = ScoredSamples::of(samples, scorer) else { continue };
        scored.mark_summaries(named, &mut is_found);
    }
    if is_found.contains(&true) {
        for (record, is_found) in named.iter().zip(&mut is_found) {
            *is_found |= record.kind != SummaryName::OfWords;
        }
    }
    (0..named.len()).filter(|place| is_found[*place]).collect()
}

/// The scores of all samples by a scorer, in their order.
pub(super) struct ScoredSamples {
    /// The mean of a sample's attempts; a NaN where it has no score.
    pub(super) means: Vec<f64>,
    pub(super) attempts: Vec<u32>,
}

impl ScoredSamples {
    /// Nothing if some scores are no numbers.
    pub(super) fn of(samples: &Shards, scorer: &str) -> Option<Self> {
        let mut scored = Self { means: Vec::new(), attempts: Vec::new() };
        for part in samples.iter() {
            let (mut sums, mut attempts) = (vec![0.0; part.len()], vec![0_u32; part.len()]);
            if let Ok(points) = part.points(scorer) {
                let floats = points.floats(&Context::default()).ok()?;
                for (&sample, &score) in points.sample_codes().iter().zip(floats.iter()).filter(|(_, x)| !x.is_nan()) {
                    sums[sample as usize] += score;
                    attempts[sample as usize] += 1;
                }
            }
            scored.means.extend(sums.iter().zip(&attempts).map(|(sum, count)| sum / f64::from(*count)));
            scored.attempts.extend(attempts);
        }
        Some(scored)
    }

    fn mark_summaries(&self, named: &[NamedRecord], is_found: &mut [bool]) {
        let mut is_sample = vec![true; self.means.len()];
        named.iter().for_each(|record| is_sample[record.place] = false);
        let all = self.range(0..self.means.len(), &is_sample);
        let are_single = (0..self.means.len()).filter(|at| is_sample[*at]).all(|at| self.attempts[at] <= 1);
        for (at, record) in named.iter().enumerate() {
            let own = self.means[record.place];
            if own.is_nan() {
                continue;
            }
            let above = at.checked_sub(1).map_or(0, |before| named[before].place + 1)..record.place;
            let below = record.place + 1..named.get(at + 1).map_or(self.means.len(), |next| next.place);
            let blocks = [above, below].map(|block| self.range(block, &is_sample));
            let sums_up = blocks.iter().chain([&all]).any(|range| range.is_summed_up_by(own));
            let is_name = matches!(record.kind, SummaryName::Plain | SummaryName::OfPart);
            let is_repeated = are_single && self.attempts[record.place] > 1;
            let is_beyond = all.most <= 1.0 && own > all.most;
            is_found[at] |= sums_up || is_name && (is_repeated || is_beyond);
        }
    }

    fn range(&self, places: Range<usize>, is_sample: &[bool]) -> ScoreRange {
        let mut range = ScoreRange { count: 0, sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY };
        for score in places.filter(|at| is_sample[*at]).map(|at| self.means[at]).filter(|score| !score.is_nan()) {
            range.count += 1;
            range.sum += score;
            (range.least, range.most) = (range.least.min(score), range.most.max(score));
        }
        range
    }
}

/// The scores of samples that stand together.
struct ScoreRange {
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
}

impl ScoreRange {
    /// True for the mean of scores that differ, and for their sum, their number and their mean in per cent if none of them is as high.
    fn is_summed_up_by(&self, own: f64) -> bool {
        let count = self.count as f64;
        let mean = self.sum / count;
        let is_mean = self.least < self.most && own > self.least && own < self.most && is_near(own, mean);
        let is_sum = own > self.most && [self.sum, count, 100.0 * mean].iter().any(|want| is_near(own, *want));
        self.count > 1 && (is_mean || is_sum)
    }
}

/// The same, as far as it is written.
fn is_near(own: f64, want: f64) -> bool {
    (own - want).abs() <= 0.006 * want.abs().max(1.0)
}

/// The names of the last records, as far as they are those of summaries.
fn last_ids(samples: &Shards) -> Vec<SampleId> {
    let Some(part) = samples.iter().last() else { return Vec::new() };
    let from_end = (0..part.len()).rev().map(|place| part.id(place as u32));
    from_end.take(SUMMARIES_MAX).take_while(is_named_like_one).collect()
}

/// True when a record of a part has the name of a summary, or may be one by its score.
pub(super) fn may_be_in(samples: &Samples) -> bool {
    samples.words_among_ids().any(|(_, name)| kind_of_name(name).is_some()) || unlike_records::may_be_in(samples)
}

/// Whether a name is that of a summary.
pub(super) fn kind_of_name(name: &str) -> Option<SummaryName> {
    /// Longer names are questions.
    const NAME_MAX: usize = 40;
    if name.len() > NAME_MAX && name.chars().count() > NAME_MAX {
        return None;
    }
    let name = name.trim();
    let is_other = |c: char| !c.is_alphabetic();
    // Most names neither begin nor end as a summary does, which is all that has to be looked at.
    let last = name.trim_end_matches(|c: char| !c.is_alphanumeric()).rsplit(is_other).next().unwrap_or_default();
    let first = name.split(is_other).next().unwrap_or_default();
    let may_be = name.ends_with('%')
        || last.chars().next_back().is_some_and(|end| KNOWN_ENDS.of(small(end)).any(|known| ends_like(last, known)))
        || FIRST_WORDS.iter().any(|known| starts_like(first, known));
    if !may_be {
        return None;
    }
    let id = SampleId::from(name);
    match () {
        () if is_plain_name(&id) => Some(SummaryName::Plain),
        () if is_named_like_one(&id) => Some(SummaryName::OfWords),
        () if is_part_summary(&id) => Some(SummaryName::OfPart),
        () if begins_as_one(&id) => Some(SummaryName::BeginsAsOne),
        () => None,
    }
}

/// All words for summaries by their last letters: there may be millions of names that end in the same few letters.
struct KnownEnds(LazyLock<HashMap<char, Vec<&'static str>>>);

static KNOWN_ENDS: KnownEnds = KnownEnds(LazyLock::new(|| {
    let mut ends: HashMap<char, Vec<&'static str>> = HashMap::new();
    for known in [&SUMMARIES[..], &SUMMARY_WORDS, &PART_WORDS, &FOREIGN_SUMMARIES].into_iter().flatten().copied() {
        if let Some(end) = known.chars().next_back() {
            ends.entry(end).or_default().push(known);
        }
    }
    ends
}));

impl KnownEnds {
    /// The words that end in this letter.
    fn of(&self, end: char) -> impl Iterator<Item = &'static str> + '_ {
        self.0.get(&end).into_iter().flatten().copied()
    }
}

/// True when one of two words with the same last letter ends in the other: names are compared without their blanks. A word of one or
/// two letters has to be a known one, and of other letters than those of ASCII the last is enough.
fn ends_like(word: &str, known: &str) -> bool {
    const LETTERS_MIN: usize = 3;
    if !word.is_ascii() {
        return true;
    }
    if word.len() < LETTERS_MIN {
        return word.eq_ignore_ascii_case(known);
    }
    let (word, known) = (word.as_bytes(), known.as_bytes());
    let shared = word.len().min(known.len());
    word[word.len() - shared..].eq_ignore_ascii_case(&known[known.len() - shared..])
}

/// True when two words begin with the same two letters.
fn starts_like(word: &str, known: &str) -> bool {
    word.chars().take(2).map(small).eq(known.chars().take(2))
}

/// A letter, small if it has a small form of one letter.
fn small(c: char) -> char {
    let mut letters = c.to_lowercase();
    letters.next().filter(|_| letters.next().is_none()).unwrap_or(c)
}

/// True for a name that a summary has, and samples rarely have.
fn is_plain_name(id: &SampleId) -> bool {
    let is_one = |name: &str| SUMMARIES.contains(&name) || FOREIGN_SUMMARIES.contains(&name);
    matches!(id, SampleId::Text(text) if is_one(&plain(text)))
}

/// True for a name that is made of words for summaries: `Mean accuracy`, `std`, `25%`.
fn is_named_like_one(id: &SampleId) -> bool {
    let SampleId::Text(text) = id else { return false };
    let words = words_of(text);
    let is_quantile = text.trim().strip_suffix('%').is_some_and(|share| share.trim().parse::<f64>().is_ok());
    let is_known = |word: &str| SUMMARY_WORDS.contains(&word) || FOREIGN_SUMMARIES.contains(&word);
    let are_known = !words.is_empty() && words.iter().all(|word| is_known(word));
    is_plain_name(id) || is_quantile || are_known && !text.contains(|c: char| c.is_ascii_digit())
}

/// How the names of records end that sum up some of the others.
const PART_WORDS: [&str; 6] = ["total", "subtotal", "average", "avg", "mean", "sum"];

/// How they begin, where they do not end so: `Summe Recht`, `Итого по праву`.
const FIRST_WORDS: [&str; 23] = [
    "total",
    "subtotal",
    "average",
    "avg",
    "mean",
    "sum",
    "summe",
    "gesamt",
    "mittelwert",
    "durchschnitt",
    "moyenne",
    "somme",
    "promedio",
    "suma",
    "media",
    "totale",
    "totaal",
    "gemiddelde",
    "итого",
    "всего",
    "среднее",
    "сумма",
    "subtotaal",
];

/// How they end in languages that have no blanks between words.
const ENDINGS: [&str; 14] = [
    "合計",
    "小計",
    "平均",
    "総計",
    "总计",
    "小计",
    "合计",
    "總計",
    "平均值",
    "平均値",
    "합계",
    "소계",
    "평균",
    "총계",
];

/// As many words have the names of records that sum up some of the others. Longer names are questions.
const PART_NAME_WORDS_MAX: usize = 3;

/// True for the name of a record that sums up some of the others: `law total`, `subtotal`.
fn is_part_summary(id: &SampleId) -> bool {
    let SampleId::Text(text) = id else { return false };
    let words = words_of(text);
    let Some(last) = words.last() else { return false };
    let is_last = PART_WORDS.contains(&last.as_str()) || FOREIGN_SUMMARIES.contains(&last.as_str());
    let is_ending = ENDINGS.iter().any(|ending| last.len() > ending.len() && last.ends_with(ending));
    words.len() <= PART_NAME_WORDS_MAX
        && (is_ending || is_last && words.len() > 1 || words.len() == 1 && last == "subtotal")
}

/// True for a name that begins as those of such records do: `Total law`, `Summe Recht`.
fn begins_as_one(id: &SampleId) -> bool {
    let SampleId::Text(text) = id else { return false };
    let words = words_of(text);
    (2..=PART_NAME_WORDS_MAX).contains(&words.len()) && FIRST_WORDS.contains(&words[0].as_str())
}

fn is_none(_: &SampleId) -> bool {
    false
}

/// True when a score of this sample is the mean or the sum of those of the samples that are no summaries, neither of all nor of a
/// part, as far as it is written.
fn sums_up(samples: &Shards, id: &SampleId, summaries: &[SampleId], is_part: fn(&SampleId) -> bool) -> bool {
    let scorers: Vec<_> = samples.iter().flat_map(Samples::scorers).collect();
    scorers.iter().any(|scorer| {
        let (mut own, mut sum, mut count) = (None, 0.0, 0_u64);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for part in samples.iter() {
            let Ok(points) = part.points(scorer) else { continue };
            let Ok(floats) = points.floats(&Context::default()) else { return false };
            for (row, &score) in floats.iter().enumerate().filter(|(_, score)| !score.is_nan()) {
                let sample = points.sample_id(row);
                if sample == *id {
                    own = Some(score);
                } else if !summaries.contains(&sample) && !is_part(&sample) {
                    sum += score;
                    count += 1;
                    (least, most) = (least.min(score), most.max(score));
                }
            }
        }
        // Where all scores are the same, any sample has their mean: only the name can tell.
        let may_tell = least < most || is_plain_name(id);
        // A share may be written in per cent.
        count > 1
            && may_tell
            && own.is_some_and(|own| {
                let mean = sum / count as f64;
                is_near(own, mean) || is_near(own, sum) || is_near(own, 100.0 * mean)
            })
    })
}
