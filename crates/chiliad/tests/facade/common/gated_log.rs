//! A shared log in memory whose calls a test may refuse.

use chiliad::shared_log::{MemoryLog, Position, SharedLog, SharedLogError};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A call of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// An append of so many records.
    Append(u64),
    /// Another one.
    Other,
}

type Gate = dyn Fn(Call) -> Result<(), SharedLogError> + Send + Sync;

/// A log that asks its gate before each call.
pub struct GatedLog {
    log: Arc<MemoryLog>,
    gate: Box<Gate>,
}

impl GatedLog {
    pub fn new(
        log: Arc<MemoryLog>,
        gate: impl Fn(Call) -> Result<(), SharedLogError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { log, gate: Box::new(gate) })
    }

    fn reach(&self, call: Call) -> Result<&MemoryLog, SharedLogError> {
        (self.gate)(call).map(|()| &*self.log)
    }
}

impl fmt::Debug for GatedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatedLog").field("log", &self.log).finish_non_exhaustive()
    }
}

impl SharedLog for GatedLog {
    fn place(&self) -> String {
        "a log with a gate".into()
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        self.reach(Call::Other)?.identity()
    }

    fn record_bytes_max(&self) -> usize {
        self.log.record_bytes_max()
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        self.reach(Call::Append(records.len() as u64))?.append(records)
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        self.reach(Call::Other)?.read(from, bytes, patience, take)
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        self.reach(Call::Other)?.bounds()
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        self.reach(Call::Other)?.trim(position)
    }
}
