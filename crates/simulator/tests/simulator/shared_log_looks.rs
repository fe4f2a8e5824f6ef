//! What a simulated shared log notes of the looks of its servers: what each was shown, and whether it looks again.

use chiliad_machine::shared_log::{Position, SharedLog};
use chiliad_simulator::{FaultyLog, LogFaults, LogLooks};
use std::sync::Arc;
use std::time::Duration;

/// A log with records 1 to `records`, and a server that has read them.
fn log_with(records: u8) -> (FaultyLog, Arc<dyn SharedLog>) {
    let log = FaultyLog::new(1, LogFaults::default());
    let server = log.server(0);
    for record in 1..=records {
        server.append(&[&[record]]).expect("appended");
    }
    look(&*server);
    assert_eq!(read(&*server, 1, 1 << 10), u64::from(records) + 1);
    (log, server)
}

fn read(server: &dyn SharedLog, from: Position, bytes: usize) -> Position {
    server.read(from, bytes, Duration::ZERO, &mut |_, _| {}).expect("read")
}

fn look(server: &dyn SharedLog) {
    server.identity().expect("an identity");
    server.bounds().expect("bounds");
}

#[test]
fn a_log_that_keeps_its_promises_contradicts_nothing() {
    let (log, server) = log_with(3);
    server.append(&[b"more"]).expect("appended");
    server.trim(2).expect("trimmed");
    look(&*server);
    read(&*server, 3, 1);
    assert_eq!(log.looks(0), LogLooks { begun: 2, ..LogLooks::default() });
    assert_eq!(log.looks(1), LogLooks::default(), "a server without a handle");
}

#[test]
fn looks_are_counted_that_show_less_than_was_read() {
    let (log, server) = log_with(4);
    log.roll_back(3);
    look(&*server);
    // A server that has not asked for the identity does not look.
    server.bounds().expect("bounds");
    look(&*server);
    assert_eq!((log.looks(0).shorter, log.looks(0).shorter_most), (2, 2));
    server.append(&[b"other", b"other"]).expect("appended");
    look(&*server);
    assert_eq!((log.looks(0).shorter, log.looks(0).shorter_most), (0, 2));
    assert_eq!(log.looks(0).since_another, None, "it was not shown what has changed");
}

#[test]
fn another_record_at_a_known_position_is_noted_once_it_was_shown() {
    let (log, server) = log_with(4);
    log.overwrite(3);
    look(&*server);
    read(&*server, 2, 1);
    assert_eq!(log.looks(0).since_another, None);
    read(&*server, 4, 1);
    assert_eq!(log.looks(0).since_another, Some(0));
    look(&*server);
    assert_eq!(log.looks(0).since_another, Some(1), "it goes on");
    let again = log.server(0);
    look(&*again);
    read(&*again, 1, 1 << 10);
    assert_eq!(log.looks(0).since_another, None, "another life knows nothing of the one before");
}

#[test]
fn another_identity_is_noted() {
    let (log, server) = log_with(1);
    log.copy();
    assert_eq!(log.looks(0).since_another, None);
    look(&*server);
    assert_eq!(log.looks(0).since_another, Some(0));
}
