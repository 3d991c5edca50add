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
    } else if head.starts_with(b"PK\x03\x04") && name.ends_with(".zip") && !has(b"header.json") {
        let file = if shape.file_name.is_empty() { "FILE" } else { &shape.file_name };
        ("a zip archive", format!("take out what it holds: `unzip {file} -d results`, and read the folder"))
    } else if let Some((kind, command)) = packing(head) {
        let file = if shape.file_name.is_empty() { "FILE" } else { &shape.file_name };
        (kind, format!("unpack it: `{command} {file}`; gzip and zstd are read as they are"))
    } else if name.ends_with(".ipynb") {
        ("a notebook", "write the table in it to a file, as with `to_csv` or `to_json`".to_owned())
    } else if is_utf16(head) {
        ("text in UTF-16 without a byte order mark", "save it as UTF-8".to_owned())
    } else if head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        ("a spreadsheet of an old version", "save its sheet as CSV (UTF-8)".to_owned())
    } else if head.starts_with(b"FEA1") {
        ("a Feather file of the first version", "write the table as Parquet, or as an Arrow file".to_owned())
    } else if head.starts_with(&[0x93]) && head[1..].starts_with(b"NUMPY") {
        (
            "an array of numbers without names",
            "write a table with an id for each number, as CSV or JSON Lines".to_owned(),
        )
    } else if head.starts_with(&[0x80]) && matches!(head.get(1), Some(2..=5)) {
        ("a Python pickle, which runs code when it is opened", "write its records as JSON Lines".to_owned())
    } else {
        other_text(shape, &name)?
    };
    Some(ForeignFile { what, hint })
}

/// The packing of a file that has to be unpacked first, and the command for it.
fn packing(head: &[u8]) -> Option<(&'static str, &'static str)> {
    match head {
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Some(("compressed by bzip2", "bunzip2")),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(("compressed by xz", "unxz")),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some(("compressed by lz4", "unlz4")),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(("a 7z archive", "7z x")),
        head if head.get(257..262) == Some(&b"ustar"[..]) => Some(("a tar archive", "tar -xf")),
        _ => None,
    }
}

/// True for text of which every second byte is zero.
fn is_utf16(head: &[u8]) -> bool {
    let head = &head[..head.len().min(64) & !1];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    let texts = |first: usize| head.iter().skip(first).step_by(2).all(|byte| matches!(byte, 9 | 10 | 13 | 32..=126));
    head.len() > 7 && (zeros(0) && texts(1) || zeros(1) && texts(0))
}

/// Texts that hold tables in a language that is not read.
fn other_text(shape: &Shape, name: &str) -> Option<(&'static str, String)> {
    let head = &shape.head[..];
    // Tables that are no text may hold anything.
    if head.starts_with(b"PAR1") || head.contains(&0) {
        return None;
    }
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let starts = |start: &[u8]| head.trim_ascii_start().to_ascii_lowercase().starts_with(start);
    let is_json = matches!(head.trim_ascii_start().first(), Some(b'{' | b'['));
    let file = if name.is_empty() { "FILE" } else { &shape.file_name };
    if ends(&[".yaml", ".yml"]) && !is_json {
        return Some(("YAML", format!("write it as JSON: `yq -o=json . {file} > results.json`")));
    }
    let opened = head.trim_ascii_start();
    let inside = opened.strip_prefix(b"[").map_or(opened, <[u8]>::trim_ascii_start);
    if inside.strip_prefix(b"{").is_some_and(|inside| inside.trim_ascii_start().starts_with(b"'")) {
        let program = "import ast,json,sys;[print(json.dumps(ast.literal_eval(x))) for x in sys.stdin]";
        let hint = format!("write it with `json.dumps`: `python3 -c \"{program}\" < {file} > results.jsonl`");
        return Some(("a printout of Python", hint));
    }
    if opened.starts_with(b"\"[{\\\"") {
        return Some(("JSON in quotes", format!("take it out: `jq fromjson {file} > results.json`")));
    }
    if let Some((kind, command)) = lines_of_json(head) {
        return Some((kind, format!("keep only the records: `{command} {file} > results.jsonl`")));
    }
    if ends(&[".toml"]) && !starts(b"{") {
        return Some(("TOML", format!("write it as JSON: `yq -p=toml -o=json . {file} > results.json`")));
    }
    if ends(&[".html", ".htm"]) || starts(b"<!doctype html") || starts(b"<html") || starts(b"<table") {
        return Some(("a web page", "save its table as CSV".to_owned()));
    }
    if is_test_protocol(head) {
        let outcome = "(/# *(SKIP|TODO)/?\"\":/^ok/?1:0)";
        let program = format!("BEGIN{{print \"id,passed\"}}/^(not )?ok/{{print ++n\",\"{outcome}}}");
        return Some((
            "TAP, the output of a test runner",
            format!("make a table of it: `awk '{program}' {file} > results.csv`"),
        ));
    }
    let is_element = head.starts_with(b"<") && head.get(1).is_some_and(u8::is_ascii_alphabetic) && has_end_tag(head);
    if (starts(b"<?xml") || is_element) && !is_junit(head) {
        let records = commonest_element(head).map_or_else(|| "iter()".to_owned(), |name| format!("iter('{name}')"));
        let record = "json.dumps({**e.attrib,**{c.tag:c.text for c in e}})";
        let program = format!(
            "import sys,json,xml.etree.ElementTree as E;[print({record}) for e in E.parse(sys.stdin).{records}]"
        );
        let hint = format!("write its records as JSON Lines: `python3 -c \"{program}\" < {file} > results.jsonl`");
        return Some(("XML of another kind than JUnit", hint));
    }
    if (ends(&[".json", ".jsonc", ".json5"]) || name.is_empty()) && (starts(b"//") || starts(b"/*")) {
        let command = if is_json_without_lines(head) { "sed 's|^ *//.*||'" } else { "npx json5" };
        return Some(("JSON with comments", format!("take them out: `{command} {file} > results.json`")));
    }
    if ends(&[".tex"]) || starts(b"\\begin{") {
        return Some(("LaTeX", "save its table as CSV".to_owned()));
    }
    None
}

/// True for the Test Anything Protocol: lines that begin with `ok` or `not ok` and a number.
fn is_test_protocol(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty());
    if head.starts_with(b"TAP version ") {
        return true;
    }
    let is_number = |text: &[u8]| text.first().is_some_and(u8::is_ascii_digit);
    let is_test = |line: &[u8]| {
        let rest = line.strip_prefix(b"not ").unwrap_or(line).strip_prefix(b"ok ");
        rest.is_some_and(is_number)
    };
    let is_plan = |line: &[u8]| line.strip_prefix(b"1..").is_some_and(is_number);
    // The plan stands above or below the tests.
    lines.next().is_some_and(|first| is_plan(first) || is_test(first)) && lines.next().is_some_and(is_test)
}

fn has_end_tag(head: &[u8]) -> bool {
    ["</", "/>"].iter().any(|mark| memchr::memmem::find(head, mark.as_bytes()).is_some())
}

/// The element that occurs most often, if it occurs twice: the first of several, which holds the others.
fn commonest_element(head: &[u8]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for start in memchr::memchr_iter(b'<', head) {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let name = &head[start + 1..];
        let name = &name[..name.iter().position(|byte| !is_name(byte)).unwrap_or(name.len())];
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()) else { continue };
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().filter(|most| *most > 1)?;
    counts.iter().find(|(_, count)| *count == most).map(|(name, _)| (*name).to_owned())
}

/// True when some of this XML is JUnit.
pub(crate) fn is_junit(head: &[u8]) -> bool {
    ["<testsuite", "<testcase"].iter().any(|tag| memchr::memmem::find(head, tag.as_bytes()).is_some())
}

/// True if this is JSON, or its beginning, once the lines that are comments are left out.
fn is_json_without_lines(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii_start().starts_with(b"//"));
    let json: Vec<u8> = lines.flat_map(|line| line.iter().copied().chain([b'\n'])).collect();
    let values = serde_json::Deserializer::from_slice(&json).into_iter::<serde::de::IgnoredAny>();
    values.filter_map(Result::err).all(|error| error.is_eof())
}

/// Lines that hold JSON in quotes, or behind something else such as the time of a log, and the command that takes it out.
fn lines_of_json(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let second = lines.next()?;
    // A single document in quotes is read.
    if [first, second].iter().all(|line| line.starts_with(b"\"{\\\"") && line.ends_with(b"\"")) {
        return Some(("JSON in quotes", "jq -c fromjson"));
    }
    let is_behind = |line: &[u8]| {
        let start = memchr::memmem::find(line, b"{\"").filter(|start| *start > 0);
        let before = start.map(|start| line[..start].trim_ascii_end());
        // Behind a delimiter or a quote it is a cell.
        before.is_some_and(|before| !before.ends_with(b"\"") && !matches!(before.last(), Some(b',' | b';' | b'|')))
            && start.is_some_and(|start| line[start - 1] != b'\t' && !matches!(line[0], b'[' | b'{' | b'<' | b'|'))
            && line.ends_with(b"}")
    };
    [first, second].into_iter().all(is_behind).then_some(("a log with JSON in its lines", "sed 's/^[^{]*//'"))
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
            (b"PK\x03\x04..r.csv", "r.zip", Some("a zip archive")),
            (b"PK\x03\x04..header.json", "r.zip", None),
            (b"PK\x03\x04..xl/workbook.xml", "r.eval", None),
            (b"\xd0\xcf\x11\xe0", "r.xls", Some("a spreadsheet of an old version")),
            (b"ARROW1\0\0", "r.feather", None),
            (b"\x93NUMPY", "r.npy", Some("an array of numbers without names")),
            (b"\x80\x04\x95", "r.pkl", Some("a Python pickle, which runs code when it is opened")),
            (b"- id: a\n  score: 1\n", "r.yaml", Some("YAML")),
            (b"[[results]]\nid = 1", "r.toml", Some("TOML")),
            (b"title = 'x'\n[[results]]\nid = 1", "r.toml", Some("TOML")),
            (b"{\"id\": 1, \"score\": 1}", "r.yml", None),
            (b"<!DOCTYPE html><table>", "r", Some("a web page")),
            (b"\\begin{tabular}", "r.txt", Some("LaTeX")),
            (b"\"{\\\"id\\\": 1}\"\n\"{\\\"id\\\": 2}\"\n", "r.jsonl", Some("JSON in quotes")),
            (b"\"{\\\"id\\\": 1}\"\n", "r.json", None),
            (b"INFO 1 {\"id\": 1}\nINFO 2 {\"id\": 2}\n", "r.log", Some("a log with JSON in its lines")),
            (b"PAR1 {\"id\": 1}\nx {\"id\": 2}\n", "r.parquet", None),
            (b"data: {\"id\": 1}\n\ndata: {\"id\": 2}\n", "r.txt", Some("a log with JSON in its lines")),
            (b"\x1e{\"id\": 1}\n\x1e{\"id\": 2}\n", "r.jsonl", Some("a log with JSON in its lines")),
            (b"{'id': 1}\n", "r.txt", Some("a printout of Python")),
            (b"id\t{\"a\": 1}\nb\t{\"a\": 2}\n", "r.tsv", None),
            (b"a,{\"a\": 1}\nb, {\"a\": 2}\n", "r.csv", None),
            (b"{\"a\": {\"b\": 1}}\n{\"a\": {\"b\": 1}}\n", "r.jsonl", None),
            (b"id,score", "r.csv", None),
            (b"BZh91AY&SY", "r.csv.bz2", Some("compressed by bzip2")),
            (b"\xfd7zXZ\0", "r.csv.xz", Some("compressed by xz")),
            (b"{\"cells\": []}", "r.ipynb", Some("a notebook")),
            (b"i\0d\0,\0s\0c\0o\0", "r.csv", Some("text in UTF-16 without a byte order mark")),
            (b"// results\n{}", "r.json", Some("JSON with comments")),
            (b"TAP version 13\n1..2\nok 1 - a\n", "r.tap", Some("TAP, the output of a test runner")),
            (b"1..2\nok 1 - a\nnot ok 2 - b\n", "r", Some("TAP, the output of a test runner")),
            (b"ok 1\nnot ok 2 # TODO later\n1..2\n", "r.txt", Some("TAP, the output of a test runner")),
            (b"ok,score\n1,1\n", "r.csv", None),
            (b"<?xml version=\"1.0\"?>\n<test-run id=\"2\">", "r.xml", Some("XML of another kind than JUnit")),
            (b"<?xml version=\"1.0\"?>\n<testsuites>", "r.xml", None),
            (b"<results><r><id>1</id></r></results>", "r", Some("XML of another kind than JUnit")),
            (b"<testsuite><testcase/></testsuite>", "r", None),
            (b"\"[{\\\"id\\\": 1}]\"\n", "r.json", Some("JSON in quotes")),
            (b"", "", None),
            (b"\x93", "", None),
        ] {
            let shape = Shape { head: head.to_vec(), file_name: name.to_owned(), json: None };
            assert_eq!(foreign_file(&shape).map(|file| file.what), what, "{name}");
        }
    }
}
