//! What a reader made of a file, in a form that tests can hold against what they expect.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use calipers_core::{Plan, mean_of};
use calipers_io::{ReadError, RecordedRun, Source, read};
use std::path::PathBuf;

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats").join(name)
}

pub fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

/// The only run in a fixture, which must be read the same from a file and from memory.
pub fn run(name: &str) -> RecordedRun {
    let mut runs = read(&Source::path(fixture(name)), None).unwrap();
    let again = read(&Source::bytes("memory", bytes(name)), None).unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(format!("{:?}", runs[0].recorded), format!("{:?}", again[0].recorded));
    assert_eq!(runs[0].samples.attempts(), again[0].samples.attempts());
    runs.remove(0)
}

pub fn text(content: &str) -> Result<RecordedRun, ReadError> {
    read(&Source::bytes("x", content.as_bytes().to_vec()), None).map(|mut runs| runs.remove(0))
}

/// The error that a text gives, as people see it.
pub fn error(content: &str) -> String {
    match text(content) {
        Ok(run) => panic!("read as {}: {:?}", run.format, run.samples),
        Err(error) => error.to_string(),
    }
}

/// The scores by one scorer: `sample=value`, attempt by attempt.
pub fn scores(run: &RecordedRun, scorer: &str) -> String {
    let points = run.samples.points(scorer).unwrap();
    let rows = (0..points.len()).map(|row| format!("{}={}", points.sample_id(row), points.get(row).score.value));
    rows.collect::<Vec<_>>().join(" ")
}

/// A fact about the sample of a row.
pub fn fact(run: &RecordedRun, scorer: &str, row: usize, key: &str) -> String {
    let point = run.samples.points(scorer).unwrap().get(row);
    point.sample_metadata.get(key).map_or("-".into(), ToString::to_string)
}

/// The mean of a field over samples.
pub fn mean(run: &RecordedRun, field: &str) -> f64 {
    let results = Plan::new().metrics([mean_of(field)]).measure(&run.samples).unwrap();
    let figure = results.figure("run", "mean").unwrap_or_else(|| panic!("no field {field}")).value.clone();
    figure.unwrap()
}

/// (samples, attempts, errored)
pub fn counts(run: &RecordedRun) -> (usize, usize, usize) {
    (run.samples.len(), run.samples.attempts(), run.samples.errored_attempts())
}

/// Reads what is left of a file that was cut off or had bytes changed, at many places. Any answer will do but a panic,
/// a long wait or a great deal of memory.
pub fn mutate(names: &[&str], rounds: u64) {
    let started = std::time::Instant::now();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut read_well = 0;
    for name in names {
        let whole = bytes(name);
        let format = run(name).format;
        let mut attempt = |bytes: Vec<u8>| {
            for format in [None, Some(format)] {
                let source = Source::bytes("x", bytes.clone());
                match read(&source, format) {
                    Ok(_) => read_well += 1,
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        };
        let step = (whole.len() / 300).max(1);
        (0..whole.len()).step_by(step).for_each(|cut| attempt(whole[..cut].to_vec()));
        for _ in 0..rounds {
            let mut bytes = whole.clone();
            for _ in 0..1 + next() % 3 {
                let at = (next() % bytes.len() as u64) as usize;
                bytes[at] = match next() % 4 {
                    0 => bytes[at] ^ (1 << (next() % 8)),
                    1 => 0xff,
                    2 => b"\"{}[],:<>0"[(next() % 10) as usize],
                    _ => next() as u8,
                };
            }
            attempt(bytes);
        }
    }
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
        assert!(peak.trim().parse::<u64>().unwrap() < 2_000_000, "peak of {peak} kB");
    }
    println!("{read_well} read in {:?}", started.elapsed());
}
