//! The footprint of a small database: bytes on the disk, threads, memory; and a hundred of them in one process.

use crate::common::Scratch;
use chiliad::{Database, Durability, Options, Table};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

const MEBIBYTE: u64 = 1 << 20;

/// Name, length and allocated bytes of each file.
fn files(path: &Path) -> Vec<(String, u64, u64)> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        // The log's thread may rename it meanwhile.
        let metadata = entry.metadata().ok()?;
        Some((name, metadata.len(), 512 * metadata.blocks()))
    };
    entries.filter_map(file).collect()
}

/// The greater one of the bytes that files are long and of those that they take.
fn bytes(path: &Path) -> u64 {
    let files = files(path);
    let sum = |of: fn(&(String, u64, u64)) -> u64| files.iter().map(of).sum::<u64>();
    sum(|it| it.1).max(sum(|it| it.2))
}

/// Waits until the log has as many files ahead as it wants.
fn wait_for_room(path: &Path) {
    let asked = Instant::now();
    while files(path).iter().filter(|(name, ..)| name.starts_with("spare-")).count() < 2 {
        assert!(asked.elapsed() < Duration::from_secs(60), "no room is made: {:?}", files(path));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn four_rows_take_less_than_a_mebibyte() {
    let path = Scratch::new();
    for round in 0..4 {
        let db = Database::open(&path).unwrap();
        wait_for_room(&path);
        assert!(bytes(&path) <= MEBIBYTE, "opened: {:?}", files(&path));
        let table: Table<u64, String> = db.open_or_create_table("names").unwrap();
        db.run(|tx| tx.put(&table, &round, &format!("row {round}"))).unwrap();
        wait_for_room(&path);
        assert!(bytes(&path) <= MEBIBYTE, "written: {:?}", files(&path));
        db.close().unwrap();
        assert!(bytes(&path) <= MEBIBYTE, "closed: {:?}", files(&path));
    }
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Time that this process has had a core for, in hundredths of a second.
fn worked() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // What follows the name of the program, which may have blanks.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Run by itself, with `--nocapture`, it prints what each of them takes.
#[test]
fn a_hundred_databases_in_one_process() {
    const DATABASES: u64 = 100;
    let path = Scratch::new();
    std::fs::create_dir(&path).unwrap();
    let before = (status("VmRSS"), status("Threads"));
    let asked = Instant::now();
    let options = |number| {
        let durability = if number % 2 == 0 { Durability::Sync } else { Durability::Epoch };
        Options::default().durability(durability)
    };
    let all: Vec<(Database, Table<u64, u64>)> = (0..DATABASES)
        .map(|number| {
            let db = Database::open_with(path.join(number.to_string()), options(number)).unwrap();
            let table = db.create_table("numbers").unwrap();
            (db, table)
        })
        .collect();
    let opened = asked.elapsed();
    for (number, (db, table)) in (0..).zip(&all) {
        db.run(|tx| tx.insert(table, &1, &number)).unwrap();
    }
    let (memory, threads) = (status("VmRSS") - before.0, status("Threads") - before.1);
    let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let worked_before = worked();
    std::thread::sleep(Duration::from_millis(500));
    let idle = 2 * (worked() - worked_before);
    println!(
        "{DATABASES} databases: {:.1} ms to open one; {} KiB of memory, {} threads, {} files each; idle {idle} % of a core",
        opened.as_secs_f64() * 1e3 / DATABASES as f64,
        memory / DATABASES,
        threads / DATABASES,
        files as u64 / DATABASES,
    );
    for (db, _) in all {
        db.close().unwrap();
    }
    for number in (0..DATABASES).step_by(10) {
        let own = path.join(number.to_string());
        let db = Database::open_with(&own, options(number)).unwrap();
        let table: Table<u64, u64> = db.table("numbers").unwrap();
        assert_eq!(db.run(|tx| tx.get(&table, &1)), Ok(Some(number)));
        assert!(bytes(&own) <= MEBIBYTE, "{:?}", self::files(&own));
    }
}
