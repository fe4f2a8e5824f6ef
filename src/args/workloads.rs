//! The flags of each workload.

use super::run::LatchFlag;
use super::{DrawnFlags, MachineFlags, TimestampsFlag};
use chiliad_driver::{LockMode, LockTableKind};
use chiliad_host::values;
use clap::{Args, ValueEnum};

/// `ycsb`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct YcsbFlags {
    /// How large the table is: as asked for, or a handful of rows that many transactions want
    /// [default: spec natively, micro in simulation].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Rows of the table, 1 to 1099511627776 [default: 1000000, micro 40].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 1 << 40))]
    pub records: Option<u64>,
    /// Bytes of a row's value, 16 to 65536 [default: 100, micro 24].
    #[arg(long, value_name = "BYTES", value_parser = |s: &str| values::count(s, 16, 65_536))]
    pub record_bytes: Option<usize>,
    /// Of each row's value only so many bytes at its start exist, in simulation: 16 to 4096, a
    /// multiple of 8. The rest has its addresses and costs the host no memory; transactions do not
    /// care what is in it [default: everything exists].
    #[arg(long, value_name = "BYTES", value_parser = |s: &str| values::count(s, 16, 4096))]
    pub kept_bytes: Option<usize>,
    /// What a transaction accesses of a row, in simulation: all of its value, or the one field that
    /// `--kept-bytes` keeps (104 by default then); schemes that copy rows access all in any case.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "row")]
    pub access: AccessFlag,
    /// Accesses per transaction, to distinct rows, 1 to 1000 [default: 16, micro 4].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 1000))]
    pub ops: Option<usize>,
    /// Accesses that only read, in percent of those that are no scans [default: 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub read_ratio: Option<f64>,
    /// Writes read the row first and modify it [default: micro yes].
    #[arg(long)]
    pub rmw: bool,
    /// Skew of the Zipfian choice of rows, 0 (none) to 2 [default: 0, micro 0.6].
    #[arg(long, value_name = "THETA", value_parser = |s: &str| values::real(s, 0.0, 2.0))]
    pub theta: Option<f64>,
    /// Whether likely rows lie anywhere rather than side by side [default: yes].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub scramble: Option<YesNo>,
    /// Accesses that are scans, in percent [default: 0, micro 10 unless
    /// --lock-order is key].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub scan_ratio: Option<f64>,
    /// Rows of a scan, 1 to 100000 [default: 100, micro 5].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 100_000))]
    pub scan_length: Option<usize>,
    /// Partitions of the table, 1 to 65536 [default: as many as clients where the scheme needs
    /// partitions, else 1].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 65_536))]
    pub partitions: Option<u64>,
    /// Transactions that touch several partitions, in percent [default: 0].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub multi_partition: Option<f64>,
    /// Partitions that such a transaction touches, 1 to 1000 [default: 2].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 1000))]
    pub parts_per_txn: Option<u64>,
    /// How rows are found [default: ordered].
    #[arg(long, value_enum, value_name = "INDEX")]
    pub index: Option<IndexKindFlag>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
    /// The order in which a transaction accesses its rows, and so locks them: that of their keys, in
    /// which no deadlock can come about and which takes --scan-ratio 0, or as drawn.
    #[arg(long, value_enum, value_name = "ORDER", default_value = "request")]
    pub lock_order: LockOrderFlag,
}

/// `tpcc`.
#[derive(Args)]
pub struct TpccFlags {
    /// How large a warehouse is: the specification's population, a tenth of it, or a handful of rows
    /// for random schedules [default: micro there, else spec].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<TpccScaleFlag>,
    /// Warehouses, 1 to 65535 [default: as many as clients; in simulation 2].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 65_535))]
    pub warehouses: Option<usize>,
    /// Which transactions.
    #[arg(long, value_enum, value_name = "MIX", default_value = "standard")]
    pub mix: MixFlag,
    /// The chance that an item of an order comes from another warehouse, in percent [default: 1; at
    /// micro scale 20].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub remote_item: Option<f64>,
    /// Whether order-status and stock-level read a snapshot of the past [default: yes where the
    /// scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
    /// Whether the table of items is declared read-only, so that reading it costs no scheme locks,
    /// timestamps or validation.
    #[arg(long, value_enum, value_name = "YES|NO", default_value = "yes")]
    pub read_only_tables: YesNo,
}

/// `smallbank`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct SmallbankFlags {
    /// How large the bank is: as asked for, or a handful of customers with little money [default:
    /// spec natively, micro in simulation].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Customers, each with a savings and a checking account, 2 to 100000000 [default: 100000,
    /// micro 18].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 2, 100_000_000))]
    pub accounts: Option<u64>,
    /// Hot accounts, 0 to --accounts [default: 1000, micro 4, at most --accounts].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 0, 100_000_000))]
    pub hot_accounts: Option<u64>,
    /// Transactions about hot accounts only, in percent [default: 90, micro 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub hot_share: Option<f64>,
    /// Ranges that the accounts are divided into, 1 to 65536 and at most half of --accounts
    /// [default: as many as clients where the scheme needs partitions, else 1].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 65_536))]
    pub partitions: Option<u64>,
    /// Transactions between two accounts whose second lies in another partition, in percent
    /// [default: 50].
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub multi_partition: Option<f64>,
    /// Whether balance reads a snapshot of the past [default: no; at micro scale yes where the
    /// scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
}

/// `tatp`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct TatpFlags {
    /// How large the register is: as asked for and with the specification's mix, or a handful of
    /// subscribers and many writes [default: spec natively, micro in simulation].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Subscribers, 1 to 1000000000 [default: 100000, micro 12].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 1_000_000_000))]
    pub subscribers: Option<u64>,
    /// Which transactions; the shares of those that it has are in the proportion of the standard ones.
    #[arg(long, value_enum, value_name = "MIX", default_value = "standard")]
    pub mix: TatpMixFlag,
    /// Ranges that the subscribers are divided into, 1 to 65536 and at most --subscribers [default:
    /// where the scheme needs partitions as many as clients, in simulation 2; else 1].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 65_536))]
    pub partitions: Option<u64>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
    /// scale yes where the scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
}

/// `txbench`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct TxbenchFlags {
    /// How large the tables are: as asked for, or a handful of short rows [default: spec natively and
    /// with timed cores, else micro].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Rows of each of the three tables, 1 to 100000000 [default: 100000, micro 24].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 100_000_000))]
    pub rows: Option<u64>,
    /// Of each row's value only so many bytes at its start exist, in simulation: 16 to 4096, a
    /// multiple of 8. The rest, which no transaction looks at, has its addresses and costs the host no
    /// memory [default: everything exists].
    #[arg(long, value_name = "BYTES", value_parser = |s: &str| values::count(s, 16, 4096))]
    pub kept_bytes: Option<usize>,
    /// Rows of a range query, 1 to 10000. A transaction that updates reads them too, and then updates
    /// a fifth as many of the next table [default: 10, micro 6].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 10_000))]
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
    pub stalled_at: Option<std::time::Duration>,
    /// Ranges that the rows are divided into, 1 to 65536 and at most --rows [default: where the scheme
    /// needs partitions as many as clients, in random schedules 2; else 1].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 65_536))]
    pub partitions: Option<u64>,
    /// Whether transactions that only read do so in a snapshot of the past [default: no; at micro
    /// scale yes where the scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
}

/// `bidding`. Defaults of a scale are filled in by the workload.
#[derive(Args)]
pub struct BiddingFlags {
    /// How large the house is: as asked for, or a handful of users and products [default: spec natively
    /// and with timed cores, else micro].
    #[arg(long, value_enum, value_name = "SCALE")]
    pub scale: Option<ScaleFlag>,
    /// Users, 1 to 100000000 [default: 1000, micro 7].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 100_000_000))]
    pub users: Option<u64>,
    /// Products, 1 to 100000000 [default: 1000, micro 5].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 100_000_000))]
    pub products: Option<u64>,
    /// Ranges that users and products are divided into, 1 to 65536 and at most as many as there are of
    /// either [default: as many as clients where the scheme needs partitions, else 1].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 65_536))]
    pub partitions: Option<u64>,
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
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 8, 65_536))]
    pub keys: Option<u64>,
    /// Slots for a third as many tokens, which move to empty slots, 3 to 1000000 [default: 18].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 3, 1_000_000))]
    pub slots: Option<u64>,
    /// Pairs of balances whose sums must not be negative, 1 to 1000000 [default: 3].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 1_000_000))]
    pub pairs: Option<u64>,
    /// The greatest length of a value, 8 to 65536 [default: 300].
    #[arg(long, value_name = "BYTES", value_parser = |s: &str| values::count(s, 8, 65_536))]
    pub record_bytes: Option<usize>,
    /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
}

/// `bank`.
#[derive(Args)]
pub struct BankFlags {
    /// Accounts, 2 to 10000000 [default: 12].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 2, 10_000_000))]
    pub accounts: Option<u64>,
    /// Numbers of cards, more than accounts [default: 4 more than --accounts].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 3, 4_000_000_000))]
    pub cards: Option<u64>,
    /// Owners, 1 to 65535 [default: 4].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::whole(s, 1, 65_535))]
    pub owners: Option<u64>,
    /// Whether audits read a snapshot of the past [default: yes where the scheme has snapshots].
    #[arg(long, value_enum, value_name = "YES|NO")]
    pub snapshot_reads: Option<YesNo>,
}

/// `index`.
#[derive(Args)]
pub struct IndexFlags {
    /// Rows in the index, 1 to 4000000000.
    #[arg(long, value_name = "N", default_value = "1000000",
          value_parser = |s: &str| values::count(s, 1, 4_000_000_000))]
    pub records: usize,
    /// Bytes of a record's value, 16 to 65536.
    #[arg(long, value_name = "BYTES", default_value = "100",
          value_parser = |s: &str| values::count(s, 16, 65_536))]
    pub record_bytes: usize,
    /// Look-ups in flight together, 1 (single gets) to 1024.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1024))]
    pub group: usize,
    /// Which index.
    #[arg(long, value_enum, value_name = "INDEX", default_value = "ordered")]
    pub index: IndexKindFlag,
    /// Cores, each with a thread of look-ups.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 65_536))]
    pub threads: usize,
    /// The length of the measured window.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::time_above_zero)]
    pub duration: std::time::Duration,
    /// Time before the measured window.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time)]
    pub warmup: std::time::Duration,
    /// The seed of the keys looked up.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as group=1,4,16.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// `locks`.
#[derive(Args)]
pub struct LocksFlags {
    /// The lock table, by the name of the scheme that goes by it.
    #[arg(long, value_enum, value_name = "NAME", default_value = "lock-table")]
    pub scheme: LockTableFlag,
    /// The mode: is, ix of tables; s, six, x of records.
    #[arg(long, value_enum, value_name = "MODE", default_value = "x")]
    pub mode: ModeFlag,
    /// Whether all threads lock the same thing: `no` gives each its own.
    #[arg(long, value_enum, value_name = "YES|NO", default_value = "no")]
    pub hot: YesNo,
    /// How the mutexes of lock tables are waited for that have any.
    #[arg(long, value_enum, value_name = "KIND", default_value = "sleep")]
    pub latch: LatchFlag,
    /// Threads, 1 to 65536, on as many cores as there are [default: one for each core].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 65_536))]
    pub threads: Option<usize>,
    /// The length of the measured window.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::time_above_zero)]
    pub duration: std::time::Duration,
    /// Time before the measured window.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time)]
    pub warmup: std::time::Duration,
    /// Pairs of each thread, 1 to 1000000000000, instead of a window.
    #[arg(long, value_name = "N", conflicts_with_all = ["duration", "warmup"],
          value_parser = |s: &str| values::count(s, 1, 1_000_000_000_000))]
    pub transactions: Option<usize>,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as mode=is,ix,s,six,x.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// `--scheme` of `locks`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockTableFlag {
    /// Without latches.
    #[value(name = "lock-table")]
    Scalable,
    /// One mutex.
    #[value(name = "lock-table-global")]
    Global,
    /// A mutex for each bucket.
    #[value(name = "lock-table-bucket")]
    Bucket,
    /// The same, and locks of tables stay with their thread.
    #[value(name = "lock-table-sli")]
    Inheriting,
    /// Without latches, reclaimed behind the oldest transaction.
    #[value(name = "lock-table-no-ebr")]
    Oldest,
}

impl LockTableFlag {
    /// What the driver calls it.
    pub fn kind(self) -> LockTableKind {
        match self {
            Self::Scalable => LockTableKind::Scalable,
            Self::Global => LockTableKind::Global,
            Self::Bucket => LockTableKind::Bucket,
            Self::Inheriting => LockTableKind::Inheriting,
            Self::Oldest => LockTableKind::Oldest,
        }
    }
}

/// `--mode` of `locks`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeFlag {
    /// Intention to share.
    Is,
    /// Intention to exclude.
    Ix,
    /// Shared.
    S,
    /// Shared, with the intention to exclude.
    Six,
    /// Exclusive.
    X,
}

impl ModeFlag {
    /// What the lock manager calls it.
    pub fn mode(self) -> LockMode {
        match self {
            Self::Is => LockMode::Is,
            Self::Ix => LockMode::Ix,
            Self::S => LockMode::S,
            Self::Six => LockMode::Six,
            Self::X => LockMode::X,
        }
    }
}

/// `timestamps`.
#[derive(Args)]
pub struct TimestampsFlags {
    /// Where they come from; `hardware` is refused, since no processor that can be bought has it.
    #[arg(long, value_enum, value_name = "KIND", default_value = "atomic")]
    pub timestamps: TimestampsFlag,
    /// How they are drawn.
    #[command(flatten)]
    pub drawn: DrawnFlags,
    /// Cores, each with a thread that draws timestamps, 1 to 65536 [default: all].
    #[arg(long, value_name = "N", value_parser = |s: &str| values::count(s, 1, 65_536))]
    pub threads: Option<usize>,
    /// The length of the measured window.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::time_above_zero)]
    pub duration: std::time::Duration,
    /// Time before the measured window.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time)]
    pub warmup: std::time::Duration,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as timestamps=mutex,atomic,batched,clock.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
}

/// `timestamps` in simulation.
#[derive(Args)]
pub struct SimulatedTimestampsFlags {
    /// Where they come from.
    #[arg(long, value_enum, value_name = "KIND", default_value = "atomic")]
    pub timestamps: TimestampsFlag,
    /// How they are drawn.
    #[command(flatten)]
    pub drawn: DrawnFlags,
    /// The length of the measured window, in simulated time [default: 1ms; 4ms with a mutex; 20us with
    /// clock and hardware, for which nobody waits].
    #[arg(long, value_name = "TIME", value_parser = values::time_above_zero)]
    pub duration: Option<std::time::Duration>,
    /// Simulated time before the measured window [default: 200us; 2ms with a mutex, until all cores wait
    /// for it; 10us with clock and hardware].
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub warmup: Option<std::time::Duration>,
    /// The seed of the run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many times, 1 to 1000, and report medians.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = |s: &str| values::count(s, 1, 1000))]
    pub repeat: usize,
    /// Run once for each value of another flag, such as cores=1,4,16 or seed=1,2,3.
    #[arg(long, value_name = "FLAG=A:B:STEP|FLAG=a,b,c")]
    pub sweep: Option<String>,
    /// The machine.
    #[command(flatten)]
    pub machine: MachineFlags,
}

/// `--scale`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleFlag {
    /// A handful of rows.
    Micro,
    /// As the workload's specification has it.
    Spec,
}

/// `--scale` of `tpcc`.
#[derive(Clone, Copy, ValueEnum)]
pub enum TpccScaleFlag {
    /// A handful of rows.
    Micro,
    /// A tenth of the specification's population.
    Small,
    /// As the specification has it.
    Spec,
}

/// `--mix` of `tatp`.
#[derive(Clone, Copy, ValueEnum)]
pub enum TatpMixFlag {
    /// The description's seven transactions.
    Standard,
    /// The three that only read.
    ReadOnly,
    /// Those, and the two that update.
    ReadUpdate,
}

/// `--mix`.
#[derive(Clone, Copy, ValueEnum)]
pub enum MixFlag {
    /// The specification's five transactions.
    Standard,
    /// New-order and payment, half and half.
    Np,
    /// New-order only.
    NewOrder,
    /// Payment only.
    Payment,
    /// New-order and stock-level, half and half.
    NewOrderStockLevel,
}

/// `--lock-order`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockOrderFlag {
    /// As drawn: what is read, what is read and written, what is written only.
    Request,
    /// By key.
    Key,
}

/// `--access`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccessFlag {
    /// All of the row.
    Row,
    /// One field.
    Field,
}

/// `--index`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IndexKindFlag {
    /// Masstree.
    Ordered,
    /// Hash table.
    Hash,
}

/// Yes or no.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum YesNo {
    /// Yes.
    Yes,
    /// No.
    No,
}
