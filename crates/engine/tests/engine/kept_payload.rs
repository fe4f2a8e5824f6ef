//! Values of which only the start exists, under every scheme: what transactions, snapshots and later
//! versions see of them; and what refuses to work without the rest.

use crate::kit::{Db, Worker};
use chiliad_engine::names::all;
use chiliad_engine::{
    Alone, Database, DurableOptions, Error, Intent, KeyPart, Mode, Options, PartType,
    SecondarySpec, Silo, Snapshots, Source, TableId, TableSpec, Transaction,
};
use chiliad_machine::{Machine, Native, Plain};
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, Run, Sim};
use std::sync::Arc;

const KEPT: usize = 24;
const ROWS: u8 = 40;

fn options() -> Options {
    Options {
        kept_payload: Some(KEPT),
        snapshots: Snapshots::Always,
        snapshot_every: 1,
        ..Options::default()
    }
}

/// Now and then one that outgrows its record, or fits into it with much room.
fn value(row: u8, round: u8) -> Vec<u8> {
    let bytes = 500 + usize::from(row) * 7 * usize::from(round) - usize::from(round % 2) * 450;
    (0..bytes).map(|at| row ^ round ^ at as u8 | 1).collect()
}

/// What is seen of a value: its length, what exists, and nothing that was never there.
fn check(seen: &[u8], value: &[u8]) {
    assert_eq!(seen.len(), value.len());
    let exists = KEPT.min(value.len());
    assert_eq!(seen[..exists], value[..exists]);
    assert!(seen.iter().zip(value).all(|(&seen, &written)| seen == 0 || seen == written));
}

fn write(worker: &mut Worker<Sim>, table: TableId, round: u8) {
    for row in 0..ROWS {
        let mut tx = worker.begin(&Intent::update()).expect("begun");
        tx.put(table, &[row], &value(row, round)).expect("written");
        let own = tx.get(table, &[row]).expect("read").expect("there");
        assert_eq!(tx.bytes(own).expect("its own"), value(row, round), "its own write is whole");
        tx.commit().expect("committed");
    }
}

fn rounds(scheme: &str, verify: bool) {
    let database = Db::<Sim>::open(scheme, Options { verify, ..options() });
    let table = database.create_table(TableSpec::ordered("rows")).expect("new");
    let mut worker = database.worker().expect("room");
    write(&mut worker, table, 1);
    database.reach_snapshot();
    for round in 2..6 {
        let mut beside = database.worker().expect("room");
        let past = database.info().snapshots.then(|| {
            database.reach_snapshot();
            beside.begin(&Intent::snapshot()).expect("begun")
        });
        database.tick();
        write(&mut worker, table, round);
        if let Some(mut past) = past {
            for row in 0..ROWS {
                let found = past.get(table, &[row]).expect("read").expect("it was there");
                check(past.bytes(found).expect("its own"), &value(row, round - 1));
            }
        }
        let mut tx = worker.begin(&Intent::read_only()).expect("begun");
        for row in 0..ROWS {
            let found = tx.get(table, &[row]).expect("read").expect("there");
            check(tx.bytes(found).expect("its own"), &value(row, round));
        }
        tx.commit().expect("committed");
    }
    for row in 0..ROWS {
        let mut tx = worker.begin(&Intent::update()).expect("begun");
        assert!(tx.remove(table, &[row]).expect("removed"));
        tx.commit().expect("committed");
    }
    write(&mut worker, table, 7);
}

#[test]
fn every_scheme_reads_what_exists_of_what_was_written() {
    for info in all::<Sim>() {
        for verify in [false, true] {
            for checked in [false, true] {
                let mut run = Run::new(Config { checked, ..Config::new(5) });
                run.spawn("core", move || rounds(info.name, verify));
                let outcome = run.go();
                assert!(outcome.verdict.is_completed(), "{}: {}", info.name, outcome.verdict);
                assert!(outcome.counters.hole_lines > 0, "{}", info.name);
            }
        }
    }
}

fn refused<M: Machine>(options: Options, part: &str) {
    let refused = Database::<M, Silo<M>>::open(options).map(|_| ()).unwrap_err();
    let Error::InvalidOption(what) = &refused else { panic!("{refused}") };
    assert!(what.contains("kept_payload") && what.contains(part), "{what}");
}

#[test]
fn what_needs_whole_values_is_refused() {
    refused::<Native>(options(), "none is accepted");
    refused::<Plain>(options(), "none is accepted");
    Run::new(Config::new(1)).outside(|| {
        for kept in [0, 8, 20, 4104] {
            let options = Options { kept_payload: Some(kept), ..options() };
            refused::<Sim>(options, &format!("{kept}: multiples of 8 from 16 to 4096"));
        }
        let disk = Arc::new(FaultyDisk::new(1, DiskFaults::default()));
        let durable = DurableOptions::default();
        let opened =
            Database::<Sim, Silo<Sim>>::open_on(disk, Mode::Write, options(), durable, &Alone);
        let refused = opened.map(|_| ()).unwrap_err();
        assert!(
            refused.to_string().contains("kept_payload 24: a directory keeps all"),
            "{refused}"
        );
        let database = Database::<Sim, Silo<Sim>>::open(options()).expect("opened");
        let part = KeyPart {
            source: Source::Value,
            offset: 0,
            length: 8,
            part_type: PartType::Unsigned,
            descending: false,
        };
        let index = SecondarySpec { name: "by".into(), parts: vec![part].into(), unique: false };
        let spec = TableSpec::ordered("rows").with_index(index);
        let refused = database.create_table(spec).unwrap_err();
        assert!(refused.to_string().contains("table rows: secondary indexes"), "{refused}");
    });
}
