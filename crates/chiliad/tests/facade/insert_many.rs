//! Rows that are inserted together, by programs: those of insertions one after another.

use crate::common::open;
use chiliad::{Clock, Database, Error, Options, Row, Scheme, Table};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Line = (u32, u8);
type Lines = Table<Line, String>;

fn rows(order: u32, lines: impl IntoIterator<Item = u8>) -> Vec<(Line, String)> {
    lines.into_iter().map(|line| ((order, line), format!("{order}/{line}"))).collect()
}

fn all(db: &Database, lines: &Lines) -> Vec<(Line, String)> {
    db.run(|tx| tx.scan(lines, ..).rows()).unwrap()
}

fn check(db: &Database, named: &str) {
    let lines: Lines = db.create_table("lines").unwrap();
    let mut model = BTreeMap::new();
    // More than go to the engine at once, and neighbours of others.
    for order in [5, 3, 9, 4] {
        let new = rows(order, 1..=100);
        db.run(|tx| tx.insert_many(&lines, new.clone())).unwrap();
        model.extend(new);
    }
    assert!(all(db, &lines).into_iter().eq(model.clone()), "{named}");

    // Those before a duplicate are inserted, and the transaction may go on.
    let said = db.run(|tx| {
        let said = tx.insert_many(&lines, rows(7, [1, 2, 3, 2, 4]));
        tx.insert(&lines, &(7, 9), &"last".to_owned())?;
        Ok(said.unwrap_err())
    });
    let said = said.unwrap();
    assert_eq!(said.to_string(), "the table lines has the key (7, 2) already", "{named}");
    model.extend(rows(7, [1, 2, 3]));
    model.insert((7, 9), "last".to_owned());
    assert!(all(db, &lines).into_iter().eq(model.clone()), "{named}");

    // A savepoint that is undone takes them back, and so does a transaction.
    db.run(|tx| {
        let undone = tx.savepoint(|tx| -> Result<(), Error> {
            tx.insert_many(&lines, rows(8, 1..=40))?;
            Err(Error::RolledBack)
        });
        assert!(undone.is_err());
        tx.insert_many(&lines, rows(8, 30..=50))
    })
    .unwrap();
    model.extend(rows(8, 30..=50));
    let refused = db.run(|tx| -> Result<(), Error> {
        tx.insert_many(&lines, rows(1, 1..=40))?;
        Err(Error::RolledBack)
    });
    assert!(refused.is_err());
    assert!(all(db, &lines).into_iter().eq(model), "{named}");
}

#[test]
fn rows_inserted_together_are_those_inserted_one_by_one() {
    for scheme in transactional() {
        check(&open(scheme), &scheme.to_string());
    }
    check(&Database::join("memory:lines", Options::default()).unwrap(), "joined");
}

/// All schemes that have transactions.
fn transactional() -> impl Iterator<Item = Scheme> {
    Scheme::ALL.into_iter().filter(|scheme| *scheme != Scheme::KeyValue)
}

#[derive(Row, Clone, Debug, PartialEq)]
#[index(by_badge(badge), unique)]
struct Player {
    badge: u32,
}

#[test]
fn a_row_that_an_index_has_already_is_refused() {
    for scheme in transactional() {
        let db = open(scheme);
        let players: Table<u32, Player> = db.create_table("players").unwrap();
        let rows = |badges: [u32; 3]| (0..).zip(badges.map(|badge| Player { badge }));
        let said = db.run(|tx| tx.insert_many(&players, rows([1, 2, 1])));
        assert!(matches!(said, Err(Error::UniqueViolation { .. })), "{scheme}: {said:?}");
        assert_eq!(
            db.run(|tx| tx.scan(&players, ..).count()).unwrap(),
            0,
            "{scheme}: nothing is left"
        );
        db.run(|tx| tx.insert_many(&players, rows([1, 2, 3]))).unwrap();
        let found = db.run(|tx| tx.find(&players, Player::BY_BADGE, &(2,)).values()).unwrap();
        assert_eq!(found, [Player { badge: 2 }], "{scheme}");
    }
}

#[derive(Row, Clone, Debug, PartialEq)]
#[row(expires = "until")]
struct Booking {
    until: SystemTime,
}

#[test]
fn a_row_whose_time_is_over_makes_room() {
    let clock = Clock::set_to(UNIX_EPOCH);
    let db = Database::in_memory_with(Options::default().clock(clock.clone())).unwrap();
    let bookings: Table<u32, Booking> = db.create_table("bookings").unwrap();
    let until = |seconds| Booking { until: UNIX_EPOCH + Duration::from_secs(seconds) };
    db.run(|tx| tx.insert_many(&bookings, [(1, until(10)), (2, until(30))])).unwrap();
    clock.advance(Duration::from_secs(20));
    let said = db.run(|tx| tx.insert_many(&bookings, [(1, until(40)), (2, until(40))]));
    assert!(matches!(said, Err(Error::DuplicateKey(_))), "{said:?}");
    db.run(|tx| tx.insert_many(&bookings, [(1, until(40)), (3, until(40))])).unwrap();
    let rows = db.run(|tx| tx.scan(&bookings, ..).rows()).unwrap();
    assert_eq!(rows, [(1, until(40)), (2, until(30)), (3, until(40))]);
}
