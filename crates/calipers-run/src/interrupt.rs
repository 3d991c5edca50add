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
