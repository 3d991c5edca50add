//! An evaluation in Rust: a task with its own solver, scorer, metric and model, and the log that it writes.
//!
//! ```text
//! cargo run --release -p calipers --features run --example eval
//! ```

use async_trait::async_trait;
use calipers::eval::{Setup, eval};
use calipers::metric::{mean, metric, stderr};
use calipers::plan::Report;
use calipers::render::{Screen, results_text};
use calipers::run::{
    AttemptFault, AttemptScope, AttemptState, Model, ModelError, Request, Solver, Task, generate, scorer_fn,
};
use calipers::task::{GenerateConfig, Message, ModelOutput, TaskSample};
use calipers::{Metric, RunError, Score};
use std::path::Path;

fn main() -> Result<(), RunError> {
    print!("{}", report(Path::new("logs"))?);
    Ok(())
}

/// What the example prints, but for the place of the log.
pub fn report(log_dir: &Path) -> Result<String, RunError> {
    let sums = [(17, 25), (48, 37), (91, 14), (96, 17)];
    let task = Task::builder("sums")
        .samples(
            sums.map(|(a, b)| TaskSample::new(format!("{a} + {b}")).id(format!("{a}+{b}")).target((a + b).to_string())),
        )
        .solver(generate())
        .solver(SecondThought)
        .scorer(scorer_fn("closeness", [mean(), stderr(), share_of_exact()], |state| Ok(closeness(state).into())))
        .own_model(Counter)
        .build();
    let done = eval(Setup { log_dir: log_dir.to_owned(), ..Setup::new(task) }, &mut |_| None)?;
    let mut run = done.report;
    run.source = "sums".into();
    Ok(results_text(&Report { runs: vec![run], ..Report::default() }, Screen::PLAIN))
}

/// A model that carries only when it is asked to be careful.
struct Counter;

#[async_trait]
impl Model for Counter {
    fn name(&self) -> &str {
        "local/counter"
    }

    async fn generate(&self, request: &Request) -> Result<ModelOutput, ModelError> {
        let is_careful = request.messages.iter().any(|message| message.content.contains("carry"));
        let question = request.messages.first().map_or("", |message| &message.content);
        let numbers: Vec<u64> = question.split(" + ").filter_map(|number| number.parse().ok()).collect();
        let units: u64 = numbers.iter().map(|number| number % 10).sum();
        let tens: u64 = numbers.iter().map(|number| number / 10).sum();
        let sum = if is_careful { tens * 10 + units } else { tens * 10 + units % 10 };
        Ok(ModelOutput::new("counter", sum.to_string()))
    }
}

/// Asks again where the answer has two digits, and keeps the second answer.
struct SecondThought;

#[async_trait]
impl Solver for SecondThought {
    fn name(&self) -> &str {
        "second_thought"
    }

    async fn solve(&self, state: &mut AttemptState, scope: &AttemptScope) -> Result<(), AttemptFault> {
        if state.completion().len() > 2 {
            return Ok(());
        }
        state.messages.push(Message::user("Did you carry?"));
        let output = scope.generate(&state.messages, &GenerateConfig::default()).await?;
        state.messages.push(output.message.clone());
        state.output = Some(output);
        Ok(())
    }
}

/// How close the answer comes to the sum: 1 for the sum itself, 0 for none at all.
fn closeness(state: &AttemptState) -> Score {
    let number = |text: &str| text.parse::<f64>().ok();
    let close = |answer: f64, sum: f64| (1.0 - (answer - sum).abs() / sum).max(0.0);
    let value = number(state.completion()).zip(number(&state.target.text())).map(|(answer, sum)| close(answer, sum));
    Score::new(value.unwrap_or(0.0)).answer(state.completion())
}

/// The share of answers that are the sum.
fn share_of_exact() -> Metric {
    metric("share_of_exact", |scores| {
        let values: Vec<f64> = scores.iter().map(|score| score.score.as_float()).collect::<Result<_, _>>()?;
        Ok(values.iter().filter(|value| **value == 1.0).count() as f64 / values.len() as f64)
    })
}
