//! Values side by side: the form in which they are folded.
//!
//! Scores are mostly one of a few labels, or floats. A column holds either codes into a dictionary of
//! distinct values or plain floats, four or eight bytes per row, so that a metric over a million scores reads
//! a few megabytes and looks each label up once.

use crate::Value;
use crate::data::distinct_texts::DistinctTexts;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::fmt;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// As many texts are looked up at once.
const CHUNK: usize = 64;

/// The code of a row without a value.
pub(crate) const ABSENT: u32 = u32::MAX;

/// Values, one per row.
#[derive(Clone, Debug)]
pub enum Column {
    /// Floats; inside a column, and nowhere else, a NaN stands for [`Value::Missing`].
    Floats(Vec<f64>),
    /// Codes into a dictionary of distinct values.
    Coded(Coded),
}

/// Codes with the dictionary that they point into. Columns gathered from one another share the dictionary.
#[derive(Clone, Debug, Default)]
pub struct Coded {
    pub codes: Vec<u32>,
    dictionary: Arc<Dictionary>,
    /// True when a code may be [`ABSENT`].
    has_gaps: bool,
}

/// Distinct values in the order of their first appearance.
#[derive(Clone, Default)]
struct Dictionary {
    /// Made from the given texts when they are first asked for.
    values: OnceLock<Vec<Value>>,
    /// The texts of a table, until something else is added to them.
    given: Option<DistinctTexts>,
    /// How many of the values are no texts.
    others: usize,
    /// The codes of all values but tiny texts.
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The codes of short texts that were looked up before: one lookup instead of three, and nothing to compare.
    short: HashMap<ShortText, u32>,
    /// Those of texts of at most eleven bytes, of which four fit into a cache line.
    tiny: HashTable<TinyEntry>,
    lineage: Lineage,
}

/// The identity of a dictionary. A dictionary only grows, so a code keeps its meaning while the lineage is the same; a
/// copy may grow differently, and has another lineage.
#[derive(Debug, Default)]
pub struct Lineage(Arc<()>);

impl Clone for Lineage {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Lineage {
    /// A handle on the same lineage: while it exists, no other dictionary can be mistaken for this one.
    pub fn keep(&self) -> Self {
        Self(self.0.clone())
    }

    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Tiny texts are shorter.
const TINY: usize = 12;

/// A text of at most eleven bytes: its bytes, zeros, and in the highest byte how many there are.
type TinyText = (u64, u32);

#[derive(Clone, Copy)]
struct TinyEntry {
    text: u64,
    rest: u32,
    code: u32,
}

fn tiny_text(text: &str) -> Option<TinyText> {
    let bytes = text.as_bytes();
    let length = (bytes.len() as u32) << 24;
    // The last bytes are read at once, and those that were read before are shifted out.
    Some(match bytes.len() {
        0..4 => {
            let byte = |place: usize| bytes.get(place).copied().map_or(0, u64::from) << (8 * place);
            (byte(0) | byte(1) | byte(2), length)
        }
        4..8 => {
            let (first, last) = (u32::from_le_bytes(*bytes.first_chunk()?), u32::from_le_bytes(*bytes.last_chunk()?));
            (u64::from(first) | (u64::from(last) << 32) >> (8 * (8 - bytes.len())) & !0xffff_ffff, length)
        }
        8..TINY => {
            let last = u64::from(u32::from_le_bytes(*bytes.last_chunk()?)) >> (8 * (12 - bytes.len()));
            (u64::from_le_bytes(*bytes.first_chunk()?), length | last as u32)
        }
        _ => return None,
    })
}

fn tiny_value(value: &Value) -> Option<TinyText> {
    match value {
        Value::Text(text) => tiny_text(text),
        _ => None,
    }
}

/// A text of at most eleven bytes as two numbers, for [`Cells::extend_packed`](crate::Cells::extend_packed).
///
/// ```
/// use calipers_core::PackedText;
///
/// assert!(PackedText::new("doc-23659").is_some());
/// assert!(PackedText::new("a longer name of a document").is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PackedText(TinyText);

impl PackedText {
    /// The text, if it is short enough.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        tiny_text(text).map(Self)
    }

    /// The text at this place of a longer one, if it is short enough and no character is cut. Faster than cutting it out first.
    ///
    /// ```
    /// use calipers_core::PackedText;
    ///
    /// assert!(PackedText::within("q1,doc-23659,0.5", 3..12).is_some());
    /// assert!(PackedText::within("q1,doc-23659,0.5", 0..12).is_none());
    /// ```
    #[must_use]
    #[inline]
    pub fn within(text: &str, place: Range<usize>) -> Option<Self> {
        let (length, bytes) = (place.end.checked_sub(place.start)?, text.as_bytes());
        if length >= TINY || !text.is_char_boundary(place.start) || !text.is_char_boundary(place.end) {
            return None;
        }
        // Bytes behind the text are read with it, and left out.
        let Some(chunk) = bytes.get(place.start..)?.first_chunk() else { return Self::new(text.get(place)?) };
        let kept = u128::from_le_bytes(*chunk) & ((1 << (8 * length)) - 1);
        Some(Self((kept as u64, (kept >> u64::BITS) as u32 | (length as u32) << 24)))
    }

    /// Its bytes, and how many there are.
    fn unpack(self) -> ([u8; 11], usize) {
        let (text, rest) = self.0;
        let mut bytes = [0; 11];
        bytes[..8].copy_from_slice(&text.to_le_bytes());
        bytes[8..].copy_from_slice(&rest.to_le_bytes()[..3]);
        (bytes, (rest >> 24) as usize)
    }
}

/// A text of at most sixteen bytes: its first and its last ones, which overlap, and how many there are.
type ShortText = (u64, u64, usize);

fn short_text(text: &str) -> Option<ShortText> {
    let bytes = text.as_bytes();
    let (first, last) = match bytes.len() {
        0..4 => {
            let byte = |place: usize| bytes.get(place).copied().map_or(0, u64::from);
            (byte(0) | byte(1) << 8, byte(2))
        }
        4..8 => (u32::from_le_bytes(*bytes.first_chunk()?).into(), u32::from_le_bytes(*bytes.last_chunk()?).into()),
        8..=16 => (u64::from_le_bytes(*bytes.first_chunk()?), u64::from_le_bytes(*bytes.last_chunk()?)),
        _ => return None,
    };
    Some((first, last, bytes.len()))
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values().fmt(f)
    }
}

impl Coded {
    /// A column without rows, whose codes are places in these texts.
    pub fn of_texts(texts: DistinctTexts) -> Self {
        Self { dictionary: Arc::new(Dictionary { given: Some(texts), ..Dictionary::default() }), ..Self::default() }
    }

    /// Adds codes of the texts that the column was made of; a code beyond them is a gap.
    pub fn extend_codes(&mut self, codes: impl Iterator<Item = u32>) {
        let (first, texts) = (self.codes.len(), self.dictionary.given.as_ref().map_or(0, DistinctTexts::len) as u32);
        self.codes.extend(codes);
        // No early exit, so that vector instructions can do it.
        if self.codes[first..].iter().fold(false, |has_gap, &code| has_gap | (code >= texts)) {
            self.codes[first..].iter_mut().filter(|code| **code >= texts).for_each(|code| *code = ABSENT);
            self.has_gaps = true;
        }
    }

    /// True when the distinct values are the texts of a table, of which none is known by its value yet.
    pub fn is_given(&self) -> bool {
        self.dictionary.given.is_some()
    }

    /// True when all distinct values are texts.
    pub fn has_only_texts(&self) -> bool {
        self.is_given() || self.dictionary.others == 0
    }

    /// How many distinct values there are.
    pub fn distinct(&self) -> usize {
        self.dictionary.given.as_ref().map_or_else(|| self.dictionary.values().len(), DistinctTexts::len)
    }

    /// Makes values of given texts, so that others can be added.
    fn open(&mut self) {
        if self.is_given() {
            let dictionary = Arc::make_mut(&mut self.dictionary);
            dictionary.values();
            dictionary.given = None;
            for value in dictionary.values.take().unwrap_or_default() {
                dictionary.add(value);
            }
        }
    }

    pub fn push(&mut self, value: Value) {
        let code = self.code(value);
        self.codes.push(code);
    }

    /// Pushes text that is only copied if it is new.
    pub fn push_text(&mut self, text: &str) {
        let code = self.text_code(text);
        self.codes.push(code);
    }

    /// Adds texts by their codes; a code beyond the texts is a gap.
    pub fn extend_coded<'t>(&mut self, codes: impl Iterator<Item = u32>, texts: impl IntoIterator<Item = &'t str>) {
        let own = self.codes_of_texts(texts);
        self.extend_known(codes, &own);
    }

    /// The codes of texts, which are added if they are new.
    pub fn codes_of_texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Vec<u32> {
        self.open();
        self.text_codes(texts)
    }

    /// Adds rows by places in a list of codes; a place beyond it is a gap.
    pub fn extend_known(&mut self, places: impl Iterator<Item = u32>, known: &[u32]) {
        let first = self.codes.len();
        self.codes.extend(places.map(|place| known.get(place as usize).copied().unwrap_or(ABSENT)));
        self.has_gaps |= self.codes[first..].contains(&ABSENT);
    }

    /// Adds short texts.
    pub fn extend_packed(&mut self, texts: &[PackedText]) {
        self.open();
        let mut codes = std::mem::take(&mut self.codes);
        texts.chunks(CHUNK).for_each(|chunk| self.add_packed_codes(chunk, &mut codes));
        self.codes = codes;
    }

    /// The codes of texts.
    fn text_codes<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> Vec<u32> {
        let (mut codes, mut waiting) = (Vec::new(), Vec::with_capacity(CHUNK));
        for text in texts {
            match PackedText::new(text) {
                Some(packed) => waiting.push(packed),
                None => {
                    self.add_packed_codes(&waiting, &mut codes);
                    waiting.clear();
                    codes.push(self.text_code(text));
                }
            }
            if waiting.len() == CHUNK {
                self.add_packed_codes(&waiting, &mut codes);
                waiting.clear();
            }
        }
        self.add_packed_codes(&waiting, &mut codes);
        codes
    }

    /// Adds the codes of at most [`CHUNK`] texts to a list. What is in a large dictionary is rarely in a cache of the processor, which
    /// waits for several texts at once if they are looked up one right after the other, but not while other work lies between them.
    fn add_packed_codes(&mut self, chunk: &[PackedText], codes: &mut Vec<u32>) {
        let first = codes.len();
        let mut hashes = [0; CHUNK];
        for (hash, text) in hashes.iter_mut().zip(chunk) {
            *hash = self.dictionary.hasher.hash_one(text.0);
        }
        let tiny = &self.dictionary.tiny;
        codes.extend(hashes.iter().zip(chunk).map(|(&hash, text)| {
            tiny.find(hash, |entry| (entry.text, entry.rest) == text.0).map_or(ABSENT, |entry| entry.code)
        }));
        for (code, text) in codes[first..].iter_mut().zip(chunk) {
            if *code == ABSENT {
                let (bytes, length) = text.unpack();
                *code = self.text_code(std::str::from_utf8(&bytes[..length]).unwrap_or_default());
            }
        }
    }

    fn text_code(&mut self, text: &str) -> u32 {
        self.open();
        if let Some(tiny) = tiny_text(text) {
            return match self.dictionary.find_tiny(tiny) {
                Some(code) => code,
                None => Arc::make_mut(&mut self.dictionary).add(Value::Text(text.into())),
            };
        }
        let Some(short) = short_text(text) else { return self.long_text_code(text) };
        if let Some(&code) = self.dictionary.short.get(&short) {
            return code;
        }
        let code = self.long_text_code(text);
        Arc::make_mut(&mut self.dictionary).short.insert(short, code);
        code
    }

    fn long_text_code(&mut self, text: &str) -> u32 {
        match self.dictionary.find(self.dictionary.hash_text(text), |value| is_text(value, text)) {
            Some(code) => code,
            None => self.code(Value::Text(text.into())),
        }
    }

    /// Adds floats; a NaN is a gap.
    pub fn extend_floats(&mut self, floats: &[f64]) {
        for &x in floats {
            if x.is_nan() { self.pad(self.codes.len() + 1) } else { self.push(Value::Float(x)) }
        }
    }

    /// Takes the rows out and leaves the dictionary.
    pub fn take_rows(&mut self) -> Self {
        let codes = std::mem::take(&mut self.codes);
        let has_gaps = std::mem::take(&mut self.has_gaps);
        Self { codes, dictionary: self.dictionary.clone(), has_gaps }
    }

    /// Sets the code of a row that has none yet.
    pub fn set_if_gap(&mut self, row: usize, code: u32) {
        if self.codes.len() <= row {
            self.pad(row);
            self.codes.push(code);
        } else if self.codes[row] == ABSENT {
            self.codes[row] = code;
        }
    }

    /// The code of a value, which is added to the dictionary if it is new.
    pub fn code(&mut self, value: Value) -> u32 {
        self.open();
        match self.dictionary.find_value(&value) {
            Some(code) => code,
            None => Arc::make_mut(&mut self.dictionary).add(value),
        }
    }

    /// Codes for values that are given, each once; a code beyond them is a gap.
    pub fn from_parts(mut codes: Vec<u32>, values: Vec<Value>) -> Self {
        let mut coded = Self::default();
        let own: Vec<u32> = values.into_iter().map(|value| coded.code(value)).collect();
        if !own.iter().zip(0..).all(|(own, given)| *own == given) {
            codes.iter_mut().for_each(|code| *code = own.get(*code as usize).copied().unwrap_or(ABSENT));
        }
        let highest = codes.iter().copied().max().unwrap_or(0) as usize;
        coded.has_gaps = highest >= own.len();
        coded.codes = codes;
        coded
    }

    /// Rows without a value. Their codes are zeros, which take no memory as long as nothing looks at them.
    pub fn missing(rows: usize) -> Self {
        let mut coded = Self::default();
        coded.code(Value::Missing);
        coded.codes = vec![0; rows];
        coded
    }

    /// Adds the rows of another column.
    pub fn append(&mut self, other: &Self) {
        let codes = self.codes_of(other);
        self.has_gaps |= other.has_gaps;
        let code = |code: &u32| codes.get(*code as usize).copied().unwrap_or(ABSENT);
        self.codes.extend(other.codes.iter().map(code));
    }

    /// The code here of each code there.
    pub fn codes_of(&mut self, other: &Self) -> Vec<u32> {
        other.dictionary().iter().map(|value| self.code(value.clone())).collect()
    }

    /// Adds gaps up to this many rows.
    pub fn pad(&mut self, rows: usize) {
        self.has_gaps |= rows > self.codes.len();
        self.codes.resize(rows, ABSENT);
    }

    /// The first gap.
    pub fn first_gap(&self) -> Option<usize> {
        // `contains` uses vector instructions, which `position` does not.
        let has_gap = self.has_gaps && self.codes.contains(&ABSENT);
        if has_gap { self.codes.iter().position(|&code| code == ABSENT) } else { None }
    }

    /// The distinct values; a code is a place in this list.
    pub fn dictionary(&self) -> &[Value] {
        self.dictionary.values()
    }

    pub fn lineage(&self) -> &Lineage {
        &self.dictionary.lineage
    }

    /// The same dictionary under other codes.
    pub fn with_codes(&self, codes: Vec<u32>) -> Self {
        Self { codes, dictionary: self.dictionary.clone(), has_gaps: true }
    }

    /// Some of the rows, by their codes.
    pub fn with_some(&self, codes: Vec<u32>) -> Self {
        Self { has_gaps: self.has_gaps, ..self.with_codes(codes) }
    }

    fn gather(&self, rows: &[u32]) -> Self {
        self.with_some(rows.iter().map(|&row| self.codes[row as usize]).collect())
    }

    pub fn value(&self, row: usize) -> Option<&Value> {
        self.dictionary.values().get(self.codes[row] as usize)
    }
}

impl Dictionary {
    fn values(&self) -> &[Value] {
        let given = || self.given.iter().flat_map(DistinctTexts::iter);
        self.values.get_or_init(|| given().map(Value::from).collect())
    }

    fn find(&self, hash: u64, is_it: impl Fn(&Value) -> bool) -> Option<u32> {
        let values = self.values();
        self.index.find(hash, |&code| is_it(&values[code as usize])).copied()
    }

    fn find_tiny(&self, text: TinyText) -> Option<u32> {
        let is_it = |entry: &TinyEntry| (entry.text, entry.rest) == text;
        self.tiny.find(self.hasher.hash_one(text), is_it).map(|entry| entry.code)
    }

    fn find_value(&self, value: &Value) -> Option<u32> {
        match tiny_value(value) {
            Some(tiny) => self.find_tiny(tiny),
            None => self.find(self.hash(value), |known| known == value),
        }
    }

    /// Adds a value that is not there, and returns its code.
    fn add(&mut self, value: Value) -> u32 {
        let tiny = tiny_value(&value);
        let hash = if tiny.is_some() { 0 } else { self.hash(&value) };
        let mut values = self.values.take().unwrap_or_default();
        let code = values.len() as u32;
        self.others += usize::from(!matches!(value, Value::Text(_)));
        values.push(value);
        let (values, hasher) = (self.values.get_or_init(|| values), &self.hasher);
        match tiny {
            Some((text, rest)) => {
                let hash_of = |entry: &TinyEntry| hasher.hash_one((entry.text, entry.rest));
                self.tiny.insert_unique(hasher.hash_one((text, rest)), TinyEntry { text, rest, code }, hash_of);
            }
            None => {
                self.index.insert_unique(hash, code, |&code| hash_with(hasher, &values[code as usize]));
            }
        }
        code
    }

    fn hash(&self, value: &Value) -> u64 {
        hash_with(&self.hasher, value)
    }

    fn hash_text(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }
}

/// Text is hashed as text, so that it can be looked up before it becomes a value.
fn hash_with(hasher: &DefaultHashBuilder, value: &Value) -> u64 {
    match value {
        Value::Text(text) => hasher.hash_one(&**text),
        value => hasher.hash_one(value),
    }
}

fn is_text(value: &Value, text: &str) -> bool {
    matches!(value, Value::Text(known) if **known == *text)
}

impl Default for Column {
    fn default() -> Self {
        Self::Floats(Vec::new())
    }
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Floats(floats) => floats.len(),
            Self::Coded(coded) => coded.codes.len(),
        }
    }

    /// True when there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row.
    pub fn push(&mut self, value: Value) {
        match (&mut *self, value) {
            (Self::Floats(floats), Value::Float(x)) => floats.push(x),
            (Self::Floats(floats), Value::Missing) => floats.push(f64::NAN),
            (Self::Floats(floats), value) => {
                let mut coded = Coded::default();
                floats.iter().for_each(|&x| coded.push(Value::from(x)));
                coded.push(value);
                *self = Self::Coded(coded);
            }
            (Self::Coded(coded), value) => coded.push(value),
        }
    }

    /// Pushes text that is only copied if it is new.
    pub fn push_text(&mut self, text: &str) {
        match self {
            Self::Coded(coded) => coded.push_text(text),
            Self::Floats(_) => self.push(Value::Text(text.into())),
        }
    }

    /// Adds the rows of another column.
    pub fn append(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Floats(mine), Self::Floats(theirs)) => mine.extend_from_slice(theirs),
            (Self::Coded(mine), Self::Coded(theirs)) => mine.append(theirs),
            (Self::Floats(mine), Self::Coded(theirs)) => {
                let mut coded = Coded::default();
                mine.iter().for_each(|&x| coded.push(Value::from(x)));
                coded.append(theirs);
                *self = Self::Coded(coded);
            }
            (Self::Coded(mine), Self::Floats(theirs)) => theirs.iter().for_each(|&x| mine.push(Value::from(x))),
        }
    }

    /// Makes room for this many more rows.
    pub fn reserve(&mut self, more: usize) {
        match self {
            Self::Floats(floats) => floats.reserve(more),
            Self::Coded(coded) => coded.codes.reserve(more),
        }
    }

    /// The same rows as codes.
    pub fn into_coded(self) -> Coded {
        match self {
            Self::Coded(coded) => coded,
            Self::Floats(floats) => {
                let mut coded = Coded::default();
                coded.extend_floats(&floats);
                coded
            }
        }
    }

    /// Adds gaps up to this many rows.
    pub fn pad(&mut self, rows: usize) {
        match self {
            Self::Floats(floats) => floats.resize(rows, f64::NAN),
            Self::Coded(coded) => coded.pad(rows),
        }
    }

    /// The value of a row; missing where there is none.
    pub fn get(&self, row: usize) -> Value {
        match self {
            Self::Floats(floats) => Value::from(floats[row]),
            Self::Coded(coded) => coded.value(row).cloned().unwrap_or(Value::Missing),
        }
    }

    /// True when a row has no value.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Floats(floats) => floats[row].is_nan(),
            Self::Coded(coded) => coded.value(row).is_none_or(Value::is_missing),
        }
    }

    /// True when some row may be missing. Cheap for coded columns.
    pub fn has_missing(&self) -> bool {
        match self {
            Self::Floats(floats) => has_nan(floats),
            Self::Coded(coded) => coded.dictionary().iter().any(Value::is_missing) || coded.first_gap().is_some(),
        }
    }

    /// The given rows, in the order given.
    pub fn gather(&self, rows: &[u32]) -> Self {
        match self {
            Self::Floats(floats) => Self::Floats(rows.iter().map(|&row| floats[row as usize]).collect()),
            Self::Coded(coded) => Self::Coded(coded.gather(rows)),
        }
    }

    /// The given rows, in the order given, and gaps for those that are not there.
    pub(crate) fn gather_found(&self, rows: &[Option<u32>]) -> Self {
        match self {
            Self::Floats(floats) => {
                Self::Floats(rows.iter().map(|row| row.map_or(f64::NAN, |row| floats[row as usize])).collect())
            }
            Self::Coded(coded) => {
                let code = |row: &Option<u32>| row.map_or(ABSENT, |row| coded.codes[row as usize]);
                Self::Coded(coded.with_codes(rows.iter().map(code).collect()))
            }
        }
    }
}

/// True when there is a NaN. Whole blocks are looked at without an early exit, so that vector instructions can do it.
fn has_nan(floats: &[f64]) -> bool {
    floats.chunks(1024).any(|block| block.iter().fold(false, |found, x| found | x.is_nan()))
}

impl FromIterator<Value> for Column {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut column = Self::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[Value]) -> Column {
        values.iter().cloned().collect()
    }

    fn rows(column: &Column) -> Vec<Value> {
        (0..column.len()).map(|row| column.get(row)).collect()
    }

    fn text(text: &str) -> Value {
        Value::from(text)
    }

    /// Floats, labels, whole numbers and gaps in different orders: some columns stay floats, some become codes.
    fn columns() -> Vec<Vec<Value>> {
        let (x, y, gap) = (Value::Float(0.5), Value::Float(1.0), Value::Missing);
        vec![
            vec![],
            vec![x.clone(), y.clone(), gap.clone()],
            vec![gap.clone(), gap.clone()],
            vec![text("C"), text("I"), text("C"), gap.clone()],
            vec![x.clone(), text("C"), y.clone()],
            vec![gap, text("longer than sixteen bytes"), text("longer than sixteen bytes!")],
            vec![Value::Int(1), Value::Bool(true), y, Value::Null],
        ]
    }

    #[test]
    fn a_column_returns_the_values_that_were_pushed() {
        for values in columns() {
            let column = column(&values);
            assert_eq!(rows(&column), values);
            let is_missing: Vec<bool> = (0..column.len()).map(|row| column.is_missing(row)).collect();
            assert_eq!(is_missing, values.iter().map(Value::is_missing).collect::<Vec<_>>(), "{values:?}");
            assert_eq!(column.has_missing(), values.iter().any(Value::is_missing), "{values:?}");
        }
    }

    #[test]
    fn appended_columns_equal_the_column_of_all_values() {
        for first in columns() {
            for second in columns() {
                let mut joined = column(&first);
                joined.append(&column(&second));
                let all: Vec<Value> = first.iter().chain(&second).cloned().collect();
                assert_eq!(rows(&joined), all);
            }
        }
    }

    #[test]
    fn rows_are_gathered_padded_and_coded_without_a_change_of_values() {
        for values in columns().into_iter().filter(|values| values.len() >= 2) {
            let mut column = column(&values);
            let last = values.len() as u32 - 1;
            let gathered = column.gather(&[last, 0, 0]);
            let want = [last, 0, 0].map(|row| values[row as usize].clone());
            assert_eq!(rows(&gathered), want);
            column.pad(values.len() + 2);
            assert!(column.is_missing(values.len()) && column.is_missing(values.len() + 1));
            assert_eq!(rows(&Column::Coded(column.clone().into_coded())), rows(&column));
        }
    }

    #[test]
    fn short_texts_are_told_apart_by_every_byte_and_by_their_length() {
        let mut texts: Vec<String> = (0..18).map(|length| "a".repeat(length)).collect();
        for length in 1..18 {
            for place in 0..length {
                let mut text = "a".repeat(length);
                text.replace_range(place..=place, "b");
                texts.push(text);
            }
        }
        texts.extend([
            "\0".to_owned(),
            "\0\0".to_owned(),
            "a\0".to_owned(),
            "aaaa\0".to_owned(),
            "aaaaaaaa\0".to_owned(),
        ]);
        let mut coded = Coded::default();
        (0..2).for_each(|_| texts.iter().for_each(|text| coded.push_text(text)));
        let want: Vec<u32> = (0..texts.len() as u32).chain(0..texts.len() as u32).collect();
        assert_eq!(coded.codes, want);
        let values: Vec<String> = coded.dictionary().iter().map(ToString::to_string).collect();
        assert_eq!(values, texts);
    }

    #[test]
    fn packed_texts_have_the_codes_of_texts() {
        let known = ["", "a", "ab", "abc", "abcd", "abcdefg", "abcdefgh", "abcdefghijk", "é", "a\0", "a\0\0", "doc-1"];
        let texts: Vec<String> = (0..500).map(|place| format!("{}{}", known[place % known.len()], place % 7)).collect();
        let (mut pushed, mut packed) = (Coded::default(), Coded::default());
        for coded in [&mut pushed, &mut packed] {
            coded.push(Value::from("b3"));
            coded.push(Value::from("a1"));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).chain(known).filter(|text| text.len() < 12).collect();
        texts.iter().for_each(|text| pushed.push_text(text));
        for part in texts.chunks(150) {
            packed.extend_packed(&part.iter().filter_map(|text| PackedText::new(text)).collect::<Vec<_>>());
        }
        assert_eq!(packed.codes, pushed.codes);
        assert_eq!(packed.dictionary(), pushed.dictionary());
    }

    #[test]
    fn a_text_within_another_is_packed_like_the_text_alone() {
        let text = "q1,doc-23659,é,\0\0,a longer name of a document";
        for start in 0..=text.len() {
            for end in start..=text.len() {
                let alone = text.get(start..end).and_then(PackedText::new).map(|packed| packed.0);
                assert_eq!(PackedText::within(text, start..end).map(|packed| packed.0), alone, "{start}..{end}");
            }
            assert!(PackedText::within(text, start..text.len() + 1).is_none());
        }
    }

    #[test]
    fn codes_beyond_the_values_are_gaps_and_equal_values_share_a_code() {
        let coded = Coded::from_parts(vec![0, 1, 2, 9], vec![text("C"), text("I"), text("C")]);
        assert_eq!(coded.codes[..3], [0, 1, 0]);
        assert_eq!((coded.first_gap(), coded.value(3)), (Some(3), None));
        assert_eq!(Coded::from_parts(vec![0, 1], vec![text("C"), text("I")]).first_gap(), None);
    }

    #[test]
    fn rows_that_are_taken_out_leave_the_dictionary() {
        let mut coded = Coded::default();
        coded.push_text("C");
        coded.push_text("I");
        let first = coded.take_rows();
        coded.push_text("I");
        assert_eq!((&first.codes[..], &coded.codes[..]), (&[0, 1][..], &[1][..]));
        assert!(coded.lineage().is(&first.dictionary.lineage));
    }

    #[test]
    fn a_dictionary_that_grows_after_a_copy_has_another_lineage() {
        let mut first = Coded::default();
        first.push_text("C");
        let kept = first.lineage().keep();
        assert!(kept.is(first.clone().lineage()));
        let mut second = first.clone();
        second.push_text("I");
        assert!(!kept.is(second.lineage()), "a code of the copy may mean something else");
    }
}
