//! What a run keeps in memory of what scorers said: as little as its metrics need, while the log has all.
#![cfg(feature = "run")]

use calipers::eval::{Evaluation, Setup, eval};
use calipers::io::{Source, read};
use calipers::metric::{mean, metric};
use calipers::plan::MetricSpec;
use calipers::run::{Task, providers::MockModel, scorer_fn};
use calipers::task::TaskSample;
use calipers::{Metric, Plan, Score};
use calipers_testing::Scratch;

const LONG: usize = 10_000;

fn run(folder: &Scratch, metrics: Vec<MetricSpec>) -> Evaluation {
    let scorer = scorer_fn("judge", metrics, |_| {
        Ok(Score::new(1.0).answer("B").explanation("because ".repeat(LONG / 8)).into())
    });
    let task = Task::builder("texts")
        .samples([TaskSample::new("one"), TaskSample::new("two")])
        .scorer(scorer)
        .own_model(MockModel::new("an answer").named("mockllm/long"))
        .build();
    eval(Setup { log_dir: folder.path().to_path_buf(), ..Setup::new(task) }, &mut |_| None).unwrap()
}

/// The explanations that the samples of a run still have, by their length.
fn kept(done: &Evaluation) -> Vec<Option<usize>> {
    let results = Plan::new().metrics([mean()]).keep_reductions().measure(&done.samples).unwrap();
    let scores = results.reductions[0].samples.iter().map(|(_, score)| score);
    assert!(scores.clone().all(|score| score.answer.as_deref() == Some("B")));
    scores.map(|score| score.explanation.as_ref().map(|text| text.len())).collect()
}

#[test]
fn what_was_said_is_in_the_log_and_not_in_memory() {
    let folder = Scratch::new();
    let done = run(&folder, vec![mean().into()]);
    assert_eq!(kept(&done), [None, None]);
    let logged = read(&Source::path(&done.log), None).unwrap();
    let results = Plan::new().metrics([mean()]).keep_reductions().measure(&logged[0].samples).unwrap();
    let texts: Vec<_> = results.reductions[0].samples.iter().map(|(_, score)| score.explanation.clone()).collect();
    assert!(texts.iter().all(|text| text.as_ref().is_some_and(|text| text.len() == LONG)), "{texts:?}");
}

#[test]
fn a_metric_of_ones_own_sees_everything() {
    let folder = Scratch::new();
    let longest: Metric = metric("longest", |scores| {
        let lengths = scores.iter().filter_map(|score| score.score.explanation.as_ref()).map(|text| text.len());
        Ok(lengths.max().unwrap_or(0) as f64)
    });
    let done = run(&folder, vec![longest.into()]);
    let figure = done.report.results.figure("judge", "longest").unwrap();
    assert_eq!(figure.value, Ok(LONG as f64));
    assert_eq!(kept(&done), [Some(LONG), Some(LONG)]);
}
