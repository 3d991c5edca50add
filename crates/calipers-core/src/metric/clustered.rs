//! Figures of samples that go together: what they rest on, added up by cluster, and the intervals that follow.
//!
//! A plan that names clusters keeps one such state beside the state of each metric. It takes the metric's evidence shard by
//! shard, so every metric that is a mean, a ratio of sums or a quantile has a clustered interval without knowing of
//! clusters.

use super::Precision;
use super::interval::clustered_mean;
use super::ratio::{UnitKind, ratio_interval};
use crate::data::clusters::names_a_cluster;
use crate::data::points::{CodePlaces, NO_PLACE};
use crate::{
    Answer, Caveat, Error, Evidence, FactColumn, Figure, MetricEnds, RatioLimits, Reason, Samples, StateReader,
    StateWriter, Undefined, Value, damaged,
};
use calipers_stats::adjusted_ratio::cr2;
use calipers_stats::cluster::ClusterSums;
use calipers_stats::corrected_units::{CorrectedThing, CorrectedUnits, Joining};
use calipers_stats::matthews::{MatthewsTable, TableTerm};
use calipers_stats::unit_quantile::UnitQuantile;
use calipers_stats::{Confidence, ExactSum, Interval, Moments, StatisticCaveat, Undefined as NoStatistic};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// The name of the method in results.
const STDERR_METHOD: &str = "cluster-robust standard error, CR2";

/// What a cluster adds to both sums.
#[derive(Clone, Default)]
struct ClusterTerm {
    numerator: ExactSum,
    denominator: ExactSum,
    samples: u64,
}

impl ClusterTerm {
    fn merge(&mut self, other: &Self) {
        self.numerator.merge(&other.numerator);
        self.denominator.merge(&other.denominator);
        self.samples += other.samples;
    }

    /// Both sums; of a mean, the number of samples is the second.
    fn pair(&self, is_mean: bool) -> (f64, f64) {
        (self.numerator.value(), if is_mean { self.samples as f64 } else { self.denominator.value() })
    }
}

/// The kind of evidence, and what only this kind keeps.
enum Kind {
    Mean(Box<Moments>),
    Ratio {
        limits: RatioLimits,
        attempts_max: u32,
    },
    Quantile {
        p: f64,
        values: Vec<(u32, f64)>,
    },
    Table {
        counts: Vec<(u32, TableTerm)>,
        attempts_max: u32,
    },
    /// A mean that labels correct: what the judge said of each sample, and what people did.
    Corrected(Vec<(u32, f64, Option<f64>)>),
}

/// The counts of a term, in the order in which they are stored.
fn cells(term: &TableTerm) -> [f64; 6] {
    let TableTerm { true_positives, false_positives, false_negatives, true_negatives, wrong, right } = *term;
    [true_positives, false_positives, false_negatives, true_negatives, wrong, right]
}

/// The same counts, to be filled.
fn cells_mut(term: &mut TableTerm) -> [&mut f64; 6] {
    let TableTerm { true_positives, false_positives, false_negatives, true_negatives, wrong, right } = term;
    [true_positives, false_positives, false_negatives, true_negatives, wrong, right]
}

/// What a figure rests on, by cluster.
///
/// A place is a value of one of the fields, or a sample that has none. Samples that share a value of any field are in one
/// cluster, and so are samples that are connected through others: places that one sample has are joined.
#[derive(Default)]
pub(super) struct ClusterState {
    places: HashMap<(usize, Value), u32>,
    /// For each place another one of its cluster, or itself.
    parents: Vec<u32>,
    terms: Vec<ClusterTerm>,
    /// What the values of a mean add to the terms, until these are asked for: half as large as they are, so that more of it stays in the
    /// caches of the processor.
    values: ClusterSums,
    kind: Option<Kind>,
    /// For each field the places of its codes.
    known: Vec<CodePlaces>,
}

impl ClusterState {
    /// Folds in what a shard gives.
    pub(super) fn fold(&mut self, evidence: Evidence, samples: &Samples, fields: &[Arc<str>]) {
        match evidence {
            Evidence::Mean { samples: rows, values, .. } => {
                let places = self.places_of(samples, fields, &rows);
                self.values.extend(&places, &values).expect("each value has a place");
                match &mut self.kind {
                    Some(Kind::Mean(all)) => all.merge(&Moments::from_slice(&values)),
                    kind => *kind = Some(Kind::Mean(Box::new(Moments::from_slice(&values)))),
                }
            }
            Evidence::Ratio { samples: rows, numerators, denominators, limits, attempts_max: attempts, .. } => {
                let places = self.places_of(samples, fields, &rows);
                for (&place, (&y, &x)) in places.iter().zip(numerators.iter().zip(&denominators)) {
                    self.add(place, y, x);
                }
                match &mut self.kind {
                    Some(Kind::Ratio { attempts_max, .. }) => *attempts_max = attempts.max(*attempts_max),
                    kind => *kind = Some(Kind::Ratio { limits, attempts_max: attempts }),
                }
            }
            Evidence::Corrected { samples: rows, judged, labels, .. } => {
                let places = self.places_of(samples, fields, &rows);
                places.iter().for_each(|&place| self.terms[place as usize].samples += 1);
                let more =
                    places.into_iter().zip(judged).zip(labels).map(|((place, judged), label)| (place, judged, label));
                match &mut self.kind {
                    Some(Kind::Corrected(all)) => all.extend(more),
                    kind => *kind = Some(Kind::Corrected(more.collect())),
                }
            }
            Evidence::Table { samples: rows, counts: more, attempts_max: attempts, .. } => {
                let places = self.places_of(samples, fields, &rows);
                places.iter().for_each(|&place| self.terms[place as usize].samples += 1);
                let more = places.into_iter().zip(more);
                match &mut self.kind {
                    Some(Kind::Table { counts, attempts_max }) => {
                        counts.extend(more);
                        *attempts_max = attempts.max(*attempts_max);
                    }
                    kind => *kind = Some(Kind::Table { counts: more.collect(), attempts_max: attempts }),
                }
            }
            Evidence::Quantile { p, samples: rows, values, .. } => {
                let places = self.places_of(samples, fields, &rows);
                for (at, &place) in places.iter().enumerate() {
                    // Attempts of a sample stand side by side.
                    let is_new = at == 0 || rows[at] != rows[at - 1];
                    self.terms[place as usize].samples += u64::from(is_new);
                }
                let more = places.into_iter().zip(values);
                match &mut self.kind {
                    Some(Kind::Quantile { values, .. }) => values.extend(more),
                    kind => *kind = Some(Kind::Quantile { p, values: more.collect() }),
                }
            }
        }
    }

    /// What each place adds, with the values of a mean.
    fn terms(&self) -> Cow<'_, [ClusterTerm]> {
        if self.values.is_empty() {
            return Cow::Borrowed(&self.terms);
        }
        let mut terms = self.terms.clone();
        for (term, (sum, count)) in terms.iter_mut().zip(self.values.entries()) {
            term.numerator.merge(&sum);
            term.samples += count;
        }
        Cow::Owned(terms)
    }

    /// Has the terms hold the values of a mean.
    fn settle(&mut self) {
        if let Cow::Owned(terms) = self.terms() {
            self.terms = terms;
            self.values = ClusterSums::default();
        }
    }

    pub(super) fn save(&self, out: &mut StateWriter) {
        let terms = self.terms();
        let mut names: Vec<Option<&(usize, Value)>> = vec![None; self.parents.len()];
        self.places.iter().for_each(|(name, &place)| names[place as usize] = Some(name));
        out.length(names.len());
        for ((name, parent), term) in names.iter().zip(&self.parents).zip(&*terms) {
            out.put(&name.is_some());
            if let Some((field, value)) = name {
                out.length(*field);
                out.put(value);
            }
            out.put(parent);
            out.put(&term.numerator);
            out.put(&term.denominator);
            out.put(&term.samples);
        }
        match &self.kind {
            None => out.byte(0),
            Some(Kind::Mean(all)) => {
                out.byte(1);
                out.put(&**all);
            }
            Some(Kind::Ratio { limits, attempts_max }) => {
                out.byte(2);
                out.put(limits);
                out.put(attempts_max);
            }
            Some(Kind::Quantile { p, values }) => {
                out.byte(3);
                out.put(p);
                out.put(values);
            }
            Some(Kind::Corrected(things)) => {
                out.byte(4);
                out.length(things.len());
                for (place, judged, label) in things {
                    out.put(&(*place, *judged));
                    out.put(label);
                }
            }
            Some(Kind::Table { counts, attempts_max }) => {
                out.byte(5);
                out.put(attempts_max);
                out.length(counts.len());
                for (place, term) in counts {
                    out.put(place);
                    cells(term).iter().for_each(|cell| out.put(cell));
                }
            }
        }
    }

    pub(super) fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let mut state = Self::default();
        let length = from.length()?;
        for place in 0..length as u32 {
            if from.take()? {
                let field = from.below(1 << 16)?;
                if state.places.insert((field, from.take()?), place).is_some() {
                    return Err(damaged("a cluster is there twice"));
                }
            }
            // A place stands below an earlier one or for itself, so that going up comes to an end.
            state.parents.push(from.below(place as usize + 1)? as u32);
            let (numerator, denominator) = (from.take()?, from.take()?);
            state.terms.push(ClusterTerm { numerator, denominator, samples: from.take()? });
        }
        state.kind = match from.byte()? {
            0 => None,
            1 => Some(Kind::Mean(Box::new(from.take()?))),
            2 => Some(Kind::Ratio { limits: from.take()?, attempts_max: from.take()? }),
            3 => {
                let p = from.take()?;
                let values: Vec<(u32, f64)> = from.take()?;
                if values.iter().any(|(place, _)| *place as usize >= length) {
                    return Err(damaged("a place lies outside its list"));
                }
                Some(Kind::Quantile { p, values })
            }
            4 => {
                let mut things = Vec::new();
                for _ in 0..from.length()? {
                    let (place, judged): (u32, f64) = from.take()?;
                    let label: Option<f64> = from.take()?;
                    let is_number = judged.is_finite() && label.is_none_or(f64::is_finite);
                    if place as usize >= length || !is_number {
                        return Err(damaged("a corrected value has no cluster or is no number"));
                    }
                    things.push((place, judged, label));
                }
                Some(Kind::Corrected(things))
            }
            5 => {
                let attempts_max = from.take()?;
                let mut counts = Vec::new();
                for _ in 0..from.length()? {
                    let place: u32 = from.take()?;
                    let mut term = TableTerm::default();
                    for cell in cells_mut(&mut term) {
                        *cell = from.take()?;
                        if !cell.is_finite() || *cell < 0.0 {
                            return Err(damaged("a count is no number"));
                        }
                    }
                    if place as usize >= length {
                        return Err(damaged("a place lies outside its list"));
                    }
                    counts.push((place, term));
                }
                Some(Kind::Table { counts, attempts_max })
            }
            _ => return Err(damaged("evidence has an unknown form")),
        };
        Ok(state)
    }

    fn add(&mut self, place: u32, numerator: f64, denominator: f64) {
        let term = &mut self.terms[place as usize];
        term.numerator.add(numerator);
        term.denominator.add(denominator);
        term.samples += 1;
    }

    /// The place of each of these samples, which stand side by side where they repeat.
    fn places_of(&mut self, samples: &Samples, fields: &[Arc<str>], rows: &[u32]) -> Vec<u32> {
        // Values are hashed once for all shards that share a dictionary.
        let mut known = std::mem::take(&mut self.known);
        known.resize_with(fields.len(), CodePlaces::default);
        let mut columns: Vec<_> = fields
            .iter()
            .zip(&mut known)
            .map(|(field, known)| {
                let column = samples.metadata_column(field)?;
                Some((column, known.of(column.labels())))
            })
            .collect();
        let mut places: Vec<u32> = Vec::with_capacity(rows.len());
        while places.len() < rows.len() {
            // Most tables name clusters by one field that every sample has, and nearly all of its values are known.
            if let [Some((column, known))] = &columns[..]
                && let Some(codes) = column.codes.as_list()
            {
                let place = |&sample: &u32| known.get(*codes.get(sample as usize)? as usize).copied();
                let known = |sample| place(sample).filter(|place| *place != NO_PLACE);
                places.extend(rows[places.len()..].iter().map_while(known));
            }
            let at = places.len();
            let Some(&sample) = rows.get(at) else { break };
            if at > 0 && rows[at - 1] == sample {
                places.push(places[at - 1]);
                continue;
            }
            let mut first = None;
            for (field, column) in columns.iter_mut().enumerate() {
                let Some((column, known)) = column else { continue };
                let Some(code) = column.code(sample) else { continue };
                let Some(known) = known.get_mut(code as usize) else { continue };
                if *known == NO_PLACE {
                    let value = &column.dictionary()[code as usize];
                    if !names_a_cluster(value) {
                        continue;
                    }
                    *known = self.place(field, value.canonical_number().unwrap_or_else(|| value.clone()));
                }
                let place = *known;
                match first {
                    None => first = Some(place),
                    Some(first) => self.join(first, place),
                }
            }
            let place = first.unwrap_or_else(|| self.new_place());
            places.push(place);
        }
        self.known = known;
        places
    }

    fn place(&mut self, field: usize, value: Value) -> u32 {
        let next = self.parents.len() as u32;
        let place = *self.places.entry((field, value)).or_insert(next);
        if place == next { self.new_place() } else { place }
    }

    fn new_place(&mut self) -> u32 {
        let place = self.parents.len() as u32;
        self.parents.push(place);
        self.terms.push(ClusterTerm::default());
        place
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    fn root(&mut self, place: u32) -> u32 {
        let mut at = place;
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        at
    }

    /// Folds in what another state has seen.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.settle();
        other.settle();
        let mut map: Vec<Option<u32>> = vec![None; other.parents.len()];
        for ((field, value), place) in std::mem::take(&mut other.places) {
            map[place as usize] = Some(self.place(field, value));
        }
        let map: Vec<u32> = map.into_iter().map(|mine| mine.unwrap_or_else(|| self.new_place())).collect();
        for place in 0..map.len() as u32 {
            let root = other.root(place);
            self.join(map[place as usize], map[root as usize]);
            self.terms[map[place as usize] as usize].merge(&other.terms[place as usize]);
        }
        match (&mut self.kind, other.kind) {
            (Some(Kind::Mean(all)), Some(Kind::Mean(more))) => all.merge(&more),
            (Some(Kind::Ratio { attempts_max, .. }), Some(Kind::Ratio { attempts_max: more, .. })) => {
                *attempts_max = more.max(*attempts_max);
            }
            (Some(Kind::Quantile { values, .. }), Some(Kind::Quantile { values: more, .. })) => {
                values.extend(more.into_iter().map(|(place, x)| (map[place as usize], x)));
            }
            (Some(Kind::Corrected(all)), Some(Kind::Corrected(more))) => {
                all.extend(more.into_iter().map(|(place, judged, label)| (map[place as usize], judged, label)));
            }
            (mine @ None, Some(Kind::Corrected(all))) => {
                let all = all.into_iter().map(|(place, judged, label)| (map[place as usize], judged, label)).collect();
                *mine = Some(Kind::Corrected(all));
            }
            (
                Some(Kind::Table { counts, attempts_max }),
                Some(Kind::Table { counts: more, attempts_max: more_attempts }),
            ) => {
                counts.extend(more.into_iter().map(|(place, term)| (map[place as usize], term)));
                *attempts_max = more_attempts.max(*attempts_max);
            }
            (mine @ None, Some(Kind::Table { counts, attempts_max })) => {
                let counts = counts.into_iter().map(|(place, term)| (map[place as usize], term)).collect();
                *mine = Some(Kind::Table { counts, attempts_max });
            }
            (mine @ None, Some(Kind::Quantile { p, values })) => {
                let values = values.into_iter().map(|(place, x)| (map[place as usize], x)).collect();
                *mine = Some(Kind::Quantile { p, values });
            }
            (mine @ None, theirs) => *mine = theirs,
            // One metric has one kind of evidence.
            _ => {}
        }
    }

    /// The answer with what clusters make of its intervals and errors.
    pub(super) fn apply(
        mut self,
        mut answer: Answer,
        precision: Precision,
        ends: &MetricEnds,
        confidence: Confidence,
    ) -> Answer {
        self.settle();
        let mut clusters: HashMap<u32, ClusterTerm> = HashMap::new();
        for place in 0..self.parents.len() as u32 {
            let root = self.root(place);
            clusters.entry(root).or_default().merge(&self.terms[place as usize]);
        }
        let is_mean = matches!(self.kind, Some(Kind::Mean(_)));
        let of_samples = clusters.values().filter(|term| term.samples > 0);
        let units: Vec<(f64, f64)> = of_samples.map(|term| term.pair(is_mean)).collect();
        let samples: u64 = self.terms.iter().map(|term| term.samples).sum();
        let count = clusters.values().filter(|term| term.samples > 0).count() as u64;
        // Samples that all stand alone are what the plain interval takes them for.
        if count == samples || samples == 0 {
            answer.for_each(&mut |figure| figure.details.push(("clusters", count as f64)));
            return answer;
        }
        let samples_max = clusters.values().map(|term| term.samples).max().unwrap_or(1);
        let interval = self.interval(&units, samples_max, ends, confidence);
        let about = ClusterAnswer { units: &units, count, interval, precision };
        match &mut answer {
            Answer::Named(ends) if precision == Precision::Interval => {
                for (name, end) in ends {
                    end.for_each(&mut |figure| about.set_bound(figure, name == "lower"));
                }
            }
            _ => answer.for_each(&mut |figure| about.set_interval(figure)),
        }
        answer
    }

    fn interval(
        &mut self,
        units: &[(f64, f64)],
        samples_max: u64,
        ends: &MetricEnds,
        confidence: Confidence,
    ) -> Result<Interval, NoStatistic> {
        match self.kind.take() {
            None => Err(NoStatistic::Empty),
            Some(Kind::Corrected(all)) => {
                let thing = |&(place, measured, truth): &(u32, f64, Option<f64>)| CorrectedThing {
                    unit: self.root(place),
                    weight: 1.0,
                    measured: Some(measured),
                    truth,
                };
                let things: Vec<CorrectedThing> = all.iter().map(thing).collect();
                let is_unit = |x: f64| (0.0..=1.0).contains(&x);
                // Nothing says how far off an unseen score on another scale may be.
                if !all.iter().all(|(_, h, y)| is_unit(*h) && y.is_none_or(is_unit)) {
                    return Err(NoStatistic::Empty);
                }
                CorrectedUnits::new(things, Joining::Clusters)?.interval(confidence)
            }
            Some(Kind::Mean(all)) => {
                let known = ends.value.as_ref().map_or((None, None), |ends| (ends.least, ends.most));
                clustered_mean(units, &all, known, confidence)
            }
            Some(Kind::Ratio { limits, attempts_max }) => {
                let attempts = u64::from(attempts_max) * samples_max;
                ratio_interval(units, limits, attempts, UnitKind::Clusters, ends, confidence)
            }
            Some(Kind::Table { counts, attempts_max }) => {
                let mut clusters: HashMap<u32, TableTerm> = HashMap::new();
                for (place, term) in counts {
                    clusters.entry(self.root(place)).or_default().add(term);
                }
                let attempts = f64::from(attempts_max) * samples_max as f64;
                Ok(MatthewsTable::new(clusters.into_values(), attempts)?.interval(confidence))
            }
            Some(Kind::Quantile { p, values }) => {
                let codes: Vec<u32> = values.iter().map(|(place, _)| self.root(*place)).collect();
                let values: Vec<f64> = values.into_iter().map(|(_, x)| x).collect();
                Ok(UnitQuantile::new(&values, &codes, p)?.interval(confidence)?.interval)
            }
        }
    }
}

/// How many samples are in no cluster by any of these fields. Values are looked at once each, not once per sample.
pub(crate) fn count_alone(samples: &Samples, fields: &[Arc<str>]) -> u64 {
    let columns = fields.iter().filter_map(|field| samples.metadata_column(field));
    let columns: Vec<(&FactColumn, Vec<bool>)> =
        columns.map(|column| (column, column.dictionary().iter().map(names_a_cluster).collect())).collect();
    let names_all = |(column, are_names): &(&FactColumn, Vec<bool>)| {
        let is_whole = column.codes.is_full() && column.codes.as_list().is_some_and(|list| list.len() >= samples.len());
        is_whole && !are_names.contains(&false)
    };
    if columns.iter().any(names_all) {
        return 0;
    }
    let is_alone = |sample: &u32| {
        let is_named = |(column, are_names): &(&FactColumn, Vec<bool>)| {
            column.code(*sample).is_some_and(|code| are_names.get(code as usize).is_some_and(|is_name| *is_name))
        };
        !columns.iter().any(is_named)
    };
    (0..samples.len() as u32).filter(is_alone).count() as u64
}

/// Without the intervals that know nothing of clusters, and with a caveat where there was one.
pub(super) fn without_intervals(mut answer: Answer, fields: &[Arc<str>]) -> Answer {
    answer.for_each(&mut |figure| {
        if figure.interval.take().is_some() {
            let key = fields.iter().map(|field| &**field).collect::<Vec<_>>().join(", ");
            figure.caveats.push(Caveat::NoClusteredInterval { key });
        }
    });
    answer
}

/// What clusters say of a figure.
struct ClusterAnswer<'a> {
    units: &'a [(f64, f64)],
    count: u64,
    interval: Result<Interval, NoStatistic>,
    precision: Precision,
}

impl ClusterAnswer<'_> {
    fn set_interval(&self, figure: &mut Figure) {
        if figure.value.is_err() {
            return;
        }
        if self.precision == Precision::StandardError {
            *figure = Figure { method: STDERR_METHOD.into(), value: self.stderr(), ..figure.clone() };
        } else {
            figure.interval = self.with_known_ends(figure);
        }
        self.say(figure);
    }

    /// The interval, without an end for which nothing limits the values: clusters do not limit them either.
    fn with_known_ends(&self, figure: &Figure) -> Option<Interval> {
        let mut interval = self.interval.ok()?;
        for caveat in &figure.caveats {
            if let Caveat::OpenInterval { lower, upper, .. } | Caveat::ExceededLimit { lower, upper, .. } = caveat {
                interval.lower = interval.lower.filter(|_| *lower);
                interval.upper = interval.upper.filter(|_| *upper);
            }
        }
        Some(interval).filter(|interval| interval.lower.is_some() || interval.upper.is_some())
    }

    /// Of an interval that is a metric, one end.
    fn set_bound(&self, figure: &mut Figure, is_lower: bool) {
        let bound = self.interval.map(|interval| if is_lower { interval.lower } else { interval.upper });
        figure.interval = self.interval.ok();
        match bound {
            Ok(Some(bound)) => {
                figure.value = Ok(bound);
                figure.method =
                    self.interval.map_or_else(|_| figure.method.clone(), |interval| interval.method.name().into());
            }
            Ok(None) => {}
            Err(why) => figure.value = Err(Undefined::new(Reason::Statistic(why), f64::NAN)),
        }
        self.say(figure);
    }

    fn stderr(&self) -> Result<f64, Undefined> {
        cr2(self.units).map_err(|why| Undefined::new(Reason::Statistic(why), f64::NAN))
    }

    /// The number of clusters, and only what still holds of what was said of the plain interval.
    fn say(&self, figure: &mut Figure) {
        figure.details.push(("clusters", self.count as f64));
        figure.caveats.retain(|caveat| {
            !matches!(caveat, Caveat::PerfectScore { .. } | Caveat::Statistic(StatisticCaveat::SmallSample { .. }))
        });
        if self.interval.is_err() && self.precision != Precision::StandardError {
            figure.caveats.push(StatisticCaveat::FewClusters { clusters: self.count }.into());
        }
    }
}
