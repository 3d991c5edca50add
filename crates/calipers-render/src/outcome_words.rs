//! Outcomes of scenarios and attempts, in words.

use calipers_core::{ScenarioOutcome, Shortcoming};

/// The word for an outcome; for none, the scenario is not in the run.
pub(crate) fn outcome_word(outcome: Option<ScenarioOutcome>) -> &'static str {
    match outcome {
        Some(ScenarioOutcome::Passed) => "passed",
        Some(ScenarioOutcome::Failed) => "failed",
        Some(ScenarioOutcome::Errored) => "errored",
        Some(ScenarioOutcome::Unscored) => "unscored",
        None => "not in the run",
    }
}

/// Why an attempt did not pass: `violated: leaks key; not observed: refuses`.
#[must_use]
pub fn shortcoming_sentence(shortcoming: &Shortcoming) -> String {
    match shortcoming {
        Shortcoming::Errored(_) => format!("error: {}", error_line(shortcoming).unwrap_or("no reason given")),
        Shortcoming::Unscored => "nothing says whether it passed".to_owned(),
        Shortcoming::ScoreBelow { score, threshold } => format!("score {score} is below {threshold}"),
        Shortcoming::Behaviors { violated, missed } => {
            let parts = [("violated", violated), ("not observed", missed)];
            let parts = parts.iter().filter(|(_, names)| !names.is_empty());
            parts.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect::<Vec<_>>().join("; ")
        }
        Shortcoming::Recorded => "recorded as not passed".to_owned(),
    }
}

/// The first line of the error that an attempt ended in.
pub(crate) fn error_line(shortcoming: &Shortcoming) -> Option<&str> {
    match shortcoming {
        Shortcoming::Errored(error) => error.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcoming_says_what_went_wrong() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<Vec<std::sync::Arc<str>>>();
        for (shortcoming, want) in [
            (Shortcoming::Errored(Some("connection reset".into())), "error: connection reset"),
            (Shortcoming::Errored(None), "error: no reason given"),
            (Shortcoming::Unscored, "nothing says whether it passed"),
            (Shortcoming::ScoreBelow { score: 0.8, threshold: 1.0 }, "score 0.8 is below 1"),
            (Shortcoming::Behaviors { violated: names(&["a", "b"]), missed: names(&[]) }, "violated: a, b"),
            (Shortcoming::Behaviors { violated: names(&["a"]), missed: names(&["c"]) }, "violated: a; not observed: c"),
            (Shortcoming::Recorded, "recorded as not passed"),
        ] {
            assert_eq!(shortcoming_sentence(&shortcoming), want);
        }
    }
}
