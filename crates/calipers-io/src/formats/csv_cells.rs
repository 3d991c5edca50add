//! Where the cells of a CSV end, found sixty-four bytes at a time.
//!
//! Each block of bytes becomes a few numbers whose bits say where quotes, delimiters and line ends are. Whether a byte is within
//! quotes is whether the quotes up to it are odd in number, which six shifts find for a whole block (Langdale and Lemire 2019, who
//! read JSON so). Quotes may stand only around cells, and in pairs within them; at any other quote there are no ends.

use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64};

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The ends of the cells of rows, one after the other.
pub(super) struct CellEnds<'t> {
    bytes: &'t [u8],
    delimiter: u8,
    /// How many bytes have been looked at.
    at: usize,
    /// How many cells have been found that end with their lines.
    lines: usize,
    before: BlockEnd,
}

/// What a block has to know of the byte before it, each as the lowest bit.
#[derive(Clone, Copy)]
struct BlockEnd {
    /// All bits, if it is within quotes.
    is_quoted: u64,
    is_end: u64,
    is_closing_quote: u64,
    is_return: u64,
}

/// Quotes that stand elsewhere than around cells and in pairs within them, or a carriage return within a line.
pub(super) struct OddBytes;

impl<'t> CellEnds<'t> {
    /// For rows of which the last has no line end.
    pub(super) fn new(bytes: &'t [u8], delimiter: u8) -> Self {
        let before = BlockEnd { is_quoted: 0, is_end: 1, is_closing_quote: 0, is_return: 0 };
        Self { bytes, delimiter, at: 0, lines: 0, before }
    }

    /// How many of the cells end with their lines.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Adds the ends of further cells to a list that has room for many, until it is nearly full: the places of delimiters and line ends
    /// that are not within quotes, and last the end of the bytes. True if there are no more.
    pub(super) fn find(&mut self, ends: &mut Vec<usize>) -> Result<bool, OddBytes> {
        dispatch!(Level::new(), simd => self.find_with(simd, ends))
    }

    #[inline(always)]
    fn find_with<S: Simd>(&mut self, simd: S, ends: &mut Vec<usize>) -> Result<bool, OddBytes> {
        let (mut before, mut odd, mut lines) = (self.before, 0, 0);
        let (blocks, rest) = self.bytes[self.at.min(self.bytes.len())..].as_chunks::<BLOCK>();
        let room = (ends.capacity() - ends.len()) / BLOCK;
        for (place, block) in blocks.iter().take(room).enumerate() {
            let found = look_at(simd, block, self.delimiter, &mut before, &mut odd);
            lines += found.lines.count_ones() as usize;
            add_places(found.ends, self.at + BLOCK * place, ends);
        }
        let looked_at = blocks.len().min(room);
        self.at += BLOCK * looked_at;
        let is_last = looked_at == blocks.len() && looked_at < room;
        if is_last {
            // What is behind the last byte is like a line end.
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            block[rest.len()] = b'\n';
            let found = look_at(simd, &block, self.delimiter, &mut before, &mut odd);
            lines += found.lines.count_ones() as usize;
            add_places(found.ends, self.at, ends);
            self.at = self.bytes.len();
            odd |= before.is_quoted;
        }
        self.before = before;
        self.lines += lines;
        if odd == 0 { Ok(is_last) } else { Err(OddBytes) }
    }
}

/// The ends of cells in a block, as bits.
struct FoundEnds {
    ends: u64,
    /// Those that end a line, too.
    lines: u64,
}

/// Finds the ends of cells in a block. Sets bits of `odd` where quotes or carriage returns are not in their places.
#[inline(always)]
fn look_at<S: Simd>(simd: S, block: &[u8; BLOCK], delimiter: u8, before: &mut BlockEnd, odd: &mut u64) -> FoundEnds {
    let bytes = u8x64::from_slice(simd, block);
    let places = |byte: u8| bytes.simd_eq(u8x64::splat(simd, byte)).to_bitmask();
    let (quotes, line_ends, returns) = (places(b'"'), places(b'\n'), places(b'\r'));
    // From each opening quote up to the closing one, which is not among them.
    let quoted = odd_up_to(quotes) ^ before.is_quoted;
    let ends = (places(delimiter) | line_ends) & !quoted;
    let returns = returns & !quoted;
    let (opening, closing) = (quotes & quoted, quotes & !quoted);
    let after = |places: u64, is_before: u64| places << 1 | is_before;
    let after_end = after(ends, before.is_end);
    let after_closing = after(closing, before.is_closing_quote);
    let after_return = after(returns, before.is_return);
    *odd |= opening & !(after_end | after_closing);
    *odd |= after_closing & !(ends | opening | returns);
    *odd |= after_return & !line_ends;
    let last = |places: u64| places >> (BLOCK - 1);
    *before = BlockEnd {
        is_quoted: 0_u64.wrapping_sub(last(quoted)),
        is_end: last(ends),
        is_closing_quote: last(closing),
        is_return: last(returns),
    };
    FoundEnds { ends, lines: line_ends & !quoted }
}

/// For each bit whether the bits up to it, and with it, are odd in number.
#[inline(always)]
fn odd_up_to(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(bits, |bits, shift| bits ^ bits << shift)
}

/// Adds the places of bits to a list.
#[inline(always)]
fn add_places(mut bits: u64, first: usize, places: &mut Vec<usize>) {
    places.extend((0..bits.count_ones()).map(|_| {
        let place = first + bits.trailing_zeros() as usize;
        bits &= bits - 1;
        place
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte by byte; nothing if there are odd bytes.
    fn slowly(bytes: &[u8]) -> Option<Vec<usize>> {
        let (mut ends, mut at) = (Vec::new(), 0);
        loop {
            if bytes.get(at) == Some(&b'"') {
                at += 1;
                loop {
                    at += bytes[at..].iter().position(|byte| *byte == b'"')? + 1;
                    if bytes.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
            } else {
                at += bytes[at..].iter().take_while(|byte| !matches!(byte, b',' | b'\n' | b'\r' | b'"')).count();
            }
            if bytes.get(at) == Some(&b'\r') {
                at += 1;
                if !matches!(bytes.get(at), Some(b'\n') | None) {
                    return None;
                }
            }
            match bytes.get(at) {
                Some(b',' | b'\n') => ends.push(at),
                Some(_) => return None,
                None => {
                    ends.push(at);
                    return Some(ends);
                }
            }
            at += 1;
        }
    }

    #[test]
    fn cells_end_where_they_end_byte_by_byte() {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let pieces = [
            "a",
            ",",
            "\n",
            "\r\n",
            "\"",
            "\"\"",
            "\"a,\n\"",
            ",\"x\"\"y\",",
            "a long cell of some words",
            "\r",
            "\u{e9}",
        ];
        let (mut same, mut odd) = (0, 0);
        for _ in 0..20_000 {
            let kinds = [4, 8, pieces.len()][next(3)];
            let text: String = (0..next(60)).map(|_| pieces[next(kinds)]).collect();
            let mut ends = Vec::with_capacity(2 * BLOCK + next(300));
            let mut cells = CellEnds::new(text.as_bytes(), b',');
            let mut all = Vec::new();
            let found = loop {
                match cells.find(&mut ends) {
                    Ok(is_last) => {
                        all.append(&mut ends);
                        if is_last {
                            break Some(all);
                        }
                    }
                    Err(OddBytes) => break None,
                }
            };
            match &found {
                Some(_) => same += 1,
                None => odd += 1,
            }
            assert_eq!(found, slowly(text.as_bytes()), "{text:?}");
        }
        assert!(same > 3000 && odd > 3000, "{same} plain, {odd} odd");
    }
}
