//! `latency_p50`, `latency_p90`, `latency_p95` and `latency_p99`.

use super::quantile::{Of, Quantile};
use super::registry::Definition;
use super::{Metric, MetricBasis, PolicyRole, Scope, View};
use crate::{About, Family, Unit};
use calipers_stats::threshold_test::Direction;

/// What there is to say about a percentile of the latency.
const fn about(name: &'static str, summary: &'static str, formula: &'static str, example: &'static str) -> About {
    About {
        name,
        summary,
        usage: name,
        tells: "How long users wait: the time within which that share of attempts is done. An attempt that timed out \
                counts as slower than any limit, and is never dropped.",
        misleads: "With few attempts: the 95th percentile of ten attempts is below the true one three times in four, \
                   and it has an upper bound only with 72 attempts or more. If too many attempts timed out, it is \
                   undefined.",
        formula,
        interval: "From order statistics, exact for every distribution; if samples have several attempts, a \
                   cluster-robust one (Francisco and Fuller 1991). With few values, a bound may not exist; the report says so.",
        example,
        unit: Unit::Milliseconds,
        range: "≥ 0 ms",
        direction: Some(Direction::AtMost),
        typical_threshold: None,
        use_case: "Performance evaluation",
        family: Family::Suite,
        parameters: &[],
        positional: &[],
        inspect: None,
        role: None,
    }
}

const LATENCY_P50: About = about(
    "latency_p50",
    "the median time that attempts took",
    "The median of response times, `latency_ms`, over attempts; linear between order statistics (type 7).",
    "calipers score results.jsonl -m latency_p50",
);

const LATENCY_P90: About = about(
    "latency_p90",
    "the time that 90 % of attempts stay below",
    "90th percentile of response times, `latency_ms`, over attempts; linear between order statistics (type 7).",
    "calipers score results.jsonl -m latency_p90",
);

const LATENCY_P95: About = About {
    typical_threshold: Some("< 5000ms"),
    role: Some(PolicyRole::Normalized("latency")),
    ..about(
        "latency_p95",
        "the time that 95 % of attempts stay below",
        "95th percentile of response times, `latency_ms`, over attempts; linear between order statistics (type 7).",
        "calipers score results.jsonl -m latency_p95",
    )
};

const LATENCY_P99: About = about(
    "latency_p99",
    "the time that 99 % of attempts stay below",
    "99th percentile of response times, `latency_ms`, over attempts; linear between order statistics (type 7).",
    "calipers score results.jsonl -m latency_p99",
);

/// The metrics of this file.
pub(super) static METRICS: &[Definition] = &[
    Definition { about: LATENCY_P50, make: |_| Ok(latency_p50()) },
    Definition { about: LATENCY_P90, make: |_| Ok(latency_p90()) },
    Definition { about: LATENCY_P95, make: |_| Ok(latency_p95()) },
    Definition { about: LATENCY_P99, make: |_| Ok(latency_p99()) },
];

/// The median time that attempts took, in milliseconds.
///
/// `calipers metrics latency_p50` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{latency_p50, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, latency) in [(1, 800.0), (2, 800.0), (3, 800.0)] {
///     samples.push(id).field("latency_ms", latency);
/// }
/// let results = Plan::new().metrics([latency_p50()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "latency_p50").expect("asked for").value, Ok(800.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn latency_p50() -> Metric {
    percentile("latency_p50", 0.5)
}

/// The time that 90 % of attempts stay below, in milliseconds.
///
/// `calipers metrics latency_p90` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{latency_p90, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, latency) in [(1, 800.0), (2, 800.0), (3, 800.0)] {
///     samples.push(id).field("latency_ms", latency);
/// }
/// let results = Plan::new().metrics([latency_p90()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "latency_p90").expect("asked for").value, Ok(800.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn latency_p90() -> Metric {
    percentile("latency_p90", 0.9)
}

/// The time that 95 % of attempts stay below, in milliseconds.
///
/// `calipers metrics latency_p95` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{latency_p95, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, latency) in [(1, 800.0), (2, 800.0), (3, 800.0)] {
///     samples.push(id).field("latency_ms", latency);
/// }
/// let results = Plan::new().metrics([latency_p95()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "latency_p95").expect("asked for").value, Ok(800.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn latency_p95() -> Metric {
    percentile("latency_p95", 0.95)
}

/// The time that 99 % of attempts stay below, in milliseconds.
///
/// `calipers metrics latency_p99` says what it tells you, when it misleads, its formula and its interval.
///
/// ```
/// use calipers_core::{latency_p99, Plan, Samples};
///
/// let mut samples = Samples::new();
/// for (id, latency) in [(1, 800.0), (2, 800.0), (3, 800.0)] {
///     samples.push(id).field("latency_ms", latency);
/// }
/// let results = Plan::new().metrics([latency_p99()]).measure(&samples)?;
/// assert_eq!(results.figure("run", "latency_p99").expect("asked for").value, Ok(800.0));
/// # Ok::<(), calipers_core::Error>(())
/// ```
#[must_use]
pub fn latency_p99() -> Metric {
    percentile("latency_p99", 0.99)
}

fn percentile(name: &str, p: f64) -> Metric {
    let metric = Metric::recorded(name, Quantile { of: Of::Latency, p });
    let metric = metric.about_samples(Scope::EverySample).based_on(MetricBasis::Quantile(p));
    metric.view(View::Attempts).reading(["latency_ms"]).reading_if_there(["limit"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Evidence, Figure, Plan, Samples, mean_score};

    #[track_caller]
    fn figure(samples: &Samples, metric: Metric) -> Figure {
        let name = metric.name().to_owned();
        let results = Plan::new().metrics([metric]).measure(samples).expect("measurable");
        results.figure("run", &name).expect("asked for").clone()
    }

    /// 100 ms, 200 ms, … 2000 ms, and so many attempts that ran out of time.
    fn run(timeouts: i64) -> Samples {
        let mut samples = Samples::new();
        for i in 1..=20 {
            samples.push(i).field("latency_ms", i as f64 * 100.0);
        }
        for i in 0..timeouts {
            samples.push(100 + i).field("latency_ms", 50.0).error("Timed out after 30 s");
        }
        samples
    }

    #[test]
    fn percentiles_are_linear_between_order_statistics() {
        // numpy 2.1: np.percentile(np.arange(100, 2001, 100), [50, 90, 95, 99])
        let samples = run(0);
        for (metric, want) in
            [(latency_p50(), 1050.0), (latency_p90(), 1810.0), (latency_p95(), 1905.0), (latency_p99(), 1981.0)]
        {
            let got = figure(&samples, metric.clone()).value.expect("defined");
            assert!((got - want).abs() < 1e-9, "{metric:?}: {got}");
        }
    }

    #[test]
    fn an_attempt_that_ran_out_of_time_is_slower_than_any_limit() {
        let samples = run(2);
        let p50 = figure(&samples, latency_p50());
        assert_eq!((p50.value, p50.n, p50.missing), (Ok(1150.0), 22, 0));
        let p95 = figure(&samples, latency_p95());
        let why = p95.value.expect_err("endless");
        assert_eq!(why.reason(), &crate::Reason::TimedOut { p: 0.95, timed_out: 2, attempts: 22 });
        let evidence = latency_p95().evidence(&samples, &mean_score(), None, &Context::default()).expect("numbers");
        let Some(Evidence::Quantile { p, samples, values, missing }) = evidence else { panic!("a quantile") };
        assert_eq!((p, samples.len(), missing.len()), (0.95, 22, 0));
        assert_eq!(values.iter().filter(|x| x.is_infinite()).count(), 2);
    }

    #[test]
    fn an_attempt_that_a_log_says_was_cut_off_is_slower_than_any_limit() {
        let mut samples = run(0);
        samples.push("cut").field("latency_ms", 50.0).field("limit", "time").score("judge", 1.0);
        samples.push("long").field("latency_ms", 50.0).field("limit", "token").score("judge", 1.0);
        let evidence = latency_p95().evidence(&samples, &mean_score(), None, &Context::default()).expect("numbers");
        let Some(Evidence::Quantile { values, .. }) = evidence else { panic!("a quantile") };
        assert_eq!(values.iter().filter(|x| x.is_infinite()).count(), 1);
    }

    #[test]
    fn other_errors_leave_a_latency_missing() {
        let mut samples = run(0);
        samples.push(50).error("connection reset");
        let p95 = figure(&samples, latency_p95());
        assert_eq!((p95.n, p95.missing), (20, 1));
    }
}
