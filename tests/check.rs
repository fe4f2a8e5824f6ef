//! `chiliad check` and `chiliad schemes`.

mod common;

use common::{Folder, chiliad, result, stdout};

const LOST_UPDATE: &str = "\
txn 1 start 1 end 2 commit
  r accounts alice 0
  u accounts alice over 0
txn 2 start 1 end 3 commit
  r accounts alice 0
  u accounts alice over 1
";

/// Serializable as 2, 1, though 1 had ended before 2 began.
const OUT_OF_TIME: &str = "\
txn 1 start 1 end 2 commit
  u accounts alice over 0
txn 2 start 3 end 4 commit
  r accounts alice 0
";

#[test]
fn a_bad_history_is_found_out() {
    let folder = Folder::new("check-bad");
    let file = folder.file("history");
    std::fs::write(&file, LOST_UPDATE).expect("a file");
    let output = chiliad(&format!("check {file}"));
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("lost update"), "{}", stdout(&output));
    let output = chiliad(&format!("check {file} --json -"));
    assert_eq!(output.status.code(), Some(1));
    let verdict: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(verdict["serializable"], false);
    assert_eq!(verdict["anomalies"][0]["class"], "lost update");
    let output = chiliad(&format!("check {file} --isolation read-committed --quiet"));
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).is_empty());
}

#[test]
fn real_time_counts_where_it_is_asked_for() {
    let folder = Folder::new("check-time");
    let file = folder.file("history");
    std::fs::write(&file, OUT_OF_TIME).expect("a file");
    assert_eq!(result(&format!("check {file}"))["passed"], true);
    assert_eq!(chiliad(&format!("check {file} --strict")).status.code(), Some(1));
}

/// Bad input: one line, exit status 2.
fn refused(file: &str, expected: &[&str]) {
    let output = chiliad(&format!("check {file}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(stdout(&output).is_empty());
    assert!(said.lines().count() == 1 && said.len() < 400, "{said}");
    for part in expected.iter().chain(&[file]) {
        assert!(said.contains(part), "{said}: {part}");
    }
}

#[test]
fn what_is_no_history_is_refused_at_once() {
    let folder = Folder::new("check-none");
    let file = folder.file("history");
    let write = |bytes: &[u8]| std::fs::write(&file, bytes).expect("a file");
    write(b"");
    refused(&file, &["no transaction", "at 0"]);
    write(b"# a comment\n");
    refused(&file, &["no transaction"]);
    write(b"empty\n");
    assert_eq!(result(&format!("check {file}"))["transactions"], 0);
    let long = "y".repeat(1 << 20);
    write(format!("txn 1 commit\n  r t x {long}\n").as_bytes());
    refused(&file, &["line 2", "yyy.. (1048576 bytes)"]);
    // Of a file that is nearly all a hole only the head is read.
    std::fs::File::create(&file).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
    refused(&file, &["not a history", "at 0"]);
    write(b"txn 1 commit\n  r t x 0");
    let sparse = std::fs::OpenOptions::new().write(true).open(&file);
    sparse.and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
    refused(&file, &["not a history", "at 22"]);
}

#[test]
fn kinds_of_writes_are_compared() {
    let folder = Folder::new("check-kinds");
    let file = folder.file("history");
    for (first, second) in [("i", "i"), ("d", "u"), ("d", "d")] {
        let history =
            format!("txn 1 commit\n  {first} t x over 0\ntxn 2 commit\n  {second} t x over 1\n");
        std::fs::write(&file, history).expect("a file");
        let output = chiliad(&format!("check {file}"));
        assert_eq!(output.status.code(), Some(1));
        assert!(stdout(&output).contains("broken chain"), "{}", stdout(&output));
    }
}

#[test]
fn schemes_are_listed() {
    let said = stdout(&chiliad("schemes"));
    assert!(said.contains("silo") && said.contains("serializable"), "{said}");
    let swarm = said.lines().find(|line| line.starts_with("swarm ")).expect("swarm");
    assert!(swarm.contains("serializable") && swarm.contains("the machine swarm-64"), "{swarm}");
    let schemes = result("schemes");
    let silo = schemes.as_array().and_then(|list| list.iter().find(|info| info["name"] == "silo"));
    assert_eq!(silo.expect("silo")["snapshots"], true);
}
