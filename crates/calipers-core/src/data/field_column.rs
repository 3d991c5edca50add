//! A measurement of attempts, of which many may have none.

use crate::Value;
use crate::data::column::{ABSENT, Column};
use crate::data::cow_indices::CowIndices;
use crate::data::points::is_counting;

/// The values of a field by attempt, in room for as many as there are.
///
/// Names of fields are free text, as those of metadata are: see [`row_codes`](super::row_codes).
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldColumn {
    /// The rows of the cells, in their order; without a list, the cells are those of the first rows.
    rows: Option<Vec<u32>>,
    cells: Column,
}

/// A column of at most this many rows is never too sparse.
const ROWS_MIN: usize = 64;

impl From<Column> for FieldColumn {
    /// Cells of the first rows.
    fn from(cells: Column) -> Self {
        Self { rows: None, cells }
    }
}

impl FieldColumn {
    /// Adds the value of a row after the last one. Of two values for one row the first counts.
    pub(crate) fn push(&mut self, row: u32, value: Value) {
        let next = match &self.rows {
            Some(rows) => rows.last().map_or(0, |last| last + 1),
            None => self.cells.len() as u32,
        };
        if row < next {
            return;
        }
        let at = row as usize;
        if self.rows.is_none() && at >= ROWS_MIN && at > 8 * (self.cells.len() + 1) {
            let given: Vec<u32> = (0..next).filter(|&row| !self.cells.is_missing(row as usize)).collect();
            self.cells = self.cells.gather(&given);
            self.rows = Some(given);
        }
        match &mut self.rows {
            Some(rows) => rows.push(row),
            None => self.cells.pad(at),
        }
        self.cells.push(value);
    }

    /// Makes room for this many more values.
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.rows.is_none() {
            self.cells.reserve(more);
        }
    }

    /// The value of a row, if it is given.
    pub(crate) fn get(&self, row: u32) -> Option<Value> {
        let cell = self.cell(row)?;
        (!self.cells.is_missing(cell)).then(|| self.cells.get(cell))
    }

    fn cell(&self, row: u32) -> Option<usize> {
        match &self.rows {
            Some(rows) => rows.binary_search(&row).ok(),
            None => Some(row as usize).filter(|row| *row < self.cells.len()),
        }
    }

    /// How many cells there are, gaps included.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// True when not each of so many rows has a value.
    pub(crate) fn has_gaps(&self, rows: usize) -> bool {
        self.cells.len() < rows || self.cells.has_missing()
    }

    /// The rows of the cells.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.cells.len()).map(|cell| self.rows.as_ref().map_or(cell as u32, |rows| rows[cell]))
    }

    /// The values and the gaps that are kept.
    pub(crate) fn values(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.cells.len()).map(|cell| self.cells.get(cell))
    }

    /// The values of these rows as they are stored, if they are floats and the rows are all there are; a NaN is a gap.
    pub(crate) fn stored_floats(&self, rows: &CowIndices) -> Option<&[f64]> {
        match &self.cells {
            Column::Floats(floats) if self.rows.is_none() && rows.len() == floats.len() && rows.is_counting() => {
                Some(floats)
            }
            _ => None,
        }
    }

    /// The values, and gaps, of these rows.
    pub(crate) fn gather(&self, rows: &[u32]) -> Column {
        // Most often all rows are asked for, as they are.
        if self.rows.is_none() && rows.len() == self.cells.len() && is_counting(rows) {
            return self.cells.clone();
        }
        let is_whole = self.rows.is_none() && rows.iter().all(|row| (*row as usize) < self.cells.len());
        if is_whole {
            return self.cells.gather(rows);
        }
        let found: Vec<Option<u32>> = rows.iter().map(|&row| self.cell(row).map(|cell| cell as u32)).collect();
        self.cells.gather_found(&found)
    }

    /// The same rows elsewhere: `rows` are kept, in this order, and `place` is where each row goes.
    pub(crate) fn move_rows(&self, rows: &[u32], place: &[u32]) -> Self {
        let Some(own) = &self.rows else { return self.gather(rows).into() };
        let mut kept: Vec<(u32, u32)> = own
            .iter()
            .zip(0..)
            .map(|(&row, cell)| (place[row as usize], cell))
            .filter(|(row, _)| *row != ABSENT)
            .collect();
        kept.sort_unstable();
        let cells = self.cells.gather(&kept.iter().map(|(_, cell)| *cell).collect::<Vec<_>>());
        Self { rows: Some(kept.into_iter().map(|(row, _)| row).collect()), cells }
    }

    /// Adds the rows of another column after the first `rows` ones.
    pub(crate) fn append(&mut self, rows: u32, other: Self) {
        let is_list = self.rows.is_none() && other.rows.is_none() && rows as usize <= 8 * (self.cells.len() + 1);
        if is_list {
            self.cells.pad(rows as usize);
            self.cells.append(&other.cells);
            return;
        }
        for cell in 0..other.cells.len() {
            let row = other.rows.as_ref().map_or(cell as u32, |rows| rows[cell]);
            if !other.cells.is_missing(cell) {
                self.push(rows + row, other.cells.get(cell));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(column: &FieldColumn, rows: u32) -> Vec<Option<Value>> {
        (0..rows).map(|row| column.get(row)).collect()
    }

    /// Rows with a value: all, few, few and then many, labels, numbers and gaps among them.
    fn columns() -> Vec<Vec<(u32, Value)>> {
        let float = |row: u32| (row, Value::Float(f64::from(row)));
        let label = |row: u32| (row, Value::from(["a", "b", "c"][row as usize % 3]));
        vec![
            vec![],
            (0..500).map(float).collect(),
            (0..5).map(|row| float(row * 100)).collect(),
            (1..5).map(|row| label(row * 100)).collect(),
            (0..3).map(|row| label(row * 90)).chain((270..400).map(float)).collect(),
            vec![(0, Value::Missing), (3, Value::Null), (499, Value::Bool(true))],
        ]
    }

    fn column(pairs: &[(u32, Value)]) -> FieldColumn {
        let mut column = FieldColumn::default();
        pairs.iter().for_each(|(row, value)| column.push(*row, value.clone()));
        column
    }

    #[test]
    fn values_are_those_that_were_pushed_however_they_are_kept() {
        for pairs in columns() {
            let column = column(&pairs);
            let mut expected = vec![None; 600];
            for (row, value) in &pairs {
                expected[*row as usize] = Some(value.clone()).filter(|value| !value.is_missing());
            }
            assert_eq!(values(&column, 600), expected);
            let some = [599, 0, 100, 0, 270];
            let gathered = column.gather(&some);
            let found: Vec<Value> = (0..some.len()).map(|row| gathered.get(row)).collect();
            let want = some.map(|row| expected[row as usize].clone().unwrap_or(Value::Missing));
            assert_eq!(found, want);
            // Every second row is kept, the last one first.
            let rows: Vec<u32> = (0..600).rev().step_by(2).collect();
            let mut place = vec![ABSENT; 600];
            rows.iter().zip(0..).for_each(|(&row, new)| place[row as usize] = new);
            let kept: Vec<Option<Value>> = rows.iter().map(|&row| expected[row as usize].clone()).collect();
            assert_eq!(values(&column.move_rows(&rows, &place), 300), kept);
        }
    }

    #[test]
    fn appended_columns_equal_the_column_of_all_values() {
        for first in columns() {
            for second in columns() {
                let mut joined = column(&first);
                joined.append(600, column(&second));
                let moved = second.iter().map(|(row, value)| (row + 600, value.clone()));
                let all: Vec<(u32, Value)> = first.iter().cloned().chain(moved).collect();
                assert_eq!(values(&joined, 1200), values(&column(&all), 1200));
            }
        }
    }

    #[test]
    fn room_is_proportional_to_values_and_not_to_rows() {
        let rare = column(&(0..100).map(|row| (row * 10_000, Value::Int(1))).collect::<Vec<_>>());
        assert!(rare.len() <= 100, "{}", rare.len());
    }
}
