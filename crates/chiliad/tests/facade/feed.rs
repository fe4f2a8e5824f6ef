//! Changes followed from outside, against a plain model: threads that commit, checkpoints, restarts and kills; a copy of the
//! tables that is made of nothing but changes is equal to them, and has met each change once.

use crate::common::{Dice, Scratch, killed, serializable};
use chiliad::changes::{Change, Changes, Commit, Position};
use chiliad::{Database, Durability, Options, Scheme, Table};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WRITERS: u64 = 3;
const COUNTERS: u64 = 12;
const OPENING: i64 = 100;
/// Keys that come and go.
const KEYS: u64 = 40;

struct Tables {
    counters: Table<u64, (i64, u64)>,
    names: Table<String, String>,
}

impl Tables {
    fn of(db: &Database) -> Self {
        Self {
            counters: db.open_or_create_table("counters").unwrap(),
            names: db.open_or_create_table("names").unwrap(),
        }
    }
}

/// The tables as a follower knows them.
#[derive(Default)]
struct Copy {
    counters: BTreeMap<u64, (i64, u64)>,
    names: BTreeMap<String, String>,
    met: HashSet<(Commit, String, Vec<u8>)>,
    last: Option<Commit>,
}

impl Copy {
    fn apply(&mut self, tables: &Tables, change: &Change) {
        let commit = change.commit();
        assert!(self.last <= Some(commit), "{:?} before {commit:?}", self.last);
        self.last = Some(commit);
        let once = (commit, change.table().to_owned(), change.key().to_vec());
        assert!(self.met.insert(once), "given twice: {change:?}");
        if let Some((key, row)) = change.of(&tables.counters).unwrap() {
            let row = row.expect("counters are not removed");
            let before = self.counters.insert(key, row).map_or(0, |(_, version)| version);
            assert_eq!(row.1, before + 1, "each version of {key} comes once, in order");
        }
        if let Some((key, row)) = change.of(&tables.names).unwrap() {
            match row {
                Some(row) => self.names.insert(key, row),
                None => self.names.remove(&key),
            };
        }
        let is_loaded = self.counters.len() == COUNTERS as usize;
        if change.is_last_of_commit() && is_loaded {
            let total: i64 = self.counters.values().map(|(balance, _)| balance).sum();
            assert_eq!(total, OPENING * COUNTERS as i64, "transactions are whole");
        }
    }

    /// Applies what is durable.
    fn drain(&mut self, tables: &Tables, changes: &mut Changes) {
        for change in changes {
            self.apply(tables, &change.unwrap());
        }
    }

    fn assert_equals(&self, db: &Database, tables: &Tables) {
        let (counters, names) = db
            .run(|tx| {
                Ok((tx.scan(&tables.counters, ..).rows()?, tx.scan(&tables.names, ..).rows()?))
            })
            .unwrap();
        assert_eq!(self.counters.iter().map(|(k, v)| (*k, *v)).collect::<Vec<_>>(), counters);
        let copied = self.names.iter().map(|(k, v)| (k.clone(), v.clone()));
        assert_eq!(copied.collect::<Vec<_>>(), names);
    }
}

fn options(scheme: Scheme, dice: &mut Dice) -> Options {
    Options::default()
        .scheme(scheme)
        .partitions(2)
        .durability(Durability::Epoch)
        .epoch(Duration::from_millis(2))
        .log_writers(1 + dice.below(2) as u32)
        .log_segment_bytes(256 << 10)
        .log_compress(dice.below(2) == 0)
        .checkpoint_effort(100)
        .change_log_bytes(u64::MAX)
}

/// One transaction of a writer: an amount from one counter to another, and a name that comes or goes.
fn commit_one(db: &Database, tables: &Tables, dice: &mut Dice) {
    let (from, to) = (dice.below(COUNTERS), dice.below(COUNTERS));
    let (name, comes) = (format!("name {}", dice.below(KEYS)), dice.below(3) > 0);
    let long = "x".repeat(dice.below(300) as usize);
    std::thread::sleep(Duration::from_micros(300));
    db.run(|tx| {
        if from != to {
            tx.update(&tables.counters, &from, |row| *row = (row.0 - 1, row.1 + 1))?;
            tx.update(&tables.counters, &to, |row| *row = (row.0 + 1, row.1 + 1))?;
        }
        match comes {
            true => tx.put(&tables.names, &name, &long).map(|_| ()),
            false => tx.remove(&tables.names, &name).map(|_| ()),
        }
    })
    .unwrap();
}

/// Writers commit while `meanwhile` runs, but for the time in which it has them pause.
fn with_writers<T>(
    db: &Database,
    tables: &Tables,
    seed: u64,
    meanwhile: impl FnOnce(&AtomicBool) -> T,
) -> T {
    let pause = AtomicBool::new(false);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (over, pause) = (&over, &pause);
            scope.spawn(move || {
                let mut dice = Dice::new(seed * 31 + writer);
                while !over.load(Ordering::Relaxed) {
                    match pause.load(Ordering::Relaxed) {
                        true => std::thread::sleep(Duration::from_millis(1)),
                        false => commit_one(db, tables, &mut dice),
                    }
                }
            });
        }
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| meanwhile(&pause)));
        over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Follows for a while, from a position that was printed, and returns where it stands, printed.
fn follow(db: &Database, tables: &Tables, copy: &mut Copy, from: &str, count: u64) -> String {
    let mut changes = db.changes(from.parse().unwrap()).unwrap();
    for _ in 0..count {
        match changes.next_within(Duration::from_secs(10)).unwrap() {
            Some(change) => copy.apply(tables, &change),
            None => panic!("writers are at work"),
        }
    }
    changes.position().to_string()
}

/// The directory as a process that is killed now leaves it, between two files of its log: one that was begun while its
/// neighbours were copied would be missing.
fn killed_within_a_file(place: &Path) -> Scratch {
    let logs = || {
        let names = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| name.starts_with("log-")).collect::<HashSet<_>>()
    };
    loop {
        let before = logs();
        let copy = killed(place);
        if logs() == before {
            return copy;
        }
    }
}

fn rounds(scheme: Scheme, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut place = Scratch::new();
    let mut copy = Copy::default();
    let mut position = Position::START.to_string();
    for round in 0..3 {
        let db = Database::open_with(&*place, options(scheme, &mut dice)).unwrap();
        let tables = Tables::of(&db);
        if round == 0 {
            db.bulk_load(&tables.counters, (0..COUNTERS).map(|key| (key, (OPENING, 1)))).unwrap();
        }
        let next = with_writers(&db, &tables, seed + round, |pause| {
            for _ in 0..2 {
                let count = 100 + dice.below(300);
                position = follow(&db, &tables, &mut copy, &position, count);
                if dice.below(2) == 0 {
                    db.checkpoint().unwrap();
                }
            }
            (dice.below(2) == 0).then(|| {
                pause.store(true, Ordering::Relaxed);
                killed_within_a_file(&place)
            })
        });
        match next {
            // The database and the copy of its directory differ from here on.
            Some(next) => place = next,
            None => {
                db.sync().unwrap();
                let mut changes = db.changes(position.parse().unwrap()).unwrap();
                copy.drain(&tables, &mut changes);
                copy.assert_equals(&db, &tables);
                position = changes.position().to_string();
                drop(changes);
                db.close().unwrap();
            }
        }
    }
    assert_all(&place, scheme, &mut copy, &position);
}

/// Drains the remaining changes into the copy, and all of them into a second one; both must equal the tables.
fn assert_all(place: &Path, scheme: Scheme, copy: &mut Copy, position: &str) {
    let db = Database::open_with(place, options(scheme, &mut Dice::new(1))).unwrap();
    let tables = Tables::of(&db);
    copy.drain(&tables, &mut db.changes(position.parse().unwrap()).unwrap());
    copy.assert_equals(&db, &tables);
    let mut again = Copy::default();
    again.drain(&tables, &mut db.changes(Position::START).unwrap());
    again.assert_equals(&db, &tables);
    assert_eq!(again.met.len(), copy.met.len(), "each change once, whoever has resumed");
}

#[test]
fn changes_of_any_scheme_make_the_tables() {
    for (seed, scheme) in (1..).zip(serializable()) {
        rounds(scheme, seed);
    }
}
