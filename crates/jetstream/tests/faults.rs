//! Servers are killed, stopped and cut off while several threads append: what was acknowledged is there, and at the
//! same positions for everybody; what was sent again may be there more than once.

mod common;

use chiliad_jetstream::{JetStream, Options};
use chiliad_machine::shared_log::SharedLog;
use common::{Servers, read, read_all};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Threads that append, each with several records under way.
const WRITERS: u64 = 4;
const RECORDS_OF_A_CALL: u64 = 8;
/// Calls that have to succeed after each fault: the log goes on.
const CALLS_BETWEEN: u64 = 200;

/// A record says who appended it, and as which.
fn record(writer: u64, number: u64) -> [u8; 16] {
    let mut record = [0; 16];
    record[..8].copy_from_slice(&writer.to_le_bytes());
    record[8..].copy_from_slice(&number.to_le_bytes());
    record
}

/// What happened under load.
#[derive(Default)]
struct Load {
    /// Successful calls.
    calls: AtomicU64,
    /// Records that were acknowledged.
    acknowledged: Mutex<Vec<[u8; 16]>>,
    /// What a reader saw while it happened.
    seen: Mutex<Vec<Vec<u8>>>,
    over: AtomicBool,
}

impl Load {
    /// Appends until it is over.
    fn write(&self, log: &JetStream, writer: u64) {
        let mut number = 0;
        while !self.over.load(Ordering::Relaxed) {
            let records: Vec<[u8; 16]> =
                (number..number + RECORDS_OF_A_CALL).map(|number| record(writer, number)).collect();
            number += RECORDS_OF_A_CALL;
            let borrowed: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
            // A call that failed has promised nothing.
            if log.append(&borrowed).is_ok() {
                self.acknowledged.lock().unwrap().extend(records);
                self.calls.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Reads until it is over. While the log has no leader, it may say that it cannot be reached.
    fn read(&self, log: &JetStream) {
        let (mut position, mut records) = (1, Vec::new());
        while !self.over.load(Ordering::Relaxed) {
            match read(log, position, 1 << 16, &mut records) {
                Ok(next) => position = next,
                Err(error) => assert!(error.may_pass(), "{error}"),
            }
        }
        *self.seen.lock().unwrap() = records;
    }

    fn wait_for_calls(&self, calls: u64) {
        let from = self.calls.load(Ordering::Relaxed);
        while self.calls.load(Ordering::Relaxed) < from + calls {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Ends the load, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Loads a log of three servers while `fault` happens to them several times, and judges what is there afterwards.
fn survives(name: &str, servers: Option<Servers>, rounds: usize, fault: impl Fn(&Servers, &str)) {
    let Some(servers) = servers else { return };
    let options = || Options::default().deadline(Duration::from_secs(60));
    let open = || JetStream::open(&servers.url("log"), options()).expect("the log opens");
    let (writing, reading) = (open(), open());
    let load = Load::default();
    std::thread::scope(|scope| {
        let over = Over(&load.over);
        for writer in 0..WRITERS {
            let (load, writing) = (&load, &writing);
            scope.spawn(move || load.write(writing, writer));
        }
        scope.spawn(|| load.read(&reading));
        for _ in 0..rounds {
            load.wait_for_calls(CALLS_BETWEEN);
            let leader = servers.script(&["leader", "log"]);
            fault(&servers, &leader);
        }
        load.wait_for_calls(CALLS_BETWEEN);
        drop(over);
    });
    let acknowledged = load.acknowledged.into_inner().unwrap();
    let seen = load.seen.into_inner().unwrap();
    let all = read_all(&open(), 1, 1 << 20);
    assert_eq!(read_all(&writing, 1, 1 << 20), all, "one sequence for all");
    assert!(all.len() >= acknowledged.len());
    assert_eq!(seen, all[..seen.len()], "what was read stays where it was");
    let mut stored: HashMap<&[u8], usize> = HashMap::new();
    for record in &all {
        *stored.entry(record).or_default() += 1;
    }
    let lost = acknowledged.iter().filter(|record| !stored.contains_key(&record[..])).count();
    let repeated = stored.values().filter(|times| **times > 1).count();
    println!(
        "{name}: {} acknowledged, {lost} lost, {repeated} stored more than once, {} read meanwhile",
        acknowledged.len(),
        seen.len()
    );
    assert_eq!(lost, 0);
    // Only what was under way at a fault is sent again.
    let under_way = WRITERS * RECORDS_OF_A_CALL * rounds as u64;
    assert!(repeated as u64 <= 2 * under_way, "{repeated} were stored more than once");
}

#[test]
fn a_killed_leader_loses_nothing() {
    survives("leader-killed", Servers::start("leader-killed", 3), 3, |servers, leader| {
        servers.script(&["kill", leader]);
        std::thread::sleep(Duration::from_secs(5));
        servers.script(&["start", "3"]);
    });
}

#[test]
fn all_killed_at_once_lose_nothing() {
    survives("all-killed", Servers::start("all-killed", 3), 3, |servers, _| {
        for n in ["1", "2", "3"] {
            servers.script(&["kill", n]);
        }
        servers.script(&["start", "3"]);
    });
}

#[test]
fn a_leader_that_stands_still_loses_nothing() {
    survives("leader-paused", Servers::start("leader-paused", 3), 2, |servers, leader| {
        servers.script(&["pause", leader]);
        // Long enough for another leader; then the old one is back, and still believes that it leads.
        std::thread::sleep(Duration::from_secs(12));
        servers.script(&["continue", leader]);
    });
}

#[test]
fn a_leader_that_is_cut_off_loses_nothing() {
    survives("leader-cut", Servers::start_apart("leader-cut", 3), 2, |servers, leader| {
        servers.script(&["cut", leader]);
        // The others elect one of them.
        std::thread::sleep(Duration::from_secs(12));
        servers.script(&["reconnect", leader]);
    });
}

#[test]
fn a_leader_that_only_its_clients_reach_loses_nothing() {
    survives(
        "leader-isolated",
        Servers::start_apart("leader-isolated", 3),
        2,
        |servers, leader| {
            servers.script(&["isolate", leader]);
            // It takes a while to notice that it leads nobody, and its clients one to leave it.
            std::thread::sleep(Duration::from_secs(15));
            servers.script(&["reconnect", leader]);
        },
    );
}

#[test]
fn clients_leave_a_server_that_the_others_do_not_reach() {
    let Some(servers) = Servers::start_apart("left", 3) else { return };
    let options = || Options::default().deadline(Duration::from_secs(60));
    let open = || JetStream::open(&servers.url("log"), options()).expect("the log opens");
    // The log may get another leader while it is opened.
    let (writing, reading, leader) = loop {
        let (writing, reading) = (open(), open());
        let leader = servers.script(&["leader", "log"]);
        let connected = format!("n{leader}");
        if writing.connected_to() == connected && reading.connected_to() == connected {
            break (writing, reading, leader);
        }
    };
    writing.append(&[b"one"]).unwrap();
    assert_eq!(read(&reading, 1, 1, &mut Vec::new()).unwrap(), 2);
    servers.script(&["isolate", &leader]);
    // The old leader still accepts it, and cannot acknowledge it.
    writing.append(&[b"two"]).unwrap();
    assert_ne!(writing.connected_to(), format!("n{leader}"));
    // This one waits for what comes, and appends nothing.
    let mut records = Vec::new();
    while records.is_empty() {
        if let Err(error) = read(&reading, 2, 1, &mut records) {
            assert!(error.may_pass(), "{error}");
        }
    }
    assert_eq!(records.first().map(Vec::as_slice), Some(&b"two"[..]));
    servers.script(&["reconnect", &leader]);
    writing.append(&[b"three"]).unwrap();
    let mut all = read_all(&open(), 1, 1);
    // It was sent again.
    all.dedup();
    assert_eq!(all, [&b"one"[..], b"two", b"three"]);
}
