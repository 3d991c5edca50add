//! Shuffles choices and updates the letters of the right ones.

use super::{PlacedSample, PythonRandom};
use crate::{ReadError, Source};
use std::sync::Arc;

/// Shuffles the choices of every sample that has some, one generator for all, as Inspect does.
pub(super) fn shuffle(source: &Source, samples: &mut [PlacedSample], seed: u64) -> Result<(), ReadError> {
    let mut random = PythonRandom::new(seed);
    for (place, sample) in samples {
        if sample.choices.is_empty() {
            continue;
        }
        let mut order: Vec<usize> = (0..sample.choices.len()).collect();
        random.shuffle(&mut order);
        for target in &mut sample.target.0 {
            let now = position(target).and_then(|before| order.iter().position(|original| *original == before));
            *target = now.map(letter).ok_or_else(|| {
                let what = format!("the target `{target}` is not the letter of one of the {} choices", order.len());
                source.error(what).at(place.clone()).hint("name the right choice by its letter: A is the first")
            })?;
        }
        sample.choices = order.iter().map(|original| sample.choices[*original].clone()).collect();
    }
    Ok(())
}

/// The index of a choice, given by its letter, or by its number from the 27th on.
fn position(letter: &str) -> Option<usize> {
    match letter.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => letter.parse::<usize>().ok().filter(|number| *number > 0)?.checked_add(25),
    }
}

fn letter(place: usize) -> Arc<str> {
    match u8::try_from(place) {
        Ok(place @ 0..26) => char::from(b'A' + place).to_string().into(),
        _ => (place - 25).to_string().into(),
    }
}
