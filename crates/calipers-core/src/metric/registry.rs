//! Metrics by name: for logs and expressions that name them.

use super::aggregate::{AGGREGATE, aggregate_labelled};
use super::behavior_coverage::{Average, BEHAVIOR_COVERAGE, behavior_coverage};
use super::bootstrap_stderr::{BOOTSTRAP_STDERR, bootstrap_stderr};
use super::ci::{CI, CI_WILSON, Ci};
use super::confusion::{F1, MCC, PRECISION, RECALL, f1, mcc, precision, recall};
use super::cost::{COST, TOTAL_COST, cost, total_cost};
use super::frequency::{FREQUENCY, frequency};
use super::grouped::{All, GROUPED, Grouped};
use super::krippendorff::{KRIPPENDORFF_ALPHA, krippendorff_alpha};
use super::latency::{
    LATENCY_P50, LATENCY_P90, LATENCY_P95, LATENCY_P99, latency_p50, latency_p90, latency_p95, latency_p99,
};
use super::mean::{ACCURACY, MEAN, accuracy, mean, mean_of};
use super::pass_rate::{PASS_RATE, SAFETY_RATE, pass_rate_by, safety_rate_by};
use super::perplexity::{PERPLEXITY_PER_SEQ, PERPLEXITY_PER_TOKEN, perplexity_per_seq, perplexity_per_token};
use super::quantile::{QUANTILE, quantile};
use super::ratio::{RATIO, ratio};
use super::spread::{STD, VAR, std, var};
use super::stderr::{STDERR, stderr, stderr_clustered};
use super::token_efficiency::{TOKEN_EFFICIENCY, token_efficiency};
use super::{Metric, OnMissing};
use crate::{About, Error, ErrorKind, Labels, PassRule, Unit, Value};
use calipers_stats::agreement::RatingScale;
use calipers_stats::threshold_test::Direction;
use indexmap::IndexMap;
use std::cell::RefCell;
use std::sync::Arc;

/// The parameters of a metric, by name.
type Params = IndexMap<String, Value>;
/// Metrics that were made elsewhere, as parameters of another.
type Inner = IndexMap<String, Metric>;
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
}

/// How a metric is made, and what there is to say about it.
#[derive(Clone)]
struct Entry {
    make: Arc<Make>,
    about: Option<&'static About>,
}

/// The parameters that may be given by place, in their order.
const PLACES: &[(&str, &[&str])] = &[
    ("mean", &["field"]),
    ("stderr", &["cluster"]),
    ("bootstrap_stderr", &["num_samples"]),
    ("ci", &["level"]),
    ("ci_wilson", &["level"]),
    ("grouped", &["metric", "group_key"]),
    ("aggregate", &["key", "agg"]),
    ("frequency", &["categories"]),
    ("krippendorff_alpha", &["level"]),
    ("precision", &["positive"]),
    ("recall", &["positive"]),
    ("f1", &["positive"]),
    ("mcc", &["positive"]),
    ("quantile", &["field", "p"]),
    ("ratio", &["numerator", "denominator"]),
    ("pass_rate", &["pass_threshold"]),
    ("safety_rate", &["category"]),
    ("behavior_coverage", &["average"]),
];

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

/// What a metric was asked for with.
pub struct Arguments<'a> {
    registry: &'a Registry,
    metric: &'a str,
    params: Params,
    inner: Inner,
    /// The parameters that the metric asked about.
    known: RefCell<Vec<String>>,
}

impl Registry {
    /// The metrics that Calipers brings.
    #[must_use]
    pub fn builtin() -> Self {
        let mut registry = Self::default();
        registry.add(&ACCURACY, |_| Ok(accuracy()));
        registry.add(&MEAN, |a| Ok(a.text("field")?.map_or_else(mean, |field| mean_of(&field))));
        registry.add(&VAR, |_| Ok(var()));
        registry.add(&STD, |_| Ok(std()));
        registry.add(&STDERR, |a| Ok(a.text("cluster")?.map_or_else(stderr, stderr_clustered)));
        registry.add(&BOOTSTRAP_STDERR, |a| Ok(bootstrap_stderr(a.count("num_samples")?.unwrap_or(1000))));
        registry.add(&CI, interval);
        registry.add(&CI_WILSON, interval);
        registry.add(&GROUPED, grouped);
        registry.add(&AGGREGATE, aggregated);
        registry.add(&FREQUENCY, |a| Ok(frequency(a.texts("categories")?, a.flag("normalize")?.unwrap_or(true))));
        registry.add(&KRIPPENDORFF_ALPHA, |a| Ok(krippendorff_alpha(a.scale()?, a.labels("to_float")?)));
        registry.add(&PERPLEXITY_PER_TOKEN, |_| Ok(perplexity_per_token()));
        registry.add(&PERPLEXITY_PER_SEQ, |_| Ok(perplexity_per_seq()));
        registry.add(&PASS_RATE, |a| Ok(pass_rate_by(&a.pass_rule()?)));
        registry.add(&SAFETY_RATE, |a| {
            Ok(safety_rate_by(a.text("category")?.as_deref().unwrap_or("adversarial"), &a.pass_rule()?))
        });
        registry.add(&BEHAVIOR_COVERAGE, |a| Ok(behavior_coverage(a.average()?)));
        registry.add(&LATENCY_P50, |_| Ok(latency_p50()));
        registry.add(&LATENCY_P90, |_| Ok(latency_p90()));
        registry.add(&LATENCY_P95, |_| Ok(latency_p95()));
        registry.add(&LATENCY_P99, |_| Ok(latency_p99()));
        registry.add(&TOKEN_EFFICIENCY, |_| Ok(token_efficiency()));
        registry.add(&COST, |_| Ok(cost()));
        registry.add(&TOTAL_COST, |_| Ok(total_cost()));
        registry.add(&PRECISION, |a| Ok(precision(a.positive())));
        registry.add(&RECALL, |a| Ok(recall(a.positive())));
        registry.add(&F1, |a| Ok(f1(a.positive())));
        registry.add(&MCC, |a| Ok(mcc(a.positive())));
        registry.add(&QUANTILE, |a| quantile(&a.needed("field")?, a.number("p")?.unwrap_or(0.5)));
        registry.add(&RATIO, |a| Ok(ratio(&a.needed("numerator")?, &a.needed("denominator")?)));
        registry
    }

    /// Adds a metric, or takes the place of one.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        make: impl Fn(&Arguments<'_>) -> Result<Metric, Error> + Send + Sync + 'static,
    ) {
        self.metrics.insert(name.into(), Entry { make: Arc::new(make), about: None });
    }

    /// Adds a metric under its name, with all that there is to say about it.
    fn add(
        &mut self,
        about: &'static About,
        make: impl Fn(&Arguments<'_>) -> Result<Metric, Error> + Send + Sync + 'static,
    ) {
        self.metrics.insert(about.name.to_owned(), Entry { make: Arc::new(make), about: Some(about) });
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
        let Some(about) = self.about(metric.name()) else { return (Unit::Plain, None) };
        let field = metric.params().iter().find(|(name, _)| *name == "field").map(|(_, field)| field);
        match field {
            Some(Value::Text(field)) => of_field(field),
            _ => (about.unit, about.direction),
        }
    }

    /// The names, in the order of their registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.metrics.keys().map(String::as_str)
    }

    /// The names of the parameters that may be given by place, in their order.
    #[must_use]
    pub fn places(&self, name: &str) -> &'static [&'static str] {
        PLACES.iter().find(|(metric, _)| *metric == name).map_or(&[], |(_, places)| places)
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
        let arguments = Arguments { registry: self, metric: name, params, inner, known: RefCell::default() };
        let mut metric = make(&arguments)?;
        // Some metrics over fields take a scorer for a reason of their own.
        let takes_scorer = arguments.known.borrow().iter().any(|name| name == "scorer");
        arguments.check_names()?;
        match arguments.labels("to_float")? {
            // Its labels are for the values it picks, not for those that its metric sees.
            Some(labels) if name != "aggregate" => metric = metric.with_labels(labels),
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

impl Arguments<'_> {
    /// A parameter, if it was given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.known.borrow_mut().push(name.to_owned());
        self.params.get(name).filter(|value| !matches!(value, Value::Null))
    }

    /// Every parameter must be one that the metric asked about, or one that all have.
    fn check_names(&self) -> Result<(), Error> {
        const OF_ALL: [&str; 3] = ["where", "scorer", "to_float"];
        let known = self.known.borrow();
        let mut names: Vec<&str> = known.iter().map(String::as_str).filter(|name| !OF_ALL.contains(name)).collect();
        names.dedup();
        names.extend(OF_ALL);
        let given = self.params.keys().chain(self.inner.keys());
        let Some(unknown) = given.into_iter().find(|name| !names.contains(&name.as_str())) else { return Ok(()) };
        Err(self.unknown(unknown, crate::nearest(unknown, &names), &names))
    }

    fn unknown(&self, name: &str, nearest: Option<&str>, names: &[&str]) -> Error {
        let hint = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("it has {}", names.join(", ")),
        };
        Error::argument(format!("`{}` has no parameter `{name}`", self.metric), hint)
    }

    fn wrong(&self, name: &str, wanted: &str) -> Error {
        // A parameter that is not there may have been misspelt.
        let given: Vec<&str> = self.params.keys().chain(self.inner.keys()).map(String::as_str).collect();
        if let (None, Some(misspelt)) = (self.get(name), crate::nearest(name, &given)) {
            return self.unknown(misspelt, Some(name), &[]);
        }
        let found = self.get(name).map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"));
        Error::argument(format!("`{}`: {name} is {found}, not {wanted}", self.metric), format!("give {wanted}"))
    }

    /// A parameter that is text.
    pub fn text(&self, name: &str) -> Result<Option<String>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.to_string())),
            Some(_) => Err(self.wrong(name, "text")),
        }
    }

    fn needed(&self, name: &str) -> Result<String, Error> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "text"))
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_number().map(Some).ok_or_else(|| self.wrong(name, "a number")),
        }
    }

    fn count(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Int(count)) if *count > 0 => Ok(Some(*count as u64)),
            Some(_) => Err(self.wrong(name, "a whole number above 0")),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, Error> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::List(items)) => Ok(items.iter().map(Value::to_string).collect()),
            Some(_) => Err(self.wrong(name, "a list of texts")),
        }
    }

    fn positive(&self) -> Value {
        self.get("positive").cloned().unwrap_or(Value::Bool(true))
    }

    fn pass_rule(&self) -> Result<PassRule, Error> {
        let rule = self.number("pass_threshold")?.map_or_else(|| Ok(PassRule::default()), PassRule::new)?;
        Ok(self.text("scorer")?.into_iter().fold(rule, PassRule::of_scorer))
    }

    fn average(&self) -> Result<Average, Error> {
        match self.text("average")?.as_deref() {
            None | Some("macro") => Ok(Average::Macro),
            Some("micro") => Ok(Average::Micro),
            Some(_) => Err(self.wrong("average", "`macro` or `micro`")),
        }
    }

    fn scale(&self) -> Result<RatingScale, Error> {
        match self.text("level")?.as_deref() {
            None | Some("nominal") => Ok(RatingScale::Nominal),
            Some("ordinal") => Ok(RatingScale::Ordinal),
            Some("interval") => Ok(RatingScale::Interval),
            Some(_) => Err(self.wrong("level", "nominal, ordinal or interval")),
        }
    }

    /// Labels: a map of `correct`, `incorrect`, `partial` and `noanswer`.
    fn labels(&self, name: &str) -> Result<Option<Labels>, Error> {
        let Some(given) = self.get(name) else { return Ok(None) };
        let given = given.get("value_to_float").unwrap_or(given);
        let Value::Map(entries) = given else { return Err(self.wrong(name, "a map of labels")) };
        let mut labels = Labels::default();
        for (role, value) in entries {
            labels = match &**role {
                "correct" => labels.correct(value.clone()),
                "incorrect" => labels.incorrect(value.clone()),
                "partial" => labels.partial(value.clone()),
                "noanswer" => labels.noanswer(value.clone()),
                _ => return Err(self.wrong(name, "a map of correct, incorrect, partial and noanswer")),
            };
        }
        Ok(Some(labels))
    }

    /// A metric given as a parameter, or a map of `name` and `params`.
    fn inner(&self, name: &str) -> Result<Metric, Error> {
        self.known.borrow_mut().push(name.to_owned());
        if let Some(metric) = self.inner.get(name) {
            return Ok(metric.clone());
        }
        let inner = self.get(name).ok_or_else(|| self.wrong(name, "a metric"))?;
        let Some(Value::Text(inner_name)) = inner.get("name") else { return Err(self.wrong(name, "a metric")) };
        self.registry.metric(inner_name, inner.get("params").unwrap_or(&Value::Null))
    }
}

fn interval(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let mut ci = if arguments.metric == "ci_wilson" { Ci::wilson() } else { Ci::new() };
    if let Some(level) = arguments.number("level")? {
        ci = ci.level(level)?;
    }
    let resamples = arguments.count("num_samples")?;
    match arguments.text("method")?.as_deref() {
        None | Some("t") => {}
        Some("bootstrap") => ci = ci.bootstrap(resamples.unwrap_or(1000)),
        Some(_) => return Err(arguments.wrong("method", "`t` or `bootstrap`")),
    }
    if let Some(key) = arguments.text("cluster")? {
        ci = ci.cluster(key);
    }
    Ok(ci.into())
}

fn grouped(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let mut grouped = Grouped::new(arguments.inner("metric")?, arguments.needed("group_key")?);
    match arguments.get("all") {
        None => {}
        Some(Value::Bool(false)) => grouped = grouped.all(All::Off),
        Some(Value::Text(all)) if **all == *"samples" => grouped = grouped.all(All::Samples),
        Some(Value::Text(all)) if **all == *"groups" => grouped = grouped.all(All::Groups),
        Some(_) => return Err(arguments.wrong("all", "`samples`, `groups` or false")),
    }
    if let Some(label) = arguments.text("all_label")? {
        grouped = grouped.all_label(label);
    }
    if let Some(labels) = arguments.labels("value_to_float")? {
        grouped = grouped.labels(labels);
    }
    if let Some(template) = arguments.text("name_template")? {
        grouped = grouped.name_template(template);
    }
    Ok(grouped.into())
}

fn aggregated(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let on_missing = match arguments.text("on_missing")?.as_deref() {
        None | Some("error") => OnMissing::Error,
        Some("skip") => OnMissing::Skip,
        Some("zero") => OnMissing::Zero,
        Some(_) => return Err(arguments.wrong("on_missing", "`error`, `skip` or `zero`")),
    };
    let (key, metric) = (arguments.needed("key")?, arguments.inner("agg")?);
    Ok(aggregate_labelled(key, metric, on_missing, arguments.labels("to_float")?))
}
