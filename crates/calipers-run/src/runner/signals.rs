//! People who want to stop.

/// Calls this whenever somebody presses Ctrl-C, in place of what the system does then: it ends the program.
pub fn on_interrupt(then: impl Fn() + Send + 'static) {
    let listen = async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            then();
        }
    };
    std::thread::spawn(move || {
        // Without a runtime there are no signals to listen to, and Ctrl-C does what it always does.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            runtime.block_on(listen);
        }
    });
}

/// Calls this once when the system asks the program to end, or its terminal is gone, in place of ending it there and then:
/// programs that it started would go on.
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
