//! The rules of clients, loader and conditions: the options, worked out.

use super::TpccOptions;
use super::options::{Sizes, Terminals};
use crate::random::Chance;

/// The date of everything loaded. Clients count on from here.
pub(super) const DATE_OF_LOAD: u64 = 1;

/// Sizes and chances of one workload.
#[derive(Debug)]
pub(super) struct Rules {
    pub warehouses: u32,
    pub terminals: Terminals,
    pub sizes: Sizes,
    pub remote_item: Chance,
    pub rollbacks: Chance,
}

impl Rules {
    pub fn new(options: &TpccOptions) -> Self {
        let sizes = options.sizes();
        Self {
            warehouses: options.warehouses,
            terminals: options.terminals,
            sizes,
            remote_item: Chance::percent(options.remote_item),
            rollbacks: Chance::percent(sizes.rollbacks),
        }
    }
}
