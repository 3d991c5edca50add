//! The answers of a plan as sentences, and its table as cells.

use crate::numbers::{self, Scale, count, number, percent};
use crate::words::{columns_sentence, statistic_reason_sentence};
use calipers_compare::sizing::{
    GateNeed, Pairing, PilotRun, PlanBasis, PlanReport, SampleNeed, SizePoint, SizingMethod, Unplannable,
};
use calipers_core::stats::threshold_test::Direction;
use calipers_core::{Unit, pluralize};

/// What a plan says.
pub(crate) struct PlanWords<'a> {
    report: &'a PlanReport,
}

fn samples(n: u64) -> String {
    pluralize(count(n), "sample")
}

impl<'a> PlanWords<'a> {
    pub(crate) fn of(report: &'a PlanReport) -> Self {
        Self { report }
    }

    /// A width or a difference, as people say it: `2 points`.
    pub(crate) fn size(&self, x: f64) -> String {
        Scale::of(self.report.unit, x).of_differences().size(x)
    }

    fn rate(&self) -> Option<String> {
        self.report.question.spread.mean.map(|mean| Scale::of(self.report.unit, mean).text(mean))
    }

    /// ` with 3 attempts each`; nothing for one.
    fn each(&self) -> String {
        let attempts = self.report.question.attempts;
        if attempts > 1 { format!(" with {attempts} attempts each") } else { String::new() }
    }

    /// What is planned by, in one sentence.
    pub(crate) fn basis(&self) -> String {
        let question = &self.report.question;
        match &self.report.basis {
            PlanBasis::Run(pilot) => self.pilot(pilot),
            PlanBasis::Assumed => match (question.spread.is_share, self.rate()) {
                (true, Some(rate)) => format!("assumed: samples pass at a rate of {rate}"),
                _ => {
                    let sd = question.spread.variance(1).sqrt();
                    format!("assumed: scores have a standard deviation of {}", number(sd))
                }
            },
        }
    }

    fn pilot(&self, run: &PilotRun) -> String {
        let pilot = &run.pilot;
        let attempts = if pilot.attempts > 1.0 {
            format!(" with {} attempts each", number_of_attempts(pilot.attempts))
        } else {
            String::new()
        };
        let rate = self.rate().unwrap_or_default();
        let mut text = format!("from {}: {} {rate} over {}{attempts}", run.name, run.metric, samples(pilot.samples));
        if pilot.missing > 0 {
            let all = pilot.samples + pilot.missing;
            text += &format!("; {} of {} have no score", pilot.missing, samples(all));
        }
        if let Some(against) = &run.against {
            text += &format!(", paired with {against}");
        }
        if let Some(clusters) = pilot.clusters {
            text += &format!(
                ", in clusters of {} with a design effect of {}",
                number_of_attempts(clusters.size),
                number(clusters.design_effect)
            );
        }
        if !run.columns.is_empty() {
            text += &format!("; {}", columns_sentence(&run.columns));
        }
        text
    }

    /// The answers, one sentence each.
    pub(crate) fn answers(&self) -> Vec<String> {
        let sizing = &self.report.sizing;
        let mut answers = Vec::new();
        answers.extend(self.interval());
        answers.extend(sizing.gate.iter().flat_map(|gate| self.gate(gate)));
        answers.extend(self.difference());
        answers.extend(self.attempts());
        answers.extend(sizing.finished.as_ref().map(|point| self.describe_finished(point)));
        answers
    }

    fn interval(&self) -> Option<String> {
        let (half, needed) = (self.report.question.half_width?, self.report.sizing.interval.as_ref()?);
        let what = format!("±{} at {}", self.size(half), percent(self.report.question.level));
        Some(match &needed.samples {
            Ok(n) => format!("{what} need {}{}", samples(*n), self.each()),
            Err(why) => format!("{what}: {}", unplannable(why)),
        })
    }

    fn gate(&self, gate: &GateNeed) -> Vec<String> {
        let Some((threshold, direction)) = self.report.question.gate else { return Vec::new() };
        let (sign, none) = match direction {
            Direction::AtLeast => ("≥", "if all of them pass"),
            Direction::AtMost => ("≤", "if none of them counts"),
        };
        let what = format!("a gate of {sign} {}", Scale::Percent.exact(threshold));
        let level = percent(self.report.question.level);
        let perfect = match &gate.perfect {
            Ok(n) => format!("{what} with {level} confidence can pass with {} or more, {none}", samples(*n)),
            Err(why) => format!("{what} with {level} confidence: {}", unplannable(why)),
        };
        let rate = self.rate().unwrap_or_else(|| "an unknown rate".to_owned());
        let power = percent(self.report.question.power);
        let expected = match &gate.expected {
            Ok(size) => {
                let stable = size.stable.filter(|stable| *stable != size.first);
                let stable = stable.map_or_else(String::new, |n| format!(" ({} or more are always enough)", count(n)));
                format!("at a true rate of {rate} it needs {} to pass with {power} power{stable}", samples(size.first))
            }
            Err(why) => format!("at a true rate of {rate} it does not: {}", unplannable(why)),
        };
        vec![perfect, expected]
    }

    fn difference(&self) -> Vec<String> {
        let Some(delta) = self.report.question.difference else { return Vec::new() };
        let power = percent(self.report.question.power);
        let size = self.size(delta);
        let told = |needed: &SampleNeed, runs: &str, have: &str| match &needed.samples {
            Ok(n) => {
                let samples = samples(*n);
                format!("{runs} detect a difference of {size} with {power} power if {have} {samples}{}", self.each())
            }
            Err(why) => format!("to detect a difference of {size} with {runs}: {}", unplannable(why)),
        };
        let paired = self.report.sizing.paired.as_ref().filter(|_| self.report.question.pairing.is_some());
        let unpaired = self.report.sizing.unpaired.as_ref();
        let paired = paired.map(|needed| told(needed, "two runs on the same samples", "they have"));
        let unpaired = unpaired.map(|needed| told(needed, "two runs on different samples", "each run has"));
        paired.into_iter().chain(unpaired).collect()
    }

    fn attempts(&self) -> Option<String> {
        let worth = self.report.sizing.attempts.as_ref()?;
        Some(match &worth.optimal {
            Ok(best) => {
                let attempts = pluralize(best.whole, "attempt");
                let are = if best.whole == 1 { "is" } else { "are" };
                format!(
                    "for the mean of one run, {attempts} per sample {are} worth the price; beyond that, add samples"
                )
            }
            Err(why) => format!("it is not known how many attempts are worth their price: {}", unplannable(why)),
        })
    }

    fn describe_finished(&self, point: &SizePoint) -> String {
        let what = match &self.report.basis {
            PlanBasis::Run(run) if run.pilot.samples == point.samples => "this run of",
            _ => "a run of",
        };
        let mut parts = Vec::new();
        parts.extend(point.half_width.map(|half| format!("shows ±{}", self.size(half))));
        let power = percent(self.report.question.power);
        let found: Vec<String> = [
            (point.detectable_paired, "against a run on the same samples"),
            (point.detectable_unpaired, "against one on different samples"),
        ]
        .iter()
        .filter_map(|(size, how)| Some(format!("{} {how}", self.size((*size)?))))
        .collect();
        if !found.is_empty() {
            parts.push(format!("could have found, with {power} power, a difference of {}", found.join(" and ")));
        }
        let gate = point.attainable_gate.map(|gate| {
            let at_most = matches!(self.report.question.gate, Some((_, Direction::AtMost)));
            let sign = if at_most { "≤" } else { "≥" };
            format!("can pass no gate stricter than {sign} {}", Scale::Percent.text(gate))
        });
        parts.extend(gate);
        let (last, first) = match parts.split_last() {
            Some((last, [])) => (last.clone(), String::new()),
            Some((last, first)) => (last.clone(), format!("{}, and ", first.join(", "))),
            None => ("shows nothing".to_owned(), String::new()),
        };
        format!("{what} {}{} {first}{last}", samples(point.samples), self.each())
    }

    /// The columns of the table of sizes that have anything in them.
    pub(crate) fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let points = &self.report.sizing.table;
        let cell = |x: Option<f64>, sign: &str| x.map_or_else(String::new, |x| sign.to_owned() + &self.plain(x));
        let columns: [(&str, Vec<String>); 6] = [
            ("samples", points.iter().map(|point| count(point.samples)).collect()),
            ("interval", points.iter().map(|point| cell(point.half_width, "±")).collect()),
            ("paired", points.iter().map(|point| cell(point.detectable_paired, "")).collect()),
            ("unpaired", points.iter().map(|point| cell(point.detectable_unpaired, "")).collect()),
            ("power", points.iter().map(|point| point.power.map_or_else(String::new, numbers::power)).collect()),
            ("strictest gate", points.iter().map(|point| share(point.attainable_gate)).collect()),
        ];
        let used: Vec<&(&str, Vec<String>)> =
            columns.iter().filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect();
        let rows = (0..points.len()).map(|at| used.iter().map(|(_, cells)| cells[at].clone()).collect());
        (used.iter().map(|(head, _)| *head).collect(), rows.collect())
    }

    /// A width or a difference without its unit, which stands once above.
    fn plain(&self, x: f64) -> String {
        Scale::of(self.report.unit, x).of_differences().bare(x)
    }

    /// What the table shows.
    pub(crate) fn title(&self) -> String {
        let unit = match self.report.unit {
            Unit::Rate => " (points)",
            Unit::Milliseconds | Unit::Usd | Unit::Tokens | Unit::Ratio | Unit::Plain => "",
        };
        format!("intervals, and differences found with {} power{unit}", percent(self.report.question.power))
    }

    /// What is the same for every number of attempts.
    pub(crate) fn describe_held(&self) -> String {
        let question = &self.report.question;
        let is_paired = self.report.sizing.paired.as_ref().is_some_and(|needed| needed.samples.is_ok());
        match (is_paired, question.difference, question.half_width) {
            (true, Some(delta), _) => format!("to see a difference of {} in pairs", self.size(delta)),
            (_, _, Some(half)) => format!("for ±{}", self.size(half)),
            _ => String::new(),
        }
    }

    /// How each number was found, in parts.
    pub(crate) fn methods(&self) -> Vec<String> {
        let sizing = &self.report.sizing;
        let question = &self.report.question;
        let paired = sizing.paired.as_ref().filter(|_| question.pairing.is_some());
        let needed = [sizing.interval.as_ref(), paired, sizing.unpaired.as_ref()];
        let mut parts: Vec<String> =
            needed.into_iter().flatten().map(|needed| sizing_method(needed.method).to_owned()).collect();
        parts.extend(sizing.gate.as_ref().map(|_| "exact binomial gate".to_owned()));
        parts.extend(question.pairing.map(|pairing| match pairing {
            Pairing::Correlation(x) => format!("correlation {x}"),
            Pairing::Disagreement(x) => format!("disagreement {x}"),
            Pairing::Measured(_) => "differences as the two runs show them".to_owned(),
        }));
        parts.push(self.report.tool.clone());
        parts
    }
}

/// How a number of samples was found.
pub(crate) fn sizing_method(method: SizingMethod) -> &'static str {
    match method {
        SizingMethod::Blaker => "Blaker's interval at the assumed rate",
        SizingMethod::AdjustedT => "t interval of the mean with weight at both ends",
        SizingMethod::PairedNoncentralT => "noncentral t of paired differences",
        SizingMethod::McNemarExact => "McNemar's exact test of paired passes",
        SizingMethod::TwoShares => "two independent shares",
        SizingMethod::TwoMeans => "two independent means",
    }
}

/// Why a plan has no answer.
pub(crate) fn unplannable(why: &Unplannable) -> String {
    match why {
        Unplannable::NoNumberIsEnough => "no number of samples is enough".to_owned(),
        Unplannable::Statistic(reason) => statistic_reason_sentence(reason),
        Unplannable::NeedsRate => "needs the expected rate".to_owned(),
        Unplannable::NeedsPairing => "needs to know how similar the two runs are, such as their correlation".to_owned(),
        Unplannable::NeedsRepeats => {
            "needs a run with several attempts per sample, to know how much attempts vary".to_owned()
        }
        Unplannable::Correlation(x) => format!("a correlation of {x} does not exist"),
        Unplannable::Disagreement { share, difference } => {
            format!("runs that disagree on a share of {share} cannot differ by {difference}")
        }
    }
}

fn share(x: Option<f64>) -> String {
    x.map_or_else(String::new, |x| Scale::Percent.text(x))
}

/// A mean number of attempts or samples: whole where it is.
fn number_of_attempts(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x}") } else { number(x) }
}
