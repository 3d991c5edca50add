//! Texts that are all different, as the dictionary of a table in memory has them.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::fmt::Debug;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Texts where they are, such as the dictionary of a column in memory.
pub trait TextList: Debug + Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text at this place, which is below the number of texts.
    fn text(&self, place: usize) -> &str;
}

impl TextList for Vec<String> {
    fn len(&self) -> usize {
        self.len()
    }

    fn text(&self, place: usize) -> &str {
        &self[place]
    }
}

/// Different texts, one after the other, which are not copied.
///
/// A table may have a dictionary with as many texts as clusters. A metric that only asks which rows go together never looks at them, so
/// they become values only when one is asked for.
///
/// ```
/// use calipers_core::DistinctTexts;
///
/// let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
/// assert_eq!(DistinctTexts::new(texts(&["b", "a", "c"])).expect("different").len(), 3);
/// assert!(DistinctTexts::new(texts(&["b", "a", "b"])).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct DistinctTexts(Arc<dyn TextList>);

impl DistinctTexts {
    /// These texts; nothing if one is among them twice.
    #[must_use]
    pub fn new<T: TextList + 'static>(texts: T) -> Option<Self> {
        // Names with numbers at their ends ascend in this order, and then nothing has to be looked up.
        let key = |place: usize| (texts.text(place).len(), texts.text(place));
        let is_ascending = (1..texts.len()).all(|place| key(place - 1) < key(place));
        (is_ascending || has_no_repeats(&texts)).then(|| Self(Arc::new(texts)))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|place| self.0.text(place))
    }
}

fn has_no_repeats(texts: &impl TextList) -> bool {
    let hasher = DefaultHashBuilder::default();
    let mut known: HashTable<(u64, u32)> = HashTable::with_capacity(texts.len());
    for place in 0..texts.len() {
        let text = texts.text(place);
        let hash = hasher.hash_one(text);
        let is_same = |(other, at): &(u64, u32)| *other == hash && texts.text(*at as usize) == text;
        match known.entry(hash, is_same, |(hash, _)| *hash) {
            hashbrown::hash_table::Entry::Occupied(_) => return false,
            hashbrown::hash_table::Entry::Vacant(free) => {
                free.insert((hash, place as u32));
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_a_repeat_is_found_wherever_it_is() {
        let texts: Vec<String> = (0..300).map(|place| format!("d{}", place * 7919 % 300)).collect();
        let all = DistinctTexts::new(texts.clone()).expect("different");
        assert!(all.iter().eq(texts.iter().map(String::as_str)));
        for (from, to) in [(0, 299), (0, 1), (298, 299), (17, 250)] {
            let mut repeated = texts.clone();
            repeated[to] = repeated[from].clone();
            assert!(DistinctTexts::new(repeated).is_none());
        }
        assert!(DistinctTexts::new(vec![String::new(); 2]).is_none());
        assert!(DistinctTexts::new(vec![String::new()]).is_some());
        assert!(DistinctTexts::new(Vec::new()).is_some_and(|none| none.is_empty()));
    }
}
