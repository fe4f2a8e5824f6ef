//! Three processes, one database: each is a server with a full copy, all sell the seats of one theatre, and no seat is
//! sold twice. They agree by a log that they share, over NATS JetStream:
//!
//! ```text
//! cargo run --release -p chiliad --features jetstream --example servers -- nats://HOST:PORT,.../NAME
//! ```
//!
//! Where there is none, three servers run in this process and share a log in memory.

use chiliad::{Database, Error, Options, Result, RunOptions, Table};
use std::process::{Child, Command, ExitCode};
use std::{env, io, thread};

const SERVERS: u32 = 3;
const SEATS: u32 = 300;
const FREE: u32 = 0;

/// Made by the script beside crates/jetstream, on this machine.
const USUAL: &str = "nats://127.0.0.1:4222,127.0.0.1:4223,127.0.0.1:4224";

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match words.as_slice() {
        // This program has started itself.
        [log, server] => server.parse().map_or(Ok(()), |server| serve(log, server)),
        _ => theatre(words.first()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Opens the theatre, lets the servers sell, and looks at what they have done.
fn theatre(log: Option<&String>) -> Result<()> {
    // A database of its own, so that the example can be run again.
    let log = log.cloned().unwrap_or_else(|| format!("{USUAL}/theatre-{}", std::process::id()));
    let db = match Database::join(&log, Options::default()) {
        Ok(db) => db,
        Err(error) => {
            println!("{error}");
            println!(
                "for three processes: crates/jetstream/nats.sh (docs/jetstream.md), and --features jetstream"
            );
            return in_one_process();
        }
    };
    open(&db)?;
    let start =
        |server| start(&log, server).map_err(|error| Error::HostExhausted(error.to_string()));
    let processes = (1..=SERVERS).map(start).collect::<Result<Vec<_>>>()?;
    for mut process in processes {
        // It has told what went wrong.
        let _ = process.wait();
    }
    close(&db)
}

/// This program as a server of its own.
fn start(log: &str, server: u32) -> io::Result<Child> {
    Command::new(env::current_exe()?).args([log, &server.to_string()]).spawn()
}

fn serve(log: &str, server: u32) -> Result<()> {
    // All that has committed on any server is there.
    let db = Database::join(log, Options::default())?;
    sell(&db, server)
}

/// The same with threads and a log in memory.
fn in_one_process() -> Result<()> {
    let log = "memory:theatre";
    let db = Database::join(log, Options::default())?;
    open(&db)?;
    thread::scope(|scope| {
        let sellers: Vec<_> =
            (1..=SERVERS).map(|server| scope.spawn(move || serve(log, server))).collect();
        sellers.into_iter().try_for_each(|seller| seller.join().unwrap_or(Ok(())))
    })?;
    close(&db)
}

/// The seats, each with the server that has sold it.
fn seats(db: &Database) -> Result<Table<u32, u32>> {
    db.table("seats")
}

fn open(db: &Database) -> Result<()> {
    let seats = db.create_table("seats")?;
    db.bulk_load(&seats, (0..SEATS).map(|seat| (seat, FREE)))?;
    Ok(())
}

/// Goes through all seats, each server from another one on, and sells what is free.
fn sell(db: &Database, server: u32) -> Result<()> {
    let seats = seats(db)?;
    let first = server * SEATS / SERVERS;
    let mut sold = 0;
    for seat in (first..first + SEATS).map(|seat| seat % SEATS) {
        // Two servers that see the same free seat both try. The log decides, and the other one runs again: it finds
        // the seat taken.
        let bought = db.run(|tx| {
            if tx.get(&seats, &seat)? != Some(FREE) {
                return Ok(false);
            }
            tx.put(&seats, &seat, &server)?;
            Ok(true)
        })?;
        sold += u32::from(bought);
    }
    println!("server {server}, process {}: {sold} seats sold", std::process::id());
    Ok(())
}

/// Looks at all seats, after everything that any server has acknowledged.
fn close(db: &Database) -> Result<()> {
    let seats = seats(db)?;
    let newest = RunOptions::default().read_only().linearizable();
    let buyers = db.run_with(&newest, |tx| tx.scan(&seats, ..).values())?;
    let sold = buyers.iter().filter(|&&server| server != FREE).count();
    println!("{sold} of {SEATS} seats are sold, each once");
    assert_eq!(sold, SEATS as usize);
    Ok(())
}
