//! Sentences that several reports share.

use crate::gate::caveat_words::gate_caveat;
use calipers_core::{Caveat, Reason, Undefined};

/// What a caveat says.
#[must_use]
pub fn caveat_sentence(caveat: &Caveat) -> String {
    gate_caveat(caveat).map_or_else(|| caveat.to_string(), |(sentence, _)| sentence)
}

/// One thing to do about a caveat, if there is something to do.
#[must_use]
pub fn caveat_next_step(caveat: &Caveat) -> Option<String> {
    Some(gate_caveat(caveat).map_or_else(|| caveat.next_step(), |(_, next_step)| next_step))
}

/// Why a figure has no value.
#[must_use]
pub fn undefined_sentence(undefined: &Undefined) -> String {
    undefined.to_string()
}

/// The same, from the reason alone.
#[must_use]
pub fn reason_sentence(reason: &Reason) -> String {
    Undefined::new(reason.clone(), f64::NAN).to_string()
}
