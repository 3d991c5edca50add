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

/// The attempt, and never how many there were, or how long one took.
pub(crate) const PLAIN_ATTEMPTS: [&str; 6] = ["trial", "trial_idx", "attempt", "attempt_idx", "rollout", "rollout_idx"];

/// The run: what was tried. The most telling come first.
pub(crate) const RUNS: [&str; 45] = [
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
    "llm_name",
    "model_version",
    "model_path",
    "model_name_or_path",
    "base_model",
    "target_model",
    "engine",
    "deployment",
    "deployment_name",
    "generator",
    "scaffold",
    "chatbot",
    "candidate",
    "submission",
    "experiment",
    "experiment_name",
    "run_name",
    "config_name",
    "prompt_name",
    "prompt_template",
    "app_id",
    "app_name",
    "app_version",
    "session_name",
    "project_name",
    "experiment_id",
];

/// The most that a score can be.
pub(crate) const MOSTS: [&str; 9] = [
    "max_score",
    "max_points",
    "max_reward",
    "max_possible_score",
    "points_possible",
    "possible_points",
    "points_max",
    "score_max",
    "out_of",
];

/// Marks of records that someone may not want to count.
pub(crate) const EXCLUSIONS: [&str; 12] = [
    "skipped",
    "is_skipped",
    "skip",
    "excluded",
    "is_excluded",
    "exclude",
    "ignored",
    "ignore",
    "discarded",
    "filtered_out",
    "invalid",
    "is_invalid",
];

/// Marks of records that count, where others may not.
pub(crate) const INCLUSIONS: [&str; 4] = ["valid", "is_valid", "included", "is_included"];

/// What a score of a long table is a score by: one row per sample and metric.
pub(crate) const SCORERS: [&str; 16] = [
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
    "metric_type",
    "score_type",
    "dimension",
    "aspect",
    "rubric",
    "variable",
];

/// What names a metric and nothing else: where each row has another one, the rows are figures.
pub(crate) const METRICS: [&str; 2] = ["metric", "metric_name"];

/// Whose opinion a score is: people and judges rate the same samples.
pub(crate) const RATERS: [&str; 14] = [
    "rater",
    "rater_id",
    "annotator",
    "annotator_id",
    "judge",
    "judge_id",
    "judge_name",
    "judge_model",
    "reviewer",
    "labeler",
    "labeller",
    "grader",
    "assessor",
    "worker_id",
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

/// The same in other languages, as `plain` spells them.
pub(crate) const FOREIGN_SUMMARIES: [&str; 140] = [
    "gesamt",
    "gesamtsumme",
    "gesamtergebnis",
    "gesamtwert",
    "gesamtdurchschnitt",
    "insgesamt",
    "summe",
    "zwischensumme",
    "teilsumme",
    "durchschnitt",
    "mittelwert",
    "schnitt",
    "endergebnis",
    "totalgénéral",
    "totalgeneral",
    "totaux",
    "moyenne",
    "moyennegénérale",
    "moyennegenerale",
    "moy",
    "somme",
    "soustotal",
    "promedio",
    "promediogeneral",
    "totales",
    "suma",
    "geral",
    "totalgeral",
    "médiageral",
    "somatório",
    "totale",
    "totalegenerale",
    "totaleparziale",
    "somma",
    "mediatotale",
    "complessivo",
    "totaal",
    "eindtotaal",
    "subtotaal",
    "gemiddelde",
    "gemiddeld",
    "genomsnitt",
    "medelvärde",
    "totalt",
    "summering",
    "gennemsnit",
    "gjennomsnitt",
    "samlet",
    "keskiarvo",
    "yhteensä",
    "summa",
    "delsumma",
    "итого",
    "всего",
    "среднее",
    "сумма",
    "итог",
    "подитог",
    "общийитог",
    "общеесреднее",
    "промежуточныйитог",
    "разом",
    "усього",
    "середнє",
    "razem",
    "średnia",
    "srednia",
    "ogółem",
    "łącznie",
    "celkem",
    "průměr",
    "prumer",
    "součet",
    "spolu",
    "priemer",
    "ukupno",
    "prosjek",
    "prosek",
    "átlag",
    "összesen",
    "osszesen",
    "vidurkis",
    "viso",
    "kokku",
    "keskmine",
    "vidējais",
    "kopā",
    "medie",
    "σύνολο",
    "μέσοςόρος",
    "toplam",
    "ortalama",
    "geneltoplam",
    "aratoplam",
    "合計",
    "总计",
    "總計",
    "总和",
    "总计平均",
    "合计",
    "小計",
    "小计",
    "平均",
    "平均値",
    "平均值",
    "平均分",
    "总分",
    "总平均",
    "総計",
    "総合計",
    "全体",
    "全体平均",
    "합계",
    "총계",
    "소계",
    "총합",
    "평균",
    "전체",
    "tổng",
    "tổngcộng",
    "trungbình",
    "jumlah",
    "ratarata",
    "rerata",
    "รวม",
    "คาเฉลีย",
    "เฉลีย",
    "कुल",
    "औसत",
    "योग",
    "المجموع",
    "الإجمالي",
    "المتوسط",
    "الإجماليالكلي",
    "סהכ",
    "ממוצע",
    "میانگین",
    "مجموع",
    "jumla",
    "wastani",
];

/// Words that names of such records are made of.
pub(crate) const SUMMARY_WORDS: [&str; 86] = [
    "total",
    "totals",
    "average",
    "avg",
    "mean",
    "overall",
    "sum",
    "summary",
    "grand",
    "macro",
    "micro",
    "weighted",
    "all",
    "final",
    "result",
    "results",
    "accuracy",
    "acc",
    "score",
    "rate",
    "pass",
    "success",
    "count",
    "n",
    "std",
    "stdev",
    "stddev",
    "sd",
    "sem",
    "stderr",
    "var",
    "min",
    "max",
    "median",
    "standardabweichung",
    "streuung",
    "varianz",
    "genauigkeit",
    "quote",
    "anzahl",
    "minimum",
    "maximum",
    "général",
    "générale",
    "generale",
    "general",
    "écart",
    "type",
    "précision",
    "médiane",
    "nombre",
    "desviación",
    "estándar",
    "precisión",
    "mediana",
    "media",
    "média",
    "precisione",
    "scarto",
    "разброс",
    "отклонение",
    "стандартное",
    "точность",
    "общий",
    "общая",
    "общее",
    "медиана",
    "odchylenie",
    "standardowe",
    "dokładność",
    "標準偏差",
    "标准差",
    "标准偏差",
    "准确率",
    "正確率",
    "正解率",
    "准确度",
    "中央値",
    "中位数",
    "표준편차",
    "정확도",
    "중앙값",
    "最大値",
    "最小値",
    "最大值",
    "最小值",
];

/// Columns that say how much a record counts, or how many samples it sums up. No figure uses them by itself.
pub(crate) const COUNTS: [&str; 29] = [
    "weight",
    "weights",
    "sample_weight",
    "row_weight",
    "n",
    "count",
    "counts",
    "freq",
    "frequency",
    "support",
    "total",
    "n_total",
    "num_total",
    "total_count",
    "n_samples",
    "num_samples",
    "sample_count",
    "n_examples",
    "num_examples",
    "n_questions",
    "num_questions",
    "n_items",
    "num_items",
    "n_trials",
    "num_trials",
    "n_attempts",
    "num_attempts",
    "trials",
    "sample_size",
];

/// True for a column with the errors of figures: its rows sum up samples.
pub(crate) fn names_error_of_figure(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "std_err",
        "std_error",
        "standard_error",
        "sem",
        "ci_low",
        "ci_high",
        "ci_lower",
        "ci_upper",
        "lower_ci",
        "upper_ci",
    ];
    words_of(name).iter().any(|word| word == "stderr") || NAMES.iter().any(|known| is_spelt_like(name, known))
}

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
    SETTINGS.iter().chain(&STEPS).any(|setting| is_spelt_like(name, setting))
}

/// True for the step of a training, by which its history is written.
pub(crate) fn is_step(name: &str) -> bool {
    ["step", "_step", "global_step", "train_step", "training_step"].contains(&name.to_lowercase().as_str())
}

/// What tells the parts of one attempt apart: its records are no attempts, unless someone says so.
const STEPS: [&str; 9] =
    ["step", "turn", "timestep", "step_id", "turn_id", "step_idx", "turn_idx", "step_number", "turn_number"];

const SETTINGS: [&str; 34] = [
    "temperature",
    "temp",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "max_new_tokens",
    "max_output_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "effort",
    "thinking",
    "thinking_budget",
    "thinking_tokens",
    "reasoning_tokens_max",
    "shots",
    "num_shots",
    "n_shot",
    "n_shots",
    "k_shot",
    "few_shot",
    "num_fewshot",
    "context_length",
    "context_window",
    "quantization",
    "quant",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "num_beams",
    "max_turns",
    "max_steps",
    "system_prompt",
    "decoding",
];

/// True for a column that counts or dates attempts, whose values then say nothing of what was tried.
pub(crate) fn is_attempt(name: &str) -> bool {
    const WORDS: [&str; 26] = [
        "seed",
        "run",
        "runs",
        "trial",
        "attempt",
        "time",
        "timestamp",
        "datetime",
        "date",
        "at",
        "epoch",
        "repeat",
        "rep",
        "iteration",
        "iter",
        "rollout",
        "session",
        "uuid",
        "guid",
        "hash",
        "turn",
        "round",
        "step",
        "fold",
        "try",
        "generation",
    ];
    words_of(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// True for a column whose score is higher the worse it went.
pub(crate) fn names_failure(name: &str) -> bool {
    const WORDS: [&str; 16] = [
        "failed",
        "fail",
        "failure",
        "error",
        "errors",
        "wrong",
        "incorrect",
        "hallucinated",
        "hallucination",
        "jailbroken",
        "violation",
        "violated",
        "toxic",
        "harmful",
        "unsafe",
        "loss",
    ];
    let is_name = |c: char| !c.is_alphanumeric() && c != '_';
    let last = name.rsplit(is_name).find(|part| !part.is_empty()).unwrap_or(name);
    words_of(last).last().is_some_and(|word| WORDS.contains(&word.as_str()))
}

/// True for a column with tags.
pub(crate) fn is_tags(name: &str) -> bool {
    const NAMES: [&str; 4] = ["tags", "tag", "labels", "keywords"];
    NAMES.iter().any(|known| is_spelt_like(name, known))
}

/// True for a column with places in a list.
pub(crate) fn is_place(name: &str) -> bool {
    const WORDS: [&str; 14] =
        ["idx", "index", "no", "nr", "num", "number", "n", "i", "j", "k", "order", "position", "sample", "copy"];
    words_of(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// True for a map of what a sample asks for or expects, which says nothing of what was tried.
pub(crate) fn is_given(name: &str) -> bool {
    const GIVEN: [&str; 10] =
        ["input", "inputs", "expected", "reference", "references", "gold", "target", "ground_truth", "question", "doc"];
    GIVEN.contains(&name)
}

/// True for the last key of a path that may name a run.
pub(crate) fn may_name_run(key: &str) -> bool {
    let last = key.rsplit(['.', '/']).next().unwrap_or(key);
    is_name(last) || RUNS.iter().any(|run| is_spelt_like(last, run))
}

/// True when two names are the same, however they are spelt. Nothing is allocated: many keys are compared with many names.
pub(crate) fn is_spelt_like(name: &str, known: &str) -> bool {
    letters(name).eq(letters(known))
}

/// The letters and digits of a name, in small letters.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// True for what things are called within a map of their own, as in `model.name`.
pub(crate) fn is_name(name: &str) -> bool {
    const NAMES: [&str; 7] = ["name", "id", "version", "path", "slug", "key", "name_or_path"];
    NAMES.iter().any(|known| is_spelt_like(name, known))
}

/// The words of a name, in small letters: `runIndex` and `run_index` have two.
pub(crate) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let is_new = !c.is_alphabetic() || c.is_uppercase() && was_small;
        if is_new {
            words.push(String::new());
        }
        was_small = c.is_lowercase();
        if let (true, Some(word)) = (c.is_alphabetic(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A name as it would be spelt by anyone: `Question ID`, `questionId` and `question_id` are the same.
pub(crate) fn plain(name: &str) -> String {
    letters(name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_other_languages_are_spelt_as_they_are_looked_up() {
        for name in FOREIGN_SUMMARIES {
            assert_eq!(plain(name), name);
        }
        for word in SUMMARY_WORDS {
            assert_eq!(words_of(word), [word]);
        }
    }

    #[test]
    fn every_name_that_is_known_is_documented() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/any-table.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        for name in IDS
            .iter()
            .chain(&SCORES)
            .chain(&ATTEMPTS)
            .chain(&RUNS)
            .chain(&SCORERS)
            .chain(&SETTINGS)
            .chain(&COUNTS)
            .chain(&MOSTS)
        {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
