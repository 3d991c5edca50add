//! `ci` and `ci_wilson`.

use super::arguments::Arguments;
use super::interval::{clustered_mean, mean_interval};
use super::registry::Definition;
use super::stderr::{Clusters, cluster_details};
use super::{Context, Measure, Metric, Precision, Tally, two_sided};
use crate::{
    About, Answer, Caveat, Error, ErrorKind, Family, Figure, Points, Reason, StateReader, StateWriter, Undefined, Unit,
};
use calipers_stats::bootstrap::{self, Bootstrap, BootstrapKind, ClusterMeanResampler, Resampling};
use calipers_stats::cluster::{wilson_clustered, wilson_clustered_inspect};
use calipers_stats::proportion::wilson_mean;
use calipers_stats::{Confidence, Interval, Moments, Undefined as NoStatistic};
use indexmap::IndexMap;

const CI: About = About {
    name: "ci",
    summary: "an interval for the mean",
    usage: "ci(level=0.95, method=\"auto\", cluster=None, num_samples=1000)",
    tells: "The range of true means that are compatible with the scores.",
    misleads: "With `method=\"t\"`, as Inspect computes it, the interval for scores that are 0 or 1 covers the truth \
               too rarely below a few hundred samples, and may go below 0 or above 1.",
    formula: "The interval that is shown beside `accuracy` and `mean`: Blaker's for scores that are 0 or 1, \
              otherwise x̄ ± t·s/√n with a little weight at both ends. With `cluster`, CR2 and Satterthwaite's \
              degrees of freedom, also with weight at both ends. `method=\"t\"` is x̄ ± t·s/√n, or with `cluster` \
              CR1 and t with C − 1 degrees of freedom, as in Inspect; `method=\"bootstrap\"` resamples.",
    interval: "The metric is an interval.",
    example: "calipers score results.jsonl -m 'ci(level=0.9)'",
    unit: Unit::Plain,
    range: "that of the scores",
    direction: None,
    typical_threshold: None,
    use_case: "Reports of graded answers",
    family: Family::Error,
    parameters: &[
        ("level", "strictly between 0 and 1; by default the level of the report"),
        ("method", "`auto`, `t` or `bootstrap`"),
        ("cluster", "a metadata key: samples with the same value belong together"),
        ("num_samples", "the number of resamples of `bootstrap`"),
    ],
    positional: &["level"],
    inspect: Some("ci"),
    role: None,
};

const CI_WILSON: About = About {
    name: "ci_wilson",
    summary: "an interval for a share",
    usage: "ci_wilson(level=0.95, cluster=None)",
    tells: "The range of true rates that are compatible with the scores; it stays between 0 and 1.",
    misleads: "For rates near 0 and 1 it covers less often than its level says; `accuracy` shows Blaker's interval \
               instead. For scores between 0 and 1 it is wider than necessary. If all clusters pass or all fail, it \
               is Inspect's, which is far too narrow: the details `honest_lower` and `honest_upper` count clusters, \
               not samples.",
    formula: "Wilson 1927; clustered with an effective n and t (Korn and Graubard 1998).",
    interval: "The metric is an interval.",
    example: "calipers score results.jsonl -m ci_wilson",
    unit: Unit::Rate,
    range: "0–100 %",
    direction: None,
    typical_threshold: None,
    use_case: "Reports of pass rates and accuracies",
    family: Family::Error,
    parameters: &[
        ("level", "strictly between 0 and 1; by default the level of the report"),
        ("cluster", "a metadata key: samples with the same value belong together"),
    ],
    positional: &["level"],
    inspect: Some("ci_wilson"),
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "interval of the mean";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] =
    &[Definition { about: CI, make: make_interval }, Definition { about: CI_WILSON, make: make_interval }];

fn make_interval(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let mut ci = if arguments.metric() == "ci_wilson" { Ci::wilson() } else { Ci::new() };
    let mut is_inspects = false;
    if let Some(level) = arguments.number("level")? {
        ci = ci.level(level)?;
    }
    let resamples = arguments.count("num_samples")?;
    match arguments.text("method")?.as_deref() {
        None if arguments.is_logged() && ci.how == How::Auto => is_inspects = true,
        None | Some("auto") => {}
        Some("t") => ci = ci.t(),
        Some("bootstrap") => ci = ci.bootstrap(resamples.unwrap_or(1000)),
        Some(_) => return Err(arguments.wrong("method", "`auto`, `t` or `bootstrap`")),
    }
    if let Some(key) = arguments.text("cluster")? {
        ci = ci.cluster(key);
    }
    if is_inspects {
        // The log names no method, so neither do its results.
        return Ok(Metric::from(ci.t()).without_param("method"));
    }
    Ok(ci.into())
}

/// The interval that the mean has, as `lower` and `upper`, at the level of the plan.
///
/// `calipers metrics ci` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{ci, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, 0.25), (2, 0.5), (3, 0.75), (4, 1.0)] {
///     samples.push(id).score("judge", score);
/// }
/// let results = Plan::new().metrics([ci()]).measure(&samples)?;
/// let lower = results.figure("judge", "lower").expect("asked for").value.clone().expect("defined");
/// assert!((0.16..0.17).contains(&lower));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn ci() -> Metric {
    Ci::new().into()
}

/// The Wilson interval of a share, as `lower` and `upper`, at the level of the plan.
///
/// `calipers metrics ci_wilson` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{ci_wilson, Plan, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(1).score("match", "C");
/// let results = Plan::new().metrics([ci_wilson()]).measure(&samples)?;
/// let lower = results.figure("match", "lower").expect("asked for").value.clone().expect("defined");
/// assert!((lower - 0.2065).abs() < 1e-4);
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn ci_wilson() -> Metric {
    Ci::wilson().into()
}

/// An interval of the mean, being described.
///
/// ```
/// use calipers_core::{Ci, Metric};
///
/// let by_document: Metric = Ci::new().level(0.9)?.cluster("document").into();
/// let resampled: Metric = Ci::new().bootstrap(10_000).into();
/// let as_inspect_does: Metric = Ci::new().t().into();
/// assert!(Ci::new().level(95.0).is_err());
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ci {
    confidence: Option<Confidence>,
    how: How,
    cluster: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// What a mean of such scores has.
    Auto,
    T,
    Wilson,
    Bootstrap {
        resamples: u64,
    },
}

impl Ci {
    /// The interval that a mean of such scores has, at the level of the plan.
    #[must_use]
    pub fn new() -> Self {
        Self { confidence: None, how: How::Auto, cluster: None }
    }

    /// By t whatever the scores are, as Inspect does.
    #[must_use]
    pub fn t(mut self) -> Self {
        self.how = How::T;
        self
    }

    /// A Wilson interval at the level of the plan.
    #[must_use]
    pub fn wilson() -> Self {
        Self { how: How::Wilson, ..Self::new() }
    }

    /// At another level, strictly between 0 and 1.
    pub fn level(mut self, level: f64) -> Result<Self, Error> {
        self.confidence = Some(two_sided(level)?);
        Ok(self)
    }

    /// By the percentiles of a seeded bootstrap of the mean.
    #[must_use]
    pub fn bootstrap(mut self, resamples: u64) -> Self {
        self.how = How::Bootstrap { resamples };
        self
    }

    /// Samples with the same value of this metadata key go together.
    #[must_use]
    pub fn cluster(mut self, key: impl Into<String>) -> Self {
        self.cluster = Some(key.into());
        self
    }

    fn name(&self) -> &'static str {
        if self.how == How::Wilson { "ci_wilson" } else { "ci" }
    }
}

impl Default for Ci {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Ci> for Metric {
    fn from(ci: Ci) -> Self {
        let mut metric = Metric::recorded(ci.name(), Bounds(ci.clone())).stating(Precision::Interval);
        if let Some(confidence) = ci.confidence {
            metric = metric.param("level", confidence.level());
        }
        metric = match ci.how {
            How::Auto | How::Wilson => metric,
            How::T => metric.param("method", "t"),
            How::Bootstrap { resamples } => metric.param("method", "bootstrap").param("num_samples", resamples as i64),
        };
        match ci.cluster {
            Some(key) => metric.keyed_by(&key).param("cluster", key),
            None if ci.how == How::Auto => metric.of_mean(),
            None => metric,
        }
    }
}

/// From so many samples, and so many of the rarer outcome, a t interval of 0/1 scores is as good as another.
const SHARE_BY_T: u64 = 300;
const RARER_BY_T: f64 = 10.0;

/// What an interval needs: moments, and the values or clusters where it resamples them.
#[derive(Default)]
struct CiState {
    moments: Moments,
    clusters: Option<Clusters>,
    values: Vec<f64>,
}

/// The interval as a metric.
struct Bounds(Ci);

impl Measure for Bounds {
    type State = CiState;

    fn start(&self) -> CiState {
        CiState::default()
    }

    fn fold(&self, state: &mut CiState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        if self.0.how == How::Wilson {
            check_unit(points, context)?;
        }
        if let Some(key) = &self.0.cluster {
            state.clusters.get_or_insert_default().fold(points, key, self.0.name(), context)?;
        } else if matches!(self.0.how, How::Bootstrap { .. }) {
            state.values.extend_from_slice(&points.floats(context)?);
        }
        state.moments.merge(&points.moments(context)?);
        Ok(())
    }

    fn save(&self, state: &CiState, out: &mut StateWriter) -> Result<(), Error> {
        out.put(&state.moments);
        out.put(&state.clusters);
        out.floats(&state.values);
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<CiState, Error> {
        Ok(CiState { moments: from.take()?, clusters: from.take()?, values: from.floats()? })
    }

    fn merge(&self, state: &mut CiState, other: CiState) {
        state.moments.merge(&other.moments);
        state.values.extend(other.values);
        if let Some(theirs) = other.clusters {
            state.clusters.get_or_insert_default().merge(theirs);
        }
    }

    fn finish(&self, state: CiState, tally: Tally, context: &Context) -> Result<Answer, Error> {
        if context.inspect && self.0.how == How::Wilson && self.0.cluster.is_some() {
            check_clusters(state.clusters.as_ref())?;
        }
        let confidence = self.0.confidence.unwrap_or(context.confidence);
        let (mean, several) = (state.moments.mean(), state.moments.count() > 1);
        let mut caveats = Vec::new();
        let mut details = Vec::new();
        let interval = self.0.interval(state, confidence, context, &mut caveats, &mut details);
        // Inspect gives a point for one sample or cluster and 0 for none; its arithmetic on what is infinite is IEEE's.
        let point = |infinity: f64| match (mean, &interval) {
            (Ok(_), Err(NoStatistic::NotFinite { .. })) => infinity,
            (Ok(mean), _) => mean,
            (Err(NoStatistic::NotFinite { .. }), Err(NoStatistic::NotFinite { .. })) if several => f64::NAN,
            (Err(NoStatistic::NotFinite { value }), _) => value,
            (Err(_), _) => 0.0,
        };
        let bound = |pick: fn(&Interval) -> Option<f64>, infinity: f64| {
            let value = interval.as_ref().map(|interval| pick(interval).unwrap_or(infinity));
            let value = value.map_err(|&why| Undefined::new(Reason::Statistic(why), point(infinity)));
            let method = interval.as_ref().map_or(METHOD, |interval| interval.method.name());
            let mut figure = Figure::from_result(value, tally, method).with_caveats(caveats.clone());
            figure.details.clone_from(&details);
            Answer::from(figure.with_interval(interval.as_ref().ok().copied()))
        };
        let lower = bound(|interval| interval.lower, f64::NEG_INFINITY);
        let upper = bound(|interval| interval.upper, f64::INFINITY);
        Ok(Answer::Named(IndexMap::from([("lower".to_owned(), lower), ("upper".to_owned(), upper)])))
    }
}

impl Ci {
    fn interval(
        &self,
        state: CiState,
        confidence: Confidence,
        context: &Context,
        caveats: &mut Vec<Caveat>,
        details: &mut Vec<(&'static str, f64)>,
    ) -> Result<Interval, calipers_stats::Undefined> {
        let CiState { moments, clusters, values } = state;
        let how = if self.how == How::Auto && context.inspect { How::T } else { self.how };
        if let Some(clusters) = &clusters {
            let estimate = clusters.estimate()?;
            if how != How::Auto {
                caveats.extend(estimate.caveats().into_iter().map(Caveat::from));
            }
            details.extend(cluster_details(&estimate));
            match how {
                How::Auto => {
                    let units: Vec<(f64, f64)> = clusters.sums.totals().map(|(sum, n)| (sum, n as f64)).collect();
                    return clustered_mean(&units, &moments, (None, None), confidence);
                }
                How::T => return estimate.interval_cr1(confidence),
                How::Wilson => {
                    // Inspect counts every sample as independent there, which is far too sure.
                    if estimate.mean == 0.0 || estimate.mean == 1.0 {
                        let honest = wilson_clustered(&estimate, confidence)?;
                        details.extend(honest.lower.map(|lower| ("honest_lower", lower)));
                        details.extend(honest.upper.map(|upper| ("honest_upper", upper)));
                    }
                    return wilson_clustered_inspect(&estimate, confidence);
                }
                How::Bootstrap { .. } => {}
            }
        }
        let n = moments.count();
        match how {
            How::Auto => {
                let (interval, found) = mean_interval(&moments, context.ends.value.as_ref(), confidence);
                caveats.extend(found.into_iter().filter(|_| interval.is_ok()));
                interval
            }
            How::T => {
                if moments.is_binary() && (n < SHARE_BY_T || moments.sum().min(n as f64 - moments.sum()) < RARER_BY_T) {
                    caveats.push(Caveat::ShareByT { n });
                }
                moments.t_interval(confidence)
            }
            How::Wilson => wilson_mean(moments.mean()?, n as f64, confidence),
            How::Bootstrap { resamples } => {
                if n < 2 {
                    return Err(calipers_stats::Undefined::TooFew {
                        what: calipers_stats::Quantity::Values,
                        need: 2,
                        have: n,
                    });
                }
                let resampling = Resampling { resamples, seed: context.seed };
                let answer = match clusters {
                    Some(clusters) => {
                        let clusters = ClusterMeanResampler::from_totals(&clusters.totals(), context.seed)?;
                        clusters.interval(BootstrapKind::Percentile, &clusters.replicates(resamples)?, confidence)?
                    }
                    None => bootstrap::mean_interval(&values, resampling, confidence)?,
                };
                caveats.extend(answer.caveats.into_iter().map(Caveat::from));
                details.push(("monte_carlo_error", answer.monte_carlo_error));
                Ok(answer.interval)
            }
        }
    }
}

/// Inspect refuses a clustered Wilson interval of one cluster; here it is undefined.
fn check_clusters(clusters: Option<&Clusters>) -> Result<(), Error> {
    if clusters.is_some_and(|clusters| clusters.sums.clusters() > 1) {
        return Ok(());
    }
    Err(Error::argument("`ci_wilson` needs at least two clusters", "choose another key, or drop `cluster`"))
}

/// Every score must be a share.
fn check_unit(points: &Points<'_>, context: &Context) -> Result<(), Error> {
    let moments = points.moments(context)?;
    if points.is_empty() || (moments.is_unit() && moments.sum().is_finite()) {
        return Ok(());
    }
    let values = points.floats(context)?;
    match values.iter().position(|x| !(0.0..=1.0).contains(x)) {
        Some(row) => Err(points.at(row, ErrorKind::OutsideUnit(values[row]))),
        None => Ok(()),
    }
}
