//! Statistics of a database.
//!
//! Workers count for themselves and hand their tallies over now and then, under a latch: nothing
//! shared is written per transaction.

use crate::error::Reason;
use crate::table::TableId;
use chiliad_storage::Usage;
use std::collections::BTreeMap;
use std::time::Duration;

/// Keys that a tally of conflicts follows at most.
const HOT_KEYS_MAX: usize = 32;

/// Counts of one worker, or of all that have handed theirs over.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Transactions committed.
    pub committed: u64,
    /// Transactions rolled back by their own logic.
    pub rolled_back: u64,
    /// Attempts refused, by [`Reason::index`].
    pub refused: [u64; Reason::ALL.len()],
    /// Attempts refused over a single record, by its table and the reason.
    pub refused_by_table: BTreeMap<(TableId, Reason), u64>,
    /// The records over which most conflicts arose, by the space-saving method: a count may be too
    /// great by what it replaced, never too small.
    pub hot: Vec<(TableId, Box<[u8]>, u64)>,
}

impl Tally {
    /// A conflict over `key` of `table`.
    #[cold]
    pub fn conflict(&mut self, reason: Reason, place: Option<(TableId, &[u8])>) {
        self.refused[reason.index()] += 1;
        if let Some((table, key)) = place {
            *self.refused_by_table.entry((table, reason)).or_default() += 1;
            self.heat(table, key, 1);
        }
    }

    fn heat(&mut self, table: TableId, key: &[u8], by: u64) {
        let known = self.hot.iter_mut().find(|hot| hot.0 == table && *hot.1 == *key);
        if let Some(hot) = known {
            hot.2 += by;
        } else if self.hot.len() < HOT_KEYS_MAX {
            self.hot.push((table, key.into(), by));
        } else if let Some(coldest) = self.hot.iter_mut().min_by_key(|hot| hot.2) {
            *coldest = (table, key.into(), coldest.2 + by);
        }
    }

    /// Adds `other` and empties it.
    pub fn absorb(&mut self, other: &mut Self) {
        self.committed += core::mem::take(&mut other.committed);
        self.rolled_back += core::mem::take(&mut other.rolled_back);
        for (sum, count) in self.refused.iter_mut().zip(&mut other.refused) {
            *sum += core::mem::take(count);
        }
        for (place, count) in core::mem::take(&mut other.refused_by_table) {
            *self.refused_by_table.entry(place).or_default() += count;
        }
        for (table, key, count) in core::mem::take(&mut other.hot) {
            self.heat(table, &key, count);
        }
    }
}

/// A worker that is in the middle of something others may wait for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Hold {
    /// Its slot.
    pub worker: u32,
    /// It follows pointers: reclamation waits for it.
    pub pinned: bool,
    /// The epoch of its open commit window, or zero: the commit epoch waits for it.
    pub window: u64,
    /// The boundary of the snapshot it reads, or zero: the collector waits for it.
    pub snapshot: u64,
    /// Its transaction began before a table was dropped: the table's memory waits for it.
    pub dropped: bool,
}

/// Conflicts over one record.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HotRecord {
    /// Its table's name.
    pub table: String,
    /// Its key.
    pub key: Vec<u8>,
    /// Conflicts over it; may be too great, never too small.
    pub conflicts: u64,
}

/// The state of a database. Counts are handed over by workers every few hundred transactions and
/// when they end, so they lag a little.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions committed.
    pub committed: u64,
    /// Transactions rolled back by their own logic.
    pub rolled_back: u64,
    /// Attempts refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Attempts refused, by table and reason, where one record was at issue.
    pub refused_by_table: BTreeMap<(String, &'static str), u64>,
    /// The records over which most conflicts arose.
    pub hottest: Vec<HotRecord>,
    /// Memory in use.
    pub memory: Usage,
    /// Tables that were dropped and still hold memory, secondary indexes counted as well.
    pub tables_dropped: u64,
    /// The commit epoch.
    pub epoch: u64,
    /// The newest snapshot boundary.
    pub snapshot_boundary: u64,
    /// The oldest boundary that somebody may read.
    pub snapshot_oldest: u64,
    /// How long ago the state was the present that the oldest open snapshot reads, by the clock of whoever advances the
    /// epochs; `None` when no snapshot is open, and where nobody looks at the clock. Under the schemes that order by
    /// timestamps snapshots are transactions like others, and not counted here.
    pub snapshot_age: Option<Duration>,
    /// By how many epochs the most backward pinned worker lags.
    pub reclaim_lag: u64,
    /// Which sessions hold what back at this moment.
    pub holds: Vec<Hold>,
    /// Records that are in the log that servers share and were not rolled forward here; zero without such a log, and
    /// where it cannot be reached.
    pub log_lag: u64,
    /// Blocks of memory that are replaced and wait for readers of older states.
    pub blocks_waiting: u64,
    /// How the log that servers share was rolled forward here; zeros without such a log.
    pub rolled: RolledForward,
}

/// What rolling a shared log forward has come to since this server began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct RolledForward {
    /// Intentions that the last stage has judged. Those that had read too old a state are refused before.
    pub intentions: u64,
    /// Their conflict zones together: for each, the intentions and other items between the state that it has read and
    /// itself.
    pub zone_total: u64,
    /// The greatest conflict zone.
    pub zone_max: u64,
    /// What the first stage took: to put intentions together, and to free what no state leads to. It does not count the time
    /// for which it waited for the log.
    pub reading: Duration,
    /// What it took to make intentions ready, and to build, premeld and group their overlays; of all threads that do.
    pub building: Duration,
    /// What the last stage took to decide, and to publish states.
    pub deciding: Duration,
}

impl Stats {
    /// Those counts of a tally; `name` tells the names of tables that still exist.
    #[must_use]
    pub fn new(tally: Tally, name: &dyn Fn(TableId) -> Option<String>) -> Self {
        let name = |table: TableId| name(table).unwrap_or_else(|| format!("dropped {}", table.0));
        let mut hot = tally.hot;
        hot.sort_by_key(|hot| core::cmp::Reverse(hot.2));
        Self {
            committed: tally.committed,
            rolled_back: tally.rolled_back,
            refused: Reason::ALL
                .iter()
                .map(|reason| (reason.name(), tally.refused[reason.index()]))
                .filter(|&(_, count)| count > 0)
                .collect(),
            refused_by_table: tally
                .refused_by_table
                .into_iter()
                .map(|((table, reason), count)| ((name(table), reason.name()), count))
                .collect(),
            hottest: hot
                .into_iter()
                .map(|(table, key, conflicts)| HotRecord {
                    table: name(table),
                    key: key.into(),
                    conflicts,
                })
                .collect(),
            ..Self::default()
        }
    }
}
