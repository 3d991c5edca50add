//! The examples of task files, run from end to end on their scripted models.
#![allow(clippy::unwrap_used)] // an example that must work fails loudly

use calipers_core::{Plan, Results, Samples, Transcript};
use calipers_io::load_dataset;
use calipers_run::{ChannelOptions, Job, Models, Task, run};
use calipers_script::{Limits, TaskFile, Vocabulary};
use std::path::Path;
use std::sync::Arc;

fn example(name: &str) -> TaskFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tasks").join(name);
    TaskFile::load(path, Vocabulary::builtin(), Limits::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a task and measures what came of it.
fn measured(file: &TaskFile, name: &str) -> Results {
    let task = file.task(name, &[]).unwrap_or_else(|error| panic!("{error}"));
    let transcripts = attempts(&task, file.folder());
    let mut samples = Samples::new();
    for transcript in &transcripts {
        assert_eq!(transcript.error, None);
        transcript.add_to(&mut samples);
    }
    let scorers = task.scorers.iter().zip(task.scorer_names());
    let mut plan = scorers.fold(Plan::new(), |plan, (scorer, name)| plan.scorer(name, scorer.metrics()));
    if let Some(metrics) = task.metrics {
        plan = plan.metrics(metrics);
    }
    if let Some(epochs) = task.epochs {
        plan = plan.epochs(epochs);
    }
    plan.measure(&samples).unwrap_or_else(|error| panic!("{error}"))
}

fn attempts(task: &Task, folder: &Path) -> Vec<Transcript> {
    let samples = load_dataset(&task.dataset, folder).unwrap_or_else(|error| panic!("{error}"));
    let nobody = Models::new(Arc::new(|name| Err(format!("there is no model `{name}`"))), ChannelOptions::default());
    let models = task.models.iter().cloned().fold(nobody, Models::with);
    let mut job = Job::new(task.clone(), samples, Arc::new(models), task.model.clone().unwrap());
    job.options.epochs = task.epochs.as_ref().map_or(1, |epochs| u32::try_from(epochs.count()).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
        let running = tokio::spawn(run(job, sender));
        let mut taken = Vec::new();
        while let Some(transcript) = receiver.recv().await {
            taken.push(transcript);
        }
        running.await.unwrap().unwrap_or_else(|fault| panic!("{fault}"));
        taken
    })
}

#[track_caller]
fn check(results: &Results, reducer: Option<&str>, figures: &[(&str, f64)]) {
    let score = results.scores.iter().find(|score| score.reducer.as_deref() == reducer);
    let score = score.unwrap_or_else(|| panic!("no {reducer:?} in {results:#?}"));
    for (name, want) in figures {
        let found = score.metrics.get(*name).unwrap_or_else(|| panic!("no {name} in {score:#?}"));
        let value = found.figure.value.clone().unwrap();
        assert!((value - want).abs() < 1e-12, "{name}: {value}, not {want}");
    }
}

#[test]
fn gpqa_is_measured_in_every_way() {
    let file = example("gpqa.star");
    let third = 2.0 / 3.0;
    check(&measured(&file, "gpqa"), None, &[("accuracy", 0.7)]);
    let groups = [("physics", 0.75), ("chemistry", third), ("biology", third)];
    check(&measured(&file, "gpqa_grouped"), None, &[groups[0], groups[1], groups[2], ("all", 0.7)]);
    check(&measured(&file, "gpqa_groups"), None, &[groups[0], ("all", (0.75 + third + third) / 3.0)]);
    check(&measured(&file, "gpqa_named"), None, &[("category_physics", 0.75), ("all", 0.7)]);
    // √(Σ_c (Σ (x - 0.7))² · 3/2) / 10, with cluster sums 0.2, -0.1 and -0.1.
    let clustered = (0.06_f64 * 1.5).sqrt() / 10.0;
    check(&measured(&file, "gpqa_clustered"), None, &[("accuracy", 0.7), ("stderr", clustered)]);
    check(&measured(&file, "gpqa_mode"), Some("mode"), &[("accuracy", 0.7)]);
    let several = measured(&file, "gpqa_at_least");
    check(&several, Some("at_least_2"), &[("accuracy", 0.8)]);
    check(&several, Some("at_least_5"), &[("accuracy", 0.5)]);
    check(&measured(&file, "gpqa_reduced"), Some("mean_score"), &[("accuracy", 0.7)]);
    check(&measured(&file, "gpqa_custom"), None, &[("accuracy", 0.7), ("share_of_letter", 0.3)]);
    assert_eq!(file.names().len(), 9, "every task is run here");
}

#[test]
fn colors_has_a_scorer_and_a_metric_of_its_own() {
    let results = measured(&example("colors.star"), "colors");
    check(&results, None, &[("mean", 2.0 / 3.0), ("stderr", 0.0), ("pass_rate", 1.0)]);
}
