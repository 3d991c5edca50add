//! The order that Python's `random.Random(seed).shuffle` gives: the Mersenne Twister MT19937 (Matsumoto and Nishimura,
//! 1998) with the seeding by an array of their reference program, as CPython uses it.

const WORDS: usize = 624;
const MIDDLE: usize = 397;

/// Python's generator.
pub(super) struct PythonRandom {
    state: [u32; WORDS],
    next: usize,
}

impl PythonRandom {
    /// The generator that `random.Random(seed)` is.
    pub(super) fn new(seed: u64) -> Self {
        let low = seed as u32;
        let high = (seed >> 32) as u32;
        if high == 0 { Self::by_array(&[low]) } else { Self::by_array(&[low, high]) }
    }

    fn by_array(key: &[u32]) -> Self {
        let mut state = [0_u32; WORDS];
        state[0] = 19_650_218;
        for at in 1..WORDS {
            let before = state[at - 1];
            state[at] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at as u32);
        }
        let mut at = 1;
        let mut step = |state: &mut [u32; WORDS], factor: u32, add: u32| {
            let before = state[at - 1];
            state[at] = (state[at] ^ (before ^ (before >> 30)).wrapping_mul(factor)).wrapping_add(add);
            if factor == 1_566_083_941 {
                state[at] = state[at].wrapping_sub(at as u32);
            }
            at += 1;
            if at == WORDS {
                state[0] = state[WORDS - 1];
                at = 1;
            }
        };
        for count in 0..WORDS.max(key.len()) {
            let place = count % key.len();
            step(&mut state, 1_664_525, key[place].wrapping_add(place as u32));
        }
        for _ in 1..WORDS {
            step(&mut state, 1_566_083_941, 0);
        }
        state[0] = 1 << 31;
        Self { state, next: WORDS }
    }

    fn word(&mut self) -> u32 {
        if self.next == WORDS {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn twist(&mut self) {
        for at in 0..WORDS {
            let bits = (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % WORDS] & 0x7fff_ffff);
            let odd = if bits & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[at] = self.state[(at + MIDDLE) % WORDS] ^ (bits >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// A number below this one, which is at most 2³¹: draws that many bits until the number is small enough.
    fn below(&mut self, limit: usize) -> usize {
        let bits = usize::BITS - limit.leading_zeros();
        loop {
            let found = (self.word() >> (32 - bits)) as usize;
            if found < limit {
                return found;
            }
        }
    }

    /// Shuffles items in place.
    pub(super) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let other = self.below(last + 1);
            things.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(seed: u64, count: usize) -> Vec<usize> {
        let mut things: Vec<usize> = (0..count).collect();
        PythonRandom::new(seed).shuffle(&mut things);
        things
    }

    #[test]
    fn the_order_is_that_of_python() {
        // CPython 3.11.7: x = list(range(n)); random.Random(seed).shuffle(x)
        for (seed, want) in KNOWN {
            assert_eq!(shuffled(*seed, want.len()), *want, "seed {seed}");
        }
        // sum(place * thing for place, thing in enumerate(x)) % 1000003 for n = 5000
        for (seed, want) in SUMS {
            let sum = shuffled(*seed, 5000).iter().enumerate().map(|(place, thing)| place * thing).sum::<usize>();
            assert_eq!(sum % 1_000_003, *want, "seed {seed}");
        }
    }

    #[test]
    fn words_are_those_of_python() {
        // [random.Random(seed).getrandbits(32) for _ in range(3)] with one generator
        for (seed, want) in WORDS_KNOWN {
            let mut random = PythonRandom::new(*seed);
            assert_eq!([random.word(), random.word(), random.word()], *want);
        }
    }

    const KNOWN: &[(u64, [usize; 10])] = &[
        (0, [7, 8, 1, 5, 3, 4, 2, 0, 9, 6]),
        (1, [6, 8, 9, 7, 5, 3, 0, 4, 1, 2]),
        (42, [7, 3, 2, 8, 5, 6, 9, 4, 0, 1]),
        (4294967295, [0, 7, 1, 5, 2, 6, 4, 8, 3, 9]),
        (4294967296, [8, 9, 3, 2, 4, 7, 0, 6, 5, 1]),
        (9007199254740999, [7, 3, 4, 8, 0, 5, 1, 2, 9, 6]),
    ];
    const SUMS: &[(u64, usize)] = &[(0, 144017), (7, 678894), (123456789012, 551096)];
    const WORDS_KNOWN: &[(u64, [u32; 3])] = &[
        (0, [3626764237, 1654615998, 3255389356]),
        (5, [2675342405, 1097127993, 3185950873]),
        (1099511627776, [445128065, 1517081360, 2880015531]),
    ];
}
