//! A number with all that is needed to defend it.

use crate::{Caveat, Reason, Tally, Undefined};
use calipers_stats::Interval;
use indexmap::IndexMap;
use std::borrow::Cow;

/// One number of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The number, or why there is none.
    pub value: Result<f64, Undefined>,
    /// How many samples (or attempts, for metrics over attempts) it rests on.
    pub n: u64,
    /// How many have no score and are left out.
    pub missing: u64,
    /// How it was computed.
    pub method: Cow<'static, str>,
    /// How far it may be from the truth, where that can be said.
    pub interval: Option<Interval>,
    /// What to know before relying on it.
    pub caveats: Vec<Caveat>,
    /// Numbers made on the way: clusters, degrees of freedom, the limit of a simulation.
    pub details: Vec<(&'static str, f64)>,
}

impl Figure {
    /// A figure with a value and nothing else said yet.
    #[must_use]
    pub fn new(value: f64, tally: Tally, method: impl Into<Cow<'static, str>>) -> Self {
        Self::from_result(Ok(value), tally, method)
    }

    /// A figure that may be undefined.
    pub fn from_result(value: Result<f64, Undefined>, tally: Tally, method: impl Into<Cow<'static, str>>) -> Self {
        let value = value.and_then(|value| {
            if value.is_finite() {
                return Ok(value);
            }
            Err(Undefined::new(Reason::Statistic(calipers_stats::Undefined::NotFinite { value }), value))
        });
        Self {
            value,
            n: tally.n,
            missing: tally.missing,
            method: method.into(),
            interval: None,
            caveats: Vec::new(),
            details: Vec::new(),
        }
    }

    /// A figure from a statistic, with what Inspect prints when the statistic is undefined.
    pub fn statistic(
        value: Result<f64, calipers_stats::Undefined>,
        placeholder: f64,
        tally: Tally,
        method: impl Into<Cow<'static, str>>,
    ) -> Self {
        let value = value.map_err(|why| match why {
            // IEEE arithmetic on infinite scores has a defined answer, and Inspect prints it.
            calipers_stats::Undefined::NotFinite { value } => Undefined::new(Reason::Statistic(why), value),
            _ => Undefined::new(Reason::Statistic(why), placeholder),
        });
        Self::from_result(value, tally, method)
    }

    /// With an interval.
    #[must_use]
    pub fn with_interval(mut self, interval: Option<Interval>) -> Self {
        self.interval = interval;
        self
    }

    /// With caveats added.
    #[must_use]
    pub fn with_caveats(mut self, caveats: impl IntoIterator<Item = Caveat>) -> Self {
        self.caveats.extend(caveats);
        self
    }

    /// With a number made on the way.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: f64) -> Self {
        if value.is_finite() {
            self.details.push((name, value));
        }
        self
    }

    /// The number as Inspect prints it: placeholders where it is undefined.
    #[must_use]
    pub fn inspect_value(&self) -> f64 {
        self.value.as_ref().map_or_else(Undefined::placeholder, |&value| value)
    }
}

/// What a metric answers: one number, numbers by name, or numbers in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One number.
    One(Figure),
    /// Numbers by name, such as the bounds of an interval or the groups of a grouping.
    Named(IndexMap<String, Answer>),
    /// Numbers in order.
    Listed(Vec<Figure>),
}

impl Answer {
    /// The only number, where there is only one.
    #[must_use]
    pub fn figure(&self) -> Option<&Figure> {
        match self {
            Self::One(figure) => Some(figure),
            _ => None,
        }
    }

    /// The answer under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Answer> {
        match self {
            Self::Named(entries) => entries.get(name),
            _ => None,
        }
    }

    /// Applies a change to every figure.
    pub(crate) fn for_each(&mut self, change: &mut impl FnMut(&mut Figure)) {
        match self {
            Self::One(figure) => change(figure),
            Self::Named(entries) => entries.values_mut().for_each(|answer| answer.for_each(change)),
            Self::Listed(figures) => figures.iter_mut().for_each(change),
        }
    }
}

impl From<Figure> for Answer {
    fn from(figure: Figure) -> Self {
        Self::One(figure)
    }
}
