//! `calipers score` and `calipers formats`.

use crate::arguments::{Compat, Score, Scripts};
use crate::exit::{self, Failure, print};
use crate::progress::Progress;
use crate::{compare, guard};
use calipers::io::{Source, choose, formats as known_formats, printable, writers};
use calipers::render::{Screen, Style, results_json, results_plot, results_text};
use calipers::script::{Library, ScriptError, ScriptLimits};
use calipers::{Labels, MetricSpec, Reducer, Registry, Report, RunReport, Seed, score};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(arguments: &Score) -> Result<(), Failure> {
    let (report, failed) = measure(arguments)?;
    if arguments.json {
        let json = results_json(&report);
        print(|out| {
            serde_json::to_writer_pretty(&mut *out, &json)?;
            writeln!(out)
        })?;
    } else {
        let mut text = results_text(&report, screen());
        if arguments.plot {
            text += &compare::plotted(&results_plot(&report, screen(), compare::ink()));
        }
        print(|out| out.write_all(text.as_bytes()))?;
    }
    // One bad file takes nothing from the others, but it is not passed over either.
    failed.map_or(Ok(()), Err)
}

/// The report of all files that can be scored, and what is wrong with the others. If none can, that is all there is.
fn measure(arguments: &Score) -> Result<(Report, Option<Failure>), Failure> {
    let options = options(arguments)?;
    let sources = sources(&arguments.files, arguments.reading.format.as_deref())?;
    // A file that cannot be opened is reported when its turn comes.
    let total = sources.iter().filter_map(|source| source.stored_len().ok()).sum();
    let progress = Progress::start(total);
    let mut report = Report::default();
    let mut failed: Option<Failure> = None;
    for source in sources {
        let source = source.with_counter(progress.read.clone());
        let runs = if guard::is_child() { score_limited } else { score::score_source };
        match runs(&source, arguments.reading.format.as_deref(), &options).map_err(told) {
            Ok(runs) => report.runs.extend(runs),
            Err(failure) => failed = Some(failed.map_or_else(|| failure.clone(), |first| first.and(&failure))),
        }
    }
    match failed {
        Some(failed) if report.runs.is_empty() => Err(failed),
        failed => Ok((report, failed)),
    }
}

/// The files that are named, and those of folders and patterns that hold results of some kind. What a folder holds
/// besides is named on the way.
pub(crate) fn sources(files: &[String], format: Option<&str>) -> Result<Vec<Source>, Failure> {
    let mut sources = Vec::new();
    for file in files {
        let found = Source::resolve(file)?;
        let is_search = found.len() > 1 || Path::new(file).is_dir();
        let is_result = |source: &Source| choose(source, format).is_ok();
        if !is_search || !found.iter().any(is_result) {
            sources.extend(found);
            continue;
        }
        for source in found {
            if is_result(&source) {
                sources.push(source);
            } else {
                eprintln!("note: {} was left out: it holds no results in a known format", printable(&source.name));
            }
        }
    }
    Ok(sources)
}

/// Scores with scripts, which may use only so much memory. Reading is not theirs.
fn score_limited(
    source: &Source,
    format: Option<&str>,
    options: &score::Options,
) -> Result<Vec<RunReport>, score::Failure> {
    let runs = score::read_source(source, format, options)?;
    let _limited = guard::limit_memory();
    let fail = |error| score::Failure::Score { error, source: source.name.clone() };
    runs.into_iter().map(|run| score::score(run, options).map_err(fail)).collect()
}

pub(crate) fn told(failure: score::Failure) -> Failure {
    match failure {
        score::Failure::Read(error) => error.into(),
        score::Failure::Score { error, source } => {
            Failure::Input(format!("{}\n  in {source}", exit::explained(&error)))
        }
    }
}

fn options(arguments: &Score) -> Result<score::Options, Failure> {
    let labels = labels(&arguments.chosen.label)?;
    let library = library(arguments, &labels)?;
    let mut options = score::Options {
        metrics: metrics(arguments, library.as_ref())?,
        labels,
        scorers: arguments.chosen.scorer.clone(),
        level: arguments.level.level,
        seed: Seed(arguments.chosen.seed),
        inspect: arguments.compat == Some(Compat::Inspect),
        keep_reductions: arguments.reductions,
        ..score::Options::default()
    };
    options.reducers = match &library {
        Some(library) => reducers(&arguments.reducer, |name| Ok(library.reducer(name)?))?,
        None => reducers(&arguments.reducer, |name| Ok(Reducer::parse(name)?))?,
    };
    options.filter = filters(&arguments.chosen.filter)?;
    Ok(options)
}

/// Conditions on metadata, each `KEY=VALUE`.
pub(crate) fn filters(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let filter = |filter: &String| match filter.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => {
            let hint = "write `--where category=adversarial`";
            Err(Failure::Input(format!("`--where {filter}` has no `=`\n  hint: {hint}")))
        }
    };
    given.iter().map(filter).collect()
}

/// The reducers of these names, if there are any; `none` is a name for none of them.
pub(crate) fn reducers(
    names: &[String],
    find: impl Fn(&str) -> Result<Reducer, Failure>,
) -> Result<Option<Vec<Reducer>>, Failure> {
    if names.len() > 1 && names.iter().any(|name| name == "none") {
        let hint = "run the command twice, with `--reducer none` and with the others";
        return Err(Failure::Input(format!("`--reducer none` goes with no other reducer\n  hint: {hint}")));
    }
    let named = names.iter().filter(|name| *name != "none").map(|name| find(name));
    let reducers = named.collect::<Result<Vec<Reducer>, _>>()?;
    if let Some(empty) = reducers.iter().find(|reducer| reducer.attempts_needed() == Some(0)) {
        let hint = "ask for at least one, as in `pass_at_1`";
        return Err(Failure::Input(format!("`{}` asks for no attempt at all\n  hint: {hint}", empty.name())));
    }
    Ok(if names.is_empty() { None } else { Some(reducers) })
}

pub(crate) fn labels(given: &[String]) -> Result<Labels, Failure> {
    given.iter().try_fold(Labels::default(), |labels, one| {
        let parts = one.rsplit_once('=').and_then(|(label, number)| Some((label, number.trim().parse().ok()?)));
        match parts.filter(|(_, number): &(_, f64)| number.is_finite()) {
            Some((label, number)) => Ok(labels.with(label, number)),
            None => Err(Failure::Input(format!("`--label {one}` gives no number\n  hint: write `--label maybe=0.5`"))),
        }
    })
}

/// The names that expressions may use. Made only if something is asked for by an expression: it takes time.
fn library(arguments: &Score, labels: &Labels) -> Result<Option<Library>, Failure> {
    if arguments.metric.is_empty() && arguments.scripts.load.is_empty() {
        return Ok(None);
    }
    let labels = labels.clone();
    let labels = if arguments.compat == Some(Compat::Inspect) { labels.unknown_as_zero() } else { labels };
    Ok(Some(library_of(&arguments.scripts, labels)?))
}

/// The names that expressions may use, with those of these files.
pub(crate) fn library_of(scripts: &Scripts, labels: Labels) -> Result<Library, ScriptError> {
    let seconds = scripts.script_time;
    let limits = ScriptLimits { time: Duration::from_secs(seconds), ..ScriptLimits::default() };
    let mut library = Library::new(Registry::builtin(), labels, limits);
    guard::watch(library.watch(), seconds);
    let _limited = guard::limit_memory();
    for file in &scripts.load {
        library.load_file(file)?;
    }
    Ok(library)
}

fn metrics(arguments: &Score, library: Option<&Library>) -> Result<Option<Vec<MetricSpec>>, Failure> {
    let Some(library) = library.filter(|_| !arguments.metric.is_empty()) else { return Ok(None) };
    let _limited = guard::limit_memory();
    let mut metrics = Vec::new();
    for expression in &arguments.metric {
        metrics.extend(library.metrics(expression)?);
    }
    Ok(Some(metrics))
}

/// Colour only where a person looks, and not if they asked for none; as wide as their terminal.
pub(crate) fn screen() -> Screen {
    let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let out = std::io::stdout();
    let style = if out.is_terminal() && !asked_for_none { Style::Colour } else { Style::Plain };
    let width = terminal_size::terminal_size_of(&out).map_or(Screen::WIDTH, |(width, _)| usize::from(width.0));
    Screen { style, width }
}

pub(crate) fn formats(json: bool) -> Result<(), Failure> {
    let known = known_formats();
    if json {
        let list: Vec<_> = known
            .iter()
            .map(|format| {
                let writer = writers().into_iter().find(|writer| writer.name() == format.name());
                let endings = writer.map(calipers::io::Writer::endings);
                serde_json::json!({"name": format.name(), "about": format.about(), "written": endings})
            })
            .collect();
        return print(|out| {
            serde_json::to_writer_pretty(&mut *out, &list)?;
            writeln!(out)
        });
    }
    let width = known.iter().map(|format| format.name().len()).max().unwrap_or(0);
    print(|out| {
        known.iter().try_for_each(|format| writeln!(out, "{:<width$}  {}", format.name(), format.about()))?;
        writeln!(out, "\nwritten by `calipers convert`:")?;
        writers().iter().try_for_each(|writer| writeln!(out, "{:<width$}  {}", writer.name(), writer.about()))
    })
}
