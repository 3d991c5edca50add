//! Unique names for the figures of several metrics, as Inspect gives them.

use super::{MetricResult, ScoreResult};
use crate::metric::State;
use crate::{Answer, Context, Error, Figure, Metric};
use hashbrown::HashMap;
use indexmap::IndexMap;

/// Collects figures under unique names.
pub(super) struct FigureNames {
    keyed: bool,
    pub(super) metrics: IndexMap<String, MetricResult>,
    numbers: TakenNumbers,
}

impl FigureNames {
    /// No figures yet; `keyed` for those of a key of a map.
    pub(super) fn new(keyed: bool) -> Self {
        Self { keyed, metrics: IndexMap::new(), numbers: TakenNumbers::default() }
    }

    pub(super) fn add(&mut self, metric: &Metric, answer: Answer, context: &Context) -> Result<(), Error> {
        let own = metric.name();
        match answer {
            Answer::One(figure) => {
                let key = self.free(own, context);
                self.insert(key, own.to_owned(), None, metric, figure);
            }
            Answer::Named(entries) => self.add_named("", entries, metric, context)?,
            Answer::Listed(figures) => {
                let base = self.free(own, context);
                for (index, figure) in figures.into_iter().enumerate() {
                    let (key, name) = if self.keyed {
                        (format!("{own}_{index}"), index.to_string())
                    } else {
                        (format!("{base}-{}", index + 1), (index + 1).to_string())
                    };
                    let key = self.free(&key, context);
                    self.insert(key, name, Some(own), metric, figure);
                }
            }
        }
        Ok(())
    }

    fn add_named(
        &mut self,
        prefix: &str,
        entries: IndexMap<String, Answer>,
        metric: &Metric,
        context: &Context,
    ) -> Result<(), Error> {
        for (name, answer) in entries {
            let name = format!("{prefix}{name}");
            match answer {
                Answer::One(figure) => {
                    let key = if self.keyed { format!("{}_{name}", metric.name()) } else { name.clone() };
                    let key = self.free(&key, context);
                    self.insert(key, name, Some(metric.name()), metric, figure);
                }
                _ if context.inspect => {
                    let message =
                        format!("`{}` has several figures for `{name}`, which Inspect refuses", metric.name());
                    return Err(Error::argument(message, "compute it without Inspect's rules"));
                }
                Answer::Named(inner) => self.add_named(&format!("{name}_"), inner, metric, context)?,
                Answer::Listed(figures) => {
                    let numbered = figures.into_iter().enumerate();
                    let inner = numbered.map(|(index, figure)| ((index + 1).to_string(), figure.into())).collect();
                    self.add_named(&format!("{name}_"), inner, metric, context)?;
                }
            }
        }
        Ok(())
    }

    /// A name that is not taken. Under a key, Inspect lets the later of two figures take the place of the earlier.
    fn free(&self, name: &str, context: &Context) -> String {
        let is_free = (self.keyed && context.inspect) || !self.metrics.contains_key(name);
        if is_free { name.to_owned() } else { format!("{name}{}", self.numbers.next(name)) }
    }

    fn insert(&mut self, key: String, name: String, group: Option<&str>, metric: &Metric, figure: Figure) {
        let result = MetricResult {
            name,
            group: group.map(str::to_owned),
            params: metric.params().to_vec(),
            unit: metric.unit(),
            figure,
            recorded: None,
        };
        self.numbers.add(&key);
        self.metrics.insert(key, result);
    }
}

/// The metrics of a run that belong to no scorer. Each of its attempts is a row with fields, so none is unscored.
pub(super) fn run_result(states: Vec<State>, attempts: u64, context: &Context) -> Result<ScoreResult, Error> {
    let mut names = FigureNames::new(false);
    for state in states {
        let metric = state.metric().clone();
        names.add(&metric, state.finish(context)?, context)?;
    }
    Ok(ScoreResult {
        name: "run".into(),
        scorer: None,
        reducer: None,
        scored_samples: attempts,
        unscored_samples: 0,
        metrics: names.metrics,
    })
}

/// The numbers behind names that are taken.
///
/// A second `lower` becomes `lower2`. The number goes beyond any that a taken name shows at that place, even in a longer
/// name, as in Inspect.
#[derive(Default)]
struct TakenNumbers(HashMap<String, u64>);

impl TakenNumbers {
    /// Notes what a taken name shows behind each of its beginnings.
    fn add(&mut self, name: &str) {
        for (place, _) in name.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
            let rest = &name[place..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if let Ok(found) = rest[..digits].parse::<u64>() {
                let next = self.0.entry_ref(&name[..place]).or_default();
                *next = found.saturating_add(1).max(*next);
            }
        }
    }

    fn next(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0).max(2)
    }
}
