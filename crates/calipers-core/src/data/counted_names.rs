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
        let first = *views.first()?;
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
        let mut next = NextView { view: first, length, beginning: beginning.len() };
        for &view in views {
            if view != next.view {
                return None;
            }
            next.count_up();
        }
        Some(Self { beginning: beginning.to_owned(), first: number, digits, count: views.len() })
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

/// The view that has to come next.
struct NextView {
    view: u128,
    length: usize,
    /// The bytes before the digits.
    beginning: usize,
}

impl NextView {
    /// The text of the next number; no text at all if it would be too long.
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
        // 99 becomes 00 and then 100.
        if self.length == TEXT_MAX {
            self.view = u128::MAX;
            return;
        }
        self.view += one(self.beginning);
        self.view += one(self.length) * u128::from(b'0') + 1;
        self.length += 1;
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
