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

#[test]
fn schemes_are_listed() {
    let said = stdout(&chiliad("schemes"));
    assert!(said.contains("silo") && said.contains("serializable"), "{said}");
    let schemes = result("schemes");
    let silo = schemes.as_array().and_then(|list| list.iter().find(|info| info["name"] == "silo"));
    assert_eq!(silo.expect("silo")["snapshots"], true);
}
