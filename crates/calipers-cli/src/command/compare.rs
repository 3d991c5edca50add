//! `calipers compare`: what changed between runs, and is it real?

use crate::arguments::{Chosen, Level, Reading, Scripts};
use crate::exit::{Failure, explained, print};
use crate::expressions::Expressions;
use crate::output::{self, Asked};
use crate::{gate as judged, guard, score};
use calipers::compare::{self, CompareReport, Loaded, Options};
use calipers::gate;
use calipers::io::{OutputFile, printable};
use calipers::page::{PageReport, page};
use calipers::render::{Ink, Screen, compare_json, compare_markdown, compare_plot, compare_text, page_html};
use calipers::stats::components::Estimand as Claim;
use calipers::stats::multiplicity::Correction as Adjustment;
use calipers::{Fault, Metric, Reducer, Seed, Verdict};
use clap::{Args, ValueEnum};
use std::io::IsTerminal;

/// `calipers compare`
///
/// Exit codes: 0 compared, 2 a mistake in the usage or the input, 3 nothing could be compared; with `--fail-on regression`
/// also 1 if a metric has surely regressed.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// The run that is looked at: a file, a folder or a pattern in quotes; `-` is standard input
    pub(crate) candidate: String,

    /// The runs that it is compared with, each a file, a folder or a pattern in quotes
    #[arg(required = true)]
    pub(crate) baseline: Vec<String>,

    /// A metric in place of the recorded ones, such as `accuracy` or `pass_rate(where={"category": "adversarial"})`
    /// (repeatable; see docs/expressions.md)
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Vec<String>,

    /// How much of a change does not matter: 0.02 is two points of a rate, and 2 % of latency, tokens and cost
    #[arg(long, value_name = "SHARE")]
    pub(crate) margin: Option<f64>,

    /// Samples with the same value of this metadata go together
    #[arg(long, value_name = "KEY")]
    pub(crate) cluster: Option<String>,

    /// What the errors speak of
    #[arg(long, value_enum, default_value = "population")]
    pub(crate) estimand: Estimand,

    /// How p-values are adjusted for all that is tested
    #[arg(long, value_enum, default_value = "holm")]
    pub(crate) correction: Correction,

    /// Let the exit code be the verdict
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,

    /// The reducer of attempts, in place of the recorded one, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Option<String>,

    #[command(flatten)]
    pub(crate) chosen: Chosen,

    #[command(flatten)]
    pub(crate) level: Level,

    #[command(flatten)]
    pub(crate) scripts: Scripts,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Write the report to files too: json=FILE, markdown=FILE, text=FILE, html=FILE (repeatable, or after commas). A file of before is
    /// removed at the start; `-` takes the place of what is printed
    #[arg(short, long, value_name = "FORM=FILE", value_delimiter = ',')]
    pub(crate) output: Vec<String>,

    /// Draw the changes too
    #[arg(long)]
    pub(crate) plot: bool,

    /// Print JSON (`calipers.compare/1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// What errors speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Estimand {
    /// Questions like these: which of them were drawn counts as luck
    Population,
    /// This suite rerun: only the attempts count as luck
    Suite,
}

/// How p-values are adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Correction {
    /// Holm: bounds the chance of any false alarm
    Holm,
    /// Benjamini-Hochberg: bounds the share of false alarms among all
    Bh,
}

/// What ends in exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A metric that has surely regressed
    Regression,
}

/// True unless it is certain that no script runs.
pub(crate) fn has_scripts(arguments: &Compare) -> bool {
    guard::is_needed(&arguments.metric, &arguments.scripts.load)
}

/// Compares, says so in every way that was asked for, and returns what the exit code should say.
pub(crate) fn run(arguments: &Compare) -> Result<Verdict, Failure> {
    // A wrong name fails before any work is done.
    let outputs = outputs(arguments)?;
    let report = compared(arguments)?;
    let is_judged = arguments.fail_on == Some(FailOn::Regression);
    let is_printed = outputs.iter().any(|(_, output)| output.name() == "-");
    for (form, output) in outputs {
        output.finish_with(&form.text(&report, is_judged, arguments)?)?;
    }
    if !is_printed {
        let mut text = compare_text(&report, is_judged, score::screen());
        if arguments.plot {
            text += &plotted(&compare_plot(&report, score::screen(), ink()));
        }
        match print(|out| out.write_all(text.as_bytes())) {
            // Whoever stopped reading still asks for the verdict.
            Ok(()) | Err(Failure::ClosedPipe) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(match report.verdict {
        Verdict::Fail if !is_judged => Verdict::Pass,
        verdict => verdict,
    })
}

/// A plot below a text, if there is anything to draw.
pub(crate) fn plotted(plot: &str) -> String {
    if plot.is_empty() { String::new() } else { format!("\n{plot}") }
}

/// Lines and dots, unless a terminal says that it shows nothing but ASCII.
pub(crate) fn ink() -> Ink {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default().to_lowercase();
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb") && std::io::stdout().is_terminal();
    let is_other = !locale.is_empty() && !locale.contains("utf-8") && !locale.contains("utf8");
    if is_dumb || is_other { Ink::Ascii } else { Ink::Unicode }
}

fn compared(arguments: &Compare) -> Result<CompareReport, Failure> {
    let labels = score::labels(&arguments.chosen.label)?;
    let expressions = Expressions::new(&arguments.scripts, labels.clone());
    expressions.load()?;
    let options = Options {
        chosen: chosen(&arguments.chosen)?,
        metrics: metrics(&expressions, &arguments.metric)?,
        reducer: reducer(&expressions, arguments.reducer.as_deref())?,
        labels,
        level: arguments.level.level,
        seed: Seed(arguments.chosen.seed),
        estimand: match arguments.estimand {
            Estimand::Population => Claim::Population,
            Estimand::Suite => Claim::FixedSuite,
        },
        cluster: arguments.cluster.clone(),
        margin: arguments.margin,
        correction: match arguments.correction {
            Correction::Holm => Adjustment::Holm,
            Correction::Bh => Adjustment::BenjaminiHochberg,
        },
        scripts: arguments.scripts.load.clone(),
        ..Options::default()
    };
    let names = || std::iter::once(&arguments.candidate).chain(&arguments.baseline);
    if names().filter(|name| *name == "-").count() > 1 {
        let hint = "write one of the runs to a file";
        return Err(Failure::Input(format!("standard input is named twice, and can be read once\n  hint: {hint}")));
    }
    let given: Vec<&str> = names().map(String::as_str).collect();
    let shared = shared_folder(&given);
    let mut runs: Vec<Loaded> = names()
        .map(|name| loaded(std::slice::from_ref(name), &arguments.reading, &options.chosen))
        .collect::<Result<_, _>>()?;
    for run in &mut runs {
        run.name.drain(..shared);
    }
    let _limited = guard::is_child().then(guard::limit_memory);
    Ok(compare::compare(&runs, &options)?)
}

/// The length of the folder that all paths begin with. It tells nothing, and takes the room of what does.
fn shared_folder(paths: &[&str]) -> usize {
    let Some((first, others)) = paths.split_first() else { return 0 };
    let ends = first
        .char_indices()
        .filter(|(_, c)| *c == '/' || *c == std::path::MAIN_SEPARATOR)
        .map(|(at, c)| at + c.len_utf8());
    let is_shared = |end: &usize| others.iter().all(|path| path.len() > *end && path.starts_with(&first[..*end]));
    ends.filter(is_shared).filter(|end| *end < first.len()).max().unwrap_or(0)
}

pub(crate) fn chosen(arguments: &Chosen) -> Result<compare::Chosen, Failure> {
    Ok(compare::Chosen { scorers: arguments.scorer.clone(), filter: score::filters(&arguments.filter)? })
}

/// The metrics of expressions, if there are any.
pub(crate) fn metrics(expressions: &Expressions<'_>, asked: &[String]) -> Result<Option<Vec<Metric>>, Failure> {
    let metrics = asked.iter().map(|text| expressions.metric(text)).collect::<Result<Vec<Metric>, _>>()?;
    Ok(if metrics.is_empty() { None } else { Some(metrics) })
}

pub(crate) fn reducer(expressions: &Expressions<'_>, name: Option<&str>) -> Result<Option<Reducer>, Failure> {
    let names: Vec<String> = name.iter().map(|name| (*name).to_owned()).collect();
    if names.iter().any(|name| name == "none") {
        let hint = "name one, such as `mean`: samples are paired, not attempts";
        return Err(Failure::Input(format!("attempts have to be reduced\n  hint: {hint}")));
    }
    let reducers = score::reducers(&names, |name| Ok(expressions.reducer(name)?))?;
    Ok(reducers.and_then(|reducers| reducers.into_iter().next()))
}

/// A run: all files that these names lead to.
pub(crate) fn loaded(names: &[String], reading: &Reading, chosen: &compare::Chosen) -> Result<Loaded, Failure> {
    let format = reading.format.as_deref();
    let name = names.join(", ");
    let sources = judged::once(score::sources(names, format)?);
    let told = |failure: gate::Failure| match failure {
        // The same option holds for all runs, so it has to be said which of them it does not fit.
        gate::Failure::Judge(Fault::Run(error)) => {
            let text = explained(&error);
            let (what, hint) = text.split_once("\n  hint: ").unwrap_or((&text, ""));
            let hint = if hint.is_empty() { String::new() } else { format!("\n  hint: {hint}") };
            Failure::Input(format!("{what}\n  in {name}{hint}"))
        }
        failure => failure.into(),
    };
    let loaded = compare::read(&name, sources, format, chosen).map_err(told)?;
    for note in &loaded.run.notes {
        eprintln!("note: {}: {}", printable(&name), printable(note));
    }
    Ok(loaded)
}

/// The page of a comparison: what changed, and the samples of the candidate.
fn paged(arguments: &Compare, report: &CompareReport) -> Result<PageReport, Failure> {
    let format = arguments.reading.format.as_deref();
    let sources = judged::once(score::sources(std::slice::from_ref(&arguments.candidate), format)?);
    let options = calipers::score::Options {
        scorers: arguments.chosen.scorer.clone(),
        filter: score::filters(&arguments.chosen.filter)?,
        labels: score::labels(&arguments.chosen.label)?,
        level: arguments.level.level,
        seed: Seed(arguments.chosen.seed),
        ..calipers::score::Options::default()
    };
    page(&sources, format, &options, None, Some(report.clone())).map_err(score::told)
}

/// The forms that a comparison can be written in.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Markdown,
    Text,
    Html,
}

/// The forms by name.
const FORMS: &[output::Form<Form>] = &[
    (&["json"], Form::Json),
    (&["markdown", "md"], Form::Markdown),
    (&["text", "txt"], Form::Text),
    (&["html"], Form::Html),
];

impl Form {
    fn text(self, report: &CompareReport, is_judged: bool, arguments: &Compare) -> Result<String, Failure> {
        Ok(match self {
            Self::Json => format!("{:#}\n", compare_json(report)),
            Self::Markdown => compare_markdown(report),
            Self::Html => page_html(&paged(arguments, report)?),
            Self::Text => compare_text(report, is_judged, Screen::PLAIN),
        })
    }
}

fn outputs(arguments: &Compare) -> Result<Vec<(Form, OutputFile)>, Failure> {
    let inputs = std::iter::once(&arguments.candidate).chain(&arguments.baseline).chain(&arguments.scripts.load);
    let asked = Asked {
        forms: FORMS,
        options: &arguments.output,
        json: arguments.json.then_some(Form::Json),
        inputs: inputs.map(String::as_str).collect(),
    };
    asked.open()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_all_runs_share_is_left_out() {
        for (paths, want) in [
            (["logs/a/new.jsonl", "logs/a/old.jsonl"], "new.jsonl"),
            (["logs/new/run.eval", "logs/old/run.eval"], "new/run.eval"),
            (["new.jsonl", "old.jsonl"], "new.jsonl"),
            (["logs/", "logs/old"], "logs/"),
            (["/new.jsonl", "old.jsonl"], "/new.jsonl"),
        ] {
            assert_eq!(&paths[0][shared_folder(&paths)..], want);
        }
    }
}
