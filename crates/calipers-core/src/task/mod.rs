//! Conversations with models, the samples of a task, and attempts with everything that happened in them.

mod conversation;
mod dataset;
mod transcript;

pub use conversation::{GenerateConfig, Message, ModelOutput, ModelUsage, Role, StopReason, ToolCall, Usage};
pub use dataset::{
    Dataset, DatasetOrigin, FileDataset, FileKind, Input, RecordMapping, SampleFields, Target, TaskSample,
};
pub use transcript::{LimitReached, Transcript};
