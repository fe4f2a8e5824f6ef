//! Reading: a consumer of the stream that starts at a position and is kept while calls continue where it is.
//!
//! The consumer is of the simplest kind: it lives on one server, in memory, acknowledges nothing, and is made anew
//! whenever anything about it is odd. What it delivers is believed only if it is the next record of our own subject.

use crate::client::Client;
use crate::connection::{ANSWER, PAUSE, is_led};
use async_nats::jetstream;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use bytes::Bytes;
use chiliad_machine::shared_log::{Position, SharedLogError};
use futures_util::StreamExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// After this long without a record the stream is asked whether there is one.
const QUIET: Duration = Duration::from_secs(1);
/// A consumer that nobody asks for this long is removed by its server.
const INACTIVE: Duration = Duration::from_secs(30);
/// How long a request for records stands.
const STANDS: Duration = Duration::from_secs(20);
/// The most records and about the most bytes that are on their way to a reader.
const RECORDS_AHEAD: usize = 512;
const BYTES_AHEAD: usize = 16 << 20;
/// Readers kept between calls: as many places of the log are read without making consumers anew.
const READERS_MAX: usize = 4;
/// How long a record that is known to be there is tried for, however impatient the caller.
const INSISTENCE: Duration = Duration::from_secs(3);
/// Failures before a log counts as out of reach. A kept consumer may have ended, and a new one is not yet heard of by
/// all servers when the first answers.
const FAILURES_MIN: usize = 3;
/// How often the time that a consumer may take to be made is doubled after a failure: where servers are slow, one that is
/// given up too early burdens them, and so does the next.
const PATIENCE_DOUBLINGS: usize = 3;
/// Consumers in a row that begin with a later record than the one asked for, before that record counts as lost.
const GAPS_MAX: usize = 3;

/// A consumer and the position of the record that it delivers next.
pub struct Reader {
    next: Position,
    messages: pull::Stream,
    /// When it last delivered, or when the stream last had nothing for it.
    quiet_since: Instant,
    /// Whether it has delivered nothing yet.
    fresh: bool,
}

/// The readers between calls.
#[derive(Default)]
pub struct Readers(Mutex<Vec<Reader>>);

impl Readers {
    /// Takes the reader that stands at `from`, if there is one.
    fn take(&self, from: Position) -> Option<Reader> {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = readers.iter().position(|reader| reader.next == from)?;
        Some(readers.remove(place))
    }

    /// Keeps a reader for the next call, instead of the oldest.
    fn put_back(&self, reader: Reader) {
        let mut readers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() == READERS_MAX {
            readers.remove(0);
        }
        readers.push(reader);
    }
}

/// Why a reader is of no use any more.
enum Broken {
    /// Another one may do.
    Again(String),
    /// It began with a later record than the one asked for.
    Gap(Position),
    /// No other one would do.
    For(SharedLogError),
}

/// The records from `from` on: see [`chiliad_machine::shared_log::SharedLog::read`].
pub async fn read(
    client: Arc<Client>,
    readers: Arc<Readers>,
    from: Position,
    bytes: usize,
    patience: Duration,
) -> Result<Vec<Bytes>, SharedLogError> {
    let begun = Instant::now();
    let deadline = begun + patience;
    let (mut gaps, mut failures) = (0, 0);
    let mut kept = readers.take(from);
    loop {
        let reader = match kept.take() {
            Some(reader) => Ok(reader),
            None => {
                Reader::new(&client, from, ANSWER * (1 << failures.min(PATIENCE_DOUBLINGS))).await
            }
        };
        let failure = match reader {
            Err(broken) => broken,
            Ok(mut reader) => match reader.gather(&client, bytes, deadline).await {
                Ok(records) => {
                    readers.put_back(reader);
                    return Ok(records);
                }
                Err(broken) => broken,
            },
        };
        let failure = match failure {
            Broken::For(error) => return Err(error),
            Broken::Again(failure) => failure,
            Broken::Gap(found) => {
                gaps += 1;
                if gaps == GAPS_MAX {
                    return Err(SharedLogError::Damaged(format!(
                        "{}: record {from} is missing, the next one is {found}",
                        client.address.url()
                    )));
                }
                continue;
            }
        };
        failures += 1;
        client.fruitless.goes_on(&client.address, &client.nats);
        let known = client.known.end() > from;
        let until = if known { deadline.max(begun + INSISTENCE) } else { deadline };
        if Instant::now() >= until && failures >= FAILURES_MIN {
            return Err(client.unavailable(&failure));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Reader {
    /// A consumer that is there within `patience`.
    async fn new(client: &Client, from: Position, patience: Duration) -> Result<Self, Broken> {
        match client.seen().await {
            Ok(info) => not_trimmed(client, from, &info)?,
            Err(SharedLogError::Unavailable(failure)) => return Err(Broken::Again(failure)),
            Err(error) => return Err(Broken::For(error)),
        }
        let made = tokio::time::timeout(patience, Self::consume(client, from)).await;
        let messages = match made {
            Ok(Ok(messages)) => messages,
            Ok(Err(failure)) => return Err(Broken::Again(failure)),
            Err(_) => return Err(Broken::Again("no consumer in time".into())),
        };
        Ok(Self { next: from, messages, quiet_since: Instant::now(), fresh: true })
    }

    async fn consume(client: &Client, from: Position) -> Result<pull::Stream, String> {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from },
            ack_policy: AckPolicy::None,
            inactive_threshold: INACTIVE,
            num_replicas: 1,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = client
            .consumers
            .create_consumer(config)
            .await
            .map_err(|error| format!("no consumer: {error}"))?;
        // Without any, `from` may lie beyond the end.
        if let pending @ 1.. = consumer.cached_info().num_pending {
            client.known.reaches(from + pending);
        }
        consumer
            .stream()
            .max_messages_per_batch(RECORDS_AHEAD)
            .max_bytes_per_batch(BYTES_AHEAD.max(2 * client.record_bytes_max))
            .expires(STANDS)
            .heartbeat(QUIET)
            .messages()
            .await
            .map_err(|error| format!("no records: {error}"))
    }

    /// The records that are there, up to about `bytes` bytes; waits for one until `deadline`.
    async fn gather(
        &mut self,
        client: &Client,
        bytes: usize,
        deadline: Instant,
    ) -> Result<Vec<Bytes>, Broken> {
        let mut records = Vec::new();
        let mut size = 0;
        let mut unreached = None;
        while size < bytes.max(1) {
            // Records that are known to be there are waited for, whatever the caller's patience.
            let known = client.known.end() > self.next;
            if !known && !records.is_empty() {
                break;
            }
            let quiet_until = self.quiet_since + QUIET;
            let until = if known { quiet_until } else { quiet_until.min(deadline) };
            match tokio::time::timeout_at(until, self.messages.next()).await {
                Ok(Some(Ok(message))) => match self.accept(client, &message).await {
                    Ok(Some(record)) => {
                        size += record.len().max(1);
                        records.push(record);
                    }
                    Ok(None) => {}
                    Err(broken) if records.is_empty() => return Err(broken),
                    Err(_) => break,
                },
                // What came before is good; the next call meets the trouble again.
                _ if !records.is_empty() => break,
                Ok(Some(Err(error))) => return Err(Broken::Again(error.to_string())),
                Ok(None) => return Err(Broken::Again("the consumer ended".into())),
                Err(_) => {
                    if self.quiet_since.elapsed() >= QUIET {
                        unreached = self.ask(client).await?;
                    }
                    let known = client.known.end() > self.next;
                    if Instant::now() >= deadline && (!known || unreached.is_some()) {
                        return unreached
                            .map_or(Ok(records), |failure| Err(Broken::Again(failure)));
                    }
                }
            }
        }
        Ok(records)
    }

    /// The payload of the message, if it is the next record. Nothing for one that was delivered before.
    async fn accept(
        &mut self,
        client: &Client,
        message: &jetstream::Message,
    ) -> Result<Option<Bytes>, Broken> {
        let info = message.info().map_err(|error| Broken::Again(error.to_string()))?;
        let (position, pending) = (info.stream_sequence, info.pending);
        if message.subject.as_str() != client.subject {
            return Err(Broken::For(SharedLogError::Damaged(format!(
                "{}: record {position} is of another log: {}",
                client.address.url(),
                message.subject
            ))));
        }
        if position < self.next {
            return Ok(None);
        }
        if position > self.next {
            if let Ok(seen) = client.seen().await {
                not_trimmed(client, self.next, &seen)?;
            }
            let gap = Broken::Gap(position);
            return Err(if self.fresh { gap } else { Broken::Again("a gap".into()) });
        }
        self.next += 1;
        self.fresh = false;
        self.quiet_since = Instant::now();
        client.known.reaches(self.next + pending);
        Ok(Some(message.payload.clone()))
    }

    /// Asks the stream whether it has a record for a reader that has got none for long. Returns why the answer is not
    /// to be relied on, if so.
    async fn ask(&mut self, client: &Client) -> Result<Option<String>, Broken> {
        let seen = client.seen().await;
        self.quiet_since = Instant::now();
        match seen {
            Err(SharedLogError::Unavailable(failure)) => {
                client.fruitless.goes_on(&client.address, &client.nats);
                Ok(Some(failure))
            }
            Err(error) => Err(Broken::For(error)),
            Ok(info) => {
                // A server that is cut off from the others has nothing new, and no leader.
                match is_led(&info) {
                    true => client.fruitless.over(),
                    false => client.fruitless.goes_on(&client.address, &client.nats),
                }
                not_trimmed(client, self.next, &info)?;
                let bounds = client.known.judge(&info).map_err(Broken::For)?;
                if bounds.end > self.next {
                    return Err(Broken::Again("the consumer stalled".into()));
                }
                let behind = client.known.end() > self.next;
                Ok(behind.then(|| "the stream shows less than was acknowledged".into()))
            }
        }
    }
}

/// Refuses a position whose record is gone.
fn not_trimmed(
    client: &Client,
    from: Position,
    info: &jetstream::stream::Info,
) -> Result<(), Broken> {
    let first = crate::known::bounds(info).start;
    client.known.trimmed(first);
    if from < first { Err(Broken::For(SharedLogError::Trimmed { first })) } else { Ok(()) }
}
