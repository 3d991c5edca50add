//! What is said to a model, what a task asks, and an attempt with all that happened in it.

mod conversation;
mod dataset;
mod transcript;

pub use conversation::{GenerateConfig, Message, ModelOutput, Role, StopReason, ToolCall, Usage};
pub use dataset::{
    Dataset, DatasetOrigin, FileDataset, FileKind, Input, RecordMapping, SampleFields, Target, TaskSample,
};
pub use transcript::{LimitReached, Transcript};
