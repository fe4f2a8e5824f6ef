//! The log in files when something is wrong with them: no room, damage, failed syncs, two users.

use chiliad_machine::Native;
use chiliad_machine::disk::{BLOCK_BYTES, Disk};
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use chiliad_shared_log::{FileLog, FileLogOptions};
use chiliad_simulator::{DiskFaults, FaultyDisk};
use std::sync::Arc;
use std::time::Duration;

const SMALL: FileLogOptions =
    FileLogOptions::new().segment_bytes(16 << 10).record_bytes_max(10_000).memory_bytes(0);

type Records = Vec<(Position, Vec<u8>)>;

fn open(disk: &FaultyDisk) -> Result<FileLog<Native>, SharedLogError> {
    FileLog::open(Arc::new(disk.clone()), SMALL)
}

fn disk() -> FaultyDisk {
    FaultyDisk::new(1, DiskFaults::default())
}

fn record(number: u64) -> Vec<u8> {
    vec![number as u8; 1000]
}

fn read_all(log: &dyn SharedLog) -> Result<Records, SharedLogError> {
    let bounds = log.bounds()?;
    let (mut next, mut records) = (bounds.start, Vec::new());
    while next < bounds.end {
        let take = &mut |at, it: &[u8]| records.push((at, it.to_vec()));
        next = log.read(next, 1 << 20, Duration::ZERO, take)?;
    }
    Ok(records)
}

#[test]
fn a_log_is_seen_before_it_is_opened() {
    let disk = disk();
    assert!(!FileLog::<Native>::is_on(&disk).unwrap());
    drop(open(&disk).unwrap());
    assert!(FileLog::<Native>::is_on(&disk).unwrap());
    disk.remove("shared-log").unwrap();
    assert!(FileLog::<Native>::is_on(&disk).unwrap(), "its segments are still there");
}

#[test]
fn a_full_disk_refuses_appends_until_it_is_trimmed_and_is_read_all_the_time() {
    for room in (6..40).step_by(3) {
        let full_after_bytes = Some(room * BLOCK_BYTES as u64);
        let disk = FaultyDisk::new(room, DiskFaults { full_after_bytes, ..DiskFaults::default() });
        let log = open(&disk).unwrap();
        let mut appended = 0;
        let error = loop {
            match log.append(&[&record(appended + 1)]) {
                Ok(()) => appended += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, SharedLogError::Full(_)), "{error}");
        assert!(
            !error.to_string().contains('\n') && appended * 2 >= room - 6,
            "{appended} of {room}"
        );
        for _ in 0..3 {
            let error = log.append(&[&record(0)]).unwrap_err();
            assert!(matches!(error, SharedLogError::Full(_)), "{error}");
            let expected: Records = (1..=appended).map(|it| (it, record(it))).collect();
            assert!(read_all(&log).unwrap() == expected, "reads go on");
        }
        let log = {
            drop(log);
            open(&disk.crash(room)).expect("there is room for opening it")
        };
        assert_eq!(log.bounds().unwrap(), 1..appended + 1);
        log.trim(appended).unwrap();
        if log.append(&[&record(appended + 1)]).is_ok() {
            assert_eq!(read_all(&log).unwrap().last(), Some(&(appended + 1, record(appended + 1))));
        } else {
            assert!(room < 10, "all of it is in one segment");
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_appended_until_the_log_is_opened_anew() {
    let disk = disk();
    let log = open(&disk).unwrap();
    log.append(&[&record(1)]).unwrap();
    disk.set_faults(DiskFaults { sync_errors_one_in: 1, ..DiskFaults::default() });
    assert!(matches!(log.append(&[&record(2)]), Err(SharedLogError::Damaged(_))));
    disk.set_faults(DiskFaults::default());
    let syncs = disk.counters().syncs;
    for _ in 0..3 {
        let error = log.append(&[&record(3)]).unwrap_err();
        assert!(error.to_string().contains("no more records until it is opened"), "{error}");
    }
    assert_eq!(disk.counters().syncs, syncs, "nothing was tried");
    assert_eq!(read_all(&log).unwrap(), [(1, record(1))], "what was durable is read");
    let log = open(&disk.kill()).unwrap();
    log.append(&[&record(4)]).unwrap();
    let found: Vec<_> = read_all(&log).unwrap().into_iter().map(|it| it.1[0]).collect();
    assert!(found == [1, 4] || found == [1, 2, 4], "{found:?}");
}

#[test]
fn no_turned_bit_is_read_as_a_record() {
    let disk = disk();
    let log = open(&disk).unwrap();
    for number in 1..=8 {
        log.append(&[&record(number)]).unwrap();
    }
    let whole = read_all(&log).unwrap();
    let identity = log.identity().unwrap();
    drop(log);
    let (mut refused, mut cut, mut harmless) = (0, 0, 0);
    for name in disk.file_names() {
        let bytes = disk.contents(&name).unwrap().len() as u64;
        for offset in (0..bytes).step_by(37) {
            let damaged = disk.fork();
            damaged.flip(&name, offset, (offset % 8) as u8).unwrap();
            let found = open(&damaged).and_then(|log| {
                assert_eq!(log.identity()?, identity, "byte {offset} of {name}");
                read_all(&log)
            });
            match found {
                Err(SharedLogError::Damaged(what)) => {
                    assert!(what.contains("shared-log") && !what.contains('\n'), "{what}");
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
                Ok(found) if found == whole => harmless += 1,
                // The last frame looks like one that was cut short.
                Ok(found) => {
                    assert!(found[..] == whole[..7], "byte {offset} of {name}");
                    cut += 1;
                }
            }
        }
    }
    assert!(refused > 100 && cut > 20 && harmless > 100, "{refused} {cut} {harmless}");
}

#[test]
fn a_missing_file_is_named() {
    let disk = disk();
    let log = open(&disk).unwrap();
    for number in 1..=8 {
        log.append(&[&record(number)]).unwrap();
    }
    drop(log);
    let names = disk.file_names();
    assert!(names.len() >= 4, "{names:?}");
    for name in &names[..names.len() - 1] {
        use chiliad_machine::disk::Disk;
        let less = disk.fork();
        less.remove(name).unwrap();
        let error = open(&less).and_then(|log| read_all(&log)).unwrap_err();
        assert!(matches!(&error, SharedLogError::Damaged(what) if what.contains(name)), "{error}");
    }
}

#[test]
fn one_process_has_a_directory_and_has_it_once() {
    let path =
        std::env::temp_dir().join(format!("chiliad-shared-log-twice-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let open = || FileLog::<Native>::open_directory(&path, FileLogOptions::default());
    let log = open().unwrap();
    log.append(&[b"record"]).unwrap();
    let error = open().unwrap_err();
    assert!(error.may_pass() && error.to_string().contains("is open in this process"), "{error}");
    let identity = log.identity().unwrap();
    let other = log.clone();
    drop(log);
    open().expect_err("somebody has it still");
    drop(other);
    let log = open().unwrap();
    assert_eq!((log.identity().unwrap(), log.bounds().unwrap()), (identity, 1..2));
    drop(log);
    std::fs::write(path.join("shared-log-of-somebody"), b"else").unwrap();
    open().expect("other files are not looked at");
    std::fs::remove_dir_all(path).unwrap();
}

#[test]
fn many_readers_of_files_go_on_where_they_were() {
    let disk = disk();
    let log = open(&disk).unwrap();
    let mut next = [1; 20];
    for number in 1..=60 {
        log.append(&[&record(number)]).unwrap();
        for (reader, next) in next.iter_mut().enumerate() {
            if number % (reader as u64 + 1) == 0 {
                let expected = *next;
                *next = log
                    .read(*next, 1500, Duration::ZERO, &mut |at, it| assert!(it == record(at)))
                    .unwrap();
                assert!(*next > expected);
            }
        }
    }
}
