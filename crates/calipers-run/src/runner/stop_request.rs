//! Asking a run to end.

use std::sync::Arc;
use tokio::sync::watch;

/// Asks runs to end. The first request lets what is under way finish, the second does not.
#[derive(Clone, Debug)]
pub struct StopRequest(Arc<watch::Sender<u8>>);

impl Default for StopRequest {
    fn default() -> Self {
        Self::new()
    }
}

impl StopRequest {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Asks once, or once more.
    pub fn request(&self) {
        self.0.send_modify(|requests| *requests = requests.saturating_add(1));
    }

    /// True once somebody asked.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Returns when there were this many requests.
    pub(crate) async fn wait_for(&self, times: u8) {
        let mut requests = self.0.subscribe();
        requests.wait_for(|&requests| requests >= times).await.expect("we hold the sender ourselves");
    }
}
