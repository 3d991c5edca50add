//! Which question a standard error answers: about questions like these, or about a rerun of this suite.

use crate::{Context, Error, Points};
use calipers_stats::components::UnitMoments;

impl Points<'_> {
    /// The moments of each sample's attempts, from which the errors of both estimands follow.
    ///
    /// `stderr` is about *questions like these*: another draw of samples. Whether a change to the system moved the score
    /// on a suite that stays the same is a question of *this suite rerun*, whose error is smaller and needs at least two
    /// attempts at every sample. All attempts taken for independent give an error that is right for neither.
    ///
    /// ```
    /// use calipers_core::stats::components::Estimand;
    /// use calipers_core::{Context, Samples};
    ///
    /// let mut samples = Samples::new();
    /// for (id, attempts) in [(1, "CCI"), (2, "III"), (3, "CCC"), (4, "ICI")] {
    ///     for attempt in attempts.chars() {
    ///         samples.push(id).score("match", attempt.to_string());
    ///     }
    /// }
    /// let components = samples.points("match")?.by_sample(&Context::default())?.components().expect("there are attempts");
    /// let like_these = components.stderr(Estimand::Population).expect("several samples");
    /// let rerun = components.stderr(Estimand::FixedSuite).expect("several attempts at each");
    /// assert!((like_these - 0.2152).abs() < 1e-4 && (rerun - 0.1179).abs() < 1e-4);
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn by_sample(&self, context: &Context) -> Result<UnitMoments, Error> {
        let attempts = self.unique()?.scored();
        let mut units = UnitMoments::default();
        let folded = units.extend(attempts.sample_codes(), &attempts.floats(context)?);
        folded.expect("a row has one sample and one score");
        Ok(units)
    }
}
