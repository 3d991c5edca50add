//! What a run looks like while it goes on: one line on standard error, redrawn on a terminal, repeated now and then elsewhere.

use crate::terminal::{is_dumb, say};
use calipers::eval::Progress;
use calipers::text::one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BETWEEN_FRAMES: Duration = Duration::from_millis(100);
/// Where lines pile up in a file, one in a while is enough.
const BETWEEN_LINES: Duration = Duration::from_secs(15);

/// A line on standard error that says how far a run has come, and goes away when it is dropped.
#[derive(Debug)]
pub struct ProgressLine {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// Shows how far a task has come.
    #[must_use]
    pub fn start(task: &str, progress: Arc<Progress>) -> Self {
        let (stop, stopped) = channel::<()>();
        let goes_on = move |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
        let task = one_line(task);
        let draw = move || {
            if std::io::stderr().is_terminal() && !is_dumb() {
                draw_bar(&task, &progress, goes_on);
            } else {
                write_lines(&task, &progress, goes_on);
            }
        };
        Self { stop: Some(stop), thread: Some(std::thread::spawn(draw)) }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A line is no reason to lose an answer.
            let _ = thread.join();
        }
    }
}

fn draw_bar(task: &str, progress: &Progress, goes_on: impl Fn(Duration) -> bool) {
    let started = Instant::now();
    let mut drawn = None;
    while goes_on(BETWEEN_FRAMES) {
        // Before it is known how much there is to do, nothing can be said.
        if progress.total() > 0 {
            let bar = drawn.get_or_insert_with(|| bar(task, progress));
            bar.set_position(progress.done());
            bar.set_message(status(progress, started));
        }
    }
    if let Some(bar) = drawn {
        bar.finish_and_clear();
    }
}

fn bar(task: &str, progress: &Progress) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(progress.total()), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{prefix} {bar:12} {pos}/{len}  {wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(shorten(task));
    bar
}

/// On a narrow terminal a long name would leave no room for what changes.
fn shorten(task: &str) -> String {
    const CHARS_MAX: usize = 20;
    match task.char_indices().nth(CHARS_MAX) {
        Some(_) => task.chars().take(CHARS_MAX - 1).chain(['…']).collect(),
        None => task.to_owned(),
    }
}

fn write_lines(task: &str, progress: &Progress, goes_on: impl Fn(Duration) -> bool) {
    let started = Instant::now();
    while goes_on(BETWEEN_LINES) {
        say(&format!("{task}: {} of {} done, {}", progress.done(), progress.total(), status(progress, started)));
    }
}

/// Everything but the count, the most wanted first, because a narrow terminal cuts the end off: how long it will take, the
/// mean so far, which has no interval because it is looked at again and again, what went wrong, and what it took.
fn status(progress: &Progress, started: Instant) -> String {
    let mut parts = Vec::new();
    if let Some(left) = left(progress, started.elapsed()) {
        parts.push(format!("{} left", clock(left)));
    }
    if let Some(mean) = progress.mean() {
        parts.push(format!("mean {mean:.3} so far"));
    }
    parts.extend(parts_used(progress));
    if parts.is_empty() { "starting".into() } else { parts.join(", ") }
}

/// What a run took that was not free, once it is over: a paid one, or one with something in its way.
pub(crate) fn usage(progress: &Progress) -> Option<String> {
    let counts = [progress.retries(), progress.errors(), progress.limits(), progress.cached()];
    let is_worth_it = progress.cost_usd().is_some() || counts.iter().any(|&count| count > 0);
    is_worth_it.then(|| parts_used(progress).join(", "))
}

fn parts_used(progress: &Progress) -> Vec<String> {
    let mut parts = Vec::new();
    let counts = [
        (progress.errors(), "error", "errors"),
        (progress.limits(), "limit hit", "limits hit"),
        (progress.retries(), "retry", "retries"),
        (progress.cached(), "cached answer", "cached answers"),
    ];
    for (count, one, more) in counts {
        if count > 0 {
            parts.push(format!("{count} {}", if count == 1 { one } else { more }));
        }
    }
    let tokens = progress.tokens();
    if tokens > 0 {
        parts.push(format!("{} tokens", short(tokens)));
    }
    // Most runs of a few samples cost less than a cent.
    parts
        .extend(progress.cost_usd().map(|cost| if cost < 0.1 { format!("${cost:.4}") } else { format!("${cost:.2}") }));
    parts
}

fn left(progress: &Progress, elapsed: Duration) -> Option<Duration> {
    let done = progress.done();
    let open = progress.total().saturating_sub(done);
    (done > 0).then(|| elapsed.mul_f64(open as f64 / done as f64))
}

fn short(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fit_their_number_and_names_their_place() {
        assert_eq!([shorten("gpqa"), shorten("a_name_that_is_long_enough")], ["gpqa", "a_name_that_is_long…"]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([short(9_999), short(10_000), short(12_345_678)], ["9999", "10k", "12.3M"]);
        assert_eq!([clock(Duration::from_secs(61)), clock(Duration::from_secs(3_725))], ["1:01", "1:02:05"]);
    }
}
