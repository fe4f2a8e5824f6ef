//! Connections to the servers of a log, and which of them leads it.

use crate::address::Address;
use crate::error::OpenError;
use async_nats::ConnectOptions;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::Info;
use chiliad_machine::shared_log::SharedLogError;
use std::time::Duration;

/// How long an acknowledgement may take before the record is sent again.
pub const ACKNOWLEDGEMENT: Duration = Duration::from_secs(2);
/// How long the answer to a question may take before it is asked again. Where a server was lost, nobody answers.
pub const ANSWER: Duration = Duration::from_secs(1);
/// The pause before an attempt is repeated that was refused at once.
pub const PAUSE: Duration = Duration::from_millis(100);
/// How long a server may take to accept a connection.
const CONNECTION: Duration = Duration::from_secs(2);
/// A connection is given up when its server has answered no ping for three times this long.
const PING: Duration = Duration::from_secs(2);
/// Records under way at once, of all callers together; further ones wait. Callers wait for each other's records only
/// beyond any number that is of use: each holds its own while it sends more.
const APPENDS_MAX: usize = 1 << 20;

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

/// Whether the answer is the leader's. A server that is not one of a cluster leads its streams.
pub fn is_led(info: &Info) -> bool {
    info.cluster
        .as_ref()
        .is_none_or(|cluster| cluster.leader.as_ref().is_some_and(|it| !it.is_empty()))
}
