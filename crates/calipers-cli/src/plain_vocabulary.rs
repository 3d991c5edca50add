//! What expressions may name in a build that runs no scripts: the built-in metrics and reducers, without parameters.

use crate::flags::ScriptFlags;
use calipers::data::{Labels, Value};
use calipers::error::ErrorKind;
use calipers::plan::MetricSpec;
use calipers::{Error, Metric, Reducer, Registry};

/// The built-in names.
pub(crate) struct Vocabulary(Registry);

impl Vocabulary {
    /// Fails if files are to be loaded.
    pub(crate) fn load(scripts: &ScriptFlags, _: Labels) -> Result<Self, Error> {
        match scripts.load.first() {
            None => Ok(Self(Registry::builtin())),
            Some(file) => Err(needs_scripts(&format!("`{file}` is not loaded"))),
        }
    }

    /// The metric of a name.
    pub(crate) fn metrics(&self, expression: &str) -> Result<Vec<MetricSpec>, Error> {
        let name = expression.strip_suffix("()").unwrap_or(expression);
        if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(needs_scripts(&format!("`{expression}` is more than the name of a metric")));
        }
        Ok(vec![MetricSpec::One(self.0.metric(name, &Value::Null)?)])
    }

    /// None: no file is loaded.
    pub(crate) fn own_metric(&self, _: &str, _: &Value) -> Option<Result<Metric, Error>> {
        None
    }

    /// The reducer of a name.
    pub(crate) fn reducer(&self, name: &str) -> Result<Reducer, Error> {
        Reducer::parse(name)
    }
}

fn needs_scripts(what: &str) -> Error {
    let message = format!("{what}: this build runs no scripts");
    let hint = "build without `--no-default-features`: `cargo run --release -- …`".to_owned();
    ErrorKind::Script { message, excerpt: None, part: None, hint: Some(hint) }.into()
}
