//! Interrupts that are passed on to the child that runs an evaluation.

#[cfg(feature = "eval")]
pub(crate) use calipers::run::{InterruptForwarder, is_forwarded_interrupt};

/// A build that runs no evaluation passes nothing on: there is no value of this type.
#[cfg(not(feature = "eval"))]
pub(crate) enum InterruptForwarder {}

#[cfg(not(feature = "eval"))]
impl InterruptForwarder {
    pub(crate) fn pass_to(&self, _: u32) {
        match *self {}
    }

    pub(crate) fn stop(&self) {
        match *self {}
    }
}

/// True for a signal that a parent passed on.
#[cfg(all(unix, not(feature = "eval")))]
pub(crate) fn is_forwarded_interrupt(_: i32) -> bool {
    false
}
