//! Turns a panic of a library, caused by damaged data, into an ordinary error.

use crate::{ReadError, Source};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread reads with a library that may panic on damaged data, and the panic will be caught and
/// become an error.
///
/// The panic hook runs before the panic is caught, so a program that installs a hook should ask here whether to report
/// it:
///
/// ```
/// let report = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |panic| {
///     if !calipers_io::panic_is_caught() {
///         report(panic);
///     }
/// }));
/// ```
#[must_use]
pub fn panic_is_caught() -> bool {
    GUARDED.get()
}

/// Reads, and turns a panic into an error. `what` names the data, as in `the Parquet data`.
pub(crate) fn read_catching_panic<T>(
    source: &Source,
    what: &str,
    read: impl FnOnce() -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    catch_panic(read).unwrap_or_else(|text| {
        Err(source.error(format!("{what} is damaged: {text}")).hint("write or copy the file again"))
    })
}

/// Calls a library that may panic, and returns the text of the panic.
pub(crate) fn catch_panic<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_the_guard_is_lifted() {
        let source = Source::bytes("table", *b"");
        let read = || -> Result<(), ReadError> {
            assert!(panic_is_caught());
            read_catching_panic(&source, "the inner data", || Ok(())).expect("nothing is wrong with it");
            assert!(panic_is_caught(), "the outer guard still stands");
            panic!("page {} is cut off", 3);
        };
        let error = read_catching_panic(&source, "the data", read).expect_err("it panics");
        assert_eq!(error.what(), "the data is damaged: page 3 is cut off");
        assert!(!panic_is_caught());
    }
}
