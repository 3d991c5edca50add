//! The line itself: shards are folded on any thread, states are merged, and one finish makes the results.

use calipers_core::{Error, Partial, Plan, Results, Samples};
use std::num::NonZeroUsize;
use std::sync::Mutex;

/// The results of a plan over shards of whole samples, on this many threads.
///
/// The answer has the same bits for any number of threads and any way of cutting the shards, as long as all
/// attempts of a sample are in one shard.
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
    let shards = Mutex::new(shards.into_iter());
    let parts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.get()).map(|_| scope.spawn(|| fold_shards(plan, &shards))).collect();
        workers.into_iter().map(|worker| worker.join().expect("folding does not panic")).collect::<Result<Vec<_>, _>>()
    })?;
    let mut whole = plan.start();
    parts.into_iter().for_each(|part| whole.merge(part));
    whole.finish()
}

/// Takes shards until there are none left.
fn fold_shards<'a>(plan: &'a Plan, shards: &Mutex<impl Iterator<Item = Samples>>) -> Result<Partial<'a>, Error> {
    let mut part = plan.start();
    loop {
        let shard = shards.lock().expect("no thread panics while it holds the lock").next();
        match shard {
            Some(samples) => part.fold(&samples)?,
            None => return Ok(part),
        }
    }
}
