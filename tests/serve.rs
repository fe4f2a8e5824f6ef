//! `chiliad serve`: its flags, and its end by a signal.

mod common;
#[path = "common/served.rs"]
mod served;

use common::{Folder, chiliad, result, stderr};
use served::{Raw, Served};
use std::time::{Duration, Instant};

/// A statement that goes on until it is told to end.
const ENDLESS: &str =
    "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b";

#[test]
fn bad_flags_are_one_line() {
    let folder = Folder::new("serve-flags");
    let (data, missing) = (folder.file("data"), folder.file("no-such"));
    let (text, users) = (folder.file("text"), folder.file("users"));
    std::fs::write(&text, "no database").expect("written");
    std::fs::write(&users, b"ann\xff:pencil\n").expect("written");
    for (flags, parts) in [
        ("", &["--data"][..]),
        ("--memory --scheme key-value", &["--scheme", "key-value", "has no transactions"]),
        (&format!("--data {data} --scheme key-value"), &["--scheme", "has no transactions"]),
        ("--memory --scheme nosuch", &["--scheme", "nosuch", "silo"]),
        (&format!("--memory --data {data}"), &["--memory", "--data"]),
        ("--memory --durability sync", &["--memory", "--durability"]),
        (&format!("--data {data} --durability none"), &["--durability", "epoch, sync"]),
        ("--memory --threads 0", &["--threads", "1 to 1024"]),
        ("--memory --threads 1025", &["--threads", "1 to 1024"]),
        ("--memory --max-connections 0", &["--max-connections", "1 to 1000000"]),
        ("--memory --listen 127.0.0.1", &["--listen", "127.0.0.1"]),
        ("--memory --listen nowhere:5432", &["--listen", "nowhere"]),
        ("--memory --listen 127.0.0.1:99999", &["--listen", "99999"]),
        // An address of nobody's computer: for documents alone.
        ("--memory --listen 192.0.2.1:0", &["192.0.2.1:0"]),
        (&format!("--memory --socket {missing}"), &["no-such"]),
        (&format!("--memory --password-file {missing}"), &["--password-file", "no-such"]),
        (&format!("--memory --password-file {text}"), &["--password-file", "text"]),
        (&format!("--memory --password-file {users}"), &["--password-file", "UTF-8"]),
        (&format!("--data {text}"), &["text"]),
        ("--memory --tls-key x", &["--tls-cert"]),
        ("--memory --no-such-flag", &["--no-such-flag"]),
    ] {
        let output = chiliad(&format!("serve --listen 127.0.0.1:0 {flags}"));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{flags}: {said}");
        assert_eq!(said.lines().count(), 1, "{flags}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{flags}: {said}");
        assert!(!std::path::Path::new(&data).exists(), "{flags}: no directory is made");
    }
}

#[test]
fn what_is_in_use_is_refused() {
    let folder = Folder::new("serve-twice");
    let data = folder.file("data");
    let served = Served::start(&format!("--data {data} --socket {}", folder.file("")));
    let address = served.address();
    let socket = folder.file(&format!(".s.PGSQL.{}", address.port()));
    assert!(std::path::Path::new(&socket).exists());
    for flags in
        [format!("--data {data} --listen 127.0.0.1:0"), format!("--memory --listen {address}")]
    {
        let output = chiliad(&format!("serve {flags}"));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{flags}: {said}");
        assert_eq!(said.lines().count(), 1, "{flags}: {said}");
    }
    let told = served.client().query("SELECT 1").told();
    assert_eq!(told, ["T 1", "D 1", "C SELECT 1"], "it is served all the same");
    served.send("TERM");
    assert_eq!(served.end().0.code(), Some(0));
    assert!(!std::path::Path::new(&socket).exists(), "the socket goes with the server");
}

/// A signal lets nobody in any more and ends idle clients at once; open transactions commit or are told that they cannot.
#[test]
fn a_signal_drains() {
    let folder = Folder::new("serve-drains");
    for (round, signal) in ["TERM", "INT"].into_iter().enumerate() {
        let data = folder.file(signal);
        let served = Served::start(&format!("--data {data} --threads 2"));
        let table = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)";
        served.client().query(table).hear();
        let mut idle = served.client();
        let mut commits = served.client();
        commits.query("BEGIN; INSERT INTO t VALUES (2, 2)").hear();
        let mut stays = served.client();
        stays.query("BEGIN; INSERT INTO t VALUES (3, 3)").hear();
        let mut copies = served.client();
        copies.query("COPY t FROM STDIN").message(b'd', b"4\t4\n").send().expect("sent");
        // One that is computed for longer than anybody waits.
        let mut computes = served.client();
        computes.query(if round == 0 { ENDLESS } else { "SELECT 1" }).send().expect("sent");
        // Half a login, half a message, and a result that nobody reads.
        let mut half = served.client();
        half.bytes(b"Q\0\0").send().expect("sent");
        let mut stalled = served.client();
        let long = "x".repeat(1000);
        let query = format!("SELECT '{long}' FROM generate_series(1, 20000)");
        stalled.query(&query).send().expect("sent");
        let mut silent = Raw::silent(served.address());
        silent.bytes(b"\0\0").send().expect("sent");
        std::thread::sleep(Duration::from_millis(100));
        served.send(signal);
        assert_eq!(idle.last_words(), ["E 57P01"], "{signal}");
        let told = commits.query("UPDATE t SET n = 5 WHERE id = 1; COMMIT").told();
        assert_eq!(told, ["C UPDATE 1", "C COMMIT"], "{signal}");
        assert_eq!(stays.last_words(), ["E 57P01"], "{signal}");
        let told = copies.last_words();
        assert_eq!(told.last().map(String::as_str), Some("E 57P01"), "{signal}: {told:?}");
        if round == 0 {
            let told = computes.last_words();
            assert_eq!(told.last().map(String::as_str), Some("E 57P01"), "{told:?}");
        }
        let (status, said) = served.end();
        assert_eq!((status.code(), &*said), (Some(0), "closed as it should be\n"), "{signal}");
        let report = result(&format!("recover {data}"));
        assert_eq!(report["closed"], true, "{report}");
        let again = Served::start(&format!("--data {data}"));
        let told = again.client().query("SELECT id, n FROM t ORDER BY id").told();
        assert_eq!(told, ["T 2", "D 1,5", "D 2,2", "C SELECT 2"], "{signal}");
    }
}

/// Without clients it ends at once, not after the time that clients have.
#[test]
fn an_idle_server_ends_at_once() {
    let served = Served::start("--memory");
    let mut idle = served.client();
    let begun = Instant::now();
    served.send("TERM");
    assert_eq!(idle.last_words(), ["E 57P01"]);
    assert_eq!(served.end().0.code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(60));
}
