//! The formats, one file each.

mod adk;
mod agentv;
mod alpaca_eval;
mod any_table;
#[cfg(feature = "parquet")]
mod arrow_quick;
#[cfg(feature = "parquet")]
mod arrow_rows;
#[cfg(feature = "parquet")]
mod arrow_stream;
#[cfg(not(feature = "parquet"))]
#[path = "no_arrow_stream.rs"]
mod arrow_stream;
#[cfg(feature = "parquet")]
mod arrow_table;
mod attempt_texts;
mod bfcl;
mod bigcode;
pub(crate) mod csv;
mod csv_cells;
mod csv_columns;
mod csv_fast;
mod deepeval;
mod every_eval_ever;
mod fact_path;
mod factors;
mod harbor;
mod helm;
pub(crate) mod inspect;
mod json_layouts;
mod junit;
mod late_facts;
mod later_records;
mod lighteval;
#[cfg(feature = "parquet")]
mod lighteval_details;
mod line_blocks;
mod lm_eval;
mod native;
mod native_fast;
mod numbered_rows;
mod openai_evals;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
pub(crate) mod parquet;
#[cfg(feature = "parquet")]
mod parquet_columns;
#[cfg(feature = "parquet")]
mod parquet_pages;
mod placed_value;
mod projection;
mod promptfoo;
mod promptfoo_table;
mod pydantic_evals;
mod record_tree;
mod recorded_errors;
mod recorded_run;
mod row_places;
mod run_columns;
mod run_part;
mod run_tags;
mod score_labels;
mod summary_record;
mod swe_bench;
mod tau2;
mod unlike_records;
mod waza;

pub use any_table::explain_unmeasured;
pub use attempt_texts::{AttemptDetail, AttemptTexts, read_attempt_detail, read_texts};
pub(crate) use csv::cell;
pub use inspect::InspectLog;
pub use inspect::{CONTENT, sample_place};
pub(crate) use inspect::{SampleText, write_archive, write_document};
pub(crate) use native::{ColumnRole, facts as native_facts, parse_embedded, says_no_error};
pub use projection::Projection;
pub use recorded_run::{RecordedFigure, RecordedMetric, RecordedResults, RecordedRun, RecordedScorer};

use crate::columns::{known_names, quote};
use crate::error::printable;
use crate::source::foreign_file;
use crate::{ReadError, Remedy, Shape, Source};
use calipers_core::{Samples, Shards, pluralize};

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

    /// Streams the shards of a single table, so that none has to be kept. Returns nothing if streaming is unsupported or
    /// was stopped; the table is then read in another way, which also explains what is wrong with it.
    fn stream(&self, _source: &Source, _wanted: &Projection, _sink: &ShardSink<'_>) -> Option<StreamedTable> {
        None
    }
}

/// What is known of a table whose shards were streamed.
#[derive(Clone, Debug, Default)]
pub struct StreamedTable {
    /// What was read as what, as in [`RecordedRun`].
    pub columns: Vec<(String, String)>,
    /// What to know about it, as in [`RecordedRun`].
    pub notes: Vec<String>,
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
        &run_part::RunPart,
        &promptfoo::Promptfoo,
        &deepeval::DeepEval,
        &every_eval_ever::EveryEvalEver,
        &swe_bench::SweBench,
        &bfcl::Bfcl,
        &bigcode::Bigcode,
        &lm_eval::LmEval,
        &openai_evals::OpenAiEvals,
        &pydantic_evals::PydanticEvals,
        &waza::Waza,
        &agentv::Agentv,
        &parquet::Parquet,
        &arrow_stream::ArrowStream,
        &lighteval::Lighteval,
        &helm::Helm,
        &alpaca_eval::AlpacaEval,
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
    let mut runs = name_runs(format.read(source)?, source, format)?;
    source.check_arrived()?;
    for run in &mut runs {
        let samples = std::mem::take(&mut run.samples);
        note_repeats(&mut run.notes, samples.deliveries() - samples.attempts());
        run.samples = put_together(source, samples)?;
    }
    Ok(runs)
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
    let mut runs = name_runs(format.read_shards(source, wanted)?, source, format)?;
    source.check_arrived()?;
    let has_repeats = |run: &RecordedRun<Shards>| run.samples.iter().any(Samples::has_repeats);
    if runs.iter().any(has_repeats) {
        // Two deliveries that differ only in a column that was not asked for are still two.
        if *wanted != Projection::everything() {
            runs = name_runs(format.read_shards(source, &Projection::everything())?, source, format)?;
            source.check_arrived()?;
        }
        for run in &mut runs {
            let deliveries: usize = run.samples.iter().map(Samples::deliveries).sum();
            note_repeats(&mut run.notes, deliveries - run.samples.attempts());
            let parts = std::mem::take(&mut run.samples).into_iter().map(|part| put_together(source, part));
            run.samples = Shards::new(parts.collect::<Result<Vec<_>, _>>()?);
        }
    }
    Ok(runs)
}

/// Says how many records were delivered again, if that is not said yet.
pub(crate) fn note_repeats(notes: &mut Vec<String>, repeats: usize) {
    let note = format!("{} read twice: each attempt counts once", pluralize(repeats, "record"));
    if repeats > 0 && !notes.contains(&note) {
        notes.push(note);
    }
}

/// The samples with each attempt in one row. Fails if two deliveries of one attempt do not agree: either could be right.
fn put_together(source: &Source, samples: Samples) -> Result<Samples, ReadError> {
    match samples.contradiction() {
        None => Ok(samples.put_together()),
        Some((id, epoch, difference)) => {
            let difference = difference.map_places(|row| format!("record {}", row + 1));
            Err(ReadError::about_samples(&source.name, &difference.to_error(&id, epoch)))
        }
    }
}

/// The format of this name, or the one that recognises the content.
///
/// Where something is said about the columns of a file, it is a table, whatever tool its content looks like; but where that
/// is said [for tables only](crate::Columns::for_tables), the log of a tool stays one.
pub fn choose(source: &Source, format: Option<&str>) -> Result<&'static dyn Format, ReadError> {
    #[cfg(feature = "parquet")]
    if let Some(table) = source.as_table() {
        return match format {
            None if table.rows() == 0 => {
                Err(source.error("the table has no rows").hint("check what the table was made from"))
            }
            None => Ok(&arrow_table::ArrowTable),
            Some(name) => {
                let what = format!("a table in memory is not in the format `{name}`");
                Err(source.error(what).hint("leave out the format"))
            }
        };
    }
    let known = formats();
    let is_said = source.columns().is_about_content();
    if let Some(name) = format {
        let found = known.iter().find(|format| format.name() == name).copied().ok_or_else(|| {
            source.error(format!("there is no format `{name}`")).hint(format!("the formats are {}", format_names()))
        })?;
        if is_said && !is_table(found) && !source.columns().is_for_tables() {
            let what = format!("the columns of a file in the format `{name}` are known, and cannot be named");
            return Err(source.error(what).hint("leave out the format to read it as a table, or the columns"));
        }
        return Ok(found);
    }
    let shape = Shape::new(source.head()?, source.file_name());
    if shape.head.iter().all(u8::is_ascii_whitespace) {
        return Err(source.error("the file is empty").hint("rerun the evaluation that should have written it"));
    }
    if let Some(file) = foreign_file(&shape) {
        return Err(source.error(format!("the file is {}, which is not read", file.what)).hint(file.hint));
    }
    let recognised = known.iter().find(|format| format.recognises(&shape)).copied();
    let table = any_table::table_format(&shape);
    match recognised {
        Some(format) if !is_said || source.columns().is_for_tables() && !is_table(format) => return Ok(format),
        _ => {}
    }
    match table {
        Some(table) if is_said => Ok(table),
        Some(table) => any_table::check_known(source, table).map(|()| table),
        None if is_said && csv::only_column(&shape.head).is_some() => Ok(&csv::Csv),
        None if is_said => {
            let what = "the content is not a table, so its columns cannot be named";
            Err(source.error(what).hint("JSON, JSON Lines, CSV and Parquet are tables"))
        }
        None => {
            if let Some(line) = csv::line_of_table_below(&shape.head) {
                return Err(any_table::header_below(source, line));
            }
            if let Some(name) = csv::only_column(&shape.head) {
                let is_known = known_names::is_measure(&name);
                let score = if is_known { String::new() } else { format!(",score={}", quote(&name)) };
                let what = format!("the table has one column, `{}`, and nothing names the samples", printable(&name));
                let error = source.error(what).hint("if each line is a sample, say so");
                return Err(error.with_proposal(format!("id=@line{score}")));
            }
            if let Some(hint) = csv::hint_on_text(&shape.head, &source.name) {
                return Err(source.error("the format of the content is unknown").hint(hint));
            }
            let is_text = std::str::from_utf8(&shape.head).is_ok() && !shape.head.contains(&0);
            let cells = "in a table, commas, semicolons, tabs or bars are between the cells; ";
            let cells = if is_text { cells } else { "" };
            let hint = format!("{cells}the formats are {}; choose one", format_names());
            Err(source.error("the format of the content is unknown").hint(hint).with_remedy(Remedy::NameFormat))
        }
    }
}

/// True for the formats whose columns can be named.
fn is_table(format: &dyn Format) -> bool {
    matches!(format.name(), "native" | "csv" | "parquet" | "arrow")
}

/// The name of a format as it stands in runs, if there is one of this name.
pub(crate) fn known_name(name: &str) -> Option<&'static str> {
    formats().iter().map(|format| format.name()).chain([""]).find(|known| *known == name)
}

fn format_names() -> String {
    let names: Vec<&str> = formats().iter().map(|format| format.name()).collect();
    names.join(", ")
}

fn name_runs<S>(
    mut runs: Vec<RecordedRun<S>>,
    source: &Source,
    format: &'static dyn Format,
) -> Result<Vec<RecordedRun<S>>, ReadError> {
    let run_of_path = source.columns().run_of_path().map(|column| any_table::part_of_path(source, column));
    for run in &mut runs {
        // A reader of tables may find that the columns are those of another format.
        if run.format.is_empty() {
            run.format = format.name();
        }
        if run.source.is_empty() {
            run.source.clone_from(&source.name);
        }
        match run_of_path {
            Some(Some(name)) => run.name = Some(name.to_owned()),
            Some(None) => {
                let written = source.columns().run_pair().map(|pair| pair.path.to_string()).unwrap_or_default();
                return Err(any_table::no_part(source, &written));
            }
            None => {}
        }
    }
    Ok(runs)
}
