//! Ctrl-C and SIGTERM handlers.

use calipers::run::{StopRequest, on_interrupt, on_terminate};

/// SIGTERM stops a run at once. The first Ctrl-C lets the attempts under way finish, and the second stops it at once.
pub(super) fn stop_on_signals(stop: &StopRequest) {
    let terminate = stop.clone();
    on_terminate(move || stop_at_once(&terminate));
    let interrupt = stop.clone();
    on_interrupt(move || {
        eprintln!(
            "{}",
            match interrupt.is_requested() {
                true => "\nstopping at once",
                false => "\nstopping when the attempts under way are done; again to stop at once",
            }
        );
        interrupt.request();
    });
}

/// The second request ends what the first lets finish.
pub(super) fn stop_at_once(stop: &StopRequest) {
    stop.request();
    stop.request();
}
