//! Connects to the servers, and finds the stream or makes it.

use crate::address::Address;
use crate::client::{ACKNOWLEDGEMENT, ANSWER, Client, PAUSE, is_led};
use crate::error::{OpenError, of_server};
use crate::known::Known;
use crate::leave::Fruitless;
use crate::options::{DEADLINE_MAX, Options};
use crate::{monitor, settings};
use async_nats::ConnectOptions;
use async_nats::jetstream::context::{ContextBuilder, CreateStreamErrorKind};
use async_nats::jetstream::stream::Info;
use async_nats::jetstream::{Context, ErrorCode};
use chiliad_machine::shared_log::SharedLogError;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::time::Instant;

/// How long a server may take to accept a connection.
const CONNECTION: Duration = Duration::from_secs(2);
/// A connection is given up when its server has answered no ping for three times this long.
const PING: Duration = Duration::from_secs(2);
/// Records under way at once, of all callers together; further ones wait. Callers wait for each other's records only
/// beyond any number that is of use: each holds its own while it sends more.
const APPENDS_MAX: usize = 1 << 20;
/// Bytes of a message that are not the record's: headers, among them its id.
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
    let mut asking = context.clone();
    asking.set_timeout(ANSWER);
    let stream = asking
        .get_stream_no_info(&address.stream)
        .await
        .map_err(|error| OpenError::Invalid(error.to_string()))?;
    let known = Known::new();
    known.judge(&info)?;
    Ok(Client {
        record_bytes_max: record_bytes_max(nats.server_info().max_payload, &info),
        subject: settings::subject_of(&info),
        identity: settings::identity(&info).unwrap_or_default(),
        incarnation: random(),
        next_id: AtomicU64::new(0),
        known,
        fruitless: Fruitless::default(),
        address,
        options,
        nats,
        context,
        stream,
    })
}

/// JetStream over this connection.
pub fn context(nats: &async_nats::Client) -> Context {
    ContextBuilder::new()
        .timeout(ACKNOWLEDGEMENT)
        .max_ack_inflight(APPENDS_MAX)
        .backpressure_on_inflight(true)
        .build(nats.clone())
}

/// Connects to the first of `servers` that accepts it; later, when it is lost, to any of them.
pub async fn connect(
    address: &Address,
    servers: &[String],
) -> Result<async_nats::Client, OpenError> {
    let options = ConnectOptions::new()
        .name("chiliad")
        .connection_timeout(CONNECTION)
        .request_timeout(Some(ANSWER))
        .ping_interval(PING)
        .max_reconnects(None)
        .retain_servers_order()
        .reconnect_delay_callback(|attempts| PAUSE * u32::try_from(attempts).unwrap_or(10).min(10));
    let servers = servers
        .iter()
        .map(|server| server.parse())
        .collect::<Result<Vec<async_nats::ServerAddr>, _>>()
        .map_err(|error| OpenError::Invalid(format!("{}: {error}", address.url())))?;
    options.connect(servers).await.map_err(|error| {
        let tried = format!("no server accepts a connection ({error}; tried {})", address.tried());
        SharedLogError::Unavailable(tried).into()
    })
}

/// The servers with the stream's leader in front; nothing if the client is connected to it already, or if it is not among
/// them. Every append goes through the leader: by way of another server it takes a hop more.
pub async fn leader_first(
    address: &Address,
    info: &Info,
    nats: &async_nats::Client,
) -> Option<Vec<String>> {
    let leader = info.cluster.as_ref()?.leader.as_ref()?;
    if nats.server_info().server_name == *leader {
        return None;
    }
    for (place, server) in address.servers.iter().enumerate() {
        // One that does not answer does not lead.
        let Ok(client) = connect(address, std::slice::from_ref(server)).await else { continue };
        if client.server_info().server_name == *leader {
            let mut servers = address.servers.clone();
            servers[..=place].rotate_right(1);
            return Some(servers);
        }
    }
    None
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
