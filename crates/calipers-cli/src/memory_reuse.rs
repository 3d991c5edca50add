//! Memory that readers free is used again, and does not go back to the system in between.

/// A block of this size is freed: larger ones still go back at once.
const BLOCK: usize = 16 << 20;

/// Has the allocator keep blocks of up to 16 MB for later use.
///
/// The allocator of glibc takes each block above 128 KB from the system and gives it back, until the first such block is freed: from
/// then on it keeps blocks of that size. A reader of large tables frees and asks for such blocks thousands of times, and every page of
/// each costs as much as decoding what it holds. Nothing is written to the block here, so it takes no memory; other allocators do not
/// care.
pub(crate) fn keep_freed_blocks() {
    let mut block = Vec::<u8>::new();
    // Without room for it there is nothing to be done.
    if block.try_reserve_exact(BLOCK).is_ok() {
        drop(std::hint::black_box(block));
    }
}
