//! Names for content.

/// A name for content: the same content always has the same one (Fowler, Noll and Vo's hash 1a, twice).
pub(crate) struct Fingerprint([u64; 2]);

impl Default for Fingerprint {
    fn default() -> Self {
        // The second offset is the first hash of a single byte: any other number would do.
        Self([0xcbf2_9ce4_8422_2325, 0xaf63_bd4c_8601_b7df])
    }
}

impl Fingerprint {
    pub(crate) fn of(parts: &[&str]) -> String {
        let mut fingerprint = Self::default();
        for part in parts {
            fingerprint.add(part.as_bytes());
            fingerprint.add(&[0]);
        }
        fingerprint.text()
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for hash in &mut self.0 {
            for byte in bytes {
                *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }

    /// 22 letters and digits, as Inspect's ids have.
    pub(crate) fn text(&self) -> String {
        const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut rest = (u128::from(self.0[0]) << 64) | u128::from(self.0[1]);
        let mut digit = || {
            let digit = LETTERS[(rest % 62) as usize];
            rest /= 62;
            char::from(digit)
        };
        (0..22).map(|_| digit()).collect()
    }
}
