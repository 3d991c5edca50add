//! How the cases of a run ended, as bytes beside the names of its set of cases: seventeen bytes for each.
//!
//! Runs of one suite share a set of cases, so that names stand in the database once, and what a run adds is short.

use calipers::page::PageOutcome;
use calipers::summary::CaseSummary;

/// The bytes of one case: outcome, attempts, passed, failed, errored, score.
pub(crate) const CASE_BYTES: usize = 17;

const OUTCOMES: [PageOutcome; 5] =
    [PageOutcome::Passed, PageOutcome::Failed, PageOutcome::Scored, PageOutcome::Errored, PageOutcome::Unscored];

/// How a case ended in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CaseEnding {
    pub(crate) outcome: PageOutcome,
    pub(crate) attempts: u16,
    pub(crate) passed: u16,
    pub(crate) failed: u16,
    pub(crate) errored: u16,
    pub(crate) score: Option<f64>,
}

pub(crate) fn encode(cases: &[CaseSummary]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(cases.len() * CASE_BYTES);
    let small = |count: u32| u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes();
    for CaseSummary { ending, .. } in cases {
        bytes.push(OUTCOMES.iter().position(|one| *one == ending.outcome).unwrap_or(OUTCOMES.len() - 1) as u8);
        for count in [ending.attempts, ending.passed, ending.failed, ending.errored] {
            bytes.extend(small(count));
        }
        bytes.extend(ending.score.unwrap_or(f64::NAN).to_le_bytes());
    }
    bytes
}

/// The case at a place; none if the bytes do not reach so far or are not ours.
pub(crate) fn decode(bytes: &[u8], place: usize) -> Option<CaseEnding> {
    let start = place.checked_mul(CASE_BYTES)?;
    let one = bytes.get(start..start.checked_add(CASE_BYTES)?)?;
    let small = |at: usize| u16::from_le_bytes([one[at], one[at + 1]]);
    let score = f64::from_le_bytes(one[9..17].try_into().ok()?);
    Some(CaseEnding {
        outcome: *OUTCOMES.get(usize::from(one[0]))?,
        attempts: small(1),
        passed: small(3),
        failed: small(5),
        errored: small(7),
        score: (!score.is_nan()).then_some(score),
    })
}

/// All of them.
pub(crate) fn decode_all(bytes: &[u8]) -> impl Iterator<Item = CaseEnding> {
    (0..bytes.len() / CASE_BYTES).filter_map(|place| decode(bytes, place))
}

/// The contents of a set of cases: eight bytes for each, 0 where it is not known.
pub(crate) fn encode_contents(cases: &[CaseSummary]) -> Vec<u8> {
    cases.iter().flat_map(|case| case.content.unwrap_or(0).to_le_bytes()).collect()
}

pub(crate) fn decode_contents(bytes: &[u8]) -> Vec<Option<u64>> {
    let one = |eight: &[u8]| eight.try_into().map(u64::from_le_bytes).ok().filter(|content| *content != 0);
    bytes.chunks(8).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use calipers::summary::SampleEnding;

    #[test]
    fn what_is_written_is_read() {
        let case = |outcome, attempts, score| CaseSummary {
            ending: SampleEnding { id: "a".into(), outcome, attempts, passed: 2, failed: 1, errored: 0, score },
            content: None,
        };
        let cases = [case(PageOutcome::Failed, 3, Some(0.25)), case(PageOutcome::Scored, 70_000, None)];
        let bytes = encode(&cases);
        let read: Vec<CaseEnding> = decode_all(&bytes).collect();
        assert_eq!((read[0].outcome, read[0].attempts, read[0].score), (PageOutcome::Failed, 3, Some(0.25)));
        assert_eq!((read[1].outcome, read[1].attempts, read[1].score), (PageOutcome::Scored, u16::MAX, None));
        assert_eq!(decode(&bytes, 2), None);
        assert_eq!(decode(&[9; 17], 0), None, "an unknown outcome is none");
        assert_eq!(decode(&bytes, usize::MAX), None);
    }
}
