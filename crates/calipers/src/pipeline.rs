//! The line itself: shards are folded on any thread, states are merged, and one finish makes the results.

use calipers_core::{Error, Partial, Plan, Results, Samples};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// The results of a plan over shards of whole samples, on this many threads.
///
/// The answer has the same bits for any number of threads and any way of cutting the shards, if all
/// attempts of a sample are in one shard. Groups, keys and reductions come in the order of the shards, and of several
/// errors that of the first shard is returned, however the threads were scheduled.
///
/// ```
/// use calipers::{pipeline, Plan, Samples};
/// use std::num::NonZeroUsize;
///
/// let shards = (0..8).map(|shard| {
///     let mut samples = Samples::new();
///     for id in 0..100 {
///         samples.push(shard * 100 + id).score("match", if id % 3 == 0 { "I" } else { "C" });
///     }
///     samples
/// });
/// let results = pipeline::measure(&Plan::new(), shards, NonZeroUsize::MIN.saturating_add(3))?;
/// assert_eq!(results.figure("match", "accuracy").expect("default").value, Ok(0.66));
/// # Ok::<(), calipers::Error>(())
/// ```
pub fn measure<I>(plan: &Plan, shards: I, threads: NonZeroUsize) -> Result<Results, Error>
where
    I: IntoIterator<Item = Samples, IntoIter: Send>,
{
    measure_with(plan, shards, &NeverRan::default(), threads)
}

/// The attempts of a run that should have run and did not.
#[derive(Clone, Debug, Default)]
pub(crate) struct NeverRan {
    /// The samples of which no attempt ran.
    pub(crate) samples: Samples,
    /// All attempts that did not run, also of samples that have others.
    pub(crate) attempts: Samples,
}

#[cfg(feature = "files")]
impl NeverRan {
    /// Those of a run that these shards are what was read of.
    pub(crate) fn of(attempts: &[(calipers_core::SampleId, u32)], shards: &calipers_core::Shards) -> Self {
        let mut never_ran = Self::default();
        if attempts.is_empty() {
            return never_ran;
        }
        let ids = shards.iter().flat_map(Samples::ids).map(|id| id.to_string());
        let read: std::collections::HashSet<String> = ids.collect();
        never_ran.attempts.add_never_ran(attempts);
        let is_other = |(id, _): &&(calipers_core::SampleId, u32)| !read.contains(&id.to_string());
        never_ran.samples.add_never_ran(&attempts.iter().filter(is_other).cloned().collect::<Vec<_>>());
        never_ran
    }
}

/// The same with attempts that never ran, which are missing.
pub(crate) fn measure_with<I>(
    plan: &Plan,
    shards: I,
    never_ran: &NeverRan,
    threads: NonZeroUsize,
) -> Result<Results, Error>
where
    I: IntoIterator<Item = Samples, IntoIter: Send>,
{
    fold_with(plan, shards, never_ran, threads)?.finish()
}

/// The same before the end: what may be merged with others.
pub(crate) fn fold_with<'p, I>(
    plan: &'p Plan,
    shards: I,
    never_ran: &NeverRan,
    threads: NonZeroUsize,
) -> Result<Partial<'p>, Error>
where
    I: IntoIterator<Item = Samples, IntoIter: Send>,
{
    let shards = Mutex::new(Some(shards.into_iter().enumerate()));
    let mut parts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.get()).map(|_| scope.spawn(|| fold_shards(plan, &shards))).collect();
        // The caller sees a panic in the caller's own metric.
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<_>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    parts.sort_by_key(|(place, _)| *place);
    let mut whole = plan.start();
    for (_, part) in parts {
        whole.merge(part?);
    }
    whole.fold_never_ran(&never_ran.samples, &never_ran.attempts)?;
    Ok(whole)
}

type Part<'a> = (usize, Result<Partial<'a>, Error>);

/// Takes shards until there are none left, or one is bad. Shards are handed out in order, so all before a bad one
/// are folded too, and the first error is the same in every run.
fn fold_shards<'a>(plan: &'a Plan, shards: &Mutex<Option<impl Iterator<Item = (usize, Samples)>>>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    loop {
        let lock = || shards.lock().unwrap_or_else(PoisonError::into_inner);
        let shard = lock().as_mut().and_then(Iterator::next);
        let Some((place, samples)) = shard else { return parts };
        let mut part = plan.start();
        let folded = part.fold(&samples).map(|()| part);
        let failed = folded.is_err();
        parts.push((place, folded));
        if failed {
            *lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_core::{accuracy, grouped};

    /// Shards of one sample, each in a separate group; some scores are no known label.
    fn shards(bad: &'static [i64]) -> impl Iterator<Item = Samples> + Send {
        (0..40).map(|id| {
            let mut samples = Samples::new();
            let score = if bad.contains(&id) { "maybe" } else { "C" };
            samples.push(id).metadata("kind", format!("k{id}")).score("match", score);
            samples
        })
    }

    #[test]
    fn groups_and_errors_come_in_the_order_of_the_shards() {
        let plan = Plan::new().metrics([grouped(accuracy(), "kind")]);
        for threads in [1, 2, 7] {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            let results = measure(&plan, shards(&[]), threads).expect("good shards");
            let names: Vec<&str> = results.scores[0].metrics.keys().map(String::as_str).collect();
            let want: Vec<String> = (0..40).map(|id| format!("k{id}")).chain(["all".to_owned()]).collect();
            assert_eq!(names, want);
            let error = measure(&plan, shards(&[11, 12, 13, 30]), threads).expect_err("bad shards");
            assert!(error.to_string().contains("sample `11`"), "{error}");
        }
    }
}
