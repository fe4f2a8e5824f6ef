//! What a database has to bear of its directory: any damage at all, checksums made to fit included.
//!
//! A small sound directory is made once, the same each time; a script changes its files; then it is
//! inspected, opened to be read, salvaged, and opened to go on with. Each is an error or a database.

use crate::damage::{Script, change, put, reseal, reseal_manifest, reseal_marks};
use chiliad_engine::{
    Alone, Database, DurableOptions, Error, Intent, KeyPart, LogError, LogOptions, Mode, Opened,
    Options, PartType, Range, SecondarySpec, Silo, Source, Stepped, TableSpec, Transaction,
    declared, inspect,
};
use chiliad_log::frame::Identity;
use chiliad_log::{FORMAT_VERSION, KeptLog, MANIFEST_NAME, Manifest, Name, SegmentId};
use chiliad_machine::Native;
use chiliad_simulator::{DiskFaults, FaultyDisk};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

type Result<T> = chiliad_engine::Result<T>;

/// Memory for tables. A directory may ask for more, and is refused.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

const DATABASE: u128 = 7;

pub fn disk_of(files: &Files) -> FaultyDisk {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    files.iter().for_each(|(name, bytes)| put(&disk, name, bytes));
    disk
}

pub fn open(disk: &FaultyDisk, mode: Mode, compress: bool) -> Result<Opened<Native, Silo<Native>>> {
    let log = LogOptions { segment_bytes: 64 << 10, writers: 2, compress, ..Default::default() };
    let durable = DurableOptions { log, ..DurableOptions::default() };
    let options = Options { memory_bytes_max: MEMORY_BYTES_MAX, ..Options::default() };
    Database::open_on(Arc::new(disk.clone()), mode, options, durable, &Alone)
}

/// A checkpoint and the logs of two incarnations, of which the last one was killed.
pub fn sound(compress: bool) -> Files {
    let first = open(&FaultyDisk::new(1, DiskFaults::default()), Mode::Write, compress);
    let mut db = first.expect("empty");
    let part = |source, part_type, length| KeyPart {
        source,
        offset: 0,
        length,
        part_type,
        descending: false,
    };
    let index = SecondarySpec {
        name: "by_text".into(),
        parts: vec![part(Source::Value, PartType::Text, 16), part(Source::Key, PartType::Bytes, 1)]
            .into(),
        unique: false,
    };
    let rows = TableSpec::ordered("rows").with_index(index);
    db.database.create_table(rows).expect("new");
    db.database.create_table(TableSpec::hash("hashed", 50)).expect("new");
    work(&mut db, 0);
    let disk = FaultyDisk::new(2, DiskFaults::default());
    db.database.export(&disk, &Alone).expect("written");
    let mut db = open(&disk, Mode::Write, compress).expect("sound");
    work(&mut db, 20);
    close(db);
    let mut db = open(&disk, Mode::Write, compress).expect("sound");
    work(&mut db, 30);
    let after = disk.kill();
    let names = after.file_names().into_iter();
    let mut files: Files =
        names.filter_map(|name| Some((name.clone(), after.contents(&name)?))).collect();
    // The number that the machine drew is the one thing that is not the same each time.
    if let Some(manifest) = files.get_mut(MANIFEST_NAME) {
        manifest[20..36].copy_from_slice(&DATABASE.to_le_bytes());
    }
    files.iter_mut().for_each(|(name, bytes)| seal(name, bytes));
    files
}

/// Puts and removes rows of both tables, in several epochs.
fn work(db: &mut Opened<Native, Silo<Native>>, from: u8) {
    let tables = ["rows", "hashed"].map(|name| db.database.table(name).expect("there"));
    for number in from..from + 20 {
        // A worker of its own, and with it the other writer.
        write(&db.database, |tx| {
            for table in tables {
                tx.put(table, &[number, 1], &[number; 40])?;
                tx.put(table, &[number, 2], &[8; 300])?;
                tx.remove(table, &[number / 2, 1])?;
            }
            Ok(())
        })
        .expect("written");
        if number % 8 == 7 {
            sync(db);
        }
    }
}

fn write(
    database: &Database<Native, Silo<Native>>,
    body: impl Fn(&mut dyn Transaction) -> Result<()>,
) -> Result<()> {
    let mut worker = database.worker()?;
    let mut tx = worker.begin(&Intent::update())?;
    body(&mut tx)?;
    tx.commit()?;
    Ok(())
}

fn sync(db: &mut Opened<Native, Silo<Native>>) {
    db.database.tick();
    for runner in &mut db.runners {
        assert_ne!(runner.step(), Stepped::Failed);
    }
}

fn close(db: Opened<Native, Silo<Native>>) {
    for runner in db.runners {
        assert_ne!(runner.finish(), Stepped::Failed);
    }
}

/// Makes checksums fit. A part counts as one of whichever checkpoint its name says.
fn seal(name: &str, bytes: &mut [u8]) {
    match Name::parse(name) {
        Name::Manifest => reseal_manifest(bytes),
        Name::Segment(id) => {
            reseal(bytes, &id.identity(DATABASE));
            reseal_marks(bytes, DATABASE, 3, id.incarnation, id.sequence);
        }
        Name::Part { checkpoint, part } => {
            let identity = Identity { database: DATABASE, room: 1, numbers: [checkpoint, part, 0] };
            reseal(bytes, &identity);
        }
        Name::Claims(incarnation) => reseal_marks(bytes, DATABASE, 2, incarnation, 0),
        _ => {}
    }
}

/// Changes a directory as the script says.
pub fn damage(files: &mut Files, script: &mut Script<'_>) {
    let mut left = 24;
    while !script.is_empty() && left > 0 {
        left -= 1;
        let kind = script.byte();
        let chosen = script.below(files.len());
        let Some(name) = files.keys().nth(chosen).cloned() else { return };
        match kind % 16 {
            0 => drop(files.remove(&name)),
            1 => {
                let bytes = files[&name].clone();
                files.insert(another(script), bytes);
            }
            2 => {
                let bytes = files.remove(&name).unwrap_or_default();
                files.insert(another(script), bytes);
            }
            3 => {
                let other = files.keys().nth(script.below(files.len())).cloned();
                let other = other.unwrap_or_default();
                let (one, two) = (files[&name].clone(), files[&other].clone());
                files.extend([(name.clone(), two), (other, one)]);
            }
            _ => {
                let bytes = files.entry(name.clone()).or_default();
                change(bytes, script);
                if kind >= 128 {
                    seal(&name, bytes);
                }
            }
        }
    }
}

/// A name that may mean something.
fn another(script: &mut Script<'_>) -> String {
    let mut number = |small: u8| match script.byte() {
        it @ 0..240 => u32::from(it % small),
        it => u32::MAX - u32::from(it - 240),
    };
    let numbers = [number(5), number(3), number(3)];
    let [incarnation, writer, sequence] = numbers;
    match script.byte() % 8 {
        0..4 => SegmentId { incarnation, writer, sequence }.to_string(),
        4 | 5 => Name::Part { checkpoint: incarnation, part: writer }.to_string(),
        6 => Name::Spare(incarnation).to_string(),
        _ => ["MANIFEST", "MANIFEST.new", "LOCK", "notes"][script.below(4)].to_owned(),
    }
}

/// Looks at a directory in every way there is.
pub fn check(files: &Files) {
    let disk = disk_of(files);
    let before = disk.counters().operations;
    let inspected = inspect::<Native>(&disk, &Alone);
    let read = open(&disk, Mode::Read, false);
    match (&inspected, &read) {
        (Ok(_), Ok(opened)) => drop(look(&opened.database, &disk)),
        (Ok(_), Err(Error::OutOfMemory { .. })) | (Err(_), Err(_)) => {}
        (inspected, read) => panic!("{inspected:?}, and read: {:?}", read.as_ref().err()),
    }
    let told = inspected.as_ref().err().into_iter().chain(read.as_ref().err());
    told.for_each(is_about_files);
    drop(read);
    if let Ok(saved) = open(&disk, Mode::Salvage, false) {
        look(&saved.database, &disk);
        export(&saved.database);
    }
    assert_eq!(disk.counters().operations, before, "nothing was changed");
    go_on(&disk.kill(), inspected.is_ok());
}

fn is_about_files(error: &Error) {
    match error {
        Error::Data(LogError::Io { .. }) => panic!("{error}"),
        Error::Data(_) | Error::OutOfMemory { .. } => {}
        _ => panic!("{error}"),
    }
}

/// Reads every row of every table; returns how many there are.
fn look(database: &Database<Native, Silo<Native>>, disk: &FaultyDisk) -> usize {
    let names = declared(disk).expect("it was opened").unwrap_or_default();
    let mut worker = database.worker().expect("room");
    let mut rows = 0;
    for name in names {
        let table = database.table(&name).expect("declared");
        let mut tx = worker.begin(&Intent::read_only()).expect("begun");
        rows += tx.scan(table, Range::all()).map_or(0, |scanned| scanned.len());
        for index in 0..4 {
            // A table may have fewer.
            let Ok(scanned) = tx.scan_index(table, index, Range::all()) else { break };
            rows += scanned.len();
        }
        // A hash table has no order to be scanned in.
        for key in 0..64 {
            rows += usize::from(tx.get(table, &[key, 1]).is_ok_and(|row| row.is_some()));
        }
    }
    rows
}

/// What was saved can be written elsewhere and opened there.
fn export(database: &Database<Native, Silo<Native>>) {
    let to = FaultyDisk::new(3, DiskFaults::default());
    database.export(&to, &Alone).expect("written");
    let opened = open(&to, Mode::Read, false);
    assert!(matches!(opened, Ok(_) | Err(Error::OutOfMemory { .. })), "{:?}", opened.err());
}

/// Goes on with a directory, if it is taken; what is there and what is written then stays.
fn go_on(disk: &FaultyDisk, sound: bool) {
    let mut opened = match open(disk, Mode::Write, true) {
        Ok(opened) => opened,
        Err(error) => {
            let excused = matches!(error, Error::OutOfMemory { .. });
            assert_eq!(disk.counters().operations, 0, "refused, and nothing was changed");
            return assert!(!sound || excused, "inspected without complaint: {error}");
        }
    };
    for (table, _) in opened.database.tables() {
        // Rows may be too small for the indexes of a damaged table.
        for key in [b"new", &[1, 1][..], &[35, 1], &[49, 2]] {
            let _ = write(&opened.database, |tx| tx.put(table, key, &[1; 300]));
        }
        let _ = write(&opened.database, |tx| tx.remove(table, &[40, 1]).map(drop));
    }
    sync(&mut opened);
    let rows = look(&opened.database, disk);
    close(opened);
    let again = open(disk, Mode::Write, false).expect("what was closed opens again");
    assert!(again.recovered.closed);
    assert_eq!(look(&again.database, disk), rows);
}

/// Whatever a script says of a directory.
pub fn directories(bases: &[Files; 2], script: &[u8]) {
    let mut script = Script::new(script);
    let mut files = bases[usize::from(script.byte() % 2)].clone();
    damage(&mut files, &mut script);
    check(&files);
}

/// A directory whose manifest has this catalog, and nothing else.
pub fn catalogs(catalog: &[u8]) {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let manifest = Manifest {
        format: FORMAT_VERSION,
        database: DATABASE,
        generation: 1,
        checkpoint: None,
        incarnations: Vec::new(),
        catalog: catalog.to_vec(),
        kept: KeptLog::default(),
    };
    manifest.write::<Native>(&disk).expect("written");
    check(&Files::from([(MANIFEST_NAME.to_owned(), disk.contents(MANIFEST_NAME).expect("there"))]));
}

/// The catalog of the sound directory.
pub fn sound_catalog() -> Vec<u8> {
    let files = sound(false);
    Manifest::parse(&files[MANIFEST_NAME]).expect("sound").catalog
}
