//! Files whose functions are tasks.

use crate::catalog_functions::Vocabulary;
use crate::error::ScriptError;
use crate::library::{Library, on_large_stack, read};
use crate::limits::ScriptLimits;
use crate::score_objects::to_starlark;
use crate::task_object::{TaskObject, task_in};
use calipers_core::{Value as CoreValue, nearest};
use calipers_run::Task;
use starlark::environment::FrozenModule;
use starlark::values::{OwnedFrozenValue, Value, ValueLike};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file whose functions are tasks.
///
/// Every public function of the file that can be called without arguments is called once, to see whether it returns a
/// `Task`; functions that the file loads from others are not. Its parameters may be set when the task is made.
pub struct TaskFile {
    folder: PathBuf,
    library: Library,
    module: FrozenModule,
    /// The functions that the file defines itself.
    own: Vec<String>,
    /// The tasks, including functions that fail when they are called and so may be tasks.
    names: Vec<String>,
}

impl TaskFile {
    /// Reads a file and those that it loads.
    pub fn load(path: impl AsRef<Path>, vocabulary: Vocabulary, limits: ScriptLimits) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let source = read(path).map_err(|why| ScriptError::new(why).hint("check the name of the file"))?;
        Self::parse(path, &source, vocabulary, limits)
    }

    /// Reads a text as the file of that name.
    pub fn parse(
        path: impl AsRef<Path>,
        source: &str,
        vocabulary: Vocabulary,
        limits: ScriptLimits,
    ) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut library = Library::for_tasks(vocabulary, limits);
        let (module, own) = library.load_own(path, source)?;
        let own = own.into_iter().filter(|name| function(&module, name).is_some()).collect();
        let mut file = Self { folder, library, module, own, names: Vec::new() };
        file.names = file.own.iter().filter(|name| file.may_be_task(name)).cloned().collect();
        Ok(file)
    }

    /// The names of its tasks, in the order of the file. A function that fails when it is called is included, so that
    /// its mistake is reported.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A task with these parameters.
    pub fn task(&self, name: &str, parameters: &[(String, CoreValue)]) -> Result<Task, ScriptError> {
        let Some(function) = self.own.iter().find(|own| *own == name).and_then(|own| function(&self.module, own))
        else {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let error = ScriptError::new(format!("there is no task `{name}`"));
            return Err(match nearest(name, &names) {
                Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
                None if names.is_empty() => error.hint("a task is a function that returns `Task(…)`"),
                None => error.hint(format!("the file has {}", names.join(", "))),
            });
        };
        self.call_with(&function, parameters, |value| Ok(task_in(value, name)?))
    }

    /// The folder that it is in, where relative paths of its datasets start.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What expressions may use: the names of the language, and those of the file.
    #[must_use]
    pub fn library(&self) -> &Library {
        &self.library
    }

    fn may_be_task(&self, name: &str) -> bool {
        let Some(function) = function(&self.module, name) else { return false };
        let spec = function.value().parameters_spec();
        let needs_nothing = spec.is_some_and(|parameters| parameters.can_fill_with_args(0, &[]));
        needs_nothing
            && self.call_with(&function, &[], |value| Ok(value.downcast_ref::<TaskObject>().is_some())).unwrap_or(true)
    }

    fn call_with<T: Send>(
        &self,
        function: &OwnedFrozenValue,
        parameters: &[(String, CoreValue)],
        read: impl for<'v> FnOnce(Value<'v>) -> starlark::Result<T> + Send,
    ) -> Result<T, ScriptError> {
        on_large_stack(|| {
            let nothing = HashMap::new();
            let made = self.library.within(
                &nothing,
                |_, _| {},
                |eval| {
                    let heap = eval.heap();
                    let function = heap.access_owned_frozen_value(function);
                    let named = parameters.iter().map(|(name, value)| (name.as_str(), to_starlark(value, heap)));
                    let made = eval.eval_function(function, &[], &named.collect::<Vec<_>>())?;
                    read(made)
                },
            );
            made.map(|(_, made)| made)
        })
    }
}

impl std::fmt::Debug for TaskFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskFile").field("names", &self.names).finish_non_exhaustive()
    }
}

/// The public function of this name.
fn function(module: &FrozenModule, name: &str) -> Option<OwnedFrozenValue> {
    let is_public = name.starts_with(|c: char| c.is_alphabetic()) && !name.contains(' ');
    let value = module.get_option(name).ok().flatten().filter(|_| is_public)?;
    value.value().parameters_spec().is_some().then_some(value)
}

/// The value of a command-line argument: a literal of Starlark or JSON (`3`, `0.5`, `true`, `null`, `["a", "b"]`,
/// `{"k": 1}`, `"text"`), or else the text itself.
///
/// ```
/// use calipers_core::Value;
/// use calipers_script::literal;
///
/// assert_eq!(literal("3"), Value::Int(3));
/// assert_eq!(literal("[true, None]"), Value::List(vec![Value::Bool(true), Value::Null]));
/// assert_eq!(literal("physics"), Value::from("physics"));
/// ```
#[must_use]
pub fn literal(text: &str) -> CoreValue {
    let as_text = || CoreValue::from(text);
    match text.trim() {
        "true" | "True" => CoreValue::Bool(true),
        "false" | "False" => CoreValue::Bool(false),
        "null" | "None" => CoreValue::Null,
        trimmed if trimmed.starts_with(['[', '{', '"', '\'']) => Library::literal(trimmed).unwrap_or_else(as_text),
        trimmed => match (trimmed.parse::<i64>(), trimmed.parse::<f64>()) {
            (Ok(whole), _) => CoreValue::Int(whole),
            (_, Ok(number)) if number.is_finite() => CoreValue::Float(number),
            _ => as_text(),
        },
    }
}
