//! Results and where they come from. Renderers show a report and compute nothing.

use crate::{
    Caveat, Context, Error, PassRule, Results, Samples, ScenarioOutcome, Scenarios, StateReader, StateWriter, Stored,
};
use calipers_stats::Interval;

/// The results of several runs, side by side.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunReport>,
    /// What to know about the runs together; what is known of one run stands with it.
    pub caveats: Vec<Caveat>,
}

/// The results of one run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The file, or `-` for standard input.
    pub source: String,
    /// The format it was read as.
    pub format: String,
    /// The run within the file, if the file holds several or something names runs.
    pub name: Option<String>,
    /// What was read as what: a name of ours and the column, where they differ.
    pub columns: Vec<(String, String)>,
    /// The task, if it is known.
    pub task: Option<String>,
    /// The model, if it is known.
    pub model: Option<String>,
    /// When the run began, as its file writes it.
    pub created: Option<String>,
    /// The commit that was evaluated, if its file names it.
    pub commit: Option<String>,
    /// How many samples there are, by outcome.
    pub samples: SampleCounts,
    /// What was computed.
    pub results: Results,
    /// Figures that the file records and that cannot be computed here, because they come from the user's own code, or
    /// because the file has no samples.
    pub recorded: Vec<RecordedResult>,
    /// What was not read, and why.
    pub notes: Vec<String>,
}

/// The samples of a run by outcome: each is scored, unscored or errored, and never two of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// All samples.
    pub total: u64,
    /// Those with a score in at least one attempt. In a run without scorers, what says whether an attempt was right or passed stands in
    /// for a score, as it does for metrics.
    pub scored: u64,
    /// Those that ran and have no score.
    pub unscored: u64,
    /// Those without a score of which an attempt ended in an error.
    pub errored: u64,
}

impl Stored for SampleCounts {
    fn save(&self, out: &mut StateWriter) {
        out.put(&(self.total, self.scored));
        out.put(&(self.unscored, self.errored));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let ((total, scored), (unscored, errored)) = (from.take()?, from.take()?);
        Ok(Self { total, scored, unscored, errored })
    }
}

impl std::ops::AddAssign for SampleCounts {
    fn add_assign(&mut self, other: Self) {
        self.total += other.total;
        self.scored += other.scored;
        self.unscored += other.unscored;
        self.errored += other.errored;
    }
}

impl Samples {
    /// The samples by outcome.
    ///
    /// ```
    /// use calipers_core::{SampleCounts, Samples};
    ///
    /// let mut samples = Samples::new();
    /// samples.push(1).score("judge", 0.0); // a zero is a score
    /// samples.push(2).error("connection reset");
    /// samples.push(2).score("judge", 1.0); // a second attempt went well
    /// samples.push(3).error("connection reset");
    /// samples.push(4);
    /// assert_eq!(samples.counts(), SampleCounts { total: 4, scored: 2, unscored: 1, errored: 1 });
    ///
    /// let mut tests = Samples::new();
    /// tests.push(1).field("passed", false); // says how it went, as a score does
    /// tests.push(2).field("passed", true).error("connection reset");
    /// tests.push(3).field("latency_ms", 7);
    /// assert_eq!(tests.counts(), SampleCounts { total: 3, scored: 1, unscored: 1, errored: 1 });
    /// ```
    #[must_use]
    pub fn counts(&self) -> SampleCounts {
        let total = self.len() as u64;
        if self.scorers().filter_map(|scorer| self.points(scorer).ok()).any(|points| points.covers_all_samples()) {
            return SampleCounts { total, scored: total, ..SampleCounts::default() };
        }
        let mut scored = vec![false; self.len()];
        for points in self.scorers().filter_map(|scorer| self.points(scorer).ok()) {
            for (row, &sample) in points.sample_codes().iter().enumerate() {
                scored[sample as usize] |= !points.values().is_root_missing(row);
            }
        }
        if self.scorers().next().is_none() {
            self.mark_by_outcome(&mut scored);
        }
        let mut errored = vec![false; self.len()];
        if self.errored_attempts() > 0 {
            let attempts = self.attempt_points();
            for (row, &sample) in attempts.sample_codes().iter().enumerate() {
                errored[sample as usize] |= attempts.is_errored(row);
            }
        }
        let count = |is: bool, failed: bool| {
            scored.iter().zip(&errored).filter(|&(&s, &e)| s == is && (s || e == failed)).count() as u64
        };
        SampleCounts { total, scored: count(true, false), unscored: count(false, false), errored: count(false, true) }
    }

    /// Marks the samples of which an attempt that ran says whether it was right, or whether it passed.
    fn mark_by_outcome(&self, is_scored: &mut [bool]) {
        let attempts = self.attempt_points();
        for name in ["correct", "passed"].into_iter().filter(|name| self.fields().any(|field| **field == **name)) {
            let values = attempts.field_values(name);
            for (row, &sample) in attempts.sample_codes().iter().enumerate() {
                is_scored[sample as usize] |= !values.is_missing(row) && !attempts.is_errored(row);
            }
        }
        if is_scored.contains(&false)
            && let Ok(scenarios) = Scenarios::of(&attempts, &PassRule::default(), &Context::default())
        {
            let has_verdict =
                |outcome: &ScenarioOutcome| !matches!(outcome, ScenarioOutcome::Errored | ScenarioOutcome::Unscored);
            for (outcome, &sample) in scenarios.outcomes().iter().zip(attempts.sample_codes()) {
                is_scored[sample as usize] |= has_verdict(outcome);
            }
        }
    }
}

/// A figure as a file records it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedResult {
    /// The scorer, or the key of its scores.
    pub score: String,
    /// The reducer, if it is named.
    pub reducer: Option<String>,
    /// The metric.
    pub metric: String,
    /// The number, if there is one.
    pub value: Option<f64>,
    /// Its standard error, if the file records it.
    pub stderr: Option<f64>,
    /// How many samples it rests on, if the file says so.
    pub n: Option<u64>,
    /// Made from the recorded error, because the file has no samples to compute a better one from.
    pub interval: Option<Interval>,
}
