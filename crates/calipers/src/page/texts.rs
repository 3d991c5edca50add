//! The texts of a page: found in logs and records, and kept within bounds.

use calipers_core::{Message, SampleId, Samples};
use calipers_io::{AttemptTexts, ReadError, RecordedRun, Source, read_texts};
use calipers_render::page::{LeftOut, PageText};
use std::collections::HashMap;
use std::sync::Arc;

/// The most of one text that is kept, in bytes: more than anyone reads, and a transcript of 200 KB is whole.
pub const TEXT_MAX: usize = 256 * 1024;
/// The most of all texts together: a page of this size still opens at once.
pub const TEXTS_MAX: usize = 50 * 1024 * 1024;
/// What is kept of each text when there is no more room.
const BEGINNING: usize = 400;

/// The texts of attempts by sample and epoch.
pub(super) type ByAttempt = HashMap<(SampleId, u32), AttemptTexts>;

/// The texts that the samples of a run do not hold.
pub(super) fn of_run(source: &Source, run: &RecordedRun) -> Result<ByAttempt, ReadError> {
    let mut texts = HashMap::new();
    if run.format == "inspect" || (run.format == "native" && differs_by_attempt(&run.samples)) {
        let mut room = TEXTS_MAX;
        read_texts(source, run.format, &mut |id, epoch, mut found| {
            // What will not be shown is not kept: a log may be larger than memory.
            if room == 0 {
                shorten(&mut found);
            }
            room = room.saturating_sub(size(&found));
            texts.insert((id, epoch), found);
        })?;
    }
    Ok(texts)
}

/// True when there are texts of attempts, and samples that have several.
fn differs_by_attempt(samples: &Samples) -> bool {
    samples.attempts() > samples.len() && samples.columns().any(|name| AttemptTexts::is_told_by_attempt(name))
}

fn size(texts: &AttemptTexts) -> usize {
    let of = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
    let messages: usize = texts.messages.iter().map(|message| message.content.len()).sum();
    of(&texts.input) + of(&texts.target) + of(&texts.output) + messages
}

fn shorten(texts: &mut AttemptTexts) {
    let shorten = |text: &mut Arc<str>| {
        let end = boundary(text, 4 * BEGINNING);
        if end < text.len() {
            *text = text[..end].into();
        }
    };
    texts.messages.clear();
    [&mut texts.input, &mut texts.target, &mut texts.output].into_iter().flatten().for_each(shorten);
}

/// The end of the last character that begins and ends within this many bytes.
fn boundary(text: &str, max: usize) -> usize {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The room for texts on a page.
pub(super) struct Room {
    left: usize,
    pub(super) left_out: LeftOut,
}

impl Default for Room {
    fn default() -> Self {
        Self { left: TEXTS_MAX, left_out: LeftOut::default() }
    }
}

impl Room {
    /// As much of a text as there is room for.
    pub(super) fn text(&mut self, text: Arc<str>) -> PageText {
        let max = if self.left >= text.len().min(TEXT_MAX) { TEXT_MAX } else { BEGINNING };
        let end = boundary(&text, max);
        self.left = self.left.saturating_sub(end);
        if end == text.len() {
            return PageText { text, left_out: 0 };
        }
        let left_out = text[end..].chars().count() as u64;
        self.left_out.texts += 1;
        self.left_out.characters += left_out;
        PageText { text: text[..end].into(), left_out }
    }

    /// A message with the tools that it calls, which may have no text besides.
    pub(super) fn message(&mut self, message: &Message) -> (&'static str, PageText) {
        let mut text = message.content.to_string();
        for call in &message.tool_calls {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &format!("→ {}({})", call.function, call.arguments);
        }
        (message.role.name(), self.text(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let mut room = Room::default();
        assert_eq!(room.text("short".into()).left_out, 0);
        let long: Arc<str> = "é".repeat(TEXT_MAX).into();
        let kept = room.text(long);
        assert_eq!((kept.text.len(), kept.left_out), (TEXT_MAX, TEXT_MAX as u64 / 2));
        assert_eq!(room.left_out, LeftOut { texts: 1, characters: TEXT_MAX as u64 / 2 });
    }

    #[test]
    fn when_there_is_no_more_room_beginnings_are_kept() {
        let mut room = Room { left: 1000, ..Room::default() };
        assert_eq!(room.text("a".repeat(900).into()).left_out, 0);
        let kept = room.text("b".repeat(900).into());
        assert_eq!((kept.text.len(), kept.left_out), (BEGINNING, 500));
    }
}
