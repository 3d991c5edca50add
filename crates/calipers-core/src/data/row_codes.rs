//! Codes of rows, of which many may have none.
//!
//! Metadata keys are free text: a file may have as many of them as rows, and then nearly every column is nearly empty. So a
//! column takes as much room as it has values, not as there are rows.

use crate::Value;
use crate::data::column::{ABSENT, Coded};
use std::collections::BTreeMap;

/// The code of each row that has one.
///
/// A full column is a list with a code per row. Where fewer than one row in eight has a value, it is a map; from one in four
/// on, it is a list again. Between two changes the number of values has doubled, or that of rows, so changing costs no more
/// than filling.
#[derive(Clone, Debug)]
pub(crate) enum RowCodes {
    /// By row, [`ABSENT`] in a gap, and how many are no gaps.
    Dense(Vec<u32>, usize),
    /// By row, without the gaps.
    Sparse(BTreeMap<u32, u32>),
}

/// A list of at most this many rows is never too sparse.
const ROWS_MIN: usize = 64;

impl Default for RowCodes {
    fn default() -> Self {
        Self::Dense(Vec::new(), 0)
    }
}

impl From<Vec<u32>> for RowCodes {
    fn from(mut codes: Vec<u32>) -> Self {
        let given = codes.iter().filter(|&&code| code != ABSENT).count();
        if is_too_sparse(codes.len(), given) {
            return Self::Sparse((0..).zip(codes).filter(|(_, code)| *code != ABSENT).collect());
        }
        codes.shrink_to_fit();
        Self::Dense(codes, given)
    }
}

fn is_too_sparse(rows: usize, given: usize) -> bool {
    rows > ROWS_MIN && rows > 8 * given
}

impl RowCodes {
    /// The code of a row, [`ABSENT`] if it has none.
    pub(crate) fn get(&self, row: u32) -> u32 {
        match self {
            Self::Dense(codes, _) => codes.get(row as usize).copied().unwrap_or(ABSENT),
            Self::Sparse(codes) => codes.get(&row).copied().unwrap_or(ABSENT),
        }
    }

    /// Makes room for this many more rows, where each has its place.
    pub(crate) fn reserve(&mut self, more: usize) {
        if let Self::Dense(codes, _) = self {
            codes.reserve(more);
        }
    }

    /// Sets the code of a row that has none yet.
    pub(crate) fn set_if_gap(&mut self, row: u32, code: u32) {
        let at = row as usize;
        if let Self::Dense(codes, given) = self
            && codes.len() <= at
            && is_too_sparse(at + 1, *given + 1)
        {
            *self = Self::Sparse((0..).zip(codes.drain(..)).filter(|(_, code)| *code != ABSENT).collect());
        }
        match self {
            Self::Dense(codes, given) => {
                if codes.len() <= at {
                    codes.resize(at + 1, ABSENT);
                }
                if codes[at] == ABSENT && code != ABSENT {
                    codes[at] = code;
                    *given += 1;
                }
            }
            Self::Sparse(codes) => {
                if code != ABSENT {
                    codes.entry(row).or_insert(code);
                }
                let rows = codes.last_key_value().map_or(0, |(last, _)| *last as usize + 1);
                if rows <= 4 * codes.len() {
                    let mut dense = vec![ABSENT; rows];
                    codes.iter().for_each(|(&row, &code)| dense[row as usize] = code);
                    let given = codes.len();
                    *self = Self::Dense(dense, given);
                }
            }
        }
    }

    /// Adds the codes of another list after the first `rows` ones, each by what it is here.
    pub(crate) fn append(&mut self, rows: u32, other: &Self, code_here: impl Fn(u32) -> u32) {
        if let (Self::Dense(mine, given), Self::Dense(theirs, more)) = (&mut *self, other)
            && mine.len() == rows as usize
        {
            mine.extend(theirs.iter().map(|&code| if code == ABSENT { ABSENT } else { code_here(code) }));
            *given += more;
            return;
        }
        other.iter().for_each(|(row, code)| self.set_if_gap(rows + row, code_here(code)));
    }

    /// The rows that have a code, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (dense, sparse) = match self {
            Self::Dense(codes, _) => (Some(codes), None),
            Self::Sparse(codes) => (None, Some(codes)),
        };
        let dense = dense.into_iter().flat_map(|codes| (0..).zip(codes.iter().copied()));
        let sparse = sparse.into_iter().flat_map(|codes| codes.iter().map(|(&row, &code)| (row, code)));
        dense.filter(|(_, code)| *code != ABSENT).chain(sparse)
    }

    /// How many rows have a code.
    pub(crate) fn count_given(&self) -> usize {
        match self {
            Self::Dense(_, given) => *given,
            Self::Sparse(codes) => codes.len(),
        }
    }

    /// The codes by row, if they are a list. Rows beyond it have none.
    pub(crate) fn as_list(&self) -> Option<&[u32]> {
        match self {
            Self::Dense(codes, _) => Some(codes),
            Self::Sparse(_) => None,
        }
    }

    /// True for a list without gaps.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Dense(codes, given) if codes.len() == *given)
    }

    /// A list with as many rows.
    pub(crate) fn to_list(&self, rows: usize) -> Vec<u32> {
        let mut list = vec![ABSENT; rows];
        self.iter().for_each(|(row, code)| list[row as usize] = code);
        list
    }

    /// The codes of other rows: `place` says where each row goes, [`ABSENT`] if it is left out.
    pub(crate) fn move_rows(&self, place: &[u32], rows: usize) -> Self {
        let kept = |(row, code): (u32, u32)| {
            let place = place.get(row as usize).copied().unwrap_or(ABSENT);
            (place != ABSENT).then_some((place, code))
        };
        match self {
            Self::Dense(..) => {
                let mut list = vec![ABSENT; rows];
                self.iter().filter_map(kept).for_each(|(place, code)| list[place as usize] = code);
                list.into()
            }
            Self::Sparse(_) => Self::Sparse(self.iter().filter_map(kept).collect()),
        }
    }

    /// How many cells are kept in memory, gaps included.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> usize {
        match self {
            Self::Dense(codes, _) => codes.capacity(),
            Self::Sparse(codes) => codes.len(),
        }
    }
}

/// The values of a metadata key, sample by sample.
#[derive(Clone, Debug, Default)]
pub struct FactColumn {
    /// By sample.
    pub(crate) codes: RowCodes,
    /// Only its dictionary is used: the distinct values.
    labels: Coded,
}

impl FactColumn {
    /// These codes, into the dictionary of a column.
    pub(crate) fn new(codes: RowCodes, labels: &Coded) -> Self {
        Self { codes, labels: labels.with_codes(Vec::new()) }
    }

    /// The value of a sample.
    #[must_use]
    pub fn value(&self, sample: u32) -> Option<&Value> {
        self.dictionary().get(self.codes.get(sample) as usize)
    }

    /// The place of a sample's value in the dictionary, if it has one.
    #[must_use]
    pub fn code(&self, sample: u32) -> Option<u32> {
        Some(self.codes.get(sample)).filter(|&code| code != ABSENT)
    }

    /// The distinct values.
    #[must_use]
    pub fn dictionary(&self) -> &[Value] {
        self.labels.dictionary()
    }

    /// How many samples have a value.
    #[must_use]
    pub fn count_given(&self) -> usize {
        self.codes.count_given()
    }

    /// The distinct values, as a column without rows.
    pub(crate) fn labels(&self) -> &Coded {
        &self.labels
    }

    pub(crate) fn labels_mut(&mut self) -> &mut Coded {
        &mut self.labels
    }

    /// The same values under other codes.
    pub(crate) fn with_codes(&self, codes: RowCodes) -> Self {
        Self { codes, labels: self.labels.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(codes: &RowCodes) -> Vec<(u32, u32)> {
        codes.iter().collect()
    }

    #[test]
    fn codes_are_kept_whatever_their_number_and_order() {
        let orders: [Vec<u32>; 5] = [
            (0..300).collect(),
            (0..300).rev().collect(),
            (0..300).map(|row| row * 97 % 300 * 50).collect(),
            (0..40).map(|row| row * 1000).chain(0..20_000).collect(),
            vec![70_000, 3, 69_999],
        ];
        for order in orders {
            let mut codes = RowCodes::default();
            let mut expected = BTreeMap::new();
            for &row in &order {
                codes.set_if_gap(row, row % 7);
                codes.set_if_gap(row, 9);
                expected.entry(row).or_insert(row % 7);
            }
            assert_eq!(pairs(&codes), expected.into_iter().collect::<Vec<_>>());
            let rows = order.iter().max().map_or(0, |last| *last as usize + 1);
            let again = RowCodes::from(codes.to_list(rows));
            assert_eq!(pairs(&again), pairs(&codes));
            assert_eq!(again.get(rows as u32), ABSENT);
            // All but the last row move one down.
            let place: Vec<u32> = (0..rows as u32 - 1).map(|row| row + 1).chain([ABSENT]).collect();
            let moved: Vec<(u32, u32)> = pairs(&codes)
                .into_iter()
                .filter(|(row, _)| *row as usize + 1 < rows)
                .map(|(r, c)| (r + 1, c))
                .collect();
            assert_eq!(pairs(&codes.move_rows(&place, rows)), moved);
        }
    }

    #[test]
    fn room_is_proportional_to_values_and_not_to_rows() {
        let mut rare = RowCodes::default();
        (0..100).for_each(|row| rare.set_if_gap(row * 10_000, 0));
        assert!(rare.cells() <= 200, "{}", rare.cells());
        let mut full = RowCodes::default();
        (0..10_000).for_each(|row| full.set_if_gap(row, 0));
        assert!(full.is_full() && full.as_list().is_some_and(|list| list.len() == 10_000));
    }
}
