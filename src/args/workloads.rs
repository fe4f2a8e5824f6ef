//! The flags of each workload.

use super::run::{LATCHES, TIMESTAMPS};
use super::{DrawnFlags, MachineFlags};
use chiliad_driver::{Deferral, LockMode, LockTableKind};
use chiliad_engine::{IndexKind, Timestamps};
use chiliad_machine::MutexKind;
use chiliad_words::flags;
use chiliad_words::value::Words;
use chiliad_workload::tatp;
use chiliad_workload::tpcc::{Mix, Scale, Terminals};
use chiliad_workload::tpce;

flags! {
    /// `ycsb`. Defaults of a scale are filled in by the workload.
    YcsbFlags {
        /// How large the table is: as asked for, or a handful of rows that many transactions want
        /// [default: spec natively, micro in simulation].
        scale: one_of(SCALES, bool),
        /// Rows of the table, 1 to 1099511627776 [default: 1000000, micro 40].
        records: whole(1, 1 << 40),
        /// Bytes of a row's value, 16 to 65536 [default: 100, micro 24].
        record_bytes: count(16, 65_536),
        /// Of each row's value only so many bytes at its start exist, in simulation: 16 to 4096, a
        /// multiple of 8. The rest has its addresses and costs the host no memory; transactions do not
        /// care what is in it [default: everything exists].
        kept_bytes: count(16, 4096),
        /// What a transaction accesses of a row, in simulation: all of its value, or the one field that
        /// `--kept-bytes` keeps (104 by default then); schemes that copy rows access all in any case.
        access: one_of(ACCESSES, bool) = "row",
        /// Accesses per transaction, to distinct rows, 1 to 1000 [default: 16, micro 4].
        ops: count(1, 1000),
        /// Accesses that only read, in percent of those that are no scans [default: 50].
        read_ratio: percent(),
        /// Writes read the row first and modify it [default: micro yes].
        rmw: switch,
        /// Skew of the Zipfian choice of rows, 0 (none) to 2 [default: 0, micro 0.6].
        theta: real(0.0, 2.0) [value_name = "THETA"],
        /// Whether likely rows lie anywhere rather than side by side [default: yes].
        scramble: yes_no(),
        /// Accesses that are scans, in percent [default: 0, micro 10 unless
        /// --lock-order is key].
        scan_ratio: percent(),
        /// Rows of a scan, 1 to 100000 [default: 100, micro 5].
        scan_length: count(1, 100_000),
        /// Partitions of the table, 1 to 65536 [default: as many as clients where the scheme needs
        /// partitions, else 1].
        partitions: small(1, 65_536),
        /// Transactions that touch several partitions, in percent [default: 0].
        multi_partition: percent(),
        /// Partitions that such a transaction touches, 1 to 1000 [default: 2].
        parts_per_txn: small(1, 1000),
        /// How rows are found [default: ordered].
        index: one_of(INDEXES, IndexKind),
        /// Whether transactions that only read do so in a snapshot of the past [default: no].
        snapshot_reads: yes_no(),
        /// The order in which a transaction accesses its rows, and so locks them: that of their keys, in
        /// which no deadlock can come about and which takes --scan-ratio 0, or as drawn.
        lock_order: one_of(LOCK_ORDERS, bool) = "request",
    }
}

flags! {
    /// `tpcc`.
    TpccFlags {
        /// How large a warehouse is: the specification's population, a tenth of it, or a handful of rows
        /// for random schedules [default: micro there, else spec].
        scale: one_of(TPCC_SCALES, Scale),
        /// Warehouses, 1 to 65535 [default: as many as clients; in simulation 2].
        warehouses: small(1, 65_535),
        /// Which transactions.
        mix: one_of(MIXES, Mix) = "standard",
        /// The chance that an item of an order comes from another warehouse, in percent [default: 1; at
        /// micro scale 20].
        remote_item: percent(),
        /// Whether order-status and stock-level read a snapshot of the past [default: yes where the
        /// scheme has snapshots].
        snapshot_reads: yes_no(),
        /// Whether the table of items is declared read-only, so that reading it costs no scheme locks,
        /// timestamps or validation.
        read_only_tables: yes_no() = "yes",
        /// Who runs deliveries, which are queued (clause 2.7): the client that owns the warehouse, between its own
        /// transactions and one after another, or the client that makes them up, at once [default: owner; inline under hyder and
        /// swarm].
        deferred: one_of(DEFERRALS, Deferral),
        /// Write the results of deliveries to this file, one line of JSON for each; with --deferred owner.
        deliveries: file(),
        /// Whether W_YTD and D_YTD are groups of columns of their own, which payments add to and do not read [default: yes
        /// natively, but no where a transaction has its partitions to itself].
        totals_apart: yes_no(),
        /// Where the terminals are that clients play: ten at every warehouse, dealt out to the clients, or one to each client
        /// at a warehouse of its own.
        terminals: one_of(TERMINALS, Terminals) = "spread",
    }
}

flags! {
    /// `smallbank`. Defaults of a scale are filled in by the workload.
    SmallbankFlags {
        /// How large the bank is: as asked for, or a handful of customers with little money [default:
        /// spec natively, micro in simulation].
        scale: one_of(SCALES, bool),
        /// Customers, each with a savings and a checking account, 2 to 100000000 [default: 100000,
        /// micro 18].
        accounts: small(2, 100_000_000),
        /// Hot accounts, 0 to --accounts [default: 1000, micro 4, at most --accounts].
        hot_accounts: small(0, 100_000_000),
        /// Transactions about hot accounts only, in percent [default: 90, micro 50].
        hot_share: percent(),
        /// Ranges that the accounts are divided into, 1 to 65536 and at most half of --accounts
        /// [default: as many as clients where the scheme needs partitions, else 1].
        partitions: small(1, 65_536),
        /// Transactions between two accounts whose second lies in another partition, in percent
        /// [default: 50].
        multi_partition: percent(),
        /// Whether balance reads a snapshot of the past [default: no; at micro scale yes where the
        /// scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `tatp`. Defaults of a scale are filled in by the workload.
    TatpFlags {
        /// How large the register is: as asked for and with the specification's mix, or a handful of
        /// subscribers and many writes [default: spec natively, micro in simulation].
        scale: one_of(SCALES, bool),
        /// Subscribers, 1 to 1000000000 [default: 100000, micro 12].
        subscribers: small(1, 1_000_000_000),
        /// Which transactions; the shares of those that it has are in the proportion of the standard ones.
        mix: one_of(TATP_MIXES, tatp::Mix) = "standard",
        /// Ranges that the subscribers are divided into, 1 to 65536 and at most --subscribers [default:
        /// where the scheme needs partitions as many as clients, in simulation 2; else 1].
        partitions: small(1, 65_536),
        /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
        /// scale yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `txbench`. Defaults of a scale are filled in by the workload.
    TxbenchFlags {
        /// How large the tables are: as asked for, or a handful of short rows [default: spec natively and
        /// with timed cores, else micro].
        scale: one_of(SCALES, bool),
        /// Rows of each of the three tables, 1 to 100000000 [default: 100000, micro 24].
        rows: small(1, 100_000_000),
        /// Of each row's value only so many bytes at its start exist, in simulation: 16 to 4096, a
        /// multiple of 8. The rest, which no transaction looks at, has its addresses and costs the host no
        /// memory [default: everything exists].
        kept_bytes: count(16, 4096),
        /// Rows of a range query, 1 to 10000. A transaction that updates reads them too, and then updates
        /// a fifth as many of the next table [default: 10, micro 6].
        rows_read: small(1, 10_000),
        /// Transactions that update after they have read, in percent [default: 0, micro 50].
        updates: percent(),
        /// The share of the rows to which all transactions keep, above 0 to 100 percent; 100 is no hot
        /// spot [default: 100].
        hotspot: percent(),
        /// When one transaction more begins, counted from the start of the measured window: it reads like a
        /// range query and stays open until the run is over, which takes --duration, longer than this. It
        /// counts nowhere, but whoever waits for what it holds waits [default: there is none].
        stalled_at: time(),
        /// Ranges that the rows are divided into, 1 to 65536 and at most --rows [default: where the scheme
        /// needs partitions as many as clients, in random schedules 2; else 1].
        partitions: small(1, 65_536),
        /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
        /// scale yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `bidding`. Defaults of a scale are filled in by the workload.
    BiddingFlags {
        /// How large the house is: as asked for, or a handful of users and products [default: spec natively
        /// and with timed cores, else micro].
        scale: one_of(SCALES, bool),
        /// Users, 1 to 100000000 [default: 1000, micro 7].
        users: small(1, 100_000_000),
        /// Products, 1 to 100000000 [default: 1000, micro 5].
        products: small(1, 100_000_000),
        /// Ranges that users and products are divided into, 1 to 65536 and at most as many as there are of
        /// either [default: as many as clients where the scheme needs partitions, else 1].
        partitions: small(1, 65_536),
    }
}

flags! {
    /// `tpce`. Defaults of a scale are filled in by the workload.
    TpceFlags {
        /// How large a load unit is: the specification's, or a handful of rows and many writes [default:
        /// spec natively and with timed cores, else micro].
        scale: one_of(SCALES, bool),
        /// Customers, 6 to 1000000, a multiple of the load unit: 1000, micro 6 [default: one load unit].
        customers: small(6, 1_000_000),
        /// Days whose trades are there at first, 1 to 300 [default: 5, micro 1].
        trade_days: small(1, 300),
        /// Which transactions.
        mix: one_of(TPCE_MIXES, tpce::Mix) = "standard",
        /// Ranges that brokers, customers and securities are divided into, 1 to 65536 and at most as many as
        /// brokers [default: as many as clients where the scheme needs partitions, else 1].
        partitions: small(1, 65_536),
        /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
        /// scale yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `tpcb-sql`. Defaults of a scale are filled in by the workload.
    TpcbSqlFlags {
        /// How large a branch is: the specification's, or a handful of accounts, which move, and audits
        /// [default: micro for random schedules, else spec].
        scale: one_of(SCALES, bool),
        /// Branches, 1 to 20000 [default: as many as clients; in random schedules 2].
        branches: small(1, 20_000),
        /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `tpcc-sql`.
    TpccSqlFlags {
        ..tpcc: TpccFlags,
    }
}

flags! {
    /// `scan`.
    ScanFlags {
        ..insert_delete: InsertDeleteFlags,
    }
}

flags! {
    /// `hash`.
    HashFlags {
        ..insert_delete: InsertDeleteFlags,
    }
}

flags! {
    /// What `scan` and `hash` have in common.
    InsertDeleteFlags {
        /// Keys under which rows come and go, 8 to 65536 [default: 40].
        keys: small(8, 65_536),
        /// Slots for a third as many tokens, which move to empty slots, 3 to 1000000 [default: 18].
        slots: small(3, 1_000_000),
        /// Pairs of balances whose sums must not be negative, 1 to 1000000 [default: 3].
        pairs: small(1, 1_000_000),
        /// The greatest length of a value, 8 to 65536 [default: 300].
        record_bytes: count(8, 65_536),
        /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `bank`.
    BankFlags {
        /// Accounts, 2 to 10000000 [default: 12].
        accounts: small(2, 10_000_000),
        /// Numbers of cards, more than accounts [default: 4 more than --accounts].
        cards: small(3, 4_000_000_000),
        /// Owners, 1 to 65535 [default: 4].
        owners: small(1, 65_535),
        /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `counters`.
    CountersFlags {
        /// Counters, 2 to 10000000 [default: 6].
        counters: small(2, 10_000_000),
        /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `columns`.
    ByColumnFlags {
        /// Rows, an even number from 4 to 10000000 [default: 8].
        rows: small(4, 10_000_000),
        /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
        snapshot_reads: yes_no(),
    }
}

flags! {
    /// `index`.
    IndexFlags {
        /// Rows in the index, 1 to 4000000000.
        records: count(1, 4_000_000_000) = "1000000",
        /// Bytes of a record's value, 16 to 65536.
        record_bytes: count(16, 65_536) = "100",
        /// Look-ups in flight together, 1 (single gets) to 1024.
        group: count(1, 1024) = "1",
        /// Which index.
        index: one_of(INDEXES, IndexKind) = "ordered",
        /// Cores, each with a thread of look-ups.
        threads: count(1, 65_536) = "1",
        /// The window.
        ..window: WindowFlags,
        /// The seed of the keys looked up.
        seed: whole(0, u64::MAX) = "1",
        /// Run this many times, 1 to 1000, and report medians.
        repeat: count(1, 1000) = "1",
        /// Run once for each value of another flag, such as group=1,4,16.
        sweep: sweep(),
    }
}

flags! {
    /// When a micro-benchmark is measured.
    WindowFlags {
        /// The length of the measured window.
        duration: time_above_zero() = "5s",
        /// Time before the measured window.
        warmup: time() = "1s",
    }
}

flags! {
    /// `locks`.
    LocksFlags {
        /// The lock table, by the name of the scheme that goes by it.
        scheme: one_of(LOCK_TABLES, LockTableKind) = "lock-table",
        /// The mode: is, ix of tables; s, six, x of records.
        mode: one_of(MODES, LockMode) = "x",
        /// Whether all threads lock the same thing: `no` gives each its own.
        hot: yes_no() = "no",
        /// How the mutexes of lock tables are waited for that have any.
        latch: one_of(LATCHES, MutexKind) = "sleep",
        /// Threads, 1 to 65536, on as many cores as there are [default: one for each core].
        threads: count(1, 65_536),
        /// The window.
        ..window: WindowFlags,
        /// Pairs of each thread, 1 to 1000000000000, instead of a window.
        transactions: count(1, 1_000_000_000_000) [conflicts_with_all = ["duration", "warmup"]],
        /// Run this many times, 1 to 1000, and report medians.
        repeat: count(1, 1000) = "1",
        /// Run once for each value of another flag, such as mode=is,ix,s,six,x.
        sweep: sweep(),
    }
}

flags! {
    /// `timestamps`.
    TimestampsFlags {
        /// Where they come from; `hardware` is refused, since no processor that can be bought has it.
        timestamps: one_of(TIMESTAMPS, Timestamps) = "atomic",
        /// How they are drawn.
        ..drawn: DrawnFlags,
        /// Cores, each with a thread that draws timestamps, 1 to 65536 [default: all].
        threads: count(1, 65_536),
        /// The window.
        ..window: WindowFlags,
        /// Run this many times, 1 to 1000, and report medians.
        repeat: count(1, 1000) = "1",
        /// Run once for each value of another flag, such as timestamps=mutex,atomic,batched,clock.
        sweep: sweep(),
    }
}

flags! {
    /// `timestamps` in simulation.
    SimulatedTimestampsFlags {
        /// Where they come from.
        timestamps: one_of(TIMESTAMPS, Timestamps) = "atomic",
        /// How they are drawn.
        ..drawn: DrawnFlags,
        /// The length of the measured window, in simulated time [default: 1ms; 4ms with a mutex; 20us with
        /// clock and hardware, for which nobody waits].
        duration: time_above_zero(),
        /// Simulated time before the measured window [default: 200us; 2ms with a mutex, until all cores wait
        /// for it; 10us with clock and hardware].
        warmup: time(),
        /// The seed of the run.
        seed: whole(0, u64::MAX) = "1",
        /// Run this many times, 1 to 1000, and report medians.
        repeat: count(1, 1000) = "1",
        /// Run once for each value of another flag, such as cores=1,4,16 or seed=1,2,3.
        sweep: sweep(),
        /// The machine.
        ..machine: MachineFlags,
    }
}

/// `--scheme` of `locks`.
pub const LOCK_TABLES: &Words<LockTableKind> = &[
    ("lock-table", LockTableKind::Scalable, "Without latches"),
    ("lock-table-global", LockTableKind::Global, "One mutex"),
    ("lock-table-bucket", LockTableKind::Bucket, "A mutex for each bucket"),
    (
        "lock-table-sli",
        LockTableKind::Inheriting,
        "The same, and locks of tables stay with their thread",
    ),
    (
        "lock-table-no-ebr",
        LockTableKind::Oldest,
        "Without latches, reclaimed behind the oldest transaction",
    ),
];

/// `--mode` of `locks`.
const MODES: &Words<LockMode> = &[
    ("is", LockMode::Is, "Intention to share"),
    ("ix", LockMode::Ix, "Intention to exclude"),
    ("s", LockMode::S, "Shared"),
    ("six", LockMode::Six, "Shared, with the intention to exclude"),
    ("x", LockMode::X, "Exclusive"),
];

/// `--scale`: whether it is the small one.
const SCALES: &Words<bool> = &[
    ("micro", true, "A handful of rows"),
    ("spec", false, "As the workload's specification has it"),
];

/// `--scale` of `tpcc`.
const TPCC_SCALES: &Words<Scale> = &[
    ("micro", Scale::Micro, "A handful of rows"),
    ("small", Scale::Small, "A tenth of the specification's population"),
    ("spec", Scale::Spec, "As the specification has it"),
];

/// `--mix` of `tatp`.
const TATP_MIXES: &Words<tatp::Mix> = &[
    ("standard", tatp::Mix::Standard, "The description's seven transactions"),
    ("read-only", tatp::Mix::ReadOnly, "The three that only read"),
    ("read-update", tatp::Mix::ReadUpdate, "Those, and the two that update"),
];

/// `--mix` of `tpce`.
const TPCE_MIXES: &Words<tpce::Mix> = &[
    ("standard", tpce::Mix::Standard, "Six transactions, in the specification's proportions"),
    ("thesis", tpce::Mix::Thesis, "Those of Yan's thesis: the first five"),
    ("thesis-result", tpce::Mix::ThesisResult, "As thesis, with trade-result for trade-update"),
];

/// `--deferred`.
const DEFERRALS: &Words<Deferral> = &[
    ("owner", Deferral::Owner, "The client that owns the warehouse"),
    ("inline", Deferral::Inline, "The client that makes them up"),
];

/// `--mix`.
const TERMINALS: &Words<Terminals> = &[
    ("spread", Terminals::Spread, "Ten at every warehouse, whatever the number of clients"),
    ("fixed", Terminals::Fixed, "One to each client, always the same"),
];

const MIXES: &Words<Mix> = &[
    ("standard", Mix::Standard, "The specification's five transactions"),
    ("np", Mix::Np, "New-order and payment, half and half"),
    ("new-order", Mix::NewOrder, "New-order only"),
    ("payment", Mix::Payment, "Payment only"),
    ("new-order-stock-level", Mix::NewOrderStockLevel, "New-order and stock-level, half and half"),
];

/// `--lock-order`: whether it is that of the keys.
const LOCK_ORDERS: &Words<bool> = &[
    ("request", false, "As drawn: what is read, what is read and written, what is written only"),
    ("key", true, "By key"),
];

/// `--access`: whether it is one field.
const ACCESSES: &Words<bool> = &[("row", false, "All of the row"), ("field", true, "One field")];

/// `--index`.
const INDEXES: &Words<IndexKind> =
    &[("ordered", IndexKind::Ordered, "Masstree"), ("hash", IndexKind::Hash, "Hash table")];
