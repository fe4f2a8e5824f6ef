//! What a database has of its directory.

use crate::Recovered;
use crate::acks::Acks;
use crate::keeper::Keeper;
use chiliad_machine::disk::NativeDisk;
use std::sync::Arc;

/// Its threads, and what they publish.
pub(crate) struct Home {
    /// `None`: opened for reading only.
    pub acks: Option<Arc<Acks>>,
    pub keeper: Option<Keeper>,
    pub recovered: Recovered,
    /// Holds the directory's lock.
    _disk: Arc<NativeDisk>,
}

impl Home {
    pub fn new(recovered: Recovered, disk: Arc<NativeDisk>) -> Self {
        Self { acks: None, keeper: None, recovered, _disk: disk }
    }

    pub fn wind_down(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.wind_down();
        }
    }
}
