//! What a policy would have said about past runs.

use super::App;
use crate::HistoryError;
use crate::loaded::load_run;
use crate::reading_choices::{selection_of, source_of};
use calipers::Verdict;
use calipers::gate::{GateOptions, Provenance, gate};
use calipers::io::LoadedPolicy;
use calipers::render::view::{VerdictEntry, VerdictsView};
use calipers::render::{HistoryRun, RunFilter, gate_decision};
use std::time::{Duration, Instant};

/// As many runs are judged.
const RUNS: u64 = 50;
/// A page does not wait longer for runs that were not judged before.
const PATIENCE: Duration = Duration::from_secs(15);

/// The verdicts on the latest runs: those that were given, and what the server's policy says.
pub(super) fn verdicts(app: &App, suite: Option<String>) -> Result<VerdictsView, HistoryError> {
    let filter = RunFilter { suite: suite.clone(), ..RunFilter::default() };
    // Without a policy there is nothing to say about runs that were never judged, so more are looked at.
    let list = app.history.list(&filter, 0, RUNS * if app.policy.is_some() { 1 } else { 20 })?;
    let end = Instant::now() + PATIENCE;
    let mut entries = Vec::new();
    for run in list.runs {
        let given = app.history.shown_verdicts(&run.key)?;
        let replayed = match &app.policy {
            Some((name, policy)) if Instant::now() < end => Some(replay(app, &run, name, policy)?),
            Some(_) => Some(Err("there was no time to judge it; ask again".to_owned())),
            None => None,
        };
        if replayed.is_some() || !given.is_empty() {
            entries.push(VerdictEntry { run, given, replayed });
        }
    }
    Ok(VerdictsView {
        policy: app.policy.as_ref().map(|(name, policy)| (name.clone(), policy.hash.clone())),
        problem: None,
        total: if app.policy.is_some() { list.total } else { entries.len() as u64 },
        entries,
        suite,
        suites: app.history.facets()?.suites,
    })
}

/// The verdict of a policy on a run and what decides it, or why there is none. Remembered as long as neither changes.
fn replay(
    app: &App,
    run: &HistoryRun,
    name: &str,
    policy: &LoadedPolicy,
) -> Result<Result<(Verdict, String), String>, HistoryError> {
    let version = match source_of(run).and_then(|source| Ok(source.version()?)) {
        Ok(Some(version)) => version,
        Ok(None) => return Ok(Err("its file is gone".to_owned())),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let stamp = format!("{} {} {}", version.size, version.modified_ns, version.tag.unwrap_or_default());
    let question = format!("policy|{}|{}|{stamp}|{}|{}", policy.hash, run.key, run.choices, env!("CARGO_PKG_VERSION"));
    if let Some(kept) = app.history.recall(&question)?
        && let Ok((verdict, why)) = serde_json::from_str::<(String, String)>(&kept)
    {
        let known = [Verdict::Pass, Verdict::Fail, Verdict::Undecided].into_iter().find(|one| one.name() == verdict);
        return Ok(known.map_or_else(|| Err(why.clone()), |known| Ok((known, why.clone()))));
    }
    let judged = judge(run, name, policy);
    let kept = match &judged {
        Ok((verdict, why)) => (verdict.name().to_owned(), why.clone()),
        Err(why) => (String::new(), why.clone()),
    };
    app.history.cache(&question, &serde_json::to_string(&kept).unwrap_or_default())?;
    Ok(judged)
}

fn judge(run: &HistoryRun, name: &str, policy: &LoadedPolicy) -> Result<(Verdict, String), String> {
    let selection = selection_of(run).map_err(|error| error.to_string())?;
    let provenance = Provenance { policy: name.to_owned(), policy_hash: policy.hash.clone(), ..Provenance::default() };
    let options = GateOptions { provenance, ..GateOptions::default() };
    let judge = || {
        let loaded = load_run(run, "", &options.needs(&selection, &policy.policy))?;
        gate(&loaded, &policy.policy, &selection, &options)
    };
    match judge() {
        Ok(report) => Ok((report.verdict, gate_decision(&report))),
        Err(error) => Err(error.to_string()),
    }
}
