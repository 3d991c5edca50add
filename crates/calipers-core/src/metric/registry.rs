//! Metrics by name: for logs and expressions that name them.

use super::arguments::{Arguments, Params};
use super::{DEFINITIONS, Metric, PolicyRole};
use crate::{About, Error, ErrorKind, Family, Unit, Value};
use calipers_stats::threshold_test::Direction;
use indexmap::IndexMap;
use std::sync::Arc;

type Make = dyn Fn(&Arguments<'_>) -> Result<Metric, Error> + Send + Sync;

/// Metrics by name. A value like any other: pass it where names have to be understood.
///
/// ```
/// use calipers_core::{metric, Registry, Value};
///
/// let mut registry = Registry::builtin();
/// let by_topic = Value::from([("cluster", "topic")]);
/// assert_eq!(registry.metric("stderr", &by_topic)?.name(), "stderr");
///
/// registry.register("always_one", |_| Ok(metric("always_one", |_| Ok(1.0))));
/// assert!(registry.metric("always_one", &Value::Null).is_ok());
///
/// let error = registry.metric("acuracy", &Value::Null).unwrap_err();
/// assert_eq!(error.to_string(), "there is no metric `acuracy`\n  hint: did you mean `accuracy`?");
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    metrics: IndexMap<String, Entry>,
    /// True for names from a log, where what is left out is what Inspect does.
    is_logged: bool,
}

/// A metric that Calipers brings: what it is, and how it is made of arguments. Each file of a metric has a list of them.
pub(super) struct Definition {
    pub(super) about: About,
    pub(super) make: fn(&Arguments<'_>) -> Result<Metric, Error>,
}

/// How a metric is made, and what it is.
#[derive(Clone)]
struct Entry {
    make: Arc<Make>,
    about: Option<&'static About>,
}

/// True for the name of a metric that Inspect computes too.
///
/// ```
/// assert!(calipers_core::is_inspect_metric("accuracy"));
/// assert!(!calipers_core::is_inspect_metric("latency_p95"));
/// ```
#[must_use]
pub fn is_inspect_metric(name: &str) -> bool {
    DEFINITIONS.iter().copied().flatten().any(|definition| definition.about.inspect == Some(name))
}

/// The name of the metric that has this role in policies.
///
/// ```
/// use calipers_core::{PolicyRole, metric_with_role};
///
/// assert_eq!(metric_with_role(PolicyRole::PassRate), Some("pass_rate"));
/// assert_eq!(metric_with_role(PolicyRole::Normalized("latency")), Some("latency_p95"));
/// assert_eq!(metric_with_role(PolicyRole::Normalized("cost")), None);
/// ```
#[must_use]
pub fn metric_with_role(role: PolicyRole<'_>) -> Option<&'static str> {
    let mut all = DEFINITIONS.iter().copied().flatten().map(|definition| &definition.about);
    all.find(|about| about.role == Some(role)).map(|about| about.name)
}

/// The unit of a metric of ours.
pub(super) fn unit_of_definition(metric: &Metric) -> Unit {
    let mut all = DEFINITIONS.iter().copied().flatten().map(|definition| &definition.about);
    all.find(|about| *about.name == *metric.name()).map_or(Unit::Plain, |about| sense_of(about, metric).0)
}

/// The unit of a metric and its better side.
fn sense_of(about: &About, metric: &Metric) -> (Unit, Option<Direction>) {
    let field = metric.params().iter().find(|(name, _)| *name == "field").map(|(_, field)| field);
    match field {
        Some(Value::Text(field)) => of_field(field),
        // One that is made of another has its unit.
        _ if about.family == Family::Compound => (metric.unit.unwrap_or(about.unit), about.direction),
        _ => (about.unit, about.direction),
    }
}

/// The unit of a field, as far as its name tells.
///
/// ```
/// use calipers_core::{Unit, unit_of_field};
///
/// assert_eq!((unit_of_field("latency_ms"), unit_of_field("turns")), (Unit::Milliseconds, Unit::Plain));
/// ```
#[must_use]
pub fn unit_of_field(name: &str) -> Unit {
    of_field(name).0
}

/// The unit of a field and its better side, as far as its name tells.
fn of_field(name: &str) -> (Unit, Option<Direction>) {
    const LOW: [&str; 6] = ["latency", "duration", "elapsed", "token", "cost", "error"];
    const HIGH: [&str; 5] = ["quality", "accuracy", "correct", "passed", "reward"];
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.iter().any(|known| word.starts_with(known)));
    let unit = match words.last() {
        // Tokens per second are no tokens, and better when high.
        _ if words.contains(&"per") => return (Unit::Plain, None),
        Some(&"ms") => Unit::Milliseconds,
        Some(&"usd") => Unit::Usd,
        _ if has(&["token"]) => Unit::Tokens,
        _ => Unit::Plain,
    };
    if unit != Unit::Plain || has(&LOW) {
        return (unit, Some(Direction::AtMost));
    }
    (unit, (has(&HIGH) || name == "score").then_some(Direction::AtLeast))
}

impl Registry {
    /// The metrics that Calipers brings.
    #[must_use]
    pub fn builtin() -> Self {
        let add = |registry: Self, definition: &'static Definition| registry.with(definition);
        DEFINITIONS.iter().copied().flatten().fold(Self::default(), add)
    }

    /// The same metrics as a log of Inspect's names them: where a parameter is left out, the choice is Inspect's. `ci` is then
    /// the t interval that the log was computed with, whatever the scores are.
    ///
    /// ```
    /// use calipers_core::{Plan, Registry, Samples, Value};
    ///
    /// let mut samples = Samples::new();
    /// for (id, score) in [(1, 0.0), (2, 0.0), (3, 1.0)] {
    ///     samples.push(id).score("exact", score);
    /// }
    /// let lower = |registry: Registry| {
    ///     let ci = registry.metric("ci", &Value::Null).expect("known");
    ///     let results = Plan::new().metrics([ci]).measure(&samples).expect("scores");
    ///     results.figure("exact", "lower").expect("asked for").value.clone().expect("defined")
    /// };
    /// assert!(lower(Registry::builtin()) > 0.0 && lower(Registry::builtin().as_logged()) < 0.0);
    /// ```
    #[must_use]
    pub fn as_logged(mut self) -> Self {
        self.is_logged = true;
        self
    }

    pub(super) fn is_logged(&self) -> bool {
        self.is_logged
    }

    /// Adds a metric, or takes the place of one.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(&Arguments<'_>) -> Result<Metric, Error> + Send + Sync + 'static,
    ) {
        self.metrics.insert(name.into(), Entry { make: Arc::new(make), about: None });
    }

    /// With a metric under its name, and with what it is.
    fn with(mut self, definition: &'static Definition) -> Self {
        let entry = Entry { make: Arc::new(definition.make), about: Some(&definition.about) };
        self.metrics.insert(definition.about.name.to_owned(), entry);
        self
    }

    /// What there is to say about a metric; nothing for those that were registered from outside.
    ///
    /// ```
    /// use calipers_core::{Registry, Unit};
    ///
    /// let about = Registry::builtin().about("latency_p95").expect("a metric of ours");
    /// assert_eq!((about.unit, about.typical_threshold), (Unit::Milliseconds, Some("< 5000ms")));
    /// ```
    #[must_use]
    pub fn about(&self, name: &str) -> Option<&'static About> {
        self.metrics.get(name)?.about
    }

    /// The unit of a metric and its better side, if it has one. Of a field, its name says so: `latency_ms` has milliseconds
    /// and is better when low. A plain number for metrics that were registered from outside.
    ///
    /// ```
    /// use calipers_core::{Registry, Unit, mean, mean_of};
    /// use calipers_stats::threshold_test::Direction;
    ///
    /// let registry = Registry::builtin();
    /// assert_eq!(registry.sense(&mean()), (Unit::Plain, Some(Direction::AtLeast)));
    /// assert_eq!(registry.sense(&mean_of("latency_ms")), (Unit::Milliseconds, Some(Direction::AtMost)));
    /// assert_eq!(registry.sense(&mean_of("turns")), (Unit::Plain, None));
    /// ```
    #[must_use]
    pub fn sense(&self, metric: &Metric) -> (Unit, Option<Direction>) {
        self.about(metric.name()).map_or((Unit::Plain, None), |about| sense_of(about, metric))
    }

    /// The names, in the order of their registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.metrics.keys().map(String::as_str)
    }

    /// The names of the parameters that may be given by place, in their order.
    #[must_use]
    pub fn places(&self, name: &str) -> &'static [&'static str] {
        self.about(name).map_or(&[], |about| about.positional)
    }

    /// The metric of a name with parameters (a map, or null for none).
    ///
    /// Every metric takes `where`, a map of conditions, and `scorer` (see [`Metric::only_where`] and
    /// [`Metric::of_scorer`]).
    pub fn metric(&self, name: &str, params: &Value) -> Result<Metric, Error> {
        self.metric_of::<String>(name, params, [])
    }

    /// The same, with parameters that are metrics made elsewhere: the inner one of `grouped`, say.
    pub fn metric_of<K: Into<String>>(
        &self,
        name: &str,
        params: &Value,
        inner: impl IntoIterator<Item = (K, Metric)>,
    ) -> Result<Metric, Error> {
        let Some(Entry { make, .. }) = self.metrics.get(name) else { return Err(self.unknown(name)) };
        let params = match params {
            Value::Map(entries) => entries.iter().map(|(key, value)| (key.to_string(), value.clone())).collect(),
            _ => Params::new(),
        };
        let inner = inner.into_iter().map(|(key, metric)| (key.into(), metric)).collect();
        let arguments = Arguments::new(self, name, params, inner);
        let mut metric = make(&arguments)?;
        // Some metrics over fields take a scorer for another purpose.
        let takes_scorer = arguments.is_known("scorer");
        arguments.check_names()?;
        match arguments.labels("to_float")? {
            Some(labels) if !arguments.owns_labels() => metric = metric.with_labels(labels),
            _ => {}
        }
        match arguments.get("where") {
            None => {}
            Some(Value::Map(conditions)) => metric = metric.only_where(conditions.iter().cloned())?,
            Some(_) => return Err(arguments.wrong("where", "a map of metadata keys to values")),
        }
        match arguments.text("scorer")? {
            Some(scorer) if !takes_scorer => metric.of_scorer(scorer),
            _ => Ok(metric),
        }
    }

    /// The error for a name that no metric has.
    #[must_use]
    pub fn unknown(&self, name: &str) -> Error {
        let names: Vec<&str> = self.names().collect();
        let nearest = crate::nearest(name, &names).map(str::to_owned);
        ErrorKind::UnknownName { what: "metric", name: name.to_owned(), nearest }.into()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.metrics.keys()).finish()
    }
}
