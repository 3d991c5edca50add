//! A figure over time: which runs lie on one line, where it is interrupted, and what changed from run to run.

use crate::HistoryError;
use crate::catalog::CaseSet;
use crate::database::History;
use crate::loaded::{keep_cases, load_run};
use crate::reading_choices::{shared_counting, source_of};
use calipers::compare::{ChangeScale, CompareOptions};
use calipers::data::Value;
use calipers::metric::Metric;
use calipers::render::view::{TrendBreak, TrendChange, TrendChoice, TrendDrift, TrendPoint, TrendView};
use calipers::render::{HistoryRun, RunFilter};
use calipers::stats::threshold_test::Direction;
use calipers::trend::{PairedChange, change, judge_changes};
use calipers::{LoadedRun, Reducer, Registry, Selection};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

/// As many points are drawn.
const POINTS_MAX: u64 = 1000;
/// As many lines are drawn.
const SERIES_MAX: usize = 5;
/// As many pairs of neighbours are compared.
const PAIRS_MAX: usize = 60;
/// A page does not wait longer for pairs that were not compared before; the next look has more of them.
const PATIENCE: Duration = Duration::from_secs(8);

/// What a trend is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrendQuestion {
    pub(crate) suite: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) choice: Option<TrendChoice>,
    pub(crate) by_date: bool,
}

impl History {
    /// The trend of a figure. Without a suite, that of most runs; without a figure, the one that most runs have.
    pub(crate) fn trend(&self, question: &TrendQuestion) -> Result<TrendView, HistoryError> {
        let mut view = TrendView { level: 0.95, by_date: question.by_date, ..TrendView::default() };
        view.suites = self.facets()?.suites;
        view.suite = question.suite.clone().or_else(|| view.suites.first().map(|(suite, _)| suite.clone()));
        let Some(suite) = view.suite.clone() else { return Ok(view) };
        view.models = self.values_in_suite("model", &suite)?;
        view.branches = self.values_in_suite("branch", &suite)?;
        (view.model, view.branch) = (question.model.clone(), question.branch.clone());
        view.choices = self.choices(&suite)?;
        view.choice = match &question.choice {
            // A figure may be named without its reducer.
            Some(asked) => {
                let is_like = |one: &&TrendChoice| one.score == asked.score && one.metric == asked.metric;
                let exact = view.choices.iter().find(|one| *one == asked);
                exact.or_else(|| view.choices.iter().find(is_like)).cloned().or_else(|| Some(asked.clone()))
            }
            None => view.choices.first().cloned(),
        };
        let Some(choice) = view.choice.clone() else { return Ok(view) };
        let filter = RunFilter {
            suite: Some(suite),
            model: question.model.clone(),
            branch: question.branch.clone(),
            ..RunFilter::default()
        };
        let (mut runs, total) = self.with_figure(&choice, &filter, POINTS_MAX)?;
        runs.reverse();
        view.total = total;
        self.place_points(&mut view, runs)?;
        self.find_changes(&mut view, &choice)?;
        Ok(view)
    }

    /// Puts runs on their lines, one for each model, and finds where lines are interrupted.
    fn place_points(&self, view: &mut TrendView, runs: Vec<HistoryRun>) -> Result<(), HistoryError> {
        let mut sizes: BTreeMap<Option<String>, usize> = BTreeMap::new();
        runs.iter().for_each(|run| *sizes.entry(run.model.clone()).or_default() += 1);
        let mut models: Vec<(Option<String>, usize)> = sizes.into_iter().collect();
        models.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        view.series_left_out = models.len().saturating_sub(SERIES_MAX) as u64;
        models.truncate(SERIES_MAX);
        let is_one = models.len() < 2;
        let label = |model: &Option<String>| if is_one { String::new() } else { model.clone().unwrap_or_default() };
        view.series = models.iter().map(|(model, _)| label(model)).collect();
        let mut last: HashMap<usize, HistoryRun> = HashMap::new();
        let mut sets: HashMap<String, CaseSet> = HashMap::new();
        for mut run in runs {
            let Some(series) = models.iter().position(|(model, _)| *model == run.model) else { continue };
            let Some(mut figure) = run.figures.pop() else { continue };
            if run.is_open() {
                // What goes on has no interval yet.
                (figure.lower, figure.upper) = (None, None);
            }
            let mut point = TrendPoint { series, figure, ..TrendPoint::default() };
            if let Some(before) = last.get(&series) {
                if before.case_set != run.case_set {
                    for hash in [&before.case_set, &run.case_set] {
                        if !sets.contains_key(hash) {
                            sets.insert(hash.clone(), self.case_set(hash)?);
                        }
                    }
                    let (difference, _) = sets[&run.case_set].difference(&sets[&before.case_set]);
                    // What is not known of some run is no difference.
                    if difference.is_any() {
                        point.breaks.push(TrendBreak::Cases(difference));
                    }
                }
                if before.scorers != run.scorers {
                    point.breaks.push(TrendBreak::Scorers);
                }
                let hash = |run: &HistoryRun| run.verdict.as_ref().map(|verdict| verdict.policy_hash.clone());
                point.is_new_policy = hash(before).zip(hash(&run)).is_some_and(|(before, now)| before != now);
            }
            last.insert(series, run.clone());
            point.run = run;
            view.points.push(point);
        }
        Ok(())
    }

    /// Compares neighbours, and the ends of what can be compared, and judges all of them together.
    fn find_changes(&self, view: &mut TrendView, choice: &TrendChoice) -> Result<(), HistoryError> {
        let Ok(metric) = Registry::builtin().metric(&choice.metric, &Value::Null) else { return Ok(()) };
        let end = Instant::now() + PATIENCE;
        let mut comparer =
            PairComparer { history: self, metric, choice, end, loaded: Vec::new(), stamps: HashMap::new() };
        let mut pairs: Vec<(Option<usize>, PairedChange)> = Vec::new();
        let mut drifts = Vec::new();
        for series in 0..view.series.len() {
            let places: Vec<usize> =
                (0..view.points.len()).filter(|&place| view.points[place].series == series).collect();
            for two in places.windows(2).rev().take(PAIRS_MAX / view.series.len().max(1)) {
                let (earlier, later) = (&view.points[two[0]].run, &view.points[two[1]].run);
                if earlier.is_open() || later.is_open() {
                    continue;
                }
                if let Some(found) = comparer.compare(later, earlier)? {
                    pairs.push((Some(two[1]), found));
                }
            }
            // The longest time in which cases and scorers stayed what they are.
            let start = places.iter().rposition(|&place| !view.points[place].breaks.is_empty()).unwrap_or(0);
            let ended: Vec<usize> =
                places[start..].iter().copied().filter(|&place| !view.points[place].run.is_open()).collect();
            let (Some(&first), Some(&last)) = (ended.first(), ended.last()) else { continue };
            let runs = ended.len();
            if runs > 2
                && let Some(found) = comparer.compare(&view.points[last].run, &view.points[first].run)?
            {
                drifts.push((series, first, last, runs as u64, pairs.len()));
                pairs.push((None, found));
            }
        }
        let (judged, tests) = judge_changes(&pairs.iter().map(|(_, found)| found).collect::<Vec<_>>(), view.level);
        view.tests = tests;
        let changes: Vec<TrendChange> = pairs
            .iter()
            .zip(judged)
            .map(|((_, found), (adjusted, verdict))| TrendChange {
                scale: found.scale,
                value: found.value,
                lower: found.lower,
                upper: found.upper,
                adjusted,
                verdict,
                pairs: found.pairs,
                problem: found.problem.clone(),
            })
            .collect();
        for ((place, _), change) in pairs.iter().zip(&changes) {
            if let Some(place) = place {
                view.points[*place].change = Some(change.clone());
            }
        }
        for (series, first, last, runs, place) in drifts {
            let (first, last) = (view.points[first].run.clone(), view.points[last].run.clone());
            view.drifts.push(TrendDrift { series, first, last, runs, change: changes[place].clone() });
        }
        Ok(())
    }
}

/// Compares pairs of runs, and remembers what was found and what was read last.
struct PairComparer<'a> {
    history: &'a History,
    metric: Metric,
    choice: &'a TrendChoice,
    end: Instant,
    loaded: Vec<(String, LoadedRun)>,
    /// What each run's file is now, none where it is gone. A store is asked once for each.
    stamps: HashMap<String, Option<String>>,
}

impl PairComparer<'_> {
    /// The change from an earlier run to a later one, on the cases that both have and that ask the same. None if there was no time.
    fn compare(&mut self, later: &HistoryRun, earlier: &HistoryRun) -> Result<Option<PairedChange>, HistoryError> {
        let Some(question) = self.question(later, earlier) else { return Ok(None) };
        if let Some(answer) = self.history.recall(&question)?
            && let Ok(kept) = serde_json::from_str::<KeptChange>(&answer)
        {
            return Ok(Some(kept.into()));
        }
        if Instant::now() > self.end {
            return Ok(None);
        }
        let found = match self.compute(later, earlier) {
            Ok(found) => found,
            Err(HistoryError::Run(error)) => unknown(error.to_string()),
            Err(error @ HistoryError::CountedDifferently) => unknown(error.to_string()),
            Err(error) => return Err(error),
        };
        let kept = serde_json::to_string(&KeptChange::from(&found)).unwrap_or_default();
        self.history.cache(&question, &kept)?;
        Ok(Some(found))
    }

    /// All that decides the answer: both files as they are now, and the figure. None if a file is gone.
    fn question(&mut self, later: &HistoryRun, earlier: &HistoryRun) -> Option<String> {
        let (later, earlier) = (self.stamp(later)?, self.stamp(earlier)?);
        let TrendChoice { score, metric, reducer } = self.choice;
        let reducer = reducer.as_deref().unwrap_or_default();
        Some(format!("{later}|{earlier}|{score}|{metric}|{reducer}|{}", env!("CARGO_PKG_VERSION")))
    }

    /// What a run's file is now.
    fn stamp(&mut self, run: &HistoryRun) -> Option<String> {
        if !self.stamps.contains_key(&run.key) {
            let version = source_of(run).ok().and_then(|source| source.version().ok().flatten());
            let stamp = version.map(|version| {
                let tag = version.tag.unwrap_or_default();
                format!("{} {} {} {tag} {}", run.key, version.size, version.modified_ns, run.choices)
            });
            self.stamps.insert(run.key.clone(), stamp);
        }
        self.stamps[&run.key].clone()
    }

    /// How scores count in these runs, with the attempts of a sample reduced as in the figure.
    fn selection<'r>(&self, runs: impl IntoIterator<Item = &'r HistoryRun>) -> Result<Selection, HistoryError> {
        let reducer = self.choice.reducer.as_deref().map(Reducer::parse).transpose();
        let reducer = reducer.map_err(|error| HistoryError::Run(error.into()))?;
        Ok(Selection { reducers: reducer.map(|reducer| vec![reducer]), ..shared_counting(runs)? })
    }

    fn compute(&mut self, later: &HistoryRun, earlier: &HistoryRun) -> Result<PairedChange, HistoryError> {
        let (mut later_run, mut earlier_run) = (self.load(later)?, self.load(earlier)?);
        if later.case_set != earlier.case_set {
            let (ours, theirs) = (self.history.case_set(&later.case_set)?, self.history.case_set(&earlier.case_set)?);
            let (difference, same) = ours.difference(&theirs);
            if difference.changed > 0 {
                let same: HashSet<String> = same.into_iter().collect();
                keep_cases(&mut later_run, &same);
                keep_cases(&mut earlier_run, &same);
            }
        }
        let selection = self.selection([later, earlier])?;
        change(&later_run, &earlier_run, &self.metric, &selection).map_err(|error| HistoryError::Run(error.into()))
    }

    fn load(&mut self, run: &HistoryRun) -> Result<LoadedRun, HistoryError> {
        if let Some((_, known)) = self.loaded.iter().find(|(key, _)| *key == run.key) {
            return Ok(known.clone());
        }
        let needs = CompareOptions { metrics: Some(vec![self.metric.clone()]), ..CompareOptions::default() };
        let needs = needs.needs(&self.selection([run])?);
        let mut loaded = load_run(run, &run.key, &needs)?;
        // Of several scorers, the one that the figure is of.
        if loaded.samples.scorers().any(|name| **name == *self.choice.score) {
            let mut parts = calipers::data::Shards::from(std::mem::take(&mut loaded.samples));
            parts
                .keep_scorers(std::slice::from_ref(&self.choice.score))
                .map_err(|error| HistoryError::Run(error.into()))?;
            loaded.samples = parts.into_whole();
        }
        // Neighbours share a run: it is read once.
        self.loaded.push((run.key.clone(), loaded.clone()));
        if self.loaded.len() > 2 {
            self.loaded.remove(0);
        }
        Ok(loaded)
    }
}

fn unknown(problem: String) -> PairedChange {
    PairedChange {
        scale: ChangeScale::Difference,
        direction: None,
        value: None,
        lower: None,
        upper: None,
        p: None,
        pairs: 0,
        problem: Some(problem),
    }
}

/// A change as the database keeps it.
#[derive(Serialize, Deserialize)]
struct KeptChange {
    is_ratio: bool,
    better: Option<bool>,
    value: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
    p: Option<f64>,
    pairs: u64,
    problem: Option<String>,
}

impl From<&PairedChange> for KeptChange {
    fn from(found: &PairedChange) -> Self {
        Self {
            is_ratio: found.scale == ChangeScale::Ratio,
            better: found.direction.map(|direction| direction == Direction::AtLeast),
            value: found.value,
            lower: found.lower,
            upper: found.upper,
            p: found.p,
            pairs: found.pairs,
            problem: found.problem.clone(),
        }
    }
}

impl From<KeptChange> for PairedChange {
    fn from(kept: KeptChange) -> Self {
        Self {
            scale: if kept.is_ratio { ChangeScale::Ratio } else { ChangeScale::Difference },
            direction: kept.better.map(|higher| if higher { Direction::AtLeast } else { Direction::AtMost }),
            value: kept.value,
            lower: kept.lower,
            upper: kept.upper,
            p: kept.p,
            pairs: kept.pairs,
            problem: kept.problem,
        }
    }
}
