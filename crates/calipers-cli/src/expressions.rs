//! What policies name by expression.

use crate::score;
use calipers::script::Library;
use calipers::{Error, Labels, Metric, MetricSpec, Reducer};
use std::cell::OnceCell;

/// The metrics and reducers that expressions and loaded files stand for. The library of names is made only if one is asked
/// for: that takes time.
pub(crate) struct Expressions<'a> {
    files: &'a [String],
    labels: Labels,
    seconds: u64,
    library: OnceCell<Result<Library, String>>,
}

impl<'a> Expressions<'a> {
    /// With the names of these files, which may run so many seconds all together.
    pub(crate) fn new(files: &'a [String], labels: Labels, seconds: u64) -> Self {
        Self { files, labels, seconds, library: OnceCell::new() }
    }

    fn library(&self) -> Result<&Library, Error> {
        let make =
            || score::library_of(self.files, self.labels.clone(), self.seconds).map_err(|failure| failure.text());
        self.library.get_or_init(make).as_ref().map_err(|error| Error::custom(error.clone()))
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
        if self.files.is_empty() { Reducer::parse(name) } else { Ok(self.library()?.reducer(name)?) }
    }
}
