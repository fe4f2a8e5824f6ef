//! Transactions that look at some columns of the rows that they read: changes of others are not in their way under `silo`,
//! and nothing that they have looked at may change under any scheme.

use crate::common::{OPTIMISTIC, counters, keys_of, open};
use chiliad::raw::{Columns, Range, Row, TableId, Transaction as _};
use chiliad::{Database, Error, OpenTransaction, Result, RunOptions, Scheme};

/// Rows of one value, of which a test says that it is in one column or in the other.
struct Rows {
    scheme: Scheme,
    db: Database,
    id: TableId,
    keys: Vec<Vec<u8>>,
    parts: [Columns; 2],
}

impl Rows {
    fn new(scheme: Scheme) -> Self {
        let db = open(scheme);
        let id = counters(&db, 6).id();
        let keys = keys_of(&db, id);
        let parts = [0, 1].map(|number| Columns::of(id, number));
        Self { scheme, db, id, keys, parts }
    }

    fn begin(&self) -> OpenTransaction {
        self.db.open_transaction(&RunOptions::default()).unwrap()
    }

    /// Reads a row for what the transaction looks at.
    fn read(&self, open: &mut OpenTransaction, at: usize, looks_at: Columns) -> Result<Row> {
        open.with(|tx| {
            tx.raw().look_at(looks_at);
            let row = tx.raw().get(self.id, &self.keys[at])?.expect("a row");
            tx.raw().look_at(Columns::ALL);
            Ok(row)
        })
    }

    /// Another transaction changes a row in these columns (`None`: all of it), if nobody is in its way.
    fn change(&self, at: usize, columns: Option<Columns>) -> bool {
        let changed = self.db.run(|tx| {
            let row = tx.raw().get_for_update(self.id, &self.keys[at])?.expect("a row");
            match columns {
                Some(columns) => tx.raw().update_columns(row, &[7; 8], columns),
                None => tx.raw().update(row, &[8; 8]),
            }
        });
        changed.is_ok()
    }

    /// Writes another row and commits. Whether that was possible.
    fn commits(&self, mut open: OpenTransaction) -> bool {
        let done = open
            .with(|tx| {
                let row = tx.raw().get_for_update(self.id, &self.keys[5])?.expect("a row");
                tx.raw().update(row, &[9; 8])
            })
            .and_then(|()| open.commit());
        match done {
            Ok(()) => true,
            Err(Error::Conflict(_) | Error::TransactionOver) => false,
            Err(other) => panic!("{}: {other}", self.scheme),
        }
    }
}

/// Schemes under which others can write what an open transaction has read.
fn all() -> impl Iterator<Item = Rows> {
    OPTIMISTIC.into_iter().map(Rows::new)
}

#[test]
fn changes_of_other_columns_are_not_in_the_way_under_silo() {
    for rows in all() {
        let [one, other] = rows.parts;
        let knows = rows.scheme == Scheme::Silo;
        let mut open = rows.begin();
        rows.read(&mut open, 0, one).unwrap();
        for _ in 0..3 {
            assert!(rows.change(0, Some(other)));
            assert_eq!(open.validate().is_ok(), knows, "{}", rows.scheme);
            if !knows {
                break;
            }
        }
        assert_eq!(rows.commits(open), knows, "{}", rows.scheme);
    }
}

#[test]
fn what_was_looked_at_may_not_change() {
    for rows in all() {
        let [one, other] = rows.parts;
        let both = one.with(other);
        for (looks_at, changes) in [
            (one, vec![Some(one)]),
            (one, vec![Some(both)]),
            (both, vec![Some(other)]),
            (Columns::ALL, vec![Some(other)]),
            (one, vec![Some(other), Some(one)]),
            (one, vec![Some(one), Some(other)]),
            (one, vec![Some(other), Some(one), Some(other)]),
            // Nobody has told what a whole update changes.
            (one, vec![None]),
            (one, vec![None, Some(other)]),
            (one, vec![Some(other), None]),
            (one, vec![Some(other), None, Some(other)]),
            (Columns::NONE, vec![Some(other), None]),
        ] {
            let mut open = rows.begin();
            rows.read(&mut open, 0, looks_at).unwrap();
            for &columns in &changes {
                assert!(rows.change(0, columns));
            }
            assert!(!rows.commits(open), "{}: {looks_at:?} {changes:?}", rows.scheme);
        }
    }
}

/// Where another version was taken for the one that was read, a new value has to be made of a read after that: else it would
/// undo what others have changed.
#[test]
fn a_row_that_is_written_has_the_version_that_was_read() {
    for rows in all() {
        let [one, other] = rows.parts;
        // Validated in between, or not; the handle that was read first, or one of a look-up after that.
        for (validates, reads_again) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let mut open = rows.begin();
            let mut row = rows.read(&mut open, 0, one).unwrap();
            assert!(rows.change(0, Some(other)));
            if validates && open.validate().is_err() {
                continue;
            }
            if reads_again {
                let Ok(again) = rows.read(&mut open, 0, Columns::ALL) else { continue };
                row = again;
            }
            let written = open.with(|tx| tx.raw().update_columns(row, &[1; 8], one));
            let done =
                written.and_then(|()| rows.commits(open).then_some(()).ok_or(Error::RolledBack));
            let expected = validates && reads_again;
            assert_eq!(done.is_ok(), expected, "{}: {validates} {reads_again}", rows.scheme);
        }
        // A handle of before does not become newer because the row was written by one of after.
        let mut open = rows.begin();
        let old = rows.read(&mut open, 0, one).unwrap();
        assert!(rows.change(0, Some(other)));
        if open.validate().is_ok() {
            let new = rows.read(&mut open, 0, Columns::ALL).unwrap();
            for row in [new, old] {
                open.with(|tx| tx.raw().update_columns(row, &[1; 8], one)).unwrap();
            }
            assert!(!rows.commits(open), "{}", rows.scheme);
        }
        // And a row that was written before others could change it.
        let mut open = rows.begin();
        let row = rows.read(&mut open, 0, one).unwrap();
        open.with(|tx| tx.raw().update_columns(row, &[1; 8], one)).unwrap();
        let changed = rows.change(0, Some(other));
        assert!(!changed || !rows.commits(open), "{}: one of them is refused", rows.scheme);
    }
}

/// Each read counts by the columns that its transaction named last before it, also a second read of one row; the next
/// transaction begins with all columns.
#[test]
fn each_read_counts_by_what_is_looked_at_then() {
    let rows = Rows::new(Scheme::Silo);
    let [one, other] = rows.parts;
    for (first, second, changed, commits) in [
        (one, other, other, [true, false]),
        (other, one, other, [false, true]),
        (Columns::ALL, one, other, [false, true]),
        (one, Columns::ALL, other, [true, false]),
        (Columns::NONE, one, other, [true, true]),
    ] {
        for (at, commits) in commits.into_iter().enumerate() {
            let mut open = rows.begin();
            rows.read(&mut open, 0, first).unwrap();
            rows.read(&mut open, 1, second).unwrap();
            assert!(rows.change(at, Some(changed)));
            assert_eq!(rows.commits(open), commits, "{first:?} {second:?} {at}");
        }
        // Of one row that is read twice both count.
        let mut open = rows.begin();
        rows.read(&mut open, 2, first).unwrap();
        rows.read(&mut open, 2, second).unwrap();
        assert!(rows.change(2, Some(changed)));
        assert_eq!(rows.commits(open), commits == [true, true]);
    }
    let mut open = rows.begin();
    open.with(|tx| {
        tx.raw().look_at(one);
        Ok::<_, Error>(())
    })
    .unwrap();
    open.rollback();
    let mut open = rows.begin();
    open.with(|tx| tx.raw().get(rows.id, &rows.keys[0]).map(|_| ())).unwrap();
    assert!(rows.change(0, Some(other)));
    assert!(!rows.commits(open), "the next one looks at all");
}

/// Rows that are scanned count like rows that are looked up; a row that goes is never one that was read.
#[test]
fn scans_look_at_columns_and_rows_that_go_are_missed() {
    let rows = Rows::new(Scheme::Silo);
    let [one, other] = rows.parts;
    let scan = |open: &mut OpenTransaction| {
        open.with(|tx| {
            tx.raw().look_at(one);
            tx.raw().scan(rows.id, Range::all()).map(|_| tx.raw().look_at(Columns::ALL))
        })
        .unwrap();
    };
    for (changed, commits) in [(other, true), (one, false)] {
        let mut open = rows.begin();
        scan(&mut open);
        assert!((0..4).all(|at| rows.change(at, Some(changed))));
        assert!(open.validate().is_ok() == commits);
        assert_eq!(open.commit().is_ok(), commits);
    }
    let mut open = rows.begin();
    rows.read(&mut open, 0, Columns::NONE).unwrap();
    assert!(rows.change(0, Some(other)));
    open.validate().unwrap();
    rows.db.run(|tx| tx.raw().remove(rows.id, &rows.keys[0]).map(|_| ())).unwrap();
    assert!(!rows.commits(open), "the row is gone");
}
