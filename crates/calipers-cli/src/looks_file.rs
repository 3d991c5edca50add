//! Looks at the results of a suite, counted in a file: each one spends a part of the confidence.

use crate::failure::{Failure, Fault};
use calipers::gate::{GateOptions, GateReport, Mode, gate, gate_at_look};
use calipers::io::{LookRecord, LooksLock, fingerprint, read_looks};
use calipers::policy::{Looks, Policy};
use calipers::{LoadedRun, Selection, Verdict};
use jiff::Timestamp;

/// Judges a run where looks at its suite are counted in a file, and remembers this one there.
pub fn judge_with_looks(
    path: &str,
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
) -> Result<GateReport, Fault> {
    Ok(judge_counted(path, run, policy, selection, options)?)
}

/// The same for a command.
pub(crate) fn judge_counted(
    path: &str,
    run: &LoadedRun,
    policy: &Policy,
    selection: &Selection,
    options: &GateOptions<'_>,
) -> Result<GateReport, Failure> {
    let report = gate(run, policy, selection, options)?;
    let looks = LooksFile::find(path, &report)?;
    let report = match looks.number(&report) {
        Some(look) => gate_at_look(run, policy, selection, options, look)?,
        None => report,
    };
    looks.remember(report.verdict)?;
    Ok(report)
}

/// A file of looks, and the place of this one in it.
struct LooksFile<'a> {
    /// Held until the look is remembered.
    lock: LooksLock<'a>,
    record: LookRecord,
    is_new: bool,
}

impl<'a> LooksFile<'a> {
    /// The place of a report in a file of looks: that of the same results, or one after the looks before.
    fn find(path: &'a str, report: &GateReport) -> Result<Self, Failure> {
        if report.mode == Mode::Point {
            let failure = Failure::new("`--looks` counts looks at a confidence, and the policy has none");
            return Err(failure.hint("add `\"confidence\": \"95%\"` to the policy, or leave `--looks` out"));
        }
        let about = &report.provenance;
        let conditions = about.filter.iter().map(|(key, value)| format!("{key}={value}"));
        let named = [&about.task, &about.model, &about.version].map(|name| name.clone().unwrap_or_default());
        let suite = fingerprint(named.into_iter().chain(conditions).chain(about.scorers.iter().cloned()));
        let record = LookRecord {
            suite,
            policy: about.policy_hash.clone(),
            results: results(report),
            time: Timestamp::now().to_string(),
            n: report.scenarios.len() as u64,
            look: 1,
            verdict: String::new(),
        };
        let lock = LooksLock::take(path)?;
        let known = read_looks(path)?;
        let mut looks = known.into_iter().filter(|look| look.suite == record.suite && look.policy == record.policy);
        let mut count = 0;
        let same = looks.find(|look| {
            count += u64::from(look.results != record.results);
            look.results == record.results
        });
        let look = same.as_ref().map_or(count + 1, |same| same.look);
        Ok(Self { lock, record: LookRecord { look, ..record }, is_new: same.is_none() })
    }

    /// Which look it is; none if the policy allows any number of them.
    fn number(&self, report: &GateReport) -> Option<u64> {
        (report.terms.looks == Looks::Once).then_some(self.record.look)
    }

    /// Remembers the look with its verdict, unless it is remembered already.
    fn remember(mut self, verdict: Verdict) -> Result<(), Failure> {
        if self.is_new {
            self.lock.append(&LookRecord { verdict: verdict.name().to_owned(), ..self.record })?;
        }
        Ok(())
    }
}

/// A fingerprint of the results, whatever their order.
fn results(report: &GateReport) -> String {
    let mut scenarios: Vec<String> = report
        .scenarios
        .iter()
        .map(|scenario| {
            let mut attempts: Vec<String> = scenario
                .attempts
                .iter()
                .map(|one| format!("{} {:?} {:?}", one.epoch, one.outcome, one.latency_ms))
                .collect();
            attempts.sort_unstable();
            let mut scores: Vec<String> = scenario.scores.iter().map(|score| format!("{score:?}")).collect();
            scores.sort_unstable();
            format!("{}\n{}\n{}", scenario.id, attempts.join("\n"), scores.join("\n"))
        })
        .collect();
    scenarios.sort_unstable();
    let figures = report.gates.iter().map(|gate| {
        format!("{} {:?}", gate.metric, gate.figure.as_ref().and_then(|figure| figure.value.as_ref().ok()))
    });
    fingerprint(scenarios.into_iter().chain(figures))
}
