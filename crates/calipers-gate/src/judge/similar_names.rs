//! Names that are probably meant to be one: of categories, capabilities and kinds of failure.

use super::Judge;
use super::scenario_rules::ScenarioNames;
use crate::policy::{Origin, Spanned};
use calipers_core::{GateCaveat, NameKind, Value, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// A name as it is meant: without regard to case, blanks around it, and what joins its words.
fn normalize_name(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || matches!(c, '-' | '_')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

/// How many scenarios have each name, by what the name is meant to be. Names of the policy are there with none.
#[derive(Default)]
struct Spellings(BTreeMap<String, BTreeMap<String, u64>>);

impl Spellings {
    fn add(&mut self, name: &str, scenarios: u64) {
        *self.0.entry(normalize_name(name)).or_default().entry(name.to_owned()).or_default() += scenarios;
    }

    /// A caveat for each name that is written in several ways.
    fn caveats(&self, kind: NameKind) -> Vec<GateCaveat> {
        let several = self.0.values().filter(|spellings| spellings.len() > 1);
        let caveat = |spellings: &BTreeMap<String, u64>| GateCaveat::SimilarNames {
            kind,
            spellings: spellings.iter().map(|(name, scenarios)| (name.clone(), *scenarios)).collect(),
        };
        several.map(caveat).collect()
    }

    /// A caveat for each name of the policy that no scenario has, where one that the policy does not name is near: a slip.
    fn slips(&self, kind: NameKind, in_policy: &[&str]) -> Vec<GateCaveat> {
        let in_run = || self.0.values().flatten().filter(|(_, scenarios)| **scenarios > 0);
        let others: Vec<&str> =
            in_run().map(|(name, _)| name.as_str()).filter(|name| !in_policy.contains(name)).collect();
        let unused = in_policy.iter().filter(|name| {
            self.0
                .get(&normalize_name(name))
                .is_some_and(|spellings| spellings.values().all(|scenarios| *scenarios == 0))
        });
        let slip = |name: &&str| {
            let near = nearest(name, &others)?;
            let scenarios = in_run().find(|(known, _)| *known == near).map_or(0, |(_, scenarios)| *scenarios);
            let spellings = vec![((*name).to_owned(), 0), (near.to_owned(), scenarios)];
            Some(GateCaveat::SimilarNames { kind, spellings })
        };
        unused.filter_map(slip).collect()
    }
}

impl Judge<'_> {
    /// What to know about names of categories, capabilities and failures.
    pub(super) fn caveats_on_names(&self) -> Vec<GateCaveat> {
        let weights = &self.policy.weights;
        let in_criteria = self.policy.gates.iter().filter_map(|gate| match &gate.origin {
            Origin::Category(category) => Some(&**category),
            _ => None,
        });
        let count = |names: &ScenarioNames<'_>| {
            let counts = names.count(self.summaries.iter().map(|scenario| scenario.sample));
            counts.into_iter().map(|(name, scenarios)| (name.to_string(), scenarios)).collect::<Vec<_>>()
        };
        let by_category: Vec<&str> = names(&weights.by_category).chain(in_criteria).collect();
        let by_capability: Vec<&str> = names(&weights.by_capability).collect();
        let mut caveats = Vec::new();
        let of_categories = spellings(count(&self.categories), by_category.clone());
        caveats.extend(of_categories.caveats(NameKind::Category));
        caveats.extend(of_categories.slips(NameKind::Category, &by_category));
        caveats.extend(self.several_names("category", NameKind::Category));
        let of_capabilities = spellings(count(&self.capabilities), by_capability.clone());
        caveats.extend(of_capabilities.caveats(NameKind::Capability));
        caveats.extend(of_capabilities.slips(NameKind::Capability, &by_capability));
        caveats.extend(self.several_names("capability", NameKind::Capability));
        caveats.extend(self.similar_failures());
        caveats
    }

    /// Scenarios whose attempts have different values of a metadata key.
    fn several_names(&self, key: &str, kind: NameKind) -> Option<GateCaveat> {
        let one = |(sample, others): (u32, Vec<&Value>)| {
            let first = self.samples.metadata_column(key).and_then(|column| column.value(sample));
            let first = first.map(Value::to_string).unwrap_or_default();
            let others = others.into_iter().map(Value::to_string);
            (self.samples.id(sample).to_string(), std::iter::once(first).chain(others).collect())
        };
        let scenarios: Vec<(String, Vec<String>)> = self.samples.other_values(key).into_iter().map(one).collect();
        (!scenarios.is_empty()).then_some(GateCaveat::SeveralNames { kind, scenarios })
    }

    /// Kinds of failure that are written in several ways: only one written as in the policy blocks.
    fn similar_failures(&self) -> Vec<GateCaveat> {
        let kinds: Vec<&str> = self.policy.blocking_failures.iter().map(|kind| kind.value.as_str()).collect();
        if kinds.is_empty() {
            return Vec::new();
        }
        let mut spellings = spellings(Vec::new(), kinds);
        let said = self.failure_columns();
        for scenario in self.binding() {
            self.failures_of(&scenario, &said).iter().for_each(|name| spellings.add(name, 1));
        }
        spellings.caveats(NameKind::Failure)
    }
}

fn names(list: &[(Spanned<String>, f64)]) -> impl Iterator<Item = &str> {
    list.iter().map(|(name, _)| name.value.as_str())
}

fn spellings(in_run: Vec<(String, u64)>, in_policy: Vec<&str>) -> Spellings {
    let mut spellings = Spellings::default();
    in_run.iter().for_each(|(name, scenarios)| spellings.add(name, *scenarios));
    in_policy.into_iter().collect::<BTreeSet<_>>().into_iter().for_each(|name| spellings.add(name, 0));
    spellings
}

#[cfg(test)]
mod tests {
    use super::normalize_name;

    #[test]
    fn names_are_alike_but_for_case_blanks_and_joints() {
        for name in ["edge_case", "Edge-Case", " edge case ", "EDGE__CASE"] {
            assert_eq!(normalize_name(name), "edge_case", "{name}");
        }
        assert_ne!(normalize_name("edge_cases"), "edge_case");
    }
}
