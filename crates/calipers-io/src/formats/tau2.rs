//! τ²-bench: `results.json` with its simulations, or one simulation of its folder form; and τ-bench's list.
//!
//! A task is a sample and a trial an attempt. A simulation that the infrastructure ended has neither passed nor failed.

use super::Format;
use crate::json::{self, JsonParts};
use crate::{FilePlace, ReadError, RecordedRun, Shape, Source};
use calipers_core::{Outcome, SampleId, Value};

/// Results by τ²-bench.
pub(crate) struct Tau2;

/// How near to 1 a reward must be to count as a success; the same as in τ² itself.
const NEAR: f64 = 1e-6;

/// Conversations, which are most of the file and which no metric reads.
const UNREAD: [&str; 4] = ["messages", "traj", "ticks", "full_duration_messages"];

impl Format for Tau2 {
    fn name(&self) -> &'static str {
        "tau2"
    }

    fn about(&self) -> &'static str {
        "tau-bench and tau2-bench: results.json or single simulations"
    }

    fn recognises(&self, shape: &Shape) -> bool {
        let is_run = shape.has_keys(&["simulations"]) && (shape.has_keys(&["tasks"]) || shape.has_keys(&["info"]));
        // The tasks may fill the beginning of the file.
        let is_long = shape.has_keys(&["info", "tasks"])
            && (shape.has_inner("info", "num_trials") || shape.has_inner("info", "environment_info"));
        let is_simulation = shape.has_keys(&["task_id", "termination_reason"]);
        is_run || is_long || is_simulation || shape.lists_keys(&["task_id", "reward", "info"])
    }

    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError> {
        let document = json::parse_without(&source.name, &source.read_all()?, &UNREAD)?;
        let mut run = RecordedRun::default();
        let info = document.get("info");
        run.model = info.and_then(|info| info.path(&["agent_info"])?.text("llm")).map(ToOwned::to_owned);
        run.task = info.and_then(|info| info.path(&["environment_info"])?.text("domain_name")).map(ToOwned::to_owned);
        let (simulations, at): (&[Value], &str) = match &document {
            Value::List(items) => (items, ""),
            Value::Map(_) if document.get("simulations").is_some() => match document.get("simulations") {
                Some(Value::List(items)) => (items, "simulations"),
                _ => return Err(source.error("`simulations` is not a list").at(FilePlace::Path("simulations".into()))),
            },
            Value::Map(_) if document.get("task_id").is_some() => (std::slice::from_ref(&document), ""),
            _ => {
                let what = "the file has no `simulations`";
                return Err(source.error(what).hint("the run may not have finished, or keeps them in a folder"));
            }
        };
        for (index, simulation) in simulations.iter().enumerate() {
            push(&mut run, simulation)
                .map_err(|(key, what)| source.error(what).at(FilePlace::Path(format!("{at}[{index}].{key}"))))?;
        }
        Ok(vec![run])
    }
}

fn push(run: &mut RecordedRun, simulation: &Value) -> Result<(), (&'static str, String)> {
    let id = match simulation.get("task_id") {
        Some(Value::Int(id)) => SampleId::Int(*id),
        Some(Value::Text(id)) => SampleId::Text(id.clone()),
        _ => return Err(("task_id", "the simulation has no `task_id`".into())),
    };
    let trial = match simulation.part("trial") {
        None => None,
        Some(Value::Int(trial)) if (0..1_000_000_000).contains(trial) => Some(*trial as u32),
        Some(_) => return Err(("trial", "the trial is not a whole number from 0".into())),
    };
    let info = simulation.part("reward_info");
    // τ-bench has the reward in the simulation itself.
    let reward = match info.map_or_else(|| simulation.part("reward"), |info| info.part("reward")) {
        None | Some(Value::Missing) => None,
        Some(value) => Some(value.as_number().ok_or_else(|| ("reward", format!("the reward is a {}", value.kind())))?),
    };
    let ended = simulation.text("termination_reason");
    let mut attempt = match trial {
        Some(trial) => run.samples.push_epoch(id, trial + 1),
        None => run.samples.push(id),
    };
    if let Some(seconds) = simulation.number("duration") {
        attempt = attempt.field("latency_ms", seconds * 1000.0);
    }
    for (key, name) in [("agent_cost", "cost_usd"), ("user_cost", "user_cost_usd")] {
        if let Some(cost) = simulation.number(key) {
            attempt = attempt.field(name, cost);
        }
    }
    if let Some(ended) = ended {
        attempt = attempt.field("termination_reason", ended);
    }
    let error = match ended {
        Some(reason @ "infrastructure_error") => Some(reason.to_owned()),
        _ => simulation.path(&["info", "error"]).map(ToString::to_string),
    };
    if let Some(error) = error {
        attempt.error(error);
        return Ok(());
    }
    match reward {
        Some(reward) => {
            attempt = attempt.score("reward", reward).field("passed", (reward - 1.0).abs() <= NEAR);
        }
        None => {
            let reason = format!("no reward, ended by {}", ended.unwrap_or("nothing known"));
            attempt = attempt.score("reward", Outcome::unscored(reason));
        }
    }
    let Some(info) = info else { return Ok(()) };
    for (part, value) in info.entries("reward_breakdown") {
        attempt = attempt.field(format!("reward.{part}"), value.clone());
    }
    let assertions: Vec<(&str, bool)> = info
        .items("nl_assertions")
        .iter()
        .filter_map(|assertion| Some((assertion.text("nl_assertion")?, assertion.flag("met")?)))
        .collect();
    if !assertions.is_empty() {
        let names = |met: bool| {
            let kept = assertions.iter().filter(|(_, is_met)| *is_met || !met);
            Value::List(kept.map(|(name, _)| Value::from(*name)).collect())
        };
        attempt.field("expected_behaviors", names(false)).field("observed_behaviors", names(true));
    }
    Ok(())
}
