//! Answers of models, kept in a folder.

use calipers_core::ModelOutput;
use calipers_io::{FolderCache, WriteError};
use calipers_run::{AnswerCache, output_from_json, output_to_json};
use std::path::Path;

/// Answers of models, kept in a folder. One that cannot be read or written is asked for again.
#[derive(Debug)]
pub struct DiskCache(FolderCache);

impl DiskCache {
    /// The cache in a folder, which is made if it is not there.
    pub fn open(folder: &Path) -> Result<Self, WriteError> {
        FolderCache::open(folder).map(Self)
    }
}

impl AnswerCache for DiskCache {
    fn get(&self, key: &str) -> Option<ModelOutput> {
        let bytes = self.0.get(key.as_bytes())?;
        output_from_json(&serde_json::from_slice(&bytes).ok()?).ok()
    }

    fn put(&self, key: &str, output: &ModelOutput) {
        // A full disk costs us the answer next time, not this time.
        let _ = self.0.put(key.as_bytes(), output_to_json(output).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers_core::Usage;

    #[test]
    fn an_answer_comes_back_as_it_went() {
        let folder = std::env::temp_dir().join(format!("calipers-answers-{}", std::process::id()));
        let cache = DiskCache::open(&folder).expect("a folder for temporary files");
        let output =
            ModelOutput { usage: Some(Usage::new(3, 4)), time_s: Some(0.25), ..ModelOutput::new("m", "é\u{0}\"") };
        cache.put("question", &output);
        assert_eq!(cache.get("question"), Some(output));
        assert_eq!(cache.get("another"), None);
        let _ = std::fs::remove_dir_all(folder);
    }
}
