//! Rows in groups of columns, as an application declares and uses them.

use crate::common::{self, Scratch};
use chiliad::raw::TableSpec;
use chiliad::{Database, Error, Row, RunOptions, Scheme, Table};

#[derive(Row, Debug, PartialEq, Clone)]
struct Shop {
    name: String,
}

#[derive(Row, Debug, PartialEq, Clone)]
struct Takings {
    earned: i64,
    sales: u32,
}

#[derive(Row, Debug, PartialEq, Clone)]
struct Notes {
    text: Option<String>,
}

struct Shops {
    own: Table<u32, Shop>,
    takings: Table<u32, Takings>,
    notes: Table<u32, Notes>,
}

fn spec() -> TableSpec {
    TableSpec::ordered("shops")
        .with_group(Table::<u32, Takings>::as_group("takings").expect("a group"))
        .with_group(Table::<u32, Notes>::as_group("notes").expect("a group"))
}

impl Shops {
    fn create(db: &Database) -> Self {
        db.create_table_with::<u32, Shop>(spec()).expect("created");
        Self::open(db)
    }

    fn open(db: &Database) -> Self {
        Self {
            own: db.table("shops").expect("there"),
            takings: db.table("shops.takings").expect("there"),
            notes: db.table("shops.notes").expect("there"),
        }
    }

    fn insert(&self, db: &Database, key: u32) {
        let (takings, notes) = (Takings { earned: 0, sales: 0 }, Notes { text: None });
        db.run(|tx| {
            let parts = [self.notes.part(&notes), self.takings.part(&takings)];
            tx.insert_with(&self.own, &key, &Shop { name: format!("shop {key}") }, &parts)
        })
        .expect("inserted");
    }

    fn all(&self, db: &Database, key: u32) -> Option<(Shop, Takings, Notes)> {
        db.run(|tx| {
            let parts = (
                tx.get(&self.own, &key)?,
                tx.get(&self.takings, &key)?,
                tx.get(&self.notes, &key)?,
            );
            Ok(match parts {
                (Some(own), Some(takings), Some(notes)) => Some((own, takings, notes)),
                (None, None, None) => None,
                half => panic!("half a row: {half:?}"),
            })
        })
        .expect("read")
    }
}

#[test]
fn parts_are_changed_apart_and_come_back() {
    let path = Scratch::new();
    {
        let db = Database::open(&path).expect("opens");
        let shops = Shops::create(&db);
        (0..20).for_each(|key| shops.insert(&db, key));
        for key in 0..20 {
            db.run(|tx| tx.add(&shops.takings, &key, Takings::EARNED, i64::from(key)))
                .expect("added");
        }
        db.run(|tx| tx.put(&shops.notes, &3, &Notes { text: Some("closed on Mondays".into()) }))
            .expect("written");
        db.run(|tx| tx.remove(&shops.own, &4)).expect("removed");
        db.checkpoint().expect("written");
        db.run(|tx| tx.add(&shops.takings, &5, Takings::SALES, 1)).expect("added");
        db.run(|tx| tx.remove(&shops.own, &6)).expect("removed");
        shops.insert(&db, 6);
        db.close().expect("closes");
    }
    let db = Database::open(&path).expect("opens");
    let shops = Shops::open(&db);
    for key in 0..20 {
        let expected = match key {
            4 => None,
            6 => Some((0, 0)),
            5 => Some((5, 1)),
            key => Some((i64::from(key), 0)),
        };
        let found = shops.all(&db, key);
        assert_eq!(found.as_ref().map(|it| (it.1.earned, it.1.sales)), expected, "{key}");
        assert_eq!(found.is_some_and(|it| it.2.text.is_some()), key == 3);
    }
    let names: Vec<String> = db.tables().into_iter().map(|it| it.name).collect();
    assert!(
        ["shops", "shops.notes", "shops.takings"]
            .iter()
            .all(|it| names.iter().any(|has| has == it))
    );
}

#[test]
fn transactions_that_use_different_groups_both_commit() {
    for scheme in [Scheme::Silo, Scheme::NoWait, Scheme::DlDetect, Scheme::Mvcc] {
        let db = common::open(scheme);
        let shops = Shops::create(&db);
        shops.insert(&db, 1);
        let options = RunOptions::default();
        db.run_with(&options, |tx| {
            tx.update(&shops.takings, &1, |it| it.sales += 1)?;
            // On another thread, while this one is open.
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let notes = Notes { text: Some("beside it".into()) };
                    db.run_with(&options.clone().retries_max(0), |tx| {
                        tx.put(&shops.notes, &1, &notes)
                    })
                });
                other.join().expect("no panic").expect("nobody is in the way");
            });
            Ok::<(), Error>(())
        })
        .expect("commits");
        let (_, takings, notes) = shops.all(&db, 1).expect("there");
        assert_eq!((takings.sales, notes.text.as_deref()), (1, Some("beside it")));
    }
}

#[test]
fn a_savepoint_brings_all_parts_back() {
    let db = Database::in_memory().expect("opens");
    let shops = Shops::create(&db);
    shops.insert(&db, 1);
    db.run(|tx| tx.add(&shops.takings, &1, Takings::EARNED, 7)).expect("added");
    let before = shops.all(&db, 1);
    db.run(|tx| {
        let undone: Result<(), Error> = tx.savepoint(|tx| {
            tx.update(&shops.takings, &1, |it| it.earned = 99)?;
            tx.remove(&shops.own, &1)?;
            Err(Error::RolledBack)
        });
        assert_eq!(undone, Err(Error::RolledBack));
        Ok::<(), Error>(())
    })
    .expect("commits");
    assert_eq!(shops.all(&db, 1), before);
}

#[test]
fn half_a_row_is_refused() {
    let db = Database::in_memory().expect("opens");
    let shops = Shops::create(&db);
    let (shop, takings) = (Shop { name: "a".into() }, Takings { earned: 0, sales: 0 });
    let takings = shops.takings.part(&takings);
    let wrong = |given| Error::WrongParts { table: "shops".into(), given, accepted: 3 };
    let refused = |parts: &[chiliad::PartOfRow]| {
        db.run(|tx| tx.insert_with(&shops.own, &1, &shop, parts)).expect_err("refused")
    };
    assert_eq!(refused(std::slice::from_ref(&takings)), wrong(2));
    assert!(matches!(refused(&[takings.clone(), takings.clone()]), Error::WrongParts { .. }));
    assert!(matches!(refused(&[]), Error::WrongParts { .. }));
    assert_eq!(db.run(|tx| tx.insert(&shops.own, &1, &shop)), Err(wrong(1)));
    let alone = db.run(|tx| tx.insert(&shops.notes, &1, &Notes { text: None }));
    assert_eq!(alone, Err(Error::PartOfRow("shops.notes".into())));
    shops.insert(&db, 1);
    let alone = db.run(|tx| tx.remove(&shops.notes, &1));
    assert_eq!(alone, Err(Error::PartOfRow("shops.notes".into())));
    assert!(shops.all(&db, 1).is_some());
}

#[derive(Row, Debug, PartialEq)]
#[index(by_text(text))]
struct Indexed {
    text: String,
}

#[test]
fn what_no_group_can_be_is_refused() {
    assert!(matches!(Table::<u32, Indexed>::as_group("i"), Err(Error::InvalidOption(_))));
    let db = Database::in_memory().expect("opens");
    let again = Table::<u32, Shop>::as_group("again").expect("a group");
    let twice = db.create_table_with::<u32, Shop>(TableSpec::ordered("t").with_group(again));
    assert_eq!(twice.expect_err("refused").to_string(), "table t: column name is in two groups",);
}

/// Takings as a later release has them.
#[derive(Row, Debug, PartialEq)]
struct LaterTakings {
    earned: i64,
    sales: u32,
    #[row(default = 5)]
    returned: u32,
}

#[test]
fn a_group_gets_columns_in_a_later_release() {
    let path = Scratch::new();
    {
        let db = Database::open(&path).expect("opens");
        Shops::create(&db).insert(&db, 1);
        db.close().expect("closes");
    }
    for _ in 0..2 {
        let db = Database::open(&path).expect("opens");
        let takings: Table<u32, LaterTakings> = db.table("shops.takings").expect("grown");
        let found = db.run(|tx| tx.get(&takings, &1)).expect("read");
        assert_eq!(found, Some(LaterTakings { earned: 0, sales: 0, returned: 5 }));
        db.close().expect("closes");
    }
}

#[test]
fn a_rewrite_takes_the_groups_along() {
    let db = Database::in_memory().expect("opens");
    let shops = Shops::create(&db);
    (0..300).for_each(|key| shops.insert(&db, key));
    db.run(|tx| tx.add(&shops.takings, &7, Takings::EARNED, 77)).expect("added");
    db.change_tables(|changes| {
        changes.rewrite("shops", |key: u32, shop: Shop| {
            if key == 100 {
                // Other threads' transactions, while the rewrite is under way.
                std::thread::scope(|scope| {
                    let other =
                        scope.spawn(|| db.run(|tx| tx.add(&shops.takings, &7, Takings::SALES, 1)));
                    let refused = other.join().expect("no panic");
                    assert_eq!(refused, Err(Error::Migrating("shops.takings".into())));
                });
            }
            Ok((u64::from(key) + 1, Shop { name: shop.name.to_uppercase() }))
        })
    })
    .expect("rewritten");
    let own: Table<u64, Shop> = db.table("shops").expect("there");
    let takings: Table<u64, Takings> = db.table("shops.takings").expect("there");
    let found =
        db.run(|tx| Ok((tx.get(&own, &8)?, tx.get(&takings, &8)?, tx.scan(&takings, ..).count()?)));
    let (shop, took, count) = found.expect("read");
    assert_eq!(shop, Some(Shop { name: "SHOP 7".into() }));
    assert_eq!(took, Some(Takings { earned: 77, sales: 0 }));
    assert_eq!(count, 300);
    db.run(|tx| tx.add(&takings, &8, Takings::SALES, 1)).expect("it is open again");
}
