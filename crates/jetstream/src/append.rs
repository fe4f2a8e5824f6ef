//! Appending: all records of a call under way at once, each repeated under its own id until it is acknowledged.

use crate::client::{Client, PAUSE, REQUEST};
use crate::error::of_server;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use chiliad_machine::shared_log::{Position, SharedLogError};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

/// Appends `records`, and returns when all of them are acknowledged.
pub async fn append(client: Arc<Client>, records: Vec<Bytes>) -> Result<(), SharedLogError> {
    let deadline = client.deadline();
    let count = records.len() as u64;
    // Only the numbers count, nothing is published by them.
    let first = client.next_id.fetch_add(count, Ordering::Relaxed);
    let mut pending: FuturesUnordered<_> = (first..)
        .zip(records)
        .map(|(number, record)| append_one(&client, number, record, deadline))
        .collect();
    while let Some(done) = pending.next().await {
        done?;
    }
    Ok(())
}

/// Appends one record. The id of a repetition is that of the first attempt, so that the servers store one of them.
async fn append_one(
    client: &Client,
    number: u64,
    record: Bytes,
    deadline: Instant,
) -> Result<(), SharedLogError> {
    let id = format!("{:x}-{number:x}", client.incarnation);
    let mut failure = "no acknowledgement".to_owned();
    let known = client.known.end();
    loop {
        match tokio::time::timeout_at(deadline, attempt(client, &id, record.clone())).await {
            Ok(Ok(position)) if position < known => {
                return Err(rolled_back(client, position, known));
            }
            Ok(Ok(position)) => {
                client.known.reaches(position + 1);
                return Ok(());
            }
            Ok(Err(error)) => {
                if let Some(error) = refusal(client, &error, record.len()) {
                    return Err(error);
                }
                failure = error.to_string();
            }
            Err(_) => return Err(given_up(client, &failure).await),
        }
        if Instant::now() + PAUSE >= deadline {
            return Err(given_up(client, &failure).await);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A record was stored where another one was before this was sent.
fn rolled_back(client: &Client, position: Position, known: Position) -> SharedLogError {
    SharedLogError::Damaged(format!(
        "{}: records up to {} were acknowledged, and a new one got position {position}",
        client.address.url(),
        known - 1
    ))
}

/// Sends the record once; its position.
async fn attempt(client: &Client, id: &str, record: Bytes) -> Result<Position, PublishError> {
    let message = PublishMessage::build().payload(record).message_id(id);
    let acknowledgement = client.context.send_publish(client.subject.clone(), message).await?;
    Ok(acknowledgement.await?.sequence)
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
async fn given_up(client: &Client, failure: &str) -> SharedLogError {
    match tokio::time::timeout(REQUEST, client.seen()).await {
        Ok(Err(error @ SharedLogError::Damaged(_))) => error,
        _ => client.unavailable(failure),
    }
}
