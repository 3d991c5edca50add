//! Texts that are not UTF-8: UTF-16 with its mark, as spreadsheets export it, and Windows-1252, as older ones do.

use std::io::{self, BufRead, Read};

/// The marks at the beginning of UTF-16, with the order of bytes that they say.
const MARKS: [([u8; 2], ByteOrder); 2] = [([0xff, 0xfe], ByteOrder::Little), ([0xfe, 0xff], ByteOrder::Big)];

/// The order of the two bytes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// The order of bytes, if the content begins with the mark of UTF-16.
pub(super) fn utf16_order(head: &[u8]) -> Option<ByteOrder> {
    MARKS.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, order)| *order)
}

/// UTF-16 as UTF-8, without its mark.
pub(super) struct Utf16Reader<R> {
    units: Utf16Units<R>,
    /// What is decoded and not yet read.
    ready: Vec<u8>,
    at: usize,
    /// True when the mark has been read.
    is_started: bool,
}

struct Utf16Units<R> {
    bytes: R,
    order: ByteOrder,
}

/// As many units as are decoded at once.
const BLOCK: usize = 4096;

impl<R: BufRead> Utf16Reader<R> {
    pub(super) fn new(bytes: R, order: ByteOrder) -> Self {
        Self { units: Utf16Units { bytes, order }, ready: Vec::new(), at: 0, is_started: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        if !self.is_started {
            self.is_started = true;
            self.units.next()?;
        }
        let mut units = Vec::with_capacity(BLOCK + 1);
        while units.len() < BLOCK {
            match self.units.next()? {
                Some(unit) => units.push(unit),
                None => break,
            }
        }
        // A character outside the first plane has two units, and may not be cut apart.
        if units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.extend(self.units.next()?);
        }
        for decoded in char::decode_utf16(units) {
            let character =
                decoded.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-16"))?;
            let mut buffer = [0; 4];
            self.ready.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
        Ok(())
    }
}

impl<R: BufRead> Utf16Units<R> {
    fn next(&mut self) -> io::Result<Option<u16>> {
        let mut unit = [0; 2];
        match self.bytes.read(&mut unit[..1])? {
            0 => Ok(None),
            _ => {
                self.bytes.read_exact(&mut unit[1..])?;
                Ok(Some(match self.order {
                    ByteOrder::Little => u16::from_le_bytes(unit),
                    ByteOrder::Big => u16::from_be_bytes(unit),
                }))
            }
        }
    }
}

impl<R: BufRead> Read for Utf16Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.fill()?;
        }
        let length = buffer.len().min(self.ready.len() - self.at);
        buffer[..length].copy_from_slice(&self.ready[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// What the bytes from 0x80 to 0x9f stand for in Windows-1252; five of them stand for nothing. The others are as in Latin-1.
const WINDOWS_1252: [Option<char>; 32] = [
    Some('€'),
    None,
    Some('‚'),
    Some('ƒ'),
    Some('„'),
    Some('…'),
    Some('†'),
    Some('‡'),
    Some('ˆ'),
    Some('‰'),
    Some('Š'),
    Some('‹'),
    Some('Œ'),
    None,
    Some('Ž'),
    None,
    None,
    Some('‘'),
    Some('’'),
    Some('“'),
    Some('”'),
    Some('•'),
    Some('–'),
    Some('—'),
    Some('˜'),
    Some('™'),
    Some('š'),
    Some('›'),
    Some('œ'),
    None,
    Some('ž'),
    Some('Ÿ'),
];

/// Bytes in Windows-1252 as UTF-8; none if they are not that, or if some of them are UTF-8, so that the rest is damaged.
pub(crate) fn decode_windows_1252(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_ascii() {
            return None;
        }
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push(match byte {
                0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)]?,
                byte => char::from(*byte),
            });
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn utf16_is_read_in_both_orders_and_in_any_steps() {
        let text = "id,name\n1,café 🙂\n".repeat(700);
        for (mark, order) in MARKS {
            let unit = |unit: u16| if order == ByteOrder::Little { unit.to_le_bytes() } else { unit.to_be_bytes() };
            let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect();
            assert_eq!(utf16_order(&bytes), Some(order));
            for capacity in [1, 3, 4096] {
                let mut decoded = String::new();
                let reader = BufReader::with_capacity(capacity, &bytes[..]);
                Utf16Reader::new(reader, order).read_to_string(&mut decoded).expect("it is valid");
                assert!(decoded == text);
            }
            let mut cut = Vec::new();
            assert!(Utf16Reader::new(&bytes[..bytes.len() - 1], order).read_to_end(&mut cut).is_err());
        }
    }

    #[test]
    fn damaged_utf8_is_not_taken_for_windows_1252() {
        assert_eq!(decode_windows_1252(b"caf\xe9 \x93q\x94").as_deref(), Some("café “q”"));
        assert_eq!(decode_windows_1252(b"plain").as_deref(), Some("plain"));
        assert_eq!(decode_windows_1252("caf\u{e9} \u{e9}".as_bytes()), None);
        assert_eq!(decode_windows_1252(b"caf\xc3\xa9 caf\xe9"), None);
        assert_eq!(decode_windows_1252(b"\x81"), None);
    }
}
