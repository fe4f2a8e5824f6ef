//! A thread that a database has started and waits for.

use crate::{Error, Result};
use std::thread::{Builder, JoinHandle};

/// A thread that was told to end when this is dropped: it is woken, and waited for.
pub(crate) struct OwnedThread(Option<JoinHandle<()>>);

impl OwnedThread {
    /// Starts the thread `name`, `of` what it is for.
    ///
    /// # Errors
    /// [`Error::HostExhausted`].
    pub fn start(name: &str, of: &str, body: impl FnOnce() + Send + 'static) -> Result<Self> {
        let refused = |error| Error::HostExhausted(format!("no thread for {of}: {error}"));
        let thread = Builder::new().name(name.into()).spawn(body).map_err(refused)?;
        Ok(Self(Some(thread)))
    }
}

impl Drop for OwnedThread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.thread().unpark();
            // A panic was reported when it happened; a drop has nobody to tell.
            let _ = thread.join();
        }
    }
}
