//! A comparison for programs: `calipers.compare/1`.

use crate::compare::words::{decision, incomparable, metric_sentence, undefined, verdict_words};
use crate::document::{caveat_json, id_json};
use crate::gate::json::{list, unit};
use crate::outcome_words::shortcoming_sentence;
use calipers_compare::{
    AttemptCounts, CategoryChange, ChangeScale, CompareProvenance, CompareReport, CompareSettings, Discordance,
    EstimandAnswer, Flakiness, MarginAnswer, MarginStanding, MetricComparison, RankedRun, Ranking, RunComparison,
    RunOrigin, SampleChange, SampleChanges, SamplePair, TestMethod,
};
use calipers_core::stats::components::Estimand;
use calipers_core::stats::multiplicity::Correction;
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{Figure, Verdict};
use serde_json::{Value as Json, json};

/// The name and version of the schema.
const SCHEMA: &str = "calipers.compare/1";

/// The schema itself: JSON Schema 2020-12, with every property described.
pub const COMPARE_SCHEMA: &str = include_str!("../../schema/calipers.compare.1.json");

/// The comparison as JSON.
#[must_use]
pub fn compare_json(report: &CompareReport) -> Json {
    json!({
        "schema": SCHEMA,
        "verdict": match report.verdict {
            Verdict::Fail => "regressed",
            Verdict::Pass => "not_regressed",
            Verdict::Undecided => "undecided",
        },
        "decided_by": decision(report),
        "settings": of_settings(&report.settings),
        "comparisons": list(&report.comparisons, of_comparison),
        "rankings": list(&report.rankings, of_ranking),
        "provenance": of_provenance(&report.provenance),
        "caveats": list(&report.caveats, caveat_json),
    })
}

fn of_settings(settings: &CompareSettings) -> Json {
    let correction = match settings.correction {
        Correction::Bonferroni => "bonferroni",
        Correction::Holm => "holm",
        Correction::BenjaminiHochberg => "bh",
        Correction::BenjaminiYekutieli => "by",
    };
    json!({
        "level": settings.level,
        "seed": settings.seed,
        "reducer": settings.reducer,
        "estimand": estimand(settings.estimand),
        "cluster": settings.cluster,
        "margin": settings.margin,
        "correction": correction,
        "tested": settings.tests,
    })
}

/// The claims, by the names that the command line has for them.
fn estimand(estimand: Estimand) -> &'static str {
    match estimand {
        Estimand::Population => "population",
        Estimand::FixedSuite => "suite",
    }
}

fn of_comparison(comparison: &RunComparison) -> Json {
    let matching = &comparison.matching;
    let (samples, unknown) = match &comparison.samples {
        Ok(samples) => (of_samples(samples), Json::Null),
        Err(why) => (Json::Null, Json::from(incomparable(why))),
    };
    json!({
        "candidate": comparison.candidate,
        "baseline": comparison.baseline,
        "problem": comparison.problem.as_ref().map(incomparable),
        "matching": {
            "candidate": matching.candidate,
            "baseline": matching.baseline,
            "matched": matching.matched,
            "only_candidate": list(&matching.only_candidate, id_json),
            "only_baseline": list(&matching.only_baseline, id_json),
        },
        "metrics": list(&comparison.metrics, of_metric),
        "resources": list(&comparison.resources, of_metric),
        "samples": samples,
        "samples_unknown": unknown,
    })
}

fn of_metric(metric: &MetricComparison) -> Json {
    let better = metric.direction.map(|direction| match direction {
        Direction::AtLeast => "higher",
        Direction::AtMost => "lower",
    });
    json!({
        "metric": metric.metric,
        "unit": unit(metric.unit),
        "better": better,
        "scale": scale(metric.scale),
        "verdict": verdict_words(metric.verdict).replace(' ', "_"),
        "sentence": metric_sentence(metric),
        "candidate": with_figure(json!({}), &metric.candidate),
        "baseline": with_figure(json!({}), &metric.baseline),
        "matched": metric.matched.map(|(candidate, baseline)| json!({"candidate": candidate, "baseline": baseline})),
        "change": with_figure(json!({}), &metric.change),
        "bounds": metric.bounds.map(|(lower, upper)| json!({"lower": lower, "upper": upper})),
        "test": metric.test.map(|test| json!({"p": test.p, "adjusted": test.adjusted, "method": test_method(test.method)})),
        "paired": metric.paired.map(|paired| json!({
            "mean": paired.mean,
            "stderr": paired.stderr,
            "df": finite(paired.df),
            "t": paired.t().ok().and_then(finite),
            "p": paired.p_two_sided().ok(),
            "method": paired.method.name(),
        })),
        "correlation": metric.correlation,
        "discordance": metric.discordance.map(of_discordance),
        "permutation_p": metric.permutation_p,
        "estimands": list(&metric.estimands, of_estimand),
        "margin": metric.margin.map(of_margin),
        "detectable": metric.detectable,
        "categories": list(&metric.categories, of_category),
        "pairs": list(&metric.pairs, of_pair),
    })
}

fn scale(scale: ChangeScale) -> &'static str {
    match scale {
        ChangeScale::Difference => "difference",
        ChangeScale::Ratio => "ratio",
    }
}

fn standing(standing: MarginStanding) -> &'static str {
    match standing {
        MarginStanding::Superior => "superior",
        MarginStanding::Equivalent => "equivalent",
        MarginStanding::NonInferior => "non_inferior",
        MarginStanding::Inferior => "inferior",
        MarginStanding::Unclear => "unclear",
    }
}

fn test_method(method: TestMethod) -> &'static str {
    match method {
        TestMethod::McNemarExact => "McNemar's exact test",
        TestMethod::PairedT => "paired t test",
        TestMethod::ClusterRobustT => "cluster-robust t test (CR2, Satterthwaite)",
        TestMethod::SignFlip => "sign-flip permutation test",
        TestMethod::PairedBootstrap => "paired bootstrap",
        TestMethod::NoDifference => "no sample differs",
    }
}

/// An object with the keys of a figure besides its own.
fn with_figure(json: Json, figure: &Figure) -> Json {
    let mut json = crate::gate::json::with_figure(json, figure);
    if let Err(why) = &figure.value {
        json["undefined"] = Json::from(undefined(why));
    }
    json
}

/// A number that JSON can write.
fn finite(x: f64) -> Option<f64> {
    Some(x).filter(|x| x.is_finite())
}

fn of_discordance(counts: Discordance) -> Json {
    json!({
        "both": counts.both,
        "only_candidate": counts.only_candidate,
        "only_baseline": counts.only_baseline,
        "neither": counts.neither,
        "p_exact": counts.test.p_exact,
        "p_mid": counts.test.p_mid,
        "chi2": counts.test.chi2.ok(),
        "p_chi2": counts.test.p_chi2.ok(),
    })
}

fn of_estimand(answer: &EstimandAnswer) -> Json {
    with_figure(json!({"estimand": estimand(answer.estimand), "p": answer.p}), &answer.change)
}

fn of_margin(answer: MarginAnswer) -> Json {
    json!({
        "margin": answer.margin,
        "standing": standing(answer.standing),
        "noninferiority_p": answer.noninferiority_p,
        "equivalence_p": answer.equivalence_p,
        "inferiority_p": answer.inferiority_p,
        "superiority_p": answer.superiority_p,
    })
}

fn of_category(found: &CategoryChange) -> Json {
    let json = json!({"category": &*found.category, "candidate": found.candidate, "baseline": found.baseline});
    with_figure(json, &found.change)
}

fn of_pair(pair: &SamplePair) -> Json {
    json!({"id": id_json(&pair.id), "candidate": pair.candidate, "baseline": pair.baseline})
}

fn of_samples(samples: &SampleChanges) -> Json {
    json!({
        "newly_failing": list(&samples.newly_failing, of_change),
        "newly_fixed": list(&samples.newly_fixed, of_change),
        "flaky": list(&samples.flaky, of_change),
        "still_passing": samples.still_passing,
        "still_failing": samples.still_failing,
        "not_told": samples.unknown,
        "flaky_candidate": of_flakiness(samples.flaky_candidate),
        "flaky_baseline": of_flakiness(samples.flaky_baseline),
    })
}

fn of_change(change: &SampleChange) -> Json {
    json!({
        "id": id_json(&change.id),
        "category": change.category.as_deref(),
        "candidate": of_attempts(change.candidate),
        "baseline": of_attempts(change.baseline),
        "flaky": change.is_flaky(),
        "reason": change.reason.as_ref().map(shortcoming_sentence),
    })
}

fn of_attempts(attempts: AttemptCounts) -> Json {
    json!({"passed": attempts.passed, "told": attempts.scored})
}

fn of_flakiness(found: Flakiness) -> Json {
    json!({"flaky": found.flaky, "repeated": found.repeated, "rate": found.rate()})
}

fn of_ranking(ranking: &Ranking) -> Json {
    let (rows, why) = match &ranking.rows {
        Ok(rows) => (list(rows, of_ranked), Json::Null),
        Err(why) => (json!([]), Json::from(incomparable(why))),
    };
    json!({"metric": ranking.metric, "unit": unit(ranking.unit), "runs": rows, "undefined": why})
}

fn of_ranked(ranked: &RankedRun) -> Json {
    let json = json!({"run": ranked.run, "best_rank": ranked.best_rank, "worst_rank": ranked.worst_rank});
    with_figure(json, &ranked.figure)
}

fn of_provenance(about: &CompareProvenance) -> Json {
    let filter = about.filter.iter().map(|(key, value)| json!({"key": key, "value": value}));
    let labels = about.labels.iter().map(|(label, number)| json!({"label": label, "value": number}));
    json!({
        "runs": list(&about.runs, of_origin),
        "filter": filter.collect::<Vec<_>>(),
        "scorers": about.scorers,
        "labels": labels.collect::<Vec<_>>(),
        "scripts": about.scripts,
        "tool": about.tool,
    })
}

fn of_origin(run: &RunOrigin) -> Json {
    json!({"name": run.name, "files": run.files, "task": run.task, "model": run.model})
}
