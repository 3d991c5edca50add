//! `calipers policy check`: what may be wrong with a policy, before it is used.

use crate::arguments::Check;
use crate::exit::{self, Failure, print};
use crate::expressions::Expressions;
use crate::{guard, score};
use calipers::check::check as look;
use calipers::gate::{self, Options};
use calipers::io::{LoadedPolicy, load_policy, printable, read_baseline, read_suite};
use calipers::render::{Findings, findings_json, findings_text};
use calipers::{Finding, Labels, Samples, Severity};
use std::path::Path;
use std::process::ExitCode;

/// Says what was found, and counts it in the exit code.
pub(crate) fn check(arguments: &Check) -> ExitCode {
    let findings = match found(arguments) {
        Ok(findings) => findings,
        Err(failure) => return exit::code(Err(failure)),
    };
    let told = Findings { policy: arguments.policy.clone(), findings };
    let printed = if arguments.json {
        print(|out| writeln!(out, "{:#}", findings_json(&told)))
    } else {
        print(|out| out.write_all(findings_text(&told, score::screen()).as_bytes()))
    };
    let worst = if arguments.strict { Severity::Warning } else { Severity::Error };
    match printed {
        Ok(()) | Err(Failure::ClosedPipe) if told.findings.iter().any(|finding| finding.severity <= worst) => {
            ExitCode::from(exit::INPUT)
        }
        done => exit::code(done),
    }
}

/// True unless it is certain that no script runs.
pub(crate) fn has_scripts(arguments: &Check) -> bool {
    let expressions =
        load_policy(Path::new(&arguments.policy)).map(|policy| policy.policy.expressions()).unwrap_or_default();
    guard::is_needed(&expressions, &arguments.scripts.load)
}

fn found(arguments: &Check) -> Result<Vec<Finding>, Failure> {
    match load_policy(Path::new(&arguments.policy)) {
        Ok(loaded) => in_policy(arguments, &loaded),
        // A file that is not understood has nothing more to look at.
        Err(error) => Ok(error.mistakes().iter().cloned().map(Finding::from).collect()),
    }
}

fn in_policy(arguments: &Check, loaded: &LoadedPolicy) -> Result<Vec<Finding>, Failure> {
    let expressions = Expressions::new(&arguments.scripts, Labels::default());
    expressions.load()?;
    let (expression, reducers) = (|text: &str| expressions.metric(text), |name: &str| expressions.reducer(name));
    let options = Options {
        suite: arguments.suite.suite.as_deref().map(read_suite).transpose()?,
        baseline: arguments
            .compared
            .baseline
            .as_deref()
            .map(read_baseline)
            .transpose()?
            .map(|baseline| (baseline, None)),
        expression: &expression,
        reducers: &reducers,
        ..Options::default()
    };
    let samples = samples(arguments, &options)?;
    let _limited = guard::is_child().then(guard::limit_memory);
    Ok(look(&loaded.policy, samples.as_ref(), &options))
}

fn samples(arguments: &Check, options: &Options<'_>) -> Result<Option<Samples>, Failure> {
    if arguments.samples.is_empty() {
        return Ok(None);
    }
    let format = arguments.reading.format.as_deref();
    let sources = score::sources(&arguments.samples, format)?;
    let run = gate::read(sources, format, options)?;
    for note in &run.notes {
        eprintln!("note: {}", printable(note));
    }
    Ok(Some(run.samples))
}
