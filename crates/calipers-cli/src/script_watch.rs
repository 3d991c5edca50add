//! Ends a process whose script does not stop by itself, or whose parent is gone.

use crate::exit::INPUT;
use crate::script_child::{is_script_child, parent};
use calipers::script::{ScriptWatchdog, is_about_memory};
use std::time::Duration;

/// Ends the process when a script does not stop by itself, or when the parent that waits for the answer is gone.
pub(crate) fn watch(watch: ScriptWatchdog, seconds: u64) {
    watch_and(watch, seconds, || {});
}

/// The same, with something to do first when the parent is gone.
pub(crate) fn watch_and(watch: ScriptWatchdog, seconds: u64, when_alone: impl Fn() + Send + 'static) {
    if !is_script_child() {
        return;
    }
    silence_memory_panics();
    let parent = parent();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(50));
            if crate::script_child::parent() != parent {
                when_alone();
                std::process::exit(INPUT.into());
            }
            if watch.is_overdue(Duration::from_secs(1)) {
                eprintln!(
                    "error: the script's time is up: it ran longer than {seconds} s\n  \
                     hint: look for a value that grows without end, or allow more with `--script-time`"
                );
                std::process::exit(INPUT.into());
            }
        }
    });
}

/// A failed allocation is reported as an error; the panic on the way there would only be noise.
fn silence_memory_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        if !text.is_some_and(is_about_memory) {
            usual(panic);
        }
    }));
}
