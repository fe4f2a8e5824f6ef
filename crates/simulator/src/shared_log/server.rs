//! A simulated shared log as one server has it.

use super::lock;
use super::state::{Caller, LogState, Step};
use crate::device::{Operation, perform, rest, wait, wake};
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
        let Caller { server, incarnation } = self.caller;
        f.debug_struct("ServerLog")
            .field("server", &server)
            .field("incarnation", &incarnation)
            .finish()
    }
}

impl ServerLog {
    /// Performs an operation, and wakes the readers for whom there are records now.
    fn perform<R>(&self, operation: Operation, does: impl FnOnce() -> R) -> R {
        let outcome = perform(operation, does);
        let readers = lock(&self.state).take_readers();
        readers.into_iter().for_each(wake);
        outcome
    }
}

impl SharedLog for ServerLog {
    fn place(&self) -> String {
        format!("the simulated log, as server {} has it", self.caller.server)
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        self.perform(Operation::LookAtLog, || lock(&self.state).identity(self.caller))
    }

    fn record_bytes_max(&self) -> usize {
        lock(&self.state).faults.record_bytes_max
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        let begin = || lock(&self.state).begin_append(self.caller, records);
        let (number, mut ticks) = self.perform(Operation::Append, begin)?;
        loop {
            wait(ticks);
            let step = || lock(&self.state).step_append(self.caller, number);
            match self.perform(Operation::Append, step)? {
                Step::Acknowledged => return Ok(()),
                Step::GoesOn(after) => ticks = after,
            }
        }
    }

    /// Hands over what is there. Where nothing is, it waits for a record as long as the caller
    /// has patience, or until something wakes the caller.
    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        let read = || {
            let mut state = lock(&self.state);
            let found = state.read(self.caller, from, bytes);
            if !patience.is_zero() && found.as_ref().is_ok_and(Vec::is_empty) {
                state.await_record();
            }
            found
        };
        let found = self.perform(Operation::ReadLog, read)?;
        if found.is_empty() && !patience.is_zero() {
            rest(patience);
        }
        for (position, record) in &found {
            take(*position, record);
        }
        Ok(from + found.len() as Position)
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        self.perform(Operation::LookAtLog, || lock(&self.state).bounds(self.caller))
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        self.perform(Operation::Trim, || lock(&self.state).trim(self.caller, position))
    }

    fn stored_bytes(&self) -> Option<u64> {
        Some(lock(&self.state).records.bytes())
    }
}
