//! The formats, one file each.

mod adk;
mod agentv;
mod at;
mod csv;
mod deepeval;
mod harbor;
mod helm;
mod inspect;
mod junit;
mod lighteval;
mod lm_eval;
mod native;
mod openai_evals;
mod parquet;
mod promptfoo;
mod pydantic_evals;
mod tau2;
mod waza;

pub(crate) use csv::cell;
pub use inspect::InspectLog;
pub(crate) use inspect::{SampleText, sample_place, write_archive, write_document};
pub(crate) use native::{Role, embedded};

use crate::{ReadError, Run, Shape, Source};

/// A way in which results are written.
pub trait Format: Sync {
    /// The short name, for `--format`.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn about(&self) -> &'static str;

    /// True when content of this shape is in this format. Asked in the order of [`formats`], most particular first.
    fn recognises(&self, shape: &Shape) -> bool;

    /// Reads the runs in a source.
    fn read(&self, source: &Source) -> Result<Vec<Run>, ReadError>;
}

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
pub fn read(source: &Source, format: Option<&str>) -> Result<Vec<Run>, ReadError> {
    let known = formats();
    let chosen = match format {
        Some(name) => known.iter().find(|format| format.name() == name).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|format| format.name()).collect();
            source.error(format!("there is no format `{name}`")).hint(format!("the formats are {}", names.join(", ")))
        })?,
        None => {
            let shape = Shape::new(source.head()?, source.file_name());
            if shape.head.iter().all(u8::is_ascii_whitespace) {
                return Err(source.error("the file is empty").hint("rerun the evaluation that should have written it"));
            }
            known.iter().find(|format| format.recognises(&shape)).ok_or_else(|| {
                let hint = "see `calipers formats`, or force one with `--format`";
                source.error("the content is in no known format").hint(hint)
            })?
        }
    };
    let mut runs = chosen.read(source)?;
    for run in &mut runs {
        // A reader of tables may find that the columns are those of another format.
        if run.format.is_empty() {
            run.format = chosen.name();
        }
        if run.source.is_empty() {
            run.source.clone_from(&source.name);
        }
    }
    Ok(runs)
}
