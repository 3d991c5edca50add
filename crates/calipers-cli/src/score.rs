//! `calipers score` and `calipers formats`.

use crate::arguments::{Compat, Score};
use crate::exit::{Failure, print};
use crate::progress::Progress;
use calipers::io::{Source, formats as known_formats, writers};
use calipers::render::{Screen, Style, results_json, results_text};
use calipers::{Reducer, Report, Seed, score};
use std::io::IsTerminal;

pub(crate) fn run(arguments: &Score) -> Result<(), Failure> {
    let report = measure(arguments)?;
    if arguments.json {
        let json = results_json(&report);
        return print(|out| {
            serde_json::to_writer_pretty(&mut *out, &json)?;
            writeln!(out)
        });
    }
    print(|out| out.write_all(results_text(&report, screen()).as_bytes()))
}

fn measure(arguments: &Score) -> Result<Report, Failure> {
    let options = options(arguments)?;
    let mut sources = Vec::new();
    for file in &arguments.files {
        sources.extend(Source::resolve(file)?);
    }
    // A file that cannot be opened is reported when its turn comes.
    let total = sources.iter().filter_map(|source| source.stored_len().ok()).sum();
    let progress = Progress::start(total);
    let mut report = Report::default();
    for source in sources {
        let source = source.counted(progress.read.clone());
        report.runs.extend(score::score_source(&source, arguments.format.as_deref(), &options)?);
    }
    Ok(report)
}

fn options(arguments: &Score) -> Result<score::Options, Failure> {
    let mut options = score::Options {
        scorers: arguments.scorer.clone(),
        level: arguments.level,
        seed: Seed(arguments.seed),
        inspect: arguments.compat == Some(Compat::Inspect),
        keep_reductions: arguments.reductions,
        ..score::Options::default()
    };
    options.reducers = reducers(&arguments.reducer)?;
    for filter in &arguments.filter {
        let Some((key, value)) = filter.split_once('=') else {
            let hint = "write `--where category=adversarial`";
            return Err(Failure::Input(format!("`--where {filter}` has no `=`\n  hint: {hint}")));
        };
        options.filter.push((key.to_owned(), value.to_owned()));
    }
    Ok(options)
}

/// The reducers of these names, if there are any; `none` is a name for none of them.
pub(crate) fn reducers(names: &[String]) -> Result<Option<Vec<Reducer>>, Failure> {
    let named = names.iter().filter(|name| *name != "none").map(|name| Reducer::parse(name));
    let reducers = named.collect::<Result<_, _>>()?;
    Ok(if names.is_empty() { None } else { Some(reducers) })
}

/// Colour only where a person looks, and not if they asked for none; as wide as their terminal.
fn screen() -> Screen {
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
