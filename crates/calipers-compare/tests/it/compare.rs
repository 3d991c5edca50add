//! Comparisons of whole runs: against the golden vectors, small cases by hand, and the null.

use calipers_compare::{
    ChangeScale, ChangeVerdict, CompareDecision, CompareQuestion, CompareReport, ComparedRun, MarginStanding,
    MetricComparison, MetricPlace, TestMethod, compare,
};
use calipers_core::stats::components::{Estimand, UnitMoments};
use calipers_core::stats::multiplicity::{Correction, adjust};
use calipers_core::stats::paired::pair;
use calipers_core::stats::skewed_ratio::SkewedRatio;
use calipers_core::stats::two_sample::welch;
use calipers_core::stats::{Method, Moments, StatisticCaveat};
use calipers_core::{
    Caveat, Confidence, Context, Error, Incomparable, Labels, Metric, OnMissing, PassRule, Registry, Samples, Seed,
    Shortcoming, ValueLimit, ValueLimits, Verdict, accuracy, aggregate, ci, cost, f1, grouped, latency_p50, mcc, mean,
    mean_of, mean_score, pass_rate, precision, quantile,
};
use calipers_testing::vectors::{folder, read};
use serde_json::Value as Json;
use std::sync::Arc;

/// What is asked, with what most tests leave alone.
struct Ask<'a> {
    metrics: Vec<Metric>,
    level: f64,
    margin: Option<f64>,
    cluster: &'a [&'a str],
    estimand: Estimand,
    correction: Correction,
    limits: Vec<ValueLimit>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self {
            metrics: vec![mean()],
            level: 0.95,
            margin: None,
            cluster: &[],
            estimand: Estimand::Population,
            correction: Correction::Holm,
            limits: Vec::new(),
        }
    }
}

impl Ask<'_> {
    fn of(metric: Metric) -> Self {
        Self { metrics: vec![metric], ..Self::default() }
    }

    fn all(&self, samples: &[&Samples]) -> Result<CompareReport, Error> {
        let names = ["new", "old", "third", "fourth"];
        let runs: Vec<ComparedRun<'_>> =
            samples.iter().zip(names).map(|(samples, name)| ComparedRun { name: name.into(), samples }).collect();
        let context = Context::new(self.level, Seed(7), Labels::default())?;
        let question = CompareQuestion {
            metrics: &self.metrics,
            registry: &Registry::builtin(),
            reducer: mean_score(),
            context: Context { limits: ValueLimits::new(self.limits.iter().cloned())?, ..context },
            estimand: self.estimand,
            cluster: self.cluster,
            margin: self.margin,
            correction: self.correction,
            pass_rule: PassRule::default(),
            pairs_max: None,
        };
        compare(&runs, &question)
    }

    fn ask(&self, candidate: &Samples, baseline: &Samples) -> CompareReport {
        self.all(&[candidate, baseline]).unwrap()
    }

    fn first(&self, candidate: &Samples, baseline: &Samples) -> MetricComparison {
        self.ask(candidate, baseline).comparisons[0].metrics[0].clone()
    }
}

fn scored(values: impl IntoIterator<Item = f64>) -> Samples {
    let mut samples = Samples::new();
    for (id, value) in (0i64..).zip(values) {
        samples.push(id).score("score", value);
    }
    samples
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The vectors of a family with this statistic.
fn vectors(family: &str, statistic: &str) -> Vec<Json> {
    let file = read(folder().join("golden").join(family).with_extension("json"));
    let vectors = file["vectors"].as_array().unwrap().iter().filter(|v| v["statistic"] == statistic).cloned();
    let vectors: Vec<Json> = vectors.collect();
    assert!(!vectors.is_empty(), "no vector of {statistic}");
    vectors
}

#[track_caller]
fn same(vector: &Json, key: &str, got: Option<f64>) {
    let want = vector["expected"][key].as_f64();
    let bound = |key: &str| vector["tolerance"][key].as_f64().unwrap();
    let is_same = match (got, want) {
        (Some(got), Some(want)) => (got - want).abs() <= bound("abs") + bound("rel") * want.abs(),
        (got, want) => got.is_none() && want.is_none(),
    };
    assert!(is_same, "{} {key}: got {got:?}, want {want:?}", vector["name"]);
}

#[test]
fn paired_differences_are_those_of_the_vectors() {
    for v in vectors("paired", "paired_diff") {
        let level = v["params"]["level"].as_f64().unwrap();
        let ask = Ask { level, ..Ask::default() };
        let got = ask.first(&scored(numbers(&v["input"]["a"])), &scored(numbers(&v["input"]["b"])));
        same(&v, "n", Some(got.change.n as f64));
        same(&v, "mean_diff", got.change.value.clone().ok());
        same(&v, "correlation", got.correlation);
        let Some(found) = got.paired else {
            // Runs that are alike have no t, and no interval without width.
            assert_eq!(v["expected"]["t"], Json::Null);
            assert!(got.change.interval.unwrap().width().unwrap() > 0.0);
            continue;
        };
        same(&v, "se", Some(found.stderr));
        same(&v, "t", found.t().ok());
        same(&v, "df", Some(found.df));
        same(&v, "p_two_sided", found.p_two_sided().ok());
        let interval = found.interval(Confidence::two_sided(level).unwrap()).unwrap();
        same(&v, "lower", interval.lower);
        same(&v, "upper", interval.upper);
        // Passes and failures have an interval of their own, from McNemar's test.
        if got.discordance.is_none() {
            // Corrected for skewness, t claims less.
            let corrected = got.change.interval.unwrap();
            assert!(corrected.lower < interval.lower && interval.upper < corrected.upper, "{corrected:?} {interval:?}");
            assert!(got.test.unwrap().p > found.p_two_sided().unwrap());
        }
    }
}

#[test]
fn clustered_differences_are_those_of_the_vectors() {
    for v in vectors("paired", "paired_diff_clustered") {
        let run = |key: &str| {
            let mut samples = Samples::new();
            let clusters = v["input"]["clusters"].as_array().unwrap();
            for ((id, value), cluster) in (0i64..).zip(numbers(&v["input"][key])).zip(clusters) {
                samples.push(id).metadata("document", cluster.to_string()).score("score", value);
            }
            samples
        };
        let level = v["params"]["level"].as_f64().unwrap();
        let got = Ask { level, cluster: &["document"], ..Ask::default() }.first(&run("a"), &run("b"));
        let found = got.paired.unwrap();
        same(&v, "mean_diff", got.change.value.clone().ok());
        same(&v, "cr2_se", Some(found.stderr));
        same(&v, "cr2_df", Some(found.df));
        same(&v, "cr2_p", found.p_two_sided().ok());
        // With ten clusters or more, the interval also knows of changes that did not occur, and claims less. Fewer have Gaffke's.
        match got.change.interval {
            Some(interval) if interval.method == Method::SkewedT => {
                let by_error = found.interval(interval.confidence).unwrap();
                assert!(
                    interval.lower < by_error.lower && by_error.upper < interval.upper,
                    "{interval:?} {by_error:?}"
                );
                assert!(got.test.unwrap().p > found.p_two_sided().unwrap());
            }
            Some(interval) => assert_eq!(interval.method, Method::Gaffke),
            None => assert!(v["expected"]["n_clusters"].as_f64() < Some(10.0)),
        }
        let clusters = got.change.details.iter().find(|(name, _)| *name == "clusters").unwrap().1;
        same(&v, "n_clusters", Some(clusters));
    }
}

#[test]
fn margins_are_those_of_the_vectors() {
    for v in vectors("paired", "noninferiority_paired") {
        let (margin, alpha) = (v["params"]["margin"].as_f64(), v["params"]["alpha"].as_f64().unwrap());
        let ask = Ask { level: 1.0 - alpha, margin, ..Ask::default() };
        let got = ask.first(&scored(numbers(&v["input"]["candidate"])), &scored(numbers(&v["input"]["baseline"])));
        let answer = got.margin.unwrap();
        same(&v, "mean_diff", got.change.value.clone().ok());
        // The reference takes t, which is too bold; ours is no bolder.
        let of_t = |key: &str| v["expected"][key].as_f64().unwrap();
        assert!(answer.noninferiority_p.unwrap() >= of_t("p_noninferior"), "{}", v["name"]);
        assert!(answer.equivalence_p >= of_t("tost_p"), "{}", v["name"]);
        let decision = match answer.standing {
            MarginStanding::Inferior => "fail",
            MarginStanding::Unclear => "inconclusive",
            MarginStanding::Superior | MarginStanding::Equivalent | MarginStanding::NonInferior => "pass",
        };
        assert!(v["expected"]["decision"] == decision || decision == "inconclusive", "{}: {decision}", v["name"]);
    }
}

#[test]
fn mcnemar_is_that_of_the_vectors() {
    for v in vectors("tests", "mcnemar") {
        let count = |key: &str| v["input"][key].as_u64().unwrap() as usize;
        let sides =
            [(1.0, 1.0, count("n11")), (1.0, 0.0, count("n10")), (0.0, 1.0, count("n01")), (0.0, 0.0, count("n00"))];
        let side = |pick: fn(&(f64, f64, usize)) -> f64| {
            scored(sides.iter().flat_map(|row| std::iter::repeat_n(pick(row), row.2)).collect::<Vec<_>>())
        };
        let got = Ask::of(accuracy()).first(&side(|row| row.0), &side(|row| row.1));
        let counts = got.discordance.unwrap();
        assert_eq!((counts.only_candidate, counts.only_baseline), (count("n10") as u64, count("n01") as u64));
        same(&v, "p_exact", Some(counts.test.p_exact));
        same(&v, "p_mid", Some(counts.test.p_mid));
        same(&v, "p_exact", got.test.map(|test| test.p));
    }
}

#[test]
fn few_pairs_have_the_permutation_test_of_the_vectors() {
    for v in vectors("tests", "paired_exact_tests") {
        let differences = numbers(&v["input"]["diffs"]);
        let nothing = scored(vec![0.0; differences.len()]);
        let got = Ask::default().first(&scored(differences), &nothing);
        same(&v, "permutation_p", got.permutation_p);
    }
}

#[test]
fn this_suite_rerun_has_the_errors_of_both_runs() {
    let vectors = vectors("paired", "variance_components");
    for v in &vectors {
        let rows: Vec<Vec<f64>> = serde_json::from_value(v["input"]["scores"].clone()).unwrap();
        let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
        for (id, row) in (0i64..).zip(&rows) {
            for &score in row {
                candidate.push(id).score("score", score);
                baseline.push(id).score("score", 1.0 - score);
            }
        }
        let ask = Ask { metrics: vec![accuracy()], estimand: Estimand::FixedSuite, ..Ask::default() };
        let got = ask.first(&candidate, &baseline);
        let one = v["expected"]["se_fixed_suite"].as_f64().unwrap();
        let found = got.paired.unwrap();
        assert!((found.stderr - one.hypot(one)).abs() < 1e-9, "{} {}", found.stderr, one);
        assert_eq!(got.estimands[1].estimand, Estimand::FixedSuite);
        assert_eq!(got.estimands[1].change.interval, got.change.interval);
        let units = UnitMoments::from_rows(&rows).components().unwrap();
        assert!((got.change.value.unwrap() - (2.0 * units.mean - 1.0)).abs() < 1e-12);
        // Attempts as scenarios say the same as attempts by score.
        let by_record = Ask { metrics: vec![pass_rate()], ..ask }.first(&candidate, &baseline);
        assert!((by_record.paired.unwrap().stderr - found.stderr).abs() < 1e-12);
    }
    // One attempt at each sample says nothing of the luck of attempts.
    let ask = Ask { estimand: Estimand::FixedSuite, ..Ask::default() };
    let got = ask.first(&scored([1.0, 0.0, 1.0]), &scored([0.0, 0.0, 1.0]));
    assert_eq!(got.verdict, ChangeVerdict::Unknown);
    assert_eq!(got.why, Some(Incomparable::RerunNeedsAttempts));
    assert_eq!((got.change.value, got.change.interval), (Ok(1.0 / 3.0), None));
}

/// Runs over the same samples: how many both pass, only the first, only the second, and none.
fn table([both, first, second, neither]: [usize; 4]) -> (Samples, Samples) {
    let rows = [(1.0, 1.0, both), (1.0, 0.0, first), (0.0, 1.0, second), (0.0, 0.0, neither)];
    let pairs = rows.into_iter().flat_map(|(a, b, times)| std::iter::repeat_n((a, b), times));
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    (scored(a), scored(b))
}

#[test]
fn pairing_shows_what_two_intervals_hide() {
    // Five hundred samples, correlated by 0.69: p = 0.023 unpaired and 0.00006 paired.
    let (candidate, baseline) = table([157, 56, 21, 266]);
    let got = Ask::of(accuracy()).first(&candidate, &baseline);
    assert_eq!((got.correlation.unwrap() * 100.0).round(), 69.0);
    let paired = got.paired.unwrap().p_two_sided().unwrap();
    assert_eq!((paired * 1e5).round(), 6.0);
    let share = |passed: usize| Moments::from_slice(&[vec![1.0; passed], vec![0.0; 500 - passed]].concat());
    let unpaired = welch(&share(213), &share(178)).unwrap().p_two_sided().unwrap();
    assert_eq!((unpaired * 1e3).round(), 23.0);
    assert_eq!((got.verdict, got.why), (ChangeVerdict::Improved, None));
}

#[test]
fn twelve_against_three_is_a_change() {
    let (candidate, baseline) = table([60, 3, 12, 25]);
    let report = Ask::of(accuracy()).ask(&candidate, &baseline);
    let got = &report.comparisons[0].metrics[0];
    assert_eq!(got.change.value, Ok(-0.09));
    assert!((got.test.unwrap().p - 0.03515625).abs() < 1e-12);
    assert_eq!(got.change.interval.unwrap().method.name(), "gaffke");
    assert_eq!((got.verdict, report.verdict), (ChangeVerdict::Regressed, Verdict::Fail));
    assert_eq!(report.decided_by, CompareDecision::Regression(MetricPlace { comparison: 0, metric: 0 }));
    let samples = report.comparisons[0].samples.as_ref().unwrap();
    assert_eq!((samples.newly_failing.len(), samples.newly_fixed.len()), (12, 3));
    assert_eq!((samples.still_passing, samples.still_failing), (60, 25));
    assert_eq!(samples.newly_failing[0].reason, Some(Shortcoming::ScoreBelow { score: 0.0, threshold: 1.0 }));
}

#[test]
fn a_margin_separates_regressions_from_noise() {
    let (candidate, baseline) = table([60, 3, 12, 25]);
    let with = |margin: f64| {
        let ask = Ask { metrics: vec![accuracy()], margin: Some(margin), ..Ask::default() };
        ask.ask(&candidate, &baseline)
    };
    let small = with(0.01);
    let got = &small.comparisons[0].metrics[0];
    assert_eq!((got.verdict, small.verdict), (ChangeVerdict::Regressed, Verdict::Fail));
    assert_eq!(got.margin.unwrap().standing, MarginStanding::Inferior);
    let large = with(0.08);
    let got = &large.comparisons[0].metrics[0];
    assert_eq!((got.verdict, large.verdict), (ChangeVerdict::WithinNoise, Verdict::Pass));
    assert_eq!(got.margin.unwrap().standing, MarginStanding::Unclear);
    let huge = with(0.2);
    assert_eq!(huge.comparisons[0].metrics[0].margin.unwrap().standing, MarginStanding::Equivalent);
    let refused = Ask { margin: Some(-0.1), ..Ask::default() }.all(&[&candidate, &baseline]).unwrap_err();
    assert!(refused.to_string().contains("a margin of -0.1 leaves no room"), "{refused}");
}

#[test]
fn runs_that_are_alike_are_as_alike_as_their_size_shows() {
    let run = scored((0..59).map(|i| f64::from(i % 3 != 0)));
    let report = Ask { metrics: vec![accuracy()], margin: Some(0.06), ..Ask::default() }.ask(&run, &run);
    let got = &report.comparisons[0].metrics[0];
    let reach = 1.0 - 0.025f64.powf(1.0 / 59.0);
    let interval = got.change.interval.unwrap();
    assert!((interval.upper.unwrap() - reach).abs() < 1e-12 && interval.lower == Some(-interval.upper.unwrap()));
    assert_eq!(
        (got.test.unwrap().p, got.verdict, report.verdict),
        (1.0, ChangeVerdict::NoChangeDetected, Verdict::Pass)
    );
    // A change of six points would have shown in 59 samples with more than 95 %.
    let answer = got.margin.unwrap();
    assert!((answer.equivalence_p - 0.94f64.powi(59)).abs() < 1e-12);
    assert_eq!(answer.standing, MarginStanding::Equivalent);
}

#[test]
fn everything_that_is_tested_is_adjusted_for() {
    let run = |seed: u64| {
        let mut draws = Draws(seed);
        let mut samples = Samples::new();
        for id in 0i64..50 {
            let hard = draws.unit();
            let attempt = samples.push(id).field("tokens_used", 100.0 + 100.0 * draws.unit());
            let attempt = attempt.score("first", f64::from(draws.unit() > hard));
            attempt.score("second", hard + 0.1 * draws.unit()).score("third", draws.unit());
        }
        samples
    };
    let (candidate, baseline) = (run(1), run(2));
    let metrics: Vec<Metric> = ["first", "second", "third"].map(|scorer| mean().of_scorer(scorer).unwrap()).into();
    for correction in [Correction::Holm, Correction::BenjaminiHochberg] {
        let ask = Ask { metrics: metrics.clone(), correction, ..Ask::default() };
        let report = ask.ask(&candidate, &baseline);
        let comparison = &report.comparisons[0];
        let all: Vec<&MetricComparison> = comparison.metrics.iter().chain(&comparison.resources).collect();
        assert_eq!((all.len(), report.settings.tests), (4, 4));
        assert_eq!(all[3].metric, "tokens_used");
        let p: Vec<Option<f64>> = all.iter().map(|metric| metric.test.map(|test| test.p)).collect();
        let adjusted: Vec<Option<f64>> = all.iter().map(|metric| metric.test.map(|test| test.adjusted)).collect();
        assert_eq!(adjusted, adjust(&p, correction).unwrap());
    }
}

fn spent(field: &'static str, values: &[f64]) -> Samples {
    let mut samples = Samples::new();
    for (id, &value) in (0i64..).zip(values) {
        samples.push(id).field(field, value);
    }
    samples
}

#[test]
fn what_is_spent_is_compared_as_a_ratio() {
    let (candidate, baseline) = (spent("cost_usd", &[3.0, 5.0]), spent("cost_usd", &[1.0, 3.0]));
    for metric in [cost(), mean_of("cost_usd")] {
        let got = Ask::of(metric).first(&candidate, &baseline);
        assert_eq!((got.scale, got.matched.unwrap()), (ChangeScale::Ratio, (4.0, 2.0)));
        assert!((got.change.value.clone().unwrap() - 2.0).abs() < 1e-12);
        // Shares of all cost: 3/8 − 1/4 and 5/8 − 3/4, so that the error of ln 2 is 1/4.
        let found = got.paired.unwrap();
        assert!((found.stderr - 0.25).abs() < 1e-12 && found.df == 1.0, "{found:?}");
        // Two pairs have no interval and no verdict, and say how many would.
        assert_eq!((got.change.interval, got.test, got.verdict), (None, None, ChangeVerdict::Unknown));
        assert_eq!(got.change.caveats, [Caveat::from(StatisticCaveat::SmallSample { n: 2, need: 10 })]);
    }
    let (dear, cheap) =
        ([2.0, 3.1, 8.2, 1.0, 4.3, 2.2, 9.9, 3.0, 2.9, 5.1], [1.1, 1.4, 4.0, 0.6, 2.0, 1.2, 5.1, 1.4, 1.5, 2.4]);
    let got = Ask::of(cost()).first(&spent("cost_usd", &dear), &spent("cost_usd", &cheap));
    let want = SkewedRatio::new(&dear, &cheap).unwrap();
    let (interval, wanted) = (got.change.interval.unwrap(), want.interval(Confidence::two_sided(0.95).unwrap()));
    assert!((interval.upper.unwrap() / wanted.upper.unwrap() - 1.0).abs() < 1e-12 && interval.method == wanted.method);
    assert!((got.test.unwrap().p - 2.0 * want.p_above(1.0)).abs() < 1e-12);
    let all: Vec<f64> = (1..=60).map(f64::from).collect();
    let dearer: Vec<f64> = all.iter().map(|x| 1.3 * x).collect();
    for metric in [cost(), mean_of("cost_usd")] {
        let got = Ask::of(metric).first(&spent("cost_usd", &dearer), &spent("cost_usd", &all));
        // Dearer by 30 % throughout: no spread but rounding. One in seventeen may have changed otherwise and not be among these sixty.
        assert_eq!((got.verdict, got.test.unwrap().method), (ChangeVerdict::Regressed, TestMethod::FiellerT));
        let interval = got.change.interval.unwrap();
        assert!(
            interval.contains(1.3) && interval.lower.unwrap() > 1.0 && interval.upper.unwrap() < 1.7,
            "{interval:?}"
        );
    }
    let free = Ask::of(cost()).first(&spent("cost_usd", &all), &spent("cost_usd", &[0.0; 60]));
    assert_eq!(free.verdict, ChangeVerdict::Unknown);
    assert_eq!(free.why, Some(Incomparable::NotPositive));
    assert!(free.change.value.is_err());
}

/// 24 samples that all became 5 to 7 % slower. One in seven others may change in another way without being among them.
#[test]
fn a_mean_that_stays_open_says_so_and_the_typical_sample_is_sure() {
    let before: Vec<f64> = (0..24).map(|i| 800.0 + 25.0 * f64::from(i)).collect();
    let slower: Vec<f64> = before.iter().zip(0..).map(|(x, i)| x * (1.05 + 0.001 * f64::from(i * 7 % 21))).collect();
    let latency = || Ask::of(mean_of("latency_ms"));
    let got = latency().first(&spent("latency_ms", &slower), &spent("latency_ms", &before));
    assert!(got.verdict == ChangeVerdict::NoChangeDetected && got.is_open() && got.test.unwrap().p == 1.0);
    let typical = got.typical.clone().unwrap();
    assert_eq!((typical.higher, typical.lower, typical.same), (24, 0, 0));
    let interval = typical.change.interval.unwrap();
    assert!(
        interval.lower.unwrap() > 1.049 && interval.upper.unwrap() < 1.07 && typical.p.unwrap() < 1e-6,
        "{interval:?}"
    );
    let need = |got: &MetricComparison| {
        got.change.caveats.iter().find_map(|caveat| match caveat {
            Caveat::OpenChange { units: 24, are_clusters: false, one_in: 5, need, is_unlimited } => {
                Some((*need, *is_unlimited))
            }
            _ => None,
        })
    };
    let (open, is_unlimited) = need(&got).unwrap();
    assert!((150..250).contains(&open) && is_unlimited, "{open}");
    // As many as that settle it, and a tenth fewer do not.
    let verdict = |n: usize| {
        let times = |values: &[f64]| spent("latency_ms", &values.iter().copied().cycle().take(n).collect::<Vec<_>>());
        latency().first(&times(&slower), &times(&before)).verdict
    };
    assert_eq!(verdict(open as usize + 5), ChangeVerdict::Regressed);
    assert_eq!(verdict(open as usize * 9 / 10), ChangeVerdict::NoChangeDetected);
    // What one attempt can take makes the number smaller. A limit that an attempt exceeds is none.
    let limited = |most: f64| {
        let limits = vec![ValueLimit { name: "latency_ms".into(), least: 0.0, most }];
        Ask { limits, ..latency() }.first(&spent("latency_ms", &slower), &spent("latency_ms", &before))
    };
    let (fewer, is_unlimited) = need(&limited(2000.0)).unwrap();
    assert!(fewer < open && !is_unlimited, "{fewer} of {open}");
    assert_eq!(need(&limited(1000.0)), Some((open, true)));
}

#[test]
fn a_typical_sample_is_shown_for_ratios_and_where_a_mean_of_scores_stays_open() {
    let costs: Vec<f64> = (1..=12).map(f64::from).collect();
    let mut other = costs.clone();
    (other[0], other[1], other[2]) = (0.5, 2.0, 9.0);
    let typical = Ask::of(cost()).first(&spent("cost_usd", &other), &spent("cost_usd", &costs)).typical.unwrap();
    assert_eq!((typical.higher, typical.lower, typical.same, typical.change.value), (1, 1, 10, Ok(1.0)));
    // All of thirty scores gain 0.042 to 0.046.
    let gained = scored((0..30).map(|i| 0.942 + 0.001 * f64::from(i % 5)));
    let got = Ask::default().first(&gained, &scored((0..30).map(|_| 0.9)));
    assert!(got.is_open() && got.typical.is_some_and(|typical| typical.higher == 30));
    let varied = Ask::default().first(&scored((0..30).map(|i| f64::from(i) / 30.0)), &scored((0..30).map(|_| 0.5)));
    assert!(!varied.is_open() && varied.typical.is_none());
    // A rerun of this suite is another question.
    let rerun = Ask { estimand: Estimand::FixedSuite, ..Ask::of(cost()) };
    assert!(rerun.first(&spent("cost_usd", &other), &spent("cost_usd", &costs)).typical.is_none());
}

#[test]
fn a_key_of_maps_has_the_better_side_of_its_metric() {
    let run = |right: i64| {
        let mut samples = Samples::new();
        for id in 0..40_i64 {
            samples.push(id).score("judge", [("tone", f64::from(u8::from(id < right)))]);
        }
        samples
    };
    for metric in [accuracy(), mean()] {
        let got = Ask::of(aggregate("tone", metric, OnMissing::Error)).first(&run(38), &run(20));
        assert_eq!(got.verdict, ChangeVerdict::Improved, "{}", got.metric);
    }
}

#[test]
fn runs_that_are_too_far_apart_for_a_ratio_cannot_be_compared() {
    for (ours, theirs) in [(1e300, 1e-300), (1e-300, 1e300)] {
        let got = Ask::of(cost()).first(&spent("cost_usd", &[ours; 20]), &spent("cost_usd", &[theirs; 20]));
        assert_eq!((got.verdict, got.why), (ChangeVerdict::Unknown, Some(Incomparable::BeyondNumbers)));
        assert!(got.change.value.is_err() && got.test.is_none());
    }
}

#[test]
fn shares_of_changing_denominators_are_paired_too() {
    let run = |predicted: &[bool]| {
        let mut samples = Samples::new();
        for (id, &predicted) in (0i64..).zip(predicted) {
            samples.push(id).field("predicted", predicted).field("actual", id < 3);
        }
        samples
    };
    let candidate = run(&[true, true, true, true, false, false]);
    let baseline = run(&[true, true, false, true, true, false]);
    let got = Ask::of(precision(true)).first(&candidate, &baseline);
    assert_eq!((got.scale, got.matched.unwrap()), (ChangeScale::Difference, (0.75, 0.5)));
    // Influences (y − Rx)/Σx: ¼(¼, ¼, ¼, −¾, 0, 0) beside ¼(½, ½, 0, −½, −½, 0).
    let correlation = pair(&[0.25, 0.25, 0.25, -0.75, 0.0, 0.0], &[0.5, 0.5, 0.0, -0.5, -0.5, 0.0]).unwrap();
    assert!((got.correlation.unwrap() - correlation.correlation().unwrap()).abs() < 1e-12);
    // p, interval and verdict come from one method.
    let interval = got.change.interval.unwrap();
    assert!(interval.contains(0.0) && got.test.unwrap().p > 0.05, "{interval:?}");
    assert_eq!((got.test.unwrap().method, got.verdict), (TestMethod::JoinedBounds, ChangeVerdict::NoChangeDetected));
    let got = Ask::of(f1(true)).first(&candidate, &baseline);
    assert_eq!((got.matched.unwrap(), got.verdict), ((6.0 / 7.0, 4.0 / 7.0), ChangeVerdict::NoChangeDetected));
    let got = Ask::of(mcc(true)).first(&candidate, &baseline);
    assert_eq!((got.scale, got.verdict), (ChangeScale::Difference, ChangeVerdict::NoChangeDetected));
    assert!((got.change.value.unwrap() - (0.5f64.sqrt() - 0.0)).abs() < 1e-12 && got.change.interval.is_some());
}

#[test]
fn quantiles_are_resampled_by_sample() {
    let latencies = |slower: f64, seed: u64| {
        let (mut tasks, mut draws) = (Draws(3), Draws(seed));
        let mut samples = Samples::new();
        for id in 0i64..60 {
            let task = 500.0 + 1000.0 * tasks.unit();
            for _ in 0..3 {
                samples.push(id).field("latency_ms", task * slower * (0.9 + 0.2 * draws.unit()));
            }
        }
        samples
    };
    let fast = latencies(1.0, 4);
    for metric in [latency_p50(), quantile("latency_ms", 0.5).unwrap()] {
        let got = Ask::of(metric).first(&latencies(1.3, 5), &fast);
        let interval = got.change.interval.unwrap();
        assert!(
            got.scale == ChangeScale::Ratio && interval.contains(1.3) && interval.width().unwrap() > 0.01,
            "{interval:?}"
        );
        // Tasks differ threefold, but they are the same tasks.
        assert!(interval.width().unwrap() < 0.2, "{interval:?}");
        assert_eq!(got.verdict, ChangeVerdict::Regressed, "{:?}", got.why);
    }
    // The same draws, each 1.3 times as slow: sure, and without an interval of no width.
    let got = Ask::of(latency_p50()).first(&latencies(1.3, 4), &fast);
    assert!((got.change.value.clone().unwrap() - 1.3).abs() < 1e-12 && got.change.interval.is_none());
    assert_eq!((got.verdict, got.change.caveats[0].id()), (ChangeVerdict::Regressed, "no-spread"));
    let mut timed_out = latencies(1.0, 4);
    for id in 0i64..60 {
        for _ in 0..4 {
            timed_out.push(id).error("timed out");
        }
    }
    let report = Ask::of(latency_p50()).ask(&timed_out, &fast);
    assert_eq!(report.verdict, Verdict::Undecided);
    assert_eq!(report.comparisons[0].metrics[0].why, Some(Incomparable::QuantileNotFinite));
    let resource = &report.comparisons[0].resources[0];
    assert_eq!(resource.why, Some(Incomparable::Timeouts { run: "new".into(), attempts: 240 }));
}

#[test]
fn what_cannot_be_compared_says_why_and_is_undecided() {
    let some = scored([1.0, 0.0, 1.0]);
    let mut renamed = Samples::new();
    let (mut other_scorer, mut unscored) = (Samples::new(), Samples::new());
    for id in 0..3 {
        renamed.push(format!("q{id}")).score("score", 1.0);
        other_scorer.push(id).score("judge", 1.0);
        unscored.push(id);
    }
    let by = |old: &[&str]| {
        let scorers = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        Incomparable::NoSharedScorer {
            scorers: vec![("new".into(), scorers(&["score"])), ("old".into(), scorers(old))],
        }
    };
    let different = Incomparable::NoSharedSample { candidate: 0.into(), baseline: "q0".into() };
    let cases: [(&Samples, Incomparable); 5] = [
        (&renamed, different),
        (&Samples::new(), Incomparable::EmptyRun { run: "old".into() }),
        (&other_scorer, by(&["judge"])),
        (&unscored, by(&[])),
        (&scored([1.0]), Incomparable::OnePair),
    ];
    for (baseline, why) in cases {
        for metric in [accuracy(), pass_rate()] {
            let report = Ask::of(metric).ask(&some, baseline);
            let got = &report.comparisons[0].metrics[0];
            assert_eq!((report.verdict, got.verdict), (Verdict::Undecided, ChangeVerdict::Unknown), "{why:?}");
            assert!(got.test.is_none() && got.change.interval.is_none());
            // Whether a sample passed may be recorded without any score, so that the scorers are no reason there.
            assert!(
                got.why.as_ref() == Some(&why) || (got.metric == "pass_rate" && got.why.is_some()),
                "{:?}",
                got.why
            );
            let decision = match report.comparisons[0].problem {
                Some(_) => CompareDecision::Problem { comparison: 0 },
                None => CompareDecision::NothingKnown(MetricPlace { comparison: 0, metric: 0 }),
            };
            assert_eq!(report.decided_by, decision);
        }
    }
    let error = Ask::of(mean_of("quality")).all(&[&some, &some]).unwrap_err();
    assert!(error.to_string().starts_with("no sample has the field `quality`"), "{error}");
    let error = Ask::of(grouped(mean(), "category")).all(&[&some, &some]).unwrap_err();
    assert!(error.to_string().contains("category"), "{error}");
    let error = Ask::of(ci()).all(&[&some, &some]).unwrap_err();
    assert!(error.to_string().starts_with("`ci` is not one number"), "{error}");
    let error = Ask { cluster: &["document"], ..Ask::default() }.all(&[&some, &some]).unwrap_err();
    assert!(error.to_string().starts_with("no sample has the field `document`"), "{error}");
    let error = Ask::default().all(&[&some]).unwrap_err();
    assert!(error.to_string().contains("name at least two runs"), "{error}");
}

#[test]
fn an_outage_is_no_regression() {
    let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
    for id in 0..30 {
        baseline.push(id).field("passed", true);
        let attempt = candidate.push(id);
        if id < 10 {
            attempt.field("passed", true)
        } else {
            attempt.error("connection reset")
        };
    }
    let report = Ask::of(pass_rate()).ask(&candidate, &baseline);
    let got = &report.comparisons[0].metrics[0];
    assert_eq!((got.verdict, report.verdict, got.change.n), (ChangeVerdict::NoChangeDetected, Verdict::Pass, 10));
    assert_eq!((got.change.missing, got.bounds), (20, Some((-20.0 / 30.0, 0.0))));
    let samples = report.comparisons[0].samples.as_ref().unwrap();
    assert_eq!((samples.newly_failing.len(), samples.unknown), (0, 20));
}

#[test]
fn what_is_unmatched_is_counted_and_bounded() {
    let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
    for (id, score) in [(1, 1.0), (2, 1.0), (3, 0.0), (4, 1.0)] {
        candidate.push(id).score("score", score);
    }
    for (id, score) in [(1, 0.0), (2, 1.0), (3, 1.0), (5, 0.0)] {
        baseline.push(id).score("score", score);
    }
    let report = Ask::of(accuracy()).ask(&candidate, &baseline);
    let comparison = &report.comparisons[0];
    let matching = &comparison.matching;
    assert_eq!((matching.matched, matching.only_candidate.len(), matching.only_baseline.len()), (3, 1, 1));
    assert_eq!(
        (matching.only_candidate[0].to_string(), matching.only_baseline[0].to_string()),
        ("4".into(), "5".into())
    );
    let got = &comparison.metrics[0];
    assert_eq!((got.change.value.clone(), got.change.n, got.change.missing), (Ok(0.0), 3, 2));
    assert_eq!(got.bounds, Some((0.0, 0.4)));
    assert_eq!(got.candidate.value, Ok(0.75));
    let unmatched = Caveat::Unmatched {
        candidate: "new".into(),
        candidate_samples: 1,
        baseline: "old".into(),
        baseline_samples: 1,
    };
    assert_eq!(report.caveats, [unmatched]);
}

#[test]
fn flaky_samples_are_told_from_failing_ones() {
    let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
    for (id, category, now, then) in [
        ("a", "core", "CCC", "CCC"),
        ("b", "core", "CIC", "CCC"),
        ("c", "edge", "III", "CCC"),
        ("d", "edge", "CCC", "III"),
    ] {
        for score in now.chars() {
            candidate.push(id).metadata("category", category).score("match", score.to_string());
        }
        for score in then.chars() {
            baseline.push(id).score("match", score.to_string());
        }
    }
    let report = Ask::of(accuracy()).ask(&candidate, &baseline);
    let samples = report.comparisons[0].samples.as_ref().unwrap();
    let names = |list: &[calipers_compare::SampleChange]| {
        list.iter()
            .map(|sample| format!("{}{}", sample.id, if sample.is_flaky() { "~" } else { "" }))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&samples.newly_failing), ["c", "b~"]);
    assert_eq!(names(&samples.newly_fixed), ["d"]);
    assert_eq!(names(&samples.flaky), ["b~"]);
    assert_eq!(samples.flaky[0].candidate.rate(), Some(2.0 / 3.0));
    assert_eq!((samples.flaky_candidate.rate(), samples.flaky_baseline.rate()), (Some(0.25), Some(0.0)));
    let got = &report.comparisons[0].metrics[0];
    let largest: Vec<(String, f64)> =
        got.largest(2).into_iter().map(|pair| (pair.id.to_string(), pair.difference())).collect();
    assert_eq!(largest, [("c".into(), -1.0), ("d".into(), 1.0)]);
    let categories: Vec<(&str, f64)> =
        got.categories.iter().map(|row| (&*row.category, row.change.value.clone().unwrap())).collect();
    assert_eq!(categories.len(), 2);
    assert_eq!((categories[0].0, categories[1]), ("core", ("edge", 0.0)));
    assert!((categories[0].1 + 1.0 / 6.0).abs() < 1e-12);
    assert!(got.categories[0].change.interval.is_some());
}

#[test]
fn several_runs_are_ranked_by_paired_tests() {
    let run = |limit: i64| scored((0..100).map(|id| f64::from(u8::from(id < limit))).collect::<Vec<_>>());
    let (good, bad, better) = (run(70), run(50), run(72));
    let report = Ask::of(accuracy()).all(&[&good, &bad, &better]).unwrap();
    assert_eq!(report.comparisons.len(), 2);
    assert_eq!(report.comparisons[0].metrics[0].verdict, ChangeVerdict::Improved);
    assert_eq!(report.comparisons[1].metrics[0].verdict, ChangeVerdict::NoChangeDetected);
    let rows = report.rankings[0].rows.as_ref().unwrap();
    let ranks: Vec<(&str, u64, u64)> =
        rows.iter().map(|row| (row.run.as_str(), row.best_rank, row.worst_rank)).collect();
    assert_eq!(ranks, [("third", 1, 2), ("new", 1, 2), ("old", 3, 3)]);
    let level = rows[0].figure.interval.unwrap().confidence.level();
    assert!((level - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
}

#[test]
fn a_metric_without_a_better_side_only_changes() {
    let (low, high) = ([1.0, 2.0, 3.0, 2.0, 1.5, 2.5].repeat(2), [4.0, 5.5, 6.0, 5.0, 4.5, 6.0].repeat(2));
    let (low, high) = (spent("depth", &low), spent("depth", &high));
    let got = Ask::of(quantile("depth", 0.5).unwrap()).first(&high, &low);
    assert_eq!((got.verdict, got.scale), (ChangeVerdict::Changed, ChangeScale::Difference));
}

#[test]
fn the_order_of_arrival_changes_nothing() {
    let run = |order: &[i64], seed: u64| {
        let mut samples = Samples::new();
        for &id in order {
            let mut draws = Draws(seed + 31 * id as u64);
            let attempt = samples.push(id).metadata("category", if id % 2 == 0 { "even" } else { "odd" });
            attempt.score("score", draws.unit()).field("latency_ms", 100.0 * draws.unit());
        }
        samples
    };
    let forward: Vec<i64> = (0..30).collect();
    let backward: Vec<i64> = (0..30).rev().collect();
    let ask = Ask { metrics: vec![mean(), latency_p50()], ..Ask::default() };
    let report = |order: &[i64]| format!("{:?}", ask.ask(&run(order, 1), &run(order, 2)));
    assert_eq!(report(&forward), report(&backward));
}

/// Numbers that look random: SplitMix64.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Counts false alarms among comparisons of a system with itself.
fn false_alarms(runs: u64, mut one: impl FnMut(&mut Draws) -> (Samples, Samples), ask: &Ask<'_>) -> (u64, u64) {
    let mut draws = Draws(20_260_101);
    let (mut regressed, mut changed) = (0, 0);
    for _ in 0..runs {
        let (candidate, baseline) = one(&mut draws);
        let report = ask.ask(&candidate, &baseline);
        let any = |change: ChangeVerdict| report.comparisons[0].metrics.iter().any(|metric| metric.verdict == change);
        regressed += u64::from(any(ChangeVerdict::Regressed));
        changed += u64::from(any(ChangeVerdict::Regressed) || any(ChangeVerdict::Improved));
    }
    (regressed, changed)
}

#[test]
fn a_system_compared_with_itself_seldom_regresses() {
    const RUNS: u64 = 500;
    // Two-sided 5 %, so a regression in 2.5 %; five standard deviations of the count above that.
    let most = |share: f64| (RUNS as f64 * share + 5.0 * (RUNS as f64 * share * (1.0 - share)).sqrt()) as u64;
    let pair = |draws: &mut Draws, graded: bool| {
        let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
        for id in 0i64..40 {
            let hard = draws.unit();
            for samples in [&mut candidate, &mut baseline] {
                let x = draws.unit();
                let value = if graded { 0.5 * hard + 0.5 * x } else { f64::from(u8::from(x > hard)) };
                let other = draws.unit();
                samples.push(id).metadata("document", id / 4).score("score", value).score("other", other);
            }
        }
        (candidate, baseline)
    };
    let by = |scorer: &str| mean().of_scorer(scorer).unwrap();
    let alone = Ask { metrics: vec![by("score")], ..Ask::default() };
    let (regressed, changed) = false_alarms(RUNS, |draws| pair(draws, true), &alone);
    assert!(regressed <= most(0.025) && changed <= most(0.05), "{regressed} {changed}");
    assert!(changed >= 8, "a test of 5 % that hardly ever rejects: {changed}");
    let (regressed, changed) = false_alarms(RUNS, |draws| pair(draws, false), &alone);
    assert!(regressed <= most(0.025) && changed <= most(0.05), "{regressed} {changed}");
    let clustered = Ask { cluster: &["document"], ..alone };
    let (regressed, changed) = false_alarms(RUNS, |draws| pair(draws, true), &clustered);
    assert!(regressed <= most(0.025) && changed <= most(0.05), "{regressed} {changed}");
    let spending = |draws: &mut Draws| {
        let (mut candidate, mut baseline) = (Samples::new(), Samples::new());
        for id in 0i64..40 {
            let long = draws.unit();
            for samples in [&mut candidate, &mut baseline] {
                samples.push(id).field("cost_usd", (2.0 * long + draws.unit()).exp());
            }
        }
        (candidate, baseline)
    };
    let (regressed, changed) = false_alarms(RUNS, spending, &Ask::of(cost()));
    assert!(regressed <= most(0.025) && changed <= most(0.05), "{regressed} {changed}");
    let both = Ask { metrics: vec![by("score"), by("other")], ..Ask::default() };
    let (regressed, changed) = false_alarms(RUNS, |draws| pair(draws, true), &both);
    assert!(regressed <= most(0.025) && changed <= most(0.05), "{regressed} {changed}");
}

#[test]
fn a_comparison_says_what_it_could_have_found() {
    let right: Vec<f64> = (0..60).map(|i| 0.3 + 0.4 * f64::from(i % 7) / 7.0).collect();
    let found = |step: f64, least: f64| {
        let left: Vec<f64> = right.iter().zip(0..).map(|(x, i)| x + step * (f64::from(i % 5) - least)).collect();
        let got = Ask::default().first(&scored(left.clone()), &scored(right.clone()));
        (got.detectable.unwrap(), pair(&left, &right).unwrap().difference().unwrap())
    };
    // Grades that vary: t with 59 degrees of freedom at 0.975 and 0.8; the first is a little wider.
    let (detectable, change) = found(0.15, 2.0);
    let want = change.stderr * (2.000_995 * (60.0f64 / 58.0).sqrt() + 0.847_8);
    assert!((detectable - want).abs() < change.stderr * 1e-3, "{detectable} {want}");
    // Grades that hardly vary: 6 % of the samples may have gained all that they lacked without being seen.
    let (detectable, change) = found(0.01, 0.0);
    let share = 1.0 - 0.025f64.powf(1.0 / 60.0);
    let lacked = 1.0 - right.iter().sum::<f64>() / 60.0;
    let want = share * (lacked - change.mean) + 0.847_8 * change.stderr;
    assert!((detectable - want).abs() < change.stderr * 1e-3, "{detectable} {want}");
}

#[test]
fn a_gain_of_few_samples_does_not_rule_out_a_loss_that_did_not_occur() {
    let before: Vec<f64> = (0..30).map(|i| 0.8 + 0.005 * f64::from(i % 20)).collect();
    let run = |gain: fn(usize) -> f64| scored(before.iter().enumerate().map(|(i, x)| x + gain(i)).collect::<Vec<_>>());
    // All the same, or nearly: one sample in twenty may lose everything, and be in none of thirty.
    for gain in [(|_| 0.03) as fn(usize) -> f64, |i| 0.03 + 0.002 * (i % 3) as f64] {
        let got = Ask::default().first(&run(gain), &scored(before.clone()));
        let interval = got.change.interval.unwrap();
        assert!(interval.lower.unwrap() < -0.05 && interval.upper.unwrap() < 0.06, "{interval:?}");
        assert_eq!(got.verdict, ChangeVerdict::NoChangeDetected);
    }
    // What is more than such a loss would take away is found.
    let got = Ask::default().first(&run(|_| 0.1), &scored(before.iter().map(|x| x - 0.1).collect::<Vec<_>>()));
    assert_eq!(got.verdict, ChangeVerdict::Improved);
}

#[test]
fn less_is_better_of_what_is_spent_and_a_margin_is_a_factor() {
    let run = |factor: f64, seed: u64| {
        let mut draws = Draws(seed);
        spent("cost_usd", &(1..=300).map(|i| f64::from(i) * factor * (0.95 + 0.1 * draws.unit())).collect::<Vec<_>>())
    };
    let against = |factor: f64, margin: f64| {
        let ask = Ask { margin: Some(margin), ..Ask::of(cost()) };
        let got = ask.first(&run(factor, 1), &run(1.0, 2));
        (got.verdict, got.margin.unwrap().standing)
    };
    assert_eq!(against(1.3, 0.1), (ChangeVerdict::Regressed, MarginStanding::Inferior));
    assert_eq!(against(1.3, 0.3), (ChangeVerdict::WithinNoise, MarginStanding::Unclear));
    assert_eq!(against(1.3, 0.5), (ChangeVerdict::WithinNoise, MarginStanding::Equivalent));
    assert_eq!(against(1.0 / 1.3, 0.1), (ChangeVerdict::Improved, MarginStanding::Superior));
    assert_eq!(against(1.0 / 1.3, 0.3), (ChangeVerdict::WithinNoise, MarginStanding::NonInferior));
    assert_eq!(against(1.0, 0.1), (ChangeVerdict::NoChangeDetected, MarginStanding::Equivalent));
}
