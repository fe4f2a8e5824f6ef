//! The servers of a soak, and what they have in common.

use super::member::Member;
use super::metered::Appended;
use super::order::JoinedOrder;
use super::work::{Before, Client};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The servers.
pub struct Fleet<'a> {
    pub order: &'a JoinedOrder<'a>,
    pub appended: Arc<Appended>,
    /// Those that have joined or will.
    pub members: Vec<Member>,
    /// It looks at all rows, between rounds.
    pub looker: Client,
    /// The rows when the round began.
    pub before: Before,
    pub begun: Instant,
}

impl Fleet<'_> {
    /// The time between two transactions of a client.
    pub fn period(&self) -> Duration {
        let clients = (self.order.servers + 1) * self.order.threads;
        Duration::from_secs_f64(clients as f64 / f64::from(self.order.rate))
    }
}
