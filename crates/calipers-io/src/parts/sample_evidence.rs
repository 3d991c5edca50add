//! Which samples a part holds: enough to tell that no other part holds one of them.

use calipers_core::{Error, SampleId, StateReader, StateWriter, Stored, damaged};

/// Which samples a part holds.
///
/// All attempts of a sample must be in one part: two attempts of a question in two parts would each be reduced alone, and
/// nothing in the figures would look wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleEvidence {
    /// None at all.
    Empty,
    /// Those of a bucket: each id was looked at when the part was made.
    Bucket,
    /// Ids from one to another, in the order in which `q9` comes before `q10`. No other part has one between them.
    Range {
        /// The first.
        first: SampleId,
        /// The last.
        last: SampleId,
    },
    /// Each of them: whole numbers as ranges, texts as digests.
    Each {
        /// Ranges of numbers: the first, and how many.
        numbers: Vec<(i64, u64)>,
        /// The digests of texts, ascending.
        texts: Vec<u64>,
    },
}

/// Samples that two parts hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSamples {
    /// The two parts, by their place in the list.
    pub parts: (usize, usize),
    /// One of the samples, where it can be named.
    pub sample: Option<SampleId>,
}

impl SampleEvidence {
    /// What shows which samples these are. With `ascending`, the first and the last do: then no other part may hold ids between.
    pub fn of(ids: impl Iterator<Item = SampleId>, ascending: bool) -> Self {
        if ascending {
            let ids: Vec<SampleId> = ids.collect();
            return match (ids.iter().min(), ids.iter().max()) {
                (Some(first), Some(last)) => Self::Range { first: first.clone(), last: last.clone() },
                _ => Self::Empty,
            };
        }
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for id in ids {
            match id.as_number() {
                Some(number) => numbers.push(number),
                None => texts.push(id.digest()),
            }
        }
        if numbers.is_empty() && texts.is_empty() {
            return Self::Empty;
        }
        numbers.sort_unstable();
        numbers.dedup();
        texts.sort_unstable();
        texts.dedup();
        let mut ranges: Vec<(i64, u64)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((first, length)) if first.checked_add_unsigned(*length) == Some(number) => *length += 1,
                _ => ranges.push((number, 1)),
            }
        }
        Self::Each { numbers: ranges, texts }
    }

    /// The last number of each range.
    fn ranges(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let numbers = if let Self::Each { numbers, .. } = self { &numbers[..] } else { &[] };
        numbers.iter().map(|&(first, length)| (first, first.saturating_add_unsigned(length - 1)))
    }

    fn texts(&self) -> &[u64] {
        if let Self::Each { texts, .. } = self { texts } else { &[] }
    }

    /// True if a number lies among these.
    fn may_hold(&self, first: &SampleId, last: &SampleId) -> bool {
        match self {
            Self::Empty | Self::Bucket => false,
            Self::Range { first: mine, last: to } => mine <= last && first <= to,
            // A digest does not say where its text stands.
            Self::Each { texts, .. } => {
                let overlaps = |(mine, to): (i64, i64)| SampleId::Int(mine) <= *last && *first <= SampleId::Int(to);
                !texts.is_empty() || self.ranges().any(overlaps)
            }
        }
    }
}

/// Two parts that hold the same sample, if there are any. Of buckets it is known that they do not.
#[must_use]
pub fn find_shared(parts: &[&SampleEvidence]) -> Option<SharedSamples> {
    let mut ranges: Vec<(i64, i64, usize)> = Vec::new();
    let mut texts: Vec<(u64, usize)> = Vec::new();
    let mut wide: Vec<(usize, &SampleId, &SampleId)> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        ranges.extend(part.ranges().map(|(first, last)| (first, last, place)));
        texts.extend(part.texts().iter().map(|&digest| (digest, place)));
        if let SampleEvidence::Range { first, last } = part {
            wide.push((place, first, last));
        }
    }
    ranges.sort_unstable();
    texts.sort_unstable();
    let order = |a: usize, b: usize| (a.min(b), a.max(b));
    for pair in ranges.windows(2) {
        if pair[1].0 <= pair[0].1 {
            return Some(SharedSamples { parts: order(pair[0].2, pair[1].2), sample: Some(SampleId::Int(pair[1].0)) });
        }
    }
    for pair in texts.windows(2) {
        if pair[0].0 == pair[1].0 {
            return Some(SharedSamples { parts: order(pair[0].1, pair[1].1), sample: None });
        }
    }
    for (place, first, last) in &wide {
        for (other, part) in parts.iter().enumerate().filter(|(other, _)| other != place) {
            if part.may_hold(first, last) {
                return Some(SharedSamples { parts: order(*place, other), sample: None });
            }
        }
    }
    None
}

impl Stored for SampleEvidence {
    fn save(&self, out: &mut StateWriter) {
        match self {
            Self::Empty => out.byte(0),
            Self::Bucket => out.byte(1),
            Self::Range { first, last } => {
                out.byte(2);
                out.put(first);
                out.put(last);
            }
            Self::Each { numbers, texts } => {
                out.byte(3);
                out.length(numbers.len());
                let mut next = 0i64;
                for &(first, length) in numbers {
                    out.put(&first.wrapping_sub(next));
                    out.put(&length);
                    next = first.wrapping_add_unsigned(length);
                }
                out.length(texts.len());
                let mut last = 0;
                for &digest in texts {
                    out.number(digest - last);
                    last = digest;
                }
            }
        }
    }

    fn load(from: &mut StateReader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(Self::Empty),
            1 => Ok(Self::Bucket),
            2 => Ok(Self::Range { first: from.take()?, last: from.take()? }),
            3 => {
                let (mut next, mut last) = (0i64, 0u64);
                let numbers = from.list(|from| {
                    let first = next.wrapping_add(from.take()?);
                    let length: u64 = from.take()?;
                    next = first.wrapping_add_unsigned(length);
                    if length == 0 || first.checked_add_unsigned(length - 1).is_none() {
                        return Err(damaged("a range of ids has no end"));
                    }
                    Ok((first, length))
                })?;
                let texts = from.list(|from| {
                    last = last.checked_add(from.number()?).ok_or_else(|| damaged("a number is too large"))?;
                    Ok(last)
                })?;
                Ok(Self::Each { numbers, texts })
            }
            _ => Err(damaged("what says which samples it holds has an unknown form")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[&str]) -> SampleEvidence {
        SampleEvidence::of(ids.iter().map(|&id| id.into()), false)
    }

    #[test]
    fn parts_that_share_a_sample_are_found() {
        for (left, right, is_shared) in [
            (&["1", "2", "3"][..], &["4", "6"][..], false),
            (&["1", "3", "5"], &["2", "4"], false),
            (&["1", "2", "3"], &["3"], true),
            (&["a", "b"], &["c"], false),
            (&["a", "b"], &["b", "1"], true),
            (&[], &["b"], false),
            (&["9223372036854775807"], &["-9223372036854775808"], false),
        ] {
            let (left, right) = (of(left), of(right));
            assert_eq!(find_shared(&[&left, &right]).is_some(), is_shared, "{left:?} {right:?}");
            assert_eq!(find_shared(&[&right, &left]).is_some(), is_shared);
        }
    }

    #[test]
    fn numbers_are_ranges_and_ranges_may_not_touch() {
        let ids = (0..1000).map(SampleId::from);
        assert_eq!(SampleEvidence::of(ids, false), SampleEvidence::Each { numbers: vec![(0, 1000)], texts: vec![] });
        let range = |ids: std::ops::Range<i64>| SampleEvidence::of(ids.map(SampleId::from), true);
        assert!(find_shared(&[&range(0..10), &range(10..20)]).is_none());
        assert!(find_shared(&[&range(0..10), &range(9..20)]).is_some());
        assert!(find_shared(&[&range(0..10), &of(&["12", "30"])]).is_none());
        assert!(find_shared(&[&range(0..10), &of(&["q"])]).is_some(), "a digest may stand anywhere");
    }

    #[test]
    fn evidence_comes_back() {
        for evidence in [of(&["-5", "1", "2", "a", "zz"]), of(&[]), SampleEvidence::Bucket] {
            let mut out = StateWriter::new();
            out.put(&evidence);
            assert_eq!(StateReader::new(&out.finish()).take::<SampleEvidence>().expect("evidence"), evidence);
        }
    }
}
