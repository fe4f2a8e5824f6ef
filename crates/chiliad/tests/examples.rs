//! The examples that follow changes, as programs use them: a second index that agrees with the table, and lines of JSON of
//! which a killed writer has each once.

#![allow(dead_code, reason = "each example has a `main` of its own")]

#[path = "../examples/change_lines.rs"]
mod change_lines;
#[path = "../examples/second_index.rs"]
mod second_index;

use chiliad::{Database, Durability, Options, Table};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Tells the program that it is the one to be killed, and its folder.
const FOLDER: &str = "CHILIAD_EXAMPLES_FOLDER";

fn folder(of: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("chiliad-examples-{of}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap();
    path
}

fn open(folder: &Path) -> Database {
    let options = Options::default()
        .durability(Durability::Epoch)
        .epoch(Duration::from_millis(2))
        .change_log_bytes(u64::MAX);
    Database::open_with(folder.join("data"), options).unwrap()
}

#[test]
fn the_second_index_agrees_with_the_table() {
    let folder = folder("index");
    let db = open(&folder);
    let notes: Table<u64, String> = db.open_or_create_table("notes").unwrap();
    let note = |number: u64| format!("even{} third{} note", number % 2, number % 3);
    db.run(|tx| (0..10).try_for_each(|key| tx.insert(&notes, &key, &note(key)))).unwrap();
    let mut index = second_index::WordIndex::new(&db, notes).unwrap();
    for number in 10..300 {
        let key = number * 7 % 50;
        db.run(|tx| match number % 5 {
            0 => tx.remove(&notes, &key).map(|_| ()),
            _ => tx.put(&notes, &key, &note(number)).map(|_| ()),
        })
        .unwrap();
        if number % 40 == 0 {
            index.catch_up().unwrap();
        }
    }
    db.sync().unwrap();
    index.catch_up().unwrap();
    let rows = db.run(|tx| tx.scan(&notes, ..).rows()).unwrap();
    for word in ["even0", "even1", "third0", "third1", "third2", "note"] {
        let has = |row: &&(u64, String)| row.1.split(' ').any(|other| other == word);
        let keys: Vec<u64> = rows.iter().filter(has).map(|(key, _)| *key).collect();
        assert_eq!(index.find(word), keys, "{word}");
    }
    drop(index);
    db.close().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The program that is killed: commits and writes lines, until it is.
#[test]
fn a_writer_of_lines_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let db = open(&folder);
    let table: Table<u64, u64> = db.open_or_create_table("numbers").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let first = db.run(|tx| Ok(tx.scan(&table, ..).keys()?.last().copied())).unwrap();
            for key in first.map_or(0, |last| last + 1).. {
                db.run(|tx| tx.insert(&table, &key, &(key * key))).unwrap();
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let patience = Duration::from_secs(60);
        change_lines::write_lines(&db, &folder.join("lines"), patience).unwrap();
    });
}

#[test]
fn lines_come_once_whoever_is_killed() {
    let folder = folder("lines");
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_writer_of_lines_to_be_killed"])
            .env(FOLDER, &folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let enough = || {
            let lines = std::fs::read_to_string(folder.join("lines")).unwrap_or_default();
            lines.lines().count() >= round * 400
        };
        while !enough() {
            assert!(child.try_wait().unwrap().is_none(), "it runs until it is killed");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let db = open(&folder);
    let table: Table<u64, u64> = db.table("numbers").unwrap();
    change_lines::write_lines(&db, &folder.join("lines"), Duration::ZERO).unwrap();
    let lines = std::fs::read_to_string(folder.join("lines")).unwrap();
    let rows = db.run(|tx| tx.scan(&table, ..).rows()).unwrap();
    // In the order of their commits, without what a line says of its position.
    let lines: Vec<&str> =
        lines.lines().map(|line| line.split(",\"at\"").next().unwrap()).collect();
    let expected =
        |(key, row): &(u64, u64)| format!(r#"{{"table":"numbers","key":[{key}],"row":[{row}]"#);
    let expected: Vec<String> = rows.iter().map(expected).collect();
    assert_eq!(lines.iter().collect::<HashSet<_>>().len(), lines.len(), "no line twice");
    assert_eq!(lines, expected);
    db.close().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
