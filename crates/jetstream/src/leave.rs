//! Leaves a server that a client still reaches and the others do not: the connection is well, and nothing comes of it.

use crate::address::Address;
use crate::connection::{connect, context, is_led, leader_first};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long nothing may have come of a connection before another server is looked for. It is left only for one that
/// has another leader, so an election does not end earlier by it, and is not disturbed.
const FRUITLESS: Duration = Duration::from_secs(3);

/// Since when nothing has come of the connection, if so, or since another server was last looked for.
#[derive(Default)]
pub struct Fruitless(Mutex<Option<Instant>>);

impl Fruitless {
    /// Something has come of the connection that takes a majority of the servers.
    pub fn over(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Nothing has come of a call. From time to time looks for a server with another leader, beside the caller, and
    /// moves the connection there.
    pub fn goes_on(&self, address: &Address, nats: &async_nats::Client) {
        let now = Instant::now();
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(*since.get_or_insert(now)) >= FRUITLESS {
            *since = Some(now);
            tokio::spawn(leave(address.clone(), nats.clone()));
        }
    }
}

/// Moves the connection to the leader of the stream that another server knows.
async fn leave(address: Address, nats: async_nats::Client) {
    let left = nats.server_info().server_name;
    for (place, server) in address.servers.iter().enumerate() {
        let Ok(other) = connect(&address, std::slice::from_ref(server)).await else { continue };
        if other.server_info().server_name == left {
            continue;
        }
        let Ok(stream) = context(&other).get_stream(&address.stream).await else { continue };
        let info = stream.cached_info();
        let leader = info.cluster.as_ref().and_then(|cluster| cluster.leader.clone());
        if !is_led(info) || leader.is_none_or(|leader| leader == left) {
            continue;
        }
        let servers = leader_first(&address, info, &nats).await.unwrap_or_else(|| {
            let mut servers = address.servers.clone();
            servers[..=place].rotate_right(1);
            servers
        });
        // Without success the connection stays where it is, and the next call looks again.
        if nats.set_server_pool(servers.as_slice()).await.is_ok() {
            let _ = nats.force_reconnect().await;
        }
        return;
    }
}
