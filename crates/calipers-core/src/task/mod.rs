//! What is said to a model, what a task asks, and an attempt with all that happened in it.

mod conversation;
mod dataset;
mod transcript;

pub use conversation::{GenerateConfig, Message, ModelOutput, Role, StopReason, ToolCall, Usage};
pub use dataset::{Dataset, Fields, FileDataset, FileKind, Input, Mapping, Origin, Sample, Target};
pub use transcript::{LimitReached, Transcript};
