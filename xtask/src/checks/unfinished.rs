//! No placeholder macros: what is not written is absent, and says so as a value.

use super::{Repository, numbered};

const MACROS: [&str; 2] = ["todo", "unimplemented"];

pub(super) fn problems(repository: &Repository) -> Vec<String> {
    repository
        .files_named(".rs")
        .flat_map(|file| {
            let found = placeholders(&file.text).into_iter();
            found.map(|(line, name)| format!("{}:{line}: `{name}!` is left in the code", file.path))
        })
        .collect()
}

fn placeholders(text: &str) -> Vec<(usize, &'static str)> {
    let is_in = |line: &str, name: &str| line.contains(&format!("{name}!("));
    let found = |(number, line)| MACROS.iter().filter(move |name| is_in(line, name)).map(move |name| (number, *name));
    numbered(text).flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_with_their_line() {
        for name in MACROS {
            let text = format!("fn f() {{\n    {name}!(\"later\")\n}}");
            assert_eq!(placeholders(&text), [(2, name)]);
        }
        assert_eq!(placeholders("// a todo list\nlet todo = 1;"), []);
    }
}
