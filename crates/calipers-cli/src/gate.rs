//! `calipers gate`: may this version ship?

use crate::arguments::{Compared, Gate, Judging, Level, Scripts};
use crate::exit::{Failure, print};
use crate::expressions::Expressions;
use crate::{guard, score};
use calipers::gate::{self, Evaluated, Options};
use calipers::io::{LoadedPolicy, Output, Source, load_policy, printable, read_baseline, read_suite};
use calipers::page::{PageReport, page};
use calipers::render::{Screen, Style, gate_annotations, gate_json, gate_junit, gate_markdown, gate_text, page_html};
use calipers::{Baseline, GateReport, Provenance, Seed, Verdict};
use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

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
        match print(|out| out.write_all(gate_text(&report, score::screen()).as_bytes())) {
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
        output: Output,
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

impl Form {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "json" => Self::Json,
            "markdown" | "md" => Self::Markdown,
            "junit" | "xml" => Self::Junit,
            "text" | "txt" => Self::Text,
            "html" => Self::Html,
            _ => return None,
        })
    }
}

/// A report that is asked for.
struct Wanted<'a> {
    /// As it was asked for.
    option: String,
    form: Form,
    /// The file; `-` is standard output.
    file: &'a str,
}

/// The reports to write, opened. Those of an earlier run are gone: without a verdict there is none to read.
fn outputs(arguments: &Gate) -> Result<Vec<(Form, Output)>, Failure> {
    let wanted = wanted(arguments)?;
    let open = |one: &Wanted<'_>| match one.file {
        "-" => Ok((one.form, Output::stdout())),
        file => Output::create(file, true).map(|output| (one.form, output)),
    };
    let opened: Vec<_> = wanted.iter().map(open).collect();
    for (_, output) in opened.iter().flatten() {
        output.clear()?;
    }
    Ok(opened.into_iter().collect::<Result<_, _>>()?)
}

/// What is to be written besides, or in place of, what is printed. No file is read here or written twice.
fn wanted(arguments: &Gate) -> Result<Vec<Wanted<'_>>, Failure> {
    let judging = &arguments.judging;
    let inputs = judging.files.iter().chain([&judging.policy]).chain(&arguments.compared.baseline);
    let inputs = inputs.chain(&judging.suite.suite).chain(&judging.scripts.load);
    let inputs: Vec<PathBuf> = inputs.map(|file| identity(file)).collect();
    let mut all: Vec<Wanted<'_>> = Vec::new();
    for option in &arguments.output {
        let one = parsed(option)?;
        if one.file != "-" && inputs.contains(&identity(one.file)) {
            let hint = "write the report to another file";
            return Err(Failure::Input(format!("`{}` would replace what is judged\n  hint: {hint}", one.option)));
        }
        all.push(one);
    }
    if arguments.json {
        all.push(Wanted { option: "--json".to_owned(), form: Form::Json, file: "-" });
    }
    for (place, one) in all.iter().enumerate() {
        if let Some(other) = all[..place].iter().find(|other| is_one_file(one.file, other.file)) {
            let target = if one.file == "-" { "standard output" } else { one.file };
            let what = format!("`{}` and `{}` both write to `{target}`", other.option, one.option);
            return Err(Failure::Input(format!("{what}\n  hint: give each report a file of its own")));
        }
    }
    Ok(all)
}

fn parsed(option: &str) -> Result<Wanted<'_>, Failure> {
    let known = "write `--output junit=report.xml`; the forms are json, markdown, junit, html and text";
    let Some((form, file)) = option.split_once('=') else {
        return Err(Failure::Input(format!("`--output {option}` names no form\n  hint: {known}")));
    };
    let (form, file) = (form.trim(), file.trim());
    let Some(form) = Form::named(form) else {
        return Err(Failure::Input(format!("there is no form `{form}`\n  hint: {known}")));
    };
    if file.is_empty() || Path::new(file).is_dir() {
        return Err(Failure::Input(format!("`--output {option}` names no file\n  hint: {known}")));
    }
    Ok(Wanted { option: format!("--output {option}"), form, file })
}

/// What a path leads to, whether it is there yet or not.
pub(crate) fn identity(file: &str) -> PathBuf {
    let path = Path::new(file);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let named = || Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(named).unwrap_or_else(|| path.to_path_buf())
}

/// True when one of two reports would take the place of the other. A device takes any number of them.
fn is_one_file(one: &str, other: &str) -> bool {
    let is_device = |file: &str| std::fs::metadata(file).is_ok_and(|found| !found.is_file());
    match (one, other) {
        ("-", "-") => true,
        ("-", _) | (_, "-") => false,
        _ => identity(one) == identity(other) && !is_device(one),
    }
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
