//! Scores as a metric of the caller's keeps them: column by column, until a row is looked at.

use crate::data::column::{Coded, Column};
use crate::data::samples::Metadata;
use crate::data::scores::Values;
use crate::{Points, SampleId, SampleScore, Score, Value};
use std::sync::Arc;

/// The scores that a metric is about, in the order of their samples' names.
#[derive(Clone, Debug, Default)]
pub struct ScoreRows {
    blocks: Vec<RowBlock>,
    /// The block of each row, and its place there.
    order: Vec<(u32, u32)>,
}

/// The rows of one shard.
#[derive(Clone, Debug)]
pub(crate) struct RowBlock {
    ids: Vec<SampleId>,
    epochs: Vec<u32>,
    scores: BlockScores,
    facts: BlockFacts,
}

#[derive(Clone, Debug)]
enum BlockScores {
    /// Plain values, and nothing beside them.
    Plain(Column),
    Whole(Vec<Score>),
}

#[derive(Clone, Debug)]
enum BlockFacts {
    /// By key, where most rows have most of them.
    Columns(Vec<(Arc<str>, Coded)>),
    Rows(Vec<Arc<Metadata>>),
}

impl RowBlock {
    /// The rows of points.
    pub(crate) fn of(points: &Points<'_>) -> Self {
        let scores = points.scores();
        Self {
            ids: points.sample_codes().iter().map(|&sample| points.samples().id(sample)).collect(),
            epochs: scores.epoch.to_vec(),
            scores: match points.values() {
                Values::Scalars(column) if !scores.has_extras() => BlockScores::Plain(column.clone()),
                _ => BlockScores::Whole((0..points.len()).map(|row| scores.score(row)).collect()),
            },
            facts: match points.fact_columns() {
                Some(columns) => BlockFacts::Columns(columns),
                None => BlockFacts::Rows(points.iter().map(|row| row.sample_metadata).collect()),
            },
        }
    }

    /// These rows, with their epochs.
    pub(crate) fn of_rows(rows: Vec<(SampleScore, u32)>) -> Self {
        let (mut ids, mut epochs, mut scores, mut facts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, epoch) in rows {
            ids.push(row.sample_id);
            epochs.push(epoch);
            scores.push(row.score);
            facts.push(row.sample_metadata);
        }
        Self { ids, epochs, scores: BlockScores::Whole(scores), facts: BlockFacts::Rows(facts) }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// All rows with their epochs, in the order of the shard.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SampleScore, u32)> + '_ {
        (0..self.len()).map(|row| {
            let sample_metadata = self.metadata(row);
            (
                SampleScore { score: self.score(row), sample_id: self.ids[row].clone(), sample_metadata },
                self.epochs[row],
            )
        })
    }

    fn score(&self, row: usize) -> Score {
        match &self.scores {
            BlockScores::Plain(column) => Score::new(column.get(row)),
            BlockScores::Whole(scores) => scores[row].clone(),
        }
    }

    fn metadata(&self, row: usize) -> Arc<Metadata> {
        match &self.facts {
            BlockFacts::Columns(_) => {
                Arc::new(Metadata::of(self.facts(row).map(|(key, value)| (key.clone(), value.clone()))))
            }
            BlockFacts::Rows(rows) => rows[row].clone(),
        }
    }

    fn facts(&self, row: usize) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        let (columns, rows) = match &self.facts {
            BlockFacts::Columns(columns) => (&columns[..], None),
            BlockFacts::Rows(rows) => (&[][..], Some(&rows[row])),
        };
        let by_column = columns.iter().filter_map(move |(key, column)| Some((key, column.value(row)?)));
        by_column.chain(rows.into_iter().flat_map(|facts| facts.iter()))
    }

    fn key(&self, row: u32) -> (&SampleId, u32) {
        (&self.ids[row as usize], self.epochs[row as usize])
    }
}

impl ScoreRows {
    /// The rows of all shards. Sums of floats depend on their order; the order of arrival must not.
    pub(crate) fn new(blocks: Vec<RowBlock>) -> Self {
        let places = |(block, at): (&RowBlock, u32)| (0..block.len() as u32).map(move |row| (at, row));
        let mut order: Vec<(u32, u32)> = blocks.iter().zip(0..).flat_map(places).collect();
        let key = |place: &(u32, u32)| blocks[place.0 as usize].key(place.1);
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        Self { blocks, order }
    }

    fn place(&self, row: usize) -> (&RowBlock, usize) {
        let (block, at) = self.order[row];
        (&self.blocks[block as usize], at as usize)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The sample of a row.
    #[must_use]
    pub fn sample_id(&self, row: usize) -> &SampleId {
        let (block, at) = self.place(row);
        &block.ids[at]
    }

    /// The score of a row.
    #[must_use]
    pub fn score(&self, row: usize) -> Score {
        let (block, at) = self.place(row);
        block.score(at)
    }

    /// What is known about the sample of a row.
    pub fn facts(&self, row: usize) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        let (block, at) = self.place(row);
        block.facts(at)
    }

    /// True when rows share the values that are known about their samples: a caller may keep what it makes of one.
    #[must_use]
    pub fn shares_facts(&self, row: usize) -> bool {
        matches!(self.place(row).0.facts, BlockFacts::Columns(_))
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = SampleScore> + '_ {
        (0..self.len()).map(|row| {
            let (block, at) = self.place(row);
            SampleScore {
                score: block.score(at),
                sample_id: block.ids[at].clone(),
                sample_metadata: block.metadata(at),
            }
        })
    }
}
