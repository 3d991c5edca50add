//! Expressions and files of definitions.

use crate::builtin::{NamedFunction, add_metrics, as_metric, as_reducer, own_functions, parameters, reducer_functions};
use crate::catalog_functions::{Vocabulary, add_parts, part_names, scorers, solvers};
use crate::dataset_objects::dataset_names;
use crate::error::{ArgumentError, EXPRESSION, ScriptError};
use crate::limits::{Clock, ScriptLimits, ScriptWatchdog, Time};
use crate::makers::Makers;
use crate::mathematics::{add_to_float, mathematics};
use crate::score_objects::{from_starlark, items, short_text};
use crate::script_call::{FunctionSlot, Session, catch_panic, limit, slot_name};
use crate::task_object::task_names;
use calipers_core::{ErrorKind, Labels, Metric, MetricSpec, Reducer, Registry, by_key};
use calipers_run::{Scorer, Solver};
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::{Evaluator, ReturnFileLoader};
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::none::NoneType;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Larger sources are not definitions of metrics. Parsing takes stack for every level of nesting: an expression nests
/// no deeper than it is long, so statements have a separate limit.
const SOURCE_MAX: usize = 1 << 18;
const STATEMENT_MAX: usize = 1 << 15;
const EXPRESSION_MAX: usize = 1 << 14;
const NESTING_MAX: usize = 200;

/// The stack for parsing a source: up to 2 KiB per level were measured. Only what is needed is used.
const STACK: usize = 1 << 28;

/// The names that expressions may use: the built-in metrics, and those of files that were loaded.
///
/// ```
/// use calipers_core::{Plan, Samples};
/// use calipers_script::Library;
///
/// let mut library = Library::builtin();
/// library.load("metrics.star", r#"
/// def pass_rate(threshold = 0.5):
///     """Proportion of samples scoring at or above `threshold`."""
///     def metric(scores):
///         passed = [s for s in scores if s.score.as_float() >= threshold]
///         return len(passed) / len(scores)
///     return metric
/// "#)?;
/// let metrics = library.metrics("pass_rate(0.5)")?;
///
/// let mut samples = Samples::new();
/// for (id, score) in [(1, 0.25), (2, 0.5), (3, 1.0)] {
///     samples.push(id).score("overlap", score);
/// }
/// let results = Plan::new().metrics(metrics).measure(&samples)?;
/// assert_eq!(results.figure("overlap", "pass_rate").expect("asked for").value, Ok(2.0 / 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Library {
    pub(crate) shared: Arc<SharedContext>,
    /// The loaded definitions, in order; later ones replace earlier ones.
    loaded: Vec<FrozenModule>,
    /// Files by path, so that each is read only once.
    files: HashMap<PathBuf, FrozenModule>,
}

/// What all evaluations of a library share.
pub(crate) struct SharedContext {
    globals: Globals,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) limits: ScriptLimits,
    pub(crate) clock: Arc<Clock>,
    /// The parameters of functions of loaded files, for messages.
    functions: RwLock<HashMap<String, Vec<String>>>,
    /// Which functions of loaded files return which, for the names of metrics and scorers.
    makers: RwLock<Makers>,
}

impl SharedContext {
    /// What is made of a function is called: by the function that returns it, if it is known, or by its own name.
    pub(crate) fn name_of(&self, function: &str) -> String {
        let makers = self.makers.read().unwrap_or_else(PoisonError::into_inner);
        makers.of(function).unwrap_or(function).to_owned()
    }

    /// What Starlark says, with what was probably meant.
    pub(crate) fn explain(&self, error: &starlark::Error) -> ScriptError {
        ScriptError::of(error, |function| {
            let known = self.functions.read().unwrap_or_else(PoisonError::into_inner);
            let own = known.get(function).cloned();
            own.or_else(|| self.globals.documentation().members.get(function).map(parameters)).unwrap_or_default()
        })
    }
}

fn dialect() -> Dialect {
    Dialect {
        enable_f_strings: true,
        enable_keyword_only_arguments: true,
        enable_top_level_stmt: true,
        // Type annotations may stay in functions copied from Python; they are ignored.
        enable_types: DialectTypes::ParseOnly,
        ..Dialect::Standard
    }
}

/// What expressions over results may name.
fn measuring(registry: &Registry) -> GlobalsBuilder {
    let extensions = [
        LibraryExtension::StructType,
        LibraryExtension::SetType,
        LibraryExtension::Map,
        LibraryExtension::Filter,
        LibraryExtension::Print,
        LibraryExtension::Json,
    ];
    let mut builder =
        GlobalsBuilder::extended_by(&extensions).with(mathematics).with(own_functions).with(reducer_functions);
    add_metrics(&mut builder, registry.names().map(str::to_owned));
    add_to_float(&mut builder);
    // Names that type annotations of functions copied from Python use. They are ignored.
    for name in ["Metric", "SampleScore", "ScoreReducer", "Value", "Any"] {
        builder.set(name, NoneType);
    }
    builder
}

/// What task files may name besides.
fn running(mut builder: GlobalsBuilder, vocabulary: &Vocabulary) -> GlobalsBuilder {
    add_parts(&mut builder, vocabulary);
    for name in ["TaskState", "Target", "Scorer", "Solver", "Dataset"] {
        builder.set(name, NoneType);
    }
    builder.with(task_names).with(dataset_names).with(part_names)
}

impl Library {
    /// The built-in metrics, and what the language lacks.
    #[must_use]
    pub fn builtin() -> Self {
        Self::new(Registry::builtin(), Labels::default(), ScriptLimits::default())
    }

    /// The metrics of a registry, with labels and limits for scripts.
    #[must_use]
    pub fn new(registry: Registry, labels: Labels, limits: ScriptLimits) -> Self {
        let globals = measuring(&registry).build();
        Self::of(globals, Vocabulary { metrics: registry, labels, ..Vocabulary::builtin() }, limits)
    }

    /// The same, and the solvers, scorers and datasets of tasks.
    #[must_use]
    pub fn for_tasks(vocabulary: Vocabulary, limits: ScriptLimits) -> Self {
        let globals = running(measuring(&vocabulary.metrics), &vocabulary).build();
        Self::of(globals, vocabulary, limits)
    }

    fn of(globals: Globals, vocabulary: Vocabulary, limits: ScriptLimits) -> Self {
        let (functions, makers) = (RwLock::default(), RwLock::default());
        let shared = SharedContext { globals, vocabulary, limits, clock: Clock::new(), functions, makers };
        Self { shared: Arc::new(shared), loaded: Vec::new(), files: HashMap::new() }
    }

    /// A watchdog that tells whether a script of this library runs too long.
    #[must_use]
    pub fn watch(&self) -> ScriptWatchdog {
        ScriptWatchdog(self.shared.clock.clone())
    }

    /// Reads definitions from a file, and from those that it loads. Later files may use what earlier ones define.
    pub fn load_file(&mut self, path: impl AsRef<Path>) -> Result<(), ScriptError> {
        let path = path.as_ref();
        let source = read(path).map_err(|why| ScriptError::new(why).hint("check the name of the file"))?;
        self.load(&path.display().to_string(), &source)
    }

    /// Reads definitions from a text. It may load `.star` files from the folder of the file with that name, or below.
    pub fn load(&mut self, name: &str, source: &str) -> Result<(), ScriptError> {
        self.load_own(Path::new(name), source).map(|_| ())
    }

    /// The same, with the names that the text defines itself.
    pub(crate) fn load_own(&mut self, path: &Path, source: &str) -> Result<(FrozenModule, Vec<String>), ScriptError> {
        let mut loading = Loading { root: path.parent().unwrap_or(Path::new("")).to_owned(), within: Vec::new() };
        let (module, foreign) = on_large_stack(|| self.file(path, source, &mut loading))?;
        self.loaded.push(module.clone());
        let names = module.names().map(|name| name.as_str().to_owned());
        let own = names.filter(|name| !foreign.contains(name)).collect();
        Ok((module, own))
    }

    /// Loads a file and first everything that it loads, and returns the imported names.
    fn file(
        &mut self,
        path: &Path,
        source: &str,
        loading: &mut Loading,
    ) -> Result<(FrozenModule, Vec<String>), ScriptError> {
        let name = path.display().to_string();
        check_source(&name, source, SOURCE_MAX)?;
        let ast = parse(&name, source).map_err(|error| self.shared.explain(&error))?;
        self.shared.makers.write().unwrap_or_else(PoisonError::into_inner).add(&ast);
        loading.within.push(identity(path));
        let mut modules: HashMap<String, FrozenModule> = HashMap::new();
        let mut foreign = Vec::new();
        for load in ast.loads() {
            let module = self.other(path, load.module_id, loading).map_err(|error| error.or_at(&load.span))?;
            foreign.extend(load.symbols.keys().map(|name| (*name).to_owned()));
            modules.insert(load.module_id.to_owned(), module);
        }
        loading.within.pop();
        let modules: HashMap<&str, &FrozenModule> = modules.iter().map(|(name, module)| (&**name, module)).collect();
        let import = |into: &Module<'_>, from: &FrozenModule| into.import_public_symbols(from);
        let globals = &self.shared.globals;
        let (module, ()) = self.within(&modules, import, |eval| eval.eval_module(ast, globals).map(|_| ()))?;
        self.remember(&module);
        Ok((module, foreign))
    }

    /// The file that another file loads under this name.
    fn other(&mut self, by: &Path, id: &str, loading: &mut Loading) -> Result<FrozenModule, ScriptError> {
        let path = loading.permit(by, id)?;
        let known = identity(&path);
        if loading.within.contains(&known) {
            let error = ScriptError::new(format!("`{id}` is being loaded already"));
            return Err(error.hint("two files that load each other can share a third"));
        }
        if let Some(module) = self.files.get(&known) {
            return Ok(module.clone());
        }
        let text = read(&path).map_err(|why| ScriptError::new(why).hint("the name is looked for beside this file"))?;
        let (module, _) = self.file(&path, &text, loading)?;
        self.files.insert(known, module.clone());
        Ok(module)
    }

    fn remember(&self, module: &FrozenModule) {
        let mut known = self.shared.functions.write().unwrap_or_else(PoisonError::into_inner);
        for (name, item) in module.documentation().members {
            known.insert(name, parameters(&item));
        }
    }

    /// Evaluates in a new module, and freezes the result.
    pub(crate) fn within<T>(
        &self,
        modules: &HashMap<&str, &FrozenModule>,
        import: impl Fn(&Module<'_>, &FrozenModule),
        work: impl for<'v> FnOnce(&mut Evaluator<'v, '_, '_>) -> starlark::Result<T>,
    ) -> Result<(FrozenModule, T), ScriptError> {
        let (shared, loaded) = (&self.shared, &self.loaded);
        catch_panic(move || {
            let running = shared.clock.start(&shared.limits, Time::Shared);
            let session = Session::new(shared, &running);
            let loader = ReturnFileLoader { modules };
            Module::with_temp_heap(|module| {
                for earlier in loaded {
                    import(&module, earlier);
                }
                let mut eval = Evaluator::new(&module);
                limit(&mut eval, &session, 0)?;
                eval.set_loader(&loader);
                let made = work(&mut eval).map_err(|error| shared.explain(&error))?;
                drop(eval);
                let slots = session.slots.take();
                let frozen = module.freeze().map_err(|error| ScriptError::new(format!("{error:?}")))?;
                fill(&frozen, &slots)?;
                Ok((frozen, made))
            })
        })
    }

    /// The metrics of an expression: one, a list of them, or a map of keys to lists.
    pub fn metrics(&self, expression: &str) -> Result<Vec<MetricSpec>, ScriptError> {
        on_large_stack(|| self.expression(expression, |value, eval| specs(value, eval, 0)))
    }

    /// The solvers of an expression: one, or a list of them. Only for a library of tasks.
    pub fn solvers(&self, expression: &str) -> Result<Vec<Arc<dyn Solver>>, ScriptError> {
        let read = || self.expression(expression, |value, eval| Ok(solvers(value, eval)?.parts));
        on_large_stack(read).map_err(|error| error.in_expression(expression))
    }

    /// The scorers of an expression: one, or a list of them. Only for a library of tasks.
    pub fn scorers(&self, expression: &str) -> Result<Vec<Arc<dyn Scorer>>, ScriptError> {
        let read = || self.expression(expression, |value, eval| Ok(scorers(value, eval)?.parts));
        on_large_stack(read).map_err(|error| error.in_expression(expression))
    }

    pub(crate) fn expression<T>(
        &self,
        expression: &str,
        read: impl for<'v> FnOnce(Value<'v>, &mut Evaluator<'v, '_, '_>) -> starlark::Result<T>,
    ) -> Result<T, ScriptError> {
        check_source(EXPRESSION, expression, EXPRESSION_MAX)?;
        let text = expression.trim();
        if text.is_empty() {
            return Err(ScriptError::new("the expression is empty").hint("write one such as `accuracy()`"));
        }
        let ast = parse(EXPRESSION, text).map_err(|error| self.shared.explain(&error))?;
        if !ast.loads().is_empty() {
            let error = ScriptError::new("an expression cannot load files").in_expression(text);
            return Err(error.hint("load them before the expression is evaluated"));
        }
        let globals = &self.shared.globals;
        let evaluated = self.within(&HashMap::new(), import_named, |eval| {
            let value = eval.eval_module(ast, globals)?;
            read(value, eval)
        });
        evaluated.map(|(_, read)| read).map_err(|error| error.in_expression(text))
    }

    /// The value of a list, a dict or a text in the notation of Starlark or JSON.
    pub(crate) fn literal(text: &str) -> Option<calipers_core::Value> {
        let mut builder = GlobalsBuilder::new();
        for (name, value) in [("True", true), ("true", true), ("False", false), ("false", false)] {
            builder.set(name, value);
        }
        for name in ["None", "null"] {
            builder.set(name, NoneType);
        }
        let limits = ScriptLimits { steps: 1_000_000, time: Duration::from_secs(5), ..ScriptLimits::default() };
        let library = Self::of(builder.build(), Vocabulary::builtin(), limits);
        on_large_stack(|| library.expression(text, |value, _| Ok(from_starlark(value)))).ok().flatten()
    }

    /// The metric that a function of a loaded file makes from these parameters, a map or nothing; none if no file has it.
    #[must_use]
    pub fn own_metric(&self, name: &str, params: &calipers_core::Value) -> Option<Result<Metric, ScriptError>> {
        self.loaded.iter().any(|module| matches!(module.get_option(name), Ok(Some(_)))).then(|| {
            let call = match params {
                calipers_core::Value::Map(entries) if !entries.is_empty() => {
                    let pairs: Vec<String> =
                        entries.iter().map(|(key, value)| format!("{key}={}", to_expression(value))).collect();
                    format!("{name}({})", pairs.join(", "))
                }
                _ => name.to_owned(),
            };
            match &self.metrics(&call)?[..] {
                [MetricSpec::One(metric)] => Ok(metric.clone()),
                _ => Err(ScriptError::new(format!("`{name}` is not one metric"))),
            }
        })
    }

    /// The reducer of a name or a call: a built-in one, or one of a loaded file.
    pub fn reducer(&self, expression: &str) -> Result<Reducer, ScriptError> {
        let name = name_of(expression);
        let is_loaded = self.loaded.iter().any(|module| matches!(module.get_option(name), Ok(Some(_))));
        let unknown = match Reducer::parse(expression) {
            // A call means the function of that name, should a file have one.
            Ok(reducer) if !is_loaded || !expression.contains('(') => return Ok(reducer),
            Ok(_) => None,
            Err(unknown) => Some(unknown),
        };
        if let Some(unknown) = unknown
            && !is_loaded
        {
            let own: Vec<String> =
                self.loaded.iter().flat_map(FrozenModule::names).map(|name| name.as_str().to_owned()).collect();
            let own: Vec<&str> = own.iter().map(String::as_str).collect();
            let error = ScriptError::new(unknown.kind().to_string());
            let hint = match calipers_core::nearest(name, &own) {
                Some(nearest) if matches!(unknown.kind(), ErrorKind::UnknownName { .. }) => {
                    Some(format!("did you mean `{nearest}`?"))
                }
                _ => unknown.kind().hint(),
            };
            return Err(hint.into_iter().fold(error, ScriptError::hint));
        }
        let read = || self.expression(expression, |value, eval| as_reducer(value, Some(name), eval));
        on_large_stack(read).map_err(|error| error.in_expression(expression))
    }
}

/// A value as an expression writes it.
fn to_expression(value: &calipers_core::Value) -> String {
    use calipers_core::Value;
    match value {
        Value::Null | Value::Missing => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(to_expression).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|(key, value)| format!("{key:?}: {}", to_expression(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        number => number.to_string(),
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("loaded", &self.loaded.len()).finish_non_exhaustive()
    }
}

/// Files that are being loaded.
struct Loading {
    /// The folder of the first file. Files outside it are not read.
    root: PathBuf,
    /// From the first to the latest.
    within: Vec<PathBuf>,
}

impl Loading {
    /// The file that another one means by a name. Files outside the folder are refused before the file system is asked,
    /// so that a script learns nothing about them, not even from an error message.
    fn permit(&self, by: &Path, id: &str) -> Result<PathBuf, ScriptError> {
        let path = by.parent().unwrap_or(Path::new("")).join(id);
        if path.extension().is_none_or(|extension| extension != "star") {
            let error = ScriptError::new(format!("`{id}` is not loaded: its name does not end in `.star`"));
            return Err(error.hint("`load` reads definitions; data are read with `csv_dataset` or `json_dataset`"));
        }
        let seems_within = straight(&path).starts_with(straight(&self.root));
        if !seems_within || leads_outside(&path, &self.root) {
            let error = ScriptError::new(format!("`{id}` is not loaded: it is outside the folder of the first file"));
            return Err(error.hint("`load` reads `.star` files of that folder and of those below it"));
        }
        Ok(path)
    }
}

/// True for a link to a file that is not in a folder or below it.
fn leads_outside(path: &Path, root: &Path) -> bool {
    match (std::fs::canonicalize(path), std::fs::canonicalize(folder(root))) {
        (Ok(path), Ok(root)) => !path.starts_with(root),
        // A missing file is not a link.
        _ => false,
    }
}

/// A folder by a name that is not empty.
fn folder(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}

/// An absolute path without `.` and `..`.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in std::path::absolute(folder(path)).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(straight.pop()),
            Component::CurDir => {}
            part => straight.push(part),
        }
    }
    straight
}

/// The name before the parentheses.
fn name_of(expression: &str) -> &str {
    expression.split('(').next().unwrap_or(expression).trim()
}

/// Imports the definitions of a file into an expression: metrics made by its functions get the functions' names. Other
/// files get the functions unchanged.
fn import_named(into: &Module<'_>, from: &FrozenModule) {
    into.import_public_symbols(from);
    for name in from.names() {
        let name = name.as_str();
        let Ok(Some(value)) = from.get_option(name) else { continue };
        if into.heap().access_owned_frozen_value(&value).parameters_spec().is_some() {
            into.set(name, into.heap().alloc(NamedFunction::new(name, value)));
        }
    }
}

/// Connects metrics made from functions with those functions, once these are frozen.
fn fill(module: &FrozenModule, slots: &[FunctionSlot]) -> Result<(), ScriptError> {
    for (index, slot) in slots.iter().enumerate() {
        let function = module.get(&slot_name(index)).map_err(|error| ScriptError::new(error.to_string()))?;
        let _ = slot.set(function);
    }
    Ok(())
}

/// Nested lists of metrics are flattened.
const LISTS_MAX: usize = 8;

pub(crate) fn specs<'v>(
    value: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
    depth: usize,
) -> starlark::Result<Vec<MetricSpec>> {
    if let Some(items) = items(value)
        && depth < LISTS_MAX
    {
        let mut all = Vec::new();
        for item in items {
            all.extend(specs(*item, eval, depth + 1)?);
        }
        return Ok(all);
    }
    let Some(dict) = DictRef::from_value(value) else { return Ok(vec![as_metric(value, eval)?.into()]) };
    let entries: Vec<(Value<'v>, Value<'v>)> = dict.iter().collect();
    let mut keys: Vec<(String, Vec<Metric>)> = Vec::new();
    for (key, metrics) in entries {
        let Some(key) = key.unpack_str() else {
            let complaint = ArgumentError::new(format!("{} is not a key of a score", short_text(key)));
            return Err(complaint.hint("a map of metrics has strings as keys; `\"*\"` stands for every key").into());
        };
        let metrics = match items(metrics) {
            Some(list) => list.iter().map(|item| as_metric(*item, eval)).collect::<starlark::Result<_>>()?,
            None => vec![as_metric(metrics, eval)?],
        };
        keys.push((key.to_owned(), metrics));
    }
    Ok(vec![by_key(keys)])
}

fn parse(name: &str, source: &str) -> starlark::Result<AstModule> {
    AstModule::parse(name, source.to_owned(), &dialect())
}

/// The canonical path, so that two spellings of a path are one.
fn identity(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    let about = std::fs::metadata(path).map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    // Reading anything else, such as a pipe, might block.
    if !about.is_file() {
        return Err(format!("`{name}` is not a file"));
    }
    let length = about.len();
    if length > SOURCE_MAX as u64 {
        return Err(too_long(&name.to_string(), SOURCE_MAX));
    }
    std::fs::read_to_string(path).map_err(|error| format!("`{name}` cannot be read: {error}"))
}

fn too_long(name: &str, most: usize) -> String {
    format!("{name} is longer than {} KiB, which no definitions of metrics are", most >> 10)
}

/// Refuses sources that would overflow the stack of the parser or compiler.
fn check_source(name: &str, source: &str, most: usize) -> Result<(), ScriptError> {
    if source.len() > most {
        return Err(ScriptError::new(too_long(name, most)));
    }
    let extent = Extent::of(source);
    if extent.nesting > NESTING_MAX {
        return Err(ScriptError::new(format!("brackets nest deeper than {NESTING_MAX} levels in {name}")));
    }
    if extent.statement > STATEMENT_MAX {
        let what = format!("a statement of {name} is longer than {} KiB", STATEMENT_MAX >> 10);
        return Err(ScriptError::new(what).hint("split it into several"));
    }
    Ok(())
}

/// How deep brackets nest, and how long the longest statement is; texts and comments have neither.
#[derive(Default)]
struct Extent {
    nesting: usize,
    statement: usize,
}

impl Extent {
    fn of(source: &str) -> Self {
        let mut extent = Self::default();
        let (mut depth, mut statement) = (0usize, 0usize);
        let mut rest = source.as_bytes();
        while let Some(&byte) = rest.first() {
            let length = match byte {
                b'#' => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
                b'"' | b'\'' => text_length(rest, byte),
                b'\\' => 2.min(rest.len()),
                _ => 1,
            };
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            statement = if byte == b'\n' && depth == 0 { 0 } else { statement + 1 };
            extent.nesting = extent.nesting.max(depth);
            extent.statement = extent.statement.max(statement);
            rest = &rest[length..];
        }
        extent
    }
}

/// The length of a text that begins here, its quotes included.
fn text_length(source: &[u8], quote: u8) -> usize {
    let triple = source.starts_with(&[quote; 3]);
    let closing: &[u8] = if triple { &[quote; 3] } else { &[quote] };
    let mut at = closing.len();
    while at < source.len() && !source[at..].starts_with(closing) && (triple || source[at] != b'\n') {
        at += if source[at] == b'\\' { 2 } else { 1 };
    }
    (at + closing.len()).min(source.len())
}

/// Runs on a thread with a stack that is large enough for any source of the permitted length.
pub(crate) fn on_large_stack<T: Send>(run: impl FnOnce() -> Result<T, ScriptError> + Send) -> Result<T, ScriptError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
        let thread = thread.map_err(|error| {
            let what = format!("metric expressions need {} MB of memory for their stack: {error}", STACK >> 20);
            ScriptError::new(what).hint("allow more memory; 512 MB are enough for small files")
        })?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
