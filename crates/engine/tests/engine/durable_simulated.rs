//! A database on a disk, on the simulated machine.

use chiliad_engine::{
    Alone, Database, DurableOptions, Intent, Mode, Opened, Options, Silo, Snapshots, TableSpec,
    Transaction,
};
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, Run, Sim};
use std::sync::Arc;

fn open(disk: &FaultyDisk) -> Opened<Sim, Silo<Sim>> {
    let options = Options { snapshots: Snapshots::Always, snapshot_every: 1, ..Options::default() };
    let disk = Arc::new(disk.clone());
    Database::open_on(disk, Mode::Write, options, DurableOptions::default(), &Alone).expect("sound")
}

const ROWS: u8 = 120;

/// Two of each prefix: the index gives up what it kept of the first when the second comes, and that
/// memory serves values.
fn key(row: u8) -> Vec<u8> {
    format!("{:08} and {:08} and {}", row / 2, row / 2, row % 2).into_bytes()
}

fn value(row: u8) -> Vec<u8> {
    vec![row; 24 + 5 * usize::from(row)]
}

fn put(database: &Database<Sim, Silo<Sim>>, value: impl Fn(u8) -> Vec<u8>) {
    let table = database.table("rows").expect("there");
    let mut worker = database.worker().expect("room");
    for row in 0..ROWS {
        let mut tx = worker.begin(&Intent::update()).expect("begun");
        tx.put(table, &key(row), &value(row)).expect("written");
        tx.commit().expect("committed");
    }
}

#[test]
fn a_snapshot_sees_recovered_values_that_had_outgrown_their_records() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    Run::new(Config::new(1)).outside(|| {
        let Opened { database, runners, .. } = open(&disk);
        database.create_table(TableSpec::ordered("rows")).expect("new");
        put(&database, |row| vec![row]);
        put(&database, value);
        runners.into_iter().for_each(|runner| {
            runner.finish();
        });
    });
    Run::new(Config::new(2)).outside(|| {
        let Opened { database, .. } = open(&disk);
        database.reach_snapshot();
        let mut worker = database.worker().expect("room");
        let mut snapshot = worker.begin(&Intent::snapshot()).expect("begun");
        database.tick();
        put(&database, |_| b"new".to_vec());
        let table = database.table("rows").expect("kept");
        for row in 0..ROWS {
            let found = snapshot.get(table, &key(row)).expect("read").expect("it was there");
            assert_eq!(snapshot.bytes(found).expect("its own"), value(row));
        }
    });
}
