//! Relative links in Markdown lead to a file or folder of the repository.
//!
//! Addresses on the web and the part after `#` are not checked: tests need no network.

use super::Repository;
use crate::markdown::{is_relative, links, prose, resolve};

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
