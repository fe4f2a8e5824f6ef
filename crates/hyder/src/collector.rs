//! Frees what no state leads to any more, exactly and without counts.
//!
//! The blocks that the making of a state has replaced are known when it is published. No state from that one on leads
//! to them, so they
//! waits until every reader shows that label or a later one.

use crate::blocks::Block;
use crate::maker::Maker;
use crate::state::StateRef;
use chiliad_machine::Machine;
use std::collections::VecDeque;

/// So many blocks are on their way to the cache while one is freed.
const LOOK_AHEAD: usize = 8;

/// The blocks that one state has replaced.
struct Batch<M: Machine> {
    /// The label of the first state that does not lead to it.
    label: u64,
    blocks: Vec<Block<M>>,
    state: Option<StateRef<M>>,
}

/// The blocks that wait for readers.
pub struct Collector<M: Machine> {
    batches: VecDeque<Batch<M>>,
    blocks: usize,
}

impl<M: Machine> Collector<M> {
    pub fn new() -> Self {
        Self { batches: VecDeque::new(), blocks: 0 }
    }

    /// The state `label` has replaced `blocks`, and the state before it.
    pub fn add(&mut self, label: u64, blocks: Vec<Block<M>>, state: Option<StateRef<M>>) {
        debug_assert!(self.batches.back().is_none_or(|it| it.label <= label), "labels ascend");
        self.blocks += blocks.len();
        self.batches.push_back(Batch { label, blocks, state });
    }

    /// How many blocks wait.
    pub fn waiting(&self) -> usize {
        self.blocks
    }

    /// Frees what was replaced by states up to `oldest`, the oldest label that any reader shows.
    pub fn free(&mut self, maker: &mut Maker<M>, oldest: u64) {
        while let Some(batch) = self.batches.pop_front_if(|batch| batch.label <= oldest) {
            self.blocks -= batch.blocks.len();
            for (at, &block) in batch.blocks.iter().enumerate() {
                // Nobody has looked at them for long.
                if let Some(next) = batch.blocks.get(at + LOOK_AHEAD) {
                    next.prefetch();
                }
                // SAFETY: readers look at states from `oldest` on, none of which leads to it.
                unsafe { maker.free(block) };
            }
            if let Some(state) = batch.state {
                // SAFETY: as for blocks: readers look at later states.
                unsafe { state.free(&mut maker.heap) };
            }
        }
    }
}
