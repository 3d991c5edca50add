//! What the renderers of a comparison share: a metric as words and numbers.

use crate::numbers::{self, Scale as Numbers, factor, p_digits, p_value, percent, shared_level};
use crate::words::{caveat_next_step, caveat_sentence, columns_sentence, statistic_reason_sentence};
use calipers_compare::{
    AttemptCounts, CategoryChange, ChangeScale, ChangeVerdict, CompareDecision, CompareReport, CompareSettings,
    Flakiness, MarginStanding, MetricComparison, MetricPlace, RankedRun, RunComparison, TestMethod,
};
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::{Figure, Incomparable, RunSide, Unit, pluralize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A metric of two runs, as it is shown.
pub(crate) struct Words {
    /// `+3.2 points`; empty where there is no change to tell.
    pub(crate) change: String,
    /// `[+1.1, +5.3]`
    pub(crate) interval: String,
    /// The answer: `improved`, or why there is none.
    pub(crate) verdict: String,
    /// `p = 0.004, adjusted 0.008`
    pub(crate) p: String,
    /// `94.0 % → 97.2 %`
    pub(crate) sides: String,
    /// Where it stands to the margin.
    pub(crate) margin: Option<String>,
    /// What else there is to say, in parts.
    pub(crate) details: Vec<String>,
}

impl Words {
    pub(crate) fn of(metric: &MetricComparison, settings: &CompareSettings) -> Self {
        let alpha = 1.0 - settings.level;
        let (change, interval) = change(&metric.change, metric.scale, metric.unit);
        let verdict = match metric.verdict {
            // The metric stands beside it.
            ChangeVerdict::Unknown => format!("cannot be compared: {}", why_unknown(metric)),
            _ => answer_words(metric).to_owned(),
        };
        let p = metric.test.map_or_else(String::new, |test| {
            let one = p_value(test.p, alpha);
            // A single test needs no adjustment.
            if settings.tests > 1 { format!("{one}, adjusted {}", p_digits(test.adjusted, alpha)) } else { one }
        });
        let (margin, details) = (margin(metric, settings), details(metric, settings));
        Self { change, interval, verdict, p, sides: sides(metric), margin, details }
    }
}

/// A verdict in Criterion's words.
pub(crate) fn verdict_words(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Improved => "improved",
        ChangeVerdict::Regressed => "regressed",
        ChangeVerdict::Changed => "changed",
        ChangeVerdict::WithinNoise => "within noise",
        ChangeVerdict::NoChangeDetected => "no change detected",
        ChangeVerdict::Unknown => "unknown",
    }
}

/// The answer for one metric. A change that the samples show is not said to be none.
pub(crate) fn answer_words(metric: &MetricComparison) -> &'static str {
    if metric.is_open() { "the mean stays open" } else { verdict_words(metric.verdict) }
}

/// What the typical sample changed by, beside the mean.
pub(crate) fn typical(metric: &MetricComparison) -> Option<String> {
    let typical = metric.typical.as_ref()?;
    let (change, interval) = change(&typical.change, metric.scale, metric.unit);
    let all = numbers::count(typical.change.n);
    if typical.same == typical.change.n {
        return Some(format!("all {all} samples the same"));
    }
    let higher = typical.higher >= typical.lower;
    let more = if higher { typical.higher } else { typical.lower };
    let counts = format!("{} of {all} {}", numbers::count(more), if higher { "higher" } else { "lower" });
    let same = (typical.same > 0).then(|| format!("{} the same", numbers::count(typical.same)));
    let numbers = [change, interval].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let parts = [Some(numbers).filter(|numbers| !numbers.is_empty()), Some(counts), same];
    Some(format!("typical sample {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

/// The answer for one metric, as a sentence.
pub(crate) fn metric_sentence(metric: &MetricComparison) -> String {
    let name = &metric.metric;
    let by_more = if metric.margin.is_some() { " by more than the margin" } else { "" };
    match metric.verdict {
        ChangeVerdict::Improved => format!("{name} has improved{by_more}"),
        ChangeVerdict::Regressed => format!("{name} has regressed{by_more}"),
        ChangeVerdict::Changed => format!("{name} has changed{by_more}; neither side is better"),
        ChangeVerdict::WithinNoise => format!("{name} has changed, within noise: not clearly by more than the margin"),
        ChangeVerdict::NoChangeDetected if metric.is_open() => {
            let typical = typical(metric).map_or_else(String::new, |typical| format!(" ({typical})"));
            format!("whether the mean of {name} has changed stays open{typical}")
        }
        ChangeVerdict::NoChangeDetected => {
            let known = match metric.margin.map(|margin| margin.standing) {
                Some(MarginStanding::Equivalent) => ": it is the same within the margin",
                Some(MarginStanding::NonInferior) => ": it is not worse by more than the margin",
                Some(_) => ", and a change beyond the margin is not ruled out",
                None => "",
            };
            format!("no change in {name} detected{known}")
        }
        ChangeVerdict::Unknown => format!("{name} cannot be compared: {}", why_unknown(metric)),
    }
}

fn why_unknown(metric: &MetricComparison) -> String {
    metric.why.as_ref().map_or_else(|| "there is nothing to compare".to_owned(), incomparable)
}

/// What decided, in one line.
pub(crate) fn decision(report: &CompareReport) -> String {
    let sentence = |place: MetricPlace| {
        let (comparison, metric) = report.metric(place);
        let against = match report.comparisons.len() {
            1 => String::new(),
            _ => format!(" against `{}`", comparison.baseline),
        };
        format!("{}{against}", metric_sentence(metric))
    };
    match report.decided_by {
        CompareDecision::Regression(place) | CompareDecision::NothingKnown(place) => sentence(place),
        CompareDecision::NoRegression => format!("no metric has clearly regressed{}", regressed_resources(report)),
        CompareDecision::UnknownMetric(place) => format!("no metric has clearly regressed, but {}", sentence(place)),
        CompareDecision::Problem { comparison } => {
            report.comparisons[comparison].problem.as_ref().map_or_else(String::new, incomparable)
        }
    }
}

/// What is said of time, tokens and cost beside a verdict that they have no part in: a reader sees that they got worse.
fn regressed_resources(report: &CompareReport) -> String {
    let all = report.comparisons.iter().flat_map(|comparison| &comparison.resources);
    let worse = all.filter(|resource| resource.verdict == ChangeVerdict::Regressed);
    let names: BTreeSet<&str> = worse.map(|resource| resource.metric.as_str()).collect();
    match names.len() {
        0 => String::new(),
        count => {
            let names = names.into_iter().collect::<Vec<_>>().join(", ");
            let have = if count == 1 { "has" } else { "have" };
            format!("; {names} {have}, but time, tokens and cost do not decide")
        }
    }
}

/// Why runs, or a metric of them, cannot be compared.
#[must_use]
pub fn incomparable(why: &Incomparable) -> String {
    match why {
        Incomparable::EmptyRun { run } => format!("`{run}` has no samples"),
        Incomparable::NoSharedSample { candidate, baseline } => format!(
            "no sample is in both runs: they are different suites, or name their samples differently \
             (`{baseline}` there, `{candidate}` here)"
        ),
        Incomparable::NoSharedScorer { scorers } => {
            let by = |(run, scorers): &(String, Vec<Arc<str>>)| match &scorers[..] {
                [] => format!("`{run}` by none"),
                scorers => format!("`{run}` by {}", scorers.join(", ")),
            };
            let runs: Vec<String> = scorers.iter().map(by).collect();
            format!("the runs are scored by different scorers: {}", runs.join(", "))
        }
        Incomparable::NoSharedValue { runs: 2 } => "no sample has a value in both runs".to_owned(),
        Incomparable::NoSharedValue { .. } => "no sample has a value in all runs".to_owned(),
        Incomparable::NoSharedOutcome => "no shared sample is known to have passed or failed in both runs".to_owned(),
        Incomparable::Run { run, error } => format!("in `{run}`, {error}"),
        Incomparable::Timeouts { run, attempts } => {
            let attempts = pluralize(numbers::count(*attempts), "attempt");
            format!("in `{run}`, {attempts} timed out and have no mean; use `latency_p50`")
        }
        Incomparable::Side { side: RunSide::Candidate, reason } => {
            format!("in the candidate, {}", statistic_reason_sentence(reason))
        }
        Incomparable::Side { side: RunSide::Baseline, reason } => {
            format!("in the baseline, {}", statistic_reason_sentence(reason))
        }
        Incomparable::NoLabels { side } => {
            let run = if *side == RunSide::Candidate { "candidate" } else { "baseline" };
            format!("no sample of both runs has a label in the {run}; a run is corrected by labels of its own answers")
        }
        Incomparable::CorrectedClusters => {
            "with clusters, a corrected mean needs scores and labels between 0 and 1; map them to [0, 1]".to_owned()
        }
        Incomparable::NotPairable { metric } => {
            format!("`{metric}` does not say what each sample adds to it, so samples cannot be paired")
        }
        Incomparable::NotMean => "only metrics that are means over samples are ranked".to_owned(),
        Incomparable::NoBetterSide => "neither side of the metric is better".to_owned(),
        Incomparable::NotPositive => "a ratio needs a value above 0 in both runs".to_owned(),
        Incomparable::BeyondNumbers => "the runs are too far apart for a ratio; check the unit of both".to_owned(),
        Incomparable::QuantileNotFinite => {
            "in one run the quantile is 0 or lies among attempts that timed out".to_owned()
        }
        Incomparable::OnePair => "one pair of samples shows no spread; at least 2 are needed".to_owned(),
        Incomparable::NoSpread => "all samples changed alike, which shows no spread".to_owned(),
        Incomparable::Statistic(reason) => statistic_reason_sentence(reason),
        Incomparable::Resampling(reason) => format!("resampled, {}", statistic_reason_sentence(reason)),
        Incomparable::RerunOfMeansOnly => {
            "for a rerun of this suite only means over samples can be compared".to_owned()
        }
        Incomparable::RerunNeedsMean { reducer } => {
            format!("a rerun of this suite needs attempts that are averaged, not reduced by `{reducer}`")
        }
        Incomparable::RerunNeedsAttempts => {
            "a rerun of this suite needs at least 2 attempts at every sample in both runs".to_owned()
        }
    }
}

/// A test by its name.
pub(crate) fn test_method(method: TestMethod) -> &'static str {
    match method {
        TestMethod::McNemarExact => "McNemar's exact test",
        TestMethod::PairedT => "paired t test",
        TestMethod::ClusterRobustT => "cluster-robust t test (CR2, Satterthwaite)",
        TestMethod::BoundedMean => "Gaffke's test of differences within their bounds",
        TestMethod::PairedBootstrap => "paired bootstrap",
        TestMethod::FiellerT => "Fieller's t test, corrected for skewness",
        TestMethod::JoinedBounds => "bounds of both figures, joined",
        TestMethod::CorrectedDifference => "bounds of both corrected rates, joined",
        TestMethod::NoDifference => "no sample differs",
    }
}

/// A change and its interval, or nothing.
pub(crate) fn change(figure: &Figure, scale: ChangeScale, unit: Unit) -> (String, String) {
    let Ok(value) = figure.value else { return Default::default() };
    let bounds = figure.interval.map(|interval| (interval.lower, interval.upper));
    match scale {
        ChangeScale::Difference => {
            let numbers = Numbers::of(unit, value).of_differences();
            (numbers.change(value), bounds.map_or_else(String::new, |(lower, upper)| numbers.changes(lower, upper)))
        }
        ChangeScale::Ratio => {
            (factor(value), bounds.map_or_else(String::new, |(lower, upper)| numbers::factors(lower, upper)))
        }
    }
}

/// A change within a category, and its interval.
pub(crate) fn category(found: &CategoryChange, metric: &MetricComparison) -> (String, String) {
    change(&found.change, metric.scale, metric.unit)
}

/// From what to what, over the samples that both runs have.
fn sides(metric: &MetricComparison) -> String {
    let whole = || Some((metric.candidate.value.clone().ok()?, metric.baseline.value.clone().ok()?));
    let Some((candidate, baseline)) = metric.matched.or_else(whole) else { return String::new() };
    let numbers = Numbers::of(metric.unit, candidate.max(baseline));
    format!("{} → {}", numbers.text(baseline), numbers.text(candidate))
}

fn details(metric: &MetricComparison, settings: &CompareSettings) -> Vec<String> {
    let alpha = 1.0 - settings.level;
    let mut parts: Vec<String> = typical(metric).into_iter().collect();
    for other in metric.estimands.iter().filter(|answer| answer.estimand != settings.estimand) {
        let (change, interval) = change(&other.change, metric.scale, metric.unit);
        if let Some(p) = other.p.filter(|_| !interval.is_empty()) {
            parts.push(format!("{}: {change} {interval}, {}", estimand(other.estimand), p_value(p, alpha)));
        }
    }
    if let Some(counts) = metric.discordance {
        parts.push(format!("{} passed only now, {} only before", counts.only_candidate, counts.only_baseline));
    }
    if let Some((lower, upper)) = metric.bounds.filter(|_| metric.change.missing > 0 && metric.change.n > 0) {
        let numbers = Numbers::of(metric.unit, 0.0).of_differences();
        let missing = pluralize(metric.change.missing, "missing sample");
        let bounds = numbers.changes(Some(lower), Some(upper));
        parts.push(format!("with {missing} at worst and at best {bounds}"));
    }
    if let (ChangeVerdict::NoChangeDetected | ChangeVerdict::WithinNoise, Some(size)) =
        (metric.verdict, metric.detectable)
    {
        let size = match metric.scale {
            ChangeScale::Difference => Numbers::of(metric.unit, size).of_differences().size(size),
            ChangeScale::Ratio => factor(size),
        };
        parts.push(format!("a change of {size} would be found 4 times in 5"));
    }
    parts
}

/// Where a change stands to the margin.
fn margin(metric: &MetricComparison, settings: &CompareSettings) -> Option<String> {
    let answer = metric.margin?;
    let alpha = 1.0 - settings.level;
    let size = margin_size(answer.margin, metric);
    let (what, p) = match answer.standing {
        MarginStanding::Superior => (format!("clearly better by more than {size}"), answer.superiority_p),
        MarginStanding::Equivalent => (format!("clearly within {size} either way"), Some(answer.equivalence_p)),
        MarginStanding::NonInferior => (format!("clearly not worse by more than {size}"), answer.noninferiority_p),
        MarginStanding::Inferior => (format!("clearly worse by more than {size}"), answer.inferiority_p),
        MarginStanding::Unclear => (format!("neither clearly within {size} nor beyond"), None),
    };
    Some(p.map_or_else(|| what.clone(), |p| format!("{what} ({})", p_value(p, alpha))))
}

fn margin_size(margin: f64, metric: &MetricComparison) -> String {
    match metric.scale {
        ChangeScale::Difference => Numbers::of(metric.unit, margin).of_differences().size(margin),
        ChangeScale::Ratio => percent(margin),
    }
}

/// What errors speak of.
pub(crate) fn estimand(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::Population => "questions like these",
        Estimand::FixedSuite => "this suite rerun",
    }
}

/// Which samples the runs share, in parts.
pub(crate) fn matching(comparison: &RunComparison) -> Vec<String> {
    let matching = &comparison.matching;
    let mut parts = vec![format!("{} matched", pluralize(numbers::count(matching.matched), "sample"))];
    for (only, name) in
        [(&matching.only_candidate, &comparison.candidate), (&matching.only_baseline, &comparison.baseline)]
    {
        if !only.is_empty() {
            parts.push(format!("{} only in {name}", numbers::count(only.len() as u64)));
        }
    }
    parts
}

/// How many attempts passed: `2/3`.
pub(crate) fn attempts(attempts: AttemptCounts) -> String {
    format!("{}/{}", attempts.passed, attempts.scored)
}

/// `8 of 60 (13.3 %)`
pub(crate) fn flakiness(found: Flakiness) -> String {
    let rate = found.rate().map_or_else(String::new, |rate| format!(" ({})", Numbers::Percent.text(rate)));
    format!("{} of {}{rate}", numbers::count(found.flaky), numbers::count(found.repeated))
}

/// The caveats of the whole and of its metrics, with the metrics that they are about.
pub(crate) fn caveats(report: &CompareReport) -> Vec<(String, Option<String>)> {
    let mut all: Vec<(String, Option<String>)> =
        report.caveats.iter().map(|caveat| (caveat_sentence(caveat), caveat_next_step(caveat))).collect();
    let mut known: Vec<(String, Option<String>, Vec<&str>)> = Vec::new();
    for metric in
        report.comparisons.iter().flat_map(|comparison| comparison.metrics.iter().chain(&comparison.resources))
    {
        for caveat in &metric.change.caveats {
            let text = caveat_sentence(caveat);
            match known.iter_mut().find(|(known, ..)| *known == text) {
                Some((.., metrics)) if metrics.contains(&&*metric.metric) => {}
                Some((.., metrics)) => metrics.push(&metric.metric),
                None => known.push((text, caveat_next_step(caveat), vec![&metric.metric])),
            }
        }
    }
    all.extend(known.into_iter().map(|(text, next, metrics)| (format!("{}: {text}", metrics.join(", ")), next)));
    all
}

/// What of the runs was not looked at, or was read otherwise than they say themselves.
pub(crate) fn restriction(report: &CompareReport) -> Option<String> {
    let about = &report.provenance;
    let conditions: Vec<String> = about.filter.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels: Vec<String> = about.labels.iter().map(|(label, number)| format!("{label}={number}")).collect();
    let told = |what: &str, names: &[String]| (!names.is_empty()).then(|| what.to_owned() + &names.join(" and "));
    let parts = [
        told("only samples where ", &conditions),
        told("only scores by ", &about.scorers),
        told("labels given by hand: ", &labels),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// With what it was computed, in parts.
pub(crate) fn settings(report: &CompareReport) -> Vec<String> {
    let settings = &report.settings;
    let correction = match settings.correction {
        Correction::Bonferroni => "Bonferroni",
        Correction::Holm => "Holm",
        Correction::BenjaminiHochberg => "Benjamini-Hochberg",
        Correction::BenjaminiYekutieli => "Benjamini-Yekutieli",
    };
    let mut parts = vec![format!("{} intervals for {}", percent(settings.level), estimand(settings.estimand))];
    if !settings.cluster.is_empty() {
        parts.push(format!("clustered by {}", settings.cluster.join(", ")));
    }
    parts.push(format!("{correction} over {}", pluralize(settings.tests, "test")));
    parts.push(format!("reducer {}", settings.reducer));
    parts.push(format!("seed {}", settings.seed));
    let mut columns: Vec<(String, String)> = Vec::new();
    for pair in report.provenance.runs.iter().flat_map(|run| &run.columns) {
        if !columns.contains(pair) {
            columns.push(pair.clone());
        }
    }
    parts.extend((!columns.is_empty()).then(|| columns_sentence(&columns)));
    parts.extend((!report.provenance.tool.is_empty()).then(|| report.provenance.tool.clone()));
    parts
}

/// The level of the intervals of a ranking: higher than that of the report, so that all of them hold together.
pub(crate) fn ranking_level(rows: &[RankedRun]) -> Option<String> {
    let interval = rows.iter().find_map(|row| row.figure.interval)?;
    Some(shared_level(interval.confidence.level()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_compare::{Matching, RunComparison};
    use calipers_core::stats::threshold_test::Direction;
    use calipers_core::{ErrorKind, Tally, Verdict};

    fn metric(verdict: ChangeVerdict, standing: Option<MarginStanding>, why: Option<Incomparable>) -> MetricComparison {
        let figure = Figure::new(0.5, Tally { n: 4, missing: 0 }, "mean");
        let margin = standing.map(|standing| calipers_compare::MarginAnswer {
            margin: 0.02,
            standing,
            noninferiority_p: None,
            equivalence_p: 0.5,
            inferiority_p: None,
            superiority_p: None,
        });
        MetricComparison {
            metric: "accuracy".into(),
            unit: Unit::Rate,
            direction: Some(Direction::AtLeast),
            scale: ChangeScale::Difference,
            candidate: figure.clone(),
            baseline: figure.clone(),
            matched: None,
            change: figure,
            bounds: None,
            test: None,
            paired: None,
            correlation: None,
            discordance: None,
            typical: None,
            permutation_p: None,
            estimands: Vec::new(),
            margin,
            detectable: None,
            verdict,
            why,
            categories: Vec::new(),
            pairs: Vec::new(),
        }
    }

    #[test]
    fn each_verdict_is_a_sentence() {
        use ChangeVerdict::{Changed, Improved, NoChangeDetected, Regressed, Unknown, WithinNoise};
        for (verdict, standing, want) in [
            (Improved, None, "accuracy has improved"),
            (Regressed, None, "accuracy has regressed"),
            (Regressed, Some(MarginStanding::Inferior), "accuracy has regressed by more than the margin"),
            (Changed, None, "accuracy has changed; neither side is better"),
            (
                WithinNoise,
                Some(MarginStanding::Unclear),
                "accuracy has changed, within noise: not clearly by more than the margin",
            ),
            (NoChangeDetected, None, "no change in accuracy detected"),
            (
                NoChangeDetected,
                Some(MarginStanding::Equivalent),
                "no change in accuracy detected: it is the same within the margin",
            ),
            (
                NoChangeDetected,
                Some(MarginStanding::NonInferior),
                "no change in accuracy detected: it is not worse by more than the margin",
            ),
            (
                NoChangeDetected,
                Some(MarginStanding::Unclear),
                "no change in accuracy detected, and a change beyond the margin is not ruled out",
            ),
            (Unknown, None, "accuracy cannot be compared: there is nothing to compare"),
        ] {
            assert_eq!(metric_sentence(&metric(verdict, standing, None)), want);
        }
        let unknown = metric(Unknown, None, Some(Incomparable::OnePair));
        let want = "accuracy cannot be compared: one pair of samples shows no spread; at least 2 are needed";
        assert_eq!(metric_sentence(&unknown), want);
    }

    #[test]
    fn each_reason_has_its_words() {
        let scorers = vec![("new".to_owned(), vec!["judge".into(), "match".into()]), ("old".to_owned(), Vec::new())];
        let field = ErrorKind::NoField { field: "cost".into(), known: Vec::new() };
        for (why, want) in [
            (Incomparable::EmptyRun { run: "old".into() }, "`old` has no samples".to_owned()),
            (
                Incomparable::NoSharedSample { candidate: 7.into(), baseline: "q7".into() },
                "no sample is in both runs: they are different suites, or name their samples differently (`q7` there, `7` here)"
                    .to_owned(),
            ),
            (
                Incomparable::NoSharedScorer { scorers },
                "the runs are scored by different scorers: `new` by judge, match, `old` by none".to_owned(),
            ),
            (Incomparable::NoSharedValue { runs: 2 }, "no sample has a value in both runs".to_owned()),
            (Incomparable::NoSharedValue { runs: 3 }, "no sample has a value in all runs".to_owned()),
            (Incomparable::Run { run: "new".into(), error: Box::new(field.clone()) }, format!("in `new`, {field}")),
            (
                Incomparable::Timeouts { run: "new".into(), attempts: 1240 },
                "in `new`, 1,240 attempts timed out and have no mean; use `latency_p50`".to_owned(),
            ),
            (
                Incomparable::RerunNeedsMean { reducer: "max".into() },
                "a rerun of this suite needs attempts that are averaged, not reduced by `max`".to_owned(),
            ),
        ] {
            assert_eq!(incomparable(&why), want);
        }
    }

    #[test]
    fn a_decision_names_the_run_only_among_several() {
        let comparison =
            |baseline: &str, metrics: Vec<MetricComparison>, problem: Option<Incomparable>| RunComparison {
                candidate: "new".into(),
                baseline: baseline.into(),
                matching: Matching::default(),
                problem,
                metrics,
                resources: Vec::new(),
                samples: Err(Incomparable::NoSharedOutcome),
            };
        let report = |decided_by: CompareDecision, comparisons: Vec<RunComparison>| CompareReport {
            verdict: Verdict::Undecided,
            is_judged: false,
            decided_by,
            comparisons,
            rankings: Vec::new(),
            settings: CompareSettings {
                level: 0.95,
                seed: 0,
                reducer: "mean".into(),
                estimand: Estimand::Population,
                cluster: Vec::new(),
                margin: None,
                correction: Correction::Holm,
                tests: 1,
            },
            caveats: Vec::new(),
            provenance: calipers_compare::CompareProvenance::default(),
        };
        let regressed = || metric(ChangeVerdict::Regressed, None, None);
        let unknown = || metric(ChangeVerdict::Unknown, None, Some(Incomparable::OnePair));
        let place = |comparison: usize| MetricPlace { comparison, metric: 0 };
        let empty = Incomparable::EmptyRun { run: "old".into() };
        let problem = vec![comparison("old", vec![unknown()], Some(empty))];
        let two = || vec![comparison("old", vec![unknown()], None), comparison("older", vec![regressed()], None)];
        for (decided_by, comparisons, want) in [
            (
                CompareDecision::Regression(place(0)),
                vec![comparison("old", vec![regressed()], None)],
                "accuracy has regressed",
            ),
            (CompareDecision::Regression(place(1)), two(), "accuracy has regressed against `older`"),
            (CompareDecision::NoRegression, two(), "no metric has clearly regressed"),
            (
                CompareDecision::UnknownMetric(place(0)),
                two(),
                "no metric has clearly regressed, but accuracy cannot be compared: one pair of samples shows no spread; at \
                 least 2 are needed against `old`",
            ),
            (CompareDecision::Problem { comparison: 0 }, problem, "`old` has no samples"),
        ] {
            assert_eq!(decision(&report(decided_by, comparisons)), want);
        }
        let mut slower = report(CompareDecision::NoRegression, two());
        slower.comparisons[1].resources.push(MetricComparison { metric: "latency_ms".into(), ..regressed() });
        let want = "no metric has clearly regressed; latency_ms has, but time, tokens and cost do not decide";
        assert_eq!(decision(&slower), want);
    }
}
