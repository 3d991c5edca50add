//! `calipers plan`: how many samples, before the money is spent.

use crate::exit::Outcome;
use crate::expressions::Expressions;
use crate::failure::Failure;
use crate::flags::{FormatFlag, ScriptFlags, SelectionFlags};
use crate::reading::{load_run, print_notes};
use crate::script_child::{self, limit_memory};
use crate::selection;
use crate::terminal::{ink, print_json, print_text, screen};
use calipers::metric::Unit;
use calipers::policy::{Comparison, Span, Threshold};
use calipers::render::{plan_json, plan_text};
use calipers::sizing::{Pairing, PilotOptions, PlanQuestion, PlanReport, Spread, plan, plan_by_run};
use calipers::stats::power::Costs;
use calipers::stats::threshold_test::Direction;
use calipers::{LoadedRun, Registry, Selection};
use clap::Args;

/// `calipers plan`
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// A pilot run: files, folders or patterns; `-` is standard input
    pilot: Vec<String>,

    /// Assume this pass rate, such as 0.8
    #[arg(long, value_name = "RATE", conflicts_with_all = ["pilot", "sd"])]
    rate: Option<f64>,

    /// Assume this standard deviation of the scores
    #[arg(long, value_name = "SD", conflicts_with = "pilot")]
    sd: Option<f64>,

    /// The share of the variance between attempts at the same sample, with `--rate` or `--sd`
    #[arg(long, value_name = "SHARE", conflicts_with = "pilot")]
    within: Option<f64>,

    /// How many samples give an interval of ± this width (0.02 is two points)
    #[arg(long, value_name = "WIDTH")]
    half_width: Option<f64>,

    /// How many samples decide this gate, such as '>= 0.95'
    #[arg(long, value_name = "RULE")]
    gate: Option<String>,

    /// How many samples detect this difference between two runs (0.02 is two points)
    #[arg(long, value_name = "DIFFERENCE", allow_negative_numbers = true)]
    difference: Option<f64>,

    /// The probability of detecting a difference that exists
    #[arg(long, default_value_t = 0.8)]
    power: f64,

    /// The correlation between the scores of two runs on the same samples, one attempt each
    #[arg(long, value_name = "R", allow_negative_numbers = true, conflicts_with = "disagreement")]
    correlation: Option<f64>,

    /// The share of samples that one of two runs passes and the other fails
    #[arg(long, value_name = "SHARE")]
    disagreement: Option<f64>,

    /// A second run on the samples of the pilot, to estimate how two runs correlate
    #[arg(long, value_name = "BASELINE", conflicts_with_all = ["correlation", "disagreement", "rate", "sd"], requires = "pilot")]
    against: Option<String>,

    /// Attempts at each sample [default: those of the pilot, or 1]
    #[arg(long, value_name = "N")]
    epochs: Option<u64>,

    /// What a sample costs before its first attempt
    #[arg(long, value_name = "COST", requires = "cost_attempt")]
    cost_sample: Option<f64>,

    /// What each attempt costs, in the same unit
    #[arg(long, value_name = "COST", requires = "cost_sample")]
    cost_attempt: Option<f64>,

    /// What this many samples show [default: those of the pilot]
    #[arg(long, value_name = "N")]
    samples: Option<u64>,

    /// The confidence level of intervals and gates; tests use 1 minus this as their error rate
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95)]
    confidence: f64,

    /// The metric of the pilot: a mean over samples, such as `accuracy` or `mean("quality_score")`
    #[arg(short, long, value_name = "EXPR")]
    metric: Option<String>,

    /// A field by whose values samples of the pilot go together, such as the document of a question (repeatable, or separated by commas)
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    cluster: Vec<String>,

    /// The reducer of attempts, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    reducer: Option<String>,

    #[command(flatten)]
    selection: SelectionFlags,

    #[command(flatten)]
    scripts: ScriptFlags,

    #[command(flatten)]
    format: FormatFlag,

    /// Print JSON (`calipers.plan/1`)
    #[arg(long)]
    json: bool,
}

impl Plan {
    /// True unless it is certain that no script runs.
    pub(crate) fn scripts(&self) -> bool {
        script_child::is_needed(self.metric.as_slice(), &self.scripts.load)
    }

    pub(crate) fn run(self) -> Result<Outcome, Failure> {
        let report = self.plan()?;
        match self.json {
            true => print_json(&plan_json(&report))?,
            false => print_text(&plan_text(&report, screen(), ink()))?,
        }
        Ok(Outcome::Done)
    }

    fn plan(&self) -> Result<PlanReport, Failure> {
        let question = self.question()?;
        if !self.pilot.is_empty() {
            return self.plan_by_pilot(&question);
        }
        if self.metric.is_some() || !self.cluster.is_empty() || self.reducer.is_some() {
            let what = "`--metric`, `--cluster` and `--reducer` are about a pilot, and there is none";
            return Err(Failure::new(what).hint("name the files of a run"));
        }
        let spread = match (self.rate, self.sd) {
            (Some(rate), _) => Spread::of_rate(rate)?,
            (None, Some(sd)) => Spread::of_sd(sd)?,
            (None, None) => {
                let hint = "name the files of a pilot run, or assume `--rate 0.8` or `--sd 0.3`";
                return Err(Failure::new("it is not known how much scores vary").hint(hint));
            }
        };
        let spread = self.within.map_or(Ok(spread), |share| spread.with_within(share))?;
        Ok(plan(spread, &question)?)
    }

    fn plan_by_pilot(&self, question: &PlanQuestion) -> Result<PlanReport, Failure> {
        let selection = selection::resolve(&self.selection, &self.format, self.confidence, &self.scripts)?;
        let expressions = Expressions::load(&self.scripts, selection.labels.clone())?;
        let options = PilotOptions {
            metric: expressions.metrics(self.metric.as_slice())?.and_then(|metrics| metrics.into_iter().next()),
            cluster: self.cluster.clone(),
            registry: Registry::builtin(),
            loaded: expressions.loaded_names()?,
        };
        let reducers = selection::pairing_reducer(&expressions, self.reducer.as_deref())?;
        let selection = Selection { reducers, ..selection };
        let needs = options.needs(&selection);
        let load = |names: &[String]| -> Result<LoadedRun, Failure> {
            let run = load_run(names, &selection, &needs)?;
            print_notes(&run);
            Ok(run)
        };
        let pilot = load(&self.pilot)?;
        let against = self.against.as_ref().map(|name| load(std::slice::from_ref(name))).transpose()?;
        let _limit = limit_memory();
        Ok(plan_by_run(&pilot, against.as_ref(), &selection, &options, question)?)
    }

    fn question(&self) -> Result<PlanQuestion, Failure> {
        let costs = self.cost_sample.zip(self.cost_attempt);
        check(self.correlation, -1.0, "a correlation lies between -1 and 1")?;
        check(self.disagreement, 0.0, "a share lies between 0 and 1 (15 % is written 0.15)")?;
        let correlation = self.correlation.map(Pairing::Correlation);
        Ok(PlanQuestion {
            level: self.confidence,
            power: self.power,
            attempts: self.epochs,
            half_width: self.half_width,
            gate: self.gate.as_deref().map(parse_gate).transpose()?,
            difference: self.difference,
            pairing: correlation.or(self.disagreement.map(Pairing::Disagreement)),
            costs: costs.map(|(sample, attempt)| Costs { sample, attempt }),
            samples: self.samples,
        })
    }
}

/// An error unless a number, if it is given, lies between this and 1.
fn check(given: Option<f64>, low: f64, what: &str) -> Result<(), Failure> {
    match given.filter(|x| !(low..=1.0).contains(x)) {
        Some(x) => Err(Failure::new(format!("{what}, and {x} does not"))),
        None => Ok(()),
    }
}

/// A threshold of a rate, written as in a policy.
fn parse_gate(text: &str) -> Result<(f64, Direction), Failure> {
    let hint = "write `--gate '>= 0.95'` or `--gate '<= 5%'`";
    let refuse = |what: String| Failure::new(what).hint(hint);
    let threshold = Threshold::read(text, &Span::nowhere());
    let rule = threshold.and_then(|threshold| threshold.rule_in(Unit::Rate, Some(Direction::AtLeast), "the rate"));
    let rule = rule.map_err(|_| refuse(format!("`--gate {text}` is not a threshold for a rate")))?;
    match rule.comparison {
        Comparison::AtLeast | Comparison::Above => Ok((rule.value, Direction::AtLeast)),
        Comparison::AtMost | Comparison::Below => Ok((rule.value, Direction::AtMost)),
        Comparison::Equal => Err(refuse(format!("`--gate {text}` asks for equality, which no interval shows"))),
    }
}
