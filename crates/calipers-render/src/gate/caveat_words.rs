//! What to know about a verdict as a whole, in words.

use crate::numbers::decimals;
use calipers_core::{GateCaveat, NameKind, pluralize};

/// Scenarios that are named before the rest is counted.
const NAMES_MAX: usize = 5;

/// A caveat of a verdict, and what to do about it.
pub(crate) fn gate_caveat(caveat: &GateCaveat) -> (String, String) {
    match caveat {
        GateCaveat::NothingBlocks => {
            ("no gate of the policy blocks".to_owned(), "put what must hold under `thresholds.blocking`".to_owned())
        }
        GateCaveat::OutsideClusters { fields, samples } => {
            let (each, fields) = (pluralize(samples, "sample"), all_of(&quote_all(fields)));
            let (have, are) = if *samples == 1 { ("has", "is a cluster") } else { ("have", "are clusters") };
            let by_itself = if *samples == 1 { "by itself" } else { "by themselves" };
            (
                format!("{each} {have} no value of {fields} and {are} {by_itself}"),
                "give every sample a value, or cluster by a field that all have".to_owned(),
            )
        }
        GateCaveat::LikelyClusters { field, clusters, samples, correlation } => {
            let alike = correlation.map_or_else(
                || ": they may not be independent".to_owned(),
                |r| format!(", and those of one are alike (correlation {}): they are not independent", decimals(r, 2)),
            );
            (
                format!("{samples} samples share {clusters} values of `{field}`{alike}"),
                "name the field under `cluster` in the policy".to_owned(),
            )
        }
        GateCaveat::NoVersion => {
            ("the policy has thresholds by version, and no version is named".to_owned(), "choose one".to_owned())
        }
        GateCaveat::FewAttempts { scenarios, wanted } => {
            let have = if *scenarios == 1 { "has" } else { "have" };
            let scenarios = pluralize(scenarios, "scenario");
            (
                format!("{scenarios} {have} fewer attempts than the {wanted} that the policy asks for"),
                "run the missing attempts".to_owned(),
            )
        }
        GateCaveat::SimilarNames { kind, spellings } => {
            let spellings: Vec<String> = spellings.iter().map(|(name, n)| spelling(name, *n)).collect();
            (format!("{} count as different {}", all_of(&spellings), plural(*kind)), one_spelling(*kind))
        }
        GateCaveat::SeveralNames { kind, scenarios } => several_names(*kind, scenarios),
        GateCaveat::StaleBaseline { days } => (
            format!("the baseline is {} old", pluralize(days.round(), "day")),
            "record it again with `calipers baseline record`".to_owned(),
        ),
        GateCaveat::FutureBaseline { date, days } => (
            format!("the baseline is dated {date}, which is {} ahead", pluralize(days.round(), "day")),
            "correct its date, or record it again: it will not be found stale when it is".to_owned(),
        ),
        GateCaveat::BaselinePolicy => (
            "the baseline was recorded under another version of the policy".to_owned(),
            "record it again if what is measured has changed".to_owned(),
        ),
        GateCaveat::AboveBaseline => (
            "an agent that has not changed misses \"above the baseline\" about half the time".to_owned(),
            "use `\"mode\": \"non_inferiority\"` with a margin".to_owned(),
        ),
    }
}

fn quote_all(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

/// All names: `a, b and c`.
fn all_of(names: &[String]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.join(", "),
    }
}

fn spelling(name: &str, scenarios: u64) -> String {
    match scenarios {
        0 => format!("`{name}` (in the policy)"),
        n => format!("`{name}` ({})", pluralize(n, "scenario")),
    }
}

fn several_names(kind: NameKind, scenarios: &[(String, Vec<String>)]) -> (String, String) {
    let scenario = |(id, names): &(String, Vec<String>)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        match names.split_first() {
            Some((first, others)) => format!("{id} ({first}, then {})", others.join(", ")),
            None => id.clone(),
        }
    };
    // There may be as many scenarios as records: only those that are named become text.
    let names: Vec<String> = scenarios.iter().take(NAMES_MAX).map(scenario).collect();
    let unnamed = scenarios.len() - names.len();
    let more = if unnamed > 0 { format!(" and {unnamed} more") } else { String::new() };
    let sentence = format!(
        "the attempts of {} have different {}, of which the first counts: {}{more}",
        pluralize(scenarios.len(), "scenario"),
        plural(kind),
        names.join(", ")
    );
    (sentence, format!("give all attempts of a scenario the same {}, or make them separate scenarios", singular(kind)))
}

fn singular(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Category => "category",
        NameKind::Capability => "capability",
        NameKind::Failure => "kind of failure",
    }
}

fn plural(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Category => "categories",
        NameKind::Capability => "capabilities",
        NameKind::Failure => "kinds of failure",
    }
}

fn one_spelling(kind: NameKind) -> String {
    match kind {
        NameKind::Failure => {
            "spell the failure in one way: only what is spelled as in `blocking_failures` blocks".to_owned()
        }
        _ => format!("spell the {} in one way, in the records and in the policy", singular(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caveats_name_what_they_are_about() {
        let spellings = vec![("edge-case".into(), 0), ("edge_case".into(), 1), ("Edge case".into(), 4)];
        let (sentence, next) = gate_caveat(&GateCaveat::SimilarNames { kind: NameKind::Category, spellings });
        assert_eq!(
            sentence,
            "`edge-case` (in the policy), `edge_case` (1 scenario) and `Edge case` (4 scenarios) count as different categories"
        );
        assert_eq!(next, "spell the category in one way, in the records and in the policy");
        let scenarios = vec![("S-1".into(), vec!["a".into(), "b".into(), "c".into()])];
        let (sentence, _) = gate_caveat(&GateCaveat::SeveralNames { kind: NameKind::Capability, scenarios });
        assert_eq!(
            sentence,
            "the attempts of 1 scenario have different capabilities, of which the first counts: S-1 (`a`, then `b`, `c`)"
        );
    }
}
