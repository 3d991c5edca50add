//! Names that count up: `q0`, `q1`, `q2` and so on.

use crate::SampleId;

/// Names of one beginning and consecutive numbers. Most tables name their samples so, and millions of names take no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountedNames {
    /// What all names begin with. It is not empty, and does not end in a digit.
    beginning: String,
    first: u64,
    /// The digits of the first number; shorter ones would have zeros before them.
    digits: usize,
    count: usize,
}

/// The most bytes that a text has which is held in a view.
const TEXT_MAX: usize = 12;

impl CountedNames {
    /// Texts of at most twelve bytes, as Arrow's views hold them: the length in the lowest four bytes, then the text, then zeros.
    /// Nothing if they do not count up by one, or if the first might be a number.
    pub(super) fn of_views(views: &[u128]) -> Option<Self> {
        let mut counting = CountingTexts::beginning_with(*views.first()?)?;
        for &view in views {
            if !counting.take_view(view) {
                return None;
            }
        }
        Some(counting.names)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// A name as text.
    pub(super) fn text(&self, place: usize) -> String {
        let (number, digits) = (self.first + place as u64, self.digits);
        format!("{}{number:0digits$}", self.beginning)
    }

    pub(super) fn get(&self, place: usize) -> SampleId {
        SampleId::from(self.text(place))
    }

    /// Adds names that go on where these end. False, and without effect, if they do not.
    pub(super) fn append(&mut self, other: &Self) -> bool {
        let goes_on = other.count > 0 && self.text(self.count) == other.text(0);
        self.count += if goes_on { other.count } else { 0 };
        goes_on
    }

    pub(super) fn truncate(&mut self, names: usize) {
        self.count = self.count.min(names);
    }
}

/// Texts of at most twelve bytes that count up, as far as they have been seen.
///
/// ```
/// use calipers_core::{CountingTexts, Table};
///
/// let stored = b"\x02\0\0\0q8\x02\0\0\0q9\x03\0\0\0q10\x02\0\0\0q7";
/// let first = u128::from_le_bytes(*b"\x02\0\0\0q8\0\0\0\0\0\0\0\0\0\0");
/// let mut texts = CountingTexts::beginning_with(first).expect("a letter and a number");
/// assert_eq!(texts.take(stored, 4), (3, 19));
/// assert_eq!((texts.views().len(), Table::with_counting_texts(texts).rows()), (3, 3));
/// ```
#[derive(Clone, Debug)]
pub struct CountingTexts {
    /// Those that have been seen.
    names: CountedNames,
    first: NextView,
    next: NextView,
}

impl CountingTexts {
    /// Texts of which this is the first, and none of which has been seen, as a view of Arrow holds it: the length in the lowest four
    /// bytes, then the text, then zeros. Nothing if it does not end in a number, or might be one.
    #[must_use]
    pub fn beginning_with(first: u128) -> Option<Self> {
        let length = first as u32 as usize;
        let bytes = first.to_le_bytes();
        let text = std::str::from_utf8(bytes.get(4..4 + length).filter(|_| length <= TEXT_MAX)?).ok()?;
        let beginning = text.trim_end_matches(|character: char| character.is_ascii_digit());
        let digits = length - beginning.len();
        // Only a text that begins with a letter is certainly no number and no blank.
        if digits == 0 || !beginning.starts_with(|character: char| character.is_alphabetic()) {
            return None;
        }
        let number = text[beginning.len()..].parse().ok()?;
        let next = NextView { view: first, mask: mask(length), length, beginning: beginning.len() };
        let names = CountedNames { beginning: beginning.to_owned(), first: number, digits, count: 0 };
        Some(Self { names, first: next.clone(), next })
    }

    /// Takes in so many texts, as far as they go on. They stand one after the other, each with its length in four bytes before it.
    /// Returns how many went on, and where these end.
    pub fn take(&mut self, stored: &[u8], count: usize) -> (usize, usize) {
        let (mut taken, mut at) = (0, 0);
        while taken < count {
            let Some(rest) = stored.get(at..) else { break };
            // As long as only the last digit changes, all texts are of one length.
            let alike = self.next.left_in_ten().min(count - taken);
            let length = 4 + self.next.length;
            let found = self.next.count_stored(rest, alike);
            if found == 0 {
                break;
            }
            self.next.go_on(found);
            self.names.count += found;
            taken += found;
            at += found * length;
        }
        (taken, at)
    }

    /// Takes in a text, as a view, if it is the one that has to come next.
    ///
    /// ```
    /// use calipers_core::CountingTexts;
    ///
    /// let view = |text: &[u8; 16]| u128::from_le_bytes(*text);
    /// let mut texts = CountingTexts::beginning_with(view(b"\x02\0\0\0q9\0\0\0\0\0\0\0\0\0\0")).expect("a letter and a number");
    /// assert!(texts.take_view(view(b"\x02\0\0\0q9\0\0\0\0\0\0\0\0\0\0")));
    /// assert!(!texts.take_view(view(b"\x03\0\0\0q11\0\0\0\0\0\0\0\0\0")));
    /// assert!(texts.take_view(view(b"\x03\0\0\0q10\0\0\0\0\0\0\0\0\0")));
    /// ```
    #[inline]
    pub fn take_view(&mut self, view: u128) -> bool {
        let is_next = view == self.next.view;
        if is_next {
            self.go_on();
        }
        is_next
    }

    fn go_on(&mut self) {
        self.names.count += 1;
        self.next.count_up();
    }

    /// The texts that have been seen, as views.
    #[must_use]
    pub fn views(&self) -> Vec<u128> {
        let mut next = self.first.clone();
        let view = |_| {
            let view = next.view;
            next.count_up();
            view
        };
        (0..self.names.count).map(view).collect()
    }

    pub(super) fn into_names(self) -> CountedNames {
        self.names
    }
}

/// The bits of a view with a text of this length.
fn mask(length: usize) -> u128 {
    u128::MAX >> (8 * (TEXT_MAX - length))
}

/// The view that has to come next.
#[derive(Clone, Debug)]
struct NextView {
    view: u128,
    /// The bits that count.
    mask: u128,
    length: usize,
    /// The bytes before the digits.
    beginning: usize,
}

impl NextView {
    /// What is added for the next number, if the last digit is not 9.
    fn one(&self) -> u128 {
        1 << (8 * (3 + self.length))
    }

    /// How many numbers there are from this one on up to the next one that ends in 9.
    fn left_in_ten(&self) -> usize {
        let last = (self.view >> (8 * (3 + self.length))) as u8;
        usize::from((b'9' + 1).saturating_sub(last)).max(1)
    }

    /// How many texts, of so many that differ in their last digit only, stand here one after the other, each with its length in four
    /// bytes before it.
    #[inline(always)]
    fn count_stored(&self, stored: &[u8], alike: usize) -> usize {
        let (length, one) = (4 + self.length, self.one());
        let mut view = self.view;
        for place in 0..alike {
            let start = place * length;
            let found = match stored.get(start..).and_then(|rest| rest.first_chunk()) {
                Some(found) => u128::from_le_bytes(*found),
                // The last texts do not have so many bytes behind them.
                None => match stored.get(start..start + length) {
                    Some(rest) => {
                        let mut found = [0; 16];
                        found[..length].copy_from_slice(rest);
                        u128::from_le_bytes(found)
                    }
                    None => return place,
                },
            };
            if found & self.mask != view {
                return place;
            }
            view = view.wrapping_add(one);
        }
        alike
    }

    /// Goes on by so many numbers, of which all but the last differ in their last digit only.
    fn go_on(&mut self, numbers: usize) {
        self.view += self.one() * (numbers as u128 - 1);
        self.count_up();
    }

    /// The text of the next number; no text at all if it would be too long.
    #[inline]
    fn count_up(&mut self) {
        let one = |place: usize| 1_u128 << (8 * (4 + place));
        let mut place = self.length;
        while place > self.beginning {
            place -= 1;
            if (self.view >> (8 * (4 + place))) as u8 != b'9' {
                self.view += one(place);
                return;
            }
            self.view -= one(place) * u128::from(b'9' - b'0');
        }
        // 99 becomes 00 and then 100. No view is like one without any bits that count.
        if self.length == TEXT_MAX {
            (self.view, self.mask) = (u128::MAX, 0);
            return;
        }
        self.view += one(self.beginning);
        self.view += one(self.length) * u128::from(b'0') + 1;
        self.length += 1;
        self.mask = mask(self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(text: &str) -> u128 {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        let kept = text.len().min(TEXT_MAX);
        view[4..4 + kept].copy_from_slice(&text.as_bytes()[..kept]);
        u128::from_le_bytes(view)
    }

    fn of(texts: &[&str]) -> Option<CountedNames> {
        CountedNames::of_views(&texts.iter().map(|text| view(text)).collect::<Vec<_>>())
    }

    #[test]
    fn names_that_count_up_are_those_that_were_given() {
        for (beginning, first, count) in [("q", 0, 2345), ("sample-", 99_990, 10), ("é", 1, 1), ("q_", 98, 1000)] {
            let texts: Vec<String> = (first..first + count).map(|number| format!("{beginning}{number}")).collect();
            let names = of(&texts.iter().map(String::as_str).collect::<Vec<_>>()).expect("they count up");
            assert_eq!(names.len(), texts.len());
            assert_eq!((0..texts.len()).map(|place| names.text(place)).collect::<Vec<_>>(), texts);
        }
        let padded = of(&["a008", "a009", "a010"]).expect("they count up");
        assert_eq!((padded.text(0), padded.text(2)), ("a008".to_owned(), "a010".to_owned()));
        assert_eq!(of(&["a99", "a100"]).expect("they count up").text(1), "a100");
    }

    #[test]
    fn other_names_are_refused() {
        let wrong: [&[&str]; 12] = [
            &[],
            &["q"],
            &["1", "2"],
            &["-1", "-2"],
            &[" 1"],
            &["q1", "q3"],
            &["q1", "q1"],
            &["q2", "q1"],
            &["q1", "r2"],
            &["q9", "q010"],
            &["q99999999999", "q100000000000"],
            &["sample-000001"],
        ];
        for texts in wrong {
            assert_eq!(of(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn parts_are_joined_where_one_goes_on_with_the_other() {
        let mut names = of(&["q8", "q9"]).expect("they count up");
        assert!(!names.append(&of(&["q11"]).expect("it counts")));
        assert!(!names.append(&of(&["r10"]).expect("it counts")));
        assert!(names.append(&of(&["q10", "q11"]).expect("they count up")));
        assert_eq!((names.len(), names.text(3)), (4, "q11".to_owned()));
        assert!(!of(&["q9"]).expect("it counts").append(&of(&["q010"]).expect("it counts")));
        names.truncate(3);
        assert_eq!((names.len(), names.get(2)), (3, SampleId::from("q10")));
    }
}
