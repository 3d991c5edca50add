//! A request to end a run.

use std::sync::Arc;
use tokio::sync::watch;

/// Asks runs to end. The first request lets running attempts finish, the second does not.
#[derive(Clone, Debug)]
pub struct StopRequest(Arc<watch::Sender<u8>>);

impl Default for StopRequest {
    fn default() -> Self {
        Self::new()
    }
}

impl StopRequest {
    /// No request yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Adds a request.
    pub fn request(&self) {
        self.0.send_modify(|requests| *requests = requests.saturating_add(1));
    }

    /// True after the first request.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Waits until there are this many requests.
    pub(crate) async fn wait_for(&self, times: u8) {
        let mut requests = self.0.subscribe();
        requests.wait_for(|&requests| requests >= times).await.expect("we hold the sender ourselves");
    }
}
