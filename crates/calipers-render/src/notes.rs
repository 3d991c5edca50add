//! Notes about reading, converting and stopping a run, a line each.

use crate::gate::gate_rule;
use calipers_core::pluralize;
use calipers_gate::GateResult;
use std::fmt::Display;

/// What to know about a run that was read, converted or stopped.
#[derive(Clone, Copy)]
pub enum RunNote<'a> {
    /// So many attempts are in more than one file.
    RepeatedAttempts(usize),
    /// Of so many files with attempts at the same samples, no two have one of the same name.
    NothingShared(usize),
    /// So many samples of a run are in several of so many files, none of which says which attempt it has; and the columns that
    /// would tell them apart, where there are any.
    SharedSamples {
        /// How many samples.
        samples: usize,
        /// Of how many files.
        files: usize,
        /// The columns.
        id: Option<&'a str>,
    },
    /// Several tasks have samples of the same names, such as this one, which are told apart by names such as the example.
    NamedByTask {
        /// The tasks.
        tasks: &'a [&'a str],
        /// A name that several tasks have.
        id: &'a dyn Display,
        /// What the sample is called.
        example: &'a dyn Display,
    },
    /// Answers are compared with the right ones.
    PredictionsCompared,
    /// So many answers differ from the right ones only in how they are written.
    NearPredictions(usize),
    /// A log names a reducer that we do not have.
    UnknownReducer(&'a str),
    /// A loaded file has a function of the name of a log's metric, which makes no metric, and why.
    BrokenMetric(&'a str, &'a dyn Display),
    /// A log lists no metrics for a scorer.
    ScorerWithoutMetrics(&'a str),
    /// A log is written for other reducers, which its transcripts do not survive.
    TranscriptsLeftOut,
    /// A log is written without results, and why.
    LogWithoutResults(&'a str),
    /// A document is written without figures, and why.
    NoFigures(&'a str),
    /// The reducers of a log that a form cannot hold.
    LostReducers(&'a [String]),
    /// The metrics of a log that a form cannot hold.
    LostMetrics(&'a [String]),
    /// The questions and answers for a page cannot be read, and why.
    UnreadableTexts(&'a dyn Display),
    /// A run is stopped because it surely misses this gate.
    SurelyMissed(&'a GateResult),
    /// A run is stopped because it surely passes every blocking gate.
    SurelyMet,
}

/// The note as a sentence.
#[must_use]
pub fn note_sentence(note: RunNote<'_>) -> String {
    let quoted = |names: &[String]| format!("`{}`", names.join("`, `"));
    match note {
        RunNote::PredictionsCompared => "an answer counts as correct where `predicted` equals `actual`".to_owned(),
        RunNote::NearPredictions(count) => {
            let (differ, count_as) = if count == 1 { ("differs", "counts") } else { ("differ", "count") };
            let answers = pluralize(count, "answer");
            format!("{answers} {differ} from `actual` only in capitals, blanks or punctuation, and {count_as} as wrong")
        }
        RunNote::RepeatedAttempts(count) => {
            let (are, each) = if count == 1 { ("is", "it") } else { ("are", "each") };
            format!("{} {are} in more than one file: {each} counts once", pluralize(count, "attempt"))
        }
        RunNote::NothingShared(files) => {
            let files = pluralize(files, "file");
            format!("no sample is in two of the {files}: each has one attempt, unless the files name it differently")
        }
        RunNote::SharedSamples { samples, files, id } => {
            let (is_in, counts) = if samples == 1 { ("is in", "counts") } else { ("are in", "count") };
            let samples = pluralize(samples, "sample");
            let apart = id.map(|id| format!("; if they are different samples, `id={id}` tells them apart"));
            let apart = apart.unwrap_or_default();
            format!("{samples} {is_in} several of the {files} files, and {counts} as attempts of one run{apart}")
        }
        RunNote::NamedByTask { tasks, id, example } => {
            let named = match tasks {
                [one, other] => format!("the tasks `{one}` and `{other}`"),
                tasks => format!("several of the {} tasks", tasks.len()),
            };
            format!(
                "{named} have samples of the same names, which are no attempts at one: `{id}` is called `{example}`"
            )
        }
        RunNote::UnknownReducer(name) => {
            format!("the log's reducer `{name}` is not known here; its results are left out")
        }
        RunNote::BrokenMetric(name, why) => format!("the loaded file does not make the log's metric `{name}`: {why}"),
        RunNote::ScorerWithoutMetrics(name) => {
            format!("scorer `{name}` lists no metrics in the log, so it has no figures")
        }
        RunNote::TranscriptsLeftOut => {
            "the log is written again for other reducers: its messages and events are left out".to_owned()
        }
        RunNote::LogWithoutResults(why) => {
            format!("the log is written without results, because they cannot be computed: {why}")
        }
        RunNote::NoFigures(why) => format!("no figures are written, because they cannot be computed: {why}"),
        RunNote::LostReducers(names) => format!(
            "the log reduces attempts by {}, which this format cannot hold: name the reducer when you read the file, or \
             their mean is used",
            quoted(names)
        ),
        RunNote::LostMetrics(names) => {
            format!("this format cannot hold the log's metrics {}: name them when you read the file", quoted(names))
        }
        RunNote::UnreadableTexts(why) => format!("what was asked and answered could not be read: {why}"),
        RunNote::SurelyMissed(gate) => {
            format!("decided early: {} is clearly missed ({})", gate.metric, gate_rule(gate))
        }
        RunNote::SurelyMet => "decided early: all blocking gates are clearly met".to_owned(),
    }
}

/// The first of several names, and how many more there are.
#[must_use]
pub fn first_and_more(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_attempt_is_it_and_several_are_each() {
        let note = |count| note_sentence(RunNote::RepeatedAttempts(count));
        assert_eq!(note(1), "1 attempt is in more than one file: it counts once");
        assert_eq!(note(2), "2 attempts are in more than one file: each counts once");
    }

    #[test]
    fn names_that_a_form_loses_are_quoted_each() {
        let names = ["mode".to_owned(), "max".to_owned()];
        assert!(
            note_sentence(RunNote::LostReducers(&names))
                .starts_with("the log reduces attempts by `mode`, `max`, which")
        );
    }

    #[test]
    fn several_names_are_the_first_and_a_count() {
        for (names, want) in
            [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a and 1 more"), (&["a", "b", "c"], "a and 2 more")]
        {
            assert_eq!(first_and_more(names), want);
        }
    }
}
