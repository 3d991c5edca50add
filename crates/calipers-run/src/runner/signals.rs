//! Ctrl-C and SIGTERM handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Calls this on every Ctrl-C, instead of ending the program.
pub fn on_interrupt(then: impl Fn() + Send + 'static) {
    let listen = async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            then();
        }
    };
    std::thread::spawn(move || {
        // Without a runtime there are no signal handlers, and Ctrl-C ends the program as usual.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            runtime.block_on(listen);
        }
    });
}

/// Calls this once on SIGTERM or SIGHUP, instead of ending the program at once, which would leave its child processes
/// running.
pub fn on_terminate(then: impl FnOnce() + Send + 'static) {
    #[cfg(unix)]
    std::thread::spawn(move || {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = async {
            let (mut end, mut hang_up) = (signal(SignalKind::terminate()).ok()?, signal(SignalKind::hangup()).ok()?);
            tokio::select! {
                asked = end.recv() => asked,
                asked = hang_up.recv() => asked,
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        if runtime.is_ok_and(|runtime| runtime.block_on(listen).is_some()) {
            then();
        }
    });
    #[cfg(not(unix))]
    drop(then);
}

/// Passes interrupts on to a child process, from a parent that only waits for it.
///
/// Ctrl-C in a terminal reaches both, and `kill -INT` only the one that is named. So what is passed on is another signal
/// (SIGUSR1): the child counts both kinds, and the larger number is how often it was interrupted. On Windows, Ctrl-C
/// always reaches both.
#[derive(Debug, Default)]
pub struct InterruptForwarder(Arc<AtomicI32>);

/// Before there is a child, the number of interrupts so far is kept as a negative number.
impl InterruptForwarder {
    /// Begins to listen. The program no longer ends by Ctrl-C.
    #[must_use]
    pub fn start() -> Self {
        let child = Arc::new(AtomicI32::new(0));
        let known = child.clone();
        on_interrupt(move || {
            let noted =
                known.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |child| (child <= 0).then_some(child - 1));
            if let Err(child) = noted {
                pass_on(child);
            }
        });
        Self(child)
    }

    /// Passes interrupts on to this process from now on, and those that came before.
    pub fn pass_to(&self, child: u32) {
        let Ok(child) = i32::try_from(child) else { return };
        let before = self.0.swap(child, Ordering::SeqCst);
        (before..0).for_each(|_| pass_on(child));
    }

    /// Passes nothing on any more: the child has ended, and its number may be given to another process.
    pub fn stop(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

#[cfg(unix)]
fn pass_on(child: i32) {
    use nix::sys::signal::{Signal, kill};
    let _ = kill(nix::unistd::Pid::from_raw(child), Signal::SIGUSR1);
}

#[cfg(not(unix))]
fn pass_on(_: i32) {}

/// Calls this on every interrupt that a parent passes on.
pub fn on_forwarded_interrupt(then: impl Fn() + Send + 'static) {
    #[cfg(unix)]
    std::thread::spawn(move || {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = async {
            let mut passed_on = signal(SignalKind::user_defined1()).ok()?;
            while passed_on.recv().await.is_some() {
                then();
            }
            Some(())
        };
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            runtime.block_on(listen);
        }
    });
    #[cfg(not(unix))]
    drop(then);
}

/// True for the signal that an [`InterruptForwarder`] sends, which ends a process that does not listen yet.
#[must_use]
pub fn is_forwarded_interrupt(signal: i32) -> bool {
    #[cfg(unix)]
    return signal == nix::sys::signal::Signal::SIGUSR1 as i32;
    #[cfg(not(unix))]
    return {
        let _ = signal;
        false
    };
}
