//! Databases of servers that share nothing, on simulated hosts: one crashes, recovers and goes on, while the other is
//! never disturbed.

use crate::kit::schedule;
use chiliad_engine::{
    Alone, Database, DurableOptions, Intent, Mode, Opened, Options, Silo, Stepped, TableSpec,
    Transaction,
};
use chiliad_machine::Machine;
use chiliad_simulator::{
    Config, DiskFaults, FaultyDisk, Host, MemoryModel, Run, Sim, crash, host, spawn_daemon_during,
    spawn_during, stopping,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

const ROWS: u64 = 30;
const EPOCH: u64 = 400;

/// What a server's clients know, whatever becomes of it.
#[derive(Default)]
struct Known {
    durable: Cell<u64>,
    openings: Cell<u64>,
}

fn sleep() {
    let until = Sim::now() + EPOCH;
    while Sim::now() < until {
        Sim::park_until(until);
    }
}

/// Opens the database of `disk` and writes row after row, up to the last.
fn serve(disk: FaultyDisk, known: &Known) {
    let opened: Opened<Sim, Silo<Sim>> = Database::open_on(
        Arc::new(disk),
        Mode::Write,
        Options::default(),
        DurableOptions::default(),
        &Alone,
    )
    .expect("sound");
    let Opened { database, runners, .. } = opened;
    let ticking = database.clone();
    spawn_daemon_during(host(), "epochs", move || {
        while !stopping() {
            sleep();
            ticking.tick();
        }
    });
    for mut runner in runners {
        spawn_daemon_during(host(), "log writer", move || {
            while !stopping() && runner.step() != Stepped::Failed {
                sleep();
            }
        });
    }
    let table = database
        .table("rows")
        .or_else(|_| database.create_table(TableSpec::ordered("rows")))
        .expect("there or new");
    known.openings.set(known.openings.get() + 1);
    let mut worker = database.worker().expect("room");
    let mut reading = worker.begin(&Intent::update()).expect("begun");
    for row in 0..known.durable.get() {
        let found = reading.get(table, &row.to_be_bytes()).expect("read");
        assert!(found.is_some(), "row {row} of {} was durable", known.durable.get());
    }
    reading.commit().expect("nobody else writes");
    for row in known.durable.get()..ROWS {
        let mut tx = worker.begin(&Intent::update()).expect("begun");
        tx.put(table, &row.to_be_bytes(), &row.to_be_bytes()).expect("written");
        let epoch = tx.commit().expect("committed").epoch;
        while database.durable_epoch() < epoch {
            sleep();
        }
        known.durable.set(row + 1);
    }
}

#[test]
fn a_server_recovers_while_another_goes_on() {
    let (mut crashes, mut openings) = (0, 0);
    for seed in 0..24 {
        let memory_model = if seed % 2 == 0 { MemoryModel::Sc } else { MemoryModel::Tso };
        let mut run =
            Run::new(Config { memory_model, schedule: schedule(seed), ..Config::new(seed) });
        let servers = [1, 2].map(|number| {
            let disk = FaultyDisk::new(seed + number, DiskFaults::default());
            let known = Rc::new(Known::default());
            let (mounted, told) = (disk.clone(), Rc::clone(&known));
            run.spawn_on(Host(number as u32), "server", move || serve(mounted, &told));
            (disk, known)
        });
        let [(disk, known), (_, other)] = servers;
        let seen = Rc::clone(&known);
        run.spawn("chaos", move || {
            let mut disk = disk;
            for incarnation in 0..3 {
                let until = Sim::now() + EPOCH * (1 + (seed * 7 + incarnation * 5) % 23);
                while Sim::now() < until {
                    Sim::park_until(until);
                }
                crash(Host(1));
                disk = if incarnation == 1 { disk.kill() } else { disk.crash(seed + incarnation) };
                let (mounted, told) = (disk.clone(), Rc::clone(&seen));
                spawn_during(Host(1), "server again", move || serve(mounted, &told));
            }
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
        assert_eq!((known.durable.get(), other.durable.get()), (ROWS, ROWS));
        assert_eq!(other.openings.get(), 1);
        crashes += outcome.crashed;
        openings += known.openings.get();
    }
    assert!(crashes > 100 && openings > 60, "{crashes} {openings}");
}
