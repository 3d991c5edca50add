//! Which values are equal: `1`, `1.0` and `true` are one, as in Python.

use crate::Value;
use hashbrown::HashMap;

/// For each value, the place of the first one that equals it.
pub(crate) fn first_equals<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<u32> {
    let mut first: HashMap<Value, u32> = HashMap::new();
    values.zip(0..).map(|(value, place)| *first.entry(canonical(value)).or_insert(place)).collect()
}

/// A value in the one form that equal values share.
fn canonical(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(canonical).collect()),
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().map(|(key, value)| (key.clone(), canonical(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Map(entries)
        }
        plain => plain.canonical_number().unwrap_or_else(|| plain.clone()),
    }
}

/// True when several classes are the commonest. Sorts them.
pub(crate) fn has_tie<Class: Ord>(classes: &mut [Class]) -> bool {
    classes.sort_unstable();
    let (mut most, mut commonest) = (0, 0);
    for same in classes.chunk_by(|a, b| a == b) {
        if same.len() > most {
            (most, commonest) = (same.len(), 0);
        }
        commonest += usize::from(same.len() == most);
    }
    commonest > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn values() -> impl Strategy<Value = Value> {
        let plain = prop_oneof![
            (0..3_i64).prop_map(Value::from),
            prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(0.5), Just(2f64.powi(53))].prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            prop_oneof![Just("1"), Just("C")].prop_map(Value::from),
            prop_oneof![Just(Value::Null), Just(Value::Missing), Just(Value::Int((1 << 53) + 1))],
        ];
        let list = prop::collection::vec(plain.clone(), 0..3).prop_map(Value::List);
        let map = prop::collection::btree_map("[ab]", plain.clone(), 0..3).prop_flat_map(|map| {
            let entries: Vec<(Arc<str>, Value)> = map.into_iter().map(|(key, value)| (key.into(), value)).collect();
            Just(entries).prop_shuffle().prop_map(Value::Map)
        });
        prop_oneof![4 => plain, 1 => list, 1 => map]
    }

    proptest! {
        #[test]
        fn values_are_equal_as_they_are_one_by_one(values in prop::collection::vec(values(), 0..12)) {
            let slow = |value: &Value| values.iter().position(|other| other.equals(value)).expect("it equals itself") as u32;
            prop_assert_eq!(first_equals(values.iter()), values.iter().map(slow).collect::<Vec<u32>>());
        }

        #[test]
        fn a_tie_is_two_commonest_classes(classes in prop::collection::vec(0..4_u8, 0..9)) {
            let counts = [0, 1, 2, 3].map(|class| classes.iter().filter(|other| **other == class).count());
            let most = counts.into_iter().max().expect("four counts");
            let want = most > 0 && counts.into_iter().filter(|count| *count == most).count() > 1;
            prop_assert_eq!(has_tie(&mut classes.clone()), want);
        }
    }
}
