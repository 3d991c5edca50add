//! Reports made by hand, as a policy would judge a run, and some with hostile text.

use calipers_core::stats::proportion::Proportion;
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{
    Caveat, Confidence, Figure, GateCaveat, Interval, Method, NameKind, OutcomeCounts, Plan, Samples, ScenarioOutcome,
    Shortcoming, Tally, Unit, Verdict, accuracy,
};
use calipers_gate::policy::{BaselineMode, Comparison, Level, Looks, RiskLevel, Rule};
use calipers_gate::{
    AttemptResult, BaselineDifference, BaselineReason, BaselineResult, CategoryResult, CompositeResult,
    ConditionReason, ConfidenceBound, ConfidenceTerms, Coverage, CoverageReason, DecidedBy, ExpectedBy, GateKind,
    GateReason, GateReport, GateResult, GateRule, MetricDifference, Mode, MoreSamples, Provenance, SampleUnit,
    ScenarioCheck, ScenarioReason, ScenarioResult, Term, ThresholdFinding, ThresholdReason,
};

fn tally(n: u64, missing: u64) -> Tally {
    Tally { n, missing }
}

/// So many of so many, with an interval.
pub(crate) fn rate(passed: u64, n: u64) -> Figure {
    let interval = Proportion::new(passed, n).unwrap().blaker(Confidence::two_sided(0.95).unwrap());
    Figure { interval: Some(interval), ..Figure::new(passed as f64 / n as f64, tally(n, 0), "mean") }
}

/// A number with an interval.
fn measured(value: f64, bounds: (Option<f64>, Option<f64>), n: u64, method: Method) -> Figure {
    let confidence = Confidence::two_sided(0.95).unwrap();
    let interval = Interval { lower: bounds.0, upper: bounds.1, confidence, method };
    Figure { interval: Some(interval), ..Figure::new(value, tally(n, 0), "mean") }
}

/// A figure that nothing could be measured for.
pub(crate) fn undefined() -> Figure {
    let mut samples = Samples::new();
    samples.push("lost").score("judge", f64::NAN);
    let results = Plan::new().metrics([accuracy()]).measure(&samples).unwrap();
    results.figure("judge", "accuracy").unwrap().clone()
}

/// A gate on a rate.
pub(crate) fn gate(
    metric: &str,
    level: Level,
    rule: (Comparison, f64),
    figure: Figure,
    verdict: Verdict,
) -> GateResult {
    let (comparison, value) = rule;
    let rule = Rule { comparison, value };
    let margin = figure.value.as_ref().ok().map(|estimate| match comparison {
        Comparison::AtMost | Comparison::Below => value - estimate,
        _ => estimate - value,
    });
    let finding = match (&figure.value, verdict) {
        (Err(why), _) => ThresholdFinding::Undefined(why.clone()),
        (Ok(value), Verdict::Pass) => ThresholdFinding::Met { value: *value },
        (Ok(value), _) => ThresholdFinding::Missed { value: *value },
    };
    let gate_rule = GateRule::Threshold { rule, counts: None };
    GateResult {
        level,
        threshold: Some(rule),
        figure: Some(figure),
        unit: Unit::Rate,
        margin,
        ..GateResult::new(GateKind::Metric, metric, gate_rule, verdict, threshold(rule, Unit::Rate, finding))
    }
}

fn threshold(rule: Rule, unit: Unit, finding: ThresholdFinding) -> GateReason {
    GateReason::Threshold(ThresholdReason { rule, unit, finding })
}

/// The same gate with another finding.
fn with_finding(gate: GateResult, finding: ThresholdFinding) -> GateResult {
    let rule = gate.threshold.unwrap();
    GateResult { reason: threshold(rule, gate.unit, finding), ..gate }
}

/// The same gate with its counts.
fn with_counts(gate: GateResult, counts: (u64, u64)) -> GateResult {
    let rule = gate.threshold.unwrap();
    GateResult { rule: GateRule::Threshold { rule, counts: Some(counts) }, ..gate }
}

fn latency(metric: &str, limit: f64, figure: Figure, verdict: Verdict) -> GateResult {
    let gate = gate(metric, Level::Warning, (Comparison::AtMost, limit), figure, verdict);
    let value = *gate.figure.as_ref().unwrap().value.as_ref().unwrap();
    let finding =
        if verdict == Verdict::Pass { ThresholdFinding::Met { value } } else { ThresholdFinding::Missed { value } };
    with_finding(GateResult { unit: Unit::Milliseconds, ..gate }, finding)
}

fn violation() -> Shortcoming {
    Shortcoming::Behaviors { violated: vec!["leaks key".into()], missed: Vec::new() }
}

fn broken() -> Shortcoming {
    Shortcoming::Errored(Some("connection reset".into()))
}

fn attempt(epoch: u32, outcome: ScenarioOutcome, reason: Option<Shortcoming>) -> AttemptResult {
    AttemptResult { epoch, outcome, reason, latency_ms: Some(800.0 + f64::from(epoch)) }
}

/// A scenario with an attempt for each letter: `p`assed, `f`ailed, `e`rrored, `u`nscored.
pub(crate) fn scenario(id: &str, category: &str, outcome: ScenarioOutcome, attempts: &str) -> ScenarioResult {
    let attempts = attempts.chars().zip(1..).map(|(letter, epoch)| match letter {
        'p' => attempt(epoch, ScenarioOutcome::Passed, None),
        'f' => attempt(epoch, ScenarioOutcome::Failed, Some(violation())),
        'e' => attempt(epoch, ScenarioOutcome::Errored, Some(broken())),
        _ => attempt(epoch, ScenarioOutcome::Unscored, None),
    });
    ScenarioResult {
        id: id.into(),
        category: Some(category.into()),
        outcome,
        attempts: attempts.collect(),
        scores: match outcome {
            ScenarioOutcome::Passed => vec![("judge".into(), 1.0)],
            ScenarioOutcome::Failed => vec![("judge".into(), 0.4)],
            ScenarioOutcome::Errored | ScenarioOutcome::Unscored => Vec::new(),
        },
        weight: 1.0,
        is_required: id.starts_with("SEC"),
    }
}

fn check(id: &str, outcome: Option<ScenarioOutcome>, passed: (u32, u32), reason: Option<Shortcoming>) -> ScenarioCheck {
    ScenarioCheck { id: id.into(), outcome, passed, reason }
}

fn provenance() -> Provenance {
    Provenance {
        files: vec!["results.jsonl".into()],
        columns: Vec::new(),
        task: None,
        model: Some("acme/agent-2".into()),
        policy: "policy.json".into(),
        policy_hash: "3f9a1c7e5b2d4860".into(),
        version: None,
        filter: Vec::new(),
        scorers: Vec::new(),
        labels: Vec::new(),
        scripts: Vec::new(),
        level: 0.95,
        seed: 0,
        reducer: "mean".into(),
        tool: "calipers 0.1.0".into(),
    }
}

/// A report with nothing in it yet.
fn empty(verdict: Verdict, decided_by: DecidedBy) -> GateReport {
    GateReport {
        verdict,
        decided_by,
        mode: Mode::Point,
        terms: ConfidenceTerms::default(),
        gates: Vec::new(),
        required: Vec::new(),
        optional: Vec::new(),
        categories: Vec::new(),
        capability_weights: Vec::new(),
        composites: Vec::new(),
        baseline: None,
        coverage: Coverage::default(),
        scenarios: Vec::new(),
        provenance: provenance(),
        caveats: Vec::new(),
    }
}

/// A run that passes with little to say about it.
pub(crate) fn passing() -> GateReport {
    let safety = gate("safety_rate", Level::Blocking, (Comparison::AtLeast, 1.0), rate(26, 26), Verdict::Pass);
    let mut safety = with_counts(safety, (26, 26));
    let figure = safety.figure.as_mut().unwrap();
    figure.caveats.push(Caveat::PerfectScore { n: 26, worth: 26, passed: true, bound: 0.891_156 });
    let latency_p95 = measured(2314.0, (Some(2040.0), Some(2871.0)), 60, Method::OrderStatistic);
    GateReport {
        gates: vec![
            safety,
            gate("accuracy", Level::Blocking, (Comparison::AtLeast, 0.9), rate(56, 60), Verdict::Pass),
            latency("latency_p95", 5000.0, latency_p95, Verdict::Pass),
        ],
        required: vec![
            check("SEC-001", Some(ScenarioOutcome::Passed), (1, 1), None),
            check("SEC-002", Some(ScenarioOutcome::Passed), (1, 1), None),
        ],
        coverage: coverage(60, 56, 4),
        scenarios: vec![
            scenario("SEC-001", "adversarial", ScenarioOutcome::Passed, "p"),
            scenario("HAPPY-001", "happy_path", ScenarioOutcome::Failed, "f"),
        ],
        ..empty(Verdict::Pass, DecidedBy::AllPassed { blocking: 2 })
    }
}

/// A run that is as small as can be: the example of the documentation.
pub(crate) fn small() -> GateReport {
    let safety = gate("safety_rate", Level::Blocking, (Comparison::AtLeast, 1.0), rate(2, 2), Verdict::Pass);
    let mut safety = with_counts(safety, (2, 2));
    let bound = Proportion::new(2, 2).unwrap().clopper_pearson(Confidence::lower(0.95).unwrap()).lower.unwrap();
    let caveat = Caveat::PerfectScore { n: 2, worth: 2, passed: true, bound };
    safety.figure.as_mut().unwrap().caveats.push(caveat);
    GateReport {
        gates: vec![safety],
        required: vec![check("SEC-001", Some(ScenarioOutcome::Passed), (1, 1), None)],
        coverage: coverage(2, 2, 0),
        scenarios: vec![
            scenario("SEC-001", "adversarial", ScenarioOutcome::Passed, "p"),
            scenario("ADV-002", "adversarial", ScenarioOutcome::Passed, "p"),
        ],
        ..empty(Verdict::Pass, DecidedBy::AllPassed { blocking: 1 })
    }
}

/// A run that fails, with all that a report can have.
pub(crate) fn failing() -> GateReport {
    let safety = gate("safety_rate", Level::Blocking, (Comparison::AtLeast, 1.0), rate(25, 26), Verdict::Fail);
    let mut safety = with_counts(safety, (25, 26));
    safety.kind = GateKind::Risk(RiskLevel::Critical);
    safety.rationale = Some("no security compromises".into());
    let mut accuracy = gate("accuracy", Level::Blocking, (Comparison::AtLeast, 0.9), rate(56, 60), Verdict::Pass);
    accuracy.unweighted = Some(0.9217);
    accuracy.kind = GateKind::Progressive("v2.0".into());
    let mut category =
        gate("pass_rate[edge_case]", Level::Blocking, (Comparison::AtLeast, 0.7), rate(9, 12), Verdict::Pass);
    category.kind = GateKind::Category("edge_case".into());
    let mut overall = gate("pass_rate", Level::Blocking, (Comparison::AtLeast, 0.9), rate(2699, 3000), Verdict::Fail);
    overall.kind = GateKind::Overall;
    let baseline_figure = measured(-0.0125, (Some(-0.041), Some(0.016)), 58, Method::T);
    let mut against = gate("accuracy", Level::Blocking, (Comparison::AtLeast, -0.02), baseline_figure, Verdict::Pass);
    against.kind = GateKind::Baseline(BaselineMode::NonInferiority);
    against.rule = GateRule::NotWorse { baseline: 0.9458, margin: 0.02 };
    against.reason = GateReason::Baseline(BaselineReason::Difference(BaselineDifference {
        difference: -0.0125,
        unit: Unit::Rate,
        direction: Direction::AtLeast,
        scenarios: 58,
        margin: 0.02,
        bounds: None,
        unknown: 0,
    }));
    let slow = measured(6120.0, (Some(4810.0), None), 300, Method::OrderStatistic);
    let condition = "final_score ≥ 0.85 AND safety_rate = 1.0";
    let composite = ConditionReason::Comparison {
        text: "safety_rate = 1.0".into(),
        reason: Box::new(threshold(
            Rule { comparison: Comparison::Equal, value: 1.0 },
            Unit::Rate,
            ThresholdFinding::Missed { value: 25.0 / 26.0 },
        )),
    };
    GateReport {
        gates: vec![
            safety,
            accuracy,
            category,
            overall,
            against,
            GateResult::new(
                GateKind::Required,
                "required_scenarios",
                GateRule::AllPass { passed: 2, total: 4 },
                Verdict::Fail,
                ScenarioReason::RequiredFailed(vec!["SEC-002".into()]).into(),
            ),
            GateResult::new(
                GateKind::Composite,
                "composite",
                GateRule::Condition(condition.into()),
                Verdict::Fail,
                composite.into(),
            ),
            GateResult::new(
                GateKind::BlockingFailures,
                "blocking_failures",
                GateRule::NoneOf(vec!["data_leak".into()]),
                Verdict::Pass,
                ScenarioReason::NoBlockingFailure.into(),
            ),
            GateResult::new(
                GateKind::Rubric,
                "rubric",
                GateRule::Rubric { min: None, no_zero: true },
                Verdict::Pass,
                ScenarioReason::AllGraded { graded: 60 }.into(),
            ),
            latency("latency_p95", 5000.0, slow, Verdict::Fail),
        ],
        required: vec![
            check("SEC-001", Some(ScenarioOutcome::Passed), (5, 5), None),
            check("SEC-002", Some(ScenarioOutcome::Failed), (2, 5), Some(violation())),
            check("SEC-003", Some(ScenarioOutcome::Passed), (4, 5), Some(violation())),
            check("CORE-001", None, (0, 0), None),
        ],
        optional: vec![check("PERF-001", Some(ScenarioOutcome::Errored), (0, 5), Some(broken()))],
        categories: vec![
            CategoryResult { category: "edge_case".into(), figure: rate(9, 12), weight: Some(1.0), gate: Some(2) },
            CategoryResult { category: "adversarial".into(), figure: rate(25, 26), weight: Some(2.0), gate: None },
            CategoryResult { category: "regression".into(), figure: undefined(), weight: Some(1.5), gate: None },
        ],
        composites: vec![CompositeResult {
            name: "final_score".into(),
            formula: "accuracy × 0.3 + safety_rate × 0.4 + (1 - normalized_latency) × 0.3".into(),
            figure: measured(0.7812, (Some(0.7411), Some(0.8213)), 60, Method::BootstrapPercentile),
            terms: vec![
                term("accuracy × 0.3", Some(0.28), &[("accuracy", Some(0.9333))]),
                term("safety_rate × 0.4", Some(0.3846), &[("safety_rate", Some(0.9615))]),
                term("(1 - normalized_latency) × 0.3", Some(0.1166), &[("normalized_latency", Some(0.612))]),
            ],
            gate: Some(6),
        }],
        baseline: Some(BaselineResult {
            source: "baseline.json".into(),
            recorded: Some("2026-11-01".into()),
            age_days: Some(15.3),
            differences: vec![
                MetricDifference {
                    metric: "accuracy".into(),
                    baseline: 0.9458,
                    candidate: Some(0.9333),
                    difference: measured(-0.0125, (Some(-0.041), Some(0.016)), 58, Method::T),
                    unit: Unit::Rate,
                    gate: Some(4),
                },
                MetricDifference {
                    metric: "latency_p95".into(),
                    baseline: 4980.0,
                    candidate: Some(6120.0),
                    difference: undefined(),
                    unit: Unit::Milliseconds,
                    gate: None,
                },
            ],
            newly_failing: vec!["SEC-002".into(), "EDGE-004".into()],
            newly_passing: vec!["HAPPY-003".into()],
            added: (1..=18).map(|n| format!("EDGE-{n:03}")).collect(),
            removed: vec!["OLD-001".into()],
        }),
        coverage: Coverage {
            counts: OutcomeCounts {
                total: 60,
                passed: 51,
                failed: 6,
                errored: 2,
                unscored: 1,
                flaky: 4,
                attempts: 300,
                errored_attempts: 12,
            },
            missing: vec!["CORE-001".into(), "EDGE-099".into()],
            expected_by: Some(ExpectedBy::Suite),
            unexpected: vec!["TMP-1".into()],
        },
        scenarios: scenarios(),
        caveats: vec![GateCaveat::StaleBaseline { days: 15.3 }.into()],
        ..empty(Verdict::Fail, DecidedBy::Gate(0))
    }
}

/// A run with one attempt per scenario, and all of them scored.
fn coverage(total: u64, passed: u64, failed: u64) -> Coverage {
    let counts = OutcomeCounts { total, passed, failed, attempts: total, ..OutcomeCounts::default() };
    Coverage { counts, ..Coverage::default() }
}

fn term(text: &str, value: Option<f64>, metrics: &[(&str, Option<f64>)]) -> Term {
    Term { text: text.into(), value, metrics: metrics.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect() }
}

fn scenarios() -> Vec<ScenarioResult> {
    let mut scenarios = vec![
        scenario("SEC-001", "adversarial", ScenarioOutcome::Passed, "ppppp"),
        scenario("SEC-002", "adversarial", ScenarioOutcome::Failed, "pfpfe"),
        scenario("SEC-003", "adversarial", ScenarioOutcome::Passed, "pppfp"),
        scenario("EDGE-001", "edge_case", ScenarioOutcome::Passed, "ep"),
        scenario("PERF-001", "edge_case", ScenarioOutcome::Errored, "eeeee"),
        scenario("LOST-001", "edge_case", ScenarioOutcome::Unscored, "uu"),
    ];
    scenarios[0].weight = 2.0;
    scenarios.push(ScenarioResult { id: 7.into(), category: None, ..scenarios[0].clone() });
    scenarios
}

/// A run that is too small, decided with confidence.
pub(crate) fn undecided() -> GateReport {
    let at_least = |x| (Comparison::AtLeast, x);
    let bound =
        |direction, bound| ConfidenceBound { bound: Some((direction, bound)), confidence: 0.95, quantile: None };
    let accuracy = gate("accuracy", Level::Blocking, at_least(0.9), rate(19, 20), Verdict::Undecided);
    let between = ThresholdFinding::Between { low: 0.7838, high: 0.9974, quantile: None };
    let mut accuracy = with_finding(accuracy, between);
    accuracy.more_samples = Some(MoreSamples { count: 37, unit: SampleUnit::Samples, looks: Looks::Once });
    let safety = gate("safety_rate", Level::Blocking, at_least(1.0), undefined(), Verdict::Undecided);
    let behaviour = gate("behavior_coverage", Level::Warning, at_least(0.85), rate(12, 20), Verdict::Fail);
    let behaviour = with_finding(behaviour, ThresholdFinding::BoundMissed(bound(Direction::AtMost, 0.7832)));
    let recall = gate("recall", Level::Warning, at_least(0.85), rate(20, 20), Verdict::Undecided);
    let mut recall = with_finding(recall, ThresholdFinding::UnscoredCouldChange { unscored: 3 });
    recall.more_samples = Some(MoreSamples { count: 1, unit: SampleUnit::Samples, looks: Looks::Any });
    GateReport {
        mode: Mode::Confidence(0.95),
        gates: vec![accuracy, safety, behaviour, recall],
        coverage: coverage(20, 19, 1),
        ..empty(Verdict::Undecided, DecidedBy::Gate(0))
    }
}

/// A run without anything in it.
pub(crate) fn nothing() -> GateReport {
    let gate = GateResult::new(
        GateKind::Coverage,
        "coverage",
        GateRule::EveryScenarioRan,
        Verdict::Undecided,
        CoverageReason::EmptyRun.into(),
    );
    GateReport { gates: vec![gate], ..empty(Verdict::Undecided, DecidedBy::Gate(0)) }
}

/// More of everything than fits a screen.
pub(crate) fn large() -> GateReport {
    let mut report = failing();
    let names = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix}-{n:04}")).collect::<Vec<_>>();
    for n in 0..200 {
        let verdict = if n % 20 == 0 { Verdict::Fail } else { Verdict::Pass };
        let level = if n % 2 == 0 { Level::Blocking } else { Level::Warning };
        report.gates.push(gate(&format!("metric_{n}"), level, (Comparison::AtLeast, 0.9), rate(80, 100), verdict));
    }
    report.gates.sort_by_key(|gate| gate.level);
    report.required = names("REQ", 300).iter().map(|id| check(id, None, (0, 0), None)).collect();
    report.coverage.missing = names("MISSING", 10_000);
    let baseline = report.baseline.as_mut().unwrap();
    baseline.newly_failing = names("NEW", 5000);
    report.caveats = (0..50).map(|wanted| GateCaveat::FewAttempts { scenarios: 7, wanted }.into()).collect();
    report
}

/// What a model may write: everything that has a meaning somewhere.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script> ]]> --> | `code` **bold** [x](https://evil.example) @everyone #1 \
    ::error::owned ##[error]owned\n::warning title=x::y\r\n\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{2066}\u{0}\u{fffe}\
    \u{2028}&lt; \"'% $x$ \\ www.evil.example";

/// The failing report with hostile text in every place that text can come to.
pub(crate) fn hostile(text: &str) -> GateReport {
    let mut report = failing();
    for gate in &mut report.gates {
        gate.metric = text.into();
        gate.reason = ScenarioReason::RequiredFailed(vec![text.into()]).into();
        gate.rule = GateRule::Condition(text.into());
        gate.rationale = Some(text.into());
    }
    let mut mode = undecided().gates.remove(0);
    mode.metric = text.into();
    mode.reason = ConditionReason::NotACondition { text: format!("{text}{text}") }.into();
    report.gates.insert(1, mode);
    for check in report.required.iter_mut().chain(&mut report.optional) {
        (check.id, check.reason) = (text.into(), Some(Shortcoming::Errored(Some(text.into()))));
    }
    for category in &mut report.categories {
        category.category = text.into();
    }
    for composite in &mut report.composites {
        (composite.name, composite.formula) = (text.into(), text.into());
        for term in &mut composite.terms {
            term.text = text.into();
            term.metrics = vec![(text.into(), None)];
        }
    }
    let baseline = report.baseline.as_mut().unwrap();
    (baseline.source, baseline.recorded) = (text.into(), Some(text.into()));
    baseline.differences.iter_mut().for_each(|difference| difference.metric = text.into());
    for list in [&mut baseline.newly_failing, &mut baseline.newly_passing, &mut baseline.added, &mut baseline.removed] {
        *list = vec![text.into(); 3];
    }
    report.coverage.missing = vec![text.into(); 3];
    report.coverage.unexpected = vec![text.into(); 3];
    for scenario in &mut report.scenarios {
        (scenario.id, scenario.category) = (text.into(), Some(text.into()));
        scenario.scores = vec![(text.into(), 0.5)];
        scenario.attempts.iter_mut().for_each(|attempt| {
            attempt.reason = Some(Shortcoming::Behaviors { violated: vec![text.into()], missed: vec![text.into()] });
        });
    }
    let spellings = vec![(text.into(), 0), (text.into(), 3)];
    report.caveats = vec![GateCaveat::SimilarNames { kind: NameKind::Category, spellings }.into()];
    report.provenance = Provenance {
        files: vec![text.into(); 5],
        columns: Vec::new(),
        task: Some(text.into()),
        model: Some(text.into()),
        policy: text.into(),
        policy_hash: text.into(),
        version: Some(text.into()),
        filter: vec![(text.into(), text.into()); 2],
        scorers: vec![text.into(); 2],
        labels: vec![(text.into(), 0.5); 2],
        scripts: vec![text.into(); 5],
        level: 0.9,
        seed: 7,
        reducer: text.into(),
        tool: text.into(),
    };
    report
}

/// Every report, by name.
pub(crate) fn all() -> Vec<(&'static str, GateReport)> {
    vec![
        ("passing", passing()),
        ("small", small()),
        ("failing", failing()),
        ("undecided", undecided()),
        ("nothing", nothing()),
        ("large", large()),
        ("hostile", hostile(HOSTILE)),
        ("long", hostile(&"a long text of a model ".repeat(9000))),
    ]
}
