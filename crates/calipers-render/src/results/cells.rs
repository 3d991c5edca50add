//! A figure as cells of a table.

use crate::numbers::{Scale, count, number};
use crate::text::{clean, shorten_apart};
use crate::words::undefined_sentence;
use calipers_core::{MetricResult, RecordedResult, Results, RunReport, ScoreResult, Unit};
use std::collections::HashMap;

/// What a table says about a figure: its number and where it lies, or in words why that cannot be said.
#[derive(Clone)]
pub(super) struct Cells {
    pub(super) estimate: String,
    pub(super) interval: String,
    pub(super) n: String,
    pub(super) missing: String,
    /// Words in place of all or some of the cells.
    pub(super) words: String,
}

impl Cells {
    fn of(results: &Results, metric: &MetricResult) -> Self {
        let figure = &metric.figure;
        let mut cells = Self {
            estimate: String::new(),
            interval: String::new(),
            n: count(figure.n),
            missing: if figure.missing == 0 { String::new() } else { count(figure.missing) },
            words: String::new(),
        };
        match results.shown(figure) {
            Ok(value) => {
                let scale = figure_scale(metric.unit, value);
                cells.estimate = scale.text(value);
                cells.interval =
                    figure.interval.map_or_else(String::new, |interval| scale.interval(interval.lower, interval.upper));
            }
            Err(why) => cells.words = format!("undefined: {}", clean(&undefined_sentence(why))),
        }
        if !cells.words.is_empty() && figure.missing > 0 {
            cells.words += &format!("; {} missing", count(figure.missing));
        }
        cells
    }

    fn recorded_cells(recorded: &RecordedResult) -> Self {
        let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), number);
        let n = recorded.n.map(count).unwrap_or_default();
        let interval = recorded
            .interval
            .map(|interval| format!("[{}, {}]", bound(interval.lower), bound(interval.upper)))
            .unwrap_or_default();
        // The title of a block with intervals says where they come from.
        let words = match (&recorded.interval, &*n) {
            (Some(_), _) => String::new(),
            (None, "") => "recorded, not recomputed".to_owned(),
            (None, n) => format!("recorded, not recomputed; n {n}"),
        };
        Self {
            estimate: recorded.value.map_or_else(|| "–".to_owned(), number),
            interval,
            n,
            missing: String::new(),
            words,
        }
    }
}

/// What follows the title of figures whose intervals come from recorded errors.
pub(super) const FROM_RECORDED_ERROR: &str = ", as recorded; interval from the recorded standard error";

/// Figures under one title.
pub(super) struct Block {
    pub(super) title: String,
    pub(super) figures: Vec<(String, Cells)>,
}

/// The figures of a run, computed and recorded, under their titles.
pub(super) fn blocks(run: &RunReport) -> Vec<Block> {
    let computed = |score: &ScoreResult| {
        let figures = figure_names(score).into_iter().zip(score.metrics.values());
        let figures = figures.map(|(name, metric)| (name, Cells::of(&run.results, metric)));
        Block { title: title(score), figures: figures.collect() }
    };
    let mut blocks: Vec<Block> = run.results.scores.iter().map(computed).collect();
    let has_interval = |score: &str| run.recorded.iter().any(|one| one.score == score && one.interval.is_some());
    for recorded in &run.recorded {
        let of = |score: &ScoreResult| score.name == recorded.score && score.reducer == recorded.reducer;
        let place = run.results.scores.iter().position(of).unwrap_or_else(|| {
            // Nothing of this score could be computed.
            let mut title = recorded_title(recorded);
            if has_interval(&recorded.score) {
                title += FROM_RECORDED_ERROR;
            }
            let known = blocks.iter().position(|block| block.title == title);
            known.unwrap_or_else(|| {
                blocks.push(Block { title, figures: Vec::new() });
                blocks.len() - 1
            })
        });
        blocks[place].figures.push((clean(&recorded.metric), Cells::recorded_cells(recorded)));
    }
    blocks
}

/// Scores are numbers as the scorer gives them, shares among them; measurements have their unit.
pub(crate) fn figure_scale(unit: Unit, value: f64) -> Scale {
    if unit == Unit::Rate { Scale::Number } else { Scale::of(unit, value) }
}

/// As much of a name as is shown. Whole names are in the JSON.
const NAME_MAX: usize = 160;

/// The names of a score's figures. Two of one name are told apart by their parameters, such as `pass_rate(threshold=0.5)`.
pub(crate) fn figure_names(score: &ScoreResult) -> Vec<String> {
    let mut alike: HashMap<(&str, Option<&str>), Vec<&MetricResult>> = HashMap::new();
    for metric in score.metrics.values() {
        alike.entry((&metric.name, metric.group.as_deref())).or_default().push(metric);
    }
    let name = |(key, metric): (&String, &MetricResult)| {
        let alike = &alike[&(&*metric.name, metric.group.as_deref())];
        let is_told = alike.len() > 1 && alike.iter().filter(|other| other.params == metric.params).count() == 1;
        if !is_told {
            return clean(key);
        }
        let params: Vec<String> = metric.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let call =
            |name: &str| if params.is_empty() { name.to_owned() } else { format!("{name}({})", params.join(", ")) };
        clean(&match &metric.group {
            Some(group) => format!("{} of {}", metric.name, call(group)),
            None => call(&metric.name),
        })
    };
    shorten_apart(&score.metrics.iter().map(name).collect::<Vec<_>>(), NAME_MAX)
}

fn recorded_title(recorded: &RecordedResult) -> String {
    let reducer = recorded.reducer.as_ref().map(|reducer| format!(", reduced by {}", clean(reducer)));
    clean(&recorded.score) + &reducer.unwrap_or_default()
}

/// What a score is called above its figures.
pub(crate) fn title(score: &ScoreResult) -> String {
    let mut title = clean(&score.name);
    if let Some(scorer) = score.scorer.as_ref().filter(|scorer| ***scorer != *score.name) {
        title += &format!(" of {}", clean(scorer));
    }
    if let Some(reducer) = &score.reducer {
        title += &format!(", reduced by {}", clean(reducer));
    }
    title
}
