//! `calipers baseline`: what later runs are compared with.

use crate::arguments::{Baseline as Command, Judging, Raise as RaiseArguments, Record, Show};
use crate::exit::{Failure, print};
use crate::{date, gate as judged, score};
use calipers::gate::{self, Evaluated, Options};
use calipers::io::{
    LoadedPolicy, OutputFile, baseline_json, baseline_text as file_text, edit_policy, load_policy, printable,
};
use calipers::policy::{Level, Span};
use calipers::render::{Raised, baseline_text, gate_reason, raise_json, raise_text};
use calipers::{Baseline, GateKind, GateReport, Raise, RaiseOptions, Registry, Verdict, counted};
use std::path::Path;

pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Record(arguments) => record(arguments),
        Command::Show(arguments) => show(arguments),
        Command::Raise(arguments) => raise(arguments),
    }
}

/// True unless it is certain that no script runs.
pub(crate) fn has_scripts(command: &Command) -> bool {
    match command {
        Command::Record(arguments) => judged::has_scripts(&arguments.judging),
        Command::Raise(arguments) => judged::has_scripts(&arguments.judging),
        Command::Show(_) => false,
    }
}

fn record(arguments: &Record) -> Result<(), Failure> {
    let day = match &arguments.date {
        Some(day) => date::parsed(day)?,
        None => date::today(),
    };
    // A wrong name fails before any work is done.
    let output = match arguments.output.as_str() {
        "-" => OutputFile::stdout(),
        file => OutputFile::create(file, true)?,
    };
    let policy = load_policy(Path::new(&arguments.judging.policy))?;
    let (mut baseline, report) = recorded(&arguments.judging, &policy)?;
    baseline.date = Some(day);
    if baseline.scenarios.is_empty() || baseline.metrics.is_empty() {
        return Err(nothing(&arguments.judging, baseline.scenarios.len()));
    }
    if let Some(why) = misses(&report) {
        eprintln!("note: {}", printable(&why));
    }
    eprintln!(
        "recorded {} and {}",
        counted(baseline.metrics.len(), "metric"),
        counted(baseline.scenarios.len(), "scenario")
    );
    Ok(output.finish_with(&file_text(&baseline))?)
}

fn recorded(judging: &Judging, policy: &LoadedPolicy) -> Result<(Baseline, GateReport), Failure> {
    let provenance = judged::provenance(judging, policy);
    judged::measured(judging, |run: &Evaluated, options: Options<'_>| {
        let baseline = gate::record(run, &policy.policy, provenance.clone(), &options)?;
        Ok((baseline, gate::gate(run, &policy.policy, provenance, &options)?))
    })
}

fn nothing(judging: &Judging, scenarios: usize) -> Failure {
    let what = match scenarios {
        0 => "the run is empty, so there is nothing to go by".to_owned(),
        n => format!("nothing of {} can be measured, so there is nothing to go by", counted(n, "scenario")),
    };
    let files = judging.files.join(", ");
    Failure::Input(format!("{what}\n  in {files}\n  hint: check that the evaluation ran, and what `--scorer` chooses"))
}

/// Why a run is a poor one to compare with. A baseline that the policy asks for does not count: this is about to be one.
fn misses(report: &GateReport) -> Option<String> {
    let blocking = report.gates.iter().filter(|gate| gate.level == Level::Blocking);
    let mut blocking: Vec<_> = blocking.filter(|gate| !matches!(gate.kind, GateKind::Baseline(_))).collect();
    blocking.retain(|gate| gate.verdict != Verdict::Pass);
    let first = blocking.iter().find(|gate| gate.verdict == Verdict::Fail).or(blocking.first())?;
    let what = match first.verdict {
        Verdict::Fail => "fails the policy",
        _ => "is undecided under the policy",
    };
    Some(format!("this run {what} ({}: {}); it is recorded as it is", first.metric, gate_reason(&first.reason)))
}

fn show(arguments: &Show) -> Result<(), Failure> {
    let (baseline, age) = judged::read_dated(&arguments.file)?;
    if arguments.json {
        return print(|out| writeln!(out, "{:#}", baseline_json(&baseline, age)));
    }
    let registry = Registry::builtin();
    // An expression begins with the name of its metric.
    let name = |metric: &str| metric.split('(').next().unwrap_or_default().to_owned();
    let unit = |metric: &str| registry.about(&name(metric)).map(|about| about.unit).unwrap_or_default();
    print(|out| out.write_all(baseline_text(&baseline, age, &unit, score::screen()).as_bytes()))
}

fn raise(arguments: &RaiseArguments) -> Result<(), Failure> {
    let judging = &arguments.judging;
    let policy = load_policy(Path::new(&judging.policy))?;
    let baseline = arguments.baseline.as_deref().map(judged::read_dated).transpose()?;
    let how = RaiseOptions { headroom: arguments.headroom, allow_lower: arguments.allow_lower };
    let (raises, scenarios) = judged::measured(judging, |run: &Evaluated, options: Options<'_>| {
        let raises = gate::raise(run, &policy.policy, &how, &Options { baseline, ..options })?;
        Ok((raises, run.samples.len()))
    })?;
    if scenarios == 0 {
        return Err(nothing(judging, 0));
    }
    let changed = raises.iter().any(|raise| raise.change.is_ok());
    if arguments.write {
        write(&policy, &raises)?;
    }
    if arguments.json {
        let raised = Raised { policy: &judging.policy, options: how, is_written: arguments.write, raises: &raises };
        print(|out| writeln!(out, "{:#}", raise_json(&raised)))?;
    } else {
        print(|out| out.write_all(raise_text(&raises, score::screen()).as_bytes()))?;
    }
    if changed && !arguments.write {
        eprintln!("note: nothing is written; add `--write` to change the policy");
    }
    if changed && policy.policy.confidence.is_some() {
        // Bounds of two runs of the same agent differ as estimates do.
        eprintln!(
            "note: the policy asks for confidence, and the bound of the next run may lie lower; a wider `--headroom` \
             keeps an unchanged agent from becoming undecided"
        );
    }
    Ok(())
}

fn write(policy: &LoadedPolicy, raises: &[Raise]) -> Result<(), Failure> {
    let edit = |raise: &Raise| Some((raise.span.clone(), raise.change.as_ref().ok()?.written.clone()));
    let edits: Vec<(Span, String)> = raises.iter().filter_map(edit).collect();
    let files = edit_policy(policy, &edits)?;
    // All of them can be written before any is.
    let outputs = files.into_iter().map(|(path, text)| Ok((OutputFile::create(path, true)?, text)));
    for (output, text) in outputs.collect::<Result<Vec<_>, Failure>>()? {
        output.finish_with(&text)?;
    }
    Ok(())
}
