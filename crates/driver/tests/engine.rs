//! The workloads on the engine itself: several native clients at once, and the conditions after.

use chiliad_engine::{
    Error, Intent, NativeStore, Options, Running, Snapshots, TableId, Transaction, any,
};
use chiliad_workload::bidding::{Bidding, BiddingOptions};
use chiliad_workload::micro::{Bank, BankOptions, InsertDelete, InsertDeleteOptions};
use chiliad_workload::smallbank::{Smallbank, SmallbankOptions};
use chiliad_workload::tatp::{Tatp, TatpOptions};
use chiliad_workload::tpcc::{Tpcc, TpccOptions};
use chiliad_workload::tpce::{Tpce, TpceOptions};
use chiliad_workload::txbench::{Txbench, TxbenchOptions};
use chiliad_workload::ycsb::{Ycsb, YcsbOptions};
use chiliad_workload::{ClientId, WholeRows, Workload};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Base = Box<dyn NativeStore>;

fn load<W: Workload>(workload: &W) -> (Base, Vec<TableId>) {
    let options = Options {
        snapshots: Snapshots::Always,
        epoch: Duration::from_millis(1),
        snapshot_every: 5,
        opacity: false,
        ..Options::default()
    };
    let base = any::open_native("silo", options, None).unwrap().store;
    let tables: Vec<_> =
        workload.tables().into_iter().map(|spec| base.create_table(spec).unwrap()).collect();
    let mut session = base.session().unwrap();
    let specs = workload.tables();
    let mut whole =
        WholeRows::new(&specs, &tables, |table, key, parts| session.load_parts(table, key, parts));
    for part in 0..workload.load_parts() {
        let insert = &mut |table, key: &[u8], row: &[u8]| whole.part(table, key, row);
        workload.load(&tables, part, 7, insert).unwrap();
    }
    base.reach_snapshot();
    (base, tables)
}

/// Transactions committed and rolled back, and attempts refused.
fn client<W: Workload>(
    workload: &W,
    base: &Base,
    tables: &[TableId],
    client_id: ClientId,
    transactions: usize,
) -> [usize; 3] {
    let mut session = base.session().unwrap();
    let mut client = workload.client(tables, client_id);
    let mut partitions = vec![];
    let mut ends = [0; 3];
    for _ in 0..transactions {
        partitions.clear();
        let shape = workload.next(&mut client, &mut partitions);
        let intent = Intent {
            read_only: shape.read_only,
            snapshot: shape.snapshot,
            partitions: &partitions,
            ..Intent::default()
        };
        loop {
            let mut tx = Running::begin(&mut *session, &intent).unwrap();
            let result = match workload.execute(&mut client, &mut tx) {
                Ok(()) => tx.commit().map(|_| ()),
                Err(error) => {
                    tx.rollback();
                    Err(error)
                }
            };
            match result {
                Ok(()) => ends[0] += 1,
                Err(Error::RolledBack) => ends[1] += 1,
                Err(error) if error.is_retryable() => {
                    ends[2] += 1;
                    continue;
                }
                Err(error) => panic!("{}: {error}", workload.kinds()[shape.kind]),
            }
            break;
        }
    }
    ends
}

fn broken<W: Workload>(workload: &W, base: &Base, tables: &[TableId]) -> Vec<String> {
    let mut session = base.session().unwrap();
    let run = &mut |body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), Error>| {
        let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
        body(&mut tx)?;
        tx.commit().map(|_| ())
    };
    let conditions = workload.conditions(tables, run).unwrap();
    conditions.into_iter().filter_map(|condition| condition.failure).collect()
}

fn try_out<W: Workload>(workload: &W, transactions: usize) -> [usize; 3] {
    const CLIENTS: usize = 4;
    let (base, tables) = load(workload);
    assert_eq!(broken(workload, &base, &tables), Vec::<String>::new(), "after loading");
    let done = AtomicBool::new(false);
    let mut ends = [0; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                base.tick();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|index| ClientId::apart(index, CLIENTS, 1))
            .map(|client_id| {
                let (base, tables) = (&base, &tables);
                scope.spawn(move || client(workload, base, tables, client_id, transactions))
            })
            .collect();
        let results: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        done.store(true, Ordering::Relaxed);
        for result in results {
            for (sum, part) in ends.iter_mut().zip(result.unwrap()) {
                *sum += part;
            }
        }
    });
    assert_eq!(ends[0] + ends[1], CLIENTS * transactions);
    assert_eq!(broken(workload, &base, &tables), Vec::<String>::new(), "after {ends:?}");
    ends
}

#[test]
fn tpcc() {
    let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
    let ends = try_out(&tpcc, 10_000);
    assert!(ends[1] > 100, "{ends:?}");
}

#[test]
fn insert_delete() {
    for hash in [false, true] {
        let workload =
            InsertDelete::new(InsertDeleteOptions { hash, ..InsertDeleteOptions::default() })
                .unwrap();
        try_out(&workload, 10_000);
    }
}

#[test]
fn bank() {
    let bank = Bank::new(BankOptions::default()).unwrap();
    let ends = try_out(&bank, 10_000);
    assert!(ends[1] > 100, "{ends:?}");
}

#[test]
fn smallbank() {
    let bank = Smallbank::new(SmallbankOptions::micro()).unwrap();
    let ends = try_out(&bank, 10_000);
    assert!(ends[1] > 100, "{ends:?}");
}

#[test]
fn tatp() {
    try_out(&Tatp::new(TatpOptions::micro()).unwrap(), 10_000);
}

#[test]
fn txbench() {
    try_out(&Txbench::new(TxbenchOptions::micro()).unwrap(), 10_000);
}

#[test]
fn bidding() {
    try_out(&Bidding::new(BiddingOptions::micro()).unwrap(), 10_000);
}

#[test]
fn tpce() {
    try_out(&Tpce::new(TpceOptions::micro()).unwrap(), 2_000);
}

#[test]
fn ycsb() {
    try_out(&Ycsb::new(YcsbOptions::micro()).unwrap(), 10_000);
    let hashed = YcsbOptions { hash: true, scan_ratio: 0.0, ..YcsbOptions::micro() };
    try_out(&Ycsb::new(hashed).unwrap(), 10_000);
}
