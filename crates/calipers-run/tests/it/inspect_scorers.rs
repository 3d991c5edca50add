//! Scorers and choices as Inspect AI scores them.

use crate::scripted::{Scripted, answered, none, score, solve, state};
use calipers_core::{Outcome, Score, TaskSample, Value};
use calipers_run::{AttemptFault, ScorerResult};
use serde_json::{Value as Json, json};

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn sample(target: &Json) -> TaskSample {
    let targets = target.as_array().cloned().unwrap_or_else(|| vec![target.clone()]);
    targets.iter().fold(TaskSample::new("question"), |sample, target| sample.target(target.as_str().unwrap()))
}

fn scored(judged: Result<ScorerResult, AttemptFault>) -> Result<Score, String> {
    match judged.map_err(|fault| fault.to_string())?.outcome {
        Outcome::Scored(score) => Ok(score),
        unscored => panic!("{unscored:?}"),
    }
}

#[test]
fn scorers_agree_with_inspect() {
    calipers_testing::inspect::check("scorer", |vector| {
        let state = answered(sample(&vector.input["target"]), vector.input["completion"].as_str().unwrap());
        let judged = run(score(&vector.name, vector.params.clone().into(), &state, &Scripted::new(&[])));
        let score = scored(judged)?;
        Ok(json!({"value": Json::from(&score.value), "answer": score.answer.as_deref()}))
    });
}

#[test]
fn choices_agree_with_inspect() {
    calipers_testing::inspect::check("choice", |vector| {
        let texts = (1..=vector.params["n_choices"].as_u64().unwrap()).map(|n| format!("choice {n}"));
        let mut state = state(sample(&vector.input["target"]).choices(texts));
        let model = Scripted::new(&[vector.input["completion"].as_str().unwrap()]);
        let params = Value::from([("multiple_correct", vector.params["multiple_correct"].as_bool().unwrap())]);
        run(solve("multiple_choice", params, &mut state, &model)).map_err(|fault| fault.to_string())?;
        let score = scored(run(score("choice", none(), &state, &model)))?;
        let answer = score.answer.as_deref().unwrap().to_owned();
        let parsed: Vec<&str> = answer.split(", ").filter(|letter| !letter.is_empty()).collect();
        Ok(json!({"parsed": parsed, "value": Json::from(&score.value), "answer": answer}))
    });
}
