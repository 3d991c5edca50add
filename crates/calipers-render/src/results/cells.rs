//! A figure as cells of a table.

use crate::numbers::number;
use crate::text::clean;
use crate::words::undefined_sentence;
use calipers_core::{Figure, RecordedResult, Results, RunReport, ScoreResult};

#[derive(Clone)]
/// What a table says about a figure: its number and where it lies, or in words why that cannot be said.
pub(super) struct Cells {
    pub(super) estimate: String,
    pub(super) interval: String,
    pub(super) n: String,
    pub(super) missing: String,
    /// Words in place of all or some of the cells.
    pub(super) words: String,
}

impl Cells {
    fn of(results: &Results, figure: &Figure) -> Self {
        let mut cells = Self {
            estimate: String::new(),
            interval: String::new(),
            n: figure.n.to_string(),
            missing: if figure.missing == 0 { String::new() } else { figure.missing.to_string() },
            words: String::new(),
        };
        match results.shown(figure) {
            Ok(value) => cells.estimate = number(value),
            Err(why) => cells.words = format!("undefined: {}", clean(&undefined_sentence(why))),
        }
        if !cells.words.is_empty() && figure.missing > 0 {
            cells.words += &format!("; {} missing", figure.missing);
        }
        let bound = |bound: Option<f64>| bound.map_or_else(|| "–".to_owned(), number);
        if let Some(interval) = figure.interval.filter(|_| cells.words.is_empty()) {
            cells.interval = format!("[{}, {}]", bound(interval.lower), bound(interval.upper));
        }
        cells
    }

    fn recorded_cells(recorded: &RecordedResult) -> Self {
        Self {
            estimate: recorded.value.map_or_else(|| "–".to_owned(), number),
            interval: String::new(),
            n: String::new(),
            missing: String::new(),
            words: "recorded, not recomputed".to_owned(),
        }
    }
}

/// Figures under one title.
pub(super) struct Block {
    pub(super) title: String,
    pub(super) figures: Vec<(String, Cells)>,
}

/// The figures of a run, computed and recorded, under their titles.
pub(super) fn blocks(run: &RunReport) -> Vec<Block> {
    let computed = |score: &ScoreResult| {
        let figures = score.metrics.iter().map(|(name, metric)| (clean(name), Cells::of(&run.results, &metric.figure)));
        Block { title: title(score), figures: figures.collect() }
    };
    let mut blocks: Vec<Block> = run.results.scores.iter().map(computed).collect();
    for recorded in &run.recorded {
        let of = |score: &ScoreResult| score.name == recorded.score && score.reducer == recorded.reducer;
        let place = run.results.scores.iter().position(of).unwrap_or_else(|| {
            // Nothing of this score could be computed.
            let title = recorded_title(recorded);
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
