//! Files that only their owner may read: what models and agents said is not for everybody on the machine.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Options for a file that is created for its owner alone.
pub(crate) fn private_file() -> OpenOptions {
    #[allow(unused_mut)] // elsewhere, files have no such permissions
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder, and those above it, for their owner alone. Folders that are there stay as they are.
pub(crate) fn create_private_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a folder for temporary files of this process, for their owner alone. Its name cannot be guessed.
pub(crate) fn create_temporary_folder() -> io::Result<PathBuf> {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    let count = CREATED.fetch_add(1, Ordering::Relaxed);
    let random = RandomState::new().hash_one(count);
    let folder = std::env::temp_dir().join(format!("calipers-{}-{count}-{random:016x}", std::process::id()));
    #[allow(unused_mut)] // elsewhere, folders have no such permissions
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder)?;
    Ok(folder)
}

/// Opens a file that may have been put there by others: no link is followed, and nothing that blocks is opened.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let file = File::open(path)?;
    // It may have been replaced in between.
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}
