//! `grouped`.

use super::arguments::Arguments;
use super::registry::Definition;
use super::{Context, Measure, Metric, Precision, State, Tally};
use crate::Reason;
use crate::data::points::RowKeys;
use crate::{
    About, Answer, Caveat, Error, ErrorKind, Family, Figure, Labels, Points, StateReader, StateWriter, Undefined, Unit,
    Value,
};
use calipers_stats::bounded_ratio::{BoundedRatio, Term};
use calipers_stats::weighted::StratifiedMean;
use calipers_stats::{Confidence, ExactSum, Interval, Method, Moments, StatisticCaveat as Statistic};
use indexmap::IndexMap;

const GROUPED: About = About {
    name: "grouped",
    summary: "a metric for each group of samples, and for all",
    usage: "grouped(metric, group_key, all=\"samples\", all_label=\"all\", name_template=\"{group_name}\")",
    tells: "Which categories are weak, even if the mean looks good.",
    misleads: "With small groups: look at their n. The mean of the groups' standard errors is not a standard error; \
               a caveat gives the right one.",
    formula: "The metric over the samples that share a value of the metadata key. The figure for all is over all \
              samples, or the mean of the groups.",
    interval: "That of the metric, group by group. For the mean of the groups' means, the t interval of a stratified \
               mean (Cochran 1977, eq. 5.16) if scores differ within every group, with a caveat if a group has fewer \
               than thirty; if they do not differ and are 0 or 1, Gaffke's, with the weight of each sample in its \
               group; otherwise none.",
    example: "calipers score results.jsonl -m 'grouped(accuracy(), \"category\")'",
    unit: Unit::Plain,
    range: "that of the metric",
    direction: None,
    typical_threshold: None,
    use_case: "Categories, languages, difficulty",
    family: Family::Compound,
    parameters: &[
        ("metric", "the metric of each group"),
        ("group_key", "a metadata key"),
        ("all", "the figure for all: over all `samples`, the mean of the `groups`, or `False` for none"),
        ("all_label", "the name of that figure"),
        ("name_template", "how the figures of groups are named"),
    ],
    positional: &["metric", "group_key"],
    inspect: Some("grouped"),
    role: None,
};

/// The name of the method in results.
const METHOD: &str = "unweighted mean of the groups";

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[Definition { about: GROUPED, make: make_grouped }];

fn make_grouped(arguments: &Arguments<'_>) -> Result<Metric, Error> {
    let mut grouped = Grouped::new(arguments.inner("metric")?, arguments.needed("group_key")?);
    match arguments.get("all") {
        None => {}
        Some(Value::Bool(false)) => grouped = grouped.all(All::Off),
        Some(Value::Text(all)) if **all == *"samples" => grouped = grouped.all(All::Samples),
        Some(Value::Text(all)) if **all == *"groups" => grouped = grouped.all(All::Groups),
        Some(_) => return Err(arguments.wrong("all", "`samples`, `groups` or false")),
    }
    if let Some(label) = arguments.text("all_label")? {
        grouped = grouped.all_label(label);
    }
    if let Some(labels) = arguments.labels("value_to_float")? {
        grouped = grouped.labels(labels);
    }
    if let Some(template) = arguments.text("name_template")? {
        grouped = grouped.name_template(template);
    }
    Ok(grouped.into())
}

/// A metric for each group of samples, and one for all.
///
/// `calipers metrics grouped` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{accuracy, grouped, stderr, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, category, score) in [(1, "physics", "C"), (2, "physics", "I"), (3, "chemistry", "C")] {
///     samples.push(id).metadata("category", category).score("choice", score);
/// }
/// let results = Plan::new().metrics([grouped(accuracy(), "category"), stderr()]).measure(&samples)?;
/// assert_eq!(results.figure("choice", "physics").expect("a group").value, Ok(0.5));
/// assert_eq!(results.figure("choice", "all").expect("the aggregate").value, Ok(2.0 / 3.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
pub fn grouped(metric: impl Into<Metric>, key: impl Into<String>) -> Metric {
    Grouped::new(metric, key).into()
}

/// Samples of a group below which a t interval undercovers.
const T_NEEDS: u64 = 30;

pub(super) const ALL_LABEL: &str = "all";
const NAME_TEMPLATE: &str = "{group_name}";

/// What the figure for all groups together is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum All {
    /// The metric over all samples.
    Samples,
    /// The unweighted mean of the groups.
    Groups,
    /// None.
    Off,
}

/// A grouping, being described.
///
/// ```
/// use calipers_core::{accuracy, All, Grouped, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, category, score) in [(1, "physics", "C"), (2, "physics", "I"), (3, "chemistry", "C")] {
///     samples.push(id).metadata("category", category).score("choice", score);
/// }
/// let by_category = Grouped::new(accuracy(), "category").all(All::Groups).name_template("category_{group_name}");
/// let results = Plan::new().metrics([by_category]).measure(&samples)?;
/// assert_eq!(results.figure("choice", "category_physics").expect("a group").value, Ok(0.5));
/// assert_eq!(results.figure("choice", "all").expect("the aggregate").value, Ok(0.75));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Grouped {
    metric: Metric,
    key: String,
    all: All,
    all_label: String,
    name_template: String,
    labels: Labels,
}

impl Grouped {
    /// A metric for each value of a metadata key.
    pub fn new(metric: impl Into<Metric>, key: impl Into<String>) -> Self {
        Self {
            metric: metric.into(),
            key: key.into(),
            all: All::Samples,
            all_label: ALL_LABEL.into(),
            name_template: NAME_TEMPLATE.into(),
            labels: Labels::default(),
        }
    }

    /// What the figure for all is.
    #[must_use]
    pub fn all(mut self, all: All) -> Self {
        self.all = all;
        self
    }

    /// The name of the figure for all, if not `all`.
    #[must_use]
    pub fn all_label(mut self, label: impl Into<String>) -> Self {
        self.all_label = label.into();
        self
    }

    /// The names of the groups' figures: `{group_name}` stands for the value of the key.
    #[must_use]
    pub fn name_template(mut self, template: impl Into<String>) -> Self {
        self.name_template = template.into();
        self
    }

    /// How the groups' figures become numbers before they are averaged, should some stand for others.
    #[must_use]
    pub fn labels(mut self, labels: Labels) -> Self {
        self.labels = labels;
        self
    }

    /// The template with the group's name in it; `{{` and `}}` stand for braces, as in Python's `format`.
    fn name(&self, group: &str) -> Result<String, Error> {
        let mut name = String::new();
        let mut rest = &*self.name_template;
        while let Some(place) = rest.find(['{', '}']) {
            name.push_str(&rest[..place]);
            rest = &rest[place..];
            let (written, stands_for) = [("{{", "{"), ("}}", "}"), ("{group_name}", group)]
                .into_iter()
                .find(|(written, _)| rest.starts_with(written))
                .ok_or_else(|| self.bad_template())?;
            name.push_str(stands_for);
            rest = &rest[written.len()..];
        }
        Ok(name + rest)
    }

    fn bad_template(&self) -> Error {
        let message = format!("`name_template` is `{}`, which has a brace out of place", self.name_template);
        Error::argument(message, "write `{group_name}` for the group, and `{{` and `}}` for braces")
    }
}

impl From<Grouped> for Metric {
    fn from(grouped: Grouped) -> Self {
        let inner = &grouped.metric;
        let mut metric = inner
            .within("grouped", ByGroup(grouped.clone()))
            .unlike_others_if(grouped.labels != Labels::default())
            .param("metric", inner.as_param())
            .param("group_key", grouped.key.clone())
            .keyed_by(&grouped.key);
        if let Some(cluster) = inner.cluster() {
            metric = metric.param("cluster", cluster);
        }
        metric = match grouped.all {
            All::Samples => metric,
            All::Groups => metric.param("all", "groups"),
            All::Off => metric.param("all", false),
        };
        for (name, value, usual) in
            [("all_label", grouped.all_label, ALL_LABEL), ("name_template", grouped.name_template, NAME_TEMPLATE)]
        {
            if value != usual {
                metric = metric.param(name, value);
            }
        }
        metric
    }
}

/// The states of the groups, in the order of their first sample.
struct Groups {
    groups: IndexMap<String, State>,
    /// What the groups lack. It is kept apart, so that groups come in the order of their first score, however the samples
    /// are cut into shards.
    missing: IndexMap<String, State>,
    all: Option<State>,
}

/// The grouping as a metric.
struct ByGroup(Grouped);

impl Measure for ByGroup {
    type State = Groups;

    fn start(&self) -> Groups {
        let (groups, missing) = (IndexMap::new(), IndexMap::new());
        Groups { groups, missing, all: (self.0.all == All::Samples).then(|| self.0.metric.start()) }
    }

    fn fold(&self, state: &mut Groups, points: &Points<'_>, context: &Context) -> Result<(), Error> {
        let RowKeys { codes, names } = points.groups(&self.0.key, "grouped")?;
        let shards = points.split(codes, names.len());
        for (name, shard) in names.iter().zip(shards) {
            let group = state.groups.entry(name.to_string()).or_insert_with(|| self.0.metric.start());
            group.fold_rows(&shard, context)?;
        }
        match &mut state.all {
            Some(all) => all.fold_rows(points, context),
            None => Ok(()),
        }
    }

    fn tells_missing_apart(&self) -> bool {
        true
    }

    fn fold_missing(&self, state: &mut Groups, points: &Points<'_>) -> Result<(), Error> {
        if let Some(all) = &mut state.all {
            all.fold_missing(points)?;
        }
        // A sample that has neither a score nor a group belongs to no group.
        let points = points.with_key(&self.0.key);
        if points.is_empty() {
            return Ok(());
        }
        let RowKeys { codes, names } = points.groups(&self.0.key, "grouped")?;
        for (name, shard) in names.iter().zip(points.split(codes, names.len())) {
            state.missing.entry(name.to_string()).or_insert_with(|| self.0.metric.start()).fold_missing(&shard)?;
        }
        Ok(())
    }

    fn save(&self, state: &Groups, out: &mut StateWriter) -> Result<(), Error> {
        for groups in [&state.groups, &state.missing] {
            out.length(groups.len());
            for (name, group) in groups {
                out.text(name);
                group.save(out)?;
            }
        }
        state.all.as_ref().map_or(Ok(()), |all| all.save(out))?;
        Ok(())
    }

    fn load(&self, from: &mut StateReader<'_>) -> Result<Groups, Error> {
        let groups = |from: &mut StateReader<'_>| {
            let group = |from: &mut StateReader<'_>| Ok((from.take()?, self.0.metric.load(from)?));
            from.list(group).map(|groups: Vec<(String, State)>| groups.into_iter().collect::<IndexMap<_, _>>())
        };
        let (groups, missing) = (groups(from)?, groups(from)?);
        let all = (self.0.all == All::Samples).then(|| self.0.metric.load(from)).transpose()?;
        Ok(Groups { groups, missing, all })
    }

    fn merge(&self, state: &mut Groups, other: Groups) {
        for (mine, theirs) in [(&mut state.groups, other.groups), (&mut state.missing, other.missing)] {
            for (name, theirs) in theirs {
                mine.entry(name).or_insert_with(|| self.0.metric.start()).merge(theirs);
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut state.all, other.all) {
            mine.merge(theirs);
        }
    }

    fn finish(&self, mut state: Groups, tally: Tally, context: &Context) -> Result<Answer, Error> {
        for (name, missing) in state.missing {
            state.groups.entry(name).or_insert_with(|| self.0.metric.start()).merge(missing);
        }
        let mut answers: IndexMap<String, Answer> = IndexMap::new();
        let mut moments: IndexMap<String, Moments> = IndexMap::new();
        // Inspect knows nothing of groups in which no sample has a score.
        let seen = |state: &State| state.tally().n > 0 || !context.inspect;
        let empty = !state.groups.values().any(|state| state.tally().n > 0);
        for (group, state) in state.groups.into_iter().filter(|(_, state)| seen(state)) {
            let name = self.0.name(&group)?;
            let of_group = self.0.moments(&state).cloned();
            let answer = state.finish(context)?;
            let is_mean = answer.figure().is_some_and(|figure| figure.method == "mean");
            moments.extend(of_group.filter(|_| is_mean).map(|of_group| (name.clone(), of_group)));
            let repeated = answers.insert(name.clone(), answer).is_some();
            if repeated && !context.inspect {
                let message = format!("`name_template` gives two groups the name `{name}`");
                return Err(Error::argument(message, "put `{group_name}` into the template"));
            }
        }
        if self.0.all == All::Off {
            return Ok(Answer::Named(answers));
        }
        if answers.contains_key(&self.0.all_label) {
            return Err(ErrorKind::GroupCollision { name: self.0.all_label.clone() }.into());
        }
        let finished = |mut answers: IndexMap<String, Answer>, all: Answer| {
            answers.insert(self.0.all_label.clone(), all);
            Ok(Answer::Named(answers))
        };
        let all = match state.all {
            _ if empty => {
                Figure::from_result(Err(Undefined::new(Reason::NothingScored, f64::NAN)), tally, "none").into()
            }
            Some(all) => all.finish(context)?,
            None => {
                let figure = self.0.mean_of_groups(&answers, tally);
                let has_interval = figure.value.is_ok() && moments.len() == answers.len();
                // Groups may share clusters, so their figures do not say how far their mean may be off.
                if has_interval && !context.cluster.is_empty() {
                    let key = context.cluster.join(", ");
                    return finished(answers, figure.with_caveats([Caveat::NoClusteredInterval { key }]).into());
                }
                let means = has_interval;
                let interval = if means { stratified(&moments, context.confidence) } else { None };
                let few =
                    interval.filter(|found| found.method != Method::Gaffke).and_then(|_| few_in_a_group(&moments));
                figure.with_interval(interval).with_caveats(few).into()
            }
        };
        finished(answers, all)
    }
}

impl Grouped {
    /// The moments that a group's figure comes from, where the figure for all is the mean of the groups' figures.
    fn moments<'s>(&self, state: &'s State) -> Option<&'s Moments> {
        let averaged = self.all == All::Groups && self.labels == Labels::default();
        if averaged && !self.metric.unlike_others { state.inner.downcast_ref() } else { None }
    }

    fn mean_of_groups(&self, groups: &IndexMap<String, Answer>, tally: Tally) -> Figure {
        let mut sum = ExactSum::default();
        let mut placeholders = ExactSum::default();
        // Of several, the one that is first by name: the order of arrival must not show.
        let mut undefined: Option<&String> = None;
        let mut several = false;
        for (name, answer) in groups {
            match answer.figure() {
                Some(figure) => {
                    placeholders.add(figure.inspect_value());
                    match &figure.value {
                        Ok(value) => sum.add(self.labels.number(*value)),
                        Err(_) => undefined = Some(undefined.map_or(name, |first| first.min(name))),
                    }
                }
                // Inspect counts what is no number as 0.
                None => several = true,
            }
        }
        let count = groups.len() as f64;
        let no_mean = || Reason::SeveralFigures { metric: self.metric.name().to_owned() };
        let reason = if several { Some(no_mean()) } else { undefined.map(|name| Reason::Part(name.clone())) };
        let value = match reason {
            None => Ok(sum.value() / count),
            Some(reason) => Err(Undefined::new(reason, placeholders.value() / count)),
        };
        Figure::from_result(value, tally, METHOD).with_caveats(self.mean_of_errors(groups))
    }

    /// Independent groups: the variance of their mean is the mean of their variances over their number.
    fn mean_of_errors(&self, groups: &IndexMap<String, Answer>) -> Option<Caveat> {
        if self.metric.precision() != Precision::StandardError {
            return None;
        }
        let mut squares = ExactSum::default();
        let mut known = true;
        for answer in groups.values() {
            match answer.figure().map(|figure| &figure.value) {
                Some(Ok(error)) => squares.add_product(*error, *error),
                _ => known = false,
            }
        }
        let stratified = known.then(|| squares.value().sqrt() / groups.len() as f64);
        Some(Caveat::MeanOfErrors { stratified })
    }
}

/// The interval of the mean of groups' means.
///
/// Groups of 0 and 1 of which one does not vary have Gaffke's, in which a sample weighs what it weighs in its group. None where
/// another group's spread is not known, or is 0 and says nothing.
fn stratified(groups: &IndexMap<String, Moments>, confidence: Confidence) -> Option<Interval> {
    if groups.values().any(|moments| moments.count() < 2 || moments.is_constant()) {
        return if groups.values().all(Moments::is_binary) { shares(groups, confidence) } else { None };
    }
    let strata: Vec<(f64, Moments)> = groups.values().map(|moments| (1.0, moments.clone())).collect();
    StratifiedMean::from_moments(&strata).ok()?.interval(confidence).ok()
}

fn shares(groups: &IndexMap<String, Moments>, confidence: Confidence) -> Option<Interval> {
    let weight = |moments: &Moments| (moments.count() as f64).recip();
    let terms = groups.values().flat_map(|moments| {
        let (weight, successes) = (weight(moments), moments.sum() as u64);
        [(Term::new(weight, weight), successes), (Term::new(0.0, weight), moments.count() - successes)]
    });
    let largest = groups.values().map(weight).fold(0.0, f64::max);
    let ratio = BoundedRatio::counted(terms, Term::new(0.0, largest), Term::new(largest, largest)).ok()?;
    Some(ratio.interval(confidence))
}

fn few_in_a_group(groups: &IndexMap<String, Moments>) -> Option<Caveat> {
    let n = groups.values().map(Moments::count).min()?;
    (n < T_NEEDS).then(|| Statistic::SmallSample { n, need: T_NEEDS }.into())
}
