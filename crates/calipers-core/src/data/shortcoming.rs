//! Why an attempt did not pass.

use std::sync::Arc;

/// Why an attempt did not pass, with what it rests on. `calipers-render` has the sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Shortcoming {
    /// It ended in an error; the first line of its message, if it has one.
    Errored(Option<Arc<str>>),
    /// Nothing says whether it passed.
    Unscored,
    /// Its score is too low.
    ScoreBelow {
        /// The score.
        score: f64,
        /// The least score that passes.
        threshold: f64,
    },
    /// Its behaviours are not those expected.
    Behaviors {
        /// Behaviours that were observed and should not have been.
        violated: Vec<Arc<str>>,
        /// Behaviours that were expected and not observed.
        missed: Vec<Arc<str>>,
    },
    /// Its record says that it did not pass, and no more.
    Recorded,
}
