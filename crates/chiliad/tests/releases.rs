//! The releases of the example, killed in the midst of their migrations. The program starts itself for that.

#[path = "../examples/releases/program.rs"]
mod program;

use chiliad::raw::{TableId, Transaction as _};
use chiliad::{Database, Error, Table};
use program::{Player, check, migrate, person, player, run};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rows of each directory.
const ROWS: u64 = 4_000;
/// Tells a process that it is to be killed, and in which directory it works.
const DIRECTORY: &str = "CHILIAD_RELEASES_DIRECTORY";

/// A directory that goes with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("chiliad-releases-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path) -> Scratch {
    let to = Scratch::new();
    std::fs::create_dir(&to.0).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.0.join(entry.file_name())).unwrap();
    }
    to
}

/// Release 1, closed.
fn first_release() -> Scratch {
    let scratch = Scratch::new();
    let db = Database::open(&scratch.0).unwrap();
    run(&db, 1, ROWS).unwrap();
    db.close().unwrap();
    scratch
}

#[test]
fn three_releases_run_on_one_directory() {
    let scratch = first_release();
    for release in [2, 3, 3] {
        let db = Database::open(&scratch.0).unwrap();
        run(&db, release, ROWS).unwrap();
        db.close().unwrap();
    }
    let db = Database::open(&scratch.0).unwrap();
    let downgrade = migrate(&db, 2).unwrap_err();
    assert_eq!(downgrade, Error::LaterRelease { made: (3, "members".into()), known: 2 });
    let text =
        "migrated by a later release: migration 3 (members) was made, this release knows up to 2";
    assert!(downgrade.to_string().contains(text), "{downgrade}");
}

/// The program that is killed: it migrates to release 3 while another thread adds people of release 1.
#[test]
fn child() {
    let Ok(path) = std::env::var(DIRECTORY) else { return };
    let db = Database::open(path).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if let Ok(people) = db.table::<u64, program::Person>("people") {
            let (db, over) = (&db, &over);
            scope.spawn(move || {
                for id in (0..2_000).map(|at| ROWS + at % 500) {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    // Refused while they are written anew, and when the table is gone.
                    let there = db.run(|tx| tx.contains(&people, &id));
                    let _ = match there {
                        Ok(true) => db.run(|tx| tx.remove(&people, &id).map(|_| ())),
                        _ => db.run(|tx| tx.put(&people, &id, &person(id))),
                    };
                }
            });
        }
        let migrated = migrate(&db, 3);
        over.store(true, Ordering::Relaxed);
        migrated.unwrap();
    });
    db.close().unwrap();
}

fn start(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills so many processes at some moment of their migrations, each on what the one before has left, and looks at all
/// rows and indexes after each. Returns how many of them were killed between the first and the last migration.
fn kill(cycles: u32) -> u32 {
    let first = first_release();
    let begun = Instant::now();
    let whole = copy(&first.0);
    assert!(start(&whole.0).wait().unwrap().success(), "it ends by itself");
    let takes = begun.elapsed();
    let mut directory = copy(&first.0);
    let mut between = 0;
    for cycle in 0..cycles {
        let mut child = start(&directory.0);
        // Spread over the time that it takes, by steps that have nothing to do with its own.
        let share = f64::from(cycle) * 0.618 % 1.0;
        std::thread::sleep(Duration::from_secs_f64(takes.as_secs_f64() * share));
        child.kill().unwrap();
        child.wait().unwrap();
        let db = Database::open(&directory.0).unwrap();
        check(&db, ROWS).unwrap_or_else(|what| panic!("cycle {cycle}: {what}"));
        let made = db.migrations().len();
        db.close().unwrap();
        between += u32::from(made == 2);
        if made == 3 {
            directory = copy(&first.0);
        }
    }
    between
}

/// `CHILIAD_CYCLES` says how many are killed.
#[test]
fn killed_releases_leave_old_rows_or_new_ones() {
    let cycles = std::env::var("CHILIAD_CYCLES").map_or(10, |it| it.parse().expect("a number"));
    let between = kill(cycles);
    assert!(between > 0 || cycles < 50, "some are killed between two migrations");
}

/// The check of rows and indexes catches each of the planted bugs.
#[test]
fn bugs_that_are_planted_are_seen() {
    let first = first_release();
    // A version word forgotten: the row begins with its columns.
    let scratch = copy(&first.0);
    let db = Database::open(&scratch.0).unwrap();
    let people: Table<u64, program::Person> = db.table("people").unwrap();
    let forgotten = db.run(|tx| {
        let tx = tx.raw();
        let row = tx.get(people.id(), &7_u64.to_be_bytes())?.expect("it is there");
        let bytes = tx.bytes(row)?[2..].to_vec();
        tx.update(row, &bytes)
    });
    forgotten.unwrap();
    assert!(check(&db, ROWS).unwrap_err().contains("after migration 1"));
    // The migrations see it, too, and change nothing.
    assert!(matches!(migrate(&db, 3), Err(Error::BadRow(_))));
    assert_eq!(db.migrations().len(), 1);

    let planted = |plant: &dyn Fn(&Database, &Table<u64, Player>), expected: &str| {
        let scratch = copy(&first.0);
        let db = Database::open(&scratch.0).unwrap();
        run(&db, 2, ROWS).unwrap();
        plant(&db, &db.table("people").unwrap());
        let what = check(&db, ROWS).unwrap_err();
        assert!(what.contains(expected), "{what}");
    };
    // A default applied twice.
    let twice = |db: &Database, people: &Table<u64, Player>| {
        db.run(|tx| tx.put(people, &7, &Player { points: 20, ..player(7) })).unwrap();
    };
    planted(&twice, "row 7 is");
    // An entry missed by the filler: the table of the index is the last one.
    let missed = |db: &Database, people: &Table<u64, Player>| {
        let taken = (people.id().0 + 1..64).any(|number| {
            db.run(|tx| {
                let tx = tx.raw();
                let entries = tx.scan(TableId(number), chiliad::raw::Range::all())?;
                let Some(&entry) = tx.entries(entries)?.get(11) else {
                    return Err(Error::RolledBack);
                };
                tx.remove_row(entry.row)
            })
            .is_ok()
        });
        assert!(taken, "an entry is gone");
    };
    planted(&missed, "an index, by_age, has 3999 of 4000 rows");
}
