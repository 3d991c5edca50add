//! From arguments to a task that can be run.

use super::python_file::{PythonFile, PythonLoader};
use super::{Eval, recorded_run};
use crate::failure::Failure;
use crate::flag_hints::quote_argument;
use crate::{script_child, selection};
use calipers::data::Value;
use calipers::eval::{DiskCache, LogAnswers, Setup, replay};
use calipers::run::providers::{Price, ProviderOptions, resolve};
use calipers::run::{
    AnswerCache, AttemptLimits, ChannelOptions, FailOnError, ProgramEnvironment, Resolver, Scorer, Solver, Task,
    TaskBuilder, UnsetVariable,
};
use calipers::script::{Library, ScriptError, ScriptLimits, ScriptWatchdog, TaskFile, Vocabulary, literal};
use calipers::task::{Dataset, FileDataset, FileKind, GenerateConfig};
use calipers::text::{nearest, printable};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A run that can begin.
pub(super) struct PreparedRun {
    pub(super) setup: Setup,
    /// The scripts of the task, to be ended if they do not end by themselves.
    pub(super) watch: ScriptWatchdog,
}

impl PreparedRun {
    /// True where a solver or a scorer runs a program.
    pub(super) fn runs_programs(&self) -> bool {
        let mut solvers = self.setup.task.solver.iter().map(|solver| solver.program());
        let mut scorers = self.setup.task.scorers.iter().map(|scorer| scorer.program());
        solvers.any(|program| program.is_some()) || scorers.any(|program| program.is_some())
    }
}

/// The file of `gpqa.star@name`, and the name. A file whose name has an `@` is meant as it stands.
pub(super) fn file_of(task: &str) -> (&str, Option<&str>) {
    match task.rsplit_once('@') {
        Some((file, name)) if !Path::new(task).exists() => (file, Some(name)),
        _ => (task, None),
    }
}

pub(super) fn prepare(arguments: &Eval, python: Option<&PythonLoader<'_>>) -> Result<PreparedRun, Failure> {
    let answers = arguments.replay.as_deref().map(replay).transpose()?;
    let (mut task, library, base) = task(arguments, answers.as_ref(), python)?;
    let watch = library.watch();
    change(&mut task, arguments, &library, answers.is_some())?;
    check_programs(&task, arguments)?;
    let task_args = parameters(arguments)?.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let mut setup = Setup { base, task_args, ..Setup::new(task) };
    setup.task_file = arguments.task.as_deref().map(|task| file_of(task).0.to_owned());
    setup.resolver = resolver(arguments)?;
    setup.channel = channel(arguments)?;
    setup.model = arguments.model.clone();
    setup.epochs = arguments.epochs;
    setup.reducers = selection::reducers(&arguments.reducer, |name| Ok(library.reducer(name)?))?;
    setup.limit = arguments.limit;
    setup.sample_ids = arguments.sample_id.clone();
    setup.seed = arguments.seed;
    // A decision that may be made at any time needs samples in an order that says nothing about them.
    setup.shuffle = arguments.stop_when_decided;
    setup.attempts_at_once = arguments.bounds.max_samples;
    setup.budget_usd = arguments.bounds.budget.map(|usd| dollars("--budget", usd)).transpose()?;
    setup.environment = environment(arguments)?;
    setup.log_dir = PathBuf::from(&arguments.log_dir);
    setup.arguments = recorded_run::for_log(arguments);
    if let Some(LogAnswers { model, epochs, .. }) = answers {
        setup.epochs = setup.epochs.or(Some(epochs));
        setup.model = Some(calipers::run::Model::name(&model).to_owned());
        setup.task.models.push(Arc::new(model));
    }
    check_prices(arguments, &setup)?;
    Ok(PreparedRun { setup, watch })
}

/// The environment of programs: the usual variables, and those that are named.
fn environment(arguments: &Eval) -> Result<ProgramEnvironment, Failure> {
    arguments.env.iter().try_fold(ProgramEnvironment::usual(), |environment, name| environment.pass(name)).map_err(
        |UnsetVariable(name)| match name.contains('=') {
            true => {
                let hint = "write the name alone; its value is taken from your environment, and stays out of the log";
                Failure::new("`--env` takes the name of a variable").hint(hint)
            }
            false => {
                Failure::new(format!("the variable `{name}` of `--env` is not set")).hint("set it, or leave it out")
            }
        },
    )
}

/// What a solver or scorer does, as far as programs are concerned.
type ProgramUse = (String, Value);

fn programs_of_solvers(solvers: &[Arc<dyn Solver>]) -> Vec<ProgramUse> {
    solvers.iter().filter_map(|solver| Some((solver.program()?.to_owned(), solver.params()))).collect()
}

fn programs_of_scorers(scorers: &[Arc<dyn Scorer>]) -> Vec<ProgramUse> {
    scorers.iter().filter_map(|scorer| Some((scorer.program()?.to_owned(), scorer.params()))).collect()
}

/// A task file often comes from someone else, so it runs programs only if that is allowed. A program on the command line
/// needs no permission.
fn check_programs(task: &Task, arguments: &Eval) -> Result<(), Failure> {
    let (solvers, scorers) = (programs_of_solvers(&task.solver), programs_of_scorers(&task.scorers));
    let path = arguments.task.as_deref().map(|task| file_of(task).0).filter(|path| path.ends_with(".star"));
    let (Some(path), false) = (path, arguments.allow_commands || solvers.len() + scorers.len() == 0) else {
        return Ok(());
    };
    // A name on the command line may be a function of the file. What is meant without the file is the user's own.
    let _limit = script_child::limit_memory();
    let own = Library::for_tasks(Vocabulary::builtin(), ScriptLimits::default());
    let typed_solvers: Vec<ProgramUse> = arguments
        .solver
        .iter()
        .flat_map(|typed| programs_of_solvers(&own.solvers(typed).unwrap_or_default()))
        .collect();
    let typed_scorers: Vec<ProgramUse> = arguments
        .scorer
        .iter()
        .flat_map(|typed| programs_of_scorers(&own.scorers(typed).unwrap_or_default()))
        .collect();
    let of_file = solvers.iter().filter(|used| !typed_solvers.contains(used));
    let Some((program, _)) = of_file.chain(scorers.iter().filter(|used| !typed_scorers.contains(used))).next() else {
        return Ok(());
    };
    let what = format!("{path} runs a program, with your permissions: `{}`", printable(program));
    let hint = "read the file, and allow it with `--allow-commands`; or name a program yourself, as in \
                `--solver 'command(\"./agent\")'`";
    Err(Failure::new(what).hint(hint))
}

/// A price for a model that is not asked is probably meant for one that is.
fn check_prices(arguments: &Eval, setup: &Setup) -> Result<(), Failure> {
    let names = setup.model_names();
    let short = |name: &str| name.split_once('/').map_or_else(|| name.to_owned(), |(_, model)| model.to_owned());
    let mut known: Vec<String> = Vec::new();
    for given in &arguments.generate.price {
        let (name, _) = price(given)?;
        if known.contains(&name) {
            return Err(Failure::new(format!("`--price` gives two prices for `{name}`")).hint("leave one of them out"));
        }
        if !names.iter().any(|model| *model == name || short(model) == name) {
            let all: Vec<String> = names.iter().flat_map(|model| [model.clone(), short(model)]).collect();
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let hint = match (nearest(&name, &all), &names[..]) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => "the run uses no model".to_owned(),
                (None, names) => format!("the run uses {}", names.join(", ")),
            };
            return Err(Failure::new(format!("`--price` names `{name}`, which this run does not use")).hint(hint));
        }
        known.push(name);
    }
    Ok(())
}

/// Money that can be spent.
fn dollars(flag: &str, usd: f64) -> Result<f64, Failure> {
    match usd.is_finite() && usd > 0.0 {
        true => Ok(usd),
        false => Err(Failure::new(format!("`{flag} {usd}` is not an amount of money")).hint("give US dollars above 0")),
    }
}

/// A hint for a program where an expression is expected.
fn program_hint(flag: &str, expression: &str) -> Option<String> {
    let first = expression.split_whitespace().next()?;
    let is_path = ["./", "../", "/", "~/"].iter().any(|start| first.starts_with(start));
    let is_script = [".py", ".sh", ".js", ".ts", ".rb"].iter().any(|ending| first.ends_with(ending));
    let is_call = expression.contains('(');
    (is_path || !is_call && (is_script || Path::new(first).is_file())).then(|| {
        let command = format!("command(\"{}\")", expression.replace('\\', "\\\\").replace('"', "\\\""));
        format!("to run a program, write `{flag} {}`", quote_argument(&command))
    })
}

/// The task, the names that expressions may use, and the folder that paths start from.
fn task(
    arguments: &Eval,
    answers: Option<&LogAnswers>,
    python: Option<&PythonLoader<'_>>,
) -> Result<(Task, Library, PathBuf), Failure> {
    let time = Duration::from_secs(arguments.script_time.max(1));
    let limits = ScriptLimits { time, time_per_call: time, ..ScriptLimits::default() };
    let _limit = script_child::limit_memory();
    let Some(given) = &arguments.task else {
        let samples = answers.map(|log| log.samples.clone()).unwrap_or_default();
        let of_log = answers.and_then(|log| log.task.as_deref());
        let name = of_log.or_else(|| arguments.replay.as_deref().and_then(stem)).unwrap_or("replay");
        let task = Task::builder(name).dataset(samples).build();
        return Ok((task, Library::for_tasks(Vocabulary::builtin(), limits), PathBuf::new()));
    };
    let (path, name) = file_of(given);
    if path.ends_with(".star") {
        let file = TaskFile::load(path, Vocabulary::builtin(), limits)?;
        let task = file.task(choose_task(&file, path, name)?, &parameters(arguments)?)?;
        return Ok((task, file.library().clone(), file.folder().to_owned()));
    }
    if path.ends_with(".py") {
        let file =
            PythonFile { path: path.to_owned(), task: name.map(str::to_owned), parameters: parameters(arguments)? };
        let task = file.load(python)?;
        return Ok((task, Library::for_tasks(Vocabulary::builtin(), limits), PathBuf::new()));
    }
    let is_other = [".csv", ".eval", ".parquet"].iter().any(|ending| path.ends_with(ending));
    if is_other || Path::new(path).is_dir() {
        let hint = "a task is a file that ends in `.star` (https://calipers-eval.github.io/calipers/tasks.html) or `.py`; without one, give a file of scenarios in JSON or YAML";
        return Err(Failure::new(format!("{path} is neither a task file nor a file of scenarios")).hint(hint));
    }
    let library = Library::for_tasks(Vocabulary::builtin(), limits);
    let dataset = Dataset::from(FileDataset::new(path, FileKind::Scenarios));
    let task = Task::builder(stem(path).unwrap_or("scenarios")).dataset(dataset);
    let has_judge = arguments.model_role.iter().any(|role| role.starts_with("grader="));
    let behaviors = if has_judge { "behaviors(model=\"grader\")" } else { "behaviors()" };
    let scorers = library.scorers(behaviors)?;
    let task = scorers.into_iter().fold(task, TaskBuilder::scorer);
    Ok((task.build(), library, PathBuf::new()))
}

fn stem(path: &str) -> Option<&str> {
    Path::new(path).file_stem()?.to_str()
}

/// The task that is meant: the one that is named, or the only one there is.
fn choose_task<'a>(file: &'a TaskFile, path: &str, name: Option<&'a str>) -> Result<&'a str, Failure> {
    match (name, file.names()) {
        (Some(name), _) => Ok(name),
        (None, [only]) => Ok(only),
        (None, []) => Err(Failure::new(format!("{path} has no task")).hint(
            "a task is a function that returns `Task(…)`; see https://calipers-eval.github.io/calipers/tasks.html",
        )),
        (None, names) => Err(Failure::new(format!("{path} has several tasks: {}", names.join(", ")))
            .hint(format!("name one, as in `{path}@{}`", names[0]))),
    }
}

fn parameters(arguments: &Eval) -> Result<Vec<(String, Value)>, Failure> {
    let one = |given: &String| match given.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), literal(value))),
        None => Err(Failure::new(format!("`-T {given}` has no `=`")).hint("write `-T name=value`")),
    };
    let is_code = |task: &str| [".star", ".py"].iter().any(|ending| file_of(task).0.ends_with(ending));
    if !arguments.task.as_deref().is_some_and(is_code) && !arguments.parameter.is_empty() {
        return Err(Failure::new("`-T` sets parameters of a task file, and none is given"));
    }
    arguments.parameter.iter().map(one).collect()
}

fn of_part(error: ScriptError, flag: &str, expression: &str) -> Failure {
    let failure = Failure::from(error);
    match program_hint(flag, expression) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What the command line says in place of the task.
fn change(task: &mut Task, arguments: &Eval, library: &Library, is_replay: bool) -> Result<(), Failure> {
    let _limit = script_child::limit_memory();
    if !arguments.solver.is_empty() {
        task.solver.clear();
        for expression in &arguments.solver {
            task.solver.extend(library.solvers(expression).map_err(|error| of_part(error, "--solver", expression))?);
        }
    }
    if !arguments.scorer.is_empty() {
        task.scorers.clear();
        for expression in &arguments.scorer {
            let scorers = library.scorers(expression).map_err(|error| of_part(error, "--scorer", expression))?;
            task.scorers.extend::<Vec<Arc<dyn Scorer>>>(scorers);
        }
    }
    if task.scorers.is_empty() {
        let hint = "name a scorer in the task, or give one with `--scorer 'match()'`";
        return Err(Failure::new(format!("nothing scores the answers of `{}`", task.name)).hint(hint));
    }
    if !arguments.metric.is_empty() {
        let mut metrics = Vec::new();
        for expression in &arguments.metric {
            metrics.extend(library.metrics(expression)?);
        }
        task.metrics = Some(metrics);
    }
    for role in &arguments.model_role {
        let Some((part, model)) = role.split_once('=') else {
            let hint = "write `--model-role grader=openai/gpt-4o`";
            return Err(Failure::new(format!("`--model-role {role}` has no `=`")).hint(hint));
        };
        task.model_roles.retain(|(known, _)| known != part);
        task.model_roles.push((part.to_owned(), model.to_owned()));
    }
    task.config = config(arguments).or(&task.config);
    task.tags.extend(arguments.tags.iter().cloned());
    bound(task, arguments)?;
    if is_replay && arguments.bounds.fail_on_error.is_none() {
        // What broke then has no answer now, and that is no reason to stop.
        task.fail_on_error = FailOnError::Never;
    }
    Ok(())
}

fn config(arguments: &Eval) -> GenerateConfig {
    let given = &arguments.generate;
    GenerateConfig {
        temperature: given.temperature,
        top_p: given.top_p,
        max_tokens: given.max_tokens,
        reasoning_effort: given.reasoning_effort.clone(),
        ..GenerateConfig::default()
    }
}

fn bound(task: &mut Task, arguments: &Eval) -> Result<(), Failure> {
    let given = &arguments.bounds;
    let seconds = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| Failure::new(format!("`--time-limit {seconds}` is not a number of seconds")))
    };
    let limits = AttemptLimits {
        time: given.time_limit.map(seconds).transpose()?,
        tokens: given.token_limit,
        cost_usd: given.cost_limit.map(|usd| dollars("--cost-limit", usd)).transpose()?,
        messages: given.message_limit,
    };
    task.limits = AttemptLimits {
        time: limits.time.or(task.limits.time),
        tokens: limits.tokens.or(task.limits.tokens),
        cost_usd: limits.cost_usd.or(task.limits.cost_usd),
        messages: limits.messages.or(task.limits.messages),
    };
    if let Some(given) = &given.fail_on_error {
        task.fail_on_error = fail_on_error(given)?;
    }
    task.retry_on_error = given.retry_on_error.unwrap_or(task.retry_on_error);
    Ok(())
}

fn fail_on_error(given: &str) -> Result<FailOnError, Failure> {
    let number = given.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    match (given, number) {
        ("never", _) => Ok(FailOnError::Never),
        ("first", _) => Ok(FailOnError::First),
        (_, Some(share)) if share > 0.0 && share < 1.0 => Ok(FailOnError::Share(share)),
        (_, Some(count)) if count.fract() == 0.0 => Ok(FailOnError::Count(count as u64)),
        _ => {
            let hint = "give `never`, `first`, a number of attempts, or a share of them such as 0.1";
            Err(Failure::new(format!("`--fail-on-error {given}` is none of these")).hint(hint))
        }
    }
}

/// Finds models by name. The environment is looked at when the first one is asked for.
fn resolver(arguments: &Eval) -> Result<Resolver, Failure> {
    let prices: Vec<(String, Price)> =
        arguments.generate.price.iter().map(|given| price(given)).collect::<Result<_, _>>()?;
    let (main, base_url) = (arguments.model.clone(), arguments.model_base_url.clone());
    let timeout = Duration::from_secs(arguments.generate.timeout.max(1));
    Ok(Arc::new(move |name| {
        // The address is that of the model which is asked; a grader may be elsewhere.
        let base_url = base_url.clone().filter(|_| main.as_deref().is_none_or(|main| main == name));
        let mut options = ProviderOptions::from_env();
        options.base_url = base_url.or(options.base_url);
        options.timeout = timeout;
        options.prices.clone_from(&prices);
        resolve(name, &options)
    }))
}

fn price(given: &str) -> Result<(String, Price), Failure> {
    let parts = given.rsplit_once('=').and_then(|(model, prices)| {
        let (input, output) = prices.split_once(',')?;
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|price| price.is_finite() && *price >= 0.0);
        Some((model.to_owned(), Price::new(number(input)?, number(output)?)))
    });
    parts.ok_or_else(|| {
        let hint = "write `--price openai/gpt-4o=2.5,10`: USD for a million tokens in and out";
        Failure::new(format!("`--price {given}` is not a price")).hint(hint)
    })
}

fn channel(arguments: &Eval) -> Result<ChannelOptions, Failure> {
    let cache = arguments.cache.as_deref().map(|folder| DiskCache::open(Path::new(folder))).transpose()?;
    Ok(ChannelOptions {
        connections: arguments.generate.max_connections,
        requests_per_minute: arguments.generate.requests_per_minute,
        tokens_per_minute: arguments.generate.tokens_per_minute,
        retries_max: arguments.generate.max_retries,
        timeout: Duration::from_secs(arguments.generate.timeout.max(1)),
        cache: cache.map(|cache| Arc::new(cache) as Arc<dyn AnswerCache>),
        ..ChannelOptions::default()
    })
}
