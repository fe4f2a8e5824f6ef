//! `chiliad serve` on a disk that takes no more: commits are refused and not answered, reads go on, and after a restart
//! what was answered is there.

mod common;
#[path = "common/ledger.rs"]
mod ledger;
#[path = "common/served.rs"]
mod served;

use common::{Folder, stderr};
use ledger::{Ledger, TABLE, pairs};
use served::{Raw, Served};
use std::process::Command;
use std::time::Duration;

const CLIENTS: usize = 16;

/// From now on the process writes nothing at this place of any file, or behind it: whether the system lets us say so.
fn limit_files(served: &Served, bytes: u64) -> bool {
    let limit = Command::new("prlimit")
        .args(["--pid", &served.id().to_string(), &format!("--fsize={bytes}")])
        .output();
    limit.is_ok_and(|it| it.status.success())
}

/// Fills the disk of a server after some answers, and looks at what comes of it.
fn fills(name: &str, limit: u64, filler: &str) {
    let folder = Folder::new(name);
    let flags = format!("--data {} --durability sync", folder.file("data"));
    let served = Served::start(&flags);
    assert_eq!(served.client().query(TABLE).told(), ["C CREATE TABLE"]);
    let ledgers: Vec<Ledger> = (0..CLIENTS).map(Ledger::of).collect();
    let clients: Vec<Raw> = (0..CLIENTS).map(|_| served.client()).collect();
    let mut reads = served.client();
    let is_limited = std::thread::scope(|scope| {
        for (raw, ledger) in clients.into_iter().zip(&ledgers) {
            scope.spawn(move || ledger.write(raw, filler));
        }
        while ledgers.iter().any(|ledger| ledger.answered().len() < 3) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let is_limited = limit_files(&served, limit);
        if !is_limited {
            served.send("KILL");
        }
        is_limited
    });
    if !is_limited {
        println!("skipped: there is no prlimit to limit a process that runs");
        return;
    }
    // Each client has heard an error, and nothing after it.
    for ledger in &ledgers {
        let refused = ledger.refused();
        let is_told = refused.iter().all(|it| matches!(&**it, "E 58030"));
        assert!(refused.len() == 1 && is_told, "{refused:?}");
    }
    for _ in 0..3 {
        let told = served.client().query("INSERT INTO t VALUES (-1, -1, '')").told_all();
        assert_eq!(told.last().map(String::as_str), Some("E 58030"), "{told:?}");
    }
    // Reads go on, of clients that were there and of new ones, which no longer wait for what was written before.
    for raw in [&mut reads, &mut served.client()] {
        assert_eq!(raw.query("SET synchronous_commit = off").told(), ["C SET"]);
        for _ in 0..3 {
            let told = raw.query("SELECT count(*) FROM t WHERE n >= 0").told_all();
            assert_eq!(told.last().map(String::as_str), Some("C SELECT 1"), "{told:?}");
        }
    }
    served.send("TERM");
    let (status, said) = served.end();
    assert_eq!(status.code(), Some(1), "it cannot be closed as it should be: {said}");
    let served = Served::start(&flags);
    let there = pairs(&served);
    let lost: usize = ledgers.iter().map(|ledger| ledger.forget_lost(&there)).sum();
    assert_eq!(lost, 0, "were answered and are not there");
    assert!(there.iter().all(|pair| ledgers.iter().any(|ledger| ledger.knows(*pair))));
    let told = served.client().query("INSERT INTO t VALUES (-1, -1, '')").told();
    assert_eq!(told, ["C INSERT 0 1"], "the disk takes more now");
}

/// The file that is written to takes no more.
#[test]
fn a_write_that_the_disk_refuses_is_no_commit() {
    fills("serve-full-write", 4096, "");
}

/// The file that is written to is used up, and there is no room for the next one.
#[test]
fn a_file_that_the_disk_has_no_room_for_is_no_commit() {
    fills("serve-full-file", 60 << 20, &"x".repeat(300_000));
}

/// Without room for its first files a server does not start, and says so in a line.
#[test]
fn a_full_disk_is_one_line_at_the_start() {
    let folder = Folder::new("serve-full-start");
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} serve --data {} --listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_chiliad"),
        folder.file("data")
    );
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
