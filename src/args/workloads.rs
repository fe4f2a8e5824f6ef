//! The flags of each workload.

use super::run::{LATCHES, TIMESTAMPS};
use super::{DrawnFlags, MachineFlags};
use chiliad_driver::{LockMode, LockTableKind};
use chiliad_engine::{IndexKind, Timestamps};
use chiliad_host::values;
use chiliad_machine::MutexKind;
use chiliad_words::value::{Words, choice, count, real, whole, yes_no};
use chiliad_workload::tatp;
use chiliad_workload::tpcc::{Mix, Scale};
use chiliad_workload::tpce;
use clap::{ArgAction, Args};
use std::time::Duration;

/// `ycsb`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct YcsbFlags {
    /// How large the table is: as asked for, or a handful of rows that many transactions want
    /// [default: spec natively, micro in simulation].
    #[arg(long, value_name = "SCALE", value_parser = choice(SCALES))]
    pub scale: Option<bool>,
    /// Rows of the table, 1 to 1099511627776 [default: 1000000, micro 40].
    #[arg(long, value_name = "N", value_parser = whole(1, 1 << 40))]
    pub records: Option<u64>,
    /// Bytes of a row's value, 16 to 65536 [default: 100, micro 24].
    #[arg(long, value_name = "BYTES", value_parser = count(16, 65_536))]
    pub record_bytes: Option<usize>,
    /// Of each row's value only so many bytes at its start exist, in simulation: 16 to 4096, a
    /// multiple of 8. The rest has its addresses and costs the host no memory; transactions do not
    /// care what is in it [default: everything exists].
    #[arg(long, value_name = "BYTES", value_parser = count(16, 4096))]
    pub kept_bytes: Option<usize>,
    /// What a transaction accesses of a row, in simulation: all of its value, or the one field that
    /// `--kept-bytes` keeps (104 by default then); schemes that copy rows access all in any case.
    #[arg(long, value_name = "WHAT", default_value = "row", action = ArgAction::Set, value_parser = choice(ACCESSES))]
    pub access: bool,
    /// Accesses per transaction, to distinct rows, 1 to 1000 [default: 16, micro 4].
    #[arg(long, value_name = "N", value_parser = count(1, 1000))]
    pub ops: Option<usize>,
    /// Accesses that only read, in percent of those that are no scans [default: 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub read_ratio: Option<f64>,
    /// Writes read the row first and modify it [default: micro yes].
    #[arg(long)]
    pub rmw: bool,
    /// Skew of the Zipfian choice of rows, 0 (none) to 2 [default: 0, micro 0.6].
    #[arg(long, value_name = "THETA", value_parser = real(0.0, 2.0))]
    pub theta: Option<f64>,
    /// Whether likely rows lie anywhere rather than side by side [default: yes].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub scramble: Option<bool>,
    /// Accesses that are scans, in percent [default: 0, micro 10 unless
    /// --lock-order is key].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub scan_ratio: Option<f64>,
    /// Rows of a scan, 1 to 100000 [default: 100, micro 5].
    #[arg(long, value_name = "N", value_parser = count(1, 100_000))]
    pub scan_length: Option<usize>,
    /// Partitions of the table, 1 to 65536 [default: as many as clients where the scheme needs
    /// partitions, else 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_536))]
    pub partitions: Option<u64>,
    /// Transactions that touch several partitions, in percent [default: 0].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub multi_partition: Option<f64>,
    /// Partitions that such a transaction touches, 1 to 1000 [default: 2].
    #[arg(long, value_name = "N", value_parser = whole(1, 1000))]
    pub parts_per_txn: Option<u64>,
    /// How rows are found [default: ordered].
    #[arg(long, value_name = "INDEX", value_parser = choice(INDEXES))]
    pub index: Option<IndexKind>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
    /// The order in which a transaction accesses its rows, and so locks them: that of their keys, in
    /// which no deadlock can come about and which takes --scan-ratio 0, or as drawn.
    #[arg(long, value_name = "ORDER", default_value = "request", action = ArgAction::Set, value_parser = choice(LOCK_ORDERS))]
    pub lock_order: bool,
}

/// `tpcc`.
#[derive(Args)]
pub struct TpccFlags {
    /// How large a warehouse is: the specification's population, a tenth of it, or a handful of rows
    /// for random schedules [default: micro there, else spec].
    #[arg(long, value_name = "SCALE", value_parser = choice(TPCC_SCALES))]
    pub scale: Option<Scale>,
    /// Warehouses, 1 to 65535 [default: as many as clients; in simulation 2].
    #[arg(long, value_name = "N", value_parser = count(1, 65_535))]
    pub warehouses: Option<usize>,
    /// Which transactions.
    #[arg(long, value_name = "MIX", default_value = "standard", value_parser = choice(MIXES))]
    pub mix: Mix,
    /// The chance that an item of an order comes from another warehouse, in percent [default: 1; at
    /// micro scale 20].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub remote_item: Option<f64>,
    /// Whether order-status and stock-level read a snapshot of the past [default: yes where the
    /// scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
    /// Whether the table of items is declared read-only, so that reading it costs no scheme locks,
    /// timestamps or validation.
    #[arg(long, value_name = "YES|NO", default_value = "yes", action = ArgAction::Set, value_parser = yes_no())]
    pub read_only_tables: bool,
}

/// `smallbank`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct SmallbankFlags {
    /// How large the bank is: as asked for, or a handful of customers with little money [default:
    /// spec natively, micro in simulation].
    #[arg(long, value_name = "SCALE", value_parser = choice(SCALES))]
    pub scale: Option<bool>,
    /// Customers, each with a savings and a checking account, 2 to 100000000 [default: 100000,
    /// micro 18].
    #[arg(long, value_name = "N", value_parser = whole(2, 100_000_000))]
    pub accounts: Option<u64>,
    /// Hot accounts, 0 to --accounts [default: 1000, micro 4, at most --accounts].
    #[arg(long, value_name = "N", value_parser = whole(0, 100_000_000))]
    pub hot_accounts: Option<u64>,
    /// Transactions about hot accounts only, in percent [default: 90, micro 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub hot_share: Option<f64>,
    /// Ranges that the accounts are divided into, 1 to 65536 and at most half of --accounts
    /// [default: as many as clients where the scheme needs partitions, else 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_536))]
    pub partitions: Option<u64>,
    /// Transactions between two accounts whose second lies in another partition, in percent
    /// [default: 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub multi_partition: Option<f64>,
    /// Whether balance reads a snapshot of the past [default: no; at micro scale yes where the
    /// scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
}

/// `tatp`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct TatpFlags {
    /// How large the register is: as asked for and with the specification's mix, or a handful of
    /// subscribers and many writes [default: spec natively, micro in simulation].
    #[arg(long, value_name = "SCALE", value_parser = choice(SCALES))]
    pub scale: Option<bool>,
    /// Subscribers, 1 to 1000000000 [default: 100000, micro 12].
    #[arg(long, value_name = "N", value_parser = whole(1, 1_000_000_000))]
    pub subscribers: Option<u64>,
    /// Which transactions; the shares of those that it has are in the proportion of the standard ones.
    #[arg(long, value_name = "MIX", default_value = "standard", value_parser = choice(TATP_MIXES))]
    pub mix: tatp::Mix,
    /// Ranges that the subscribers are divided into, 1 to 65536 and at most --subscribers [default:
    /// where the scheme needs partitions as many as clients, in simulation 2; else 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_536))]
    pub partitions: Option<u64>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
    /// scale yes where the scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
}

/// `txbench`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct TxbenchFlags {
    /// How large the tables are: as asked for, or a handful of short rows [default: spec natively and
    /// with timed cores, else micro].
    #[arg(long, value_name = "SCALE", value_parser = choice(SCALES))]
    pub scale: Option<bool>,
    /// Rows of each of the three tables, 1 to 100000000 [default: 100000, micro 24].
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000_000))]
    pub rows: Option<u64>,
    /// Of each row's value only so many bytes at its start exist, in simulation: 16 to 4096, a
    /// multiple of 8. The rest, which no transaction looks at, has its addresses and costs the host no
    /// memory [default: everything exists].
    #[arg(long, value_name = "BYTES", value_parser = count(16, 4096))]
    pub kept_bytes: Option<usize>,
    /// Rows of a range query, 1 to 10000. A transaction that updates reads them too, and then updates
    /// a fifth as many of the next table [default: 10, micro 6].
    #[arg(long, value_name = "N", value_parser = whole(1, 10_000))]
    pub rows_read: Option<u64>,
    /// Transactions that update after they have read, in percent [default: 0, micro 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub updates: Option<f64>,
    /// The share of the rows to which all transactions keep, above 0 to 100 percent; 100 is no hot
    /// spot [default: 100].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub hotspot: Option<f64>,
    /// When one transaction more begins, counted from the start of the measured window: it reads like a
    /// range query and stays open until the run is over, which takes --duration, longer than this. It
    /// counts nowhere, but whoever waits for what it holds waits [default: there is none].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub stalled_at: Option<Duration>,
    /// Ranges that the rows are divided into, 1 to 65536 and at most --rows [default: where the scheme
    /// needs partitions as many as clients, in random schedules 2; else 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_536))]
    pub partitions: Option<u64>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
    /// scale yes where the scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
}

/// `bidding`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct BiddingFlags {
    /// How large the house is: as asked for, or a handful of users and products [default: spec natively
    /// and with timed cores, else micro].
    #[arg(long, value_name = "SCALE", value_parser = choice(SCALES))]
    pub scale: Option<bool>,
    /// Users, 1 to 100000000 [default: 1000, micro 7].
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000_000))]
    pub users: Option<u64>,
    /// Products, 1 to 100000000 [default: 1000, micro 5].
    #[arg(long, value_name = "N", value_parser = whole(1, 100_000_000))]
    pub products: Option<u64>,
    /// Ranges that users and products are divided into, 1 to 65536 and at most as many as there are of
    /// either [default: as many as clients where the scheme needs partitions, else 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_536))]
    pub partitions: Option<u64>,
}

/// `tpce`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct TpceFlags {
    /// How large a load unit is: the specification's, or a handful of rows and many writes [default:
    /// spec natively and with timed cores, else micro].
    #[arg(long, value_name = "SCALE", value_parser = choice(SCALES))]
    pub scale: Option<bool>,
    /// Customers, 6 to 1000000, a multiple of the load unit: 1000, micro 6 [default: one load unit].
    #[arg(long, value_name = "N", value_parser = whole(6, 1_000_000))]
    pub customers: Option<u64>,
    /// Days whose trades are there at first, 1 to 300 [default: 5, micro 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 300))]
    pub trade_days: Option<u64>,
    /// Which transactions.
    #[arg(long, value_name = "MIX", default_value = "standard", value_parser = choice(TPCE_MIXES))]
    pub mix: tpce::Mix,
    /// Ranges that brokers, customers and securities are divided into, 1 to 65536 and at most as many as
    /// brokers [default: as many as clients where the scheme needs partitions, else 1].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_536))]
    pub partitions: Option<u64>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
    /// scale yes where the scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
}

/// `scan`.
#[derive(Args)]
pub struct ScanFlags {
    /// The rows.
    #[command(flatten)]
    pub insert_delete: InsertDeleteFlags,
}

/// `hash`.
#[derive(Args)]
pub struct HashFlags {
    /// The rows.
    #[command(flatten)]
    pub insert_delete: InsertDeleteFlags,
}

/// What `scan` and `hash` have in common.
#[derive(Args)]
pub struct InsertDeleteFlags {
    /// Keys under which rows come and go, 8 to 65536 [default: 40].
    #[arg(long, value_name = "N", value_parser = whole(8, 65_536))]
    pub keys: Option<u64>,
    /// Slots for a third as many tokens, which move to empty slots, 3 to 1000000 [default: 18].
    #[arg(long, value_name = "N", value_parser = whole(3, 1_000_000))]
    pub slots: Option<u64>,
    /// Pairs of balances whose sums must not be negative, 1 to 1000000 [default: 3].
    #[arg(long, value_name = "N", value_parser = whole(1, 1_000_000))]
    pub pairs: Option<u64>,
    /// The greatest length of a value, 8 to 65536 [default: 300].
    #[arg(long, value_name = "BYTES", value_parser = count(8, 65_536))]
    pub record_bytes: Option<usize>,
    /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
}

/// `bank`.
#[derive(Args)]
pub struct BankFlags {
    /// Accounts, 2 to 10000000 [default: 12].
    #[arg(long, value_name = "N", value_parser = whole(2, 10_000_000))]
    pub accounts: Option<u64>,
    /// Numbers of cards, more than accounts [default: 4 more than --accounts].
    #[arg(long, value_name = "N", value_parser = whole(3, 4_000_000_000))]
    pub cards: Option<u64>,
    /// Owners, 1 to 65535 [default: 4].
    #[arg(long, value_name = "N", value_parser = whole(1, 65_535))]
    pub owners: Option<u64>,
    /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
    #[arg(long, value_name = "YES|NO", value_parser = yes_no())]
    pub snapshot_reads: Option<bool>,
}

/// `index`.
#[derive(Args)]
pub struct IndexFlags {
    /// Rows in the index, 1 to 4000000000.
    #[arg(long, value_name = "N", default_value = "1000000",
          value_parser = count(1, 4_000_000_000))]
    pub records: usize,
    /// Bytes of a record's value, 16 to 65536.
    #[arg(long, value_name = "BYTES", default_value = "100", value_parser = count(16, 65_536))]
    pub record_bytes: usize,
    /// Look-ups in flight together, 1 (single gets) to 1024.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1024))]
    pub group: usize,
    /// Which index.
    #[arg(long, value_name = "INDEX", default_value = "ordered", value_parser = choice(INDEXES))]
    pub index: IndexKind,
    /// Cores, each with a thread of look-ups.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 65_536))]
    pub threads: usize,
    /// The window.
    #[command(flatten)]
    pub window: WindowFlags,
    /// The seed of the keys looked up.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as group=1,4,16.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// When a micro-benchmark is measured.
#[derive(Args)]
pub struct WindowFlags {
    /// The length of the measured window.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::time_above_zero)]
    pub duration: Duration,
    /// Time before the measured window.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time)]
    pub warmup: Duration,
}

/// `locks`.
#[derive(Args)]
pub struct LocksFlags {
    /// The lock table, by the name of the scheme that goes by it.
    #[arg(long, value_name = "NAME", default_value = "lock-table", value_parser = choice(LOCK_TABLES))]
    pub scheme: LockTableKind,
    /// The mode: is, ix of tables; s, six, x of records.
    #[arg(long, value_name = "MODE", default_value = "x", value_parser = choice(MODES))]
    pub mode: LockMode,
    /// Whether all threads lock the same thing: `no` gives each its own.
    #[arg(long, value_name = "YES|NO", default_value = "no", action = ArgAction::Set, value_parser = yes_no())]
    pub hot: bool,
    /// How the mutexes of lock tables are waited for that have any.
    #[arg(long, value_name = "KIND", default_value = "sleep", value_parser = choice(LATCHES))]
    pub latch: MutexKind,
    /// Threads, 1 to 65536, on as many cores as there are [default: one for each core].
    #[arg(long, value_name = "N", value_parser = count(1, 65_536))]
    pub threads: Option<usize>,
    /// The window.
    #[command(flatten)]
    pub window: WindowFlags,
    /// Pairs of each thread, 1 to 1000000000000, instead of a window.
    #[arg(long, value_name = "N", conflicts_with_all = ["duration", "warmup"],
          value_parser = count(1, 1_000_000_000_000))]
    pub transactions: Option<usize>,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as mode=is,ix,s,six,x.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// `timestamps`.
#[derive(Args)]
pub struct TimestampsFlags {
    /// Where they come from; `hardware` is refused, since no processor that can be bought has it.
    #[arg(long, value_name = "KIND", default_value = "atomic", value_parser = choice(TIMESTAMPS))]
    pub timestamps: Timestamps,
    /// How they are drawn.
    #[command(flatten)]
    pub drawn: DrawnFlags,
    /// Cores, each with a thread that draws timestamps, 1 to 65536 [default: all].
    #[arg(long, value_name = "N", value_parser = count(1, 65_536))]
    pub threads: Option<usize>,
    /// The window.
    #[command(flatten)]
    pub window: WindowFlags,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as timestamps=mutex,atomic,batched,clock.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// `timestamps` in simulation.
#[derive(Args)]
pub struct SimulatedTimestampsFlags {
    /// Where they come from.
    #[arg(long, value_name = "KIND", default_value = "atomic", value_parser = choice(TIMESTAMPS))]
    pub timestamps: Timestamps,
    /// How they are drawn.
    #[command(flatten)]
    pub drawn: DrawnFlags,
    /// The length of the measured window, in simulated time [default: 1ms; 4ms with a mutex; 20us with
    /// clock and hardware, for which nobody waits].
    #[arg(long, value_name = "TIME", value_parser = values::time_above_zero)]
    pub duration: Option<Duration>,
    /// Simulated time before the measured window [default: 200us; 2ms with a mutex, until all cores wait
    /// for it; 10us with clock and hardware].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub warmup: Option<Duration>,
    /// The seed of the run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as cores=1,4,16 or seed=1,2,3.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineFlags,
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

/// `--mix`.
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
