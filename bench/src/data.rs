//! The data of all cases: made here, written for Python, and put into samples for us.

use calipers_core::{Samples, Value};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The scorer of the attempts and of the maps; with one attempt per sample, the scores have one of each kind.
pub(crate) const SCORER: &str = "judge";

/// How much of everything there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) scores: usize,
    pub(crate) clusters: usize,
    pub(crate) groups: usize,
    /// Samples with several attempts each.
    pub(crate) samples: usize,
    pub(crate) epochs: usize,
    /// Samples whose score is a map, and its keys.
    pub(crate) dicts: usize,
    pub(crate) keys: usize,
}

impl Sizes {
    pub(crate) const FULL: Self =
        Self { scores: 1_000_000, clusters: 100_000, groups: 20, samples: 20_000, epochs: 5, dicts: 100_000, keys: 6 };
    pub(crate) const QUICK: Self = Self { scores: 50_000, clusters: 5_000, samples: 2_000, dicts: 2_000, ..Self::FULL };
}

/// The data as plain columns.
pub(crate) struct Columns {
    sizes: Sizes,
    labels: Vec<u8>,
    floats: Vec<f64>,
    clusters: Vec<u32>,
    groups: Vec<u32>,
    attempts: Vec<u8>,
    dicts: Vec<f64>,
}

impl Columns {
    pub(crate) fn new(sizes: Sizes) -> Self {
        let mut random = Random(20_240_229);
        let mut below = |limit: usize, rows: usize| -> Vec<u32> {
            (0..rows).map(|_| (random.unit() * limit as f64) as u32).collect()
        };
        let clusters = below(sizes.clusters, sizes.scores);
        let groups = below(sizes.groups, sizes.scores);
        // Clusters share their luck, and samples differ in how hard they are.
        let floats: Vec<f64> = clusters.iter().map(|&cluster| (luck(cluster) + random.unit()) / 2.0).collect();
        let labels = clusters.iter().map(|&cluster| u8::from(random.unit() < 0.4 + 0.4 * luck(cluster))).collect();
        let attempts = (0..sizes.samples * sizes.epochs)
            .map(|row| u8::from(random.unit() < luck((row / sizes.epochs) as u32)))
            .collect();
        let dicts = (0..sizes.dicts * sizes.keys).map(|_| random.unit()).collect();
        Self { sizes, labels, floats, clusters, groups, attempts, dicts }
    }

    /// Writes the columns to files that Python reads at once.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let Sizes { clusters, groups, epochs, keys, .. } = self.sizes;
        let sizes = serde_json::json!({ "clusters": clusters, "groups": groups, "epochs": epochs, "keys": keys });
        fs::write(folder.join("sizes.json"), sizes.to_string())?;
        let file = |name: &str, bytes: Vec<u8>| fs::write(folder.join(format!("{name}.bin")), bytes);
        let codes = |column: &[u32]| column.iter().flat_map(|x| x.to_le_bytes()).collect();
        let floats = |column: &[f64]| column.iter().flat_map(|x| x.to_le_bytes()).collect();
        file("labels", self.labels.clone())?;
        file("floats", floats(&self.floats))?;
        file("clusters", codes(&self.clusters))?;
        file("groups", codes(&self.groups))?;
        file("attempts", self.attempts.clone())?;
        file("dicts", floats(&self.dicts))
    }

    /// Samples with one attempt each, a label and a float, a cluster and a group.
    pub(crate) fn scores(&self) -> Samples {
        let labels = Labels::new();
        let [cluster_key, group_key, labels_scorer, floats_scorer] = ["cluster", "group", "labels", "floats"].map(text);
        let clusters = names("cluster-", self.sizes.clusters, 1);
        let groups = names("group-", self.sizes.groups, 2);
        let mut samples = Samples::new();
        for row in 0..self.sizes.scores {
            samples
                .push(row as i64)
                .metadata(cluster_key.clone(), clusters[self.clusters[row] as usize].clone())
                .metadata(group_key.clone(), groups[self.groups[row] as usize].clone())
                .score(labels_scorer.clone(), labels.of(self.labels[row]))
                .score(floats_scorer.clone(), self.floats[row]);
        }
        samples
    }

    /// Samples with several attempts each.
    pub(crate) fn attempts(&self) -> Samples {
        let labels = Labels::new();
        let [group_key, scorer] = ["group", SCORER].map(text);
        let groups = names("group-", self.sizes.groups, 2);
        let mut samples = Samples::new();
        for (row, &bit) in self.attempts.iter().enumerate() {
            let sample = row / self.sizes.epochs;
            samples
                .push(sample as i64)
                .metadata(group_key.clone(), groups[sample % groups.len()].clone())
                .score(scorer.clone(), labels.of(bit));
        }
        samples
    }

    /// Samples whose score is a map.
    pub(crate) fn dicts(&self) -> Samples {
        let keys: Vec<Arc<str>> = (0..self.sizes.keys).map(|key| format!("key-{key}").into()).collect();
        let scorer = text(SCORER);
        let mut samples = Samples::new();
        for (sample, row) in self.dicts.chunks(keys.len()).enumerate() {
            let entries = keys.iter().cloned().zip(row.iter().map(|&x| Value::from(x))).collect();
            samples.push(sample as i64).score(scorer.clone(), Value::Map(entries));
        }
        samples
    }
}

fn text(text: &str) -> Arc<str> {
    text.into()
}

fn names(prefix: &str, count: usize, digits: usize) -> Vec<Value> {
    (0..count).map(|code| format!("{prefix}{code:0digits$}").into()).collect()
}

/// The two labels, made once.
struct Labels([Value; 2]);

impl Labels {
    fn new() -> Self {
        Self(["I".into(), "C".into()])
    }

    fn of(&self, bit: u8) -> Value {
        self.0[usize::from(bit)].clone()
    }
}

/// A number in [0, 1) of its own for each cluster or sample.
fn luck(code: u32) -> f64 {
    Random(u64::from(code)).unit()
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same data on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("calipers-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it is only some megabytes in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
