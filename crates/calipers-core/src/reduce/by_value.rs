//! Reducing the values of one sample: plain values, maps key by key, lists place by place.

use super::equal_values::first_equals;
use super::rule::{Pick, ReduceRule, ScoreClass, Shortage};
use crate::{Error, ErrorKind, Labels, Value};
use std::sync::Arc;

impl ReduceRule {
    /// Reduces the values of one sample, of any shape.
    pub(crate) fn reduce_values(&self, values: &[&Value], labels: &Labels, by: &str) -> Result<Value, Error> {
        let scored: Vec<&Value> = values.iter().copied().filter(|value| !value.is_missing()).collect();
        match scored.first() {
            None => Ok(Value::Missing),
            Some(Value::Map(first)) => self.reduce_maps(first, &scored, values.len(), labels, by),
            Some(Value::List(first)) => self.reduce_lists(first.len(), &scored, values.len(), labels, by),
            Some(first) => {
                if let Some(other) = scored.iter().find(|value| !value.is_scalar())
                    && (self.needs_scalars() || !labels.is_lenient())
                {
                    return Err(mixed_shapes(first, other));
                }
                self.reduce_scalars(&scored, values.len(), labels)
            }
        }
    }

    fn reduce_scalars(&self, values: &[&Value], total: usize, labels: &Labels) -> Result<Value, Error> {
        let scored: Vec<&Value> = values.iter().copied().filter(|value| !value.is_missing()).collect();
        let attempts = if self.only_counts() {
            let classes = first_equals(scored.iter().copied());
            classes.into_iter().map(|class| ScoreClass { number: 0.0, class }).collect()
        } else {
            let classes =
                scored.iter().zip(0..).map(|(value, class)| Ok(ScoreClass { number: number(value, labels)?, class }));
            classes.collect::<Result<Vec<ScoreClass>, Error>>()?
        };
        Ok(match self.decide(&attempts, total, Shortage::of(labels), &mut Vec::new()) {
            Pick::Nothing => Value::Missing,
            Pick::Number(x) => Value::from(x),
            Pick::Flag(yes) => Value::Int(i64::from(yes)),
            Pick::Attempt(place) => scored[place].clone(),
        })
    }

    fn reduce_maps(
        &self,
        first: &[(Arc<str>, Value)],
        scored: &[&Value],
        total: usize,
        labels: &Labels,
        by: &str,
    ) -> Result<Value, Error> {
        for value in scored {
            let Value::Map(entries) = value else { return Err(mixed_shapes(scored[0], value)) };
            if entries.len() != first.len() || first.iter().any(|(key, _)| value.get(key).is_none()) {
                return Err(ErrorKind::MismatchedKeys { first: keys(first), other: keys(entries) }.into());
            }
        }
        let mut reduced = Vec::with_capacity(first.len());
        for (key, _) in first {
            let under_key: Vec<&Value> = scored.iter().filter_map(|value| value.get(key)).collect();
            reduced.push((key.clone(), self.reduce_leaves(&under_key, total, labels, by)?));
        }
        Ok(Value::Map(reduced))
    }

    fn reduce_lists(
        &self,
        length: usize,
        scored: &[&Value],
        total: usize,
        labels: &Labels,
        by: &str,
    ) -> Result<Value, Error> {
        for value in scored {
            let Value::List(items) = value else { return Err(mixed_shapes(scored[0], value)) };
            if items.len() != length {
                return Err(ErrorKind::MismatchedLengths { first: length, other: items.len() }.into());
            }
        }
        let item = |value: &&'_ Value, place: usize| match value {
            Value::List(items) => items[place].clone(),
            _ => Value::Missing,
        };
        let mut reduced = Vec::with_capacity(length);
        for place in 0..length {
            let items: Vec<Value> = scored.iter().map(|value| item(value, place)).collect();
            reduced.push(self.reduce_leaves(&items.iter().collect::<Vec<_>>(), total, labels, by)?);
        }
        Ok(Value::List(reduced))
    }

    fn reduce_leaves(&self, values: &[&Value], total: usize, labels: &Labels, by: &str) -> Result<Value, Error> {
        match values.iter().find(|value| !value.is_scalar()) {
            Some(nested) => Err(ErrorKind::NotScalar { by: by.to_owned(), found: nested.kind() }.into()),
            None => self.reduce_scalars(values, total, labels),
        }
    }
}

/// The number of a value. Infinity is an error, except when reading as Inspect does.
pub(super) fn number(value: &Value, labels: &Labels) -> Result<f64, Error> {
    match labels.to_float(value) {
        None => Err(ErrorKind::UnknownLabel(value.clone()).into()),
        Some(x) if x.is_infinite() && !labels.is_lenient() => Err(ErrorKind::NotFinite(x).into()),
        Some(x) => Ok(x),
    }
}

fn keys(entries: &[(Arc<str>, Value)]) -> Vec<Arc<str>> {
    entries.iter().map(|(key, _)| key.clone()).collect()
}

fn mixed_shapes(first: &Value, other: &Value) -> Error {
    ErrorKind::MixedShapes { first: first.kind(), other: other.kind() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(key, value)| (Arc::from(*key), value.clone())).collect())
    }

    fn list(items: &[f64]) -> Value {
        Value::List(items.iter().map(|&x| Value::Float(x)).collect())
    }

    fn reduce(rule: ReduceRule, values: &[Value]) -> Result<Value, ErrorKind> {
        let values: Vec<&Value> = values.iter().collect();
        rule.reduce_values(&values, &Labels::default(), "the rule").map_err(|error| error.kind().clone())
    }

    #[test]
    fn values_are_reduced_in_their_shape() {
        let (c, i) = (Value::from("C"), Value::from("I"));
        for (rule, values, want) in [
            (ReduceRule::Mean, vec![c.clone(), i.clone()], Value::Float(0.5)),
            (ReduceRule::Mean, vec![c.clone(), Value::Missing], Value::Float(1.0)),
            (ReduceRule::Mean, vec![Value::Missing], Value::Missing),
            (ReduceRule::Mode, vec![i.clone(), c.clone(), c.clone()], c.clone()),
            // 1 and True are one value to Python, and the first is kept.
            (ReduceRule::Mode, vec![i, Value::Bool(true), Value::Int(1)], Value::Bool(true)),
            (ReduceRule::Mean, vec![list(&[0.0, 1.0]), list(&[1.0, 1.0])], list(&[0.5, 1.0])),
            (
                ReduceRule::Max,
                vec![map(&[("a", 0.0.into()), ("b", 1.0.into())]), map(&[("b", 0.5.into()), ("a", 0.5.into())])],
                map(&[("a", 0.5.into()), ("b", 1.0.into())]),
            ),
        ] {
            assert_eq!(reduce(rule, &values), Ok(want), "{rule:?} of {values:?}");
        }
    }

    #[test]
    fn shapes_that_do_not_fit_together_are_errors() {
        let (a, ab) = (map(&[("a", 1.0.into())]), map(&[("a", 1.0.into()), ("b", 1.0.into())]));
        let nested = map(&[("a", list(&[1.0]))]);
        for (values, want) in [
            (vec![Value::from(1.0), list(&[1.0])], "attempts have scores of different shapes"),
            (vec![list(&[1.0]), Value::from(1.0)], "attempts have scores of different shapes"),
            (vec![a.clone(), ab], "attempts have scores with different keys, `a` and `a` `b`"),
            (vec![list(&[1.0]), list(&[1.0, 0.0])], "attempts have lists of different lengths, 1 and 2"),
            (vec![nested.clone(), nested], "`the rule` takes plain values, not a list"),
            (vec![Value::from("maybe")], "score `maybe` is not a number or a known label"),
            (vec![Value::Float(f64::INFINITY)], "score `inf` is infinite"),
        ] {
            let error = reduce(ReduceRule::Mean, &values).expect_err("does not fit").to_string();
            assert!(error.starts_with(want), "{values:?}: {error}");
        }
    }
}
