//! A shared log over NATS JetStream: a stream that several servers store, and that everybody appends to and reads.
//!
//! [`JetStream`] implements [`SharedLog`] over the crate async-nats. A record is a message of the stream, its position
//! the message's sequence number. The crate is not part of the workspace, so that nobody builds a network client who
//! has not asked for it: the feature `jetstream` of the crate `chiliad` does.
//!
//! - [`JetStream::open`] makes the stream, or checks that the one that is there loses nothing (`settings`).
//! - An append is repeated until it is acknowledged; its record may then be stored more than once (`append`).
//! - Reads go through a consumer that is made anew whenever it is odd (`read`).
//!
//! Not supported yet: credentials and TLS. Whoever reaches the servers may append, and trim.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/jetstream.md")]
struct Page;

mod address;
mod append;
mod client;
mod connection;
mod error;
mod known;
mod leave;
mod monitor;
mod open;
mod options;
mod read;
mod settings;

pub use error::OpenError;
pub use options::Options;

use bytes::Bytes;
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use client::Client;
use core::ops::Range;
use read::Readers;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A shared log in a stream of NATS JetStream. It has a thread of its own for the network; its calls wait for that
/// thread, so any thread may make them.
pub struct JetStream {
    client: Arc<Client>,
    readers: Arc<Readers>,
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

impl JetStream {
    /// Opens the log at `url`: `nats://HOST:PORT,HOST:PORT,.../NAME` with some or all of the servers, and the name of the
    /// stream. Makes the stream if there is none; otherwise checks its settings.
    ///
    /// # Errors
    /// [`OpenError::Invalid`] if the URL or an option cannot be used, [`OpenError::Refused`] if the stream would lose
    /// records or is somebody else's, [`OpenError::Log`] with [`SharedLogError::Unavailable`] if no server accepts a
    /// connection, or if no majority of them has answered by the deadline.
    ///
    /// # Panics
    /// If the operating system has no thread or no event queue left.
    pub fn open(url: &str, options: Options) -> Result<Self, OpenError> {
        let address = address::Address::parse(url).map_err(OpenError::Invalid)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("chiliad-jetstream")
            .enable_all()
            .build()
            .expect("a thread for the shared log");
        let client = wait_for(&runtime, open::open(address, options))?;
        Ok(Self { client: Arc::new(client), readers: Arc::default(), runtime: Some(runtime) })
    }

    /// The name of the server that leads the stream; it changes when that one is lost.
    ///
    /// # Errors
    /// As [`SharedLog::bounds`].
    pub fn leader(&self) -> Result<String, SharedLogError> {
        let client = self.client.clone();
        let info = self.wait(async move { client.led(client.deadline()).await })?;
        let leader = info.cluster.and_then(|cluster| cluster.leader);
        Ok(leader.unwrap_or_else(|| self.client.nats.server_info().server_name))
    }

    /// The name of the server that this process is connected to, or was last: the leader at the time of
    /// [`open`](Self::open) where the URL has it, another one after that was lost.
    #[must_use]
    pub fn connected_to(&self) -> String {
        self.client.nats.server_info().server_name
    }

    fn wait<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        wait_for(self.runtime.as_ref().expect("there until dropped"), future)
    }
}

/// Runs `future` on the runtime's thread and waits for it. The calling thread may be one of another runtime.
fn wait_for<F>(runtime: &Runtime, future: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    let (result, results) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // The receiver waits until this is sent.
        let _ = result.send(future.await);
    });
    results.recv().expect("a task of the shared log panicked")
}

impl Drop for JetStream {
    fn drop(&mut self) {
        // Waiting for the tasks is not allowed on threads of another runtime, and not needed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for JetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStream")
            .field("place", &self.place())
            .field("options", &self.client.options)
            .finish_non_exhaustive()
    }
}

impl SharedLog for JetStream {
    fn place(&self) -> String {
        self.client.address.url()
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        let client = self.client.clone();
        self.wait(async move { client.led(client.deadline()).await })?;
        Ok(self.client.identity)
    }

    fn record_bytes_max(&self) -> usize {
        self.client.record_bytes_max
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        let accepted = self.client.record_bytes_max;
        if let Some(bytes) = records.iter().map(|it| it.len()).find(|bytes| *bytes > accepted) {
            return Err(SharedLogError::TooLarge { bytes, accepted });
        }
        let records = records.iter().map(|record| Bytes::copy_from_slice(record)).collect();
        self.wait(append::append(self.client.clone(), records))
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        let first = self.client.known.first();
        if from < first {
            return Err(SharedLogError::Trimmed { first });
        }
        let records = self.wait(read::read(
            self.client.clone(),
            self.readers.clone(),
            from,
            bytes,
            patience,
        ))?;
        // Here and not in the task: `take` may call this log.
        let mut position = from;
        for record in records {
            take(position, &record);
            position += 1;
        }
        Ok(position)
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        let client = self.client.clone();
        self.wait(async move {
            let info = client.led(client.deadline()).await?;
            client.known.judge(&info)
        })
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        let client = self.client.clone();
        self.wait(async move { client.trim(position).await })
    }

    fn stored_bytes(&self) -> Option<u64> {
        let client = self.client.clone();
        let info = self.wait(async move { client.seen().await }).ok()?;
        Some(info.state.bytes)
    }
}
