//! Tasks and their parameters.

use crate::builtin::as_reducer;
use crate::catalog_functions::{ModelObject, PartList, scorers, solvers};
use crate::dataset_objects::dataset;
use crate::error::ArgumentError;
use crate::library::specs;
use crate::named_arguments::{NamedArguments, is_number, whole, wrong};
use crate::score_objects::{items, number, plain, short_text};
use allocative::Allocative;
use calipers_core::{Epochs, GenerateConfig, Value as CoreValue};
use calipers_run::{AttemptLimits, FailOnError, Model, Task};
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::dict::DictRef;
use starlark::values::none::NoneOr;
use starlark::values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value};
use starlark::{starlark_module, starlark_simple_value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A task; its name is empty if the file gives none.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct TaskObject(#[allocative(skip)] pub(crate) Task);

starlark_simple_value!(TaskObject);

impl fmt::Display for TaskObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task({})", self.0.name)
    }
}

#[starlark_value(type = "Task")]
impl<'v> StarlarkValue<'v> for TaskObject {}

/// How often each sample is tried.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct EpochsObject(#[allocative(skip)] Epochs);

starlark_simple_value!(EpochsObject);

impl fmt::Display for EpochsObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epochs({})", self.0.count())
    }
}

#[starlark_value(type = "Epochs")]
impl<'v> StarlarkValue<'v> for EpochsObject {}

/// The generation options.
#[derive(Clone, Debug, Allocative, NoSerialize, ProvidesStaticType, StarlarkPagablePanic)]
pub(crate) struct ConfigObject(#[allocative(skip)] GenerateConfig);

starlark_simple_value!(ConfigObject);

impl fmt::Display for ConfigObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GenerateConfig")
    }
}

#[starlark_value(type = "GenerateConfig")]
impl<'v> StarlarkValue<'v> for ConfigObject {}

/// More attempts than anyone needs.
const EPOCHS_MAX: u64 = 1_000_000;

fn epoch_count(function: &str, value: Value<'_>) -> Result<u64, ArgumentError> {
    let count = whole(value).filter(|count| (1..=EPOCHS_MAX).contains(count));
    count.ok_or_else(|| wrong(function, "epochs", value, "a whole number from 1 to 1000000"))
}

/// A count, or the result of `Epochs`.
fn epochs(value: Value<'_>) -> Result<Epochs, ArgumentError> {
    match value.downcast_ref::<EpochsObject>() {
        Some(epochs) => Ok(epochs.0.clone()),
        None => Ok(Epochs::of(epoch_count("Task", value)?)),
    }
}

fn config(options: &NamedArguments<'_>) -> Result<GenerateConfig, ArgumentError> {
    Ok(GenerateConfig {
        temperature: options.amount("temperature")?,
        top_p: options.amount("top_p")?,
        max_tokens: options.count("max_tokens", 1)?,
        stop: options.texts("stop_seqs")?,
        seed: options.count("seed", 0)?,
        reasoning_effort: options.text("reasoning_effort")?,
    })
}

fn limits(options: &NamedArguments<'_>) -> Result<AttemptLimits, ArgumentError> {
    let seconds = options.amount("time_limit")?;
    let messages = options.count("message_limit", 1)?;
    Ok(AttemptLimits {
        time: seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        tokens: options.count("token_limit", 1)?,
        cost_usd: options.amount("cost_limit")?,
        messages: messages.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
    })
}

/// `True` for the first error, `False` for none, a share below 1, or a count.
fn fail_on_error(options: &NamedArguments<'_>) -> Result<FailOnError, ArgumentError> {
    let Some(value) = options.get("fail_on_error") else { return Ok(FailOnError::default()) };
    match (value.unpack_bool(), whole(value), number(value)) {
        (Some(true), ..) | (None, Some(0), _) => Ok(FailOnError::First),
        (Some(false), ..) => Ok(FailOnError::Never),
        (None, Some(count), _) => Ok(FailOnError::Count(count)),
        (None, None, Some(share)) if is_number(value) && share > 0.0 && share < 1.0 => Ok(FailOnError::Share(share)),
        _ => Err(options.wrong("fail_on_error", value, "`True`, `False`, a count, or a share below 1")),
    }
}

/// The models that a task defines, each under a unique name.
#[derive(Default)]
struct TaskModels(Vec<Arc<dyn Model>>);

impl TaskModels {
    fn add(&mut self, model: &Arc<dyn Model>) -> Result<(), ArgumentError> {
        match self.0.iter().find(|known| known.name() == model.name()) {
            Some(known) if Arc::ptr_eq(known, model) => Ok(()),
            Some(_) => {
                let complaint = ArgumentError::new(format!("two models of the task are named `{}`", model.name()));
                Err(complaint.hint("give one another name: `mockllm([…], name = \"grader\")`"))
            }
            None => {
                self.0.push(model.clone());
                Ok(())
            }
        }
    }

    /// The name of a model, given as a name or as an object.
    fn name(&mut self, options: &NamedArguments<'_>, name: &str, value: Value<'_>) -> Result<String, ArgumentError> {
        if let Some(model) = value.downcast_ref::<ModelObject>() {
            self.add(&model.0)?;
            return Ok(model.0.name().to_owned());
        }
        let text = value.unpack_str().map(str::to_owned);
        text.ok_or_else(|| options.wrong(name, value, "the name of a model, such as `openai/gpt-5`, or `mockllm(…)`"))
    }

    fn roles(&mut self, options: &NamedArguments<'_>) -> Result<Vec<(String, String)>, ArgumentError> {
        let Some(value) = options.get("model_roles") else { return Ok(Vec::new()) };
        let wanted = "a dict of roles and models";
        let dict = DictRef::from_value(value).ok_or_else(|| options.wrong("model_roles", value, wanted))?;
        let role = |(role, model): (Value<'_>, Value<'_>)| {
            let role = role.unpack_str().ok_or_else(|| options.wrong("model_roles", value, wanted))?;
            Ok((role.to_owned(), self.name(options, "model_roles", model)?))
        };
        dict.iter().map(role).collect()
    }
}

/// The further parameters of a task.
fn finish_task(mut task: Task, mut models: TaskModels, options: NamedArguments<'_>) -> Result<Task, ArgumentError> {
    task.name = options.text("name")?.unwrap_or_default();
    task.model = options.get("model").map(|model| models.name(&options, "model", model)).transpose()?;
    task.model_roles = models.roles(&options)?;
    let general = match options.get("config") {
        None => GenerateConfig::default(),
        Some(value) => match value.downcast_ref::<ConfigObject>() {
            Some(config) => config.0.clone(),
            None => return Err(options.wrong("config", value, "`GenerateConfig(…)`")),
        },
    };
    task.config = config(&options)?.or(&general);
    task.limits = limits(&options)?;
    task.fail_on_error = fail_on_error(&options)?;
    let retries = options.count("retry_on_error", 0)?.unwrap_or(0);
    task.retry_on_error = u32::try_from(retries).unwrap_or(u32::MAX);
    if let Some(version) = options.get("version") {
        task.version = match plain(version)? {
            version @ (CoreValue::Int(_) | CoreValue::Text(_)) => version,
            _ => return Err(options.wrong("version", version, "a whole number or a string")),
        };
    }
    task.tags = options.texts("tags")?;
    task.metadata = options.metadata("metadata")?;
    task.models = models.0;
    options.finish()?;
    Ok(task)
}

/// Adds the models of solvers and scorers.
fn adopt<P: ?Sized>(chosen: PartList<P>, models: &mut TaskModels) -> Result<Vec<Arc<P>>, ArgumentError> {
    chosen.models.iter().try_for_each(|model| models.add(model))?;
    Ok(chosen.parts)
}

#[starlark_module]
pub(crate) fn task_names(builder: &mut GlobalsBuilder) {
    /// An evaluation: samples, solvers and scorers.
    #[starlark(as_type = TaskObject)]
    fn Task<'v>(
        dataset: Value<'v>,
        #[starlark(default = NoneOr::None)] solver: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] scorer: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] metrics: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] epochs: NoneOr<Value<'v>>,
        #[starlark(kwargs)] others: SmallMap<String, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TaskObject> {
        let mut task = self::Task::builder("").dataset(self::dataset(dataset)?).build();
        let mut models = TaskModels::default();
        if let Some(solver) = solver.into_option() {
            task.solver = adopt(solvers(solver, eval)?, &mut models)?;
        }
        if let Some(scorer) = scorer.into_option() {
            task.scorers = adopt(scorers(scorer, eval)?, &mut models)?;
        }
        task.metrics = metrics.into_option().map(|metrics| specs(metrics, eval, 0)).transpose()?;
        task.epochs = epochs.into_option().map(self::epochs).transpose()?;
        let options = NamedArguments::new("Task", &["dataset", "solver", "scorer", "metrics", "epochs"], others);
        Ok(TaskObject(finish_task(task, models, options)?))
    }

    /// How often each sample is tried, and how its attempts are reduced to one score.
    #[starlark(as_type = EpochsObject)]
    fn Epochs<'v>(
        epochs: Value<'v>,
        #[starlark(default = NoneOr::None)] reducer: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<EpochsObject> {
        let count = epoch_count("Epochs", epochs)?;
        let Some(reducer) = reducer.into_option() else { return Ok(EpochsObject(self::Epochs::of(count))) };
        let reducers = match items(reducer) {
            Some([]) => return Err(wrong("Epochs", "reducer", reducer, "a reducer or a list of them").into()),
            Some(items) => items.iter().map(|item| as_reducer(*item, None, eval)).collect::<starlark::Result<_>>()?,
            None => vec![as_reducer(reducer, None, eval)?],
        };
        Ok(EpochsObject(self::Epochs::new(count, reducers).map_err(ArgumentError::from)?))
    }

    /// The generation options. Options that are not given are left to the model.
    #[starlark(as_type = ConfigObject)]
    fn GenerateConfig<'v>(#[starlark(kwargs)] others: SmallMap<String, Value<'v>>) -> starlark::Result<ConfigObject> {
        let options = NamedArguments::new("GenerateConfig", &[], others);
        let config = config(&options)?;
        options.finish()?;
        Ok(ConfigObject(config))
    }
}

/// The task in a value, or an error that says what it is instead.
pub(crate) fn task_in(value: Value<'_>, name: &str) -> Result<Task, ArgumentError> {
    let Some(task) = value.downcast_ref::<TaskObject>() else {
        let complaint = ArgumentError::new(format!("`{name}` gives {}, not a task", short_text(value)));
        return Err(complaint.hint("a task is a function that returns `Task(…)`"));
    };
    let mut task = task.0.clone();
    if task.name.is_empty() {
        task.name = name.to_owned();
    }
    Ok(task)
}
