//! A cache of bytes by key in a folder, so that no answer of a model is paid for twice.

use crate::WriteError;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The first bytes of an entry. The number is the version of the layout.
const MAGIC: &[u8; 8] = b"caliper1";
const SUM: usize = 32;

/// Bytes by key in a folder. Several threads and processes may share it.
///
/// An entry is written to a temporary file and renamed, so it is always whole. A damaged entry counts as absent.
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
        fs::create_dir_all(folder).map_err(|error| {
            let what = format!("the folder of the cache cannot be created: {error}");
            WriteError::new(folder.display().to_string(), what).hint("name another folder, or do without a cache")
        })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The bytes under a key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let entry = fs::read(self.place(key)).ok()?;
        let (sum, bytes) = entry.strip_prefix(MAGIC)?.split_at_checked(SUM)?;
        (Sha256::digest(bytes)[..] == *sum).then(|| bytes.to_vec())
    }

    /// Stores bytes under a key, replacing any that are there.
    pub fn put(&self, key: &[u8], bytes: &[u8]) -> Result<(), WriteError> {
        let place = self.place(key);
        self.write(&place, bytes).map_err(|error| {
            let what = format!("the cache cannot be written: {error}");
            WriteError::new(place.display().to_string(), what)
                .hint("make room, name another folder, or do without a cache")
        })
    }

    fn write(&self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let folder = place.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let making = folder.join(format!(".{}.{count}.part", std::process::id()));
        let whole = || {
            let mut file = fs::File::create(&making)?;
            file.write_all(&[&MAGIC[..], &Sha256::digest(bytes)[..], bytes].concat())?;
            drop(file);
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
