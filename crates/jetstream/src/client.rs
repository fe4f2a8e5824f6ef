//! What the calls of one log share: the connection, the stream, and what is known of it.

use crate::address::Address;
use crate::connection::{ANSWER, PAUSE, is_led};
use crate::error::of_server;
use crate::known::Known;
use crate::leave::Fruitless;
use crate::options::Options;
use crate::settings;
use async_nats::jetstream::stream::{Info, Stream};
use async_nats::jetstream::{Context, ErrorCode};
use chiliad_machine::shared_log::{Position, SharedLogError};
use std::future::IntoFuture;
use tokio::time::Instant;

/// The connection to the servers of a log.
pub struct Client {
    pub address: Address,
    pub options: Options,
    pub nats: async_nats::Client,
    /// For appends: it waits for each acknowledgement.
    pub context: Context,
    /// For everything else: it waits for each answer.
    pub stream: Stream<()>,
    /// For making consumers: those who make them say for how long they wait.
    pub consumers: Stream<()>,
    /// The subject of its records. It holds the number drawn when the stream was made: what is sent to a stream that
    /// is gone is not stored in another of the same name.
    pub subject: String,
    pub identity: u128,
    pub record_bytes_max: usize,
    pub known: Known,
    pub fruitless: Fruitless,
}

impl Client {
    /// The stream as its leader sees it; waits for one until `deadline`.
    pub async fn led(&self, deadline: Instant) -> Result<Info, SharedLogError> {
        loop {
            let failure = match self.seen().await {
                Ok(info) if is_led(&info) => {
                    self.fruitless.over();
                    return Ok(info);
                }
                Ok(_) => "the stream has no leader".to_owned(),
                Err(SharedLogError::Unavailable(failure)) => failure,
                Err(error) => return Err(error),
            };
            self.fruitless.goes_on(&self.address, &self.nats);
            if Instant::now() + PAUSE >= deadline {
                return Err(self.unavailable(&failure));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The stream as whoever answers sees it: without a leader that may be less than was acknowledged.
    pub async fn seen(&self) -> Result<Info, SharedLogError> {
        let answer = tokio::time::timeout(ANSWER, self.stream.get_info()).await;
        let info = match answer {
            Ok(Ok(info)) => info,
            Ok(Err(error)) => return Err(self.without_stream(&error)),
            Err(_) => return Err(SharedLogError::Unavailable("no answer".into())),
        };
        match settings::identity(&info) {
            Some(identity) if identity == self.identity => Ok(info),
            _ => Err(SharedLogError::Damaged(format!(
                "{}: the stream is not the one that was opened; it was made anew at {}",
                self.address.url(),
                info.created
            ))),
        }
    }

    /// When a call that begins now gives up.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.options.deadline
    }

    /// Forgets the records below `position`.
    pub async fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        let deadline = self.deadline();
        loop {
            let bounds = self.known.judge(&self.led(deadline).await?)?;
            // Beyond the end the servers would count on from there, and leave a gap.
            let first = position.min(bounds.end);
            if first <= bounds.start {
                return Ok(());
            }
            let purge = self.stream.purge().sequence(first);
            let failure = match tokio::time::timeout_at(deadline, purge.into_future()).await {
                Ok(Ok(_)) => {
                    self.known.trimmed(first);
                    return Ok(());
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".into(),
            };
            if Instant::now() + PAUSE >= deadline {
                return Err(self.unavailable(&failure));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn without_stream(&self, error: &(dyn std::error::Error + 'static)) -> SharedLogError {
        match of_server(error).map(|error| error.error_code()) {
            Some(ErrorCode::STREAM_NOT_FOUND) => {
                SharedLogError::Damaged(format!("{}: the stream is gone", self.address.url()))
            }
            _ => SharedLogError::Unavailable(error.to_string()),
        }
    }

    /// The error of a log that did not do it in time.
    pub fn unavailable(&self, failure: &str) -> SharedLogError {
        let connected = match self.nats.connection_state() {
            async_nats::connection::State::Connected => {
                format!("connected to {}", self.nats.server_info().server_name)
            }
            _ => "not connected".to_owned(),
        };
        SharedLogError::Unavailable(format!(
            "{failure} ({}; servers {})",
            connected,
            self.address.tried()
        ))
    }
}
