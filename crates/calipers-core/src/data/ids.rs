//! The ids of samples, and the place of each.

use crate::data::counted_names::{CountedNames, CountingTexts};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;

/// The id of a sample: a number or text. `1` and `"1"` are the same sample, as in Inspect.
#[derive(Clone, Debug)]
pub enum SampleId {
    /// A number.
    Int(i64),
    /// Text.
    Text(Arc<str>),
}

impl From<&SampleId> for serde_json::Value {
    fn from(id: &SampleId) -> Self {
        match id {
            SampleId::Int(number) => Self::from(*number),
            SampleId::Text(name) => Self::from(&**name),
        }
    }
}

/// What ids are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum IdRank<'a> {
    Int(i64),
    Text(&'a str),
}

impl<'a> IdRank<'a> {
    /// Text that is a number ranks with the number that it equals.
    fn of_text(text: &'a str) -> Self {
        as_printed(text).map_or(Self::Text(text), Self::Int)
    }
}

impl Ord for IdRank<'_> {
    /// Numbers first, by size, then text, the shorter first, so that `q9` comes before `q10`.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Int(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Int(_)) => Ordering::Greater,
            (Self::Text(a), Self::Text(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        }
    }
}

impl PartialOrd for IdRank<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SampleId {
    fn rank(&self) -> IdRank<'_> {
        match self {
            Self::Int(i) => IdRank::Int(*i),
            Self::Text(text) => IdRank::of_text(text),
        }
    }
}

impl SampleId {
    /// The number, if it is one or prints as one.
    #[must_use]
    pub fn as_number(&self) -> Option<i64> {
        match self.rank() {
            IdRank::Int(number) => Some(number),
            IdRank::Text(_) => None,
        }
    }

    /// The id of the same sample where others of another task may have the same one.
    ///
    /// ```
    /// use calipers_core::SampleId;
    ///
    /// assert_eq!(SampleId::from(17).within("law"), SampleId::from("law/17"));
    /// ```
    #[must_use]
    pub fn within(&self, task: &str) -> Self {
        Self::Text(format!("{task}/{self}").into())
    }

    /// A digest that is the same on every machine, in every version and for every spelling of the id: FNV-1a of its text, mixed
    /// so that every bit depends on every byte. Parts of a run are told apart by it.
    ///
    /// ```
    /// use calipers_core::SampleId;
    ///
    /// assert_eq!(SampleId::from("17").digest(), SampleId::from(17).digest());
    /// assert_eq!(SampleId::from("q1").digest(), 0x490d_1e00_6960_b328);
    /// ```
    #[must_use]
    pub fn digest(&self) -> u64 {
        let text = match self {
            Self::Int(number) => std::borrow::Cow::Owned(number.to_string()),
            Self::Text(text) => std::borrow::Cow::Borrowed(&**text),
        };
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let mut hash = text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        // The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    }
}

/// The number that prints as this text. The first byte rules out most texts.
fn as_printed(text: &str) -> Option<i64> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    match digits.as_bytes() {
        [b'0'] if !is_negative => Some(0),
        [b'1'..=b'9', ..] => text.parse().ok(),
        _ => None,
    }
}

impl PartialEq for SampleId {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for SampleId {}

impl std::hash::Hash for SampleId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
    }
}

impl PartialOrd for SampleId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SampleId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl fmt::Display for SampleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(i) => write!(f, "{i}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<i64> for SampleId {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<i32> for SampleId {
    fn from(i: i32) -> Self {
        Self::Int(i64::from(i))
    }
}

impl From<&str> for SampleId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for SampleId {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// The ids of the samples of a run, each once, in the order of their first appearance.
#[derive(Clone, Default)]
pub(crate) struct SampleIds {
    names: IdNames,
    /// The place of each id. Built when the first id arrives that is not greater than all others; in a sorted file none
    /// does, and no id is ever looked up.
    index: Option<HashTable<u32>>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Debug)]
enum IdNames {
    /// Names that count up, none of which is written down. They ascend.
    Counted(CountedNames),
    Listed(IdStorage),
}

impl Default for IdNames {
    fn default() -> Self {
        Self::Listed(IdStorage::default())
    }
}

impl IdNames {
    fn len(&self) -> usize {
        match self {
            Self::Counted(names) => names.len(),
            Self::Listed(names) => names.len(),
        }
    }

    fn get(&self, place: usize) -> SampleId {
        match self {
            Self::Counted(names) => names.get(place),
            Self::Listed(names) => names.get(place),
        }
    }

    /// The names written down.
    fn listed(&self) -> Cow<'_, IdStorage> {
        match self {
            Self::Counted(names) => Cow::Owned(IdStorage::of_counted(names)),
            Self::Listed(names) => Cow::Borrowed(names),
        }
    }

    /// Writes the names down, to be changed.
    fn list(&mut self) -> &mut IdStorage {
        loop {
            match self {
                Self::Counted(names) => *self = Self::Listed(IdStorage::of_counted(names)),
                Self::Listed(names) => return names,
            }
        }
    }
}

#[derive(Clone, Debug)]
enum IdStorage {
    /// Numbers only: eight bytes per id.
    Ints(Vec<i64>),
    /// Texts only, one after the other, and where each ends.
    Texts(String, Vec<usize>),
    /// Short texts only, each as [`short_view`] makes it.
    Short(Vec<[u8; 16]>),
    Any(Vec<SampleId>),
}

impl Default for IdStorage {
    fn default() -> Self {
        Self::Ints(Vec::new())
    }
}

impl IdStorage {
    fn of_counted(counted: &CountedNames) -> Self {
        let mut names = Self::default();
        (0..counted.len()).for_each(|place| names.push(IdRef::Text(&counted.text(place))));
        names
    }

    fn len(&self) -> usize {
        match self {
            Self::Ints(ints) => ints.len(),
            Self::Texts(_, ends) => ends.len(),
            Self::Short(views) => views.len(),
            Self::Any(names) => names.len(),
        }
    }

    fn get(&self, place: usize) -> SampleId {
        match self {
            Self::Ints(ints) => SampleId::Int(ints[place]),
            Self::Texts(texts, ends) => SampleId::from(text_at(texts, ends, place)),
            Self::Short(views) => SampleId::from(short_text(&views[place])),
            Self::Any(names) => names[place].clone(),
        }
    }

    /// A text that does not end in a digit.
    fn word(&self, place: usize) -> Option<&str> {
        let is_word = |last: Option<&u8>| last.is_some_and(|last| !last.is_ascii_digit());
        match self {
            Self::Ints(_) => None,
            Self::Texts(texts, ends) => {
                let last = ends[place].checked_sub(1).and_then(|last| texts.as_bytes().get(last));
                is_word(last).then(|| text_at(texts, ends, place))
            }
            Self::Short(views) => {
                let view = &views[place];
                is_word(view.get(3 + usize::from(view[0]))).then(|| short_text(view))
            }
            Self::Any(names) => match &names[place] {
                SampleId::Text(text) => is_word(text.as_bytes().last()).then_some(&**text),
                SampleId::Int(_) => None,
            },
        }
    }

    fn rank(&self, place: usize) -> IdRank<'_> {
        match self {
            Self::Ints(ints) => IdRank::Int(ints[place]),
            Self::Texts(texts, ends) => IdRank::of_text(text_at(texts, ends, place)),
            Self::Short(views) => IdRank::of_text(short_text(&views[place])),
            Self::Any(names) => names[place].rank(),
        }
    }

    /// The order of an id here and one there. Most ids that are compared are the same, which their bytes show.
    fn compare(&self, at: usize, other: &Self, there: usize) -> Ordering {
        match (self, other) {
            (Self::Ints(mine), Self::Ints(theirs)) => mine[at].cmp(&theirs[there]),
            (Self::Short(mine), Self::Short(theirs)) if mine[at] == theirs[there] => Ordering::Equal,
            _ => self.rank(at).cmp(&other.rank(there)),
        }
    }

    fn push(&mut self, name: IdRef<'_>) {
        match (&mut *self, name) {
            (Self::Ints(ints), IdRef::Int(i)) => ints.push(i),
            (Self::Ints(ints), IdRef::Text(text)) if ints.is_empty() => {
                *self = match short_view(text) {
                    Some(view) => Self::Short(vec![view.to_le_bytes()]),
                    None => Self::Texts(text.into(), vec![text.len()]),
                };
            }
            (Self::Short(views), IdRef::Text(text)) => match short_view(text) {
                Some(view) => views.push(view.to_le_bytes()),
                None => {
                    let (mut texts, mut ends) = (String::new(), Vec::with_capacity(views.len() + 1));
                    for text in views.iter().map(short_text).chain([text]) {
                        texts.push_str(text);
                        ends.push(texts.len());
                    }
                    *self = Self::Texts(texts, ends);
                }
            },
            (Self::Texts(texts, ends), IdRef::Text(text)) => {
                texts.push_str(text);
                ends.push(texts.len());
            }
            (Self::Any(names), name) => names.push(name.into()),
            (_, name) => {
                let mut names: Vec<SampleId> = (0..self.len()).map(|place| self.get(place)).collect();
                names.push(name.into());
                *self = Self::Any(names);
            }
        }
    }
}

impl IdStorage {
    /// Adds ids that come after these. False, and without effect, if they are stored in another way.
    fn append(&mut self, other: &Self) -> bool {
        match (&mut *self, other) {
            (Self::Ints(mine), Self::Ints(theirs)) => mine.extend_from_slice(theirs),
            (Self::Short(mine), Self::Short(theirs)) => mine.extend_from_slice(theirs),
            (Self::Texts(mine, ends), Self::Texts(theirs, their_ends)) => {
                let start = mine.len();
                mine.push_str(theirs);
                ends.extend(their_ends.iter().map(|end| start + end));
            }
            // Names that count up become longer.
            (Self::Short(_), Self::Texts(..)) | (Self::Texts(..), Self::Short(_)) => {
                (0..other.len()).for_each(|place| self.push(IdRef::from(&other.get(place))));
            }
            _ => return false,
        }
        true
    }

    /// The place of each of these ids in another list, where both ascend.
    fn merged_places(&self, other: &Self) -> Vec<Option<u32>> {
        let mut next = 0;
        let place = |at: usize| {
            while next < other.len() {
                match self.compare(at, other, next) {
                    Ordering::Less => return None,
                    Ordering::Equal => return Some(next as u32),
                    Ordering::Greater => next += 1,
                }
            }
            None
        };
        (0..self.len()).map(place).collect()
    }

    fn hash_all(&self, hasher: &DefaultHashBuilder) -> HashTable<u32> {
        let mut index = HashTable::with_capacity(self.len() * 2);
        let hash = |place: &u32| hasher.hash_one(self.rank(*place as usize));
        for place in 0..self.len() as u32 {
            index.insert_unique(hash(&place), place, hash);
        }
        index
    }
}

/// A text of at most twelve bytes as Arrow's views hold it: the length in the lowest four bytes, then the text, then zeros.
fn short_view(text: &str) -> Option<u128> {
    let bytes = text.as_bytes();
    // The last bytes are read at once, and those that were read before are shifted out.
    let (first, last) = match bytes.len() {
        0..4 => {
            let byte = |place: usize| bytes.get(place).copied().map_or(0, u64::from) << (8 * place);
            (byte(0) | byte(1) | byte(2), 0)
        }
        4..8 => {
            let (first, last) = (u32::from_le_bytes(*bytes.first_chunk()?), u32::from_le_bytes(*bytes.last_chunk()?));
            (u64::from(first) | u64::from(last) << (8 * (bytes.len() - 4)), 0)
        }
        8..=12 => {
            let last = u64::from(u32::from_le_bytes(*bytes.last_chunk()?)) >> (8 * (12 - bytes.len()));
            (u64::from_le_bytes(*bytes.first_chunk()?), last)
        }
        _ => return None,
    };
    Some(bytes.len() as u128 | u128::from(first) << 32 | u128::from(last) << 96)
}

/// True when a text that is no number comes after another id, both as views. False does not say that it does not.
fn is_text_after(view: u128, before: u128) -> bool {
    // With the first byte highest, texts of equal length sort like numbers. Numbers come before all texts.
    let rank = |view: u128| (view as u32, (view >> 32).swap_bytes());
    !may_be_number(view) && rank(view) > rank(before)
}

/// True for a view whose text may be a number, or is no name.
fn may_be_number(view: u128) -> bool {
    matches!((view >> 32) as u8, 0..=b' ' | b'-' | b'0'..=b'9')
}

fn short_text(view: &[u8; 16]) -> &str {
    std::str::from_utf8(&view[4..4 + usize::from(view[0])]).unwrap_or_default()
}

fn text_at<'t>(texts: &'t str, ends: &[usize], place: usize) -> &'t str {
    let start = place.checked_sub(1).map_or(0, |before| ends[before]);
    &texts[start..ends[place]]
}

/// An id that is not stored yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IdRef<'a> {
    Int(i64),
    Text(&'a str),
}

impl<'a> IdRef<'a> {
    fn rank(self) -> IdRank<'a> {
        match self {
            Self::Int(i) => IdRank::Int(i),
            Self::Text(text) => IdRank::of_text(text),
        }
    }
}

impl From<IdRef<'_>> for SampleId {
    fn from(name: IdRef<'_>) -> Self {
        match name {
            IdRef::Int(i) => Self::Int(i),
            IdRef::Text(text) => Self::from(text),
        }
    }
}

impl<'a> From<&'a SampleId> for IdRef<'a> {
    fn from(id: &'a SampleId) -> Self {
        match id {
            SampleId::Int(i) => Self::Int(*i),
            SampleId::Text(text) => Self::Text(text),
        }
    }
}

impl SampleIds {
    fn of(names: IdStorage) -> Self {
        Self { names: IdNames::Listed(names), ..Self::default() }
    }

    /// Numbers that are in order, each once. Gives them back if they are not.
    pub(crate) fn ascending(ints: Vec<i64>) -> Result<Self, Vec<i64>> {
        if ints.is_sorted_by(|a, b| a < b) { Ok(Self::of(IdStorage::Ints(ints))) } else { Err(ints) }
    }

    /// Texts of at most twelve bytes that are in order, each once. Each is given as Arrow's views hold it: the length in
    /// the lowest four bytes, then the text, then zeros. Nothing if they are not in order, longer, or might be numbers.
    pub(crate) fn ascending_short(views: &[u128]) -> Option<Self> {
        const HIGH: u128 = u128::from_le_bytes([0x80; 16]);
        if let Some(names) = CountedNames::of_views(views) {
            return Some(Self { names: IdNames::Counted(names), ..Self::default() });
        }
        let (mut last, mut high) = ((0, 0), 0);
        for &view in views {
            let (length, text) = (view as u32, view >> 32);
            let is_text = length <= 12 && !may_be_number(view);
            // With the first byte highest, texts of equal length sort like numbers.
            let name = (length, text.swap_bytes());
            if !is_text || name <= last {
                return None;
            }
            last = name;
            high |= text;
        }
        let views: Vec<[u8; 16]> = views.iter().map(|view| view.to_le_bytes()).collect();
        let is_utf8 = |view: &[u8; 16]| std::str::from_utf8(&view[4..4 + usize::from(view[0])]).is_ok();
        // Bytes without the highest bit are ASCII, and need no second look.
        (high & HIGH == 0 || views.iter().all(is_utf8)).then(|| Self::of(IdStorage::Short(views)))
    }

    /// Texts that count up.
    pub(crate) fn counting(texts: CountingTexts) -> Self {
        Self { names: IdNames::Counted(texts.into_names()), ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// The ids that are written down as texts and do not end in a digit, with their places. Numbers are none, and names that count up
    /// end in digits; the last byte rules out most others.
    pub(crate) fn words(&self) -> impl Iterator<Item = (u32, &str)> {
        let listed = match &self.names {
            IdNames::Counted(_) | IdNames::Listed(IdStorage::Ints(_)) => None,
            IdNames::Listed(names) => Some(names),
        };
        listed
            .into_iter()
            .flat_map(|names| (0..names.len()).filter_map(|place| Some((place as u32, names.word(place)?))))
    }

    pub(crate) fn get(&self, place: u32) -> SampleId {
        self.names.get(place as usize)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = SampleId> {
        (0..self.len() as u32).map(|place| self.get(place))
    }

    /// The place of an id, which is added if it is new.
    pub(crate) fn place(&mut self, name: IdRef<'_>) -> u32 {
        let names = self.names.list();
        // Most files have short names in order.
        if let (None, IdStorage::Short(views), IdRef::Text(text)) = (&self.index, &mut *names, name)
            && let (Some(view), Some(last)) = (short_view(text), views.last())
            && is_text_after(view, u128::from_le_bytes(*last))
        {
            views.push(view.to_le_bytes());
            return views.len() as u32 - 1;
        }
        let rank = name.rank();
        let Some(index) = &mut self.index else { return self.place_in_order(name, rank) };
        let hash = self.hasher.hash_one(rank);
        if let Some(&place) = index.find(hash, |&place| names.rank(place as usize) == rank) {
            return place;
        }
        let place = names.len() as u32;
        index.insert_unique(hash, place, |&place| self.hasher.hash_one(names.rank(place as usize)));
        names.push(name);
        place
    }

    fn place_in_order(&mut self, name: IdRef<'_>, rank: IdRank<'_>) -> u32 {
        let names = self.names.list();
        let last = names.len().checked_sub(1);
        match last.map(|last| (last, rank.cmp(&names.rank(last)))) {
            Some((last, Ordering::Equal)) => return last as u32,
            Some((_, Ordering::Less)) => {
                self.make_index();
                return self.place(name);
            }
            None | Some((_, Ordering::Greater)) => {}
        }
        names.push(name);
        names.len() as u32 - 1
    }

    /// True when all ids of another part come after these, and both parts are in order.
    pub(crate) fn are_before(&self, other: &Self) -> bool {
        let (Some(last), Some(_)) = (self.len().checked_sub(1), other.len().checked_sub(1)) else { return false };
        let are_in_order = self.index.is_none() && other.index.is_none();
        are_in_order && self.names.get(last) < other.names.get(0)
    }

    /// Adds the ids of another part at once if all of them come after these. False, and without effect, if they do not, or
    /// if they are stored in another way.
    pub(crate) fn append_after(&mut self, other: &Self) -> bool {
        if !self.are_before(other) {
            return false;
        }
        if let (IdNames::Counted(mine), IdNames::Counted(theirs)) = (&mut self.names, &other.names)
            && mine.append(theirs)
        {
            return true;
        }
        self.names.list().append(&other.names.listed())
    }

    /// Makes room for this many more ids, where they are of one size.
    pub(crate) fn reserve(&mut self, names: usize) {
        match &mut self.names {
            IdNames::Listed(IdStorage::Ints(ints)) => ints.reserve(names),
            IdNames::Listed(IdStorage::Short(views)) => views.reserve(names),
            IdNames::Listed(IdStorage::Texts(..) | IdStorage::Any(_)) | IdNames::Counted(_) => {}
        }
    }

    /// True when both are the same ids in one ascending order. False does not say that they are not.
    pub(crate) fn is_same_order(&self, other: &Self) -> bool {
        if self.index.is_some() || other.index.is_some() || self.len() != other.len() {
            return false;
        }
        match (&self.names, &other.names) {
            (IdNames::Counted(mine), IdNames::Counted(theirs)) => mine == theirs,
            (IdNames::Listed(IdStorage::Ints(mine)), IdNames::Listed(IdStorage::Ints(theirs))) => mine == theirs,
            (IdNames::Listed(IdStorage::Short(mine)), IdNames::Listed(IdStorage::Short(theirs))) => mine == theirs,
            (IdNames::Listed(IdStorage::Texts(mine, ends)), IdNames::Listed(IdStorage::Texts(theirs, their_ends))) => {
                ends == their_ends && mine == theirs
            }
            _ => false,
        }
    }

    /// The place of each of these ids in another list, if it is there.
    pub(crate) fn places_in(&self, other: &Self) -> Vec<Option<u32>> {
        let (mine, theirs) = (self.names.listed(), other.names.listed());
        if self.index.is_none() && other.index.is_none() {
            return mine.merged_places(&theirs);
        }
        let own;
        let (index, hasher) = match &other.index {
            Some(index) => (index, &other.hasher),
            None => {
                own = theirs.hash_all(&other.hasher);
                (&own, &other.hasher)
            }
        };
        let place = |at: usize| {
            let rank = mine.rank(at);
            index.find(hasher.hash_one(rank), |&place| theirs.rank(place as usize) == rank).copied()
        };
        (0..self.len()).map(place).collect()
    }

    /// The order of two ids.
    pub(crate) fn compare(&self, a: u32, b: u32) -> Ordering {
        match &self.names {
            IdNames::Counted(_) => a.cmp(&b),
            IdNames::Listed(names) => names.compare(a as usize, names, b as usize),
        }
    }

    /// Leaves out the ids from this place on.
    pub(crate) fn truncate(&mut self, names: usize) {
        match &mut self.names {
            IdNames::Counted(counted) => counted.truncate(names),
            IdNames::Listed(IdStorage::Ints(ints)) => ints.truncate(names),
            IdNames::Listed(IdStorage::Texts(texts, ends)) => {
                ends.truncate(names);
                texts.truncate(ends.last().copied().unwrap_or(0));
            }
            IdNames::Listed(IdStorage::Short(views)) => views.truncate(names),
            IdNames::Listed(IdStorage::Any(any)) => any.truncate(names),
        }
        if self.index.is_some() {
            self.make_index();
        }
    }

    fn make_index(&mut self) {
        self.index = Some(self.names.list().hash_all(&self.hasher));
    }

    /// The first and the last id, if all are in order.
    pub(crate) fn range(&self) -> Option<(SampleId, SampleId)> {
        let last = self.len().checked_sub(1)?;
        self.index.is_none().then(|| (self.get(0), self.get(last as u32)))
    }

    /// True when no id is in two of these parts. May be false although none is: ids are compared by their hashes.
    pub(crate) fn are_apart<'a>(parts: impl Iterator<Item = &'a Self> + Clone) -> bool {
        let mut end: Option<SampleId> = None;
        let mut follows = |ids: &'a Self| {
            let Some(last) = ids.len().checked_sub(1) else { return true };
            let is_after = end.as_ref().is_none_or(|end| *end < ids.get(0));
            end = Some(ids.get(last as u32));
            is_after && ids.index.is_none()
        };
        if parts.clone().all(&mut follows) {
            return true;
        }
        let hasher = DefaultHashBuilder::default();
        let mut seen: HashTable<u64> = HashTable::with_capacity(parts.clone().map(Self::len).sum());
        for ids in parts {
            let names = ids.names.listed();
            for place in 0..names.len() {
                let hash = hasher.hash_one(names.rank(place));
                match seen.entry(hash, |&other| other == hash, |&other| other) {
                    hashbrown::hash_table::Entry::Occupied(_) => return false,
                    hashbrown::hash_table::Entry::Vacant(vacant) => vacant.insert(hash),
                };
            }
        }
        true
    }
}

impl fmt::Debug for SampleIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<SampleId> for SampleIds {
    fn from_iter<I: IntoIterator<Item = SampleId>>(names: I) -> Self {
        let mut ids = Self::default();
        for name in names {
            ids.place((&name).into());
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_equals_the_number_that_prints_like_it() {
        for (text, number) in [("0", 0), ("7", 7), ("-5", -5), ("9223372036854775807", i64::MAX)] {
            assert_eq!(SampleId::from(text), SampleId::Int(number));
        }
        for text in ["00", "-0", "+1", "01", "1.0", " 1", "1e3", "", "-", "9223372036854775808"] {
            let id = SampleId::from(text);
            assert!(matches!(id.rank(), IdRank::Text(_)), "{text}");
        }
    }

    #[test]
    fn names_are_found_in_any_order_and_of_any_kind() {
        let mut ids = SampleIds::default();
        let given: [SampleId; 8] =
            [1.into(), 2.into(), 2.into(), "b".into(), "1".into(), "a".into(), 3.into(), "b".into()];
        let places: Vec<u32> = given.iter().map(|id| ids.place(id.into())).collect();
        assert_eq!(places, [0, 1, 1, 2, 0, 3, 4, 2]);
        assert_eq!(format!("{ids:?}"), "[Int(1), Int(2), Text(\"b\"), Text(\"a\"), Int(3)]");
    }

    #[test]
    fn short_texts_in_order_are_recognised() {
        let view = |name: &&str| {
            let mut view = [0; 16];
            view[..4].copy_from_slice(&(name.len() as u32).to_le_bytes());
            let kept = name.len().min(12);
            view[4..4 + kept].copy_from_slice(&name.as_bytes()[..kept]);
            u128::from_le_bytes(view)
        };
        let ids = |names: &[&str]| SampleIds::ascending_short(&names.iter().map(view).collect::<Vec<_>>());
        for names in [&["q1", "q2", "q9", "q10"][..], &["sample-00001", "sample-00002"], &["a", "zz", "é"], &[]] {
            let found: Vec<String> = ids(names).expect("in order").iter().map(|id| id.to_string()).collect();
            assert_eq!(found, names);
        }
        let wrong: [&[&str]; 8] = [
            &["b", "a"],
            &["a", "a"],
            &["q10", "q9"],
            &["1", "2"],
            &["-a", "-b"],
            &["", "a"],
            &["sample-10001", "sample-00002"],
            &["sample-000001", "sample-000002"],
        ];
        for names in wrong {
            assert!(ids(names).is_none(), "{names:?}");
        }
    }

    #[test]
    fn names_of_any_length_and_order_are_placed_as_by_a_list() {
        let names = [
            "",
            "a",
            "b",
            "ab",
            "é",
            "abc",
            "abcd",
            "abce",
            "abcdefg",
            "abcdefgh",
            "abcdefghijkl",
            "abcdefghijkm",
            "abcdefghijklm",
            "5",
            "17",
            "-3",
            "q9",
            "q10",
            "q11",
            " x",
            "-",
            "0",
            "007",
            "zz",
            "a\0",
            "a\0\0",
        ];
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..3000 {
            let mut given: Vec<SampleId> = (0..1 + next(8))
                .map(|_| match next(6) {
                    0 => SampleId::Int(next(20) as i64),
                    _ => SampleId::from(names[next(names.len())]),
                })
                .collect();
            if next(2) == 0 {
                given.sort();
            }
            let (mut ids, mut list) = (SampleIds::default(), Vec::<SampleId>::new());
            for id in &given {
                let known = list.iter().position(|known| known == id);
                let want = known.unwrap_or_else(|| {
                    list.push(id.clone());
                    list.len() - 1
                });
                assert_eq!(ids.place(id.into()), want as u32, "{given:?}");
            }
            let spelt = |id: &SampleId| id.to_string();
            assert_eq!(ids.iter().map(|id| spelt(&id)).collect::<Vec<_>>(), list.iter().map(spelt).collect::<Vec<_>>());
            let is_sorted = given.windows(2).all(|pair| pair[0] <= pair[1]);
            assert_eq!(ids.range().is_some(), is_sorted, "{given:?}");
        }
    }

    #[test]
    fn parts_that_share_a_name_are_not_apart() {
        let ids = |names: &[&str]| names.iter().map(|&name| SampleId::from(name)).collect::<SampleIds>();
        let apart = |parts: &[SampleIds]| SampleIds::are_apart(parts.iter());
        assert!(apart(&[ids(&["1", "2"]), ids(&[]), ids(&["3", "b"]), ids(&["c"])]));
        assert!(apart(&[ids(&["q1", "q9"]), ids(&["q10", "q11"])]));
        assert!(apart(&[ids(&["q10", "q11"]), ids(&["q1", "q9"])]), "not in order, but apart");
        assert!(!apart(&[ids(&["q1", "q9"]), ids(&["q10", "q9"])]));
        assert!(!apart(&[ids(&["1"]), ids(&["1"])]));
    }
}
