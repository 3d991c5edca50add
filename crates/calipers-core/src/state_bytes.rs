//! States as bytes: compact to write, and read with suspicion.
//!
//! Bytes may come from another machine, another version or an attacker. So a reader never trusts a count: every item of a list
//! takes at least one byte, a list longer than what is left is an error before anything is allocated for it, and no count is so
//! large that a sum of counts overflows.

use crate::{Error, ErrorKind, Metadata, Outcome, SampleId, Score, Value};
use calipers_stats::{ExactSum, Moments};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// No run has more rows than this, and the counts of a million parts can be added.
const COUNT_MAX: u64 = 1 << 43;

/// Values nest at most this deep; metadata of real logs nests a few levels.
const DEPTH_MAX: u32 = 96;

/// With at most this many distinct numbers, a list of numbers is a byte per number.
const DISTINCT_MAX: usize = 256;

/// Collects the bytes of a state.
#[derive(Clone, Debug, Default)]
pub struct StateWriter {
    bytes: Vec<u8>,
}

/// Takes a state apart again.
#[derive(Clone, Debug)]
pub struct StateReader<'a> {
    rest: &'a [u8],
    depth: u32,
}

/// What can be written as bytes and read back.
pub trait Stored: Sized {
    /// Writes it.
    fn save(&self, out: &mut StateWriter);

    /// Reads it. Bytes that nothing writes are an error.
    fn load(from: &mut StateReader<'_>) -> Result<Self, Error>;
}

impl StateWriter {
    /// No bytes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a value.
    pub fn put(&mut self, value: &impl Stored) {
        value.save(self);
    }

    /// Writes one byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Writes bytes as they are; the reader knows how many they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a number in as few bytes as it needs.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    /// Writes the length of a list.
    pub fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    /// Writes text.
    pub fn text(&mut self, text: &str) {
        self.length(text.len());
        self.raw(text.as_bytes());
    }

    /// Writes numbers in order, a byte each where few of them differ.
    pub fn floats(&mut self, values: &[f64]) {
        self.length(values.len());
        let distinct: BTreeSet<u64> = values.iter().take(DISTINCT_MAX * 16).map(|x| x.to_bits()).collect();
        let distinct: Option<BTreeSet<u64>> = (distinct.len() <= DISTINCT_MAX)
            .then(|| values.iter().map(|x| x.to_bits()).collect())
            .filter(|all: &BTreeSet<u64>| all.len() <= DISTINCT_MAX && all.len() * 8 < values.len() * 7);
        let Some(distinct) = distinct else {
            self.byte(0);
            values.iter().for_each(|x| self.put(x));
            return;
        };
        self.byte(1);
        self.length(distinct.len());
        let places: BTreeMap<u64, u8> = distinct.iter().copied().zip(0..=u8::MAX).collect();
        distinct.iter().for_each(|&bits| self.put(&f64::from_bits(bits)));
        values.iter().for_each(|x| self.byte(places[&x.to_bits()]));
    }

    /// The bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

impl<'a> StateReader<'a> {
    /// Reads these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    /// Reads a value.
    pub fn take<T: Stored>(&mut self) -> Result<T, Error> {
        T::load(self)
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// An error unless everything was read.
    pub fn end(&self) -> Result<(), Error> {
        if self.rest.is_empty() { Ok(()) } else { Err(damaged("there are more bytes than expected")) }
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.raw(1)?[0])
    }

    /// Reads so many bytes.
    pub fn raw(&mut self, length: usize) -> Result<&'a [u8], Error> {
        if length > self.rest.len() {
            return Err(damaged("it ends too early"));
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    /// Reads a number.
    pub fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part.checked_shl(shift).is_none_or(|shifted| shifted >> shift != part) {
                break;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number is too large"))
    }

    /// Reads how often something was counted.
    pub fn count(&mut self) -> Result<u64, Error> {
        let count = self.number()?;
        if count > COUNT_MAX { Err(damaged("a count is larger than any run")) } else { Ok(count) }
    }

    /// Reads a number below a limit, such as a place in a list.
    pub fn below(&mut self, limit: usize) -> Result<usize, Error> {
        let number = self.number()?;
        if number < limit as u64 { Ok(number as usize) } else { Err(damaged("a place lies outside its list")) }
    }

    /// Reads the length of a list whose items take a byte or more.
    pub fn length(&mut self) -> Result<usize, Error> {
        let length = self.number()?;
        if length > self.rest.len() as u64 {
            Err(damaged("a list is longer than the bytes"))
        } else {
            Ok(length as usize)
        }
    }

    /// Reads a list.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let length = self.length()?;
        // An item may take more memory than bytes: the list grows with what is really there.
        let mut list = Vec::with_capacity(length.min(1 << 12));
        for _ in 0..length {
            list.push(item(self)?);
        }
        Ok(list)
    }

    /// Reads text.
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let length = self.length()?;
        std::str::from_utf8(self.raw(length)?).map_err(|_| damaged("a text is not UTF-8"))
    }

    /// Reads numbers in order.
    pub fn floats(&mut self) -> Result<Vec<f64>, Error> {
        let length = self.length()?;
        match self.byte()? {
            0 if length * 8 <= self.rest.len() => (0..length).map(|_| self.take()).collect(),
            1 => {
                let distinct: Vec<f64> = self.list(Self::take)?;
                let places = self.raw(length)?;
                let value = |&place: &u8| distinct.get(usize::from(place)).copied();
                places.iter().map(value).collect::<Option<_>>().ok_or_else(|| damaged("a place lies outside its list"))
            }
            _ => Err(damaged("a list of numbers has an unknown form")),
        }
    }

    /// Reads what is one level deeper than the value around it.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(damaged("values nest too deeply"));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }
}

/// The error of bytes that are no state of this kind.
#[must_use]
pub fn damaged(what: &'static str) -> Error {
    ErrorKind::DamagedState { what }.into()
}

impl Stored for u64 {
    fn save(&self, out: &mut StateWriter) {
        out.number(*self);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        from.count()
    }
}

impl Stored for u32 {
    fn save(&self, out: &mut StateWriter) {
        out.number(u64::from(*self));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Self::try_from(from.number()?).map_err(|_| damaged("a number is too large"))
    }
}

impl Stored for bool {
    fn save(&self, out: &mut StateWriter) {
        out.byte(u8::from(*self));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged("a truth value is neither true nor false")),
        }
    }
}

impl Stored for i64 {
    /// Small numbers of either sign take few bytes.
    fn save(&self, out: &mut StateWriter) {
        out.number(((*self << 1) ^ (*self >> 63)) as u64);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let zigzag = from.number()?;
        Ok((zigzag >> 1) as Self ^ -((zigzag & 1) as Self))
    }
}

impl Stored for i128 {
    fn save(&self, out: &mut StateWriter) {
        out.raw(&self.to_le_bytes());
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let bytes = from.raw(16)?.try_into().map_err(|_| damaged("it ends too early"))?;
        let number = Self::from_le_bytes(bytes);
        // Sums of parts must not overflow.
        if number.unsigned_abs() >> 100 == 0 { Ok(number) } else { Err(damaged("a number is too large")) }
    }
}

impl Stored for f64 {
    fn save(&self, out: &mut StateWriter) {
        out.raw(&self.to_bits().to_le_bytes());
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let bytes = from.raw(8)?.try_into().map_err(|_| damaged("it ends too early"))?;
        let number = Self::from_bits(u64::from_le_bytes(bytes));
        if number.is_nan() { Err(damaged("a number is not a number")) } else { Ok(number) }
    }
}

impl Stored for String {
    fn save(&self, out: &mut StateWriter) {
        out.text(self);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(from.text()?.to_owned())
    }
}

impl Stored for Arc<str> {
    fn save(&self, out: &mut StateWriter) {
        out.text(self);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(from.text()?.into())
    }
}

impl<T: Stored> Stored for Option<T> {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.is_some());
        self.iter().for_each(|value| out.put(value));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(if from.take()? { Some(from.take()?) } else { None })
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn save(&self, out: &mut StateWriter) {
        out.length(self.len());
        self.iter().for_each(|value| out.put(value));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        from.list(StateReader::take)
    }
}

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn save(&self, out: &mut StateWriter) {
        out.length(self.len());
        self.iter().for_each(|value| out.put(value));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(from.list(StateReader::take)?.into_iter().collect())
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.0);
        out.put(&self.1);
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok((from.take()?, from.take()?))
    }
}

impl Stored for SampleId {
    fn save(&self, out: &mut StateWriter) {
        match self {
            Self::Int(number) => {
                out.byte(0);
                out.put(number);
            }
            Self::Text(text) => {
                out.byte(1);
                out.put(text);
            }
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(Self::Int(from.take()?)),
            1 => Ok(Self::Text(from.take()?)),
            _ => Err(damaged("an id has an unknown form")),
        }
    }
}

impl Stored for Value {
    fn save(&self, out: &mut StateWriter) {
        match self {
            Self::Null => out.byte(0),
            Self::Missing => out.byte(1),
            Self::Bool(truth) => out.byte(2 + u8::from(*truth)),
            Self::Int(number) => {
                out.byte(4);
                out.put(number);
            }
            Self::Float(number) => {
                out.byte(5);
                out.put(number);
            }
            Self::Text(text) => {
                out.byte(6);
                out.put(text);
            }
            Self::List(items) => {
                out.byte(7);
                out.put(items);
            }
            Self::Map(entries) => {
                out.byte(8);
                out.put(entries);
            }
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(match from.byte()? {
            0 => Self::Null,
            1 => Self::Missing,
            2 => Self::Bool(false),
            3 => Self::Bool(true),
            4 => Self::Int(from.take()?),
            5 => Self::Float(from.take()?),
            6 => Self::Text(from.take()?),
            7 => Self::List(from.nested(StateReader::take)?),
            8 => Self::Map(from.nested(StateReader::take)?),
            _ => return Err(damaged("a value has an unknown form")),
        })
    }
}

impl Stored for Metadata {
    fn save(&self, out: &mut StateWriter) {
        out.length(self.iter().count());
        for (key, value) in self.iter() {
            out.put(key);
            out.put(value);
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        Ok(Self::of(from.list(StateReader::take)?.into_iter()))
    }
}

impl Stored for Score {
    fn save(&self, out: &mut StateWriter) {
        out.put(&self.value);
        out.put(&self.answer);
        out.put(&self.explanation);
        out.put(&self.metadata.is_some());
        self.metadata.iter().for_each(|metadata| out.put(&**metadata));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let (value, answer, explanation) = (from.take()?, from.take()?, from.take()?);
        let metadata: Option<Metadata> = from.take()?;
        Ok(Self { value, answer, explanation, metadata: metadata.map(Arc::new) })
    }
}

impl Stored for Outcome {
    fn save(&self, out: &mut StateWriter) {
        match self {
            Self::Scored(score) => {
                out.byte(0);
                out.put(score);
            }
            Self::Unscored { reason, score } => {
                out.byte(1);
                out.put(reason);
                out.put(&score.is_some());
                score.iter().for_each(|score| out.put(&**score));
            }
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(Self::Scored(from.take()?)),
            1 => {
                let reason = from.take()?;
                let score: Option<Score> = from.take()?;
                Ok(Self::Unscored { reason, score: score.map(Box::new) })
            }
            _ => Err(damaged("an outcome has an unknown form")),
        }
    }
}

impl Stored for ExactSum {
    /// The terms that it is made of: their sum is the same, whatever the sum that is made of them again keeps apart.
    fn save(&self, out: &mut StateWriter) {
        let terms: Vec<f64> = self.terms().filter(|term| *term != 0.0).collect();
        out.length(terms.len());
        // An infinity less an infinity is the one sum that is no number.
        terms.iter().for_each(|term| out.raw(&term.to_bits().to_le_bytes()));
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let length = from.length()?;
        let mut sum = Self::default();
        for _ in 0..length {
            let bytes = from.raw(8)?.try_into().map_err(|_| damaged("it ends too early"))?;
            sum.add(f64::from_bits(u64::from_le_bytes(bytes)));
        }
        Ok(sum)
    }
}

impl Stored for Moments {
    fn save(&self, out: &mut StateWriter) {
        let parts = self.parts();
        out.put(&parts.count);
        out.put(&parts.sum);
        out.put(&parts.squares);
        if parts.count > 0 {
            out.raw(&parts.min.to_bits().to_le_bytes());
            out.raw(&parts.max.to_bits().to_le_bytes());
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        let mut parts = Self::default().parts();
        parts.count = from.take()?;
        parts.sum = from.take()?;
        parts.squares = from.take()?;
        if parts.count > 0 {
            (parts.min, parts.max) = (from.take()?, from.take()?);
        }
        Ok(Self::from_parts(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn there_and_back<T: Stored + PartialEq + std::fmt::Debug>(value: &T) {
        let mut out = StateWriter::new();
        out.put(value);
        let bytes = out.finish();
        let mut from = StateReader::new(&bytes);
        assert_eq!(&from.take::<T>().expect("what was written"), value);
        from.end().expect("all of it");
        for length in 0..bytes.len() {
            let cut = StateReader::new(&bytes[..length]).take::<T>();
            assert!(cut.is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        there_and_back(&u64::from(u32::MAX));
        [0, 1, -1, i64::MAX, i64::MIN].iter().for_each(there_and_back);
        [0.0, -0.0, 0.1, f64::INFINITY, f64::MIN_POSITIVE].iter().for_each(there_and_back);
        there_and_back(&"ä\0".to_owned());
        let nested = Value::from([("a", Value::List(vec![1.into(), Value::Null, Value::Missing, true.into()]))]);
        there_and_back(&nested);
        there_and_back(&Some(vec![(SampleId::from(7), nested)]));
        let score = Score::new("C").answer("B").metadata(Metadata::new([("k", 1.5)]));
        there_and_back(&Outcome::from(score));
        there_and_back(&Outcome::unscored("refusal"));
    }

    #[test]
    fn lists_of_few_numbers_take_a_byte_each() {
        let read = |values: &[f64]| {
            let mut out = StateWriter::new();
            out.floats(values);
            let bytes = out.finish();
            let back = StateReader::new(&bytes).floats().expect("what was written");
            assert_eq!(back.len(), values.len());
            assert!(back.iter().zip(values).all(|(a, b)| a.to_bits() == b.to_bits()));
            bytes.len()
        };
        let few: Vec<f64> = (0..10_000).map(|at| f64::from(at % 3)).collect();
        let many: Vec<f64> = (0..10_000).map(f64::from).collect();
        assert!(read(&few) < 10_100 && read(&many) > 80_000);
        read(&[]);
        read(&[-0.0, 0.0]);
    }

    #[test]
    fn sums_keep_every_bit() {
        for terms in [&[][..], &[0.1, 0.2, 1e300, -1e300, 1e-300], &[f64::INFINITY, 1.0], &[1e16, 1.0, -1e16]] {
            let mut sum = ExactSum::default();
            terms.iter().for_each(|&x| sum.add(x));
            let mut out = StateWriter::new();
            out.put(&sum);
            out.put(&Moments::from_slice(terms));
            let bytes = out.finish();
            let mut from = StateReader::new(&bytes);
            let (back, moments): (ExactSum, Moments) = (from.take().expect("a sum"), from.take().expect("moments"));
            assert_eq!(back.value().to_bits(), sum.value().to_bits());
            assert_eq!(format!("{:?}", moments.std()), format!("{:?}", Moments::from_slice(terms).std()));
        }
    }

    #[test]
    fn no_claim_allocates_more_than_the_bytes_hold() {
        let mut out = StateWriter::new();
        out.number(u64::MAX);
        let bytes = out.finish();
        assert!(StateReader::new(&bytes).take::<Vec<f64>>().is_err());
        assert!(StateReader::new(&bytes).floats().is_err());
        assert!(StateReader::new(&bytes).take::<u64>().is_err());
        assert!(StateReader::new(&[0xff; 11]).number().is_err());
        // A list within a list, without end.
        let deep: Vec<u8> = std::iter::repeat_n([7u8, 1], 100_000).flatten().collect();
        assert!(StateReader::new(&deep).take::<Value>().is_err());
    }
}
