//! What a database in a directory takes: few syncs and small files at first, large ones where much is logged.

use crate::durable::{Open, open, try_open_with};
use chiliad_engine::{DurableOptions, LogOptions, Mode, Silo, TableSpec};
use chiliad_machine::Interleaved;
use chiliad_simulator::{DiskFaults, FaultyDisk};

/// Bytes of the files whose names begin so, in order.
fn file_bytes(disk: &FaultyDisk, prefix: &str) -> Vec<usize> {
    let names = disk.file_names().into_iter().filter(|name| name.starts_with(prefix));
    names.map(|name| disk.contents(&name).expect("there").len()).collect()
}

#[test]
fn an_empty_directory_is_opened_with_few_syncs_and_bytes() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let opened = try_open_with(&disk, Mode::Write, DurableOptions::default());
    let db: Open<Silo<Interleaved>> = opened.expect("sound");
    let counters = disk.counters();
    assert!(counters.syncs <= 3 && counters.name_syncs <= 3, "{counters:?}");
    while db.database.prepare_log().expect("room") {}
    assert_eq!(file_bytes(&disk, "spare-"), [128 << 10; 2]);
    assert!(file_bytes(&disk, "").iter().sum::<usize>() < 512 << 10, "{:?}", disk.file_names());
    db.close();
}

/// A database that logs much soon has large files, and recovery reads them.
#[test]
fn log_files_double_up_to_their_size() {
    const SEGMENT: usize = 2 << 20;
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let log = LogOptions { segment_bytes: SEGMENT as u64, ..LogOptions::default() };
    let durable = DurableOptions { log, ..DurableOptions::default() };
    let mut db: Open<Silo<Interleaved>> =
        try_open_with(&disk, Mode::Write, durable).expect("sound");
    let table = db.database.create_table(TableSpec::ordered("rows")).expect("new");
    for round in 0..160_u8 {
        while db.database.prepare_log().expect("room") {}
        db.put(table, &[round], &vec![round; 100 << 10]);
        db.sync();
    }
    let bytes = file_bytes(&disk, "log-");
    assert!(bytes.iter().all(|&bytes| bytes <= SEGMENT), "{bytes:?}");
    // The first one was begun before there was a spare.
    assert!(bytes[1..].is_sorted(), "{bytes:?}");
    let full = bytes.iter().filter(|&&bytes| bytes == SEGMENT).count();
    assert!(full >= 6 && bytes.len() - full <= 10, "{bytes:?}");
    // All is durable; the end of the log is one that was cut short.
    drop(db);
    let again: Open<Silo<Interleaved>> = open(&disk.kill());
    let rows = again.rows(again.database.table("rows").expect("kept"));
    assert_eq!(rows.len(), 160);
    assert!(rows.iter().all(|(key, value)| value.len() == 100 << 10 && value[0] == key[0]));
}
