//! Answers that a run took from a cache instead of asking a model.

use crate::{Caveat, Samples, Value};

/// The field with the number of answers of an attempt that came from a cache.
pub const CACHED_ANSWERS: &str = "cached_answers";

impl Samples {
    /// How many attempts have answers from a cache, and how many answers these are.
    ///
    /// ```
    /// use calipers_core::Samples;
    ///
    /// let mut samples = Samples::new();
    /// samples.push("a").field("cached_answers", 2);
    /// samples.push("b").score("judge", 1.0);
    /// assert_eq!(samples.cached_answers(), (1, 2));
    /// ```
    #[must_use]
    pub fn cached_answers(&self) -> (u64, u64) {
        let Some(column) = self.fields.get(CACHED_ANSWERS) else { return (0, 0) };
        let answers = column.values().filter_map(|value| match value {
            Value::Int(answers) => u64::try_from(answers).ok(),
            // Readers of tables may have floats only.
            Value::Float(answers) if answers >= 1.0 && answers.fract() == 0.0 => Some(answers as u64),
            _ => None,
        });
        answers
            .filter(|&answers| answers > 0)
            .fold((0, 0), |(attempts, all), answers| (attempts + 1, u64::saturating_add(all, answers)))
    }

    /// What to know about answers from a cache, if there are any.
    #[must_use]
    pub fn cached_caveat(&self, run: Option<&str>) -> Option<Caveat> {
        Caveat::of_cached(run, self.cached_answers(), self.attempts() as u64)
    }
}

impl Caveat {
    /// What to know about this many attempts with this many answers from a cache, if there are any.
    #[must_use]
    pub fn of_cached(run: Option<&str>, (attempts, answers): (u64, u64), attempts_total: u64) -> Option<Self> {
        let run = run.map(str::to_owned);
        (attempts > 0).then_some(Self::CachedAnswers { run, attempts, attempts_total, answers })
    }
}
