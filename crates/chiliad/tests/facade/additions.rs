//! Additions to columns, without a look at them: what they do and refuse, under every scheme.

use crate::common::{Scratch, open, others_can_write, patience};
use chiliad::{BadNumber, Database, Error, Field, Result, Row, Scheme, Table, Text};
use std::thread;

#[derive(Row, Clone, Debug, PartialEq)]
struct Page {
    title: String,
    views: u64,
    rank: i16,
    score: Option<u32>,
    share: f64,
    code: Text<3>,
}

fn page(views: u64, rank: i16) -> Page {
    let code = Text::new("a").unwrap();
    Page { title: "home".into(), views, rank, score: Some(1), share: 0.5, code }
}

fn pages(db: &Database) -> Table<u64, Page> {
    let pages = db.create_table("pages").unwrap();
    db.bulk_load(&pages, [(1, page(10, -1))]).unwrap();
    pages
}

fn found(db: &Database, pages: &Table<u64, Page>) -> Option<Page> {
    db.run(|tx| tx.get(pages, &1)).unwrap()
}

#[test]
fn columns_of_every_width_are_added_to() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let pages = pages(&db);
        let done = db.run(|tx| {
            assert!(tx.add(&pages, &1, Page::VIEWS, 5)?);
            assert!(tx.add(&pages, &1, Page::RANK, -300)?);
            assert!(!tx.add(&pages, &2, Page::VIEWS, 1)?);
            Ok(())
        });
        assert_eq!((done, found(&db, &pages)), (Ok(()), Some(page(15, -301))), "{scheme}");
        let seen = db.run(|tx| {
            tx.add(&pages, &1, Page::VIEWS, 1)?;
            let seen = tx.get(&pages, &1)?;
            tx.update(&pages, &1, |page| page.rank = 0)?;
            tx.add(&pages, &1, Page::RANK, 7)?;
            Ok(seen)
        });
        assert_eq!(seen, Ok(Some(page(16, -301))), "{scheme}");
        assert_eq!(found(&db, &pages), Some(page(16, 7)), "{scheme}");
        // A row that is one number, under a key that is borrowed.
        let counts: Table<String, u8> = db.create_table("counts").unwrap();
        let done = db.run(|tx| {
            tx.insert(&counts, "a", &250)?;
            tx.add(&counts, "a", Field::whole(), 5)
        });
        assert_eq!((done, db.run(|tx| tx.get(&counts, "a"))), (Ok(true), Ok(Some(255))));
    }
}

#[test]
fn what_is_no_number_is_refused_and_the_transaction_goes_on() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let pages = pages(&db);
        let done = db.run(|tx| {
            let refused = [
                tx.add(&pages, &1, Page::TITLE, 1),
                tx.add(&pages, &1, Page::SCORE, 1),
                tx.add(&pages, &1, Page::SHARE, 1),
                tx.add(&pages, &1, Page::CODE, 1),
            ];
            let columns = [
                ("title", "string"),
                ("score", "option(u32)"),
                ("share", "f64"),
                ("code", "text(3)"),
            ];
            for (refused, (column, column_type)) in refused.into_iter().zip(columns) {
                let (column, column_type) = (column.into(), column_type.into());
                let bad = BadNumber::NotInteger { column, column_type };
                assert_eq!(refused, Err(bad.into()), "{scheme}");
            }
            tx.add(&pages, &1, Page::VIEWS, 1)
        });
        assert_eq!((done, found(&db, &pages)), (Ok(true), Some(page(11, -1))), "{scheme}");
        others_can_write(&db, pages, [(1, page(0, 0))]);
        let snapshots: Result<bool> = db.snapshot(|tx| tx.contains(&pages, &1));
        assert!(snapshots.is_ok() || snapshots == Err(Error::PresentOnly), "{scheme}");
    }
}

#[test]
fn a_sum_out_of_range_undoes_the_transaction() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let pages = pages(&db);
        for (n, swallowed) in [(-11, false), (i64::MIN, true)] {
            let refused = db.run_with(&patience(), |tx| {
                tx.insert(&pages, &2, &page(0, 0))?;
                match tx.add(&pages, &1, Page::VIEWS, n) {
                    // The commit says so.
                    Err(Error::BadNumber(_)) if swallowed => Ok(true),
                    added => added,
                }
            });
            let told = refused.as_ref().map_err(Error::to_string);
            let expected =
                format!("nothing was added: the sum with {n} is out of the range of u64");
            assert_eq!(told, Err(expected), "{scheme}");
            assert!(!refused.unwrap_err().is_retryable());
        }
        assert_eq!(found(&db, &pages), Some(page(10, -1)), "{scheme}");
        assert_eq!(db.run(|tx| tx.contains(&pages, &2)), Ok(false), "{scheme}");
        others_can_write(&db, pages, [(1, page(0, 0)), (2, page(0, 0))]);
    }
}

#[test]
fn parts_that_are_undone_take_their_additions_along() {
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let pages = pages(&db);
        let done = db.run(|tx| {
            tx.add(&pages, &1, Page::VIEWS, 1)?;
            let undone: Result<()> = tx.savepoint(|tx| {
                tx.add(&pages, &1, Page::VIEWS, 100)?;
                Err(Error::RolledBack)
            });
            assert_eq!(undone, Err(Error::RolledBack));
            tx.add(&pages, &1, Page::VIEWS, 10)
        });
        assert_eq!((done, found(&db, &pages)), (Ok(true), Some(page(21, -1))), "{scheme}");
    }
}

#[test]
fn many_threads_count_in_one_row() {
    const EACH: u64 = 200;
    for scheme in Scheme::ALL {
        let db = open(scheme);
        let pages = pages(&db);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let added =
                            db.run_with(&patience(), |tx| tx.add(&pages, &1, Page::VIEWS, 1));
                        assert_eq!(added, Ok(true), "{scheme}");
                    }
                });
            }
        });
        assert_eq!(found(&db, &pages), Some(page(10 + 3 * EACH, -1)), "{scheme}");
    }
}

/// The same table in a later release.
mod later {
    use chiliad::Row;

    #[derive(Row, Clone, Debug, PartialEq)]
    pub struct Count {
        #[row(default)]
        pub before: u32,
        pub views: u64,
    }
}

#[derive(Row)]
struct Count {
    views: u64,
}

#[test]
fn rows_of_an_earlier_release_are_added_to_where_their_column_lies() {
    let scratch = Scratch::new();
    let db = Database::open(&scratch).unwrap();
    let counts: Table<u64, Count> = db.create_table("counts").unwrap();
    db.run(|tx| tx.insert(&counts, &1, &Count { views: 5 })).unwrap();
    db.close().unwrap();
    let db = Database::open(&scratch).unwrap();
    let counts: Table<u64, later::Count> = db.table("counts").unwrap();
    for views in [6, 7] {
        assert_eq!(db.run(|tx| tx.add(&counts, &1, later::Count::VIEWS, 1)), Ok(true));
        let row = later::Count { before: 0, views };
        assert_eq!(db.run(|tx| tx.get(&counts, &1)), Ok(Some(row)));
    }
}
