//! Metrics and reducers that are named by expressions, on the command line or in a policy.

use crate::failure::Failure;
use crate::flags::ScriptFlags;
use crate::script_child;
use crate::vocabulary::Vocabulary;
use calipers::data::Labels;
use calipers::plan::MetricSpec;
use calipers::{Error, LoadedNames, Metric, Reducer};
use std::cell::OnceCell;
use std::sync::Arc;

/// The metrics and reducers that expressions and loaded files stand for. The vocabulary is made only if a name is asked
/// for: that takes time.
pub(crate) struct Expressions<'a> {
    scripts: &'a ScriptFlags,
    labels: Labels,
    vocabulary: OnceCell<Result<Arc<Vocabulary>, Error>>,
}

impl<'a> Expressions<'a> {
    /// With the names of the files that are loaded. One that is wrong is wrong whether it is used or not.
    pub(crate) fn load(scripts: &'a ScriptFlags, labels: Labels) -> Result<Self, Failure> {
        let expressions = Self { scripts, labels, vocabulary: OnceCell::new() };
        if !scripts.load.is_empty() {
            expressions.vocabulary()?;
        }
        Ok(expressions)
    }

    fn vocabulary(&self) -> Result<&Arc<Vocabulary>, Error> {
        let load = || Vocabulary::load(self.scripts, self.labels.clone()).map(Arc::new);
        self.vocabulary.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    /// The metrics of expressions, if there are any.
    pub(crate) fn metric_specs(&self, expressions: &[String]) -> Result<Option<Vec<MetricSpec>>, Failure> {
        if expressions.is_empty() {
            return Ok(None);
        }
        let vocabulary = self.vocabulary()?;
        let _limit = script_child::limit_memory();
        let mut metrics = Vec::new();
        for expression in expressions.iter().flat_map(|expression| split_list(expression)) {
            metrics.extend(vocabulary.metrics(expression)?);
        }
        Ok(Some(metrics))
    }

    /// The same where each is one metric.
    pub(crate) fn metrics(&self, expressions: &[String]) -> Result<Option<Vec<Metric>>, Failure> {
        let _limit = script_child::limit_memory();
        let each = expressions.iter().flat_map(|expression| split_list(expression));
        let metrics = each.map(|text| self.metric(text)).collect::<Result<Vec<Metric>, _>>()?;
        Ok(if metrics.is_empty() { None } else { Some(metrics) })
    }

    /// The one metric of an expression.
    pub(crate) fn metric(&self, text: &str) -> Result<Metric, Error> {
        match &self.vocabulary()?.metrics(text)?[..] {
            [MetricSpec::One(metric)] => Ok(metric.clone()),
            _ => Err(Error::custom(format!("`{text}` is not one metric"))),
        }
    }

    /// What logs that record metrics and reducers by name may find in the loaded files.
    pub(crate) fn loaded_names(&self) -> Result<LoadedNames, Error> {
        if self.scripts.load.is_empty() {
            return Ok(LoadedNames::default());
        }
        let (metrics, reducers) = (self.vocabulary()?.clone(), self.vocabulary()?.clone());
        Ok(LoadedNames::new(move |name, params| metrics.own_metric(name, params), move |name| reducers.reducer(name)))
    }

    /// The reducer of a name.
    pub(crate) fn reducer(&self, name: &str) -> Result<Reducer, Error> {
        if self.scripts.load.is_empty() { Reducer::parse(name) } else { self.vocabulary()?.reducer(name) }
    }
}

/// The expressions of a list with commas: `accuracy,stderr`. Commas in brackets and quotes belong to their expression.
fn split_list(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quote, mut is_escaped) = (0, 0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', Some(_)) => is_escaped = true,
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    // An empty part is a mistake, which the whole text explains best.
    if parts.iter().any(|part| part.is_empty()) { vec![text] } else { parts }
}

#[cfg(test)]
mod tests {
    use super::split_list;

    #[test]
    fn lists_of_metrics_are_taken_apart_at_commas_outside_brackets() {
        for (text, want) in [
            ("accuracy,stderr", &["accuracy", "stderr"][..]),
            ("accuracy", &["accuracy"]),
            (
                r#"grouped(accuracy(), "a,b"), {"x": [mean(), stderr()]}"#,
                &[r#"grouped(accuracy(), "a,b")"#, r#"{"x": [mean(), stderr()]}"#],
            ),
            ("accuracy,", &["accuracy,"]),
        ] {
            assert_eq!(split_list(text), want);
        }
    }
}
