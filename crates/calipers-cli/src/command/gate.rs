//! `calipers gate`: may this version ship?

use crate::arguments::{Compared, Gate, Judging, Level, Scripts};
use crate::exit::{Failure, print};
use crate::expressions::Expressions;
use crate::output::{self, identity};
use crate::{compare, guard, score};
use calipers::gate::{self, Evaluated, Options};
use calipers::io::{LoadedPolicy, OutputFile, Source, load_policy, printable, read_baseline, read_suite};
use calipers::page::{PageReport, page};
use calipers::render::{
    Screen, Style, gate_annotations, gate_json, gate_junit, gate_markdown, gate_plot, gate_text, page_html,
};
use calipers::{Baseline, GateReport, Provenance, Seed, Verdict};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Judges, says so in every way that was asked for, and returns the verdict.
pub(crate) fn run(arguments: &Gate) -> Result<Verdict, Failure> {
    // A wrong name fails before any work is done.
    let outputs = outputs(arguments)?;
    let policy = load_policy(Path::new(&arguments.judging.policy))?;
    let sources = once(score::sources(&arguments.judging.files, arguments.judging.reading.format.as_deref())?);
    let asked =
        Asked { compared: &arguments.compared, level: &arguments.level, for_version: arguments.for_version.as_ref() };
    let report = judge(&arguments.judging, &asked, &policy, sources.clone())?;
    // A report on standard output takes the place of what is printed there otherwise.
    let is_printed = outputs.iter().any(|(_, output)| output.name() == "-");
    for (form, output) in outputs {
        form.write(&report, || paged(arguments, &sources, &report), output)?;
    }
    if !is_printed {
        let mut text = gate_text(&report, score::screen());
        if arguments.plot {
            text += &compare::plotted(&gate_plot(&report, score::screen(), compare::ink()));
        }
        match print(|out| out.write_all(text.as_bytes())) {
            // Whoever stopped reading still asks for the verdict.
            Ok(()) | Err(Failure::ClosedPipe) => {}
            Err(failure) => return Err(failure),
        }
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some() {
        tell_github(&report)?;
    }
    Ok(report.verdict)
}

/// True unless it is certain that no script runs.
pub(crate) fn has_scripts(arguments: &Judging) -> bool {
    runs_scripts(&arguments.policy, &arguments.scripts)
}

/// The same for a policy with what is loaded beside it.
pub(crate) fn runs_scripts(policy: &str, scripts: &Scripts) -> bool {
    // What is wrong with a policy is said when it is used.
    let expressions = load_policy(Path::new(policy)).map(|policy| policy.policy.expressions()).unwrap_or_default();
    guard::is_needed(&expressions, &scripts.load)
}

/// What a verdict depends on besides what every judging does.
pub(crate) struct Asked<'a> {
    pub(crate) compared: &'a Compared,
    pub(crate) level: &'a Level,
    pub(crate) for_version: Option<&'a String>,
}

/// Judges the results in these sources.
pub(crate) fn judge(
    judging: &Judging,
    asked: &Asked<'_>,
    policy: &LoadedPolicy,
    sources: Vec<Source>,
) -> Result<GateReport, Failure> {
    let baseline = asked.compared.baseline.as_deref().map(read_dated).transpose()?;
    measured_of(judging, sources, |run, options| {
        let version = asked.for_version.cloned();
        let options = Options { level: asked.level.level, baseline, version, ..options };
        gate::gate(run, &policy.policy, provenance(judging, policy), &options)
    })
}

/// The page of a verdict, with every sample of the run.
fn paged(arguments: &Gate, sources: &[Source], report: &GateReport) -> Result<PageReport, Failure> {
    let chosen = &arguments.judging.chosen;
    let options = calipers::score::Options {
        scorers: chosen.scorer.clone(),
        filter: score::filters(&chosen.filter)?,
        labels: score::labels(&chosen.label)?,
        level: arguments.level.level,
        seed: Seed(chosen.seed),
        ..calipers::score::Options::default()
    };
    let format = arguments.judging.reading.format.as_deref();
    page(sources, format, &options, Some(report.clone()), None).map_err(score::told)
}

/// Where a verdict under this policy comes from.
pub(crate) fn provenance(judging: &Judging, policy: &LoadedPolicy) -> Provenance {
    Provenance {
        policy: judging.policy.clone(),
        policy_hash: policy.hash.clone(),
        scripts: judging.scripts.load.clone(),
        ..Provenance::default()
    }
}

/// A baseline with its age in days.
pub(crate) fn read_dated(path: &str) -> Result<(Baseline, Option<f64>), Failure> {
    let baseline = read_baseline(path)?;
    let age = baseline.date.as_deref().and_then(crate::date::age_days);
    Ok((baseline, age))
}

/// Reads the results and does something with them and the options that were given.
pub(crate) fn measured<T>(
    arguments: &Judging,
    done: impl FnOnce(&Evaluated, Options<'_>) -> Result<T, gate::Failure>,
) -> Result<T, Failure> {
    let sources = once(score::sources(&arguments.files, arguments.reading.format.as_deref())?);
    measured_of(arguments, sources, done)
}

/// The same with the sources at hand: standard input can be read only once.
fn measured_of<T>(
    arguments: &Judging,
    sources: Vec<Source>,
    done: impl FnOnce(&Evaluated, Options<'_>) -> Result<T, gate::Failure>,
) -> Result<T, Failure> {
    let labels = score::labels(&arguments.chosen.label)?;
    let expressions = Expressions::new(&arguments.scripts, labels.clone());
    expressions.load()?;
    let (expression, reducers) = (|text: &str| expressions.metric(text), |name: &str| expressions.reducer(name));
    let options = Options {
        reducer: arguments.reducer.as_deref().map(&reducers).transpose()?,
        scorers: arguments.chosen.scorer.clone(),
        filter: score::filters(&arguments.chosen.filter)?,
        labels: labels.clone(),
        seed: Seed(arguments.chosen.seed),
        suite: arguments.suite.suite.as_deref().map(read_suite).transpose()?,
        expression: &expression,
        reducers: &reducers,
        ..Options::default()
    };
    let run = gate::read(sources, arguments.reading.format.as_deref(), &options)?;
    for note in &run.notes {
        eprintln!("note: {}", printable(note));
    }
    let _limited = guard::is_child().then(guard::limit_memory);
    Ok(done(&run, options)?)
}

/// Each source once: one that is named twice, or in a folder that is named too, has no more attempts than it has.
pub(crate) fn once(mut sources: Vec<Source>) -> Vec<Source> {
    let mut seen = HashSet::new();
    sources.retain(|source| {
        let is_new = source.name == "-" || seen.insert(identity(&source.name));
        if !is_new {
            eprintln!("note: {} is named twice and read once", printable(&source.name));
        }
        is_new
    });
    sources
}

/// The forms that a report can be written in.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Markdown,
    Junit,
    Text,
    Html,
}

impl Form {
    /// Writes a report; the page, which has the results too, is made only where it is asked for.
    fn write(
        self,
        report: &GateReport,
        page: impl FnOnce() -> Result<PageReport, Failure>,
        output: OutputFile,
    ) -> Result<(), Failure> {
        let text = match self {
            Self::Json => format!("{:#}\n", gate_json(report)),
            Self::Markdown => gate_markdown(report),
            Self::Junit => {
                gate_junit(report).map_err(|error| Failure::Input(format!("JUnit cannot be written: {error}")))?
            }
            Self::Text => gate_text(report, Screen { style: Style::Plain, width: Screen::WIDTH }),
            Self::Html => page_html(&page()?),
        };
        Ok(output.finish_with(&text)?)
    }
}

/// The forms by name.
const FORMS: &[output::Form<Form>] = &[
    (&["json"], Form::Json),
    (&["markdown", "md"], Form::Markdown),
    (&["junit", "xml"], Form::Junit),
    (&["text", "txt"], Form::Text),
    (&["html"], Form::Html),
];

/// The reports to write, opened.
fn outputs(arguments: &Gate) -> Result<Vec<(Form, OutputFile)>, Failure> {
    let judging = &arguments.judging;
    let inputs = judging.files.iter().chain([&judging.policy]).chain(&arguments.compared.baseline);
    let inputs = inputs.chain(&judging.suite.suite).chain(&judging.scripts.load);
    let asked = output::Asked {
        forms: FORMS,
        options: &arguments.output,
        json: arguments.json.then_some(Form::Json),
        inputs: inputs.map(String::as_str).collect(),
    };
    asked.open()
}

/// Annotations where GitHub reads them, and the summary of the step.
fn tell_github(report: &GateReport) -> Result<(), Failure> {
    eprint!("{}", gate_annotations(report));
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else { return Ok(()) };
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| writeln!(file, "{}", gate_markdown(report)));
    written.map_err(|error| Failure::Input(format!("the step summary cannot be written: {error}")))
}
