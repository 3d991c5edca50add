//! A record that sums up the others, as spreadsheets and scripts leave it below a table: `Average`, `Total`.

use crate::columns::known_names::{SUMMARIES, plain};
use crate::error::printable;
use crate::{ReadError, RecordedRun, Source};
use calipers_core::{Context, SampleId, Samples, Shards};

/// An error if the first or the last record has the name and the value of a summary: it is no sample, and would count as one. With
/// the name alone, it is a sample, and a note says so.
pub(super) fn check(source: &Source, run: &mut RecordedRun<Shards>) -> Result<(), ReadError> {
    let first = run.samples.iter().next().and_then(|part| part.ids().next());
    let last = run.samples.iter().last().and_then(|part| part.len().checked_sub(1).map(|place| part.id(place as u32)));
    for (id, place) in [(first, "first"), (last, "last")] {
        let Some(id) = id.filter(is_named_like_one).filter(|_| run.samples.len() > 2) else { continue };
        let name = printable(&id.to_string());
        if sums_up(&run.samples, &id) {
            let what =
                format!("the {place} record, `{name}`, has the mean or the sum of the others: it is not a sample");
            return Err(source.error(what).hint("remove it from the file; if it is a sample, give it another name"));
        }
        run.notes.push(format!("the {place} record is named `{name}`, and was read as a sample"));
    }
    Ok(())
}

/// True when the first or the last record of a part has the name of a summary.
pub(super) fn may_be_in(samples: &Samples) -> bool {
    let last = samples.len().checked_sub(1).map(|place| samples.id(place as u32));
    samples.ids().next().into_iter().chain(last).any(|id| is_named_like_one(&id))
}

fn is_named_like_one(id: &SampleId) -> bool {
    matches!(id, SampleId::Text(text) if SUMMARIES.contains(&plain(text).as_str()))
}

/// True when a score of this sample is the mean or the sum of those of the others, as far as it is written.
fn sums_up(samples: &Shards, id: &SampleId) -> bool {
    let scorers: Vec<_> = samples.iter().flat_map(Samples::scorers).collect();
    scorers.iter().any(|scorer| {
        let (mut own, mut sum, mut count) = (None, 0.0, 0_u64);
        for part in samples.iter() {
            let Ok(points) = part.points(scorer) else { continue };
            let Ok(floats) = points.floats(&Context::default()) else { return false };
            for (row, &score) in floats.iter().enumerate().filter(|(_, score)| !score.is_nan()) {
                if points.sample_id(row) == *id {
                    own = Some(score);
                } else {
                    sum += score;
                    count += 1;
                }
            }
        }
        let is_near = |own: f64, want: f64| (own - want).abs() <= 0.006 * want.abs().max(1.0);
        // A share may be written in per cent.
        count > 1
            && own.is_some_and(|own| {
                let mean = sum / count as f64;
                is_near(own, mean) || is_near(own, sum) || is_near(own, 100.0 * mean)
            })
    })
}
