//! Reports made by hand: as a policy would judge a run, but for text that nobody should write.

use calipers_core::stats::proportion::Proportion;
use calipers_core::{
    Caveat, Confidence, Figure, Interval, Method, Note, Plan, Samples, ScenarioOutcome, Tally, Unit, Verdict, accuracy,
};
use calipers_gate::policy::{BaselineMode, Comparison, Level, RiskLevel, Rule};
use calipers_gate::{
    AttemptResult, BaselineResult, CategoryResult, CompositeResult, Coverage, GateKind, GateReport, GateResult,
    MetricDifference, Mode, Provenance, ScenarioCheck, ScenarioResult, Term,
};

fn tally(n: u64, missing: u64) -> Tally {
    Tally { n, missing }
}

/// So many of so many, with an interval.
pub(crate) fn rate(passed: u64, n: u64) -> Figure {
    let interval = Proportion::new(passed, n).unwrap().wilson(Confidence::two_sided(0.95).unwrap());
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
    let words = format!("{metric} {} {} %", comparison.sign(), value * 100.0);
    let reason = figure.value.as_ref().map_or_else(
        |why| format!("{metric} is undefined: {why}"),
        |estimate| format!("{metric} is {:.1} %, not {} {} %", estimate * 100.0, comparison.sign(), value * 100.0),
    );
    GateResult {
        kind: GateKind::Metric,
        metric: metric.into(),
        level,
        rule: words,
        threshold: Some(rule),
        figure: Some(figure),
        unit: Unit::Rate,
        unweighted: None,
        counts: None,
        margin,
        verdict,
        reason: if verdict == Verdict::Pass { format!("{metric} holds") } else { reason },
        more_samples: None,
        rationale: None,
    }
}

/// A gate that counts scenarios.
fn counts(kind: GateKind, metric: &str, rule: &str, verdict: Verdict, reason: &str) -> GateResult {
    let mut gate = gate(metric, Level::Blocking, (Comparison::AtLeast, 1.0), rate(1, 1), verdict);
    (gate.kind, gate.rule, gate.reason) = (kind, rule.into(), reason.into());
    (gate.threshold, gate.figure, gate.margin, gate.unit) = (None, None, None, Unit::Plain);
    gate
}

fn latency(metric: &str, threshold: f64, figure: Figure, verdict: Verdict) -> GateResult {
    let mut gate = gate(metric, Level::Warning, (Comparison::AtMost, threshold), figure, verdict);
    gate.rule = format!("{metric} ≤ {threshold} ms");
    gate.unit = Unit::Milliseconds;
    gate.reason = format!("{metric} is above {threshold} ms");
    gate
}

fn attempt(epoch: u32, outcome: ScenarioOutcome, reason: Option<&str>) -> AttemptResult {
    AttemptResult { epoch, outcome, reason: reason.map(str::to_owned), latency_ms: Some(800.0 + f64::from(epoch)) }
}

/// A scenario with an attempt for each letter: `p`assed, `f`ailed, `e`rrored, `u`nscored.
pub(crate) fn scenario(id: &str, category: &str, outcome: ScenarioOutcome, attempts: &str) -> ScenarioResult {
    let attempts = attempts.chars().zip(1..).map(|(letter, epoch)| match letter {
        'p' => attempt(epoch, ScenarioOutcome::Passed, None),
        'f' => attempt(epoch, ScenarioOutcome::Failed, Some("violation: leaks key")),
        'e' => attempt(epoch, ScenarioOutcome::Errored, Some("connection reset")),
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

fn check(id: &str, outcome: Option<ScenarioOutcome>, passed: (u32, u32), reason: Option<&str>) -> ScenarioCheck {
    ScenarioCheck { id: id.into(), outcome, passed, reason: reason.map(str::to_owned) }
}

fn provenance() -> Provenance {
    Provenance {
        files: vec!["results.jsonl".into()],
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
fn empty(verdict: Verdict, decided_by: &str) -> GateReport {
    GateReport {
        verdict,
        decided_by: decided_by.into(),
        deciding_gate: None,
        mode: Mode::Point,
        gates: Vec::new(),
        required: Vec::new(),
        optional: Vec::new(),
        categories: Vec::new(),
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
    let mut safety = gate("safety_rate", Level::Blocking, (Comparison::AtLeast, 1.0), rate(26, 26), Verdict::Pass);
    safety.rule = "safety_rate ≥ 100 % (26 of 26)".into();
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
        coverage: Coverage { total: 60, passed: 56, failed: 4, attempts: 60, ..Coverage::default() },
        scenarios: vec![
            scenario("SEC-001", "adversarial", ScenarioOutcome::Passed, "p"),
            scenario("HAPPY-001", "happy_path", ScenarioOutcome::Failed, "f"),
        ],
        ..empty(Verdict::Pass, "3 of 3 gates passed")
    }
}

/// A run that is as small as can be: the example of the documentation.
pub(crate) fn small() -> GateReport {
    let mut safety = gate("safety_rate", Level::Blocking, (Comparison::AtLeast, 1.0), rate(2, 2), Verdict::Pass);
    safety.rule = "safety_rate ≥ 100 % (2 of 2)".into();
    safety.reason = "2 of 2".into();
    let bound = Proportion::new(2, 2).unwrap().clopper_pearson(Confidence::lower(0.95).unwrap()).lower.unwrap();
    let caveat = Caveat::PerfectScore { n: 2, worth: 2, passed: true, bound };
    safety.figure.as_mut().unwrap().caveats.push(caveat);
    GateReport {
        gates: vec![safety],
        required: vec![check("SEC-001", Some(ScenarioOutcome::Passed), (1, 1), None)],
        coverage: Coverage { total: 2, passed: 2, attempts: 2, ..Coverage::default() },
        scenarios: vec![
            scenario("SEC-001", "adversarial", ScenarioOutcome::Passed, "p"),
            scenario("ADV-002", "adversarial", ScenarioOutcome::Passed, "p"),
        ],
        ..empty(Verdict::Pass, "the gate passed")
    }
}

/// A run that fails, with all that a report can have.
pub(crate) fn failing() -> GateReport {
    let mut safety = gate("safety_rate", Level::Blocking, (Comparison::AtLeast, 1.0), rate(25, 26), Verdict::Fail);
    safety.rule = "safety_rate ≥ 100 % (26 of 26)".into();
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
    let mut against =
        gate("accuracy vs baseline", Level::Blocking, (Comparison::AtLeast, -0.02), baseline_figure, Verdict::Pass);
    against.kind = GateKind::Baseline(BaselineMode::NonInferiority);
    let slow = measured(6120.0, (Some(4810.0), None), 300, Method::OrderStatistic);
    let required = "2 of 4 passed; SEC-002 failed, CORE-001 is not in the run";
    let condition = "final_score ≥ 0.85 AND safety_rate = 1.0";
    GateReport {
        deciding_gate: Some(0),
        gates: vec![
            safety,
            accuracy,
            category,
            overall,
            against,
            counts(GateKind::Required, "required_scenarios", "all 4 pass", Verdict::Fail, required),
            counts(GateKind::Composite, "composite", condition, Verdict::Fail, "safety_rate = 1.0 does not hold"),
            counts(GateKind::BlockingFailures, "blocking_failures", "no data_leak", Verdict::Pass, "none of data_leak"),
            counts(GateKind::Rubric, "rubric", "no criterion at 0", Verdict::Pass, "no criterion at 0 in 60 scenarios"),
            latency("latency_p95", 5000.0, slow, Verdict::Fail),
        ],
        required: vec![
            check("SEC-001", Some(ScenarioOutcome::Passed), (5, 5), None),
            check("SEC-002", Some(ScenarioOutcome::Failed), (2, 5), Some("violation: leaks key")),
            check("SEC-003", Some(ScenarioOutcome::Passed), (4, 5), Some("violation: leaks key")),
            check("CORE-001", None, (0, 0), None),
        ],
        optional: vec![check("PERF-001", Some(ScenarioOutcome::Errored), (0, 5), Some("connection reset"))],
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
            total: 60,
            passed: 51,
            failed: 6,
            errored: 2,
            unscored: 1,
            attempts: 300,
            errored_attempts: 12,
            missing: vec!["CORE-001".into(), "EDGE-099".into()],
            expected_by: Some("suite"),
            unexpected: vec!["TMP-1".into()],
            flaky: 4,
        },
        scenarios: scenarios(),
        caveats: vec![Note {
            id: "stale-baseline".into(),
            message: "the baseline is 15 days old".into(),
            next: Some("record it anew with `calipers baseline record`".into()),
        }],
        ..empty(Verdict::Fail, "safety_rate is 96.2 %, not ≥ 100 % (25 of 26)")
    }
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
    let mut accuracy = gate("accuracy", Level::Blocking, at_least(0.9), rate(19, 20), Verdict::Undecided);
    accuracy.reason = "with 95 % confidence accuracy is at least 78.4 %, which does not clear 90 %".into();
    accuracy.more_samples = Some(37);
    let mut safety = gate("safety_rate", Level::Blocking, at_least(1.0), undefined(), Verdict::Undecided);
    safety.reason = "safety_rate is undefined, so nothing says that it holds".into();
    let mut behaviour = gate("behavior_coverage", Level::Warning, at_least(0.85), rate(12, 20), Verdict::Fail);
    behaviour.reason = "with 95 % confidence behavior_coverage is at most 78.3 %, below 85 %".into();
    let mut recall = gate("recall", Level::Warning, at_least(0.85), rate(20, 20), Verdict::Undecided);
    recall.reason = "with 95 % confidence recall is at least 86.1 %; missing values could take it below 85 %".into();
    recall.more_samples = Some(1);
    let decided_by = "accuracy: with 95 % confidence accuracy is at least 78.4 %, which does not clear 90 %";
    GateReport {
        mode: Mode::Confidence(0.95),
        deciding_gate: Some(0),
        gates: vec![accuracy, safety, behaviour, recall],
        coverage: Coverage { total: 20, passed: 19, failed: 1, attempts: 20, ..Coverage::default() },
        ..empty(Verdict::Undecided, decided_by)
    }
}

/// A run without anything in it.
pub(crate) fn nothing() -> GateReport {
    let why = "the results have no scenarios";
    let gate = counts(GateKind::Coverage, "coverage", "there is something to judge", Verdict::Undecided, why);
    GateReport { deciding_gate: Some(0), gates: vec![gate], ..empty(Verdict::Undecided, why) }
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
    report.caveats = (0..50)
        .map(|n| Note { id: "many".into(), message: format!("caveat {n}"), next: Some("look".into()) })
        .collect();
    report
}

/// What a model may write: everything that has a meaning somewhere.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script> ]]> --> | `code` **bold** [x](https://evil.example) @everyone #1 \
    ::error::owned ##[error]owned\n::warning title=x::y\r\n\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{2066}\u{0}\u{fffe}\
    \u{2028}&lt; \"'% $x$ \\ www.evil.example";

/// The failing report with hostile text in every place that text can come to.
pub(crate) fn hostile(text: &str) -> GateReport {
    let mut report = failing();
    report.decided_by = text.into();
    for gate in &mut report.gates {
        (gate.metric, gate.reason, gate.rule) = (text.into(), text.into(), text.into());
        gate.rationale = Some(text.into());
    }
    let mut mode = undecided().gates.remove(0);
    (mode.metric, mode.reason) = (text.into(), format!("{text}{text}"));
    report.gates.insert(1, mode);
    for check in report.required.iter_mut().chain(&mut report.optional) {
        (check.id, check.reason) = (text.into(), Some(text.into()));
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
        scenario.attempts.iter_mut().for_each(|attempt| attempt.reason = Some(text.into()));
    }
    report.caveats = vec![Note { id: "hostile".into(), message: text.into(), next: Some(text.into()) }];
    report.provenance = Provenance {
        files: vec![text.into(); 5],
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
