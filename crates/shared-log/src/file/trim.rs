//! Trimming: what is forgotten is remembered first, durably, and then the segments go that hold nothing else.

use super::faults;
use super::names::segment_name;
use super::state::{Segment, Shared};
use super::writer::Writer;
use crate::sleeper::Sleeper;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLogError};

impl<M: Machine> Shared<M> {
    pub fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        let mut writer = self.wait_for_writer();
        let trimmed = self.trim_with(&mut writer, position);
        self.release(writer);
        trimmed
    }

    fn wait_for_writer(&self) -> Writer {
        let (worker, mut sleeper) = (M::worker(), Sleeper::<M>::new());
        loop {
            {
                let mut state = self.lock();
                if let Some(writer) = state.writer.take() {
                    return writer;
                }
                state.trimmers.push(worker);
            }
            sleeper.sleep();
        }
    }

    fn trim_with(&self, writer: &mut Writer, position: Position) -> Result<(), SharedLogError> {
        let first = {
            let state = self.lock();
            position.min(state.window.next())
        };
        if first <= writer.head.first {
            return Ok(());
        }
        if M::fault(&faults::REMOVED_BEFORE_REMEMBERED) {
            self.remove(first)?;
        }
        writer.head.remember(first)?;
        self.remove(first)
    }

    /// Removes the segments below `first`.
    fn remove(&self, first: Position) -> Result<(), SharedLogError> {
        let removed: Vec<Segment> = {
            let mut state = self.lock();
            state.first = first;
            state.window.trim(first);
            let needed = state.segments.partition_point(|it| it.first <= first).max(1) - 1;
            let removed = state.segments.drain(..needed).collect();
            let left = state.segments[0].first;
            state.cursors.retain(|it| it.segment() >= left);
            removed
        };
        for segment in removed {
            let name = segment_name(segment.first);
            let failed = |error| SharedLogError::of_file(&format!("removing {name}"), &error);
            self.disk.remove(&name).map_err(failed)?;
        }
        Ok(())
    }
}
