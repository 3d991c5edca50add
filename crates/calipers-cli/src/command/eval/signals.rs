//! Ctrl-C and SIGTERM handlers.

use calipers::run::{StopRequest, on_forwarded_interrupt, on_interrupt, on_terminate};
use std::sync::{Arc, Mutex, PoisonError};

/// SIGTERM stops a run at once. The first Ctrl-C lets the attempts under way finish, and the second stops it at once.
pub(super) fn stop_on_signals(stop: &StopRequest) {
    let terminate = stop.clone();
    on_terminate(move || stop_at_once(&terminate));
    let interrupts = Arc::new(Mutex::new(Interrupts::default()));
    let (own, other) = (interrupts.clone(), interrupts);
    let (stop_own, stop_other) = (stop.clone(), stop.clone());
    on_interrupt(move || count(&own, |interrupts| interrupts.own += 1, &stop_own));
    on_forwarded_interrupt(move || count(&other, |interrupts| interrupts.forwarded += 1, &stop_other));
}

/// The second request ends what the first lets finish.
pub(super) fn stop_at_once(stop: &StopRequest) {
    stop.request();
    stop.request();
}

/// Interrupts so far. Ctrl-C reaches this process and its parent, which passes it on; `kill` may reach only one of them. So
/// the larger number counts.
#[derive(Default)]
struct Interrupts {
    own: u32,
    forwarded: u32,
    answered: u32,
}

fn count(interrupts: &Mutex<Interrupts>, add: impl Fn(&mut Interrupts), stop: &StopRequest) {
    let mut interrupts = interrupts.lock().unwrap_or_else(PoisonError::into_inner);
    add(&mut interrupts);
    if interrupts.own.max(interrupts.forwarded) <= interrupts.answered {
        return;
    }
    interrupts.answered += 1;
    eprintln!(
        "{}",
        match stop.is_requested() {
            true => "\nstopping at once",
            false => "\nstopping when the running attempts are done; press Ctrl-C again to stop at once",
        }
    );
    stop.request();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_that_comes_twice_counts_once() {
        let (interrupts, stop) = (Mutex::new(Interrupts::default()), StopRequest::new());
        let answered = || interrupts.lock().expect("not poisoned").answered;
        let own = |interrupts: &mut Interrupts| interrupts.own += 1;
        let forwarded = |interrupts: &mut Interrupts| interrupts.forwarded += 1;
        for (add, want) in [(&forwarded as &dyn Fn(&mut Interrupts), 1), (&own, 1), (&own, 2), (&forwarded, 2)] {
            count(&interrupts, add, &stop);
            assert_eq!(answered(), want);
        }
        assert!(stop.is_requested());
    }
}
