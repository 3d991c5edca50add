//! Writes results: the same records in several forms.
//!
//! A [`Writer`] is to writing what a [`Format`](crate::Format) is to reading: a value in a list, one file each. What is
//! written reads back as the same samples; if a form cannot hold something, the writer returns a note.

mod csv;
mod every_eval_ever;
pub(crate) mod inspect;
mod native;
mod output_file;
#[cfg(feature = "parquet")]
mod parquet;
mod table_survey;

pub use output_file::OutputFile;
pub(crate) use output_file::store_error;

use crate::{RecordedRun, Remedy, printable};
use calipers_core::{Record, Results, SampleId, brief, one_line};
use std::collections::BTreeMap;
use std::fmt;

/// What is to be written.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// The samples, and what is known of the run. Its recorded scorers and reducers are those of the results.
    pub run: &'a RecordedRun,
    /// The computed results, with Inspect's placeholders. Only forms that hold figures read it.
    pub results: Option<&'a Results>,
}

/// A form in which results can be written.
pub trait Writer: Sync {
    /// The short name, the same as that of the reader.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// The file extensions that select this form by default.
    fn endings(&self) -> &'static [&'static str];

    /// True when the form holds figures, so that [`Contents::results`] should be there.
    fn needs_results(&self) -> bool {
        false
    }

    /// Writes everything, and returns notes on what could not be held.
    fn write(&self, contents: &Contents<'_>, out: &mut OutputFile) -> Result<Vec<String>, WriteError>;
}

/// All writers.
#[must_use]
pub fn writers() -> Vec<&'static dyn Writer> {
    vec![
        &native::NativeWriter,
        &csv::CsvWriter,
        #[cfg(feature = "parquet")]
        &parquet::ParquetWriter,
        &inspect::InspectWriter,
        &every_eval_ever::EveryEvalEverWriter,
    ]
}

/// The writer of this name, or the one for this file name.
pub fn writer(to: Option<&str>, path: &str) -> Result<&'static dyn Writer, WriteError> {
    let known = writers();
    if let Some(name) = to {
        let found = known.iter().find(|writer| writer.name() == name).copied();
        return found.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|writer| writer.name()).collect();
            WriteError::new(path, format!("nothing can be written as `{name}`"))
                .hint(format!("the forms are {}", names.join(", ")))
        });
    }
    if path == "-" {
        return Ok(&native::NativeWriter);
    }
    let name = path.to_lowercase();
    if cfg!(not(feature = "parquet")) && name.ends_with(".parquet") {
        return Err(WriteError::new(path, "Parquet is not written: this program was built without it")
            .hint("take a release, or build with the feature `parquet`, which is there by default"));
    }
    let found = known.iter().find(|writer| writer.endings().iter().any(|ending| name.ends_with(ending))).copied();
    found.ok_or_else(|| {
        let endings: Vec<&str> = known.iter().flat_map(|writer| writer.endings()).copied().collect();
        WriteError::new(path, "the extension of the file name does not select a form")
            .hint(format!("end it in {}, or name the form", endings.join(", ")))
            .with_remedy(Remedy::NameForm)
    })
}

/// A file that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError {
    what: String,
    target: String,
    hint: Option<String>,
    remedy: Option<Remedy>,
}

impl WriteError {
    /// An error with this file.
    pub fn new(target: impl Into<String>, what: impl Into<String>) -> Self {
        Self { what: what.into(), target: target.into(), hint: None, remedy: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// With a choice that would help, which the hint ends with.
    #[must_use]
    pub(crate) fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// The choice that the hint ends with, if it is one.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        self.remedy
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The file.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  writing {}", brief(&one_line(&self.what)), one_line(&self.target))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  hint: {}", brief(hint)))
    }
}

impl std::error::Error for WriteError {}

/// What a form could not hold, counted: a file of a million rows has one note, not a million.
#[derive(Debug, Default)]
struct LossCounts(BTreeMap<&'static str, (u64, String)>);

impl LossCounts {
    /// Counts a loss; the note names the first sample.
    fn add(&mut self, what: &'static str, id: &SampleId) {
        self.0.entry(what).or_insert_with(|| (0, id.to_string())).0 += 1;
    }

    fn notes(self) -> Vec<String> {
        let note = |(what, (times, first)): (&str, (u64, String))| match times {
            1 => format!("{what} (in sample `{}`)", printable(&first)),
            _ => format!("{what} ({times} times, first in sample `{}`)", printable(&first)),
        };
        self.0.into_iter().map(note).collect()
    }
}

/// A record must be readable again: readers refuse a sample without a name.
fn check_id(record: &Record, out: &OutputFile) -> Result<(), WriteError> {
    match &record.id {
        SampleId::Text(text) if text.trim().is_empty() => {
            let what = format!("the id of a sample is blank: `{text}`");
            Err(WriteError::new(out.name(), what).hint("give every sample a name; only logs of Inspect may lack it"))
        }
        _ => Ok(()),
    }
}
