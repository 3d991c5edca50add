//! Ctrl-C and SIGTERM handlers.

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
