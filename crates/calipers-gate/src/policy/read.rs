//! From a document to a policy. All mistakes are found at once, in the order of the file.

use super::document::{Data, Item};
use super::{
    BaselineMode, BaselineRule, Composite, EpochsRule, Estimand, Formula, GateSpec, Level, Limit, Looks, Mistake,
    OnMissingValues, OnUndecided, Origin, Policy, Progressive, RiskLevel, RubricRule, Span, Spanned, Threshold, syntax,
};
use calipers_core::nearest;
use calipers_core::{quoted, unit_of_field};
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

const TOP: &[&str] = &[
    "name",
    "description",
    "extends",
    "thresholds",
    "pass_criteria",
    "required_scenarios",
    "optional_scenarios",
    "weights",
    "composite",
    "normalize",
    "limits",
    "risk",
    "risk_blocking",
    "progressive",
    "baseline",
    "blocking_failures",
    "rubric",
    "metrics",
    "epochs",
    "pass_threshold",
    "confidence",
    "cluster",
    "estimand",
    "on_undecided",
    "missing",
    "evaluation_name",
    "agent",
    "version",
    "capabilities_tested",
    "scenarios",
    "$schema",
];
/// Keys of a policy that many other documents have too.
const COMMON: [&str; 8] =
    ["name", "description", "version", "agent", "scenarios", "$schema", "evaluation_name", "capabilities_tested"];

/// True for a key that tells a policy from other documents.
#[must_use]
pub fn is_policy_key(key: &str) -> bool {
    (TOP.contains(&key) || ONLY_METRIC.contains(&key)) && !COMMON.contains(&key)
}

const THRESHOLDS: &[&str] = &["description", "blocking", "warning"];
const PASS_CRITERIA: &[&str] =
    &["description", "overall", "by_category", "minimum_pass_rate", "required_scenarios", "blocking_failures"];
const SCENARIOS: &[&str] = &["description", "ids"];
const WEIGHTS: &[&str] = &["description", "by_category", "by_capability", "by_metric"];
const RISK: &[&str] = &["description", "level", "metric", "threshold", "rationale"];
const BASELINE: &[&str] = &["description", "mode", "margin", "metrics", "level", "max_age_days"];
const RUBRIC: &[&str] = &["description", "scorer", "best", "min_score", "no_zero"];
const EPOCHS: &[&str] = &["description", "count", "reducer", "min_pass_rate"];
const LIMIT: &[&str] = &["description", "min", "max"];
const CONFIDENCE: &[&str] = &["description", "level", "looks"];
const METRIC: &[&str] = &[
    "name",
    "description",
    "expression",
    "formula",
    "calculation",
    "range",
    "unit",
    "threshold",
    "typical_threshold",
    "use_case",
    "level",
    "weight",
];

/// The keys of a policy, by section; the first section is the policy itself, and `metrics` has those of one metric.
/// Sections whose keys are names of metrics, categories or versions are not among them.
pub const KEYS: [(&str, &[&str]); 12] = [
    ("", TOP),
    ("thresholds", THRESHOLDS),
    ("pass_criteria", PASS_CRITERIA),
    ("required_scenarios", SCENARIOS),
    ("weights", WEIGHTS),
    ("risk", RISK),
    ("baseline", BASELINE),
    ("rubric", RUBRIC),
    ("limits", LIMIT),
    ("epochs", EPOCHS),
    ("confidence", CONFIDENCE),
    ("metrics", METRIC),
];

/// The words that a key may have as its value, by the path of the key.
#[must_use]
pub fn list_choices() -> [(&'static str, Vec<&'static str>); 9] {
    [
        ("baseline.level", names(&LEVELS)),
        ("baseline.mode", names(&MODES)),
        ("confidence.looks", names(&LOOKS)),
        ("estimand", names(&ESTIMANDS)),
        ("metrics.level", names(&LEVELS)),
        ("missing", names(&MISSING)),
        ("on_undecided", names(&UNDECIDED)),
        ("risk.level", names(&RISKS)),
        ("risk_blocking", names(&RISKS)),
    ]
}

fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(name, _)| *name).collect()
}

/// Keys that only a metric has: a document with a name and one of these is the definition of a metric.
const ONLY_METRIC: [&str; 7] =
    ["formula", "calculation", "expression", "range", "unit", "typical_threshold", "use_case"];

/// The most formulas a policy may have. Formulas may use one another, and evaluation recurses into them.
const FORMULAS_MAX: usize = 100;

const LEVELS: [(&str, Level); 2] = [("blocking", Level::Blocking), ("warning", Level::Warning)];
const RISKS: [(&str, RiskLevel); 4] = [
    ("critical", RiskLevel::Critical),
    ("high", RiskLevel::High),
    ("medium", RiskLevel::Medium),
    ("low", RiskLevel::Low),
];
const MODES: [(&str, BaselineMode); 2] =
    [("non_inferiority", BaselineMode::NonInferiority), ("above", BaselineMode::Above)];
const UNDECIDED: [(&str, OnUndecided); 3] =
    [("undecided", OnUndecided::Undecided), ("fail", OnUndecided::Fail), ("warn", OnUndecided::Warn)];
const MISSING: [(&str, OnMissingValues); 4] = [
    ("worst", OnMissingValues::Worst),
    ("at_random", OnMissingValues::AtRandom),
    ("failed", OnMissingValues::Failed),
    ("excluded", OnMissingValues::Excluded),
];

const LOOKS: [(&str, Looks); 2] = [("once", Looks::Once), ("any", Looks::Any)];
const ESTIMANDS: [(&str, Estimand); 2] =
    [("questions_like_these", Estimand::QuestionsLikeThese), ("this_suite_rerun", Estimand::ThisSuiteRerun)];

impl Policy {
    /// Reads a policy from a document whose `extends` have been resolved ([`Item::extended`]), or returns all of its mistakes
    /// in the order of the file.
    ///
    /// Names of metrics are not checked here; the policy keeps their places for those who do.
    pub fn parse(document: &Item) -> Result<Self, Vec<Mistake>> {
        let mut reader = Reader::default();
        reader.document(document);
        reader.finish()
    }
}

#[derive(Default)]
struct Reader {
    policy: Policy,
    mistakes: Vec<Mistake>,
    /// The levels of risk that block, if the policy says so.
    risk_blocking: Option<Vec<RiskLevel>>,
}

type Entries<'i> = &'i [(Spanned<String>, Item)];

impl Reader {
    fn finish(mut self) -> Result<Policy, Vec<Mistake>> {
        self.settle_risks();
        self.check_scenarios();
        self.check_weights();
        self.check_formulas();
        if self.mistakes.is_empty() {
            return Ok(self.policy);
        }
        let place = |mistake: &Mistake| mistake.span.as_ref().map(|span| (span.text.name.clone(), span.range.start));
        self.mistakes.sort_by_cached_key(place);
        Err(self.mistakes)
    }

    fn document(&mut self, document: &Item) {
        let is_definition = document.get("name").is_some() && ONLY_METRIC.iter().any(|key| document.get(key).is_some());
        if is_definition && !has_sections(document) {
            self.definition(None, document);
            return;
        }
        for (key, item) in self.entries("the policy", document) {
            if TOP.contains(&key.as_str()) {
                self.section(key, item);
            } else {
                self.policy.keys.push(key.clone());
                self.unknown(key, "a policy", TOP);
            }
        }
    }

    fn section(&mut self, key: &Spanned<String>, item: &Item) {
        self.policy.keys.push(key.clone());
        match key.as_str() {
            "name" | "evaluation_name" => self.policy.name = self.text(key, item).map(|text| text.value),
            "description" | "$schema" | "agent" => self.describing(key, item),
            // These describe the evaluation and require nothing.
            "version" | "capabilities_tested" | "scenarios" => {}
            "extends" => self.extends_left(key),
            "thresholds" => self.thresholds(item),
            "pass_criteria" => self.pass_criteria(item),
            "required_scenarios" => self.required(key, item),
            "optional_scenarios" => self.policy.optional = self.scenarios(key, item),
            "weights" => self.weights(item),
            "composite" => self.composite(item),
            "normalize" => self.normalize(item),
            "limits" => self.limits(item),
            "risk" => self.risk(item),
            "risk_blocking" => self.risk_blocking(key, item),
            "progressive" => self.progressive(item),
            "baseline" => self.baseline(key, item),
            "blocking_failures" => self.blocking_failures(key, item),
            "rubric" => self.rubric(item),
            "metrics" => self.metrics(item),
            "epochs" => self.epochs(item),
            "pass_threshold" => self.pass_threshold(key, item),
            "confidence" => self.confidence(item),
            "cluster" => self.policy.cluster = self.cluster(key, item),
            "estimand" => self.policy.estimand = self.choice(key, item, &ESTIMANDS).unwrap_or_default(),
            "on_undecided" => self.policy.on_undecided = self.choice(key, item, &UNDECIDED).unwrap_or_default(),
            "missing" => self.policy.missing = self.choice(key, item, &MISSING).unwrap_or_default(),
            _ => refuse_unread(key),
        }
    }

    // Sections.

    fn thresholds(&mut self, item: &Item) {
        for (key, item) in self.entries("`thresholds`", item) {
            match (key.as_str(), one_of(&key.value, &LEVELS)) {
                ("description", _) => self.describing(key, item),
                (_, Some(level)) => self.gates(&format!("`thresholds.{}`", key.value), item, level),
                _ if matches!(item.value, Data::Number(_) | Data::Text(_)) => self.add(
                    Mistake::new(format!("nothing says whether {} blocks or warns", quoted(key)))
                        .at(&key.span)
                        .hint("put it under `thresholds.blocking` or `thresholds.warning`"),
                ),
                _ => self.unknown(key, "`thresholds`", THRESHOLDS),
            }
        }
    }

    /// Thresholds by metric.
    fn gates(&mut self, section: &str, item: &Item, level: Level) {
        for (key, item) in self.entries(section, item) {
            if key.value == "description" {
                self.describing(key, item);
            } else {
                self.gate(key.clone(), item, level, Origin::Thresholds);
            }
        }
    }

    fn gate(&mut self, metric: Spanned<String>, item: &Item, level: Level, origin: Origin) {
        if let Some(threshold) = self.accept(Threshold::parse(item)) {
            self.policy.gates.push(GateSpec { metric, threshold, level, origin });
        }
    }

    fn pass_criteria(&mut self, item: &Item) {
        let mut overall: Option<&Spanned<String>> = None;
        for (key, item) in self.known_entries("`pass_criteria`", item, PASS_CRITERIA) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "overall" | "minimum_pass_rate" => {
                    if let Some(first) = overall.replace(key) {
                        self.same_twice(first, key);
                    }
                    self.gate(pass_rate(&key.span), item, Level::Blocking, Origin::Overall);
                }
                "by_category" => self.by_category(item),
                "required_scenarios" => self.required(key, item),
                "blocking_failures" => self.blocking_failures(key, item),
                _ => refuse_unread(key),
            }
        }
    }

    fn by_category(&mut self, item: &Item) {
        for (key, item) in self.entries("`pass_criteria.by_category`", item) {
            if key.value == "description" {
                self.describing(key, item);
            } else {
                let origin = Origin::Category(Arc::from(key.as_str()));
                self.gate(pass_rate(&key.span), item, Level::Blocking, origin);
            }
        }
    }

    /// Required scenarios may be listed in two sections.
    fn required(&mut self, key: &Spanned<String>, item: &Item) {
        let ids = self.scenarios(key, item);
        add_new(&mut self.policy.required, ids);
    }

    fn blocking_failures(&mut self, key: &Spanned<String>, item: &Item) {
        let kinds = self.texts(key, item);
        add_new(&mut self.policy.blocking_failures, kinds);
    }

    /// Ids of scenarios: a list, or a map with a list of `ids`.
    fn scenarios(&mut self, name: &Spanned<String>, item: &Item) -> Vec<Spanned<String>> {
        if matches!(item.value, Data::List(_)) {
            return self.texts(name, item);
        }
        let mut ids = Vec::new();
        let section = format!("`{}`", name.value);
        for (key, item) in self.known_entries(&section, item, SCENARIOS) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "ids" => ids = self.texts(key, item),
                _ => refuse_unread(key),
            }
        }
        ids
    }

    fn weights(&mut self, item: &Item) {
        for (key, item) in self.entries("`weights`", item) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "by_category" => self.policy.weights.by_category = self.weights_of(key, item),
                "by_capability" => self.policy.weights.by_capability = self.weights_of(key, item),
                "by_metric" => {
                    let weights = self.weights_of(key, item);
                    self.policy.weights.by_metric.extend(weights);
                }
                // A plain map of metrics to numbers, as in code that calls `weighted_score`.
                _ if matches!(item.value, Data::Number(_)) => self.weight(key, item),
                _ => self.unknown(key, "`weights`", WEIGHTS),
            }
        }
    }

    fn weights_of(&mut self, name: &Spanned<String>, item: &Item) -> Vec<(Spanned<String>, f64)> {
        let mut weights = Vec::new();
        for (key, item) in self.entries(&format!("`weights.{}`", name.value), item) {
            if key.value == "description" && matches!(item.value, Data::Text(_)) {
                continue;
            }
            if let Some(weight) = self.number(key, item, "a weight is 0 or more", |weight| weight >= 0.0) {
                weights.push((key.clone(), weight));
            }
        }
        weights
    }

    fn weight(&mut self, metric: &Spanned<String>, item: &Item) {
        if let Some(weight) = self.number(metric, item, "a weight is 0 or more", |weight| weight >= 0.0) {
            self.policy.weights.by_metric.push((metric.clone(), weight));
        }
    }

    /// Formulas: a map of names to formulas, or one text with a line for each.
    fn composite(&mut self, item: &Item) {
        if let Data::Text(text) = &item.value {
            for statement in self.accept(syntax::statements(text, &item.span)).unwrap_or_default() {
                self.formula(statement.name, statement.formula);
            }
            return;
        }
        for (key, item) in self.entries("`composite`", item) {
            if key.value == "description" {
                self.describing(key, item);
            } else if let Some(text) = self.text(key, item)
                && let Some(formula) = self.accept(syntax::formula(&text.value, &text.span))
            {
                self.formula(key.clone(), formula);
            }
        }
    }

    fn formula(&mut self, name: Spanned<String>, formula: Spanned<Formula>) {
        let is_condition = formula.expression.is_condition();
        if name.value != "pass" {
            if is_condition {
                let message = format!("{} is a condition, and only `pass` may be one", quoted(&name));
                self.add(Mistake::new(message).at(&formula.span).hint("write the condition into `pass`"));
            }
            self.policy.composite.push(Composite { name, formula });
            return;
        }
        if !is_condition {
            let hint = "compare it with a number: `final_score ≥ 0.85`";
            self.add(Mistake::new("`pass` is a number, and should be a condition").at(&formula.span).hint(hint));
        }
        if self.policy.pass.is_some() {
            self.add(Mistake::new("`pass` appears twice").at(&name.span).hint("join both conditions with AND"));
        }
        self.policy.pass = Some(formula);
    }

    fn normalize(&mut self, item: &Item) {
        for (key, item) in self.entries("`normalize`", item) {
            if key.value == "description" {
                self.describing(key, item);
            } else if let Some(budget) = self.amount(item, "a budget") {
                if budget.number > 0.0 {
                    self.policy.normalize.push((key.clone(), budget));
                } else {
                    let message = format!("the budget of {} is not above 0", quoted(key));
                    self.add(Mistake::new(message).at(&item.span).hint("values are divided by it"));
                }
            }
        }
    }

    fn limits(&mut self, item: &Item) {
        for (key, item) in self.entries("`limits`", item) {
            if key.value == "description" && matches!(item.value, Data::Text(_)) {
                self.describing(key, item);
                continue;
            }
            let (mut least, mut most) = (Some(0.0), None);
            if matches!(item.value, Data::Map(_)) {
                for (end, item) in self.known_entries(&format!("`limits.{}`", key.value), item, LIMIT) {
                    match end.as_str() {
                        "description" => self.describing(end, item),
                        "min" => least = self.limit(key, item),
                        "max" => most = Some(self.limit(key, item)),
                        _ => refuse_unread(end),
                    }
                }
                if most.is_none() {
                    let message = format!("nothing says what {} can be at most", quoted(key));
                    self.add(Mistake::new(message).at(&item.span).hint("write `{\"min\": 1, \"max\": 5}`"));
                }
            } else {
                most = Some(self.limit(key, item));
            }
            let (Some(least), Some(most)) = (least, most.flatten()) else { continue };
            if most < least {
                let message = format!("{} would be at most {most} and at least {least}", quoted(key));
                let hint = "`min` is 0 unless it is written, and `max` is not below it";
                self.add(Mistake::new(message).at(&item.span).hint(hint));
                continue;
            }
            self.policy.limits.push(Limit { name: key.clone(), least, most });
        }
    }

    /// An amount in the unit that the name of a field tells.
    fn limit(&mut self, name: &Spanned<String>, item: &Item) -> Option<f64> {
        let amount = self.amount(item, "a limit")?;
        self.accept(amount.amount_in(unit_of_field(name), name))
    }

    fn risk(&mut self, item: &Item) {
        for row in
            self.rows("`risk`", item, "{\"level\": \"critical\", \"metric\": \"safety_rate\", \"threshold\": \"100%\"}")
        {
            let (mut level, mut metric, mut threshold, mut rationale) = (None, None, None, None);
            for (key, item) in self.known_entries("a row of `risk`", row, RISK) {
                match key.as_str() {
                    "description" => self.describing(key, item),
                    "level" => level = Some(self.choice(key, item, &RISKS)),
                    "metric" => metric = Some(self.text(key, item)),
                    "threshold" => threshold = Some(item),
                    "rationale" => rationale = self.text(key, item).map(|text| text.value),
                    _ => refuse_unread(key),
                }
            }
            self.require(
                row,
                "a row of `risk`",
                &[
                    ("level", level.is_some(), &names(&RISKS)),
                    ("metric", metric.is_some(), &[]),
                    ("threshold", threshold.is_some(), &[]),
                ],
            );
            if let (Some(Some(level)), Some(Some(metric)), Some(threshold)) = (level, metric, threshold) {
                // Which levels block is known only after the whole policy has been read.
                self.gate(metric, threshold, Level::Warning, Origin::Risk { level, rationale });
            }
        }
    }

    fn risk_blocking(&mut self, key: &Spanned<String>, item: &Item) {
        let mut levels = Vec::new();
        for name in self.texts(key, item) {
            match one_of(&name.value, &RISKS) {
                Some(level) => {
                    levels.push(level);
                    self.policy.risk_blocking.push(Spanned { value: level, span: name.span.clone() });
                }
                None => self.not_a_choice(key, &name.value, &name.span, &RISKS),
            }
        }
        self.risk_blocking = Some(levels);
    }

    fn settle_risks(&mut self) {
        let blocking = self.risk_blocking.take().unwrap_or_else(|| vec![RiskLevel::Critical, RiskLevel::High]);
        for gate in &mut self.policy.gates {
            if let Origin::Risk { level, .. } = &gate.origin
                && blocking.contains(level)
            {
                gate.level = Level::Blocking;
            }
        }
    }

    /// Thresholds by version: a map of metrics to maps of versions, or a list of rows with a `version`.
    fn progressive(&mut self, item: &Item) {
        if matches!(item.value, Data::List(_)) {
            self.progressive_rows(item);
            return;
        }
        for (metric, item) in self.entries("`progressive`", item) {
            if metric.value == "description" {
                self.describing(metric, item);
                continue;
            }
            for (version, item) in self.entries(&format!("`progressive.{}`", metric.value), item) {
                if version.value == "description" {
                    self.describing(version, item);
                } else if let Some(threshold) = self.accept(Threshold::parse(item)) {
                    self.step(metric, version.clone(), threshold);
                }
            }
        }
    }

    fn progressive_rows(&mut self, item: &Item) {
        for row in self.rows("`progressive`", item, "{\"version\": \"v1.0\", \"accuracy\": \"≥ 80%\"}") {
            let entries = self.entries("a row of `progressive`", row);
            let version =
                entries.iter().find(|(key, _)| key.value == "version").map(|(key, item)| self.name(key, item));
            self.require(row, "a row of `progressive`", &[("version", version.is_some(), &[])]);
            let Some(Some(version)) = version else { continue };
            for (metric, item) in entries.iter().filter(|(key, _)| key.value != "version") {
                if metric.value == "description" {
                    self.describing(metric, item);
                } else if let Some(threshold) = self.accept(Threshold::parse(item)) {
                    self.step(metric, version.clone(), threshold);
                }
            }
        }
    }

    fn step(&mut self, metric: &Spanned<String>, version: Spanned<String>, threshold: Threshold) {
        let steps = &mut self.policy.progressive;
        let at = steps.iter().position(|step| step.metric.value == metric.value).unwrap_or_else(|| {
            steps.push(Progressive { metric: metric.clone(), versions: Vec::new() });
            steps.len() - 1
        });
        let versions = &mut steps[at].versions;
        if let Some((first, _)) = versions.iter().find(|(known, _)| known.value == version.value) {
            let message = format!(
                "{} has two thresholds for {}, the first in line {}",
                quoted(metric),
                quoted(&version),
                first.span.line()
            );
            let mistake = Mistake::new(message).at(&version.span).hint("keep one of them");
            self.add(mistake);
            return;
        }
        versions.push((version, threshold));
    }

    fn baseline(&mut self, name: &Spanned<String>, item: &Item) {
        let (mut mode, mut margin, mut metrics, mut level, mut max_age_days) =
            (None, None, Vec::new(), Level::Blocking, None);
        for (key, item) in self.known_entries("`baseline`", item, BASELINE) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "mode" => mode = Some(self.choice(key, item, &MODES)),
                "margin" => margin = Some(self.margin(item)),
                "metrics" => metrics = self.texts(key, item),
                "level" => level = self.choice(key, item, &LEVELS).unwrap_or(level),
                "max_age_days" => {
                    max_age_days = self.number(key, item, "a number of days is above 0", |days| days > 0.0);
                }
                _ => refuse_unread(key),
            }
        }
        if matches!(item.value, Data::Map(_)) {
            let at = Item { value: Data::Null, span: name.span.clone() };
            let keys: [(&str, bool, &[&str]); 2] =
                [("mode", mode.is_some(), &names(&MODES)), ("margin", margin.is_some(), &[])];
            self.require(&at, "`baseline`", &keys);
        }
        if let (Some(Some(mode)), Some(Some(margin))) = (mode, margin) {
            self.policy.baseline = Some(BaselineRule { mode, margin, metrics, level, max_age_days });
        }
    }

    fn margin(&mut self, item: &Item) -> Option<Threshold> {
        let margin = self.amount(item, "a margin")?;
        if margin.number < 0.0 {
            self.add(Mistake::new("a margin is not negative").at(&item.span).hint("remove the minus sign"));
            return None;
        }
        Some(margin)
    }

    fn rubric(&mut self, item: &Item) {
        let mut rule = RubricRule { scorer: None, best: 2.0, min_score: None, no_zero: false };
        for (key, item) in self.known_entries("`rubric`", item, RUBRIC) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "scorer" => rule.scorer = self.text(key, item),
                "best" => {
                    rule.best =
                        self.number(key, item, "the best grade is above 0", |best| best > 0.0).unwrap_or(rule.best);
                }
                "min_score" => rule.min_score = self.share(key, item).map(|(threshold, _)| threshold),
                "no_zero" => rule.no_zero = self.truth(key, item).unwrap_or_default(),
                _ => refuse_unread(key),
            }
        }
        self.policy.rubric = Some(rule);
    }

    fn epochs(&mut self, item: &Item) {
        let mut rule = EpochsRule::default();
        for (key, item) in self.known_entries("`epochs`", item, EPOCHS) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "count" => {
                    let is_count = |count: f64| count >= 1.0 && count.fract() == 0.0 && count <= f64::from(u32::MAX);
                    let count = self.number(key, item, "a number of attempts is a whole number from 1", is_count);
                    // Within the range of a u32, as was just checked.
                    rule.count = count.map(|count| count as u32);
                }
                "reducer" => rule.reducer = self.text(key, item),
                "min_pass_rate" => rule.min_pass_rate = self.share(key, item).map(|(threshold, _)| threshold),
                _ => refuse_unread(key),
            }
        }
        self.policy.epochs = rule;
    }

    /// Metrics: expressions or definitions by name, or a list of names and definitions.
    fn metrics(&mut self, item: &Item) {
        if let Data::List(items) = &item.value {
            for item in items {
                match &item.value {
                    Data::Text(name) => {
                        self.policy.shown.push(Spanned { value: name.clone(), span: item.span.clone() });
                    }
                    _ => self.definition(None, item),
                }
            }
            return;
        }
        for (key, item) in self.entries("`metrics`", item) {
            match &item.value {
                Data::Text(_) if key.value == "description" => {}
                Data::Text(text) => {
                    let expression = Spanned { value: text.clone(), span: item.span.clone() };
                    self.policy.metrics.push((key.clone(), expression));
                }
                _ => self.definition(Some(key), item),
            }
        }
    }

    /// The definition of a metric and its threshold. A `threshold` blocks; a `typical_threshold` warns.
    fn definition(&mut self, named: Option<&Spanned<String>>, item: &Item) {
        let (mut name, mut threshold, mut level, mut weight) = (named.cloned(), None, None, None);
        let mut expression = None;
        for (key, item) in self.known_entries("a metric", item, METRIC) {
            match key.as_str() {
                "name" if named.is_none() => name = self.text(key, item),
                "name" | "description" | "formula" | "calculation" | "range" | "unit" | "use_case" => {
                    self.describing(key, item);
                }
                "expression" => expression = self.text(key, item),
                "threshold" | "typical_threshold" => {
                    if let Some((first, _)) = threshold.replace((key, item)) {
                        self.same_twice(first, key);
                    }
                }
                "level" => level = self.choice(key, item, &LEVELS),
                "weight" => weight = Some(item),
                _ => refuse_unread(key),
            }
        }
        if matches!(item.value, Data::Map(_)) {
            self.require(item, "a metric", &[("name", name.is_some() || item.get("name").is_some(), &[])]);
        }
        let Some(name) = name else { return };
        if let Some(expression) = expression {
            self.policy.metrics.push((name.clone(), expression));
        }
        if let Some(weight) = weight {
            self.weight(&name, weight);
        }
        match threshold {
            Some((key, item)) => {
                let usual = if key.value == "threshold" { Level::Blocking } else { Level::Warning };
                self.gate(name, item, level.unwrap_or(usual), Origin::Thresholds);
            }
            None => self.policy.shown.push(name),
        }
    }

    /// A level, or a level and how often the data may be looked at.
    fn confidence(&mut self, item: &Item) {
        if !matches!(item.value, Data::Map(_)) {
            self.policy.confidence = self.confidence_level(item);
            return;
        }
        for (key, item) in self.known_entries("`confidence`", item, CONFIDENCE) {
            match key.as_str() {
                "description" => self.describing(key, item),
                "level" => self.policy.confidence = self.confidence_level(item),
                "looks" => self.policy.looks = self.choice(key, item, &LOOKS).unwrap_or_default(),
                _ => refuse_unread(key),
            }
        }
        self.require(item, "`confidence`", &[("level", item.get("level").is_some(), &[])]);
    }

    /// The fields by whose values samples go together: one, or a list.
    fn cluster(&mut self, key: &Spanned<String>, item: &Item) -> Vec<Spanned<String>> {
        match item.value {
            Data::Text(_) => self.name(key, item).into_iter().collect(),
            _ => self.texts(key, item),
        }
    }

    fn confidence_level(&mut self, item: &Item) -> Option<f64> {
        let hint = "write a number strictly between 0.5 and 1, such as 0.95, or `\"95%\"`";
        let confidence = match &item.value {
            Data::Number(number) => Some(*number),
            Data::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|number| number.trim().parse().ok())
                .map(|percent: f64| percent / 100.0),
            _ => None,
        };
        match confidence.filter(|confidence| *confidence > 0.5 && *confidence < 1.0) {
            Some(confidence) => Some(confidence),
            None => {
                let message = format!("{} is not a confidence", quoted(item.span.raw()));
                self.add(Mistake::new(message).at(&item.span).hint(hint));
                None
            }
        }
    }

    fn extends_left(&mut self, key: &Spanned<String>) {
        self.add(Mistake::new("`extends` was not followed").at(&key.span).hint("read the policy from a file"));
    }

    // Checks of the whole policy.

    fn check_scenarios(&mut self) {
        let required: HashSet<&str> = self.policy.required.iter().map(|id| id.value.as_str()).collect();
        let both = self.policy.optional.iter().filter(|id| required.contains(id.value.as_str()));
        let mistakes = both.map(|id| {
            Mistake::new(format!("{} is both required and optional", quoted(id)))
                .at(&id.span)
                .hint("remove it from one of the two lists")
        });
        self.mistakes.extend(mistakes);
    }

    fn check_weights(&mut self) {
        let weights = &self.policy.weights.by_metric;
        let mut places = HashMap::new();
        for (name, _) in weights {
            if let Some(first) = places.insert(name.value.as_str(), &name.span) {
                let message = format!("{} has two weights, the first in line {}", quoted(name), first.line());
                self.mistakes.push(Mistake::new(message).at(&name.span).hint("keep one of them"));
            }
        }
        if let Some((name, _)) = weights.first()
            && weights.iter().all(|(_, weight)| *weight == 0.0)
        {
            let mistake = Mistake::new("all weights of metrics are 0").at(&name.span);
            self.mistakes.push(mistake.hint("give at least one metric a weight above 0"));
        }
    }

    /// Each formula has a distinct name, and none depends on itself.
    fn check_formulas(&mut self) {
        let formulas = std::mem::take(&mut self.policy.composite);
        if let Some(one_more) = formulas.get(FORMULAS_MAX) {
            let message = format!("a policy has at most {FORMULAS_MAX} formulas");
            self.add(Mistake::new(message).at(&one_more.name.span).hint("leave out those that `pass` does not use"));
        } else {
            for (at, formula) in formulas.iter().enumerate() {
                if let Some(first) = formulas[..at].iter().find(|known| known.name.value == formula.name.value) {
                    self.same_twice(&first.name, &formula.name);
                } else if let Some(mistake) = circle(formula, &formulas) {
                    self.add(mistake);
                }
            }
        }
        let pass = self.policy.pass.iter().chain(formulas.iter().map(|composite| &composite.formula));
        let mistakes: Vec<Mistake> = pass.filter_map(uses_pass).collect();
        self.mistakes.extend(mistakes);
        self.policy.composite = formulas;
    }

    // Values of single keys.

    fn add(&mut self, mistake: Mistake) {
        self.mistakes.push(mistake);
    }

    fn accept<T>(&mut self, result: Result<T, Mistake>) -> Option<T> {
        result.map_err(|mistake| self.add(mistake)).ok()
    }

    /// The entries of a map that have a value.
    fn entries<'i>(&mut self, what: &str, item: &'i Item) -> Entries<'i> {
        let Data::Map(entries) = &item.value else {
            self.wrong_kind(what, item, "a map", "write `{\"key\": …}`");
            return &[];
        };
        entries
    }

    /// The entries of a map whose keys are all known. This is the only way to a section with keys of its own, so that a key
    /// that is not in the table, which the schema is compared with, cannot be read.
    fn known_entries<'i>(&mut self, what: &str, item: &'i Item, keys: &[&str]) -> Vec<&'i (Spanned<String>, Item)> {
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.entries(what, item).iter().partition(|(key, _)| keys.contains(&key.as_str()));
        for (key, _) in unknown {
            self.unknown(key, what, keys);
        }
        known
    }

    /// The items of a list of maps.
    fn rows<'i>(&mut self, what: &str, item: &'i Item, example: &str) -> &'i [Item] {
        let Data::List(rows) = &item.value else {
            self.wrong_kind(what, item, "a list", &format!("write `[{example}]`"));
            return &[];
        };
        rows
    }

    fn wrong_kind(&mut self, what: &str, item: &Item, wanted: &str, hint: &str) {
        let mistake = Mistake::new(format!("{what} is {}, and should be {wanted}", item.kind())).at(&item.span);
        self.add(match item.value {
            Data::Null => {
                mistake.hint("give it a value, or leave it out; a null only removes what an extended file says")
            }
            _ => mistake.hint(hint),
        });
    }

    fn text(&mut self, key: &Spanned<String>, item: &Item) -> Option<Spanned<String>> {
        let Data::Text(text) = &item.value else {
            self.wrong_kind(&quoted(key), item, "a string", "put it in quotes");
            return None;
        };
        Some(Spanned { value: text.clone(), span: item.span.clone() })
    }

    /// A text for human readers only.
    fn describing(&mut self, key: &Spanned<String>, item: &Item) {
        let _ = self.text(key, item);
    }

    /// A name: a text, or a number that is meant as one.
    fn name(&mut self, key: &Spanned<String>, item: &Item) -> Option<Spanned<String>> {
        match item.value {
            // As it is written: 1.0 and 1 are different names.
            Data::Number(_) => Some(Spanned { value: item.span.raw().to_owned(), span: item.span.clone() }),
            _ => self.text(key, item),
        }
    }

    fn texts(&mut self, key: &Spanned<String>, item: &Item) -> Vec<Spanned<String>> {
        let Data::List(items) = &item.value else {
            self.wrong_kind(&quoted(key), item, "a list", "write `[\"…\", \"…\"]`");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.name(key, item)).collect()
    }

    fn truth(&mut self, key: &Spanned<String>, item: &Item) -> Option<bool> {
        let Data::Bool(truth) = item.value else {
            self.wrong_kind(&quoted(key), item, "true or false", "write `true` or `false`, without quotes");
            return None;
        };
        Some(truth)
    }

    fn number(
        &mut self,
        key: &Spanned<String>,
        item: &Item,
        rule: &str,
        is_allowed: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let Data::Number(number) = item.value else {
            self.wrong_kind(&quoted(key), item, "a number", "write a number, without quotes");
            return None;
        };
        if is_allowed(number) {
            return Some(number);
        }
        self.add(Mistake::new(format!("{} is {number}", quoted(key))).at(&item.span).hint(rule));
        None
    }

    /// A threshold without a comparison.
    fn amount(&mut self, item: &Item, what: &str) -> Option<Threshold> {
        let amount = self.accept(Threshold::parse(item))?;
        let Some(comparison) = amount.comparison else { return Some(amount) };
        let message = format!("{what} is an amount, and `{}` compares", comparison.sign());
        self.add(Mistake::new(message).at(&item.span).hint("leave the comparison out"));
        None
    }

    /// A minimum share, with its number between 0 and 1.
    fn share(&mut self, key: &Spanned<String>, item: &Item) -> Option<(Threshold, f64)> {
        let threshold = self.accept(Threshold::parse(item))?;
        let share = self.accept(threshold.share(&key.value))?;
        Some((threshold, share))
    }

    fn pass_threshold(&mut self, key: &Spanned<String>, item: &Item) {
        if let Some((threshold, share)) = self.share(key, item) {
            self.policy.pass_threshold = Some(share);
            self.policy.pass_score = threshold.unit.is_none().then_some(threshold.number);
        }
    }

    /// One of several words, regardless of case.
    fn choice<T: Copy>(&mut self, key: &Spanned<String>, item: &Item, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(key, item)?;
        let choice = one_of(&text.value, choices);
        if choice.is_none() {
            self.not_a_choice(key, &text.value, &text.span, choices);
        }
        choice
    }

    fn not_a_choice<T>(&mut self, key: &Spanned<String>, text: &str, span: &Span, choices: &[(&str, T)]) {
        let known: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let mistake = Mistake::new(format!("{} cannot be {}", quoted(key), quoted(text))).at(span);
        self.add(mistake.hint(suggestion(&text.to_lowercase(), &known, "it is one of")));
    }

    fn unknown(&mut self, key: &Spanned<String>, section: &str, known: &[&str]) {
        let mistake = Mistake::new(format!("there is no {} in {section}", quoted(key))).at(&key.span);
        self.add(mistake.hint(suggestion(&key.value, known, "there are")));
    }

    /// Each key with whether it is there, and the words that it may have as its value, if there are only a few.
    fn require(&mut self, item: &Item, section: &str, keys: &[(&str, bool, &[&str])]) {
        for (key, _, choices) in keys.iter().filter(|(_, is_there, _)| !is_there) {
            let words: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            let hint = match words.as_slice() {
                [] => format!("add `{key}`"),
                [first, last] => format!("add `{key}`, which is {first} or {last}"),
                _ => format!("add `{key}`, which is one of {}", words.join(", ")),
            };
            self.add(Mistake::new(format!("{section} has no `{key}`")).at(&item.span).hint(hint));
        }
    }

    fn same_twice(&mut self, first: &Spanned<String>, second: &Spanned<String>) {
        let message = if first.value == second.value {
            format!("{} appears twice, first in line {}", quoted(second), first.span.line())
        } else {
            format!("{} says the same as {} in line {}", quoted(second), quoted(first), first.span.line())
        };
        self.add(Mistake::new(message).at(&second.span).hint("keep one of them"));
    }
}

/// True for a document with a section of a policy: it is more than the definition of a metric.
fn has_sections(document: &Item) -> bool {
    let Data::Map(entries) = &document.value else { return false };
    entries.iter().any(|(key, _)| TOP.contains(&key.as_str()) && !METRIC.contains(&key.as_str()))
}

/// A key is in a table, and no arm reads it. A test reads every key of every table.
fn refuse_unread(key: &Spanned<String>) -> ! {
    unreachable!("nothing reads the key `{}`", key.value)
}

fn pass_rate(span: &Span) -> Spanned<String> {
    Spanned { value: super::pass_rate_name().to_owned(), span: span.clone() }
}

/// Adds names that are not there yet.
fn add_new(names: &mut Vec<Spanned<String>>, more: Vec<Spanned<String>>) {
    let mut known: HashSet<String> = names.iter().map(|name| name.value.clone()).collect();
    names.extend(more.into_iter().filter(|name| known.insert(name.value.clone())));
}

fn one_of<T: Copy>(text: &str, choices: &[(&str, T)]) -> Option<T> {
    let text = text.trim().to_lowercase().replace('-', "_");
    choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
}

fn suggestion(name: &str, known: &[&str], there_are: &str) -> String {
    let all = format!("{there_are} {}", known.join(", "));
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

/// The mistake of a formula that depends on itself, directly or through others.
fn circle(formula: &Composite, formulas: &[Composite]) -> Option<Mistake> {
    let mut reached: Vec<&str> = Vec::new();
    let mut next = formula.formula.expression.names();
    while let Some(name) = next.pop() {
        if name == formula.name.value {
            let message = format!("{} is needed for its own value", quoted(name));
            let mistake = Mistake::new(message).at(&formula.formula.span);
            return Some(mistake.hint("a formula uses metrics and other formulas, not itself"));
        }
        if !reached.contains(&name)
            && let Some(used) = formulas.iter().find(|known| known.name.value == name)
        {
            reached.push(name);
            next.extend(used.formula.expression.names());
        }
    }
    None
}

fn uses_pass(formula: &Spanned<Formula>) -> Option<Mistake> {
    let mut found = None;
    formula.expression.visit(&mut |part| {
        if matches!(&part.node, super::Node::Name(name) if name == "pass") {
            found = Some(part);
        }
    });
    let place = formula.place(&formula.span, found?);
    Some(Mistake::new("`pass` is the condition as a whole, not a number").at(&place).hint("name a metric or a formula"))
}
