//! The promises of every shared log, by the suite that the other implementations pass.

mod common;
#[allow(dead_code, reason = "not all logs need all of it")]
#[path = "../../shared-log/tests/contract/suite.rs"]
mod suite;

use common::Servers;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use suite::Subject;

#[test]
fn a_log_over_jetstream_keeps_every_promise() {
    let Some(servers) = Servers::start("suite", 3) else { return };
    let logs = AtomicU64::new(0);
    let make = || {
        // Relaxed: only that they differ.
        let name = format!("log-{}", logs.fetch_add(1, Ordering::Relaxed));
        Subject::new(Arc::new(servers.open(&name)), Arc::new(servers.open(&name)))
    };
    suite::records_come_back_in_order(&make);
    suite::nothing_and_empty_records_are_told_apart(&make);
    suite::a_reader_takes_as_much_as_it_asked_for(&make);
    suite::what_is_too_large_is_refused_whole(&make);
    suite::what_is_trimmed_is_gone_and_positions_go_on(&make);
    suite::a_reader_that_waits_is_woken(&make);
    suite::everybody_sees_one_sequence(&make);
    suite::what_bounds_say_is_there(&make);
    suite::a_reader_is_told_when_it_was_overtaken_by_a_trim(&make);
    suite::each_log_has_an_identity_of_its_own(&make);
}
