//! What a task asks: samples, and where they come from.

use crate::{Error, Message, Metadata, Role, SampleId, Value};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// What a sample says to the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A question.
    Text(Arc<str>),
    /// A conversation so far.
    Messages(Vec<Message>),
}

impl Input {
    /// The question: the text, or what the user said last.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Messages(messages) => {
                let last = messages.iter().rev().find(|message| message.role == Role::User);
                last.map_or("", |message| &message.content)
            }
        }
    }

    /// The conversation that a task starts with.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        match self {
            Self::Text(text) => vec![Message::user(text.clone())],
            Self::Messages(messages) => messages.clone(),
        }
    }
}

/// The right answers, of which any is accepted; for multiple choice, the right letters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target(pub Vec<Arc<str>>);

impl Target {
    /// All of them as one text.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.concat()
    }
}

/// One question of a dataset.
///
/// ```
/// use calipers_core::TaskSample;
///
/// let sample = TaskSample::new("Name three primary colors.").target("red green blue").metadata("category", "art");
/// assert_eq!(sample.target.text(), "red green blue");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSample {
    /// Its id; a dataset without ids counts from 1.
    pub id: Option<SampleId>,
    /// What is asked.
    pub input: Input,
    /// The answers to choose from.
    pub choices: Vec<Arc<str>>,
    /// The right answers.
    pub target: Target,
    /// Anything else that is known about it. A scenario has its category, capability and behaviours here.
    pub metadata: Metadata,
}

impl TaskSample {
    /// A question.
    #[must_use]
    pub fn new(input: impl Into<Arc<str>>) -> Self {
        Self {
            id: None,
            input: Input::Text(input.into()),
            choices: Vec::new(),
            target: Target::default(),
            metadata: Metadata::default(),
        }
    }

    /// With an id.
    #[must_use]
    pub fn id(mut self, id: impl Into<SampleId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// With a right answer, in addition to those that it has.
    #[must_use]
    pub fn target(mut self, target: impl Into<Arc<str>>) -> Self {
        self.target.0.push(target.into());
        self
    }

    /// With answers to choose from.
    #[must_use]
    pub fn choices<C: Into<Arc<str>>>(mut self, choices: impl IntoIterator<Item = C>) -> Self {
        self.choices = choices.into_iter().map(Into::into).collect();
        self
    }

    /// With metadata.
    #[must_use]
    pub fn metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.set(key, value.into());
        self
    }
}

/// Which columns of a file are the parts of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleFields {
    /// The column of the question.
    pub input: String,
    /// The column of the right answer, or of a list of them.
    pub target: String,
    /// The column of the answers to choose from.
    pub choices: String,
    /// The column of the ids.
    pub id: String,
    /// The columns that become metadata; `None` stands for a column `metadata` with a map.
    pub metadata: Option<Vec<String>>,
}

impl Default for SampleFields {
    fn default() -> Self {
        Self {
            input: "input".into(),
            target: "target".into(),
            choices: "choices".into(),
            id: "id".into(),
            metadata: None,
        }
    }
}

/// Makes samples from a record, which is a map.
type MakeSamples = dyn Fn(&Value) -> Result<Vec<TaskSample>, Error> + Send + Sync;

/// A function that makes samples from each record of a file, where naming columns is not enough.
#[derive(Clone)]
pub struct RecordMapping(Arc<MakeSamples>);

impl RecordMapping {
    /// Samples by this function: one, several or none per record.
    pub fn new(make: impl Fn(&Value) -> Result<Vec<TaskSample>, Error> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// The samples of a record.
    pub fn samples(&self, record: &Value) -> Result<Vec<TaskSample>, Error> {
        (self.0)(record)
    }
}

impl fmt::Debug for RecordMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mapping")
    }
}

/// A function equals only itself.
impl PartialEq for RecordMapping {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a file of samples is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Comma-separated values with a header.
    Csv,
    /// A list of objects, or one object per line.
    Json,
    /// A Parquet table.
    Parquet,
    /// Scenarios: objects with behaviours that are expected or must not be seen.
    Scenarios,
}

/// A file of samples, which is named in a task and read when the task runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FileDataset {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// Which columns mean what.
    pub fields: SampleFields,
    /// Makes samples from its records, in place of `fields`.
    pub mapping: Option<RecordMapping>,
    /// True to number samples from 1, even if they have ids.
    pub auto_id: bool,
    /// The delimiter of CSV.
    pub delimiter: char,
}

impl FileDataset {
    /// A file with the usual columns.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, kind: FileKind) -> Self {
        Self { path: path.into(), kind, fields: SampleFields::default(), mapping: None, auto_id: false, delimiter: ',' }
    }
}

/// Where samples come from.
#[derive(Clone, Debug, PartialEq)]
pub enum DatasetOrigin {
    /// They are here.
    Samples(Vec<TaskSample>),
    /// They are in a file.
    File(FileDataset),
}

/// Samples, and how they are prepared before a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// What logs call it.
    pub name: Option<String>,
    /// Where the samples come from.
    pub origin: DatasetOrigin,
    /// The seed of their order; `None` leaves it as it is.
    pub shuffle: Option<u64>,
    /// The seed of the order of their choices; `None` leaves it as it is. Targets that are letters follow.
    pub shuffle_choices: Option<u64>,
    /// The most samples, after shuffling.
    pub limit: Option<usize>,
}

impl Dataset {
    /// Samples as they come.
    #[must_use]
    pub fn new(origin: DatasetOrigin) -> Self {
        Self { name: None, origin, shuffle: None, shuffle_choices: None, limit: None }
    }
}

impl From<Vec<TaskSample>> for Dataset {
    fn from(samples: Vec<TaskSample>) -> Self {
        Self::new(DatasetOrigin::Samples(samples))
    }
}

impl From<FileDataset> for Dataset {
    fn from(file: FileDataset) -> Self {
        Self::new(DatasetOrigin::File(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_what_the_user_said_last() {
        let messages =
            vec![Message::system("be brief"), Message::user("one"), Message::assistant("1"), Message::user("two")];
        for (input, want, length) in [
            (Input::Text("one".into()), "one", 1),
            (Input::Messages(messages), "two", 4),
            (Input::Messages(vec![Message::system("be brief")]), "", 1),
        ] {
            assert_eq!((input.text(), input.messages().len()), (want, length));
        }
    }

    #[test]
    fn a_mapping_equals_only_itself() {
        let mapping = || RecordMapping::new(|_| Ok(vec![TaskSample::new("q")]));
        let (one, other) = (mapping(), mapping());
        assert_eq!(one, one.clone());
        assert_ne!(one, other);
        assert_eq!(one.samples(&Value::Null).expect("a sample").len(), 1);
    }
}
