//! What a gate asks for, as it was understood.

use crate::policy::Rule;

/// What a gate asks for, beyond the name of its metric. `calipers-render` writes it: `safety_rate ≥ 100 % (26 of 26)`.
#[derive(Clone, Debug, PartialEq)]
pub enum GateRule {
    /// The metric beside a threshold.
    Threshold {
        /// The comparison and the number, in the metric's own unit.
        rule: Rule,
        /// Successes and trials, where the metric is a share of things that can be counted.
        counts: Option<(u64, u64)>,
    },
    /// A condition over formulas, as the policy writes it, on one line.
    Condition(String),
    /// The metric is not worse than in the baseline by more than a margin.
    NotWorse {
        /// The value in the baseline.
        baseline: f64,
        /// The margin.
        margin: f64,
    },
    /// The metric is better than in the baseline by a margin.
    Above {
        /// The comparison and the number that follow from the baseline.
        rule: Rule,
        /// The value in the baseline.
        baseline: f64,
        /// The margin.
        margin: f64,
    },
    /// There is a baseline to compare with.
    HasBaseline,
    /// All required scenarios pass.
    AllPass {
        /// Those that passed.
        passed: usize,
        /// All of them.
        total: usize,
    },
    /// Each scenario passes often enough.
    EachScenario(Rule),
    /// No failure of these kinds occurs.
    NoneOf(Vec<String>),
    /// Grades are good enough.
    Rubric {
        /// The least share of the best grades, if the policy has one.
        min: Option<Rule>,
        /// True when no criterion may have the grade 0.
        no_zero: bool,
    },
    /// Every scenario ran.
    EveryScenarioRan,
    /// The policy asks for something.
    SomethingAsked,
}
