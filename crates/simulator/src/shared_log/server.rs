//! A simulated shared log as one server has it.

use super::lock;
use super::state::{Caller, LogState, Step};
use crate::device::{Operation, perform, wait};
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) struct ServerLog {
    pub(super) state: Arc<Mutex<LogState>>,
    pub(super) caller: Caller,
}

impl fmt::Debug for ServerLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caller { server, life } = self.caller;
        f.debug_struct("ServerLog").field("server", &server).field("life", &life).finish()
    }
}

impl SharedLog for ServerLog {
    fn place(&self) -> String {
        format!("the simulated log, as server {} has it", self.caller.server)
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        perform(Operation::LookAtLog, || lock(&self.state).identity(self.caller))
    }

    fn record_bytes_max(&self) -> usize {
        lock(&self.state).faults.record_bytes_max
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        let begin = || lock(&self.state).begin_append(self.caller, records);
        let (number, mut ticks) = perform(Operation::Append, begin)?;
        loop {
            wait(ticks);
            let step = || lock(&self.state).step_append(self.caller, number);
            match perform(Operation::Append, step)? {
                Step::Acknowledged => return Ok(()),
                Step::GoesOn(after) => ticks = after,
            }
        }
    }

    /// Never waits: it lets others run, and hands over what is there.
    fn read(
        &self,
        from: Position,
        bytes: usize,
        _patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        let read = || lock(&self.state).read(self.caller, from, bytes);
        let found = perform(Operation::ReadLog, read)?;
        for (position, record) in &found {
            take(*position, record);
        }
        Ok(from + found.len() as Position)
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        perform(Operation::LookAtLog, || lock(&self.state).bounds(self.caller))
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        perform(Operation::Trim, || lock(&self.state).trim(self.caller, position))
    }

    fn stored_bytes(&self) -> Option<u64> {
        Some(lock(&self.state).records.bytes())
    }
}
