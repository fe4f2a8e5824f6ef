//! The part of an open database that deals with its directory.

use crate::Recovered;
use crate::acks::Acks;
use crate::background::BackgroundThreads;
use chiliad_machine::disk::NativeDisk;
use std::sync::Arc;

/// Its threads, and what they publish.
pub(crate) struct Persistent {
    /// `None`: opened for reading only.
    pub acks: Option<Arc<Acks>>,
    pub background: Option<BackgroundThreads>,
    pub recovered: Recovered,
    /// Holds the directory's lock.
    _disk: Arc<NativeDisk>,
}

impl Persistent {
    pub fn new(recovered: Recovered, disk: Arc<NativeDisk>) -> Self {
        Self { acks: None, background: None, recovered, _disk: disk }
    }

    pub fn wind_down(&mut self) {
        if let Some(background) = &mut self.background {
            background.wind_down();
        }
    }
}
