//! The ends of logs go missing, older files come back: recovery says so, or has everything.

use crate::damage::put;
use chiliad_engine::{
    Alone, Database, DurableOptions, Error, Intent, LogError, LogOptions, Mode, Opened, Options,
    Range, Silo, Stepped, TableSpec, Transaction, inspect,
};
use chiliad_log::{MANIFEST_NAME, Manifest, Name};
use chiliad_machine::Interleaved;
use chiliad_simulator::{DiskFaults, FaultyDisk};
use std::collections::BTreeMap;
use std::sync::Arc;

type Files = BTreeMap<String, Vec<u8>>;
type Db = Opened<Interleaved, Silo<Interleaved>>;

const BLOCK: usize = 4096;

fn open(disk: &FaultyDisk, mode: Mode, writers: u32) -> chiliad_engine::Result<Db> {
    open_with(disk, mode, LogOptions { segment_bytes: 64 << 10, writers, ..LogOptions::default() })
}

fn open_with(disk: &FaultyDisk, mode: Mode, log: LogOptions) -> chiliad_engine::Result<Db> {
    let durable = DurableOptions { log, ..DurableOptions::default() };
    Database::open_on(Arc::new(disk.clone()), mode, Options::default(), durable, &Alone)
}

fn sync(db: &mut Db) {
    db.database.tick();
    db.runners.iter_mut().for_each(|runner| assert_ne!(runner.step(), Stepped::Failed));
}

/// Puts a row, durably.
fn put_row(db: &mut Db, key: u32) {
    let table = db.database.table("rows").expect("there");
    let mut worker = db.database.worker().expect("room");
    let mut tx = worker.begin(&Intent::update()).expect("begun");
    tx.put(table, &key.to_be_bytes(), &[7; 3000]).expect("put");
    tx.commit().expect("committed");
    drop(worker);
    sync(db);
}

fn keys(db: &Db) -> Vec<Vec<u8>> {
    let table = db.database.table("rows").expect("there");
    let mut worker = db.database.worker().expect("room");
    let mut tx = worker.begin(&Intent::read_only()).expect("begun");
    let scanned = tx.scan(table, Range::all()).expect("scanned");
    let entries = tx.entries(scanned).expect("its own").iter();
    entries.map(|&entry| tx.key(entry).expect("its own").to_vec()).collect()
}

fn rows(db: &Db) -> usize {
    keys(db).len()
}

fn files(disk: &FaultyDisk) -> Files {
    let contents = |name: String| Some((name.clone(), disk.contents(&name)?));
    disk.file_names().into_iter().filter_map(contents).collect()
}

fn disk_of(files: &Files) -> FaultyDisk {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    files.iter().for_each(|(name, bytes)| put(&disk, name, bytes));
    disk
}

const ROWS: usize = 40;

/// A directory with two incarnations, several segments and all rows, and what it was at times before.
fn sound(writers: u32, closed: bool) -> (Files, Vec<Files>) {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut before = Vec::new();
    let mut db = open(&disk, Mode::Write, writers).expect("new");
    db.database.create_table(TableSpec::ordered("rows")).expect("new");
    (0..10).for_each(|key| put_row(&mut db, key));
    before.push(files(&disk));
    db.runners.into_iter().for_each(|runner| assert_ne!(runner.finish(), Stepped::Failed));
    before.push(files(&disk));
    let mut db = open(&disk, Mode::Write, writers).expect("sound");
    for key in 10..ROWS as u32 {
        if key % 7 == 0 {
            before.push(files(&disk));
        }
        if key == 30 {
            db.database.create_table(TableSpec::ordered("more")).expect("new");
        }
        put_row(&mut db, key);
    }
    if closed {
        db.runners.into_iter().for_each(|runner| assert_ne!(runner.finish(), Stepped::Failed));
    }
    (files(&disk), before)
}

/// Everything is there, or the damage is told: by looking and by opening alike, and nothing changes.
fn told(files: &Files, what: &str) -> bool {
    told_or(files, what, |keys| assert_eq!(keys.len(), ROWS, "lost without a word: {what}"))
}

/// The same, where `accepted` judges the keys that are there.
fn told_or(files: &Files, what: &str, accepted: impl Fn(&[Vec<u8>])) -> bool {
    let disk = disk_of(files);
    let operations = disk.counters().operations;
    let looked = inspect::<Interleaved>(&disk, &Alone).err();
    let opened = open(&disk, Mode::Read, 1);
    let refused = match opened {
        Ok(db) => {
            accepted(&keys(&db));
            assert_eq!(db.database.tables().len(), 2, "lost without a word: {what}");
            assert_eq!(looked, None, "{what}");
            false
        }
        Err(error) => {
            assert!(matches!(error, Error::Data(_)), "{what}: {error}");
            assert_eq!(looked.as_ref(), Some(&error), "{what}");
            assert_eq!(open(&disk, Mode::Write, 2).err(), Some(error), "{what}");
            true
        }
    };
    assert_eq!(disk.counters().operations, operations, "nothing was changed: {what}");
    refused
}

fn each(change: impl Fn(&Files, &[Files])) {
    for writers in [1, 3] {
        for closed in [true, false] {
            let (files, before) = sound(writers, closed);
            assert!(!told(&files, "no damage"));
            change(&files, &before);
        }
    }
}

fn is_segment(name: &str) -> bool {
    matches!(Name::parse(name), Name::Segment(_))
}

fn is_log(name: &str) -> bool {
    matches!(Name::parse(name), Name::Segment(id) if id.incarnation == 2)
}

#[test]
fn a_segment_that_goes_missing_is_told() {
    each(|files, _| {
        for name in files.keys().filter(|name| Name::parse(name) != Name::Lock) {
            let mut damaged = files.clone();
            damaged.remove(name);
            let refused = told(&damaged, &format!("{name} removed"));
            assert!(refused || !is_log(name) && name != MANIFEST_NAME, "{name}");
            damaged.insert(name.clone(), Vec::new());
            let refused = told(&damaged, &format!("{name} emptied"));
            assert!(refused || !is_log(name) && name != MANIFEST_NAME, "{name}");
        }
    });
}

#[test]
fn a_log_that_is_cut_off_or_written_over_is_told() {
    each(|files, _| {
        for (name, bytes) in files.iter().filter(|(name, _)| is_log(name)) {
            for block in 0..bytes.len() / BLOCK {
                let mut cut = files.clone();
                cut.insert(name.clone(), bytes[..block * BLOCK].to_vec());
                told(&cut, &format!("{name} cut at block {block}"));
                let mut zeroed = bytes.clone();
                zeroed[block * BLOCK..].fill(0);
                cut.insert(name.clone(), zeroed);
                told(&cut, &format!("{name} zero from block {block}"));
                let mut turned = bytes.clone();
                turned[block * BLOCK + 60] ^= 1;
                cut.insert(name.clone(), turned);
                told(&cut, &format!("{name} turned in block {block}"));
            }
        }
    });
}

#[test]
fn files_of_an_earlier_time_are_told() {
    each(|files, before| {
        let manifest = Manifest::parse(&files[MANIFEST_NAME]).expect("sound");
        let sealed = manifest.incarnations.iter().all(|it| !it.ends.is_empty());
        for (time, earlier) in before.iter().enumerate() {
            for (name, bytes) in earlier {
                let mut damaged = files.clone();
                damaged.insert(name.clone(), bytes.clone());
                let what = format!("{name} of time {time}");
                if sealed || !is_log(name) {
                    told(&damaged, &what);
                } else {
                    told_or(&damaged, &what, |keys| are_of_one_moment(keys, &what));
                }
            }
        }
    });
}

/// The rows that were there at some moment: they were put one after the other, each durably.
fn are_of_one_moment(keys: &[Vec<u8>], what: &str) {
    let first = (0..keys.len() as u32).map(|key| key.to_be_bytes().to_vec());
    assert_eq!(keys, first.collect::<Vec<_>>(), "{what}");
}

/// The files of an open directory after each of its rows.
fn moments(writers: u32) -> Vec<Files> {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut db = open(&disk, Mode::Write, writers).expect("new");
    db.database.create_table(TableSpec::ordered("rows")).expect("new");
    db.database.create_table(TableSpec::ordered("more")).expect("new");
    let after = |key| {
        put_row(&mut db, key);
        files(&disk)
    };
    (0..ROWS as u32).map(after).collect()
}

#[test]
fn files_copied_one_after_the_other_while_it_is_in_use_are_a_moment() {
    for writers in [1, 3] {
        let moments = moments(writers);
        for (early, late) in moments.iter().zip(&moments[6..]) {
            // Copied are the files that were listed, each as it was then or later.
            let logs: Vec<&String> = early.keys().filter(|name| is_segment(name)).collect();
            for copied_late in 0..1_u32 << logs.len().min(5) {
                let mut copy = late.clone();
                copy.retain(|name, _| early.contains_key(name));
                let newest = logs.iter().rev().zip(0..);
                let chosen = newest.filter(|(_, bit)| copied_late >> bit.min(&31) & 1 == 0);
                copy.extend(chosen.map(|(&name, _)| (name.clone(), early[name].clone())));
                // One that has ended since says that there is another one.
                let ended = logs
                    .iter()
                    .any(|&name| copy[name] != early[name] && !late.keys().eq(early.keys()));
                let what = format!("{writers} writers, {copied_late:b} copied later");
                let refused = told_or(&copy, &what, |keys| are_of_one_moment(keys, &what));
                assert!(!refused || ended, "{what}");
            }
        }
    }
}

/// The bytes of the only segment of an incarnation in use, up to the end of its last frame.
fn written(disk: &FaultyDisk) -> (String, Vec<u8>) {
    let mut files = files(disk).into_iter().filter(|(name, _)| is_segment(name));
    let (name, mut bytes) = files.next().expect("a segment");
    assert!(files.next().is_none(), "one segment");
    bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1));
    (name, bytes)
}

#[test]
fn the_last_sixteen_writes_at_most_are_not_witnessed_after_power_was_lost() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut db = open_with(&disk, Mode::Write, LogOptions::default()).expect("new");
    db.database.create_table(TableSpec::ordered("rows")).expect("new");
    let mut ends = Vec::new();
    for key in 0..ROWS as u32 {
        put_row(&mut db, key);
        ends.push(written(&disk).1.len().next_multiple_of(BLOCK));
    }
    let mut lost = 0;
    for seed in 0..60 {
        let found = disk.crash(seed);
        let (name, _) = written(&found);
        let all = files(&found);
        for (rows_left, &end) in ends.iter().enumerate().map(|(last, end)| (last + 1, end)) {
            let mut damaged = all.clone();
            damaged.get_mut(&name).expect("there")[end..].fill(0);
            match open(&disk_of(&damaged), Mode::Read, 1) {
                Ok(db) => {
                    assert_eq!(rows(&db), rows_left, "the others are there");
                    lost = lost.max(ROWS - rows_left);
                }
                Err(error) => assert!(matches!(error, Error::Data(_)), "{error}"),
            }
        }
    }
    assert!((1..=16).contains(&lost), "{lost} durable rows lost without a word");
}

#[test]
fn what_is_missing_is_listed_by_a_salvage() {
    let (files, _) = sound(1, true);
    let last = files.keys().rfind(|name| is_log(name)).expect("there").clone();
    let mut damaged = files.clone();
    damaged.remove(&last);
    let saved = open(&disk_of(&damaged), Mode::Salvage, 1).expect("what there is");
    let missing = |loss: &LogError| matches!(loss, LogError::Damaged { file, .. } if *file == last);
    assert!(saved.recovered.losses.iter().any(missing), "{:?}", saved.recovered);
    assert!((1..ROWS).contains(&rows(&saved)));
    let mut cut = files.clone();
    cut.insert(last.clone(), files[&last][..BLOCK].to_vec());
    let saved = open(&disk_of(&cut), Mode::Salvage, 1).expect("what there is");
    assert!(saved.recovered.losses.iter().any(missing), "{:?}", saved.recovered);
}

/// A manifest as version 2 wrote it.
fn of_version_2(manifest: &Manifest) -> Vec<u8> {
    let mut body = manifest.database.to_le_bytes().to_vec();
    body.extend(manifest.incarnations.last().expect("one").number.to_le_bytes());
    assert!(manifest.checkpoint.is_none());
    body.push(0);
    body.extend((manifest.incarnations.len() as u32).to_le_bytes());
    for incarnation in &manifest.incarnations {
        let open = incarnation.number == 2;
        body.extend(incarnation.number.to_le_bytes());
        body.push(u8::from(!open));
        body.extend(if open { 0 } else { incarnation.ended.expect("over") }.to_le_bytes());
        body.extend((incarnation.first_segments.len() as u32).to_le_bytes());
        incarnation.first_segments.iter().for_each(|first| body.extend(first.to_le_bytes()));
    }
    body.extend((manifest.catalog.len() as u32).to_le_bytes());
    body.extend(&manifest.catalog);
    let mut file = b"CHILIAD\n\x02\0\0\0".to_vec();
    file.extend((body.len() as u32).to_le_bytes());
    file.extend([0; 4]);
    file.extend(body);
    crate::damage::reseal_manifest(&mut file);
    file
}

#[test]
fn a_directory_of_the_version_before_opens_and_is_converted() {
    each(|files, _| {
        let manifest = Manifest::parse(&files[MANIFEST_NAME]).expect("sound");
        let mut old = files.clone();
        old.retain(|name, _| !matches!(Name::parse(name), Name::Claims(_)));
        old.insert(MANIFEST_NAME.into(), of_version_2(&manifest));
        let disk = disk_of(&old);
        let db = open(&disk, Mode::Write, 1).expect("sound");
        assert_eq!(rows(&db), ROWS);
        drop(db);
        let bytes = disk.contents(MANIFEST_NAME).expect("there");
        assert_eq!(bytes[8], 4, "its version");
        let manifest = Manifest::parse(&bytes).expect("sound");
        assert!(manifest.incarnations[..2].iter().all(|it| !it.ends.is_empty()));
        assert_eq!(rows(&open(&disk.kill(), Mode::Write, 2).expect("sound")), ROWS);
    });
}
