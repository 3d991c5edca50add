//! Two conversations beside each other: what is the same is folded away, and what differs is marked.

use super::sample::{AttemptView, TEXT_SHOWN, ViewMessage, long_text, score_text};
use super::{date_of, sample_address};
use crate::history::HistoryRun;
use crate::page::name;
use crate::text::{abridge, clean};
use calipers_core::pluralize;
use maud::{Markup, html};

/// An attempt that another one is shown beside.
#[derive(Clone, Debug, Default)]
pub struct BesideView {
    /// Its run.
    pub run: HistoryRun,
    /// Its epoch.
    pub epoch: u32,
    /// The attempt.
    pub attempt: Option<AttemptView>,
    /// Why it cannot be read, if it cannot.
    pub problem: Option<String>,
}

/// One side.
pub(super) struct AttemptSide<'a> {
    pub(super) run: &'a HistoryRun,
    pub(super) epoch: u32,
    pub(super) attempt: &'a AttemptView,
}

impl AttemptSide<'_> {
    /// What was said, and at the end what was answered.
    fn messages(&self) -> Vec<ViewMessage> {
        let answer = self.attempt.output.iter();
        let answer = answer.map(|text| ViewMessage { role: "assistant", text: text.clone(), calls: Vec::new() });
        self.attempt.messages.iter().cloned().chain(answer).collect()
    }

    fn title(&self) -> String {
        format!("{}, attempt {}", date_of(self.run), self.epoch)
    }
}

/// Both sides, the one that is looked at first.
pub(super) fn beside_part(id: &str, ours: &AttemptSide<'_>, theirs: &AttemptSide<'_>) -> Markup {
    let sides = [ours.messages(), theirs.messages()];
    let steps = steps(&sides[0], &sides[1]);
    let differing = steps.iter().filter(|step| matches!(step, ConversationStep::Differ(..))).count();
    html! {
        div.conversation-top { h2 { "Beside another attempt" } }
        div.pair {
            @for side in [ours, theirs] {
                p { a href=(sample_address(&side.run.key, id)) { (side.title()) } @for (scorer, value, ..) in &side.attempt.scores { " · " (name(scorer)) " " b { (name(&score_text(value))) } } }
            }
        }
        @if differing == 0 { p.quiet.found { "All messages are the same." } }
        @for step in &steps {
            @match step {
                ConversationStep::Same(messages) => details.same {
                    summary { (pluralize(messages.len(), "message")) @if messages.len() == 1 { " is" } @else { " are" } " the same" }
                    @for message in messages { div.message.(message.role) { p.label { (message.role) } (long_text(&message.text)) (calls(message)) } }
                },
                ConversationStep::Differ(left, right) => div.pair {
                    (differing_message(*left, *right, ours))
                    (differing_message(*right, *left, theirs))
                },
            }
        }
    }
}

fn differing_message(message: Option<&ViewMessage>, other: Option<&ViewMessage>, side: &AttemptSide<'_>) -> Markup {
    let Some(message) = message else {
        return html! { div.message { p.label { (side.title()) } p.quiet { "says nothing here" } } };
    };
    let visible =
        |text: &str| abridge(&text.lines().map(clean).collect::<Vec<_>>().join("\n"), TEXT_SHOWN).into_owned();
    let (text, theirs) = (visible(&message.text), other.map(|other| visible(&other.text)).unwrap_or_default());
    let (from, to) = differing_part(&text, &theirs);
    html! {
        div.message.(message.role) {
            p.label { (message.role) " · " (side.title()) }
            @if !text.is_empty() { pre.text { (text[..from]) @if from < to { mark { (text[from..to]) } } (text[to..]) } }
            (calls(message))
        }
    }
}

fn calls(message: &ViewMessage) -> Markup {
    html! { @for (function, arguments) in &message.calls { details { summary { "calls " code { (name(function)) } } (long_text(arguments)) } } }
}

/// Where a text begins and ends to differ from another one, by whole words.
fn differing_part(text: &str, other: &str) -> (usize, usize) {
    let same = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| -> usize {
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    // A word that differs in a part of it is marked as a whole.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = same(&mut text.chars(), &mut other.chars());
    if text[from..].starts_with(is_word) || other[from..].starts_with(is_word) {
        from = text[..from].trim_end_matches(is_word).len();
    }
    let (rest, other) = (&text[from..], &other[from..]);
    let mut end = same(&mut rest.chars().rev(), &mut other.chars().rev());
    if rest[..rest.len() - end].ends_with(is_word) || other[..other.len() - end].ends_with(is_word) {
        end = rest[rest.len() - end..].trim_start_matches(is_word).len();
    }
    (from, text.len() - end)
}

/// A part of two conversations.
#[derive(Debug, PartialEq, Eq)]
enum ConversationStep<'a> {
    /// Messages that both have.
    Same(Vec<&'a ViewMessage>),
    /// What one has in place of what the other has, or of nothing.
    Differ(Option<&'a ViewMessage>, Option<&'a ViewMessage>),
}

/// Both conversations in parts. Messages that are the same are those of the longest common subsequence; conversations have few enough
/// messages on a page for the plain table of it.
fn steps<'a>(ours: &'a [ViewMessage], theirs: &'a [ViewMessage]) -> Vec<ConversationStep<'a>> {
    let mut longest = vec![vec![0u32; theirs.len() + 1]; ours.len() + 1];
    for i in (0..ours.len()).rev() {
        for j in (0..theirs.len()).rev() {
            longest[i][j] =
                if ours[i] == theirs[j] { longest[i + 1][j + 1] + 1 } else { longest[i + 1][j].max(longest[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    let (mut left, mut right): (Vec<&ViewMessage>, Vec<&ViewMessage>) = Default::default();
    while i < ours.len() || j < theirs.len() {
        if i < ours.len() && j < theirs.len() && ours[i] == theirs[j] {
            pair_up(&mut left, &mut right, &mut steps);
            match steps.last_mut() {
                Some(ConversationStep::Same(messages)) => messages.push(&ours[i]),
                _ => steps.push(ConversationStep::Same(vec![&ours[i]])),
            }
            (i, j) = (i + 1, j + 1);
        } else if j == theirs.len() || (i < ours.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            left.push(&ours[i]);
            i += 1;
        } else {
            right.push(&theirs[j]);
            j += 1;
        }
    }
    pair_up(&mut left, &mut right, &mut steps);
    steps
}

/// Messages between two that are the same: those of one speaker stand beside each other, in their order.
fn pair_up<'a>(
    left: &mut Vec<&'a ViewMessage>,
    right: &mut Vec<&'a ViewMessage>,
    steps: &mut Vec<ConversationStep<'a>>,
) {
    let (mut ours, mut theirs) = (left.drain(..).peekable(), right.drain(..).peekable());
    loop {
        let step = match (ours.peek(), theirs.peek()) {
            (None, None) => return,
            (Some(one), Some(other)) if one.role == other.role => ConversationStep::Differ(ours.next(), theirs.next()),
            (Some(_), _) => ConversationStep::Differ(ours.next(), None),
            (None, Some(_)) => ConversationStep::Differ(None, theirs.next()),
        };
        steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speak(words: &[(&'static str, &str)]) -> Vec<ViewMessage> {
        words.iter().map(|(role, text)| ViewMessage { role, text: (*text).to_owned(), calls: Vec::new() }).collect()
    }

    #[test]
    fn what_is_the_same_is_one_part_and_what_differs_stands_beside_its_like() {
        let ours = speak(&[("user", "a"), ("assistant", "b"), ("tool", "c"), ("assistant", "d")]);
        let theirs = speak(&[("user", "a"), ("assistant", "x"), ("assistant", "d"), ("user", "e")]);
        let want = vec![
            ConversationStep::Same(vec![&ours[0]]),
            ConversationStep::Differ(Some(&ours[1]), Some(&theirs[1])),
            ConversationStep::Differ(Some(&ours[2]), None),
            ConversationStep::Same(vec![&ours[3]]),
            ConversationStep::Differ(None, Some(&theirs[3])),
        ];
        assert_eq!(steps(&ours, &theirs), want);
        assert_eq!(steps(&ours, &ours), vec![ConversationStep::Same(ours.iter().collect())]);
        assert_eq!(steps(&[], &[]), vec![]);
    }

    #[test]
    fn whole_words_are_marked() {
        for (text, other, want) in [
            ("arrives on Thursday at noon", "arrives on Tuesday at noon", "Thursday"),
            ("the same", "the same", ""),
            ("the same and more", "the same", " and more"),
            ("the same", "the same and more", ""),
            ("aaa", "aa", "aaa"),
            ("größer", "große", "größer"),
            ("", "x", ""),
            ("x", "", "x"),
        ] {
            let (from, to) = differing_part(text, other);
            assert_eq!(text.get(from..to), Some(want), "{text} and {other}");
        }
    }
}
