//! Markdown as far as links go: where prose is and where code, and the targets of links.
//!
//! Inline links, images, reference definitions and the `href` and `src` of embedded HTML are read; code is not.

/// The lines outside code blocks, with code spans blanked.
pub(crate) fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut fence = Fence::default();
    for (index, line) in text.lines().enumerate() {
        if !fence.holds(line) {
            lines.push((index + 1, without_code(line)));
        }
    }
    lines
}

/// The text with the targets of its inline links replaced where `target` gives another. Code stays as it is.
pub(crate) fn map_links(text: &str, target: impl Fn(&str) -> Option<String>) -> String {
    let mut fence = Fence::default();
    let mut mapped = String::new();
    for line in text.split_inclusive('\n') {
        if fence.holds(line) {
            mapped.push_str(line);
        } else {
            for (part, is_code) in parts(line) {
                mapped.push_str(&if is_code { part.to_owned() } else { map_links_of_prose(part, &target) });
            }
        }
    }
    mapped
}

fn map_links_of_prose(text: &str, target: impl Fn(&str) -> Option<String>) -> String {
    let mut mapped = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at + 2);
        mapped.push_str(before);
        rest = after;
        if let Some((link, new)) = destination(after, ')').and_then(|link| Some((link, target(link)?))) {
            // In angle brackets, the link begins after one of them.
            let start = usize::from(after.starts_with('<'));
            mapped.push_str(&after[..start]);
            mapped.push_str(&new);
            rest = &after[start + link.len()..];
        }
    }
    mapped + rest
}

/// Knows, line by line, whether it is inside a code block.
#[derive(Default)]
struct Fence<'a> {
    open: Option<&'a str>,
}

impl<'a> Fence<'a> {
    /// True for a line of a code block, and for those that open and close it.
    fn holds(&mut self, line: &'a str) -> bool {
        // A block inside a list or a quotation is indented or marked.
        let start = line.trim_start_matches([' ', '\t', '>']);
        let length = start.len() - start.trim_start_matches(['`', '~']).len();
        let marks = &start[..length];
        match self.open {
            Some(open) if marks.starts_with(open) && start[length..].trim().is_empty() => self.open = None,
            Some(_) => {}
            None if is_fence(marks) && !start[length..].contains('`') => self.open = Some(marks),
            None => return false,
        }
        true
    }
}

fn is_fence(marks: &str) -> bool {
    marks.len() >= 3 && (marks.bytes().all(|mark| mark == b'`') || marks.bytes().all(|mark| mark == b'~'))
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    parts(line).into_iter().filter(|(_, is_code)| !is_code).map(|(part, _)| part).collect()
}

/// The parts of a line, each with whether it is a code span. A span is closed by as many backticks as opened it.
fn parts(line: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let length = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let end = closing(&rest[at + length..], length).map(|end| at + length + end);
        match end {
            Some(end) => parts.extend([(&rest[..at], false), (&rest[at..end], true)]),
            // Ticks that nothing closes are text.
            None => parts.push((&rest[..at + length], false)),
        }
        rest = &rest[end.unwrap_or(at + length)..];
    }
    parts.push((rest, false));
    parts
}

/// Where the first run of exactly `length` backticks ends.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find('`').map(|at| from + at) {
        let run = text[at..].len() - text[at..].trim_start_matches('`').len();
        if run == length {
            return Some(at + run);
        }
        from = at + run;
    }
    None
}

/// The targets of all links in a line.
pub(crate) fn links(line: &str) -> Vec<String> {
    let inline = line.match_indices("](").filter_map(|(at, found)| destination(&line[at + found.len()..], ')'));
    let html = ["href=\"", "src=\""].into_iter().flat_map(|attribute| {
        line.match_indices(attribute).filter_map(|(at, found)| line[at + found.len()..].split_once('"').map(|(x, _)| x))
    });
    inline.chain(html).chain(definition(line)).filter(|link| !link.is_empty()).map(String::from).collect()
}

/// The target of a definition such as `[name]: target "title"`. Footnotes are none.
fn definition(line: &str) -> Option<&str> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    let is_name = !name.starts_with('^') && !name.contains([']', '[']);
    if is_name { destination(target.trim_start(), '\n') } else { None }
}

/// A link target up to its title or to `end`: in angle brackets, or with balanced parentheses and no space.
fn destination(text: &str, end: char) -> Option<&str> {
    if let Some(text) = text.strip_prefix('<') {
        return text.split_once('>').map(|(target, _)| target);
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            _ if c.is_whitespace() => return Some(&text[..at]),
            _ if c == end && depth == 0 => return Some(&text[..at]),
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    (end == '\n').then_some(text)
}

pub(crate) fn is_relative(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    let has_scheme =
        scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)));
    !has_scheme && !link.starts_with("//") && !link.starts_with('#')
}

/// The path from the root that a link in the file at `path` means, if it stays in the repository.
pub(crate) fn resolve(path: &str, link: &str) -> Option<String> {
    let link = percent_decoded(link.split(['#', '?']).next().unwrap_or(link));
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    if link.starts_with('/') {
        parts.clear(); // the sites that show Markdown read it from the root of the repository
    }
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_replaced_in_prose_and_not_in_code() {
        let up = |link: &str| link.strip_prefix("../").map(|path| format!("https://example.org/{path}"));
        for (text, want) in [
            ("[a](../a.rs) and [b](b.md)\n", "[a](https://example.org/a.rs) and [b](b.md)\n"),
            ("[`a`](../a.rs), `[a](../a.rs)`", "[`a`](https://example.org/a.rs), `[a](../a.rs)`"),
            ("![p](<../a b.png> \"title\")", "![p](<https://example.org/a b.png> \"title\")"),
            ("[a](../f(x).rs)(", "[a](https://example.org/f(x).rs)("),
            ("```\n[a](../a.rs)\n```\n[a](../a.rs)", "```\n[a](../a.rs)\n```\n[a](https://example.org/a.rs)"),
            ("a lone ` tick [a](../a.rs)", "a lone ` tick [a](https://example.org/a.rs)"),
            ("[a](../a", "[a](../a"),
        ] {
            assert_eq!(map_links(text, up), want);
        }
    }
}
