//! Servers that are processes of their own, and would judge otherwise than those of a log, or read another format: each is
//! refused by one line, ends with status 2, and appends nothing.

#[path = "facade/common/mod.rs"]
mod common;

#[cfg(feature = "jetstream")]
#[path = "../../jetstream/tests/common/mod.rs"]
mod nats;

use chiliad::shared_log::open;
use chiliad::{Database, Options, Table};
use chiliad_hyder::{Certifier, Hyder, Level, RollOptions, ServerOptions};
use chiliad_machine::Native;
use std::env;
use std::process::{Command, Output, exit};
use std::time::Duration;

const LOG: &str = "CHILIAD_TEST_LOG";
const RULES: &str = "CHILIAD_TEST_RULES";

/// Joins the log that the process was given; by itself it does nothing.
#[test]
fn child_that_joins() {
    let (Ok(log), Ok(rules)) = (env::var(LOG), env::var(RULES)) else { return };
    let usual = RollOptions::default();
    let roll = match rules.as_str() {
        "snapshot" => RollOptions { level: Level::Snapshot, ..usual },
        "window" => RollOptions { window: 1 << 10, ..usual },
        "meld" => RollOptions { certifier: Certifier::Meld, ..usual },
        _ => usual,
    };
    let options = ServerOptions { roll, ..ServerOptions::default() };
    let log = open(&log).expect("a log");
    if let Err(error) = Hyder::<Native>::join(log, options) {
        eprintln!("{error}");
        exit(2);
    }
}

/// Another process joins the log.
fn child(log: &str, rules: &str) -> Output {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command.args(["--exact", "child_that_joins", "--nocapture"]);
    command.env(LOG, log).env(RULES, rules).output().expect("a process")
}

fn refused(log: &str, rules: &str, part: &str) {
    let bounds = || open(log).expect("a log").bounds().expect("bounds");
    let before = bounds();
    let output = child(log, rules);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{rules}: {output:?}");
    assert!(said.lines().count() == 1 && said.contains(part), "{rules}: {said}");
    assert_eq!(bounds(), before, "{rules}: nothing was appended");
}

/// Makes a database in the log, and has processes join it.
fn judge(log: &str) {
    {
        let db = Database::join(log, Options::default()).expect("a server");
        let table: Table<u64, u64> = db.create_table("t").expect("a table");
        db.run(|tx| tx.insert(&table, &1, &1)).expect("inserted");
    }
    refused(log, "snapshot", "its servers judge by isolation serializable");
    refused(log, "window", "this one would by isolation serializable and a window of 1024");
    for rules in ["usual", "meld"] {
        let joined = child(log, rules);
        assert!(joined.status.success(), "{rules} judges alike: {joined:?}");
    }
    {
        let log = open(log).expect("a log");
        let mut record = Vec::new();
        log.read(1, 1, Duration::from_secs(5), &mut |_, bytes| record = bytes.to_vec())
            .expect("read");
        common::records::make_newer(&mut record);
        log.append(&[&record]).expect("appended");
    }
    refused(log, "usual", "has format version 3");
}

#[test]
fn processes_with_other_rules_are_refused_over_files() {
    let place = common::Scratch::new();
    judge(&place.display().to_string());
}

#[cfg(feature = "jetstream")]
#[test]
fn processes_with_other_rules_are_refused_over_the_network() {
    let Some(servers) = nats::Servers::start("other-rules", 3) else { return };
    judge(&servers.url("rules"));
}
