//! A server that goes down: it waits for nobody longer than a few seconds, neither for statements that go on for ever nor for
//! those that wait for a lock.

use crate::common::raw::Raw;
use crate::common::serve;
use chiliad::{Database, Options, Scheme};
use std::time::Duration;

const ENDLESS: &str =
    "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b";

#[test]
fn a_server_that_goes_down_waits_for_no_statement() {
    let options = Options::default().scheme(Scheme::DlDetect).wait_timeout(Duration::MAX);
    let running = serve(&Database::in_memory_with(options).expect("opens"));
    let table = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)";
    Raw::connect(&running).query(table).hear();
    let mut holds = Raw::connect(&running);
    holds.query("BEGIN; UPDATE t SET n = 2").hear();
    let mut waits = Raw::connect(&running);
    waits.query("SET lock_timeout = 0").hear();
    waits.query("UPDATE t SET n = 3").send().expect("sent");
    let mut computes = Raw::connect(&running);
    // More than one in a row.
    computes.query(ENDLESS).query(ENDLESS).query(ENDLESS).send().expect("sent");
    std::thread::sleep(Duration::from_millis(100));
    running.shutdown();
    for raw in [&mut holds, &mut waits, &mut computes] {
        assert_eq!(raw.last_words().last().map(String::as_str), Some("E 57P01"));
    }
}
