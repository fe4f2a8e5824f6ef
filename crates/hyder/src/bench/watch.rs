//! The time and the nodes of a stage.

use super::plan::Stage;
use crate::maker::Maker;
use chiliad_machine::{Machine, Ticks};

/// A stage that has begun.
pub struct Watch {
    time: Ticks,
    visited: u64,
    made: u64,
}

impl Watch {
    /// A stage begins that works with this maker.
    pub fn start<M: Machine>(maker: &Maker<M>) -> Self {
        Self { time: M::now(), visited: maker.nodes_visited, made: maker.nodes_made }
    }

    /// It ends: its cost.
    pub fn stop<M: Machine>(self, maker: &Maker<M>) -> Stage {
        Stage {
            time: M::now().saturating_sub(self.time),
            visited: maker.nodes_visited - self.visited,
            made: maker.nodes_made - self.made,
        }
    }
}
