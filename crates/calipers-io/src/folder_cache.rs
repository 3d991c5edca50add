//! A cache of bytes by key in a folder, so that no answer of a model is paid for twice.

use crate::WriteError;
use crate::private_file::{create_private_folders, open_plain, private_file};
use sha2::{Digest, Sha256};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The first bytes of an entry. The number is the version of the layout.
const MAGIC: &[u8; 8] = b"caliper1";
const SUM: usize = 32;
/// Longer entries are not ours.
const ENTRY_MAX: u64 = 1 << 28;

/// Bytes by key in a folder. Several threads and processes may share it.
///
/// An entry is written to a temporary file and renamed, so it is always whole. A damaged entry counts as absent. Folders
/// and files that the cache creates are for their owner alone, and links in it are not followed.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("calipers-cache-doc-{}", std::process::id()));
/// let cache = calipers_io::FolderCache::open(&folder)?;
/// assert_eq!(cache.get(b"question"), None);
/// cache.put(b"question", b"answer")?;
/// assert_eq!(cache.get(b"question").as_deref(), Some(&b"answer"[..]));
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), calipers_io::WriteError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FolderCache {
    folder: PathBuf,
}

impl FolderCache {
    /// Opens the cache in a folder, which is created if needed.
    pub fn open(folder: &Path) -> Result<Self, WriteError> {
        create_private_folders(folder).map_err(|error| {
            let what = format!("the folder of the cache cannot be created: {error}");
            WriteError::new(folder.display().to_string(), what).hint("name another folder, or use no cache")
        })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The bytes under a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut entry = Vec::new();
        open_plain(&self.place(key)).ok()?.take(ENTRY_MAX).read_to_end(&mut entry).ok()?;
        let (sum, bytes) = entry.strip_prefix(MAGIC)?.split_at_checked(SUM)?;
        (Sha256::digest(bytes)[..] == *sum).then(|| bytes.to_vec())
    }

    /// Stores bytes under a key, replacing any that are there.
    pub fn put(&self, key: &[u8], bytes: &[u8]) -> Result<(), WriteError> {
        let place = self.place(key);
        self.write(&place, bytes).map_err(|error| {
            let what = format!("the cache cannot be written: {error}");
            WriteError::new(place.display().to_string(), what).hint("make room, name another folder, or use no cache")
        })
    }

    fn write(&self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let folder = place.parent().unwrap_or(&self.folder);
        create_private_folders(folder)?;
        // The name cannot be guessed, and a file or link that is there already is not written to.
        let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let random = RandomState::new().hash_one(count);
        let making = folder.join(format!(".{}.{count}.{random:016x}.part", std::process::id()));
        let mut file = private_file().write(true).create_new(true).open(&making)?;
        let mut whole = || {
            file.write_all(&[&MAGIC[..], &Sha256::digest(bytes)[..], bytes].concat())?;
            fs::rename(&making, place)
        };
        whole().inspect_err(|_| {
            let _ = fs::remove_file(&making);
        })
    }

    /// The path of an entry. 256 subfolders keep listings short.
    fn place(&self, key: &[u8]) -> PathBuf {
        let name: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(&name[..2]).join(&name[2..])
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("calipers-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn entries_are_for_their_owner() {
        let folder = scratch("mode");
        let cache = FolderCache::open(&folder).expect("a folder for temporary files");
        cache.put(b"question", b"answer").expect("it can be written");
        let place = cache.place(b"question");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&place)), (0o700, 0o600));
        let _ = fs::remove_dir_all(folder);
    }

    #[test]
    fn links_are_neither_read_nor_written_through() {
        let folder = scratch("link");
        let cache = FolderCache::open(&folder).expect("a folder for temporary files");
        cache.put(b"one", b"1").expect("it can be written");
        let (one, two) = (cache.place(b"one"), cache.place(b"two"));
        fs::create_dir_all(two.parent().expect("it is in a folder")).expect("it can be made");
        symlink(&one, &two).expect("a link can be made");
        assert_eq!(cache.get(b"two"), None, "a link is no entry");
        cache.put(b"two", b"2").expect("it can be written");
        let values = (cache.get(b"one"), cache.get(b"two"));
        assert_eq!(values, (Some(b"1".to_vec()), Some(b"2".to_vec())), "the link was replaced, not followed");
        let _ = fs::remove_dir_all(folder);
    }
}
