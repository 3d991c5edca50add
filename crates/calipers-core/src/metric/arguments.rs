//! The arguments of a metric, checked as they are asked for.

use super::Metric;
use super::registry::Registry;
use crate::{Error, Labels, Value};
use indexmap::IndexMap;
use std::cell::{Cell, RefCell};

/// The parameters of a metric, by name.
pub(super) type Params = IndexMap<String, Value>;
/// Metrics that were made elsewhere, as parameters of another.
pub(super) type Inner = IndexMap<String, Metric>;

/// The arguments of a metric, as an expression or a log gives them.
pub struct Arguments<'a> {
    registry: &'a Registry,
    metric: &'a str,
    params: Params,
    inner: Inner,
    /// The parameters that the metric asked about.
    known: RefCell<Vec<String>>,
    /// True when `to_float` is for values that the metric picks, not for those that it folds.
    owns_labels: Cell<bool>,
}

impl<'a> Arguments<'a> {
    /// True if a log names the metric, where what is left out is what Inspect does.
    pub(super) fn is_logged(&self) -> bool {
        self.registry.is_logged()
    }

    pub(super) fn new(registry: &'a Registry, metric: &'a str, params: Params, inner: Inner) -> Self {
        Self { registry, metric, params, inner, known: RefCell::default(), owns_labels: Cell::default() }
    }

    /// The name of the metric.
    pub(super) fn metric(&self) -> &str {
        self.metric
    }

    /// True when the metric asked about a parameter.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.known.borrow().iter().any(|known| known == name)
    }

    /// True when the metric keeps the labels of `to_float` to itself.
    pub(super) fn owns_labels(&self) -> bool {
        self.owns_labels.get()
    }

    /// A parameter, if it was given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.known.borrow_mut().push(name.to_owned());
        self.params.get(name).filter(|value| !matches!(value, Value::Null))
    }

    /// Every parameter must be one that the metric asked about, or one that all have.
    pub(super) fn check_names(&self) -> Result<(), Error> {
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

    pub(super) fn wrong(&self, name: &str, wanted: &str) -> Error {
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

    pub(super) fn needed(&self, name: &str) -> Result<String, Error> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "text"))
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_number().map(Some).ok_or_else(|| self.wrong(name, "a number")),
        }
    }

    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Int(count)) if *count > 0 => Ok(Some(*count as u64)),
            Some(_) => Err(self.wrong(name, "a whole number above 0")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Error> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::List(items)) => Ok(items.iter().map(Value::to_string).collect()),
            Some(_) => Err(self.wrong(name, "a list of strings")),
        }
    }

    /// Labels: a map of `correct`, `incorrect`, `partial` and `noanswer`.
    pub(super) fn labels(&self, name: &str) -> Result<Option<Labels>, Error> {
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

    /// True when a metric was given under this name.
    pub(super) fn has_inner(&self, name: &str) -> bool {
        self.inner.contains_key(name) || self.get(name).is_some()
    }

    /// A metric given as a parameter, or a map of `name` and `params`.
    pub(super) fn inner(&self, name: &str) -> Result<Metric, Error> {
        self.known.borrow_mut().push(name.to_owned());
        if let Some(metric) = self.inner.get(name) {
            return Ok(metric.clone());
        }
        let inner = self.get(name).ok_or_else(|| self.wrong(name, "a metric"))?;
        let Some(Value::Text(inner_name)) = inner.get("name") else { return Err(self.wrong(name, "a metric")) };
        self.registry.metric(inner_name, inner.get("params").unwrap_or(&Value::Null))
    }

    /// The labels of `to_float`, for values that the metric picks: the rows that it folds keep theirs.
    pub(super) fn own_labels(&self) -> Result<Option<Labels>, Error> {
        self.owns_labels.set(true);
        self.labels("to_float")
    }
}
