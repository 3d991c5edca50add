//! CPU time, not wall time: the machine may be busy with other things.

use cpu_time::ProcessTime;
use std::hint::black_box;

/// The CPU seconds of the runs of one case, fastest first. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Times(Vec<f64>);

const RUNS_MIN: usize = 10;
const RUNS_MAX: usize = 200;
const SECONDS_MAX: f64 = 1.0;

impl Times {
    pub(crate) fn new(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_unstable_by(f64::total_cmp);
        (!seconds.is_empty()).then_some(Self(seconds))
    }

    /// The run that was disturbed least.
    pub(crate) fn fastest(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }
}

/// Runs at least ten times, and more often if that is quick, and returns the last answer.
pub(crate) fn measure<T>(mut run: impl FnMut() -> T) -> (Times, T) {
    let mut seconds = Vec::new();
    loop {
        let start = ProcessTime::now();
        let answer = black_box(run());
        seconds.push(start.elapsed().as_secs_f64());
        let enough = seconds.len() >= RUNS_MAX || seconds.iter().sum::<f64>() > SECONDS_MAX;
        if seconds.len() >= RUNS_MIN && enough {
            return (Times::new(seconds).expect("it ran"), answer);
        }
    }
}

/// The answer of one run and its CPU seconds.
pub(crate) fn once<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = ProcessTime::now();
    let answer = run();
    (start.elapsed().as_secs_f64(), answer)
}
