//! How the JSON of a baseline is laid out: what a diff shows line by line.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Maps down to this depth have one line per entry; those below stand in one line.
const LINES_DEPTH: usize = 2;

/// The top and the sections have one line per entry, and an entry stands in its line. Numbers are written without an exponent, and
/// whole ones without a point.
#[derive(Default)]
pub(super) struct BaselineLayout {
    depth: usize,
    has_entry: bool,
}

impl BaselineLayout {
    /// A document as text, with a newline at its end.
    pub(super) fn write(document: &impl Serialize) -> String {
        let mut bytes = Vec::new();
        document
            .serialize(&mut Serializer::with_formatter(&mut bytes, Self::default()))
            .expect("the keys of a baseline are texts, and memory can be written");
        bytes.push(b'\n');
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }

    fn begin_line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for BaselineLayout {
    fn write_f64<W: Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value}")
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.has_entry = false;
        writer.write_all(b"{")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if self.depth > LINES_DEPTH {
            return if first { Ok(()) } else { writer.write_all(b", ") };
        }
        if !first {
            writer.write_all(b",")?;
        }
        self.begin_line(writer)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_entry = true;
        Ok(())
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        let has_lines = self.has_entry && self.depth <= LINES_DEPTH;
        self.depth -= 1;
        if has_lines {
            self.begin_line(writer)?;
        }
        writer.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_entry_of_a_section_has_one_line() {
        for (document, want) in [
            (json!({}), "{}\n"),
            (json!({"a": {}, "b": ["x", "y"]}), "{\n  \"a\": {},\n  \"b\": [\"x\",\"y\"]\n}\n"),
            (
                json!({"m": {"x": {"p": true, "q": {"r": null, "s": {}}}, "y": {}}}),
                "{\n  \"m\": {\n    \"x\": {\"p\": true, \"q\": {\"r\": null, \"s\": {}}},\n    \"y\": {}\n  }\n}\n",
            ),
        ] {
            assert_eq!(BaselineLayout::write(&document), want);
        }
    }

    #[test]
    fn numbers_are_plain() {
        assert_eq!(BaselineLayout::write(&[1.0, 0.25, 1e-9, 1e21]), "[1,0.25,0.000000001,1000000000000000000000]\n");
    }
}
