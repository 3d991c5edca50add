//! The letters that stand for choices.

use crate::Choice;
use std::fmt::Write as _;

/// The letter of a choice: `A` to `Z`, then `1`, `2` and so on.
pub(crate) fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place @ 0..26) => char::from(b'A' + place).to_string(),
        _ => (place - 25).to_string(),
    }
}

/// The index of the choice with this letter or number.
pub(crate) fn place(letter: &str) -> Option<usize> {
    if let [c] = letter.as_bytes()
        && c.is_ascii_alphabetic()
    {
        return Some(usize::from(c.to_ascii_uppercase() - b'A'));
    }
    let number: usize = letter.parse().ok().filter(|number| *number > 0)?;
    number.checked_add(25)
}

/// The choices as shown to the model, one per line.
pub(crate) fn list_choices<'a>(choices: impl IntoIterator<Item = &'a Choice>) -> String {
    let mut lines = String::new();
    for (place, choice) in choices.into_iter().enumerate() {
        let line_break = if place == 0 { "" } else { "\n" };
        write!(lines, "{line_break}{}) {}", letter(place), choice.text).expect("writing to a string cannot fail");
    }
    lines
}

/// The choices in the order that the sample has.
pub(crate) fn original_order(choices: &[Choice]) -> Vec<&Choice> {
    let mut ordered: Vec<&Choice> = choices.iter().collect();
    ordered.sort_by_key(|choice| choice.original);
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_places_are_one_to_one() {
        for at in 0..100 {
            assert_eq!(place(&letter(at)), Some(at));
        }
        assert_eq!((letter(0), letter(25), letter(26)), ("A".into(), "Z".into(), "1".into()));
        assert_eq!((place("b"), place("0"), place("AB"), place(""), place("ß")), (Some(1), None, None, None, None));
    }
}
