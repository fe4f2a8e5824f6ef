//! Directories that are refused stay byte by byte as they were, and looking says what opening says.

use crate::common::Scratch;
use chiliad::{Database, Error, LogError, Options, Table, directory};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Every entry and what it is.
fn everything(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entry = |entry: fs::DirEntry| {
        let kind = entry.file_type().unwrap();
        let content = if kind.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
        (format!("{} {kind:?}", entry.file_name().display()), content)
    };
    fs::read_dir(path).unwrap().map(|it| entry(it.unwrap())).collect()
}

fn sound() -> Scratch {
    let path = Scratch::new();
    let options = Options::default().log_segment_bytes(64 << 10);
    for round in 0..2 {
        let db = Database::open_with(&path, options.clone()).unwrap();
        let table: Table<u64, u64> = match round {
            0 => db.create_table("rows").unwrap(),
            _ => db.table("rows").unwrap(),
        };
        for key in 0..10 {
            db.run(|tx| tx.insert(&table, &(key + 10 * round), &key)).unwrap();
        }
    }
    path
}

/// Looking and opening say the same, and change nothing.
fn refused(path: &Path) -> Error {
    let before = everything(path);
    let looked = directory::inspect(path, &|_, _, _| {}).err();
    assert_eq!(everything(path), before);
    let opened = Database::open(path).expect_err("refused");
    assert_eq!(everything(path), before, "{opened}");
    if !matches!(opened, Error::Data(LogError::NotOurs { .. })) {
        assert_eq!(looked, Some(opened.clone()));
    }
    opened
}

#[test]
fn entries_that_are_no_files() {
    for name in [
        "log-000000ff-0000-00000000",
        "log-00000003-0000-00000000",
        "log-00000001-0000-00000009",
        "claims-00000003",
        "checkpoint-00000001-0000",
        "spare-00000077",
        "MANIFEST.new",
    ] {
        for directory in [true, false] {
            let path = sound();
            match directory {
                true => fs::create_dir(path.join(name)).unwrap(),
                false => symlink("MANIFEST", path.join(name)).unwrap(),
            }
            match refused(&path) {
                Error::Data(LogError::Damaged { file, .. }) => assert_eq!(file, name),
                other => panic!("{name}: {other}"),
            }
        }
    }
}

#[test]
fn directories_of_somebody_else() {
    for (name, content) in
        [("MANIFEST", &b"Manifest-Version: 1.0"[..]), ("MANIFEST", b""), ("notes.txt", b"mine")]
    {
        let path = Scratch::new();
        fs::create_dir(&path).unwrap();
        fs::write(path.join(name), content).unwrap();
        refused(&path);
    }
}

#[test]
fn a_directory_that_was_made_goes_again() {
    let path = Scratch::new();
    let options = Options::default().log_segment_bytes(1);
    assert!(matches!(Database::open_with(&path, options), Err(Error::InvalidOption(_))));
    assert!(!path.exists());
}

#[test]
fn a_damaged_directory_without_a_lock_gets_none() {
    let path = sound();
    fs::remove_file(path.join("LOCK")).unwrap();
    let mut manifest = fs::read(path.join("MANIFEST")).unwrap();
    manifest[30] ^= 1;
    fs::write(path.join("MANIFEST"), manifest).unwrap();
    assert!(matches!(refused(&path), Error::Data(LogError::Damaged { .. })));
}

#[test]
fn a_small_database_takes_little_of_the_disk() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    let table: Table<u64, u64> = db.create_table("rows").unwrap();
    for key in 0..4 {
        db.run(|tx| tx.insert(&table, &key, &key)).unwrap();
    }
    drop(db);
    let bytes: usize = everything(&path).values().map(Vec::len).sum();
    assert!(bytes < 8 << 20, "{bytes} bytes");
}

#[test]
fn of_several_damaged_segments_the_first_is_named() {
    let path = Scratch::new();
    let db = Database::open_with(&path, Options::default().log_segment_bytes(64 << 10)).unwrap();
    let table: Table<u64, Vec<u8>> = db.create_table("rows").unwrap();
    for key in 0..60 {
        db.run(|tx| tx.insert(&table, &key, &vec![key as u8; 9000])).unwrap();
    }
    drop(db);
    let is_segment = |name: &String| name.starts_with("log-");
    let names = fs::read_dir(&path).unwrap();
    let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(is_segment).collect();
    names.sort();
    names.pop();
    assert!(names.len() > 3, "{names:?}");
    for name in &names {
        let mut bytes = fs::read(path.join(name)).unwrap();
        let last = bytes.len() - 4096;
        bytes[16 << 10..last].fill(0);
        fs::write(path.join(name), bytes).unwrap();
    }
    // Several threads read: whichever comes first to its damage.
    for _ in 0..20 {
        match refused(&path) {
            Error::Data(LogError::Damaged { file, .. }) => assert_eq!(file, names[0]),
            other => panic!("{other}"),
        }
    }
}
