//! Files that hold tables and are not read: what they are, and how their tables become readable.

use super::Shape;

/// A kind of file that is not read.
pub(crate) struct ForeignFile {
    /// What it is.
    pub(crate) what: &'static str,
    /// What to do with it.
    pub(crate) hint: String,
}

/// The kind of a file that is not read, if it is one of those that people keep results in.
pub(crate) fn foreign_file(shape: &Shape) -> Option<ForeignFile> {
    let head = &shape.head[..];
    let name = shape.file_name.to_lowercase();
    let has = |needle: &[u8]| memchr::memmem::find(head, needle).is_some();
    let (what, hint) = if head.starts_with(b"SQLite format 3\0") {
        let file = if shape.file_name.is_empty() { "FILE" } else { &shape.file_name };
        let hint = format!("export the table: `sqlite3 -header -csv {file} 'select * from TABLE' > results.csv`");
        ("an SQLite database", hint)
    } else if head.starts_with(b"PK") && !name.ends_with(".eval") && (is_sheet(&name) || has(b"xl/workbook.xml")) {
        ("a spreadsheet", "save its sheet as CSV (UTF-8)".to_owned())
    } else if head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        ("a spreadsheet of an old version", "save its sheet as CSV (UTF-8)".to_owned())
    } else if head.starts_with(b"ARROW1") || head.starts_with(b"FEA1") {
        (
            "an Arrow file",
            "write the table as Parquet: `pyarrow.parquet.write_table(table, 'results.parquet')`".to_owned(),
        )
    } else if head.starts_with(&[0x93]) && head[1..].starts_with(b"NUMPY") {
        (
            "an array of numbers without names",
            "write a table with an id for each number, as CSV or JSON Lines".to_owned(),
        )
    } else if head.starts_with(&[0x80]) && matches!(head.get(1), Some(2..=5)) {
        ("a Python pickle, which runs code when it is opened", "write its records as JSON Lines".to_owned())
    } else {
        other_text(&name, head)?
    };
    Some(ForeignFile { what, hint })
}

/// Texts that hold tables in a language that is not read.
fn other_text(name: &str, head: &[u8]) -> Option<(&'static str, String)> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let starts = |start: &[u8]| head.trim_ascii_start().to_ascii_lowercase().starts_with(start);
    let is_json = matches!(head.trim_ascii_start().first(), Some(b'{' | b'['));
    let file = if name.is_empty() { "FILE" } else { name };
    if ends(&[".yaml", ".yml"]) && !is_json {
        return Some(("YAML", format!("write it as JSON: `yq -o=json . {file} > results.json`")));
    }
    if ends(&[".toml"]) && !starts(b"{") {
        return Some(("TOML", format!("write it as JSON: `yq -p=toml -o=json . {file} > results.json`")));
    }
    if ends(&[".html", ".htm"]) || starts(b"<!doctype html") || starts(b"<html") || starts(b"<table") {
        return Some(("a web page", "save its table as CSV".to_owned()));
    }
    if ends(&[".tex"]) || starts(b"\\begin{") {
        return Some(("LaTeX", "save its table as CSV".to_owned()));
    }
    None
}

fn is_sheet(name: &str) -> bool {
    name.ends_with(".xlsx") || name.ends_with(".ods")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_read_are_named() {
        for (head, name, what) in [
            (&b"SQLite format 3\0..."[..], "r.db", Some("an SQLite database")),
            (b"PK\x03\x04..xl/workbook.xml", "r", Some("a spreadsheet")),
            (b"PK\x03\x04..", "r.XLSX", Some("a spreadsheet")),
            (b"PK\x03\x04..", "r.eval", None),
            (b"PK\x03\x04..xl/workbook.xml", "r.eval", None),
            (b"\xd0\xcf\x11\xe0", "r.xls", Some("a spreadsheet of an old version")),
            (b"ARROW1\0\0", "r.feather", Some("an Arrow file")),
            (b"\x93NUMPY", "r.npy", Some("an array of numbers without names")),
            (b"\x80\x04\x95", "r.pkl", Some("a Python pickle, which runs code when it is opened")),
            (b"- id: a\n  score: 1\n", "r.yaml", Some("YAML")),
            (b"[[results]]\nid = 1", "r.toml", Some("TOML")),
            (b"title = 'x'\n[[results]]\nid = 1", "r.toml", Some("TOML")),
            (b"{\"id\": 1, \"score\": 1}", "r.yml", None),
            (b"<!DOCTYPE html><table>", "r", Some("a web page")),
            (b"\\begin{tabular}", "r.txt", Some("LaTeX")),
            (b"id,score", "r.csv", None),
            (b"", "", None),
            (b"\x93", "", None),
        ] {
            let shape = Shape { head: head.to_vec(), file_name: name.to_owned(), json: None };
            assert_eq!(foreign_file(&shape).map(|file| file.what), what, "{name}");
        }
    }
}
