//! The formats, one file each.

mod adk;
mod agentv;
mod attempt_texts;
pub(crate) mod csv;
mod deepeval;
mod harbor;
mod helm;
pub(crate) mod inspect;
mod junit;
mod lighteval;
mod line_blocks;
mod lm_eval;
mod native;
mod native_fast;
mod openai_evals;
pub(crate) mod parquet;
mod parquet_columns;
mod placed_value;
mod projection;
mod promptfoo;
mod pydantic_evals;
mod recorded_run;
mod tau2;
mod waza;

pub use attempt_texts::{AttemptTexts, read_texts};
pub(crate) use csv::cell;
pub use inspect::InspectLog;
pub use inspect::sample_place;
pub(crate) use inspect::{SampleText, write_archive, write_document};
pub(crate) use native::{ColumnRole, facts as native_facts, parse_embedded};
pub use projection::Projection;
pub use recorded_run::{RecordedFigure, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer};

use crate::{ReadError, Remedy, Shape, Source};
use calipers_core::{Samples, Shards};

/// A format of results files.
pub trait Format: Sync {
    /// The short name by which a user selects the format.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// True when content of this shape is in this format. Formats are asked in the order of [`formats`], most specific
    /// first.
    fn recognises(&self, shape: &Shape) -> bool;

    /// Reads the runs in a source.
    fn read(&self, source: &Source) -> Result<Vec<RecordedRun>, ReadError>;

    /// Reads the runs as shards that can be folded in parallel, and skips unneeded columns where the format allows it.
    /// Logs that record their own metrics keep what those need.
    fn read_shards(&self, source: &Source, _wanted: &Projection) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
        Ok(self.read(source)?.into_iter().map(|run| run.map_samples(Shards::from)).collect())
    }

    /// True when [`stream`](Self::stream) may succeed.
    fn can_stream(&self) -> bool {
        false
    }

    /// Streams the shards of a single table, so that none has to be kept. Returns false if streaming is unsupported or
    /// was stopped; the table is then read in another way, which also explains what is wrong with it.
    fn stream(&self, _source: &Source, _wanted: &Projection, _sink: &ShardSink<'_>) -> bool {
        false
    }
}

/// Receives the shards of a table as they are read: the part of the table that a shard belongs to, and its samples. The
/// shards of one part arrive in order; other parts arrive concurrently, from other threads. Returning false stops the
/// reading.
pub type ShardSink<'s> = dyn Fn(usize, Samples) -> bool + Sync + 's;

/// All formats, in the order in which they are asked.
#[must_use]
pub fn formats() -> Vec<&'static dyn Format> {
    vec![
        &inspect::Inspect,
        &promptfoo::Promptfoo,
        &deepeval::DeepEval,
        &lm_eval::LmEval,
        &openai_evals::OpenAiEvals,
        &pydantic_evals::PydanticEvals,
        &waza::Waza,
        &agentv::Agentv,
        &parquet::Parquet,
        &lighteval::Lighteval,
        &helm::Helm,
        &tau2::Tau2,
        &harbor::Harbor,
        &adk::Adk,
        &junit::Junit,
        &csv::Csv,
        &native::Native,
    ]
}

/// Reads a source in the format of this name, or in the one that recognises its content.
pub fn read(source: &Source, format: Option<&str>) -> Result<Vec<RecordedRun>, ReadError> {
    let format = choose(source, format)?;
    Ok(name_runs(format.read(source)?, source, format))
}

/// Reads a source as shards, without unneeded columns: the fast way from a large table to its metrics.
pub fn read_shards(
    source: &Source,
    format: Option<&str>,
    wanted: &Projection,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    read_as(source, choose(source, format)?, wanted)
}

/// The same in a format that is known already.
pub fn read_as(
    source: &Source,
    format: &'static dyn Format,
    wanted: &Projection,
) -> Result<Vec<RecordedRun<Shards>>, ReadError> {
    Ok(name_runs(format.read_shards(source, wanted)?, source, format))
}

/// The format of this name, or the one that recognises the content.
pub fn choose(source: &Source, format: Option<&str>) -> Result<&'static dyn Format, ReadError> {
    let known = formats();
    if let Some(name) = format {
        return known.iter().find(|format| format.name() == name).copied().ok_or_else(|| {
            source.error(format!("there is no format `{name}`")).hint(format!("the formats are {}", format_names()))
        });
    }
    let shape = Shape::new(source.head()?, source.file_name());
    if shape.head.iter().all(u8::is_ascii_whitespace) {
        return Err(source.error("the file is empty").hint("rerun the evaluation that should have written it"));
    }
    known.iter().find(|format| format.recognises(&shape)).copied().ok_or_else(|| {
        let hint = format!("the formats are {}; choose one", format_names());
        source.error("the format of the content is unknown").hint(hint).with_remedy(Remedy::NameFormat)
    })
}

fn format_names() -> String {
    let names: Vec<&str> = formats().iter().map(|format| format.name()).collect();
    names.join(", ")
}

fn name_runs<S>(mut runs: Vec<RecordedRun<S>>, source: &Source, format: &'static dyn Format) -> Vec<RecordedRun<S>> {
    for run in &mut runs {
        // A reader of tables may find that the columns are those of another format.
        if run.format.is_empty() {
            run.format = format.name();
        }
        if run.source.is_empty() {
            run.source.clone_from(&source.name);
        }
    }
    runs
}
