//! Names that others give to the columns of their results.
//!
//! They count only where a table has no column of ours for the same thing. A name that two things could have, such as
//! `name`, `answer` or `result`, is not among them.

use std::sync::Arc;

/// The sample.
pub(crate) const IDS: [&str; 26] = [
    "question_id",
    "task_id",
    "instance_id",
    "scenario_id",
    "problem_id",
    "example_id",
    "item_id",
    "prompt_id",
    "doc_id",
    "test_id",
    "case_id",
    "test_case_id",
    "query_id",
    "puzzle_id",
    "qid",
    "uid",
    "question_idx",
    "problem_idx",
    "task_idx",
    "example_idx",
    "question_number",
    "record_id",
    "row_id",
    "input_id",
    "entry_id",
    "task_name",
];

/// The score.
pub(crate) const SCORES: [&str; 22] = [
    "is_correct",
    "resolved",
    "is_resolved",
    "success",
    "is_success",
    "is_successful",
    "reward",
    "acc",
    "exact_match",
    "em",
    "grade",
    "correctness",
    "is_pass",
    "is_passed",
    "pass",
    "solved",
    "is_solved",
    "succeeded",
    "accuracy",
    "judge_score",
    "final_score",
    "overall_score",
];

/// The attempt.
pub(crate) const ATTEMPTS: [&str; 9] =
    ["trial", "trial_idx", "attempt", "attempt_idx", "repeat", "iteration", "sample_idx", "rollout", "rollout_idx"];

/// The run: what was tried. The most telling come first.
pub(crate) const RUNS: [&str; 19] = [
    "model",
    "model_name",
    "model_id",
    "llm",
    "agent",
    "agent_name",
    "system",
    "system_name",
    "variant",
    "variant_name",
    "checkpoint",
    "method",
    "approach",
    "strategy",
    "condition",
    "arm",
    "treatment",
    "prompt_version",
    "prompt_variant",
];

/// What a score of a long table is a score by: one row per sample and metric.
pub(crate) const SCORERS: [&str; 10] = [
    "metric",
    "metric_name",
    "scorer",
    "scorer_name",
    "evaluator",
    "evaluator_name",
    "score_name",
    "criterion",
    "criteria",
    "measure",
];

/// What names the items of a list of scores, which are then no attempts.
pub(crate) const NAMES_OF_ITEMS: [&str; 16] = [
    "metric",
    "metric_name",
    "scorer",
    "scorer_name",
    "evaluator",
    "evaluator_name",
    "score_name",
    "criterion",
    "criteria",
    "measure",
    "name",
    "key",
    "dimension",
    "aspect",
    "rubric",
    "judge",
];

/// What the scores of a trace or of an example belong to, in tables of scores that have ids of their own.
pub(crate) const SCORED: [&str; 4] = ["trace_id", "example_id", "reference_example_id", "span_id"];

/// Names of records that sum up the others.
pub(crate) const SUMMARIES: [&str; 14] = [
    "total",
    "totals",
    "average",
    "avg",
    "mean",
    "overall",
    "sum",
    "summary",
    "grandtotal",
    "macroavg",
    "microavg",
    "weightedavg",
    "overallaverage",
    "all",
];

/// The columns of ours that say how an attempt went.
const MEASURES: [&str; 12] = [
    "score",
    "value",
    "scores",
    "passed",
    "correct",
    "expected_behaviors",
    "observed_behaviors",
    "behaviors",
    "must_not",
    "violations",
    "predicted",
    "quality_score",
];

/// True for a column of ours that says how an attempt went.
pub(crate) fn is_measure(name: &str) -> bool {
    MEASURES.contains(&name) || name.starts_with("scores.") || name.starts_with("score.")
}

/// True for a column with a setting of a model: attempts with two of its values were not made in the same way.
pub(crate) fn is_setting(name: &str) -> bool {
    const SETTINGS: [&str; 12] = [
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "reasoning_effort",
        "thinking_budget",
        "shots",
        "num_shots",
        "n_shot",
        "num_fewshot",
        "context_length",
        "quantization",
    ];
    let name = plain(name);
    SETTINGS.iter().any(|setting| plain(setting) == name)
}

/// True for a column that counts or dates attempts, whose values say nothing of what was tried.
pub(crate) fn is_attempt(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "seed",
        "run",
        "trial",
        "attempt",
        "time",
        "date",
        "epoch",
        "repeat",
        "iteration",
        "rollout",
        "session",
        "uuid",
    ];
    let name = plain(name);
    WORDS.iter().any(|word| name.contains(word))
}

/// A name as it would be spelt by anyone: `Question ID`, `questionId` and `question_id` are the same.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The columns that have one of these names, however it is spelt; where one is spelt as it is here, only those.
pub(crate) fn find<'c>(columns: &'c [Arc<str>], names: &[&str]) -> Vec<&'c Arc<str>> {
    let exact: Vec<&Arc<str>> = columns.iter().filter(|column| names.contains(&&***column)).collect();
    if !exact.is_empty() {
        return exact;
    }
    let plain_names: Vec<String> = names.iter().map(|name| plain(name)).collect();
    columns.iter().filter(|column| plain_names.contains(&plain(column))).collect()
}
