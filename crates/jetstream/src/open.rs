//! Connects to the servers, and finds the stream or makes it.

use crate::address::Address;
use crate::client::Client;
use crate::connection::{ANSWER, PAUSE, connect, context, is_led, leader_first};
use crate::error::{OpenError, of_server};
use crate::known::Known;
use crate::leave::Fruitless;
use crate::options::{DEADLINE_MAX, Options};
use crate::{monitor, settings};
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::stream::Info;
use async_nats::jetstream::{Context, ErrorCode};
use chiliad_machine::shared_log::SharedLogError;
use std::hash::{BuildHasher, Hasher, RandomState};
use tokio::time::Instant;

/// Bytes of a message that are kept free of the record's, for headers.
const HEADER_BYTES: usize = 256;

/// Opens the log at `address`.
pub async fn open(address: Address, options: Options) -> Result<Client, OpenError> {
    if options.replicas == 0 || options.deadline > DEADLINE_MAX {
        return Err(OpenError::Invalid(format!(
            "a shared log needs at least 1 replica and a deadline of at most {DEADLINE_MAX:?}"
        )));
    }
    monitor::check(&options.monitors)?;
    let deadline = Instant::now() + options.deadline;
    let mut nats = connect(&address, &address.servers).await?;
    let info = find_or_make(&context(&nats), &address, &options, deadline).await?;
    if let Some(servers) = leader_first(&address, &info, &nats).await {
        nats = connect(&address, &servers).await?;
    }
    let context = context(&nats);
    settings::check(&info, &options)?;
    let (mut asking, mut making) = (context.clone(), context.clone());
    asking.set_timeout(ANSWER);
    making.set_timeout(options.deadline);
    let stream = asking
        .get_stream_no_info(&address.stream)
        .await
        .map_err(|error| OpenError::Invalid(error.to_string()))?;
    let consumers = making
        .get_stream_no_info(&address.stream)
        .await
        .map_err(|error| OpenError::Invalid(error.to_string()))?;
    let known = Known::new();
    known.judge(&info)?;
    Ok(Client {
        record_bytes_max: record_bytes_max(nats.server_info().max_payload, &info),
        subject: settings::subject_of(&info),
        identity: settings::identity(&info).unwrap_or_default(),
        known,
        fruitless: Fruitless::default(),
        address,
        options,
        nats,
        context,
        stream,
        consumers,
    })
}

/// The stream, as its leader sees it; made if there is none.
async fn find_or_make(
    context: &Context,
    address: &Address,
    options: &Options,
    deadline: Instant,
) -> Result<Info, OpenError> {
    let name = &address.stream;
    loop {
        let failure = match context.get_stream(name).await {
            Ok(stream) if is_led(stream.cached_info()) => return Ok(stream.cached_info().clone()),
            Ok(_) => format!("stream {name} has no leader"),
            Err(error) => match error.kind() {
                async_nats::jetstream::context::GetStreamErrorKind::JetStream(refusal)
                    if refusal.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    match make(context, name, options).await? {
                        None => continue,
                        Some(failure) => failure,
                    }
                }
                _ => format!("JetStream does not show the stream: {error}"),
            },
        };
        if Instant::now() + PAUSE >= deadline {
            let connected = context.client().server_info().server_name;
            return Err(SharedLogError::Unavailable(format!(
                "{failure}; is there a majority? (connected to {connected}; servers {})",
                address.tried()
            ))
            .into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Makes the stream. Returns why it could not yet be made, if so; that somebody else has just made it is no failure.
async fn make(
    context: &Context,
    name: &str,
    options: &Options,
) -> Result<Option<String>, OpenError> {
    let drawn = u128::from(random()) << 64 | u128::from(random());
    let error = match context.create_stream(settings::new(name, drawn, options)).await {
        Ok(_) => return Ok(None),
        Err(error) => error,
    };
    let refusal = match error.kind() {
        CreateStreamErrorKind::JetStream(refusal) => Some(refusal),
        _ => of_server(&error).cloned(),
    };
    match refusal.map(|it| it.error_code()) {
        Some(ErrorCode::STREAM_NAME_EXIST) => Ok(None),
        Some(ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED) => Err(OpenError::Refused {
            of: "the server".into(),
            setting: "num_replicas",
            is: "1: it is not one of a cluster".into(),
            needed: options.replicas.to_string(),
        }),
        _ => Ok(Some(format!("stream {name} cannot be made: {error}"))),
    }
}

/// The largest record that fits into a message of the servers and the stream.
fn record_bytes_max(max_payload: usize, info: &Info) -> usize {
    let of_stream = usize::try_from(info.config.max_message_size).unwrap_or(0);
    let message = if of_stream == 0 { max_payload } else { max_payload.min(of_stream) };
    message.saturating_sub(HEADER_BYTES)
}

/// A number that the operating system's randomness makes different in each process and each call.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
