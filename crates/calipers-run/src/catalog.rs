//! The catalogue of solvers and scorers, by the names that task files and command lines use.

use crate::{AttemptFault, AttemptScope, AttemptState, Scorer, ScorerResult, Solver, scorers, solvers};
use async_trait::async_trait;
use calipers_core::{Error, ErrorKind, MetricSpec, Value, nearest};
use std::sync::Arc;

/// What can be created by name: the solvers or the scorers that come with this crate.
///
/// ```
/// use calipers_core::Value;
/// use calipers_run::Scorers;
///
/// let scorers = Scorers::builtin();
/// assert_eq!(scorers.places("match"), ["location"]);
/// let scorer = scorers.make("match", &Value::from([("location", "any")]))?;
/// assert_eq!(scorer.name(), "match");
/// let error = scorers.make("mach", &Value::Map(Vec::new())).err().expect("no scorer has that name");
/// assert_eq!(error.to_string(), "there is no scorer `mach`\n  hint: did you mean `match`?");
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub struct Catalog<T: ?Sized + 'static> {
    what: &'static str,
    entries: &'static [CatalogEntry<T>],
}

/// The solvers by name.
pub type Solvers = Catalog<dyn Solver>;

/// The scorers by name.
pub type Scorers = Catalog<dyn Scorer>;

/// The catalogue entry of one solver or scorer.
pub(crate) struct CatalogEntry<T: ?Sized + 'static> {
    pub(crate) name: &'static str,
    /// One line on what it does.
    pub(crate) about: &'static str,
    /// The parameters, those that may be given by position first.
    pub(crate) params: &'static [&'static str],
    /// How many of them may be given by position.
    pub(crate) places: usize,
    /// True if it accepts further parameters, to fill in templates.
    pub(crate) open: bool,
    pub(crate) make: fn(&CatalogParams<'_>) -> Result<Arc<T>, Error>,
}

impl<T: ?Sized> Catalog<T> {
    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|entry| entry.name)
    }

    /// What it does, in one line.
    #[must_use]
    pub fn about(&self, name: &str) -> Option<&'static str> {
        self.find(name).map(|entry| entry.about)
    }

    /// The parameters, those that may be given by position first; empty for an unknown name.
    #[must_use]
    pub fn params(&self, name: &str) -> &'static [&'static str] {
        self.find(name).map_or(&[], |entry| entry.params)
    }

    /// The parameters that may be given by position, in order; empty for an unknown name.
    #[must_use]
    pub fn places(&self, name: &str) -> &'static [&'static str] {
        self.find(name).map_or(&[], |entry| &entry.params[..entry.places])
    }

    /// True if it accepts further parameters, to fill in templates.
    #[must_use]
    pub fn is_open(&self, name: &str) -> bool {
        self.find(name).is_some_and(|entry| entry.open)
    }

    fn find(&self, name: &str) -> Option<&'static CatalogEntry<T>> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn make_part(&self, name: &str, params: &Value) -> Result<Arc<T>, Error> {
        let Some(entry) = self.find(name) else {
            let names: Vec<&str> = self.names().collect();
            let nearest = nearest(name, &names).map(str::to_owned);
            return Err(ErrorKind::UnknownName { what: self.what, name: name.to_owned(), nearest }.into());
        };
        let given: &[(Arc<str>, Value)] = match params {
            Value::Map(entries) => entries,
            Value::Null => &[],
            other => {
                let message = format!("the parameters of `{name}` are a {}, not a map", other.kind());
                return Err(argument(message, "give each parameter by its name"));
            }
        };
        if let Some((unknown, _)) = given.iter().find(|(key, _)| !entry.open && !entry.params.contains(&&**key)) {
            return Err(unknown_param(entry.name, unknown, entry.params));
        }
        (entry.make)(&CatalogParams { owner: entry.name, given })
    }
}

impl<T: ?Sized> std::fmt::Debug for Catalog<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Solvers {
    /// Those that come with this crate.
    #[must_use]
    pub fn builtin() -> Self {
        Self { what: "solver", entries: solvers::ALL }
    }

    /// A solver by its name and a map of its parameters.
    pub fn make(&self, name: &str, params: &Value) -> Result<Arc<dyn Solver>, Error> {
        let inner = self.make_part(name, params)?;
        Ok(Arc::new(CatalogItem { inner, params: redact_environment(params) }))
    }
}

impl Scorers {
    /// Those that come with this crate.
    #[must_use]
    pub fn builtin() -> Self {
        Self { what: "scorer", entries: scorers::ALL }
    }

    /// A scorer by its name and a map of its parameters.
    pub fn make(&self, name: &str, params: &Value) -> Result<Arc<dyn Scorer>, Error> {
        let inner = self.make_part(name, params)?;
        Ok(Arc::new(CatalogItem { inner, params: redact_environment(params) }))
    }
}

/// A solver or scorer with the parameters it was created with.
struct CatalogItem<T: ?Sized> {
    inner: Arc<T>,
    params: Value,
}

#[async_trait]
impl Solver for CatalogItem<dyn Solver> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn params(&self) -> Value {
        self.params.clone()
    }

    fn asks_model(&self) -> bool {
        self.inner.asks_model()
    }

    fn program(&self) -> Option<&str> {
        self.inner.program()
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        self.inner.solve(state, scope).await
    }
}

#[async_trait]
impl Scorer for CatalogItem<dyn Scorer> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn params(&self) -> Value {
        self.params.clone()
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        self.inner.metrics()
    }

    fn program(&self) -> Option<&str> {
        self.inner.program()
    }

    async fn score(&self, state: &AttemptState, scope: &AttemptScope) -> Result<ScorerResult, AttemptFault> {
        self.inner.score(state, scope).await
    }
}

/// The parameters as logs record them. Of environment variables only the names are kept, because the values are often
/// keys.
fn redact_environment(params: &Value) -> Value {
    let Value::Map(entries) = params else { return Value::Map(Vec::new()) };
    let kept = entries.iter().filter(|(_, value)| !matches!(value, Value::Null));
    let hidden = kept.map(|(key, value)| match value {
        Value::Map(variables) if &**key == "env" => {
            let names = variables.iter().map(|(name, _)| (name.clone(), Value::from("(not logged)")));
            (key.clone(), Value::Map(names.collect()))
        }
        _ => (key.clone(), value.clone()),
    });
    Value::Map(hidden.collect())
}

pub(crate) fn argument(message: impl Into<String>, hint: impl Into<String>) -> Error {
    ErrorKind::Argument { message: message.into(), hint: hint.into() }.into()
}

fn unknown_param(owner: &str, name: &str, known: &[&str]) -> Error {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "it has none".to_owned(),
        None => format!("it has {}", known.join(", ")),
    };
    argument(format!("`{owner}` has no parameter `{name}`"), hint)
}

/// Parameters, read by name and type. Null counts as not given.
pub(crate) struct CatalogParams<'a> {
    owner: &'static str,
    given: &'a [(Arc<str>, Value)],
}

impl<'a> CatalogParams<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        let found = self.given.iter().find(|(key, _)| **key == *name);
        found.map(|(_, value)| value).filter(|value| !matches!(value, Value::Null))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<Arc<str>>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.wrong(name, "text", other)),
        }
    }

    pub(crate) fn needed_text(&self, name: &str) -> Result<Arc<str>, Error> {
        self.text(name)?.ok_or_else(|| self.absent(name))
    }

    pub(crate) fn absent(&self, name: &str) -> Error {
        argument(format!("`{}` needs `{name}`", self.owner), format!("write {}({name}=…)", self.owner))
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Error> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Int(whole)) => Ok(Some(*whole as f64)),
            Some(Value::Float(number)) if number.is_finite() => Ok(Some(*number)),
            Some(other) => Err(self.wrong(name, "a number", other)),
        }
    }

    pub(crate) fn whole(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Int(whole)) if *whole >= 0 => Ok(Some(whole.unsigned_abs())),
            Some(other) => Err(self.wrong(name, "a whole number from 0", other)),
        }
    }

    /// One text or a list of them.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<Arc<str>>>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match texts(value) {
            Some(texts) => Ok(Some(texts)),
            None => Err(self.wrong(name, "a string or a list of strings", value)),
        }
    }

    pub(crate) fn map(&self, name: &str) -> Result<&'a [(Arc<str>, Value)], Error> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Value::Map(entries)) => Ok(entries),
            Some(other) => Err(self.wrong(name, "a map", other)),
        }
    }

    /// One of several words.
    pub(crate) fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, Error> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let found = words.iter().find(|word| matches!(value, Value::Text(text) if **text == ***word));
        found.copied().map(Some).ok_or_else(|| self.wrong(name, &format!("one of {}", words.join(", ")), value))
    }

    /// All parameters but one, to fill in a template.
    pub(crate) fn all_but(&self, name: &str) -> Vec<(Arc<str>, Value)> {
        self.given.iter().filter(|(key, _)| **key != *name).cloned().collect()
    }

    pub(crate) fn wrong(&self, name: &str, expected: &str, found: &Value) -> Error {
        let message = format!("`{name}` of `{}` is {}", self.owner, to_short_text(found));
        argument(message, format!("give {expected}"))
    }
}

fn to_short_text(value: &Value) -> String {
    match value {
        Value::List(_) | Value::Map(_) => format!("a {}", value.kind()),
        plain => format!("`{plain}`"),
    }
}

/// The texts of one text or of a list.
pub(crate) fn texts(value: &Value) -> Option<Vec<Arc<str>>> {
    match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}
