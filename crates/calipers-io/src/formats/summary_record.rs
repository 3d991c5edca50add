//! Records that sum up the others, as spreadsheets and scripts leave them below a table: `Average`, `Total`, `mean` and `std`.

use crate::columns::known_names::{SUMMARIES, SUMMARY_WORDS, plain, words_of};
use crate::error::printable;
use crate::{ReadError, RecordedRun, Source};
use calipers_core::{Context, SampleId, Samples, Shards};

/// As many records at an end of a table may sum it up: `describe()` of pandas writes eight.
const SUMMARIES_MAX: usize = 12;

/// An error if a first or last record has the name and the value of a summary: it is no sample, and would count as one. With
/// the name alone, it is a sample, and a note says so.
pub(super) fn check(source: &Source, run: &mut RecordedRun<Shards>) -> Result<(), ReadError> {
    if run.samples.len() < 3 {
        return Ok(());
    }
    let first = run.samples.iter().next().and_then(|part| part.ids().next());
    let first: Vec<SampleId> = first.into_iter().filter(is_named_like_one).collect();
    for (ids, place) in [(first, "first"), (last_ids(&run.samples), "last")] {
        let Some(id) = ids
            .iter()
            .find(|id| [is_none, is_part_summary].iter().any(|is_part| sums_up(&run.samples, id, &ids, *is_part)))
        else {
            for id in ids.iter().filter(|id| is_plain_name(id)) {
                let name = printable(&id.to_string());
                run.notes.push(format!("the {place} record is named `{name}`, and was read as a sample"));
            }
            continue;
        };
        let name = printable(&id.to_string());
        let (what, hint) = match ids.len() {
            1 => (
                format!("the {place} record, `{name}`, has the mean or the sum of the others: it is not a sample"),
                "remove it from the file; if it is a sample, give it another name",
            ),
            count => (
                format!("the {place} {count} records sum up the others: `{name}` has their mean or their sum"),
                "remove them from the file; if they are samples, give them other names",
            ),
        };
        return Err(source.error(what).hint(hint));
    }
    Ok(())
}

/// The names of the last records, as far as they are those of summaries.
fn last_ids(samples: &Shards) -> Vec<SampleId> {
    let Some(part) = samples.iter().last() else { return Vec::new() };
    let from_end = (0..part.len()).rev().map(|place| part.id(place as u32));
    from_end.take(SUMMARIES_MAX).take_while(is_named_like_one).collect()
}

/// True when the first or the last record of a part has the name of a summary.
pub(super) fn may_be_in(samples: &Samples) -> bool {
    let last = samples.len().checked_sub(1).map(|place| samples.id(place as u32));
    samples.ids().next().into_iter().chain(last).any(|id| is_named_like_one(&id))
}

/// True for a name that a summary has, and samples rarely have.
fn is_plain_name(id: &SampleId) -> bool {
    matches!(id, SampleId::Text(text) if SUMMARIES.contains(&plain(text).as_str()))
}

/// True for a name that is made of words for summaries: `Mean accuracy`, `std`, `25%`.
fn is_named_like_one(id: &SampleId) -> bool {
    let SampleId::Text(text) = id else { return false };
    let words = words_of(text);
    let is_quantile = text.trim().strip_suffix('%').is_some_and(|share| share.trim().parse::<f64>().is_ok());
    let are_known = !words.is_empty() && words.iter().all(|word| SUMMARY_WORDS.contains(&word.as_str()));
    is_plain_name(id) || is_quantile || are_known && !text.contains(|c: char| c.is_ascii_digit())
}

/// True for the name of a record that sums up some of the others: `law total`, `subtotal`.
fn is_part_summary(id: &SampleId) -> bool {
    const LAST: [&str; 6] = ["total", "subtotal", "average", "avg", "mean", "sum"];
    let SampleId::Text(text) = id else { return false };
    let words = words_of(text);
    words.last().is_some_and(|word| LAST.contains(&word.as_str())) && (words.len() > 1 || words[0] == "subtotal")
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
        let is_near = |own: f64, want: f64| (own - want).abs() <= 0.006 * want.abs().max(1.0);
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
