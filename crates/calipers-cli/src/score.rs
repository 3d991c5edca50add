//! `calipers score` and `calipers formats`.

use crate::arguments::{Compat, Score};
use crate::exit::{Failure, print};
use crate::guard;
use calipers::io::{Source, formats as known_formats, read};
use calipers::render::{Style, results_json, results_text};
use calipers::script::{Library, Limits};
use calipers::{Error, ErrorKind, Labels, MetricSpec, Reducer, Registry, Report, Seed, Value, score};
use std::io::IsTerminal;
use std::time::Duration;

pub(crate) fn run(arguments: &Score) -> Result<(), Failure> {
    let options = options(arguments)?;
    let mut report = Report::default();
    for file in &arguments.files {
        for source in Source::resolve(file)? {
            for run in read(&source, arguments.format.as_deref())? {
                let limited = guard::limit_memory();
                let scored = score::score(run, &options);
                drop(limited);
                let told = |error| Failure::Input(format!("{}\n  in {}", explained(&error), source.name));
                report.runs.push(scored.map_err(told)?);
            }
        }
    }
    if arguments.json {
        let json = results_json(&report);
        return print(|out| {
            serde_json::to_writer_pretty(&mut *out, &json)?;
            writeln!(out)
        });
    }
    print(|out| out.write_all(results_text(&report, style()).as_bytes()))
}

/// An error with a hint that can be followed here.
fn explained(error: &Error) -> String {
    let (kind, place) = (error.kind(), error.place().to_string());
    match kind {
        ErrorKind::UnknownLabel(Value::Text(label)) => {
            let at = if place.is_empty() { place } else { format!("\n  at {place}") };
            format!("{kind}{at}\n  hint: say what it counts with `--label '{label}=0.5'`, or score it C, I, P or N")
        }
        _ => error.to_string(),
    }
}

fn options(arguments: &Score) -> Result<score::Options, Failure> {
    let labels = labels(&arguments.label)?;
    let library = library(arguments, &labels)?;
    let mut options = score::Options {
        metrics: metrics(arguments, library.as_ref())?,
        labels,
        scorers: arguments.scorer.clone(),
        level: arguments.level,
        seed: Seed(arguments.seed),
        inspect: arguments.compat == Some(Compat::Inspect),
        keep_reductions: arguments.reductions,
        ..score::Options::default()
    };
    if !arguments.reducer.is_empty() {
        let named = arguments.reducer.iter().filter(|name| *name != "none");
        options.reducers = Some(match &library {
            Some(library) => named.map(|name| library.reducer(name)).collect::<Result<_, _>>()?,
            None => named.map(|name| Reducer::parse(name)).collect::<Result<_, _>>()?,
        });
    }
    for filter in &arguments.filter {
        let Some((key, value)) = filter.split_once('=') else {
            let hint = "write `--where category=adversarial`";
            return Err(Failure::Input(format!("`--where {filter}` has no `=`\n  hint: {hint}")));
        };
        options.filter.push((key.to_owned(), value.to_owned()));
    }
    Ok(options)
}

fn labels(given: &[String]) -> Result<Labels, Failure> {
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
    if arguments.metric.is_empty() && arguments.load.is_empty() {
        return Ok(None);
    }
    let labels = labels.clone();
    let labels = if arguments.compat == Some(Compat::Inspect) { labels.unknown_as_zero() } else { labels };
    let limits = Limits { time: Duration::from_secs(arguments.script_time), ..Limits::default() };
    let mut library = Library::new(Registry::builtin(), labels, limits);
    guard::watch(library.watch(), arguments.script_time);
    let _limited = guard::limit_memory();
    for file in &arguments.load {
        library.load_file(file)?;
    }
    Ok(Some(library))
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

/// Colour only where a person looks, and not if they asked for none.
fn style() -> Style {
    let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !asked_for_none { Style::Colour } else { Style::Plain }
}

pub(crate) fn formats(json: bool) -> Result<(), Failure> {
    let known = known_formats();
    if json {
        let list: Vec<_> =
            known.iter().map(|format| serde_json::json!({"name": format.name(), "about": format.about()})).collect();
        return print(|out| {
            serde_json::to_writer_pretty(&mut *out, &list)?;
            writeln!(out)
        });
    }
    let width = known.iter().map(|format| format.name().len()).max().unwrap_or(0);
    print(|out| known.iter().try_for_each(|format| writeln!(out, "{:<width$}  {}", format.name(), format.about())))
}
