//! Tasks: what a run evaluates.

use crate::{Model, Scorer, Solver};
use calipers_core::{Dataset, Epochs, GenerateConfig, Metadata, MetricSpec, Value};
use std::sync::Arc;
use std::time::Duration;

/// The limits of one attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptLimits {
    /// From its beginning to its end.
    pub time: Option<Duration>,
    /// Tokens of all its calls.
    pub tokens: Option<u64>,
    /// Money of all its calls, where models say what they cost.
    pub cost_usd: Option<f64>,
    /// Messages of its conversation.
    pub messages: Option<usize>,
}

/// How many attempts may fail before the run ends, counted as in Inspect.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FailOnError {
    /// The first failure ends the run.
    #[default]
    First,
    /// No number of failures ends the run.
    Never,
    /// This many.
    Count(u64),
    /// This share of all attempts.
    Share(f64),
}

/// An evaluation: samples, solvers and scorers.
///
/// ```
/// use calipers_core::TaskSample;
/// use calipers_run::Task;
///
/// let task = Task::builder("colors").samples([TaskSample::new("Name a color.").target("red")]).build();
/// assert_eq!(task.name, "colors");
/// ```
#[derive(Clone)]
pub struct Task {
    /// The name.
    pub name: String,
    /// The samples, or where they are.
    pub dataset: Dataset,
    /// The solvers, in order.
    pub solver: Vec<Arc<dyn Solver>>,
    /// The scorers.
    pub scorers: Vec<Arc<dyn Scorer>>,
    /// Metrics instead of those of the scorers.
    pub metrics: Option<Vec<MetricSpec>>,
    /// How often each sample is tried, and how its attempts are reduced to one score.
    pub epochs: Option<Epochs>,
    /// The default model.
    pub model: Option<String>,
    /// Models by role, such as `grader`.
    pub model_roles: Vec<(String, String)>,
    /// Models that the task defines. They take precedence over models of the same name.
    pub models: Vec<Arc<dyn Model>>,
    /// The generation options.
    pub config: GenerateConfig,
    /// The limits of one attempt.
    pub limits: AttemptLimits,
    /// How many attempts may fail.
    pub fail_on_error: FailOnError,
    /// How often a failed attempt is retried.
    pub retry_on_error: u32,
    /// Which version of the task it is.
    pub version: Value,
    /// Tags.
    pub tags: Vec<String>,
    /// Other metadata.
    pub metadata: Metadata,
}

impl Task {
    /// A task of this name.
    #[must_use]
    pub fn builder(name: impl Into<String>) -> TaskBuilder {
        TaskBuilder(Self {
            name: name.into(),
            dataset: Vec::new().into(),
            solver: Vec::new(),
            scorers: Vec::new(),
            metrics: None,
            epochs: None,
            model: None,
            model_roles: Vec::new(),
            models: Vec::new(),
            config: GenerateConfig::default(),
            limits: AttemptLimits::default(),
            fail_on_error: FailOnError::default(),
            retry_on_error: 0,
            version: Value::Int(0),
            tags: Vec::new(),
            metadata: Metadata::default(),
        })
    }
}

impl Task {
    /// True if some solver calls the model of the task.
    #[must_use]
    pub fn asks_model(&self) -> bool {
        self.solver.is_empty() || self.solver.iter().any(Solver::asks_model)
    }

    /// What the scores of each scorer are called. The second scorer of a name is numbered 1, as in Inspect.
    #[must_use]
    pub fn scorer_names(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for scorer in &self.scorers {
            let numbered = (0_usize..).map(|n| match n {
                0 => scorer.name().into(),
                _ => format!("{}{n}", scorer.name()).into(),
            });
            names.extend(numbered.into_iter().find(|name| !names.contains(name)));
        }
        names
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("name", &self.name).field("dataset", &self.dataset).finish_non_exhaustive()
    }
}

/// Builds a task.
#[derive(Debug)]
pub struct TaskBuilder(Task);

impl TaskBuilder {
    /// Sets the samples.
    #[must_use]
    pub fn samples(mut self, samples: impl IntoIterator<Item = calipers_core::TaskSample>) -> Self {
        self.0.dataset = samples.into_iter().collect::<Vec<_>>().into();
        self
    }

    /// Sets the dataset.
    #[must_use]
    pub fn dataset(mut self, dataset: impl Into<Dataset>) -> Self {
        self.0.dataset = dataset.into();
        self
    }

    /// Appends a solver. Without any, the task only calls the model.
    #[must_use]
    pub fn solver(mut self, solver: impl Solver + 'static) -> Self {
        self.0.solver.push(Arc::new(solver));
        self
    }

    /// Adds a scorer.
    #[must_use]
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.0.scorers.push(Arc::new(scorer));
        self
    }

    /// Sets metrics that replace those of the scorers.
    #[must_use]
    pub fn metrics<M: Into<MetricSpec>>(mut self, metrics: impl IntoIterator<Item = M>) -> Self {
        self.0.metrics = Some(metrics.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the number of attempts per sample.
    #[must_use]
    pub fn epochs(mut self, epochs: Epochs) -> Self {
        self.0.epochs = Some(epochs);
        self
    }

    /// Sets the model, by name.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.0.model = Some(model.into());
        self
    }

    /// Sets the model to one that the task defines.
    #[must_use]
    pub fn own_model(mut self, model: impl Model + 'static) -> Self {
        self.0.model = Some(model.name().to_owned());
        self.0.models.push(Arc::new(model));
        self
    }

    /// Sets the generation options.
    #[must_use]
    pub fn config(mut self, config: GenerateConfig) -> Self {
        self.0.config = config;
        self
    }

    /// Sets the limits of each attempt.
    #[must_use]
    pub fn limits(mut self, limits: AttemptLimits) -> Self {
        self.0.limits = limits;
        self
    }

    /// Sets how many attempts may fail.
    #[must_use]
    pub fn fail_on_error(mut self, fail_on_error: FailOnError) -> Self {
        self.0.fail_on_error = fail_on_error;
        self
    }

    /// Sets how often failed attempts are retried.
    #[must_use]
    pub fn retry_on_error(mut self, retry_on_error: u32) -> Self {
        self.0.retry_on_error = retry_on_error;
        self
    }

    /// Sets a model, by name, for a role such as `grader`.
    #[must_use]
    pub fn model_role(mut self, role: impl Into<String>, model: impl Into<String>) -> Self {
        self.0.model_roles.push((role.into(), model.into()));
        self
    }

    /// The task.
    #[must_use]
    pub fn build(self) -> Task {
        self.0
    }
}
