//! The order of attempts, and the seed of each.

use calipers_core::SampleId;
use std::fmt::{self, Write as _};

/// All attempts of a run, as indices of samples and epochs from 1.
///
/// In order: every sample once, then every sample again. Shuffled: samples in an order that only the seed decides, each
/// with all its attempts, so that a stopping rule sees whole samples in random order.
pub(crate) struct Order {
    samples: u64,
    epochs: u32,
    next: u64,
    shuffled: Option<Vec<u32>>,
}

impl Order {
    pub(crate) fn new(samples: u32, epochs: u32, shuffle: Option<u64>) -> Self {
        Self { samples: samples.into(), epochs, next: 0, shuffled: shuffle.map(|seed| shuffle_places(samples, seed)) }
    }

    /// The number of all attempts, including past ones.
    pub(crate) fn attempts(&self) -> u64 {
        self.samples * u64::from(self.epochs)
    }
}

impl Iterator for Order {
    type Item = (usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next;
        if at >= self.attempts() {
            return None;
        }
        self.next += 1;
        Some(match &self.shuffled {
            None => ((at % self.samples) as usize, (at / self.samples) as u32 + 1),
            Some(order) => {
                let epochs = u64::from(self.epochs);
                (order[(at / epochs) as usize] as usize, (at % epochs) as u32 + 1)
            }
        })
    }
}

/// The samples of a run, by their places, in the order in which they are launched: shuffled by a seed, or as they come.
#[must_use]
pub fn launch_order(samples: usize, seed: Option<u64>) -> Vec<usize> {
    match (seed, u32::try_from(samples)) {
        (Some(seed), Ok(samples)) => shuffle_places(samples, seed).into_iter().map(|place| place as usize).collect(),
        _ => (0..samples).collect(),
    }
}

/// Fisher and Yates, with a fixed generator: a resumed run must find the order of the first.
fn shuffle_places(samples: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..samples).collect();
    let mut state = seed;
    for place in (1..order.len()).rev() {
        state = state.wrapping_add(GOLDEN);
        let other = (u128::from(mix(state)) * (place as u128 + 1)) >> 64;
        order.swap(place, other as usize);
    }
    order
}

/// The seed of an attempt, independent of all other attempts.
pub(crate) fn seed_of(seed: u64, id: &SampleId, epoch: u32) -> u64 {
    let mut text = Fnv(0xcbf2_9ce4_8422_2325);
    write!(text, "{id}").expect("a hash takes any text");
    mix(mix(seed.wrapping_add(GOLDEN)) ^ mix(text.0.wrapping_add(GOLDEN)).wrapping_add(u64::from(epoch)))
}

/// The step of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// FNV-1a, which is quick for short names.
struct Fnv(u64);

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_comes_once_in_either_order() {
        assert_eq!(Order::new(2, 2, None).collect::<Vec<_>>(), [(0, 1), (1, 1), (0, 2), (1, 2)]);
        let shuffled: Vec<_> = Order::new(50, 3, Some(7)).collect();
        assert!(shuffled.chunks(3).all(|sample| sample.iter().all(|one| one.0 == sample[0].0)));
        let mut sorted = shuffled.clone();
        sorted.sort_unstable();
        assert_ne!(sorted, shuffled);
        let all: Vec<_> = (0..50).flat_map(|sample| (1..=3).map(move |epoch| (sample, epoch))).collect();
        assert_eq!(sorted, all);
        assert_eq!(Order::new(0, 3, Some(7)).count(), 0);
    }

    #[test]
    fn a_seed_means_the_same_order_for_ever() {
        assert_eq!(super::shuffle_places(8, 1), FIRST_ORDER);
        assert_ne!(super::shuffle_places(8, 2), FIRST_ORDER);
    }

    /// SplitMix64 from seed 1, also computed in Python. Changing this would give resumed runs another order.
    const FIRST_ORDER: [u32; 8] = [0, 3, 7, 1, 2, 6, 5, 4];

    #[test]
    fn attempts_have_seeds_of_their_own() {
        let mut seeds: Vec<u64> = Vec::new();
        for seed in [0, 1] {
            for id in [SampleId::from(1), SampleId::from("a")] {
                seeds.extend((1..=3).map(|epoch| seed_of(seed, &id, epoch)));
            }
        }
        let different: std::collections::HashSet<_> = seeds.iter().collect();
        assert_eq!(different.len(), seeds.len());
        assert_eq!(seed_of(5, &SampleId::from(1), 2), seed_of(5, &SampleId::from("1"), 2));
    }
}
