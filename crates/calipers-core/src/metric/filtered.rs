//! A metric of some of the samples, or of one scorer.

use super::{Context, Measure, Metric, Scope, State, Tally, View};
use crate::data::column::Column;
use crate::{
    Answer, Error, ErrorKind, Evidence, Figure, Points, Reason, StateReader, StateWriter, Undefined, UnmetCondition,
    Value,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Metric {
    /// The metric over the samples that meet every condition, under its own name.
    ///
    /// A condition names a metadata key and its value, or a list of values of which one has to match; values match if
    /// they are equal or print alike. For metrics over fields the key may be a field too. A key that nothing in the run
    /// has is an error, and if no sample meets the conditions the figure is undefined and says so.
    ///
    /// ```
    /// use calipers_core::{accuracy, Plan, Samples};
    ///
    /// let mut samples = Samples::new();
    /// for (id, category, score) in [(1, "adversarial", "C"), (2, "adversarial", "I"), (3, "core", "C")] {
    ///     samples.push(id).metadata("category", category).score("judge", score);
    /// }
    /// let adversarial = accuracy().only_where([("category", "adversarial")])?;
    /// let results = Plan::new().metrics([adversarial]).measure(&samples)?;
    /// assert_eq!(results.figure("judge", "accuracy").expect("asked for").value, Ok(0.5));
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn only_where<K: Into<Arc<str>>, V: Into<Value>>(
        self,
        conditions: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, Error> {
        let conditions: Vec<(Arc<str>, Value)> =
            conditions.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        if conditions.is_empty() {
            return Err(Error::argument("`where` names no condition", "write `where={\"category\": \"adversarial\"}`"));
        }
        let stand_in = self.stand_in().map(|metric| Arc::new(metric.chosen(&conditions)));
        let mut metric = self.chosen(&conditions);
        metric.without_scores = stand_in;
        metric.params.clone_from(&self.params);
        metric.fields.extend(conditions.iter().map(|(key, _)| key.clone()));
        Ok(metric.param("where", Value::Map(conditions)))
    }

    /// The metric over the samples that meet these conditions. Keys that the run does not have match nothing.
    pub(super) fn chosen(&self, conditions: &[(Arc<str>, Value)]) -> Self {
        let outer = Chosen { metric: self.clone(), conditions: conditions.to_vec() };
        let scope = match (&self.scope, conditions) {
            (Scope::EverySample, [(key, Value::Text(category))]) if **key == *"category" => {
                Scope::Category(category.clone())
            }
            _ => Scope::Unknown,
        };
        let metric = self.within(&self.name, outer).view(self.view).stating(self.precision());
        let metric = metric.about_samples(scope).based_on(self.basis).summing(self.source.clone());
        metric.reading_if_there(conditions.iter().map(|(key, _)| &**key))
    }

    /// The metric of one scorer's scores alone. A scorer that the run does not have is an error.
    ///
    /// ```
    /// use calipers_core::{mean, Plan, Samples};
    ///
    /// let mut samples = Samples::new();
    /// samples.push(1).score("refusal", 1.0).score("judge", 0.5);
    /// let results = Plan::new().metrics([mean().of_scorer("refusal")?]).measure(&samples)?;
    /// assert_eq!(results.figure("refusal", "mean").expect("asked for").value, Ok(1.0));
    /// assert!(results.figure("judge", "mean").is_none());
    /// # Ok::<(), calipers_core::Error>(())
    /// ```
    pub fn of_scorer(mut self, scorer: impl Into<Arc<str>>) -> Result<Self, Error> {
        let scorer = scorer.into();
        if self.view == View::Attempts {
            let message = format!("`{}` reads fields, which belong to no scorer", self.name);
            return Err(Error::argument(message, "leave `scorer` out"));
        }
        if let Some(other) = self.scorer.as_ref().filter(|other| **other != scorer) {
            let message = format!("`{}` already belongs to the scorer `{other}`", self.name);
            return Err(Error::argument(message, "name one scorer"));
        }
        self.scorer = Some(scorer.clone());
        self.without_scores = None;
        Ok(self.param("scorer", &*scorer))
    }

    /// True unless it is for another scorer, or compares others with this one.
    #[must_use]
    pub fn is_for(&self, scorer: &str) -> bool {
        self.scorer.as_ref().is_none_or(|only| **only == *scorer)
            && self.reference.as_ref().is_none_or(|reference| **reference != *scorer)
    }

    /// An error unless its scorer is among those that there are.
    pub(crate) fn check_scorer(&self, known: &[&Arc<str>]) -> Result<(), Error> {
        let Some(scorer) = self.scorer.as_ref().filter(|scorer| !known.contains(scorer)) else { return Ok(()) };
        let known = known.iter().map(ToString::to_string).collect();
        Err(Error::from(ErrorKind::NoScorer { scorer: scorer.to_string(), known }).at_metric(&self.name))
    }
}

struct Chosen {
    metric: Metric,
    conditions: Vec<(Arc<str>, Value)>,
}

/// The values of a key that are named when none of them matches.
const SHOWN: usize = 8;

struct FilteredState {
    inner: State,
    /// Rows that meet the conditions, with a score or without.
    chosen: u64,
    /// The values of each condition's key, the first few by name: the order of arrival must not show.
    values: Vec<BTreeSet<String>>,
}

impl Chosen {
    /// The rows that meet the conditions.
    fn rows(&self, points: &Points<'_>, values: &mut [BTreeSet<String>]) -> Result<Vec<u32>, Error> {
        let mut rows: Vec<u32> = (0..points.len() as u32).collect();
        for ((key, wanted), values) in self.conditions.iter().zip(values) {
            let column = self.column(points, key)?;
            let mut decided = Decided::new(wanted);
            rows.retain(|&row| decided.matches(&column, row as usize, values));
        }
        Ok(rows)
    }

    /// The values of a key, row by row.
    fn column(&self, points: &Points<'_>, key: &str) -> Result<Column, Error> {
        // A reduced row stands for several attempts, of which each may have its own value of a field.
        let by_attempt = self.metric.view != View::Attempts && points.samples().fields().any(|field| **field == *key);
        if by_attempt {
            let message = format!("`where` picks samples by their metadata, and `{key}` is a field of attempts");
            return Err(Error::argument(message, "use it with a metric over fields, such as `pass_rate`"));
        }
        points.check_single(key)?;
        Ok(points.field_values(key))
    }

    fn unmet_conditions(&self, values: &[BTreeSet<String>]) -> Vec<UnmetCondition> {
        let unmet = |((key, wanted), values): (&(Arc<str>, Value), &BTreeSet<String>)| UnmetCondition {
            key: key.clone(),
            wanted: wanted.clone(),
            known: values.iter().take(SHOWN).cloned().collect(),
            has_more: values.len() > SHOWN,
        };
        self.conditions.iter().zip(values).map(unmet).collect()
    }
}

/// Whether the values of a column match, decided once for each distinct one.
struct Decided<'a> {
    wanted: Vec<&'a Value>,
    by_code: Vec<Option<bool>>,
}

impl<'a> Decided<'a> {
    fn new(wanted: &'a Value) -> Self {
        let wanted = if let Value::List(any) = wanted { any.iter().collect() } else { vec![wanted] };
        Self { wanted, by_code: Vec::new() }
    }

    fn matches(&mut self, column: &Column, row: usize, values: &mut BTreeSet<String>) -> bool {
        let Column::Coded(coded) = column else { return self.decide(&column.get(row), values) };
        let code = coded.codes[row] as usize;
        let Some(value) = coded.dictionary().get(code) else { return false };
        if self.by_code.len() <= code {
            self.by_code.resize(coded.dictionary().len(), None);
        }
        match self.by_code[code] {
            Some(known) => known,
            None => {
                let matches = self.decide(value, values);
                self.by_code[code] = Some(matches);
                matches
            }
        }
    }

    fn decide(&self, value: &Value, values: &mut BTreeSet<String>) -> bool {
        if matches!(value, Value::Missing | Value::Null) {
            return false;
        }
        let text = value.to_string();
        let matches = self.wanted.iter().any(|wanted| wanted.equals(value) || wanted.to_string() == text);
        if !matches {
            values.insert(text);
            if values.len() > SHOWN + 1 {
                values.pop_last();
            }
        }
        matches
    }
}

impl Measure for Chosen {
    type State = FilteredState;

    fn start(&self) -> FilteredState {
        FilteredState { inner: self.metric.start(), chosen: 0, values: vec![BTreeSet::new(); self.conditions.len()] }
    }

    fn fold(&self, state: &mut FilteredState, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let rows = self.rows(points, &mut state.values)?;
        state.chosen += rows.len() as u64;
        if rows.is_empty() { Ok(()) } else { state.inner.fold_rows(&points.gather(&rows), context) }
    }

    fn tells_missing_apart(&self) -> bool {
        true
    }

    fn fold_missing(&self, state: &mut FilteredState, points: &Points<'_>) -> Result<(), Error> {
        let rows = self.rows(points, &mut state.values)?;
        state.chosen += rows.len() as u64;
        state.inner.fold_missing(&points.gather(&rows))
    }

    fn save(&self, state: &FilteredState, out: &mut StateWriter) -> Result<(), Error> {
        state.inner.save(out)?;
        out.put(&state.chosen);
        state.values.iter().for_each(|values| out.put(values));
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<FilteredState, Error> {
        let (inner, chosen) = (self.metric.load(from)?, from.take()?);
        let mut values: Vec<BTreeSet<String>> = Vec::with_capacity(self.conditions.len());
        for _ in &self.conditions {
            values.push(from.take()?);
        }
        Ok(FilteredState { inner, chosen, values })
    }

    fn merge(&self, state: &mut FilteredState, other: FilteredState) {
        state.inner.merge(other.inner);
        state.chosen += other.chosen;
        for (mine, theirs) in state.values.iter_mut().zip(other.values) {
            mine.extend(theirs);
            while mine.len() > SHOWN + 1 {
                mine.pop_last();
            }
        }
    }

    fn finish(&self, state: FilteredState, tally: Tally, context: &Context) -> Result<Answer, Error> {
        if state.chosen == 0 && tally.n + tally.missing > 0 {
            let reason = Undefined::new(Reason::NoMatch(self.unmet_conditions(&state.values)), f64::NAN);
            let nothing = Tally { n: 0, missing: 0 };
            return Ok(Figure::from_result(Err(reason), nothing, "none").into());
        }
        state.inner.finish(context)
    }

    fn evidence(&self, points: &Points<'_>, context: &Context) -> Result<Option<Evidence>, Error> {
        let rows = self.rows(points, &mut vec![BTreeSet::new(); self.conditions.len()])?;
        self.metric.evidence_of(&points.gather(&rows), context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Samples, accuracy, grouped, mean, pass_rate, stderr_clustered};

    fn samples() -> Samples {
        let mut samples = Samples::new();
        for (id, category, level, score) in
            [(1, "a", 1, "C"), (2, "a", 2, "I"), (3, "b", 1, "C"), (4, "b", 2, "C"), (5, "c", 1, "I")]
        {
            let attempt = samples.push(id).metadata("category", category).metadata("level", level);
            attempt.score("judge", score).score("other", 1.0).field("passed", score == "C");
        }
        samples
    }

    #[track_caller]
    fn value(metric: Metric, scorer: &str) -> Result<f64, Reason> {
        let name = metric.name().to_owned();
        let results = Plan::new().metrics([metric]).measure(&samples()).expect("measurable");
        results.figure(scorer, &name).expect("asked for").value.clone().map_err(|why| why.reason().clone())
    }

    #[test]
    fn rows_are_chosen_by_value_list_and_several_conditions() {
        assert_eq!(value(accuracy().only_where([("category", "a")]).expect("a condition"), "judge"), Ok(0.5));
        assert_eq!(value(accuracy().only_where([("level", 1)]).expect("a condition"), "judge"), Ok(2.0 / 3.0));
        assert_eq!(value(accuracy().only_where([("level", "1")]).expect("a condition"), "judge"), Ok(2.0 / 3.0));
        let any = Value::List(vec!["a".into(), "c".into()]);
        assert_eq!(value(accuracy().only_where([("category", any)]).expect("a condition"), "judge"), Ok(1.0 / 3.0));
        let both = [("category", Value::from("a")), ("level", Value::from(2))];
        assert_eq!(value(accuracy().only_where(both).expect("conditions"), "judge"), Ok(0.0));
        assert_eq!(value(pass_rate().only_where([("category", "b")]).expect("a condition"), "run"), Ok(1.0));
    }

    #[test]
    fn nothing_chosen_is_undefined_and_an_unknown_key_is_an_error() {
        let why = value(accuracy().only_where([("category", "z")]).expect("a condition"), "judge").expect_err("none");
        let known = ["a", "b", "c"].map(str::to_owned).to_vec();
        let unmet = UnmetCondition { key: "category".into(), wanted: "z".into(), known, has_more: false };
        assert_eq!(why, Reason::NoMatch(vec![unmet]));
        let unknown = accuracy().only_where([("categry", "a")]).expect("a condition");
        let error = Plan::new().metrics([unknown]).measure(&samples()).expect_err("no such key").to_string();
        assert!(error.starts_with("no sample has the field `categry`"), "{error}");
        let by_attempt = accuracy().only_where([("passed", true)]).expect("a condition");
        let error = Plan::new().metrics([by_attempt]).measure(&samples()).expect_err("a field").to_string();
        assert!(error.contains("`passed` is a field of attempts"), "{error}");
    }

    #[test]
    fn conditions_keep_name_parameters_and_cluster() {
        let chosen = stderr_clustered("category").only_where([("level", 1)]).expect("a condition");
        assert_eq!(format!("{chosen:?}"), "stderr(cluster=category, where={'level': 1})");
        assert_eq!(chosen.cluster().as_deref(), Some("category"));
        let inner = mean().only_where([("level", 1)]).expect("a condition");
        let results = Plan::new().metrics([grouped(inner, "category")]).measure(&samples()).expect("measurable");
        assert_eq!(results.figure("judge", "c").expect("a group").value, Ok(0.0));
    }

    #[test]
    fn one_scorer_is_answered_for_and_others_are_not() {
        let results = Plan::new().metrics([mean().of_scorer("other").expect("free")]).measure(&samples());
        let results = results.expect("measurable");
        assert_eq!(results.scores.len(), 1);
        assert_eq!(results.figure("other", "mean").expect("asked for").value, Ok(1.0));
        let unknown = mean().of_scorer("unknown").expect("free");
        let error = Plan::new().metrics([unknown]).measure(&samples()).expect_err("no such scorer").to_string();
        assert!(error.contains("hint: the scorers are judge, other"), "{error}");
        assert!(pass_rate().of_scorer("judge").is_err());
        let within = grouped(mean().of_scorer("other").expect("free"), "category");
        let results = Plan::new().metrics([within]).measure(&samples()).expect("measurable");
        assert_eq!(results.scores.len(), 1);
    }
}
