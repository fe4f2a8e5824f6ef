//! How a database is opened.

use chiliad_api::stamp::STAMP_BYTES;
use chiliad_api::{Error, Result};
use chiliad_machine::{Machine, MutexKind, Shared};
use chiliad_storage::{Heap, Kept, Supply};
use std::sync::Arc;
use std::time::Duration;

/// When old versions are kept for snapshot transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
pub enum Snapshots {
    /// From the start: a snapshot begins at once.
    Always,
    /// From the first snapshot on, which waits for the next snapshot boundary (one snapshot epoch,
    /// a second by default); no version is kept before.
    #[default]
    OnDemand,
    /// Never: snapshot transactions are tracked read-only ones.
    Off,
}

impl Snapshots {
    /// The name used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::OnDemand => "on-demand",
            Self::Off => "off",
        }
    }
}

/// The most timestamps that a worker takes at a time.
const TIMESTAMP_BATCH_MAX: u32 = 1 << 16;

/// Where transactions get their timestamps, under schemes that order them by timestamps
/// (Yu, 2015, 4.3.1). The others draw none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
#[non_exhaustive]
pub enum Timestamps {
    /// A counter under a mutex: [`Options::mutex`].
    Latched,
    /// A shared counter, by one atomic addition.
    #[default]
    Atomic,
    /// As `Atomic`, but [`Options::timestamp_batch`] at a time for each worker.
    Batched,
    /// The machine's clock, followed by the worker's number; refused where cores' clocks differ.
    Clock,
    /// A counter of the chip. Simulated machines have one; natively it is refused.
    Hardware,
}

impl Timestamps {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Latched, Self::Atomic, Self::Batched, Self::Clock, Self::Hardware];

    /// The name on command lines and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Latched => "mutex",
            Self::Atomic => "atomic",
            Self::Batched => "batched",
            Self::Clock => "clock",
            Self::Hardware => "hardware",
        }
    }

    /// Refuses what the machine does not have.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] names what is accepted.
    pub fn check<M: Machine>(self) -> Result<()> {
        let there = |kind| match kind {
            Self::Hardware => M::counter().is_some(),
            Self::Clock => M::clocks_agree(),
            _ => true,
        };
        if there(self) {
            return Ok(());
        }
        let given = self.name();
        let accepted: Vec<&str> =
            Self::ALL.into_iter().filter(|&kind| there(kind)).map(Self::name).collect();
        let accepted = accepted.join(", ");
        let why = match self {
            Self::Clock => "the clocks of this machine's cores do not agree",
            _ => "this machine has no such counter",
        };
        Err(Error::InvalidOption(format!("timestamps {given}: {why}; {accepted} are accepted")))
    }
}

/// Run-time options of a database.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Options {
    /// Memory that tables may reserve, in bytes; `u64::MAX` for no limit.
    pub memory_bytes_max: u64,
    /// Memory that is obtained and touched when the database is opened, in bytes, so that no
    /// transaction waits for the system's page faults.
    pub memory_bytes_ready: u64,
    /// The memory of one transaction for what it reads and writes, in bytes: [`Options::TRANSACTION_BYTES`] are accepted. One
    /// that needs more fails with [`Error::TransactionTooLarge`]. Rows that are only visited do not count.
    pub transaction_bytes_max: u64,
    /// Where memory for records, versions and index nodes comes from; the private memory of each
    /// transaction, too, where that is an allocator. Simulated machines have pools only.
    pub supply: Supply,
    /// Of each value only so many bytes at its start exist; the rest has addresses and no memory.
    /// Reading it gives zeroes, or what was written. For simulating more data than the host has memory
    /// for, with transactions that do not care; not for databases in a directory, nor tables with
    /// secondary indexes. Simulated machines only; `None`: everything exists.
    pub kept_payload: Option<usize>,
    /// Transactions access of each value only the bytes that [`Options::kept_payload`] keeps, and so do
    /// schemes under which they may: one that copies rows (`Needs::copies_rows`) accesses all.
    pub field_access: bool,
    /// When old versions are kept.
    pub snapshots: Snapshots,
    /// The length of a commit epoch.
    pub epoch: Duration,
    /// Commit epochs per snapshot epoch: how far apart the states lie that snapshots can see. Tu
    /// (2013, 4.7) takes one a second; with more there is less to keep, and readers of the past meet fewer rows that have
    /// changed since.
    pub snapshot_every: u64,
    /// Revalidate the read set while it grows, so that no transaction acts on a state that never
    /// was for long: for at most half as many reads as it has made by then, or 64.
    pub opacity: bool,
    /// The number of partitions, for schemes that need them.
    pub partitions: u32,
    /// How long a transaction waits for a lock before it gives up, for schemes that wait for a limited
    /// time; zero: not at all; [`Duration::MAX`]: until it gets it. `None`: as [`Info`](crate::Info)
    /// says, which is 100 us under `dl-detect`, and until it gets it with a lock table, where each deadlock is found
    /// at once.
    pub wait_timeout: Option<Duration>,
    /// Locks in memory at most, 1,024 to 2^32, for schemes with a lock table; a transaction that needs one more is
    /// refused.
    pub locks_max: u64,
    /// How long it waits before it looks for a deadlock, and between two looks; [`Duration::MAX`]: it
    /// never looks. Where it neither looks nor gives up, a deadlock lasts for ever: that is for
    /// transactions that all lock their rows in one order.
    pub deadlock_check: Duration,
    /// Where timestamps come from, for schemes that use them.
    pub timestamps: Timestamps,
    /// How many a worker takes at a time, where they come in batches; 1 to 65536.
    pub timestamp_batch: u32,
    /// The kind of mutex that guards their counter, where one does.
    pub mutex: MutexKind,
    /// Nothing can be written.
    pub read_only: bool,
    /// Give every version a stamp and report every access to the workers' recorders.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes_max: u64::MAX,
            memory_bytes_ready: 0,
            transaction_bytes_max: 1 << 30,
            supply: Supply::Pools,
            kept_payload: None,
            field_access: false,
            snapshots: Snapshots::OnDemand,
            epoch: Duration::from_millis(40),
            snapshot_every: 5,
            opacity: true,
            partitions: 1,
            wait_timeout: None,
            locks_max: 1 << 24,
            deadlock_check: Duration::from_micros(10),
            timestamps: Timestamps::Atomic,
            timestamp_batch: 16,
            mutex: MutexKind::Sleep,
            read_only: false,
            verify: false,
        }
    }
}

impl Options {
    /// What [`Options::transaction_bytes_max`] accepts. One operation needs less than a quarter of 4 GiB more, which is
    /// what offsets in that memory count.
    pub const TRANSACTION_BYTES: core::ops::RangeInclusive<u64> = 64 << 10..=3 << 30;

    /// Memory as the options and the scheme want it, which has `record_words` of its own in each record, and
    /// reads and writes private copies of rows if it `copies_rows`.
    pub(crate) fn heap<M: Machine>(
        &self,
        record_words: usize,
        copies_rows: bool,
    ) -> Result<Arc<Shared<M, Heap<M>>>> {
        // A stamp follows its value.
        let last_bytes = if self.verify { STAMP_BYTES } else { 0 };
        let spared = self.field_access && !copies_rows;
        let kept = self.kept_payload.map(|first_bytes| Kept { first_bytes, last_bytes, spared });
        let heap = Heap::for_scheme(self.memory_bytes_max, record_words, self.supply, kept);
        self.prepare_heap(&heap)?;
        Ok(heap)
    }

    /// Obtains memory and touches it, until as much as is asked for lies ready.
    pub(crate) fn prepare_heap<M: Machine>(&self, heap: &Heap<M>) -> Result<()> {
        heap.prepare(self.memory_bytes_ready)
            .map_err(|_| Error::OutOfMemory { limit_bytes: self.memory_bytes_max })
    }

    /// The length of a commit epoch in ticks of the machine.
    pub(crate) fn epoch_ticks<M: Machine>(&self) -> u64 {
        M::ticks(self.epoch)
    }

    /// How long to wait for a lock, in ticks of the machine, under a scheme of which `usual` is so.
    pub(crate) fn wait_ticks<M: Machine>(&self, usual: Duration) -> u64 {
        M::ticks(self.wait_timeout.unwrap_or(usual))
    }

    /// Refuses options that no database can run with.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] names the option and what is accepted.
    pub(crate) fn validate<M: Machine>(&self) -> Result<()> {
        self.timestamps.check::<M>()?;
        let refuse = |what: String| Err(Error::InvalidOption(what));
        if !Self::TRANSACTION_BYTES.contains(&self.transaction_bytes_max) {
            let (least, most) = Self::TRANSACTION_BYTES.into_inner();
            return refuse(format!(
                "transaction_bytes_max {}: {least} to {most} are accepted",
                self.transaction_bytes_max
            ));
        }
        if let Some(allocator) = self.supply.allocator().filter(|_| M::SIMULATED) {
            let given = allocator.name();
            return refuse(format!(
                "allocator {given}: simulated memory is in pools; pool and fixed are accepted"
            ));
        }
        if let Some(kept) = self.kept_payload {
            if !M::SPARSE {
                return refuse(format!(
                    "kept_payload {kept}: this machine keeps all of each value; none is accepted"
                ));
            }
            if !(KEPT_MIN..=KEPT_MAX).contains(&kept) || kept % 8 != 0 {
                return refuse(format!(
                    "kept_payload {kept}: multiples of 8 from {KEPT_MIN} to {KEPT_MAX} are accepted"
                ));
            }
        }
        if self.epoch < Duration::from_micros(1) || self.epoch > Duration::from_secs(3600) {
            return refuse(format!("epoch {:?}: 1us to 1h are accepted", self.epoch));
        }
        if !(1..=1_000_000).contains(&self.snapshot_every) {
            let given = self.snapshot_every;
            return refuse(format!("snapshot_every {given}: 1 to 1000000 are accepted"));
        }
        if !(1..=TIMESTAMP_BATCH_MAX).contains(&self.timestamp_batch) {
            let given = self.timestamp_batch;
            return refuse(format!(
                "timestamp_batch {given}: 1 to {TIMESTAMP_BATCH_MAX} are accepted"
            ));
        }
        if !(1..=PARTITIONS_MAX).contains(&self.partitions) {
            let given = self.partitions;
            return refuse(format!("partitions {given}: 1 to {PARTITIONS_MAX} are accepted"));
        }
        if !(LOCKS_MIN..=LOCKS_MAX).contains(&self.locks_max) {
            let given = self.locks_max;
            return refuse(format!("locks_max {given}: {LOCKS_MIN} to {LOCKS_MAX} are accepted"));
        }
        Ok(())
    }
}

/// Bounds of the locks that a lock table may have.
const LOCKS_MIN: u64 = 1024;
const LOCKS_MAX: u64 = 1 << 32;

/// The least that may be kept of each value: a tombstone's stamp, and what memory with holes has room for.
const KEPT_MIN: usize = 16;
const KEPT_MAX: usize = 4096;

/// The greatest number of partitions.
const PARTITIONS_MAX: u32 = 65_536;
