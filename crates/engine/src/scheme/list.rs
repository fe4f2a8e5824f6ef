//! The list of schemes: a row for each, and all that follows from the rows alone.
//!
//! [`for_each_scheme`] hands the rows to a macro. The enum of names is made of them here; `mod.rs` makes the
//! exports and the table of planted bugs, `names.rs` the choice of a scheme by its name.

use chiliad_api::{Error, Info, Isolation};
use core::fmt;
use core::str::FromStr;
use std::time::Duration;

/// [`Info::wait_timeout`] of schemes under which most who wait for long wait for each other.
const WAIT_TIMEOUT: Duration = Duration::from_micros(100);

/// The promises of most schemes. Each row adds its name, its summary and its source.
const SERIALIZABLE: Info = Info {
    name: "",
    summary: "",
    isolation: Isolation::Serializable,
    strict: true,
    order_follows_reads: true,
    snapshots: false,
    needs_partitions: false,
    wait_timeout: WAIT_TIMEOUT,
    source: "",
};

/// Calls the macro `callback` with the rows, in the order of reports: for each module of schemes its name and the
/// Cargo feature that compiles it, and for each of its types what an application should know and what it promises.
macro_rules! for_each_scheme {
    ($callback:ident) => {
        $callback! {
            silo, "silo" {
                /// Optimistic, with decentralised commit and epochs; the one to use unless you know better.
                #[default]
                Silo: Info {
                    name: "silo",
                    summary: "decentralised optimistic concurrency control with epochs and snapshots",
                    snapshots: true,
                    source: "Tu, 2013, 4, 5",
                    ..SERIALIZABLE
                };

                /// As `Silo`, but every commit draws its number from one shared counter. Serializable; there to
                /// measure what a shared counter costs.
                GlobalTid: Info {
                    name: "global-tid",
                    summary: "silo with transaction identifiers from one shared counter",
                    source: "Tu, 2013, 6.4",
                    ..SERIALIZABLE
                };

                /// No transactions at all: each operation is atomic by itself. **Not serializable**; there to
                /// measure what transactions cost.
                KeyValue: Info {
                    name: "key-value",
                    summary: "atomic single operations and no transactions at all",
                    isolation: Isolation::None,
                    strict: false,
                    order_follows_reads: false,
                    source: "Tu, 2013, 6.3",
                    ..SERIALIZABLE
                };
            }

            partition, "partition" {
                /// A lock per partition, taken before the transaction begins. Serializable, and fast when
                /// transactions stay in one partition and say so (`RunOptions::partitions`).
                Partitioned: Info {
                    name: "partitioned",
                    summary: "one lock per partition, taken in order before the transaction begins",
                    order_follows_reads: false,
                    needs_partitions: true,
                    source: "Tu, 2013, 6.5",
                    ..SERIALIZABLE
                };

                /// As `Partitioned`, with partitions granted in the order of timestamps: the oldest waiting
                /// transaction is next, and all of them sleep meanwhile.
                HStore: Info {
                    name: "h-store",
                    summary: "one lock per partition, granted in the order of timestamps",
                    order_follows_reads: false,
                    needs_partitions: true,
                    source: "Yu, 2015, 2.2.4, 4.3.3",
                    ..SERIALIZABLE
                };
            }

            two_phase, "two-phase" {
                /// Two-phase locking: a row is locked when it is read or written, until the transaction ends; a
                /// transaction that meets a lock gives up and starts again. Serializable.
                NoWait: Info {
                    name: "no-wait",
                    summary: "two-phase locking; a transaction that meets a lock aborts",
                    source: "Yu, 2015, 2.1.2",
                    ..SERIALIZABLE
                };

                /// Two-phase locking: a transaction that meets the lock of a younger one waits, one that meets
                /// the lock of an older one gives up. Serializable.
                WaitDie: Info {
                    name: "wait-die",
                    summary: "two-phase locking; older transactions wait, younger ones abort",
                    source: "Yu, 2015, 2.1.3",
                    ..SERIALIZABLE
                };

                /// Two-phase locking: a transaction that meets a lock waits, for a limited time
                /// (`Options::wait_timeout`), and looks for deadlocks. Serializable.
                DlDetect: Info {
                    name: "dl-detect",
                    summary: "two-phase locking; transactions wait, deadlocks are detected",
                    source: "Yu, 2015, 2.1.1, 4.2",
                    ..SERIALIZABLE
                };
            }

            timestamp, "timestamp" {
                /// Timestamp ordering: a transaction that comes too late for a row, because a younger one has
                /// read or written it, gives up and starts again. Serializable. A reader of a row that an older
                /// transaction is about to write waits for that one to end, however long it stays open.
                Timestamp: Info {
                    name: "timestamp",
                    summary: "timestamp ordering; a transaction that comes too late aborts",
                    strict: false,
                    source: "Yu, 2015, 2.2.1",
                    ..SERIALIZABLE
                };

                /// As `Timestamp`, with old versions of rows for late readers. Serializable, with snapshots that
                /// read the past without being tracked. What the oldest open transaction may read is kept,
                /// however long it stays open.
                Mvcc: Info {
                    name: "mvcc",
                    summary: "timestamp ordering with several versions; late reads find old ones",
                    strict: false,
                    snapshots: true,
                    source: "Yu, 2015, 2.2.2",
                    ..SERIALIZABLE
                };
            }

            occ, "occ" {
                /// Optimistic: rows read and written are latched at the commit and validated by timestamps.
                /// Serializable; there to be compared with `Silo`.
                Occ: Info {
                    name: "occ",
                    summary: "optimistic, validated per tuple by start and end timestamps",
                    source: "Yu, 2015, 2.2.3, 4.3.2",
                    ..SERIALIZABLE
                };
            }

            occ_serial, "occ" {
                /// Optimistic, with one transaction at a time that validates and writes. Serializable; there to
                /// measure what `Occ` and `Silo` gain.
                OccSerial: Info {
                    name: "occ-serial",
                    summary: "optimistic, validated one at a time under the database's commit latch",
                    source: "Yu, 2015, 2.2.3, 4.3.2",
                    ..SERIALIZABLE
                };
            }

            central_lock, "central-lock" {
                /// Two-phase locking by a central lock table without latches, whose throughput does not fall
                /// where there are far more threads than cores. A transaction that meets a lock waits; deadlocks
                /// are found at once. Serializable.
                LockTable: Info {
                    name: "lock-table",
                    summary: "two-phase locking by a central lock table without latches",
                    wait_timeout: Duration::MAX,
                    source: "Jung et al., 2014, 3, 4",
                    ..SERIALIZABLE
                };

                /// As `LockTable`, with one mutex for the whole table; there to measure what latches cost.
                LockTableGlobal: Info {
                    name: "lock-table-global",
                    summary: "two-phase locking by a central lock table behind one mutex",
                    wait_timeout: Duration::MAX,
                    source: "Jung et al., 2014, 2, Figure 3",
                    ..SERIALIZABLE
                };

                /// As `LockTableGlobal`, with a mutex for each bucket of the table.
                LockTableBucket: Info {
                    name: "lock-table-bucket",
                    summary: "two-phase locking by a central lock table with a mutex for each bucket",
                    wait_timeout: Duration::MAX,
                    source: "Jung et al., 2014, 2",
                    ..SERIALIZABLE
                };

                /// As `LockTableBucket`; locks of tables stay with their worker for its next transaction.
                LockTableSli: Info {
                    name: "lock-table-sli",
                    summary: "lock-table-bucket, whose workers keep locks of tables for their next transaction",
                    wait_timeout: Duration::MAX,
                    source: "Jung et al., 2014, 5.1 (speculative lock inheritance)",
                    ..SERIALIZABLE
                };

                /// As `LockTable`; memory of released locks is held back by the oldest transaction.
                LockTableNoEbr: Info {
                    name: "lock-table-no-ebr",
                    summary: "lock-table, its locks reclaimed behind the oldest transaction",
                    wait_timeout: Duration::MAX,
                    source: "Jung et al., 2014, 4.1, Theorem 4.1",
                    ..SERIALIZABLE
                };

                /// Two-phase locking of writes by the same table; reads see a snapshot and take no locks, and a
                /// transaction that would overwrite what is not in its snapshot is refused. Snapshot isolation:
                /// **not serializable**.
                LockTableRepeatableRead: Info {
                    name: "lock-table-repeatable-read",
                    summary: "two-phase locking of writes by a lock table; reads see a snapshot, unlocked",
                    isolation: Isolation::Snapshot,
                    strict: false,
                    snapshots: true,
                    wait_timeout: Duration::MAX,
                    source: "Jung et al., 2014, 5.1 (REPEATABLE READ)",
                    ..SERIALIZABLE
                };
            }
        }
    };
}
pub(super) use for_each_scheme;

macro_rules! enumerate {
    ($($family:ident, $feature:literal { $($(#[$meta:meta])* $scheme:ident: $info:expr;)* })*) => {
        /// The concurrency-control scheme of a database: chosen when the database is opened.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
        #[non_exhaustive]
        pub enum SchemeName {
            $($($(#[$meta])* $scheme,)*)*
        }

        impl SchemeName {
            /// All of them, in the order of reports.
            pub const ALL: [Self; [$($(Self::$scheme),*),*].len()] = [$($(Self::$scheme),*),*];

            /// Whether it is compiled in: databases can be opened under it.
            #[must_use]
            pub const fn is_compiled_in(self) -> bool {
                match self {
                    $($(Self::$scheme => cfg!(feature = $feature),)*)*
                }
            }

            /// Properties and promises of the scheme.
            #[must_use]
            pub const fn info(self) -> Info {
                match self {
                    $($(Self::$scheme => $info,)*)*
                }
            }
        }
    };
}

for_each_scheme!(enumerate);

impl SchemeName {
    /// The name on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The refusal to open a database under it, for a build that is without.
    pub(crate) fn not_compiled_in(self) -> Error {
        let there = Self::ALL.into_iter().filter(|scheme| scheme.is_compiled_in());
        Error::SchemeNotCompiledIn { scheme: self.name(), there: there.map(Self::name).collect() }
    }
}

impl fmt::Display for SchemeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SchemeName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::InvalidOption(format!("no scheme {name}: there are {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::SchemeName;

    #[test]
    fn schemes_have_names() {
        for scheme in SchemeName::ALL {
            assert_eq!(scheme.to_string().parse::<SchemeName>().unwrap(), scheme);
            assert!(!scheme.info().summary.is_empty() && !scheme.info().source.is_empty());
        }
        let error = "optimistic".parse::<SchemeName>().unwrap_err();
        assert!(error.to_string().contains("silo, global-tid"), "{error}");
    }

    #[test]
    fn a_scheme_that_is_missing_is_refused_with_those_that_are_there() {
        let refusal = SchemeName::Mvcc.not_compiled_in().to_string();
        let there = SchemeName::ALL.into_iter().filter(|scheme| scheme.is_compiled_in());
        let there: Vec<&str> = there.map(SchemeName::name).collect();
        let listed = format!("the scheme mvcc is not compiled in: there are {}", there.join(", "));
        assert_eq!(refusal, listed);
    }
}
