//! What policies name by expression.

use crate::arguments::Scripts;
use crate::score;
use calipers::script::{Library, ScriptError};
use calipers::{Error, Labels, Metric, MetricSpec, Reducer};
use std::cell::OnceCell;

/// The metrics and reducers that expressions and loaded files stand for. The library of names is made only if one is asked
/// for: that takes time.
pub(crate) struct Expressions<'a> {
    scripts: &'a Scripts,
    labels: Labels,
    library: OnceCell<Result<Library, ScriptError>>,
}

impl<'a> Expressions<'a> {
    /// With the names of the files that are to be loaded.
    pub(crate) fn new(scripts: &'a Scripts, labels: Labels) -> Self {
        Self { scripts, labels, library: OnceCell::new() }
    }

    /// Reads the files that are to be loaded, if there are any: one that is wrong is wrong whether it is used or not.
    pub(crate) fn load(&self) -> Result<(), Error> {
        if self.scripts.load.is_empty() { Ok(()) } else { self.library().map(|_| ()) }
    }

    fn library(&self) -> Result<&Library, Error> {
        let make = || score::library_of(self.scripts, self.labels.clone());
        self.library.get_or_init(make).as_ref().map_err(|error| error.clone().into())
    }

    /// The one metric of an expression.
    pub(crate) fn metric(&self, text: &str) -> Result<Metric, Error> {
        match &self.library()?.metrics(text)?[..] {
            [MetricSpec::One(metric)] => Ok(metric.clone()),
            _ => Err(Error::custom(format!("`{text}` is not one metric"))),
        }
    }

    /// The reducer of a name.
    pub(crate) fn reducer(&self, name: &str) -> Result<Reducer, Error> {
        if self.scripts.load.is_empty() { Reducer::parse(name) } else { Ok(self.library()?.reducer(name)?) }
    }
}
