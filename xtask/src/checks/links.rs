//! Relative links in Markdown lead to a file or folder of the repository.
//!
//! Inline links, images, reference definitions and the `href` and `src` of embedded HTML are read; code is not.
//! Addresses on the web and the part after `#` are not checked: tests need no network.

use super::{Repository, numbered};

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    repository
        .files_named(".md")
        .filter(|file| !is_data(&file.path))
        .flat_map(|file| {
            let exists = |path: &str| repository.root.join(path).exists();
            let broken = broken(&file.path, &file.text, exists).into_iter();
            broken.map(|(line, link)| format!("{}:{line}: the link `{link}` leads nowhere", file.path))
        })
        .collect()
}

/// Inputs and snapshots of tests belong to the place they were made for.
fn is_data(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "testdata" | "snapshots"))
}

/// The line and target of each relative link of the file at `path` that leads nowhere.
fn broken(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let leads_nowhere = |link: &String| is_relative(link) && !resolve(path, link).is_some_and(|path| exists(&path));
    prose(text)
        .into_iter()
        .flat_map(|(number, line)| links(&line).into_iter().map(move |link| (number, link)))
        .filter(|(_, link)| leads_nowhere(link))
        .collect()
}

/// The lines outside code blocks, with code spans blanked.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in numbered(text) {
        // A block inside a list or a quotation is indented or marked.
        let start = line.trim_start_matches([' ', '\t', '>']);
        let length = start.len() - start.trim_start_matches(['`', '~']).len();
        let marks = &start[..length];
        match fence {
            Some(open) if marks.starts_with(open) && start[length..].trim().is_empty() => fence = None,
            Some(_) => {}
            None if is_fence(marks) && !start[length..].contains('`') => fence = Some(marks),
            None => lines.push((number, without_code(line))),
        }
    }
    lines
}

fn is_fence(marks: &str) -> bool {
    marks.len() >= 3 && (marks.bytes().all(|mark| mark == b'`') || marks.bytes().all(|mark| mark == b'~'))
}

/// A line without its code spans, which are closed by as many backticks as opened them.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let length = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (ticks, after) = rest[at..].split_at(length);
        kept.push_str(&rest[..at]);
        rest = match closing(after, length) {
            Some(end) => &after[end..],
            None => {
                kept.push_str(ticks);
                after
            }
        };
    }
    kept + rest
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
fn links(line: &str) -> Vec<String> {
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

fn is_relative(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    let has_scheme =
        scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)));
    !has_scheme && !link.starts_with("//") && !link.starts_with('#')
}

/// The path from the root that a link in the file at `path` means, if it stays in the repository.
fn resolve(path: &str, link: &str) -> Option<String> {
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

fn percent_decoded(text: &str) -> String {
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

    const FILES: [&str; 6] = ["README.md", "docs", "docs/a.md", "docs/two words.md", "docs/f(x).md", "img/p.png"];

    fn broken_in(path: &str, text: &str) -> Vec<String> {
        broken(path, text, |path| FILES.contains(&path)).into_iter().map(|(_, link)| link).collect()
    }

    #[test]
    fn links_to_files_that_exist_are_fine() {
        for text in [
            "[a](a.md)",
            "[a](./a.md#part)",
            "[up](../README.md) and ![p](../img/p.png \"title\")",
            "[root](/README.md)",
            "[folder](../docs/)",
            "[spaces](two%20words.md) [spaces](<two words.md>)",
            "[parentheses](f(x).md)",
            "[a]: a.md\n[b]: <a.md> \"title\"\n[^1]: gone.md is a footnote",
            "[web](https://example.org/gone.md) [mail](mailto:a@example.org) [here](#part) [web](//example.org)",
            "<a href=\"a.md\"><img src=\"../img/p.png\"></a>",
        ] {
            assert_eq!(broken_in("docs/b.md", text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        for (text, want) in [
            ("[a](gone.md)", "gone.md"),
            ("[a](a.md) [b](gone.md#part)", "gone.md#part"),
            ("[![badge](https://example.org/b.svg)](gone.md)", "gone.md"),
            ("[a](../a.md)", "../a.md"),
            ("[out](../../README.md)", "../../README.md"),
            ("[a]: gone.md \"title\"", "gone.md"),
            ("<img src=\"gone.png\">", "gone.png"),
            ("`code` [a](gone.md) `code`", "gone.md"),
            ("a lone ` tick [a](gone.md)", "gone.md"),
        ] {
            assert_eq!(broken_in("docs/b.md", text), [want], "{text}");
        }
    }

    #[test]
    fn code_is_not_read() {
        for text in [
            "`[a](gone.md)`",
            "``[a](gone.md) ` ``",
            "```md\n[a](gone.md)\n```",
            "~~~\n[a](gone.md)\n```\n[a](gone.md)\n~~~",
            "````\n```\n[a](gone.md)\n```\n````",
            "- item\n  ```\n  [a](gone.md)\n  ```",
        ] {
            assert_eq!(broken_in("docs/b.md", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(broken_in("docs/b.md", "```\ncode\n```\n[a](gone.md)"), ["gone.md"]);
    }

    #[test]
    fn the_line_of_a_broken_link_is_known() {
        let text = "# Title\n\n```\ncode\n```\n\nSee [a](gone.md).\n";
        assert_eq!(broken("README.md", text, |_| false), [(7, "gone.md".into())]);
    }
}
