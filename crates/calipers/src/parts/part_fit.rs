//! Whether parts make a whole.

use super::RunInParts;
use crate::RunError;
use calipers_core::{Error, Samples, StateReader, StateWriter, brief, pluralize};
use calipers_io::{Part, PartHeader, PartInput, PartKind, PartPlace, RecordedRun, SampleEvidence, find_shared};
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a run: each there once, none missing, all from one question and one version, no sample in two of them.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The parts by their number, each with what messages call it.
    pub(super) parts: Vec<(String, Part)>,
}

/// As many names of parts as a person reads.
const NAMED_MAX: usize = 8;

impl Parts {
    /// Parts that were folded, each with what messages call it. Fails if they do not make a whole, and says why.
    pub fn new(mut parts: Vec<(String, Part)>) -> Result<Self, RunError> {
        if parts.is_empty() {
            return Err(Error::argument("there are no parts", "name the files of all parts").into());
        }
        parts.sort_by_key(|(_, part)| part.header.place.number);
        check_version(&parts)?;
        check_question(&parts)?;
        check_numbers(&parts)?;
        check_inputs(&parts)?;
        check_samples(&parts)?;
        Ok(Self { parts })
    }

    /// What all of them say.
    #[must_use]
    pub fn header(&self) -> &PartHeader {
        &self.parts[0].1.header
    }

    /// Of parts with attempts, the runs that they are parts of.
    pub fn into_runs(self) -> Result<Vec<RecordedRun>, RunError> {
        let mut runs: Vec<(RunInParts, Samples, usize)> = Vec::new();
        for (name, part) in self.parts {
            if part.header.kind == PartKind::States {
                return Err(no_rows(&name).into());
            }
            #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough by itself")]
            let of_part: Vec<RecordedRun> = read_payload(&name, &part, |from| from.take())?;
            for run in of_part {
                let (run, samples) = run.split();
                match runs.iter_mut().find(|(known, ..)| known.run.name == run.name) {
                    Some((known, all, count)) => {
                        known.add(run)?;
                        *count += samples.len();
                        all.append(samples);
                    }
                    None => {
                        let count = samples.len();
                        runs.push((RunInParts::new(run), samples, count));
                    }
                }
            }
        }
        let mut whole = Vec::new();
        for (run, samples, count) in runs {
            // What parts say of their samples was compared already; here are the samples themselves.
            if samples.len() != count {
                return Err(split_samples("two parts hold attempts of one sample".to_owned()).into());
            }
            whole.push(run.finish().map_samples(|()| samples));
        }
        Ok(whole)
    }

    /// Of parts with attempts, the one part that they make: a file that every command reads as results.
    pub fn into_whole(self) -> Result<Part, RunError> {
        let (header, inputs) = (self.header().clone(), self.inputs());
        let runs = self.into_runs()?;
        let mut out = StateWriter::new();
        out.put(&runs);
        let samples = SampleEvidence::of(runs.iter().flat_map(|run| run.samples.ids()), false);
        let place = PartPlace::WHOLE;
        Ok(Part { header: PartHeader { place, inputs, left_out: 0, samples, ..header }, payload: out.finish() })
    }

    /// The files of all parts, each once.
    fn inputs(&self) -> Vec<PartInput> {
        let mut inputs: Vec<PartInput> = Vec::new();
        for input in self.parts.iter().flat_map(|(_, part)| &part.header.inputs) {
            if !inputs.contains(input) {
                inputs.push(input.clone());
            }
        }
        inputs
    }
}

/// Reads what a part holds.
pub(super) fn read_payload<T>(
    name: &str,
    part: &Part,
    read: impl FnOnce(&mut StateReader<'_>) -> Result<T, Error>,
) -> Result<T, RunError> {
    let mut from = StateReader::new(&part.payload);
    let value = read(&mut from).and_then(|value| from.end().map(|()| value));
    value.map_err(RunError::in_source(name))
}

fn no_rows(name: &str) -> Error {
    let what = format!("{name} holds states of metrics, and no attempts");
    Error::argument(what, "merge it with the other parts to see the figures; fold for another question to get attempts")
}

fn split_samples(what: String) -> Error {
    let hint = "cut the run by sample: all attempts of a sample belong into one part, and each sample into one only";
    Error::argument(what, hint)
}

fn check_version(parts: &[(String, Part)]) -> Result<(), Error> {
    let here = env!("CARGO_PKG_VERSION");
    match parts.iter().find(|(_, part)| part.header.version != here) {
        None => Ok(()),
        Some((name, part)) => {
            let what =
                format!("{name} was folded by version {}, and this is version {here}", brief(&part.header.version));
            Err(Error::argument(what, "fold and merge with the same version"))
        }
    }
}

/// A part that holds no sample says nothing about what its samples are measured by.
pub(super) fn is_silent(part: &Part) -> bool {
    part.header.samples == SampleEvidence::Empty
}

fn check_question(parts: &[(String, Part)]) -> Result<(), Error> {
    let refuse = |first: &str, other: &str, what: String| {
        let what = format!("{first} and {other} were folded for different questions: {what}");
        Err(Error::argument(what, "fold all parts with the same options, metrics and scripts"))
    };
    let (first_name, first) = &parts[0];
    for (name, part) in &parts[1..] {
        let kind = |kind: &PartKind| match kind {
            PartKind::States => "states of metrics",
            PartKind::Rows { .. } => "attempts",
        };
        let (mine, theirs) = (&first.header.kind, &part.header.kind);
        if kind(mine) != kind(theirs) {
            return refuse(first_name, name, format!("one holds {}, the other {}", kind(mine), kind(theirs)));
        }
        if mine != theirs {
            return refuse(first_name, name, "they hold different columns".to_owned());
        }
        if first.header.words != part.header.words {
            let words = |part: &Part| brief(&part.header.words.join(" ")).into_owned();
            return refuse(first_name, name, format!("the options are `{}` and `{}`", words(first), words(part)));
        }
    }
    let mut speaking = parts.iter().filter(|(_, part)| !is_silent(part));
    let Some((first_name, first)) = speaking.next() else { return Ok(()) };
    for (name, part) in speaking {
        let mine: BTreeMap<&String, &String> = first.header.plan.iter().map(|(key, value)| (key, value)).collect();
        let theirs: BTreeMap<&String, &String> = part.header.plan.iter().map(|(key, value)| (key, value)).collect();
        let keys: BTreeSet<&&String> = mine.keys().chain(theirs.keys()).collect();
        for key in keys {
            let value =
                |plan: &BTreeMap<&String, &String>| plan.get(*key).map_or("none", |value| value.as_str()).to_owned();
            if value(&mine) != value(&theirs) {
                let what = format!("{key} are `{}` and `{}`", brief(&value(&mine)), brief(&value(&theirs)));
                return refuse(first_name, name, what);
            }
        }
    }
    Ok(())
}

fn check_numbers(parts: &[(String, Part)]) -> Result<(), Error> {
    let (first_name, first) = &parts[0];
    let first = first.header.place;
    let kind = |place: PartPlace| if place.is_bucket { "bucket" } else { "part" };
    for (name, part) in &parts[1..] {
        let place = part.header.place;
        if (place.of, place.is_bucket) != (first.of, first.is_bucket) {
            let what = format!(
                "{first_name} is {} {} of {}, and {name} is {} {} of {}",
                kind(first),
                first.number,
                first.of,
                kind(place),
                place.number,
                place.of
            );
            return Err(Error::argument(what, "merge the parts of one run, all cut in the same way"));
        }
    }
    for pair in parts.windows(2) {
        let ((first, a), (second, b)) = (&pair[0], &pair[1]);
        let place = a.header.place;
        if place.number == b.header.place.number {
            let what = format!("{first} and {second} are both {} {} of {}", kind(place), place.number, place.of);
            let hint = "name each part once, and give each share of the run another number when it is folded";
            return Err(Error::argument(what, hint));
        }
    }
    let there: BTreeSet<u32> = parts.iter().map(|(_, part)| part.header.place.number).collect();
    let missing: Vec<u32> = (1..=first.of).filter(|number| !there.contains(number)).take(NAMED_MAX + 1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let count = first.of as usize - there.len();
    let mut names: Vec<String> = missing.iter().take(NAMED_MAX).map(u32::to_string).collect();
    if count > NAMED_MAX {
        names.push("…".to_owned());
    }
    let what = format!("{} of {} missing: {}", pluralize(count, kind(first)), first.of, names.join(", "));
    Err(Error::argument(what, "name all parts; one that was lost has to be folded again"))
}

fn check_inputs(parts: &[(String, Part)]) -> Result<(), Error> {
    if parts[0].1.header.place.is_bucket {
        return check_buckets(parts);
    }
    let mut known: BTreeMap<(&str, u64), (&str, &str)> = BTreeMap::new();
    for (name, part) in parts {
        for input in part.header.inputs.iter().filter(|input| !input.digest.is_empty() && input.size > 0) {
            let known = known.insert((&input.digest, input.size), (name, &input.name));
            if let Some((other, other_input)) = known.filter(|(other, _)| other != name) {
                let what = match other_input == input.name {
                    true => format!("{other} and {name} were both made from {}", input.name),
                    false => {
                        format!("{other} and {name} were made from the same bytes: {other_input} and {}", input.name)
                    }
                };
                return Err(Error::argument(what, "fold each file into one part"));
            }
        }
    }
    Ok(())
}

/// Buckets come from the same files, of which each keeps its share, or from files that hold nothing else.
fn check_buckets(parts: &[(String, Part)]) -> Result<(), Error> {
    let inputs = |part: &Part| -> BTreeSet<(String, u64)> {
        part.header.inputs.iter().map(|input| (input.digest.clone(), input.size)).collect()
    };
    let (first_name, first) = &parts[0];
    let is_unknown = |part: &Part| part.header.inputs.iter().any(|input| input.digest.is_empty());
    // Of tables in memory it is not known whether they are the same.
    let is_other = |part: &Part| is_unknown(part) || inputs(part) != inputs(first);
    let Some((name, _)) = parts.iter().find(|(_, part)| is_other(part)) else { return Ok(()) };
    match parts.iter().find(|(_, part)| part.header.left_out > 0) {
        None => Ok(()),
        Some((lossy, part)) => {
            let what = format!(
                "{first_name} and {name} were made from different files, and {lossy} left out {} that belong to other buckets",
                pluralize(part.header.left_out as usize, "attempt")
            );
            let hint = "fold every bucket from all files, or fold the files as parts instead of buckets";
            Err(Error::argument(what, hint))
        }
    }
}

fn check_samples(parts: &[(String, Part)]) -> Result<(), Error> {
    let evidence: Vec<&SampleEvidence> = parts.iter().map(|(_, part)| &part.header.samples).collect();
    for ((name, part), evidence) in parts.iter().zip(&evidence) {
        let is_bucket = **evidence == SampleEvidence::Bucket;
        if is_bucket != part.header.place.is_bucket && **evidence != SampleEvidence::Empty {
            return Err(Error::argument(format!("{name} does not say which samples it holds"), "fold it again"));
        }
    }
    let Some(shared) = find_shared(&evidence) else { return Ok(()) };
    let (first, second) = (&parts[shared.parts.0].0, &parts[shared.parts.1].0);
    let is_range = |place: usize| matches!(evidence[place], SampleEvidence::Range { .. });
    let what = match shared.sample {
        Some(sample) => format!("{first} and {second} both hold sample `{sample}`"),
        None if is_range(shared.parts.0) || is_range(shared.parts.1) => {
            format!("the ids in {first} and {second} overlap, so that they may hold the same samples")
        }
        None => format!("{first} and {second} hold the same samples, at least one"),
    };
    Err(split_samples(what))
}
