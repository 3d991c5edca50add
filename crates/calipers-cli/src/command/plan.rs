//! `calipers plan`: how many samples, before the money is spent.

use crate::arguments::{Chosen, Reading, Scripts};
use crate::compare::{chosen, ink, loaded, metrics, reducer};
use crate::exit::{Failure, print};
use crate::expressions::Expressions;
use crate::{guard, score};
use calipers::compare::Loaded;
use calipers::policy::{Comparison, Span, Threshold};
use calipers::render::{plan_json, plan_text};
use calipers::sizing::{Measured, Pairing, PlanReport, Spread, Wanted, plan, plan_by_run};
use calipers::stats::power::Costs;
use calipers::stats::threshold_test::Direction;
use calipers::{Registry, Unit};
use clap::Args;

/// `calipers plan`
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// A run to plan by: files, folders or patterns; `-` is standard input
    pub(crate) pilot: Vec<String>,

    /// Plan by this rate at which samples pass, such as 0.8
    #[arg(long, value_name = "RATE", conflicts_with_all = ["pilot", "sd"])]
    pub(crate) rate: Option<f64>,

    /// Plan by this standard deviation of scores
    #[arg(long, value_name = "SD", conflicts_with = "pilot")]
    pub(crate) sd: Option<f64>,

    /// The share of the variance that lies between attempts at one sample, with `--rate` or `--sd`
    #[arg(long, value_name = "SHARE", conflicts_with = "pilot")]
    pub(crate) within: Option<f64>,

    /// How many samples give an interval of ± this; 0.02 is two points
    #[arg(long, value_name = "WIDTH")]
    pub(crate) half_width: Option<f64>,

    /// How many samples decide this gate, such as '>= 0.95'
    #[arg(long, value_name = "RULE")]
    pub(crate) gate: Option<String>,

    /// How many samples show this difference of two runs; 0.02 is two points
    #[arg(long, value_name = "DIFFERENCE", allow_negative_numbers = true)]
    pub(crate) difference: Option<f64>,

    /// How often a difference that is there should be found
    #[arg(long, default_value_t = 0.8)]
    pub(crate) power: f64,

    /// The correlation of two runs on the same samples
    #[arg(long, value_name = "R", allow_negative_numbers = true, conflicts_with = "disagreement")]
    pub(crate) correlation: Option<f64>,

    /// The share of samples that one of two runs passes and the other fails
    #[arg(long, value_name = "SHARE")]
    pub(crate) disagreement: Option<f64>,

    /// A second run on the samples of the pilot, that shows what two runs share
    #[arg(long, value_name = "BASELINE", conflicts_with_all = ["correlation", "disagreement", "rate", "sd"], requires = "pilot")]
    pub(crate) against: Option<String>,

    /// Attempts at each sample; those of the pilot if it is not said, else 1
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<u64>,

    /// What a sample costs before its first attempt
    #[arg(long, value_name = "COST", requires = "cost_attempt")]
    pub(crate) cost_sample: Option<f64>,

    /// What an attempt costs, in the same unit
    #[arg(long, value_name = "COST", requires = "cost_sample")]
    pub(crate) cost_attempt: Option<f64>,

    /// What so many samples show; those of the pilot if it is not said
    #[arg(long, value_name = "N")]
    pub(crate) samples: Option<u64>,

    /// The level of intervals and gates; tests have an error of 1 less this
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95)]
    pub(crate) confidence: f64,

    /// The metric of the pilot, a mean over samples such as `accuracy` or `mean("quality_score")`
    #[arg(short, long, value_name = "EXPR")]
    pub(crate) metric: Option<String>,

    /// Samples of the pilot with the same value of this metadata go together
    #[arg(long, value_name = "KEY")]
    pub(crate) cluster: Option<String>,

    /// The reducer of attempts, such as `mean`, `mode`, `pass_k_3`
    #[arg(long, value_name = "NAME")]
    pub(crate) reducer: Option<String>,

    #[command(flatten)]
    pub(crate) chosen: Chosen,

    #[command(flatten)]
    pub(crate) scripts: Scripts,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Print JSON (`calipers.plan/1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// True unless it is certain that no script runs.
pub(crate) fn has_scripts(arguments: &Plan) -> bool {
    let expressions: Vec<String> = arguments.metric.iter().cloned().collect();
    guard::is_needed(&expressions, &arguments.scripts.load)
}

pub(crate) fn run(arguments: &Plan) -> Result<(), Failure> {
    let report = planned(arguments)?;
    if arguments.json {
        return print(|out| writeln!(out, "{:#}", plan_json(&report)));
    }
    print(|out| out.write_all(plan_text(&report, score::screen(), ink()).as_bytes()))
}

fn planned(arguments: &Plan) -> Result<PlanReport, Failure> {
    let wanted = wanted(arguments)?;
    if !arguments.pilot.is_empty() {
        return by_run(arguments, &wanted);
    }
    if arguments.metric.is_some() || arguments.cluster.is_some() || arguments.reducer.is_some() {
        let hint = "name the files of a run";
        return Err(Failure::Input(format!(
            "`--metric`, `--cluster` and `--reducer` are about a pilot, and there is none\n  hint: {hint}"
        )));
    }
    let spread = match (arguments.rate, arguments.sd) {
        (Some(rate), _) => Spread::of_rate(rate)?,
        (None, Some(sd)) => Spread::of_sd(sd)?,
        (None, None) => {
            let hint = "name the files of a run like the one to come, or assume `--rate 0.8` or `--sd 0.3`";
            return Err(Failure::Input(format!("nothing says how much scores vary\n  hint: {hint}")));
        }
    };
    let spread = arguments.within.map_or(Ok(spread), |share| spread.with_within(share))?;
    Ok(plan(spread, &wanted)?)
}

fn by_run(arguments: &Plan, wanted: &Wanted) -> Result<PlanReport, Failure> {
    let labels = score::labels(&arguments.chosen.label)?;
    let expressions = Expressions::new(&arguments.scripts, labels.clone());
    expressions.load()?;
    let asked: Vec<String> = arguments.metric.iter().cloned().collect();
    let measured = Measured {
        chosen: chosen(&arguments.chosen)?,
        metric: metrics(&expressions, &asked)?.and_then(|metrics| metrics.into_iter().next()),
        reducer: reducer(&expressions, arguments.reducer.as_deref())?,
        labels,
        cluster: arguments.cluster.clone(),
        registry: Registry::builtin(),
    };
    let read = |names: &[String]| loaded(names, &arguments.reading, &measured.chosen);
    let pilot: Loaded = read(&arguments.pilot)?;
    let against = arguments.against.as_ref().map(|name| read(std::slice::from_ref(name))).transpose()?;
    let _limited = guard::is_child().then(guard::limit_memory);
    Ok(plan_by_run(&pilot, against.as_ref(), &measured, wanted)?)
}

fn wanted(arguments: &Plan) -> Result<Wanted, Failure> {
    let costs = arguments.cost_sample.zip(arguments.cost_attempt);
    check(arguments.correlation, -1.0, "a correlation lies between -1 and 1")?;
    check(arguments.disagreement, 0.0, "a share lies between 0 and 1 (15 % is written 0.15)")?;
    let correlation = arguments.correlation.map(Pairing::Correlation);
    Ok(Wanted {
        level: arguments.confidence,
        power: arguments.power,
        attempts: arguments.epochs,
        half_width: arguments.half_width,
        gate: arguments.gate.as_deref().map(gate).transpose()?,
        difference: arguments.difference,
        pairing: correlation.or(arguments.disagreement.map(Pairing::Disagreement)),
        costs: costs.map(|(sample, attempt)| Costs { sample, attempt }),
        samples: arguments.samples,
    })
}

/// An error unless a number, if it is given, lies between this and 1.
fn check(given: Option<f64>, low: f64, what: &str) -> Result<(), Failure> {
    match given.filter(|x| !(low..=1.0).contains(x)) {
        Some(x) => Err(Failure::Input(format!("{what}, and {x} does not"))),
        None => Ok(()),
    }
}

/// A threshold of a rate, written as in a policy.
fn gate(text: &str) -> Result<(f64, Direction), Failure> {
    let hint = "write `--gate '>= 0.95'` or `--gate '<= 5%'`";
    let refused = |what: String| Failure::Input(format!("{what}\n  hint: {hint}"));
    let threshold = Threshold::read(text, &Span::nowhere());
    let rule = threshold.and_then(|threshold| threshold.rule_in(Unit::Rate, Some(Direction::AtLeast), "the rate"));
    let rule = rule.map_err(|_| refused(format!("`--gate {text}` is no threshold of a rate")))?;
    match rule.comparison {
        Comparison::AtLeast | Comparison::Above => Ok((rule.value, Direction::AtLeast)),
        Comparison::AtMost | Comparison::Below => Ok((rule.value, Direction::AtMost)),
        Comparison::Equal => Err(refused(format!("`--gate {text}` asks for equality, which no interval shows"))),
    }
}
