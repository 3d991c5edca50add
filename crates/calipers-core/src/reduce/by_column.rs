//! Reducing a whole column of plain values at once.

use super::AttemptGroups;
use super::by_value::number;
use super::equal_values::first_equals;
use super::rule::{Pick, ReduceRule, ScoreClass, Shortage};
use crate::data::column::{ABSENT, Coded, Column};
use crate::data::labels::name_other_labels;
use crate::{Error, ErrorKind, Labels, Value};
use hashbrown::HashMap;

impl ReduceRule {
    /// One value per sample. `name` adds the sample to an error.
    pub(super) fn reduce_column(
        &self,
        column: &Column,
        attempts: &AttemptGroups,
        labels: &Labels,
        name: &impl Fn(u32, Error) -> Error,
    ) -> Result<Column, Error> {
        let shortage = Shortage::of(labels);
        let coded = match column {
            Column::Floats(floats) => {
                if !labels.is_lenient()
                    && !self.only_counts()
                    && let Some((sample, infinite)) = first_infinite(floats, attempts)
                {
                    return Err(name(sample, ErrorKind::NotFinite(infinite).into()));
                }
                let labels = (labels.map_numbers() && !self.only_counts()).then_some(labels);
                return Ok(self.reduce_rows(
                    attempts,
                    shortage,
                    &FloatRows { floats, compared: self.only_counts(), labels },
                ));
            }
            Column::Coded(coded) => coded,
        };
        let table = ValueClasses::new(coded, if self.only_counts() { None } else { Some(labels) });
        if let Some((sample, error)) = table.first_bad(coded, attempts) {
            return Err(name(sample, name_other_labels(error, coded.dictionary(), labels)));
        }
        if attempts.is_single() && matches!(self, Self::Mean | Self::Median) {
            return Ok(Column::Coded(table.as_numbers(coded)));
        }
        Ok(self.reduce_rows(attempts, shortage, &CodedRows { coded, table: &table }))
    }

    fn reduce_rows(&self, attempts: &AttemptGroups, shortage: Shortage, column: &impl ColumnRows) -> Column {
        let mut output = ReducedColumn::default();
        let mut scored: Vec<ScoreClass> = Vec::new();
        let mut places: Vec<u32> = Vec::new();
        let mut sorted = Vec::new();
        let mut known = KnownFloats::default();
        for (_, rows) in attempts.iter() {
            scored.clear();
            known.clear();
            let mut has_gaps = false;
            scored.extend(rows.iter().map(|&row| {
                let class = column.class(row, &mut known);
                has_gaps |= class.is_missing();
                class
            }));
            let mut scored_rows = rows;
            if has_gaps {
                places.clear();
                places.extend(rows.iter().zip(&scored).filter(|(_, class)| !class.is_missing()).map(|(row, _)| row));
                scored.retain(|class| !class.is_missing());
                scored_rows = &places;
            }
            output.push(self.decide(&scored, rows.len(), shortage, &mut sorted), scored_rows);
        }
        output.finish(column)
    }
}

/// The first sample with an infinite attempt.
fn first_infinite(floats: &[f64], attempts: &AttemptGroups) -> Option<(u32, f64)> {
    if !floats.iter().any(|x| x.is_infinite()) {
        return None;
    }
    let infinite = |&row: &u32| Some(floats[row as usize]).filter(|x| x.is_infinite());
    attempts.iter().find_map(|(sample, rows)| Some((sample, rows.iter().find_map(infinite)?)))
}

/// A column as the rules see it.
trait ColumnRows {
    /// The class of a row, the same as that of an equal one among the earlier rows of its sample.
    fn class(&self, row: u32, known: &mut KnownFloats) -> ScoreClass;
    /// The given rows of the column; `None` is missing.
    fn pick(&self, rows: &[Option<u32>]) -> Column;
}

/// The distinct floats of one sample, each with its first row.
#[derive(Default)]
struct KnownFloats {
    /// The first few, which are looked through.
    few: Vec<(f64, u32)>,
    /// All others: a sample may have as many attempts as there are rows.
    many: HashMap<u64, u32>,
}

impl KnownFloats {
    /// More than this many are not looked through for every attempt.
    const FEW: usize = 32;

    /// The first row with this float, which is this row if there is none yet.
    fn first(&mut self, value: f64, row: u32) -> u32 {
        if let Some((_, first)) = self.few.iter().find(|(known, _)| *known == value) {
            return *first;
        }
        if self.few.len() < Self::FEW {
            self.few.push((value, row));
            return row;
        }
        // Both zeros are equal.
        *self.many.entry((value + 0.0).to_bits()).or_insert(row)
    }

    fn clear(&mut self) {
        self.few.clear();
        if !self.many.is_empty() {
            self.many = HashMap::new();
        }
    }
}

struct FloatRows<'a> {
    floats: &'a [f64],
    /// True when values are compared with one another.
    compared: bool,
    /// Labels that give some number another meaning.
    labels: Option<&'a Labels>,
}

impl ColumnRows for FloatRows<'_> {
    fn class(&self, row: u32, known: &mut KnownFloats) -> ScoreClass {
        let value = self.floats[row as usize];
        if value.is_nan() {
            return ScoreClass::MISSING;
        }
        let class = if self.compared { known.first(value, row) } else { row };
        let number = self.labels.map_or(value, |labels| labels.number(value));
        ScoreClass { number, class }
    }

    fn pick(&self, rows: &[Option<u32>]) -> Column {
        Column::Floats(rows.iter().map(|row| row.map_or(f64::NAN, |row| self.floats[row as usize])).collect())
    }
}

struct CodedRows<'a> {
    coded: &'a Coded,
    table: &'a ValueClasses,
}

impl ColumnRows for CodedRows<'_> {
    fn class(&self, row: u32, _: &mut KnownFloats) -> ScoreClass {
        let code = self.coded.codes[row as usize] as usize;
        self.table.classes.get(code).copied().unwrap_or(ScoreClass::MISSING)
    }

    fn pick(&self, rows: &[Option<u32>]) -> Column {
        let code = |row: &Option<u32>| row.map_or(ABSENT, |row| self.coded.codes[row as usize]);
        Column::Coded(self.coded.with_codes(rows.iter().map(code).collect()))
    }
}

/// The picks of one column; a rule makes all of one sort.
#[derive(Default)]
struct ReducedColumn {
    numbers: Vec<f64>,
    flags: Option<Coded>,
    rows: Vec<Option<u32>>,
    nothing: usize,
}

impl ReducedColumn {
    fn push(&mut self, pick: Pick, places: &[u32]) {
        match pick {
            Pick::Nothing => {
                self.nothing += 1;
                self.numbers.push(f64::NAN);
                self.rows.push(None);
                if let Some(flags) = &mut self.flags {
                    flags.push(Value::Missing);
                }
            }
            Pick::Number(x) => self.numbers.push(x),
            Pick::Attempt(place) => self.rows.push(Some(places[place])),
            Pick::Flag(yes) => {
                let nothing = self.nothing;
                let flags = self.flags.get_or_insert_with(|| {
                    let mut flags = Coded::default();
                    (0..nothing).for_each(|_| flags.push(Value::Missing));
                    flags
                });
                flags.push(Value::Int(i64::from(yes)));
            }
        }
    }

    fn finish(self, column: &impl ColumnRows) -> Column {
        match self.flags {
            Some(flags) => Column::Coded(flags),
            None if self.rows.len() > self.nothing => column.pick(&self.rows),
            None => Column::Floats(self.numbers),
        }
    }
}

/// What each distinct value of a column means.
struct ValueClasses {
    classes: Vec<ScoreClass>,
    /// Values without a number, and why.
    bad: Vec<(u32, Error)>,
}

impl ValueClasses {
    /// Numbers are looked up only when there are labels to look them up with.
    fn new(coded: &Coded, labels: Option<&Labels>) -> Self {
        let dictionary = coded.dictionary();
        let mut bad = Vec::new();
        // Without labels, values are only compared.
        let first = labels.is_none().then(|| first_equals(dictionary.iter()));
        let classes = dictionary.iter().enumerate().map(|(code, value)| {
            if value.is_missing() {
                return ScoreClass::MISSING;
            }
            let number = labels.map_or(Ok(0.0), |labels| number(value, labels)).unwrap_or_else(|error| {
                bad.push((code as u32, error));
                0.0
            });
            ScoreClass { number, class: first.as_ref().map_or(code as u32, |first| first[code]) }
        });
        let classes = classes.collect();
        Self { classes, bad }
    }

    fn first_bad(&self, coded: &Coded, attempts: &AttemptGroups) -> Option<(u32, Error)> {
        if self.bad.is_empty() {
            return None;
        }
        let error = |&row: &u32| self.bad.iter().find(|(code, _)| *code == coded.codes[row as usize]);
        attempts.iter().find_map(|(sample, rows)| {
            let (_, error) = rows.iter().find_map(error)?;
            Some((sample, error.clone()))
        })
    }

    /// The column with each value as its number: the mean of one attempt is its number.
    fn as_numbers(&self, coded: &Coded) -> Coded {
        let mut numbers = Coded::default();
        for class in &self.classes {
            numbers.push(if class.is_missing() { Value::Missing } else { Value::from(class.number) });
        }
        let new_code = |&code: &u32| numbers.codes.get(code as usize).copied().unwrap_or(ABSENT);
        numbers.with_codes(coded.codes.iter().map(new_code).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::cow_indices::CowIndices;
    use crate::data::scores::{Scores, Values};

    const RULES: [ReduceRule; 8] = [
        ReduceRule::Mean,
        ReduceRule::Median,
        ReduceRule::Mode,
        ReduceRule::Max,
        ReduceRule::Majority,
        ReduceRule::PassAt { k: 2, value: 1.0 },
        ReduceRule::PassK { k: 2, value: 1.0 },
        ReduceRule::AtLeast { k: 1, value: 0.5 },
    ];

    #[test]
    fn floats_are_known_again_however_many_there_are() {
        let mut known = KnownFloats::default();
        for round in 0..2 {
            for place in 0..200_u32 {
                let first = known.first(f64::from(place) - 100.0, place + 200 * round);
                assert_eq!(first, place);
            }
        }
        assert_eq!(known.first(-0.0, 900), 100);
        known.clear();
        assert_eq!(known.first(7.0, 5), 5);
    }

    fn scores(samples: &[u32], values: &[Value]) -> Scores {
        let rows = samples.len() as u32;
        Scores {
            sample: samples.to_vec().into(),
            epoch: CowIndices::from((0..rows).collect::<Vec<_>>()),
            attempt: CowIndices::from((0..rows).collect::<Vec<_>>()),
            values: values.iter().cloned().collect(),
            ..Scores::default()
        }
    }

    /// The plain twin: each sample is reduced by itself.
    fn one_by_one(rule: ReduceRule, scores: &Scores, labels: &Labels) -> Vec<Value> {
        let groups = AttemptGroups::of(scores).expect("no conflicts");
        let reduce = |rows: &[u32]| {
            let values: Vec<Value> = rows.iter().map(|&row| scores.values.get(row as usize)).collect();
            rule.reduce_values(&values.iter().collect::<Vec<_>>(), labels, "the rule").expect("plain values")
        };
        groups.iter().map(|(_, rows)| reduce(rows)).collect()
    }

    #[test]
    fn a_column_is_reduced_as_its_samples_one_by_one() {
        let samples = [0, 0, 1, 2, 2, 2, 0, 3, 3];
        let (c, i, p, gap) = (Value::from("C"), Value::from("I"), Value::from("P"), Value::Missing);
        let floats = [1.0, 0.0, 0.5, 1.0, f64::NAN, 1.0, 1.0, f64::NAN, f64::NAN].map(Value::from);
        let labels = [&c, &i, &p, &i, &i, &gap, &c, &gap, &gap].map(Value::clone);
        let kinds =
            [&Value::Int(1), &Value::Bool(true), &c, &Value::Float(1.0), &i, &i, &gap, &gap, &c].map(Value::clone);
        for values in [&floats, &labels, &kinds] {
            let scores = scores(&samples, values);
            let Values::Scalars(column) = &scores.values else { panic!("plain values") };
            let groups = AttemptGroups::of(&scores).expect("no conflicts");
            for own in [Labels::default(), Labels::default().with("P", 0.25).with(1.0, 0.75)] {
                for rule in RULES {
                    let reduced = rule.reduce_column(column, &groups, &own, &|_, error| error).expect("plain values");
                    let values: Vec<Value> = (0..reduced.len()).map(|row| reduced.get(row)).collect();
                    let same = values.iter().zip(one_by_one(rule, &scores, &own)).all(|(a, b)| a.equals(&b));
                    assert!(same, "{rule:?}: {values:?} and not {:?}", one_by_one(rule, &scores, &own));
                }
            }
        }
    }

    #[test]
    fn an_error_names_the_first_sample_that_has_it() {
        for (values, want) in [
            ([1.0, f64::INFINITY, f64::NEG_INFINITY].map(Value::from), "score `inf` is infinite"),
            (["C", "maybe", "perhaps"].map(Value::from), "scores `maybe`, `perhaps` are not numbers or known labels"),
        ] {
            let scores = scores(&[5, 7, 9], &values);
            let Values::Scalars(column) = &scores.values else { panic!("plain values") };
            let groups = AttemptGroups::of(&scores).expect("no conflicts");
            let name = |sample: u32, error: Error| Error::custom(format!("{sample}: {}", error.kind()));
            let error = ReduceRule::Mean.reduce_column(column, &groups, &Labels::default(), &name).expect_err("wrong");
            assert_eq!(error.kind().to_string(), format!("7: {want}"));
            // Rules that only compare values take any.
            assert!(ReduceRule::Mode.reduce_column(column, &groups, &Labels::default(), &name).is_ok());
        }
    }
}
