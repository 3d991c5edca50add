//! Rows of attempts as readers of tables make them: column by column, not one by one.

use crate::data::column::{ABSENT, Coded, Column, PackedText};
use crate::data::cow_indices::CowIndices;
use crate::data::ids::{IdRef, SampleIds};
use crate::data::row_codes::{FactColumn, RowCodes};
use crate::data::scores::{Scores, Values};
use crate::{CountingTexts, DistinctTexts, SampleId, Samples, Value};
use indexmap::IndexMap;
use std::sync::Arc;

/// A column of plain values, while it is being filled.
///
/// ```
/// use calipers_core::{Cells, Value};
///
/// let mut category = Cells::default();
/// category.push_text("math");
/// category.pad(2); // the second row has no value
/// category.push_text("math");
/// assert_eq!(category.len(), 3);
/// assert_eq!(Cells::coded(vec![0, 1, 0], vec![Value::from("C"), Value::from("I")]).len(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cells(Column);

impl Cells {
    /// Floats; a NaN is a gap.
    #[must_use]
    pub fn floats(floats: Vec<f64>) -> Self {
        Self(Column::Floats(floats))
    }

    /// An empty column for values that repeat.
    #[must_use]
    pub fn labels() -> Self {
        Self(Column::Coded(Coded::default()))
    }

    /// Codes into a list of values; a code beyond the list is a gap.
    #[must_use]
    pub fn coded(codes: Vec<u32>, values: Vec<Value>) -> Self {
        Self(Column::Coded(Coded::from_parts(codes, values)))
    }

    /// An empty column whose rows are codes of these texts, for [`extend_codes`](Self::extend_codes).
    #[must_use]
    pub fn of_texts(texts: DistinctTexts) -> Self {
        Self(Column::Coded(Coded::of_texts(texts)))
    }

    /// Adds rows to a column that [`of_texts`](Self::of_texts) has made; a code beyond the texts is a gap. False, and without effect, for
    /// another column.
    pub fn extend_codes(&mut self, codes: impl Iterator<Item = u32>) -> bool {
        match &mut self.0 {
            Column::Coded(coded) if coded.is_given() => coded.extend_codes(codes),
            _ => return false,
        }
        true
    }

    /// Adds a plain value.
    pub fn push(&mut self, value: Value) {
        self.0.push(value);
    }

    /// Adds text, which is only copied if it is new.
    pub fn push_text(&mut self, text: &str) {
        self.0.push_text(text);
    }

    /// Adds short texts, faster than one by one.
    ///
    /// ```
    /// use calipers_core::{Cells, PackedText};
    ///
    /// let mut category = Cells::labels();
    /// category.extend_packed(&[PackedText::new("math").expect("short"), PackedText::new("code").expect("short")]);
    /// assert_eq!(category.len(), 2);
    /// ```
    pub fn extend_packed(&mut self, texts: &[PackedText]) {
        if matches!(&self.0, Column::Floats(floats) if floats.is_empty()) {
            self.0 = Column::Coded(Coded::default());
        }
        if let Column::Coded(coded) = &mut self.0 {
            coded.extend_packed(texts);
        } else {
            let mut others = Coded::default();
            others.extend_packed(texts);
            self.0.append(&Column::Coded(others));
        }
    }

    /// Adds texts by their codes; a code beyond the texts is a gap.
    pub fn extend_coded<'t>(
        &mut self,
        codes: impl ExactSizeIterator<Item = u32>,
        texts: impl IntoIterator<Item = &'t str>,
    ) {
        if matches!(&self.0, Column::Floats(floats) if floats.is_empty()) {
            self.0 = Column::Coded(Coded::default());
        }
        if let Column::Coded(coded) = &mut self.0 {
            coded.extend_coded(codes, texts);
        } else {
            let mut others = Coded::default();
            others.extend_coded(codes, texts);
            self.0.append(&Column::Coded(others));
        }
    }

    /// The codes that texts have in this column from now on, for [`extend_known`](Self::extend_known); nothing for a column of numbers.
    pub fn codes_of_texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Option<Vec<u32>> {
        if matches!(&self.0, Column::Floats(floats) if floats.is_empty()) {
            self.0 = Column::Coded(Coded::default());
        }
        match &mut self.0 {
            Column::Coded(coded) => Some(coded.codes_of_texts(texts)),
            Column::Floats(_) => None,
        }
    }

    /// Adds texts by their places in a list whose codes are known; a place beyond it is a gap. False, and without effect, for a column
    /// of numbers.
    ///
    /// ```
    /// use calipers_core::Cells;
    ///
    /// let mut category = Cells::labels();
    /// category.push_text("code");
    /// let known = category.codes_of_texts(["math", "code"]).expect("a column of texts");
    /// assert!(category.extend_known([1, 0, 1].into_iter(), &known));
    /// assert_eq!(category.len(), 4);
    /// ```
    pub fn extend_known(&mut self, places: impl Iterator<Item = u32>, known: &[u32]) -> bool {
        match &mut self.0 {
            Column::Coded(coded) => coded.extend_known(places, known),
            Column::Floats(_) => return false,
        }
        true
    }

    /// Takes the rows out. The dictionary stays, so that the next rows share it.
    #[must_use]
    pub fn take_rows(&mut self) -> Self {
        match &mut self.0 {
            Column::Floats(floats) => Self::floats(std::mem::take(floats)),
            Column::Coded(coded) => Self(Column::Coded(coded.take_rows())),
        }
    }

    /// Adds gaps up to this many rows.
    pub fn pad(&mut self, rows: usize) {
        self.0.pad(rows);
    }

    /// Leaves out all rows from this one on.
    pub fn truncate(&mut self, rows: usize) {
        match &mut self.0 {
            Column::Floats(floats) => floats.truncate(rows),
            Column::Coded(coded) => coded.codes.truncate(rows),
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// These rows, of a column with this many.
    fn gather(&self, rows: &[u32], of: usize) -> Self {
        if self.len() >= of {
            return Self(self.0.gather(rows));
        }
        let mut whole = self.0.clone();
        whole.pad(of);
        Self(whole.gather(rows))
    }

    /// Adds floats, which need not be copied if they are the first; a NaN is a gap.
    ///
    /// ```
    /// use calipers_core::Cells;
    ///
    /// let mut scores = Cells::default();
    /// scores.append_floats(vec![0.5, 1.0]);
    /// scores.append_floats(vec![0.25]);
    /// assert_eq!(scores.len(), 3);
    /// ```
    pub fn append_floats(&mut self, floats: Vec<f64>) {
        match &mut self.0 {
            Column::Floats(mine) if mine.is_empty() => *mine = floats,
            _ => self.extend_floats(&floats),
        }
    }

    /// Adds floats; a NaN is a gap.
    pub fn extend_floats(&mut self, floats: &[f64]) {
        match &mut self.0 {
            Column::Floats(mine) => mine.extend_from_slice(floats),
            Column::Coded(coded) => coded.extend_floats(floats),
        }
    }
}

/// Attempts, one per row, column by column.
///
/// ```
/// use calipers_core::{Cells, Plan, Samples, Table};
///
/// let mut table = Table::with_numbers(vec![1, 2, 3, 4]);
/// table.score("judge", None, Cells::floats(vec![1.0, 0.0, 1.0, 1.0]));
/// let samples = Samples::from(table);
/// assert_eq!(Plan::new().measure(&samples)?.figure("judge", "accuracy").expect("default").value, Ok(0.75));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Table {
    ids: SampleIds,
    /// The sample of each row.
    sample: CowIndices,
    epochs: Option<Vec<u32>>,
    scores: Vec<(Arc<str>, Option<Vec<u32>>, Cells)>,
    unscored: Vec<(Arc<str>, u32, Arc<str>)>,
    fields: Vec<(Arc<str>, Cells)>,
    metadata: Vec<(Arc<str>, Cells)>,
    errors: Vec<(u32, Arc<str>)>,
}

impl Table {
    /// Rows of samples with these names.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = SampleId>) -> Self {
        let mut ids = SampleIds::default();
        let sample: Vec<u32> = names.into_iter().map(|name| ids.place((&name).into())).collect();
        Self::with(ids, sample.into())
    }

    /// Rows of samples with these numbers.
    #[must_use]
    pub fn with_numbers(numbers: Vec<i64>) -> Self {
        match SampleIds::ascending(numbers) {
            Ok(ids) => {
                let sample = CowIndices::counting(ids.len());
                Self::with(ids, sample)
            }
            Err(numbers) => Self::new(numbers.into_iter().map(SampleId::Int)),
        }
    }

    /// Rows of samples with short texts for names, given as Arrow's views hold them: the length in the lowest four bytes,
    /// then the text, then zeros. Nothing if they are not in order, longer than twelve bytes or might be numbers: then
    /// they have to be pushed one by one.
    #[must_use]
    pub fn with_short_texts(views: &[u128]) -> Option<Self> {
        let ids = SampleIds::ascending_short(views)?;
        let sample = CowIndices::counting(ids.len());
        Some(Self::with(ids, sample))
    }

    /// Rows of samples with texts for names that count up.
    #[must_use]
    pub fn with_counting_texts(texts: CountingTexts) -> Self {
        let ids = SampleIds::counting(texts);
        let sample = CowIndices::counting(ids.len());
        Self::with(ids, sample)
    }

    /// Adds a row of a sample whose id is a number.
    pub fn push_number(&mut self, number: i64) {
        let sample = self.ids.place(IdRef::Int(number));
        self.sample.push(sample);
    }

    /// Adds a row of a sample whose id is text.
    pub fn push_text(&mut self, text: &str) {
        let sample = self.ids.place(IdRef::Text(text));
        self.sample.push(sample);
    }

    fn with(ids: SampleIds, sample: CowIndices) -> Self {
        Self { ids, sample, ..Self::default() }
    }

    /// Leaves out the rows from this one on, before other columns are added.
    pub fn truncate(&mut self, rows: usize) {
        self.sample.own().truncate(rows);
        // Samples are numbered in the order of their first rows.
        let samples = self.sample.iter().max().map_or(0, |last| *last as usize + 1);
        self.ids.truncate(samples);
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.sample.len()
    }

    /// The epoch of each row. Without this, further rows of a sample get the next epoch.
    pub fn epochs(&mut self, epochs: Vec<u32>) {
        debug_assert_eq!(epochs.len(), self.rows());
        self.epochs = Some(epochs);
    }

    /// The scores of a scorer for these rows, or for all. A gap means that the scorer could not decide.
    pub fn score(&mut self, scorer: impl Into<Arc<str>>, rows: Option<Vec<u32>>, cells: Cells) {
        debug_assert_eq!(cells.len(), rows.as_ref().map_or(self.rows(), Vec::len));
        self.scores.push((scorer.into(), rows, cells));
    }

    /// Why the cell at this place of a scorer's cells is a gap.
    pub fn unscored(&mut self, scorer: impl Into<Arc<str>>, cell: u32, reason: impl Into<Arc<str>>) {
        self.unscored.push((scorer.into(), cell, reason.into()));
    }

    /// Measurements of the attempts.
    pub fn field(&mut self, name: impl Into<Arc<str>>, cells: Cells) {
        self.fields.push((name.into(), cells));
    }

    /// Metadata of the samples. Of several attempts of a sample, the first that has a value counts.
    pub fn metadata(&mut self, key: impl Into<Arc<str>>, cells: Cells) {
        self.metadata.push((key.into(), cells));
    }

    /// The attempt of this row failed to run.
    pub fn error(&mut self, row: u32, message: impl Into<Arc<str>>) {
        self.errors.push((row, message.into()));
    }

    /// The rows of each value of a column, in the order in which the values first appear; rows without one come first if
    /// they do.
    ///
    /// Metadata belongs to samples, so runs that share samples have to be told apart before the rows become samples.
    ///
    /// ```
    /// use calipers_core::{Cells, Samples, Table, Value};
    ///
    /// let mut table = Table::with_numbers(vec![1, 1, 2]);
    /// table.score("judge", None, Cells::floats(vec![1.0, 0.0, 1.0]));
    /// let runs = table.split(Cells::coded(vec![0, 1, 0], vec![Value::from("a"), Value::from("b")]));
    /// assert_eq!(runs[0].0, Some(Value::from("a")));
    /// assert_eq!(Samples::from(runs[0].1.clone()).len(), 2);
    /// ```
    #[must_use]
    pub fn split(self, by: Cells) -> Vec<(Option<Value>, Self)> {
        let by = without_missing(by.0.into_coded());
        let values = by.dictionary().len();
        let group = |row: usize| by.codes.get(row).map_or(values, |code| (*code as usize).min(values));
        let mut groups: Vec<Vec<u32>> = vec![Vec::new(); values + 1];
        // The place of each row in its group.
        let mut place = vec![0u32; self.rows()];
        for (row, place) in place.iter_mut().enumerate() {
            let rows = &mut groups[group(row)];
            *place = rows.len() as u32;
            rows.push(row as u32);
        }
        let mut tables: Vec<Self> = groups.iter().map(|rows| self.names_of(rows)).collect();
        for (rows, table) in groups.iter().zip(&mut tables) {
            let gather = |(name, cells): &(Arc<str>, Cells)| (name.clone(), cells.gather(rows, self.rows()));
            table.epochs = self.epochs.as_ref().map(|epochs| rows.iter().map(|&row| epochs[row as usize]).collect());
            table.fields = self.fields.iter().map(gather).collect();
            table.metadata = self.metadata.iter().map(gather).collect();
        }
        for (scorer, rows, cells) in &self.scores {
            let row_of = |cell: u32| rows.as_ref().map_or(cell, |rows| rows[cell as usize]);
            let mut picked: Vec<(Vec<u32>, Vec<u32>)> = vec![Default::default(); values + 1];
            let mut cell_place = vec![0u32; cells.len()];
            for cell in 0..cells.len() as u32 {
                let row = row_of(cell) as usize;
                let (rows, cells) = &mut picked[group(row)];
                cell_place[cell as usize] = cells.len() as u32;
                rows.push(place[row]);
                cells.push(cell);
            }
            for ((some, chosen), table) in picked.into_iter().zip(&mut tables) {
                if !chosen.is_empty() {
                    let some = rows.is_some().then_some(some);
                    table.scores.push((scorer.clone(), some, cells.gather(&chosen, cells.len())));
                }
            }
            for (_, cell, reason) in self.unscored.iter().filter(|(name, ..)| name == scorer) {
                let table = &mut tables[group(row_of(*cell) as usize)];
                table.unscored.push((scorer.clone(), cell_place[*cell as usize], reason.clone()));
            }
        }
        for (row, message) in &self.errors {
            tables[group(*row as usize)].errors.push((place[*row as usize], message.clone()));
        }
        let value = |place: usize| by.dictionary().get(place).cloned();
        let mut split: Vec<(u32, Option<Value>, Self)> = tables
            .into_iter()
            .enumerate()
            .filter_map(|(at, table)| Some((*groups[at].first()?, value(at), table)))
            .collect();
        split.sort_by_key(|(first, ..)| *first);
        split.into_iter().map(|(_, value, table)| (value, table)).collect()
    }

    /// A table with the samples of these rows, and nothing else.
    fn names_of(&self, rows: &[u32]) -> Self {
        let mut ids = SampleIds::default();
        let sample: Vec<u32> =
            rows.iter().map(|&row| ids.place((&self.ids.get(self.sample[row as usize])).into())).collect();
        Self::with(ids, sample.into())
    }

    fn has_one_row_per_sample(&self) -> bool {
        self.ids.len() == self.sample.len()
    }

    /// The epochs of the rows, and the last of each sample.
    fn count_epochs(&self) -> (CowIndices, CowIndices) {
        if self.has_one_row_per_sample() {
            let counted = || CowIndices::repeated(1, self.rows());
            let epochs = self.epochs.clone().map_or_else(counted, CowIndices::shared);
            return (epochs.clone(), epochs);
        }
        let mut last = vec![0u32; self.ids.len()];
        let epochs = self.sample.iter().enumerate().map(|(row, &sample)| {
            let last = &mut last[sample as usize];
            let epoch = self.epochs.as_ref().map_or_else(|| last.saturating_add(1), |epochs| epochs[row]);
            *last = epoch.max(*last);
            epoch
        });
        (CowIndices::shared(epochs.collect()), last.into())
    }

    /// Metadata by sample from values by row, and the codes of all rows where samples have several.
    fn by_sample(&self, cells: Cells) -> (FactColumn, Option<Vec<u32>>) {
        let mut by_row = without_missing(cells.0.into_coded());
        if self.has_one_row_per_sample() {
            let codes = std::mem::take(&mut by_row.codes);
            return (FactColumn::new(codes.into(), &by_row), None);
        }
        let mut codes = vec![ABSENT; self.ids.len()];
        for (&code, &sample) in by_row.codes.iter().zip(&*self.sample) {
            let known = &mut codes[sample as usize];
            if *known == ABSENT {
                *known = code;
            }
        }
        let by_attempt = std::mem::take(&mut by_row.codes);
        (FactColumn::new(codes.into(), &by_row), Some(by_attempt))
    }
}

/// The column with a gap for every missing value. A gap before the first text of a column is recorded as a missing value,
/// which must not count as the metadata of a sample.
fn without_missing(column: Coded) -> Coded {
    if column.is_given() {
        return column; // Texts are no missing values.
    }
    let Some(missing) = column.dictionary().iter().position(Value::is_missing) else { return column };
    let code = |&code: &u32| if code as usize == missing { ABSENT } else { code };
    column.with_codes(column.codes.iter().map(code).collect())
}

impl From<Table> for Samples {
    fn from(mut table: Table) -> Self {
        let (attempt_epoch, epochs) = table.count_epochs();
        let (mut metadata, mut attempt_facts) = (IndexMap::new(), IndexMap::new());
        for (key, cells) in std::mem::take(&mut table.metadata) {
            let (facts, by_attempt) = table.by_sample(cells);
            attempt_facts.extend(by_attempt.map(|codes| (key.clone(), RowCodes::from(codes))));
            metadata.insert(key, facts);
        }
        let has_attempt_facts = !table.has_one_row_per_sample();
        table.sample.share();
        // With one attempt per sample, samples and attempts have the same numbers.
        let is_in_order = || table.sample.is_counting() || table.sample.is_sorted();
        let attempt = if table.has_one_row_per_sample() && is_in_order() {
            table.sample.clone()
        } else {
            CowIndices::shared((0..table.rows() as u32).collect())
        };
        let mut samples = Self {
            epochs,
            metadata,
            attempt_counted: vec![table.epochs.is_none(); table.rows()],
            may_repeat: table.epochs.is_some(),
            fields: table.fields.into_iter().map(|(name, cells)| (name, cells.0.into())).collect(),
            errors: table.errors.into_iter().collect(),
            scores: Default::default(),
            attempt_facts: has_attempt_facts.then_some(attempt_facts),
            ids: table.ids,
            attempt_sample: table.sample,
            attempt_epoch,
        };
        for (scorer, rows, cells) in table.scores {
            let scores = match rows {
                None => Scores {
                    sample: samples.attempt_sample.clone(),
                    epoch: samples.attempt_epoch.clone(),
                    attempt: attempt.clone(),
                    values: Values::Scalars(cells.0),
                    ..Scores::default()
                },
                Some(rows) => Scores {
                    sample: rows.iter().map(|&row| samples.attempt_sample[row as usize]).collect(),
                    epoch: rows.iter().map(|&row| samples.attempt_epoch[row as usize]).collect(),
                    attempt: rows.into(),
                    values: Values::Scalars(cells.0),
                    ..Scores::default()
                },
            };
            samples.scores.insert(scorer, scores);
        }
        for (scorer, cell, reason) in table.unscored {
            if let Some(scores) = samples.scores.get_mut(&scorer) {
                scores.reasons.insert(cell, reason);
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a table: sample, epoch if given, score, category, latency.
    type Row = (&'static str, Option<u32>, Option<f64>, Option<&'static str>, f64);

    fn tables() -> Vec<Vec<Row>> {
        vec![
            vec![("a", None, Some(1.0), Some("x"), 10.0), ("b", None, Some(0.0), None, 20.0)],
            vec![
                ("b", None, Some(1.0), None, 10.0),
                ("a", None, None, Some("x"), 20.0),
                ("b", None, Some(0.0), Some("y"), f64::NAN),
                ("b", None, Some(0.5), Some("z"), 5.0),
            ],
            vec![("1", Some(3), Some(1.0), Some("x"), 1.0), ("1", Some(1), Some(0.0), Some("x"), 2.0)],
        ]
    }

    fn as_table(rows: &[Row]) -> Samples {
        let mut table = Table::new(rows.iter().map(|row| SampleId::from(row.0)));
        let epochs: Option<Vec<u32>> = rows.iter().map(|row| row.1).collect();
        epochs.into_iter().for_each(|epochs| table.epochs(epochs));
        table.score("judge", None, Cells::floats(rows.iter().map(|row| row.2.unwrap_or(f64::NAN)).collect()));
        let mut category = Cells::default();
        for (place, row) in rows.iter().enumerate() {
            category.pad(place);
            row.3.into_iter().for_each(|text| category.push_text(text));
        }
        category.pad(rows.len());
        table.metadata("category", category);
        table.field("latency_ms", Cells::floats(rows.iter().map(|row| row.4).collect()));
        Samples::from(table)
    }

    fn one_by_one(rows: &[Row]) -> Samples {
        let mut samples = Samples::new();
        for (id, epoch, score, category, latency) in rows {
            let attempt = match epoch {
                Some(epoch) => samples.push_epoch(*id, *epoch),
                None => samples.push(*id),
            };
            let attempt = match score {
                Some(score) => attempt.score("judge", *score),
                None => attempt.score("judge", crate::Outcome::unscored("no value")),
            };
            let attempt = if latency.is_nan() { attempt } else { attempt.field("latency_ms", *latency) };
            if let Some(category) = category {
                attempt.metadata("category", *category);
            }
        }
        samples
    }

    #[test]
    fn a_table_holds_what_its_rows_pushed_one_by_one_hold() {
        for rows in tables() {
            let (table, pushed) = (as_table(&rows), one_by_one(&rows));
            let known = |samples: &Samples| -> Vec<_> {
                samples.records().map(|record| (record.id, record.epoch, record.metadata, record.fields)).collect()
            };
            assert_eq!(known(&table), known(&pushed));
            let scores = |samples: &Samples| -> Vec<Value> {
                let points = samples.points("judge").expect("scored");
                (0..points.len()).map(|row| points.get(row).score.value).collect()
            };
            assert_eq!(scores(&table), scores(&pushed));
            assert_eq!(table.other_values("category"), pushed.other_values("category"));
        }
    }

    #[test]
    fn codes_of_given_texts_are_these_texts() {
        let texts = || DistinctTexts::new(["x", "y", "z"].map(str::to_owned).to_vec()).expect("distinct");
        let codes = [2, 0, 7, 2, u32::MAX];
        let mut given = Cells::of_texts(texts());
        assert!(given.extend_codes(codes.into_iter()));
        let mut pushed = Cells::labels();
        for (row, code) in codes.into_iter().enumerate() {
            pushed.pad(row);
            texts().iter().nth(code as usize).into_iter().for_each(|text| pushed.push_text(text));
        }
        pushed.pad(codes.len());
        let build = |cells: Cells| {
            let mut table = Table::with_numbers(vec![1, 2, 3, 4, 5]);
            table.metadata("kind", cells);
            Samples::from(table).records().collect::<Vec<_>>()
        };
        assert_eq!(build(given.clone()), build(pushed.clone()));
        // What is added later is told from the texts by its value.
        for cells in [&mut given, &mut pushed] {
            cells.push_text("x");
            cells.push(Value::Int(3));
            cells.truncate(7);
        }
        assert!(!given.extend_codes([0].into_iter()));
        let rows = |cells: &Cells| (0..7).map(|row| cells.0.get(row)).collect::<Vec<_>>();
        assert_eq!(rows(&given), rows(&pushed));
    }

    #[test]
    fn rows_that_are_cut_off_take_their_samples_along() {
        let mut table = Table::new(["a", "b", "a", "c"].map(SampleId::from));
        table.truncate(3);
        let samples = Samples::from(table);
        assert_eq!(samples.ids().map(|id| id.to_string()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(samples.attempts(), 3);
    }

    #[test]
    fn a_split_table_holds_what_the_rows_of_each_value_hold() {
        let rows = [("a", 1.0, "x"), ("b", 0.0, "x"), ("a", f64::NAN, "y"), ("c", 0.5, "y"), ("b", 1.0, "z")];
        let run = [Some("n"), Some("m"), Some("m"), None, Some("n")];
        let build = |kept: &[usize]| {
            let mut table = Table::new(kept.iter().map(|&row| SampleId::from(rows[row].0)));
            table.score("judge", None, Cells::floats(kept.iter().map(|&row| rows[row].1).collect()));
            let odd: Vec<usize> = (0..kept.len()).filter(|place| kept[*place] % 2 == 1).collect();
            if !odd.is_empty() {
                let cells = odd.iter().map(|&place| rows[kept[place]].1 / 2.0).collect();
                table.score("odd", Some(odd.iter().map(|&place| place as u32).collect()), Cells::floats(cells));
            }
            for (place, &row) in kept.iter().enumerate() {
                if rows[row].1.is_nan() {
                    table.unscored("judge", place as u32, "refused");
                }
                if row == 3 {
                    table.error(place as u32, "timeout");
                }
            }
            let mut category = Cells::labels();
            kept.iter().for_each(|&row| category.push_text(rows[row].2));
            table.metadata("category", category);
            table
        };
        let mut by = Cells::labels();
        for (row, run) in run.iter().enumerate() {
            by.pad(row);
            run.iter().for_each(|run| by.push_text(run));
        }
        by.pad(rows.len());
        let split = build(&[0, 1, 2, 3, 4]).split(by);
        let names: Vec<Option<Value>> = split.iter().map(|(value, _)| value.clone()).collect();
        assert_eq!(names, [Some("n".into()), Some("m".into()), None]);
        for ((_, table), kept) in split.into_iter().zip([&[0, 4][..], &[1, 2], &[3]]) {
            let (split, built) = (Samples::from(table), Samples::from(build(kept)));
            assert_eq!(split.records().collect::<Vec<_>>(), built.records().collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_in_any_order_are_the_same_samples() {
        for numbers in [vec![1, 2, 3], vec![3, 1, 2], vec![1, 1, 2]] {
            let samples = Samples::from(Table::with_numbers(numbers.clone()));
            let mut pushed = Samples::new();
            for &id in &numbers {
                pushed.push(id);
            }
            assert_eq!(samples.ids().collect::<Vec<_>>(), pushed.ids().collect::<Vec<_>>());
            assert_eq!(samples.attempts(), pushed.attempts());
        }
    }
}
