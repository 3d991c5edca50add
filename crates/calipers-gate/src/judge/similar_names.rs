//! Names that are probably meant to be one: of categories, capabilities and kinds of failure.

use super::Judge;
use super::rules::named;
use crate::policy::{Origin, Spanned};
use calipers_core::{Note, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A name as it is meant: without regard to case, blanks around it, and what joins its words.
fn meant(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

/// How many scenarios have each name, by what the name is meant to be. Names of the policy are there with none.
#[derive(Default)]
struct Spellings(BTreeMap<String, BTreeMap<String, u64>>);

impl Spellings {
    fn add(&mut self, name: &str, scenarios: u64) {
        *self.0.entry(meant(name)).or_default().entry(name.to_owned()).or_default() += scenarios;
    }

    /// A note for each name that is written in several ways.
    fn notes(&self, id: &str, what: &str, next: &str) -> Vec<Note> {
        let several = self.0.values().filter(|spellings| spellings.len() > 1);
        let note = |spellings: &BTreeMap<String, u64>| {
            let told: Vec<String> = spellings.iter().map(|(name, scenarios)| counted(name, *scenarios)).collect();
            let (last, others) = told.split_last()?;
            let message = format!("{} and {last} are taken for different {what}", others.join(", "));
            Some(Note { id: id.into(), message, next: Some(next.to_owned()) })
        };
        several.filter_map(note).collect()
    }
}

fn counted(name: &str, scenarios: u64) -> String {
    match scenarios {
        0 => format!("`{name}` (in the policy)"),
        1 => format!("`{name}` (1 scenario)"),
        n => format!("`{name}` ({n} scenarios)"),
    }
}

impl Judge<'_> {
    /// What to know about names of categories, capabilities and failures.
    pub(super) fn notes_on_names(&self) -> Vec<Note> {
        let weights = &self.policy.weights;
        let in_criteria = self.policy.gates.iter().filter_map(|gate| match &gate.origin {
            Origin::Category(category) => Some(&**category),
            _ => None,
        });
        let by_category = weighed(&weights.by_category).chain(in_criteria).collect();
        let by_capability = weighed(&weights.by_capability).collect();
        let mut notes = Vec::new();
        for (key, what, id, in_policy) in [
            ("category", "categories", "similar-categories", by_category),
            ("capability", "capabilities", "similar-capabilities", by_capability),
        ] {
            let in_run = self.told.iter().filter_map(|told| match key {
                "category" => told.category.as_deref(),
                _ => told.capability.as_deref(),
            });
            let next = format!("write the {key} in one way, in the records and in the policy");
            notes.extend(spellings(in_run, in_policy).notes(id, what, &next));
            notes.extend(self.contradicting_values(key, what));
        }
        notes.extend(self.notes_on_failures());
        notes
    }

    /// Scenarios whose attempts have different values of a fact.
    fn contradicting_values(&self, key: &str, what: &str) -> Option<Note> {
        let mut others: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (sample, value) in self.samples.contradicting_values(key, 0..self.samples.len() as u32) {
            others.entry(sample).or_default().push(value.to_string());
        }
        let one = |(sample, others): (&u32, &Vec<String>)| {
            let first = self.samples.metadata_of(*sample).get(key).map(Value::to_string).unwrap_or_default();
            let others: Vec<String> = others.iter().map(|other| format!("`{other}`")).collect();
            format!("{} (`{first}`, then {})", self.samples.id(*sample), others.join(", "))
        };
        let scenarios: Vec<String> = others.iter().map(one).collect();
        let have = match scenarios.len() {
            0 => return None,
            1 => "the attempts of 1 scenario have".to_owned(),
            n => format!("the attempts of {n} scenarios have"),
        };
        Some(Note {
            id: format!("several-{what}").into(),
            message: format!("{have} different {what}, of which the first counts: {}", named(&scenarios)),
            next: Some(format!("give all attempts of a scenario one {key}, or scenarios of their own")),
        })
    }

    /// Kinds of failure that are written in several ways: one that is written as the policy does not write it blocks nothing.
    fn notes_on_failures(&self) -> Vec<Note> {
        let kinds: Vec<&str> = self.policy.blocking_failures.iter().map(|kind| kind.value.as_str()).collect();
        if kinds.is_empty() {
            return Vec::new();
        }
        let mut spellings = spellings(std::iter::empty(), kinds);
        let said = self.said_of_failures();
        for told in self.binding() {
            self.failures_of(told, &said).iter().for_each(|name| spellings.add(name, 1));
        }
        let next = "write the failure in one way: only what is written as in `blocking_failures` blocks";
        spellings.notes("similar-failures", "kinds of failure", next)
    }
}

fn weighed(list: &[(Spanned<String>, f64)]) -> impl Iterator<Item = &str> {
    list.iter().map(|(name, _)| name.value.as_str())
}

fn spellings<'n>(in_run: impl Iterator<Item = &'n str>, in_policy: Vec<&str>) -> Spellings {
    let mut spellings = Spellings::default();
    in_run.for_each(|name| spellings.add(name, 1));
    in_policy.into_iter().collect::<BTreeSet<_>>().into_iter().for_each(|name| spellings.add(name, 0));
    spellings
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn names_are_alike_but_for_case_blanks_and_joints() {
        for name in ["edge_case", "Edge-Case", " edge case ", "EDGE__CASE"] {
            assert_eq!(meant(name), "edge_case", "{name}");
        }
        assert_ne!(meant("edge_cases"), "edge_case");
    }
}
