//! What a shared log promises, over three servers that nothing happens to.

mod common;

use chiliad_jetstream::{JetStream, Options};
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use common::{Servers, read, read_all};
use std::sync::Mutex;
use std::time::Duration;

#[test]
fn records_are_read_in_the_order_of_their_positions() {
    let Some(servers) = Servers::start("order", 3) else { return };
    let log = servers.open("order");
    assert_eq!(log.bounds().unwrap(), 1..1);
    log.append(&[]).unwrap();
    for n in 0..20_u32 {
        log.append(&[&n.to_le_bytes(), b"", b"same"]).unwrap();
    }
    assert_eq!(log.bounds().unwrap(), 1..61);
    let all = read_all(&log, 1, 1 << 20);
    assert_eq!(all.len(), 60);
    assert_eq!(read_all(&log, 1, 1), all);
    assert_eq!(read_all(&log, 31, 10), all[30..]);
    let mut seen: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    seen.retain(|record| record.len() == 4 && *record != b"same");
    let expected: Vec<[u8; 4]> = (0..20_u32).map(u32::to_le_bytes).collect();
    assert_eq!(seen, expected);
    assert!(log.stored_bytes().unwrap() > 20 * 8);
    // Where there is nothing, a read waits and says so.
    let after = log.read(61, 1, Duration::from_millis(20), &mut |_, _| panic!("nothing"));
    assert_eq!(after.unwrap(), 61);
    // What this handle has appended is there, however impatient a reader is.
    for n in 61..81 {
        log.append(&[b"next"]).unwrap();
        assert_eq!(log.read(n, 1, Duration::ZERO, &mut |_, _| {}).unwrap(), n + 1);
    }
}

#[test]
fn all_see_one_sequence_of_what_several_append() {
    const WRITERS: u32 = 4;
    const CALLS: u32 = 100;
    let Some(servers) = Servers::start("sequence", 3) else { return };
    let logs: Vec<JetStream> = (0..3).map(|_| servers.open("sequence")).collect();
    let count = u64::from(WRITERS * CALLS * 2);
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = &logs[writer as usize % logs.len()];
            scope.spawn(move || {
                for call in 0..CALLS {
                    let record =
                        |n: u32| (u64::from(writer) << 32 | u64::from(call * 2 + n)).to_le_bytes();
                    log.append(&[&record(0), &record(1)]).unwrap();
                }
            });
        }
        // Two of the readers share a handle.
        for reader in [0, 1, 2, 2] {
            let (log, seen) = (&logs[reader], &seen);
            scope.spawn(move || {
                let (mut position, mut records) = (1, Vec::new());
                while position <= count {
                    position = read(log, position, 100, &mut records).unwrap();
                }
                seen.lock().unwrap().push(records);
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    for other in &seen[1..] {
        assert_eq!(other, &seen[0]);
    }
    let mut records = seen[0].clone();
    records.sort_unstable();
    records.dedup();
    assert_eq!(records.len() as u64, count, "each record once");
}

#[test]
fn trimmed_records_are_gone_and_positions_go_on() {
    let Some(servers) = Servers::start("trim", 3) else { return };
    let (log, other) = (servers.open("trim"), servers.open("trim"));
    log.append(&[&[7][..]; 60]).unwrap();
    // A reader that waits at a position that somebody else trims.
    assert_eq!(read(&other, 1, 1, &mut Vec::new()).unwrap(), 2);
    log.trim(11).unwrap();
    log.trim(5).unwrap();
    assert_eq!(log.bounds().unwrap(), 11..61);
    for log in [&log, &other] {
        // Records on their way to a reader may still be handed over.
        let mut records = Vec::new();
        let mut position = 2;
        let trimmed = loop {
            match read(log, position, 1, &mut records) {
                Ok(next) => position = next,
                Err(error) => break error,
            }
            assert!(position <= 61);
            if position == 61 {
                break log.read(3, 1, Duration::ZERO, &mut |_, _| {}).unwrap_err();
            }
        };
        assert!(matches!(trimmed, SharedLogError::Trimmed { first: 11 }), "{trimmed}");
        assert_eq!(read_all(log, 11, 1 << 20).len(), 50);
    }
    // Beyond the end there is nothing to forget, and the next record follows the last.
    log.trim(u64::MAX).unwrap();
    assert_eq!(log.bounds().unwrap(), 61..61);
    log.append(&[b"next"]).unwrap();
    assert_eq!(other.bounds().unwrap(), 61..62);
    assert_eq!(read_all(&other, 61, 1), [b"next"]);
    let trimmed = servers.open("trim").read(60, 1, Duration::ZERO, &mut |_, _| {}).unwrap_err();
    assert!(matches!(trimmed, SharedLogError::Trimmed { first: 61 }), "{trimmed}");
}

#[test]
fn a_reader_at_the_end_hears_that_all_was_trimmed() {
    let Some(servers) = Servers::start("trim-all", 3) else { return };
    let (log, other) = (servers.open("trim-all"), servers.open("trim-all"));
    log.append(&[b"one"]).unwrap();
    assert_eq!(read(&other, 1, 1, &mut Vec::new()).unwrap(), 2);
    let waiting = std::thread::spawn(move || {
        let mut records = Vec::new();
        let mut position = 2;
        loop {
            match read(&other, position, 1, &mut records) {
                Ok(next) => position = next,
                Err(error) => return error,
            }
        }
    });
    // The reader takes some of these before they are trimmed.
    while !waiting.is_finished() {
        log.append(&[&[7][..]; 100]).unwrap();
        log.trim(u64::MAX).unwrap();
    }
    let error = waiting.join().unwrap();
    assert!(matches!(error, SharedLogError::Trimmed { .. }), "{error}");
}

#[test]
fn records_that_are_too_large_or_too_many_are_refused() {
    let Some(servers) = Servers::start("full", 3) else { return };
    let options = Options::default().bytes_max(4 << 20);
    let log = JetStream::open(&servers.url("full"), options).unwrap();
    let most = vec![1; log.record_bytes_max()];
    let more = vec![1; log.record_bytes_max() + 1];
    let error = log.append(&[b"small", &more]).unwrap_err();
    let expected = (more.len(), most.len());
    assert!(
        matches!(error, SharedLogError::TooLarge { bytes, accepted } if (bytes, accepted) == expected),
        "{error}"
    );
    assert_eq!(log.bounds().unwrap(), 1..1, "nothing was appended");
    log.append(&[&most]).unwrap();
    assert_eq!(read_all(&log, 1, 1), std::slice::from_ref(&most));
    let error = log.append(&[&most[..]; 10]).unwrap_err();
    assert!(matches!(error, SharedLogError::Full(_)), "{error}");
    let bounds = log.bounds().unwrap();
    assert!((2..=10).contains(&bounds.end), "{bounds:?}");
    log.trim(bounds.end).unwrap();
    log.append(&[&most]).unwrap();
}

#[test]
fn calls_may_come_from_another_runtime_and_from_within_a_read() {
    let Some(servers) = Servers::start("threads", 3) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let log = servers.open("threads");
        log.append(&[b"one"]).unwrap();
        let take = &mut |_, record: &[u8]| log.append(&[record]).unwrap();
        assert_eq!(log.read(1, 1, Duration::from_secs(1), take).unwrap(), 2);
        assert_eq!(log.bounds().unwrap(), 1..3);
    });
}
