//! The words of a report about a judge, for every form.

use crate::numbers::{Scale, count, number, percent};
use crate::text::join_names;
use crate::words::undefined_sentence;
use calipers_compare::labelled::{Halving, JudgeReport, JudgedGroup, LabelPlace};
use calipers_core::{Figure, Unit, pluralize};

/// A line of a table: a name, a number, its interval, and how much it rests on.
pub(crate) struct FigureRow {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) interval: String,
    pub(crate) n: u64,
}

/// Labels that are named before the rest is counted.
const NAMES_MAX: usize = 5;

/// How much of the run was labelled.
pub(crate) fn coverage(report: &JudgeReport) -> String {
    let counts = &report.counts;
    let raters = match counts.ratings > counts.labelled_attempts {
        true => format!(" ({})", pluralize(count(counts.ratings), "rating")),
        false => String::new(),
    };
    format!("{} of {} scored samples have a label{raters}", count(counts.labelled), count(counts.samples))
}

/// What the judge is, and of what.
pub(crate) fn heading(report: &JudgeReport) -> String {
    let scorer = report.scorer.as_ref().map_or_else(String::new, |scorer| format!("{scorer} · "));
    let threshold = report.pass_threshold.map_or_else(String::new, |x| format!(" · passed from {} on", number(x)));
    format!("{scorer}{} · labels: {}{threshold}", report.run, report.labels)
}

fn scale_of(report: &JudgeReport) -> Scale {
    if report.unit == Unit::Rate { Scale::Percent } else { Scale::Number }
}

fn row(name: &'static str, figure: &Figure, scale: Scale) -> FigureRow {
    FigureRow {
        name,
        value: match &figure.value {
            Ok(value) => scale.text(*value),
            Err(why) => format!("undefined: {}", undefined_sentence(why)),
        },
        interval: figure.interval.map_or_else(String::new, |found| scale.interval(found.lower, found.upper)),
        n: figure.n,
    }
}

/// The rate as the judge gives it, corrected, and checked.
pub(crate) fn rates(report: &JudgeReport) -> Vec<FigureRow> {
    let scale = scale_of(report);
    let mut rows =
        vec![row("the judge says", &report.all.naive, scale), row("corrected", &report.all.corrected, scale)];
    rows.extend(report.rogan_gladen.as_ref().map(|figure| row("check: Rogan-Gladen", figure, scale)));
    rows
}

/// How judge and people agree.
pub(crate) fn agreement(group: &JudgedGroup, report: &JudgeReport) -> Vec<FigureRow> {
    let differences = scale_of(report).of_differences();
    let bias = &group.bias;
    let bias = FigureRow {
        value: bias.value.as_ref().map_or_else(|_| row("", bias, differences).value, |x| differences.change(*x)),
        interval: bias.interval.map_or_else(String::new, |found| differences.changes(found.lower, found.upper)),
        ..row("bias: judge - people", bias, differences)
    };
    let shown = [
        group.agreement.as_ref().map(|figure| row("agreement", figure, Scale::Percent)),
        group.kappa.as_ref().map(|figure| row("Cohen's kappa", figure, Scale::Number)),
        Some(row("Krippendorff's alpha", &group.alpha, Scale::Number)),
        group.sensitivity.as_ref().map(|figure| row("sensitivity", figure, Scale::Percent)),
        group.specificity.as_ref().map(|figure| row("specificity", figure, Scale::Percent)),
        Some(bias),
        report.people.as_ref().map(|figure| row("alpha among people", figure, Scale::Number)),
    ];
    shown.into_iter().flatten().collect()
}

/// A line per group.
pub(crate) fn group_cells(name: &str, group: &JudgedGroup, report: &JudgeReport) -> [String; 6] {
    let cell = |figure: Option<&Figure>, scale: Scale| match figure {
        Some(figure) => match &figure.value {
            Ok(value) => scale.text(*value),
            Err(_) => "–".to_owned(),
        },
        None => String::new(),
    };
    let scale = scale_of(report);
    let corrected = row("", &group.corrected, scale);
    [
        name.to_owned(),
        format!("{}/{}", count(group.labelled), count(group.samples)),
        cell(Some(group.kappa.as_ref().unwrap_or(&group.alpha)), Scale::Number),
        cell(Some(&group.naive), scale),
        cell(Some(&group.corrected), scale),
        corrected.interval,
    ]
}

/// The heads of these lines.
pub(crate) fn group_heads(report: &JudgeReport) -> [String; 6] {
    let agreement = if report.unit == Unit::Rate { "kappa" } else { "alpha" };
    [
        report.by.clone().unwrap_or_default(),
        "labels".to_owned(),
        agreement.to_owned(),
        "judge".to_owned(),
        "corrected".to_owned(),
        interval_head(report),
    ]
}

pub(crate) fn interval_head(report: &JudgeReport) -> String {
    format!("{} interval", percent(report.level))
}

/// What would make the corrected rate more certain.
pub(crate) fn halving(report: &JudgeReport) -> Option<String> {
    match report.halving {
        Halving::Labels(1) => Some("1 more label, of a random sample, would halve its interval".to_owned()),
        Halving::Labels(more) => {
            Some(format!("{} more labels, of random samples, would halve its interval", count(more)))
        }
        Halving::Samples => Some("more labels alone do not halve its interval: it takes more samples".to_owned()),
        Halving::NoInterval => None,
    }
}

/// What all of it rests on.
pub(crate) const ASSUMPTION: &str = "The labelled samples must be a random choice of the run's samples. \
     `corrected` is what people would say if they had labelled everything.";

/// How the corrected rate was found.
pub(crate) fn method(report: &JudgeReport) -> String {
    match &*report.all.corrected.method {
        "double-sampling" => "corrected by PPI++ of 0/1 scores: labels weighted by the judge's verdict".to_owned(),
        method => format!("corrected by {method}"),
    }
}

/// What was not joined, a sentence each.
pub(crate) fn describe_unjoined(report: &JudgeReport) -> Vec<String> {
    let counts = &report.counts;
    let named = |what: &str, places: &[LabelPlace]| {
        let names: Vec<String> = places.iter().take(NAMES_MAX).map(place).collect();
        let more = places.len().saturating_sub(NAMES_MAX);
        let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
        (!places.is_empty()).then(|| format!("{} {what}: {}{more}", count(places.len() as u64), join_names(&names)))
    };
    let counted = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", count(n)));
    [
        named("labelled, but not in the run", &counts.unknown),
        named("labelled, but not scored by the judge", &counts.unjudged),
        counted(counts.tied, "without a label, because people are evenly split"),
        counted(counts.blank, "left blank in the labels"),
        counted(counts.doubled, "in the labels twice, and counted once"),
        counted(counts.unscored, "scored by neither the judge nor people"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn place(place: &LabelPlace) -> String {
    match place.epoch {
        Some(epoch) => format!("{} (attempt {epoch})", place.id),
        None => place.id.to_string(),
    }
}
