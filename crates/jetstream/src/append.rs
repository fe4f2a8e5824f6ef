//! Appending: the records of a call are under way together, and each is sent again until it is acknowledged.
//!
//! Records have no ids by which the servers would know a repetition: to keep them costs a fifth of the rate, and readers
//! of a shared log must know repetitions anyway.

use crate::client::Client;
use crate::connection::{ACKNOWLEDGEMENT, PAUSE};
use crate::error::of_server;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use chiliad_machine::shared_log::{Position, SharedLogError};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

/// The most records of one call that are under way together, and about the most bytes: a leader refuses what it cannot
/// queue.
const RECORDS_MAX: usize = 1024;
const BYTES_MAX: usize = 8 << 20;

/// Appends `records`, and returns when all of them are acknowledged.
pub async fn append(client: Arc<Client>, records: Vec<Bytes>) -> Result<(), SharedLogError> {
    let deadline = client.deadline();
    let (mut group, mut bytes) = (Vec::new(), 0);
    for record in records {
        if group.len() == RECORDS_MAX || (bytes > 0 && bytes + record.len() > BYTES_MAX) {
            append_group(&client, std::mem::take(&mut group), deadline).await?;
            bytes = 0;
        }
        bytes += record.len();
        group.push(record);
    }
    append_group(&client, group, deadline).await
}

/// Sends all records, waits for their acknowledgements, and does so again with those that got none.
async fn append_group(
    client: &Client,
    mut records: Vec<Bytes>,
    deadline: Instant,
) -> Result<(), SharedLogError> {
    let known = client.known.end();
    let mut failure = "no acknowledgement".to_owned();
    while !records.is_empty() {
        let until = deadline.min(Instant::now() + ACKNOWLEDGEMENT);
        let mut sent = Vec::with_capacity(records.len());
        for record in records {
            let acknowledgement = timeout_at(until, send(client, &record)).await;
            sent.push((record, acknowledgement));
        }
        let mut again = Vec::new();
        for (record, acknowledgement) in sent {
            // After `until` those that have come are still taken.
            let answer = match acknowledgement {
                Ok(Ok(acknowledgement)) => timeout_at(until, acknowledgement).await,
                Ok(Err(error)) => Ok(Err(error)),
                Err(late) => Err(late),
            };
            match answer {
                Ok(Ok(acknowledged)) if acknowledged.sequence < known => {
                    return Err(rolled_back(client, acknowledged.sequence, known));
                }
                Ok(Ok(acknowledged)) => client.known.reaches(acknowledged.sequence + 1),
                Ok(Err(error)) => {
                    if let Some(error) = refusal(client, &error, record.len()) {
                        return Err(error);
                    }
                    failure = error.to_string();
                    again.push(record);
                }
                Err(_) => again.push(record),
            }
        }
        records = again;
        if records.is_empty() {
            client.fruitless.over();
        } else {
            client.fruitless.goes_on(&client.address, &client.nats);
            if Instant::now() + PAUSE >= deadline {
                return Err(why_unacknowledged(client, &failure).await);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

async fn send(client: &Client, record: &Bytes) -> Result<PublishAckFuture, PublishError> {
    let message = PublishMessage::build().payload(record.clone());
    client.context.send_publish(client.subject.clone(), message).await
}

/// A record was stored where another one was before this was sent.
fn rolled_back(client: &Client, position: Position, known: Position) -> SharedLogError {
    SharedLogError::Damaged(format!(
        "{}: records up to {} were acknowledged, and a new one got position {position}",
        client.address.url(),
        known - 1
    ))
}

/// The error that another attempt would not cure, if `error` is one.
fn refusal(client: &Client, error: &PublishError, bytes: usize) -> Option<SharedLogError> {
    let too_large = || SharedLogError::TooLarge { bytes, accepted: client.record_bytes_max };
    let full = || SharedLogError::Full(format!("{}: {error}", client.address.url()));
    if error.kind() == PublishErrorKind::MaxPayloadExceeded {
        return Some(too_large());
    }
    let of_server = of_server(error)?;
    match of_server.error_code() {
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM => Some(too_large()),
        ErrorCode::STREAM_STORE_FAILED if of_server.to_string().contains("maximum") => Some(full()),
        ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
        | ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::STORAGE_RESOURCES_EXCEEDED => Some(full()),
        _ => None,
    }
}

/// Why there is no acknowledgement: the stream may have been made anew, and nobody hears its subject any more.
async fn why_unacknowledged(client: &Client, failure: &str) -> SharedLogError {
    match client.seen().await {
        Err(error @ SharedLogError::Damaged(_)) => error,
        _ => client.unavailable(failure),
    }
}
