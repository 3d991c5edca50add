//! The pieces of objects that are in memory: a bounded number of bytes, of which those that were used longest ago go first.

use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// How many bytes are kept. Readers hold the piece that they are in besides.
const BYTES_MAX: usize = 256 << 20;

#[derive(Debug, Default)]
pub(super) struct PieceCache {
    objects: HashMap<u64, BTreeMap<u64, CachedPiece>>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct CachedPiece {
    bytes: Bytes,
    used: u64,
}

/// The cache of this process.
pub(super) fn cache() -> MutexGuard<'static, PieceCache> {
    static CACHE: LazyLock<Mutex<PieceCache>> = LazyLock::new(Mutex::default);
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PieceCache {
    /// The piece of an object that a byte is in, and where it begins.
    pub(super) fn find(&mut self, object: u64, at: u64) -> Option<(u64, Bytes)> {
        self.clock += 1;
        let (start, piece) = self.objects.get_mut(&object)?.range_mut(..=at).next_back()?;
        if at - start >= piece.bytes.len() as u64 {
            return None;
        }
        piece.used = self.clock;
        Some((*start, piece.bytes.clone()))
    }

    /// Keeps a piece, and lets others go if there are too many.
    pub(super) fn keep(&mut self, object: u64, start: u64, bytes: Bytes) {
        self.clock += 1;
        self.bytes += bytes.len();
        let piece = CachedPiece { bytes, used: self.clock };
        if let Some(before) = self.objects.entry(object).or_default().insert(start, piece) {
            self.bytes -= before.bytes.len();
        }
        while self.bytes > BYTES_MAX && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let all = self
            .objects
            .iter()
            .flat_map(|(object, pieces)| pieces.iter().map(move |(start, piece)| (piece.used, *object, *start)));
        let Some((_, object, start)) = all.min() else { return false };
        let Some(pieces) = self.objects.get_mut(&object) else { return false };
        self.bytes -= pieces.remove(&start).map_or(0, |piece| piece.bytes.len());
        if pieces.is_empty() {
            self.objects.remove(&object);
        }
        true
    }

    /// Lets go of everything of an object.
    pub(super) fn forget(&mut self, object: u64) {
        let pieces = self.objects.remove(&object).unwrap_or_default();
        self.bytes -= pieces.values().map(|piece| piece.bytes.len()).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = PieceCache::default();
        let piece = Bytes::from(vec![0; BYTES_MAX / 4]);
        let length = piece.len() as u64;
        for place in 0..4 {
            cache.keep(1, place * length, piece.clone());
        }
        assert_eq!(cache.find(1, 5).map(|(start, _)| start), Some(0));
        cache.keep(2, 0, piece.clone());
        assert!(cache.find(1, 0).is_some(), "it was used");
        assert!(cache.find(1, length).is_none(), "it was not");
        assert_eq!(cache.find(1, 2 * length + 7).map(|(start, _)| start), Some(2 * length));
        cache.forget(1);
        assert_eq!(cache.bytes, BYTES_MAX / 4);
        cache.forget(2);
        assert_eq!(cache.bytes, 0);
    }
}
