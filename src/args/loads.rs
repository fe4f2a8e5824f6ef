//! From a workload's flags to the workload, with what its defaults depend on.

use super::scope::{Scope, WorkloadFlags};
use super::workloads::{
    BankFlags, BiddingFlags, HashFlags, InsertDeleteFlags, ScanFlags, SmallbankFlags, TatpFlags,
    TpccFlags, TpceFlags, TxbenchFlags, YcsbFlags,
};
use chiliad_engine::IndexKind;
use chiliad_host::Stop;
use chiliad_lab::spec::Load;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::bidding::BiddingOptions;
use chiliad_workload::micro::{BankOptions, InsertDeleteOptions};
use chiliad_workload::smallbank::SmallbankOptions;
use chiliad_workload::tatp::TatpOptions;
use chiliad_workload::tpcc::{Scale, TpccOptions};
use chiliad_workload::tpce::TpceOptions;
use chiliad_workload::txbench::TxbenchOptions;
use chiliad_workload::ycsb::YcsbOptions;

/// A validation of the workload crate's own, as bad input.
fn valid(result: Result<(), String>) -> Result<(), Stop> {
    result.map_err(Stop::BadInput)
}

/// `--snapshot-reads`, which only a scheme with snapshots can do.
fn snapshot_reads(flag: Option<bool>, default: bool, scope: &Scope) -> Result<bool, Stop> {
    match flag {
        None => Ok(default),
        Some(true) if !scope.scheme.snapshots => {
            let scheme = scope.scheme.name;
            let problem = format!("the scheme {scheme} has no snapshots; accepted: no");
            Err(Stop::bad("--snapshot-reads", problem))
        }
        Some(choice) => Ok(choice),
    }
}

/// `--scale`, micro in simulation unless told otherwise.
fn is_micro(scale: Option<bool>, scope: &Scope) -> bool {
    scale.unwrap_or(scope.explored())
}

/// `--partitions`: `wanted` where the scheme needs them, but no more than there may be.
fn partitions(flag: Option<u64>, wanted: usize, most: u32, scope: &Scope) -> u32 {
    match flag {
        Some(partitions) => u32::try_from(partitions).unwrap_or(u32::MAX),
        None if scope.scheme.needs_partitions => {
            u32::try_from(wanted).unwrap_or(u32::MAX).min(most.max(1))
        }
        None => 1,
    }
}

impl WorkloadFlags for YcsbFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut base = if micro { YcsbOptions::micro() } else { YcsbOptions::default() };
        if self.lock_order {
            base.scan_ratio = 0.0;
        }
        let records = self.records.unwrap_or(base.records);
        let ops = self.ops.unwrap_or(base.ops);
        let partitions = match self.partitions {
            Some(partitions) => u32::try_from(partitions).unwrap_or(u32::MAX),
            None if scope.scheme.needs_partitions => {
                // A transaction finds all its records in one.
                let most = records / u64::try_from(ops).unwrap_or(1).max(1);
                partitions(None, scope.clients, u32::try_from(most).unwrap_or(u32::MAX), scope)
            }
            None => base.partitions,
        };
        let options = YcsbOptions {
            records,
            record_bytes: self.record_bytes.unwrap_or(base.record_bytes),
            ops,
            read_ratio: self.read_ratio.unwrap_or(base.read_ratio),
            rmw: self.rmw || base.rmw,
            theta: self.theta.unwrap_or(base.theta),
            scramble: self.scramble.unwrap_or(base.scramble),
            scan_ratio: self.scan_ratio.unwrap_or(base.scan_ratio),
            scan_length: self.scan_length.unwrap_or(base.scan_length),
            partitions,
            multi_partition: self.multi_partition.unwrap_or(base.multi_partition),
            parts_per_txn: self
                .parts_per_txn
                .map_or(base.parts_per_txn, |parts| u32::try_from(parts).unwrap_or(u32::MAX)),
            hash: self.index.map_or(base.hash, |index| index == IndexKind::Hash),
            snapshot_reads: snapshot_reads(self.snapshot_reads, base.snapshot_reads, scope)?,
            key_order: self.lock_order,
        };
        valid(options.validate())?;
        if self.access && !scope.simulated() {
            let problem = "field on this machine, which reads whole rows; accepted: row";
            return Err(Stop::bad("--access", problem));
        }
        let kept = self.kept_bytes.or(self.access.then_some(FIELD_BYTES));
        Ok(Load {
            kept_payload: kept_bytes(kept, scope)?,
            field_access: self.access,
            ..Load::new(WorkloadOptions::Ycsb(options), micro)
        })
    }
}

/// What is kept of a row of which one field is accessed.
const FIELD_BYTES: usize = 104;

/// `--kept-bytes`, for simulated machines.
fn kept_bytes(flag: Option<usize>, scope: &Scope) -> Result<Option<usize>, Stop> {
    let Some(kept) = flag else { return Ok(None) };
    if !scope.simulated() {
        let problem = format!("{kept} on this machine, which keeps everything; accepted: simulate");
        return Err(Stop::bad("--kept-bytes", problem));
    }
    if kept % 8 != 0 {
        let problem = format!("{kept}; accepted: multiples of 8 from 16 to 4096");
        return Err(Stop::bad("--kept-bytes", problem));
    }
    Ok(flag)
}

impl WorkloadFlags for TpccFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let small = if scope.explored() { Scale::Micro } else { Scale::Spec };
        let scale = self.scale.unwrap_or(small);
        let micro = scale == Scale::Micro;
        let warehouses =
            self.warehouses.unwrap_or(if scope.explored() { 2 } else { scope.clients });
        let snapshot_reads = snapshot_reads(self.snapshot_reads, scope.scheme.snapshots, scope)?;
        let options = TpccOptions {
            warehouses: u32::try_from(warehouses).unwrap_or(u32::MAX),
            mix: self.mix,
            remote_item: self.remote_item.unwrap_or(if micro { 20.0 } else { 1.0 }),
            snapshot_reads,
            scale,
            read_only_tables: self.read_only_tables,
        };
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Tpcc(options), micro))
    }
}

impl WorkloadFlags for SmallbankFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let base = if micro { SmallbankOptions::micro() } else { SmallbankOptions::default() };
        let accounts = small(self.accounts, base.accounts);
        let default = base.snapshot_reads && scope.scheme.snapshots;
        let options = SmallbankOptions {
            accounts,
            hot_accounts: small(self.hot_accounts, base.hot_accounts.min(accounts)),
            hot_share: self.hot_share.unwrap_or(base.hot_share),
            partitions: partitions(self.partitions, scope.clients, accounts / 2, scope),
            multi_partition: self.multi_partition.unwrap_or(base.multi_partition),
            snapshot_reads: snapshot_reads(self.snapshot_reads, default, scope)?,
            first_balance: base.first_balance,
        };
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Smallbank(options), micro))
    }
}

impl WorkloadFlags for TatpFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let base = if micro { TatpOptions::micro() } else { TatpOptions::default() };
        let subscribers = small(self.subscribers, base.subscribers);
        // Clients of one partition do not meet those of another: in simulation there are few.
        let wanted = if scope.explored() { 2 } else { scope.clients };
        let default = base.snapshot_reads && scope.scheme.snapshots;
        let options = TatpOptions {
            subscribers,
            mix: self.mix,
            partitions: partitions(self.partitions, wanted, subscribers, scope),
            snapshot_reads: snapshot_reads(self.snapshot_reads, default, scope)?,
            writes_often: base.writes_often,
        };
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Tatp(options), micro))
    }
}

impl WorkloadFlags for TxbenchFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let base = if micro { TxbenchOptions::micro() } else { TxbenchOptions::default() };
        let rows = small(self.rows, base.rows);
        // As for the other workloads whose clients keep to a partition.
        let wanted = if scope.explored() { 2 } else { scope.clients };
        let default = base.snapshot_reads && scope.scheme.snapshots;
        let options = TxbenchOptions {
            rows,
            rows_read: small(self.rows_read, base.rows_read),
            updates: self.updates.unwrap_or(base.updates),
            hotspot: self.hotspot.unwrap_or(base.hotspot),
            partitions: partitions(self.partitions, wanted, rows, scope),
            snapshot_reads: snapshot_reads(self.snapshot_reads, default, scope)?,
            letters: base.letters,
        };
        valid(options.validate())?;
        Ok(Load {
            kept_payload: kept_bytes(self.kept_bytes, scope)?,
            stalled_at: self.stalled_at,
            ..Load::new(WorkloadOptions::Txbench(options), micro)
        })
    }
}

impl WorkloadFlags for BiddingFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let base = if micro { BiddingOptions::micro() } else { BiddingOptions::default() };
        let (users, products) =
            (small(self.users, base.users), small(self.products, base.products));
        let partitions = partitions(self.partitions, scope.clients, users.min(products), scope);
        let options = BiddingOptions { users, products, partitions };
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Bidding(options), micro))
    }
}

impl WorkloadFlags for TpceFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let micro = is_micro(self.scale, scope);
        let mut options = if micro { TpceOptions::micro() } else { TpceOptions::default() };
        options.customers = small(self.customers, options.customers);
        options.trade_days = small(self.trade_days, options.trade_days);
        options.mix = self.mix;
        let most = options.partitions_max();
        options.partitions = partitions(self.partitions, scope.clients, most, scope);
        let default = options.snapshot_reads && scope.scheme.snapshots;
        options.snapshot_reads = snapshot_reads(self.snapshot_reads, default, scope)?;
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Tpce(options), micro))
    }
}

impl WorkloadFlags for ScanFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        insert_delete(&self.insert_delete, false, scope)
    }
}

impl WorkloadFlags for HashFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        insert_delete(&self.insert_delete, true, scope)
    }
}

fn small(flag: Option<u64>, default: u32) -> u32 {
    flag.map_or(default, |value| u32::try_from(value).unwrap_or(u32::MAX))
}

fn insert_delete(flags: &InsertDeleteFlags, hash: bool, scope: &Scope) -> Result<Load, Stop> {
    let base = InsertDeleteOptions::default();
    let options = InsertDeleteOptions {
        hash,
        keys: small(flags.keys, base.keys),
        slots: small(flags.slots, base.slots),
        pairs: small(flags.pairs, base.pairs),
        record_bytes: flags.record_bytes.unwrap_or(base.record_bytes),
        snapshot_reads: snapshot_reads(flags.snapshot_reads, scope.scheme.snapshots, scope)?,
    };
    valid(options.validate())?;
    Ok(Load::new(WorkloadOptions::InsertDelete(options), false))
}

impl WorkloadFlags for BankFlags {
    fn load(&self, scope: &Scope) -> Result<Load, Stop> {
        let base = BankOptions::default();
        let accounts = small(self.accounts, base.accounts);
        let options = BankOptions {
            accounts,
            cards: small(self.cards, accounts.saturating_add(4)),
            owners: self.owners.map_or(base.owners, |n| u16::try_from(n).unwrap_or(u16::MAX)),
            snapshot_reads: snapshot_reads(self.snapshot_reads, scope.scheme.snapshots, scope)?,
        };
        valid(options.validate())?;
        Ok(Load::new(WorkloadOptions::Bank(options), false))
    }
}
