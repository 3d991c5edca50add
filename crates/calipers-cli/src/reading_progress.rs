//! How far reading has come, and that long work goes on.
//!
//! The bar is drawn on standard error by a separate thread, from a count of bytes that the readers keep. It appears
//! after a second and is wiped away at the end, so that short runs show nothing. Work of unknown size
//! has a spinner in its place.

use crate::terminal::is_dumb;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Nothing is shown before this has passed.
const PATIENCE: Duration = Duration::from_secs(1);
/// Often enough to look alive, seldom enough to cost nothing.
const BETWEEN_FRAMES: Duration = Duration::from_millis(100);

/// A bar that goes away when it is dropped.
pub(crate) struct ReadingProgress {
    /// The bytes read so far.
    pub(crate) read: Arc<AtomicU64>,
    drawing: Option<Drawing>,
}

struct Drawing {
    /// Dropped to tell the thread to stop.
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl ReadingProgress {
    /// A bar for this many bytes, drawn only if standard error is a terminal that can redraw it.
    pub(crate) fn start(total: u64) -> Self {
        Self::start_on(target(), Some(total), READING, PATIENCE)
    }

    /// A spinner beside what is being done.
    pub(crate) fn working(what: &'static str) -> Self {
        Self::start_on(target(), None, what, PATIENCE)
    }

    fn start_on(
        target: Option<ProgressDrawTarget>,
        total: Option<u64>,
        what: &'static str,
        patience: Duration,
    ) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        let drawing = target.map(|target| {
            let (stop, stopped) = channel::<()>();
            let counter = read.clone();
            let goes_on = move |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
            let draw = move || {
                if goes_on(patience) {
                    let bar = ProgressBar::with_draw_target(total, target).with_message(what);
                    let bar = bar.with_style(style(total.is_some())).with_elapsed(patience);
                    loop {
                        if let Some(total) = total {
                            // Some formats are read in two passes, and the second is no step back.
                            bar.set_position(counter.load(Ordering::Relaxed).min(total));
                        }
                        bar.tick();
                        if !goes_on(BETWEEN_FRAMES) {
                            break;
                        }
                    }
                    bar.finish_and_clear();
                }
            };
            Drawing { stop, thread: std::thread::spawn(draw) }
        });
        Self { read, drawing }
    }
}

impl Drop for ReadingProgress {
    fn drop(&mut self) {
        if let Some(Drawing { stop, thread }) = self.drawing.take() {
            drop(stop);
            // Only drawing could have panicked, and a bar is no reason to lose the answer.
            let _ = thread.join();
        }
    }
}

const READING: &str = "reading";

/// Where progress is drawn, if anywhere.
fn target() -> Option<ProgressDrawTarget> {
    (std::io::stderr().is_terminal() && !is_dumb()).then(ProgressDrawTarget::stderr)
}

fn style(is_bar: bool) -> ProgressStyle {
    let template = match is_bar {
        true => "{spinner} {msg} {bar:30} {binary_bytes} of {binary_total_bytes}, {elapsed}",
        false => "{spinner} {msg}, {elapsed}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, TermLike};

    /// A terminal that remembers whether anything was ever written to it.
    fn watch(total: Option<u64>, patience: Duration, work: Duration) -> (String, String) {
        let term = InMemoryTerm::new(4, 80);
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let progress = ReadingProgress::start_on(Some(target), total, "comparing", patience);
        progress.read.store(1024, Ordering::Relaxed);
        std::thread::sleep(work);
        let during = term.contents();
        drop(progress);
        assert!(term.width() == 80);
        (during, term.contents())
    }

    #[test]
    fn a_short_run_shows_nothing_and_a_long_one_cleans_up() {
        let nothing = (String::new(), String::new());
        assert_eq!(watch(Some(2048), Duration::from_secs(60), Duration::from_millis(10)), nothing);
        let (during, after) = watch(Some(2048), Duration::ZERO, Duration::from_millis(500));
        assert!(during.contains("1.00 KiB of 2.00 KiB"), "{during}");
        assert_eq!(after, "");
        let (during, after) = watch(None, Duration::ZERO, Duration::from_millis(500));
        assert!(during.contains("comparing"), "{during}");
        assert_eq!(after, "");
    }

    #[test]
    fn without_a_terminal_there_is_no_thread() {
        assert!(ReadingProgress::start_on(None, Some(1), READING, PATIENCE).drawing.is_none());
    }
}
