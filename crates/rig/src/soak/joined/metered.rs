//! A shared log that counts what goes through it, as one server has it.

use chiliad::shared_log::{Position, SharedLog, SharedLogError};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes and records that all servers have appended.
#[derive(Debug, Default)]
pub struct Appended {
    bytes: AtomicU64,
}

impl Appended {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        // Relaxed, here and below: a count.
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The log of one server.
#[derive(Debug)]
pub struct MeteredLog {
    log: Arc<dyn SharedLog>,
    appended: Arc<Appended>,
    read_bytes: AtomicU64,
    /// When the server looked at the log's identity last.
    looked: Mutex<Option<Instant>>,
}

impl MeteredLog {
    pub fn new(log: Arc<dyn SharedLog>, appended: Arc<Appended>) -> Self {
        Self { log, appended, read_bytes: AtomicU64::new(0), looked: Mutex::default() }
    }

    /// Bytes of the records that the server has read, and the time since it began to: it looks at the log's identity when
    /// its checkpoint is loaded.
    pub fn has_read(&self) -> (u64, Duration) {
        let looked = *self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        (self.read_bytes.load(Ordering::Relaxed), looked.map_or(Duration::ZERO, |it| it.elapsed()))
    }
}

impl SharedLog for MeteredLog {
    fn place(&self) -> String {
        self.log.place()
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.log.identity()
    }

    fn record_bytes_max(&self) -> usize {
        self.log.record_bytes_max()
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        self.log.append(records)?;
        let bytes: usize = records.iter().map(|record| record.len()).sum();
        self.appended.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        self.log.read(from, bytes, patience, &mut |position, record| {
            self.read_bytes.fetch_add(record.len() as u64, Ordering::Relaxed);
            take(position, record);
        })
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        self.log.bounds()
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        self.log.trim(position)
    }

    fn stored_bytes(&self) -> Option<u64> {
        self.log.stored_bytes()
    }
}
