//! Proposed thresholds as a diff of the policy, with the reason for each.

use super::raise_words::{change_sentence, kept_line};
use crate::screen::Screen;
use crate::text::{clean, wrap};
use calipers_gate::policy::Span;
use calipers_gate::{NewThreshold, Raise};
use std::ops::Range;
use std::sync::Arc;

/// What changes in a policy line by line, and what stays with the reason why.
#[must_use]
pub fn raise_text(raises: &[Raise], screen: Screen) -> String {
    let changed: Vec<(&Raise, &NewThreshold)> =
        raises.iter().filter_map(|raise| Some((raise, raise.change.as_ref().ok()?))).collect();
    let mut text = String::new();
    let mut file = None;
    for group in by_line(&changed) {
        let name = &group[0].0.span.text.name;
        if file != Some(name) {
            text += &format!("{}\n", screen.style.bold(&clean(name)));
            file = Some(name);
        }
        text += &lines(&group, screen);
    }
    let kept: Vec<&Raise> = raises.iter().filter(|raise| raise.change.is_err()).collect();
    text += match (changed.is_empty(), kept.is_empty()) {
        (true, true) => "the policy has no thresholds that could be raised\n",
        (true, false) => "nothing to raise\n",
        (false, true) => "",
        (false, false) => "\nkept as they are\n",
    };
    text.extend(kept.iter().map(|raise| kept_lines(raise, screen)));
    screen.defuse(&text)
}

/// Changes that stand in one line together, in the order of the files.
fn by_line<'r>(changed: &[(&'r Raise, &'r NewThreshold)]) -> Vec<Vec<(&'r Raise, &'r NewThreshold)>> {
    let mut groups: Vec<Vec<(&Raise, &NewThreshold)>> = Vec::new();
    for &(raise, change) in changed {
        let is_here = |group: &&mut Vec<(&Raise, &NewThreshold)>| {
            let first = &group[0].0.span;
            Arc::ptr_eq(&first.text, &raise.span.text) && line(first) == line(&raise.span)
        };
        match groups.iter_mut().find(is_here) {
            Some(group) => group.push((raise, change)),
            None => groups.push(vec![(raise, change)]),
        }
    }
    let place = |group: &Vec<(&Raise, &NewThreshold)>| (group[0].0.span.text.name.clone(), group[0].0.span.range.start);
    groups.sort_by_key(place);
    groups
}

/// The lines that a part of a file stands in.
fn line(span: &Span) -> Range<usize> {
    let text = &span.text.text;
    let start = text[..span.range.start].rfind('\n').map_or(0, |end| end + 1);
    start..text[span.range.end..].find('\n').map_or(text.len(), |end| span.range.end + end)
}

fn lines(group: &[(&Raise, &NewThreshold)], screen: Screen) -> String {
    let span = &group[0].0.span;
    let whole = line(span);
    let old = &span.text.text[whole.clone()];
    let mut new = old.to_owned();
    let mut edits: Vec<&(&Raise, &NewThreshold)> = group.iter().collect();
    edits.sort_by_key(|(raise, _)| raise.span.range.start);
    for (raise, change) in edits.into_iter().rev() {
        let place = raise.span.range.start - whole.start..raise.span.range.end - whole.start;
        new.replace_range(place, &change.written);
    }
    let number = format!("{:>5}", span.line());
    let mut text = format!("{number}  {}\n", screen.style.paint("31", &format!("- {}", line_text(old))));
    text += &format!("{:5}  {}\n", "", screen.style.paint("32", &format!("+ {}", line_text(&new))));
    for (raise, change) in group {
        for line in wrap(&clean(&change_sentence(raise, change)), screen.width.saturating_sub(9).max(40)) {
            text += &format!("{:9}{}\n", "", screen.style.dim(&line));
        }
    }
    text
}

/// A line of a file as it is printed.
fn line_text(line: &str) -> String {
    clean(&line.trim_end().replace('\t', "    "))
}

fn kept_lines(raise: &Raise, screen: Screen) -> String {
    let kept = clean(&kept_line(raise));
    let mut text = String::new();
    for (place, words) in wrap(&kept, screen.width.saturating_sub(4).max(40)).iter().enumerate() {
        text += &format!("{}{words}\n", if place == 0 { "  " } else { "    " });
    }
    text
}
