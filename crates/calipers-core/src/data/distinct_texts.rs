//! Texts that are all different, as the dictionary of a table in memory has them.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Different texts, one after the other.
///
/// A table may have a dictionary with as many texts as clusters. A metric that only asks which rows go together never looks at them, so
/// they become values only when one is asked for.
///
/// ```
/// use calipers_core::DistinctTexts;
///
/// assert_eq!(DistinctTexts::new(["b", "a", "c"]).expect("different").len(), 3);
/// assert!(DistinctTexts::new(["b", "a", "b"]).is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct DistinctTexts {
    texts: String,
    ends: Vec<usize>,
}

impl DistinctTexts {
    /// These texts; nothing if one is among them twice.
    #[must_use]
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Option<Self> {
        let mut all = Self::default();
        let (mut last, mut is_ascending) = ("", true);
        for text in texts {
            // Names with numbers at their ends ascend in this order, and then nothing has to be looked up.
            is_ascending &= all.ends.is_empty() || (last.len(), last) < (text.len(), text);
            all.texts.push_str(text);
            all.ends.push(all.texts.len());
            last = text;
        }
        (is_ascending || all.has_no_repeats()).then_some(all)
    }

    fn has_no_repeats(&self) -> bool {
        let hasher = DefaultHashBuilder::default();
        let mut known: HashTable<(u64, u32)> = HashTable::with_capacity(self.len());
        for (text, place) in self.iter().zip(0..) {
            let hash = hasher.hash_one(text);
            let is_same = |(other, at): &(u64, u32)| *other == hash && self.text(*at as usize) == text;
            match known.entry(hash, is_same, |(hash, _)| *hash) {
                hashbrown::hash_table::Entry::Occupied(_) => return false,
                hashbrown::hash_table::Entry::Vacant(free) => {
                    free.insert((hash, place));
                }
            }
        }
        true
    }

    fn text(&self, place: usize) -> &str {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[place]]
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|place| self.text(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_a_repeat_is_found_wherever_it_is() {
        let texts: Vec<String> = (0..300).map(|place| format!("d{}", place * 7919 % 300)).collect();
        let all = DistinctTexts::new(texts.iter().map(String::as_str)).expect("different");
        assert!(all.iter().eq(texts.iter().map(String::as_str)));
        for (from, to) in [(0, 299), (0, 1), (298, 299), (17, 250)] {
            let mut repeated = texts.clone();
            repeated[to] = repeated[from].clone();
            assert!(DistinctTexts::new(repeated.iter().map(String::as_str)).is_none());
        }
        assert!(DistinctTexts::new(["", ""]).is_none());
        assert!(DistinctTexts::new([""]).is_some() && DistinctTexts::new([]).is_some_and(|none| none.is_empty()));
    }
}
