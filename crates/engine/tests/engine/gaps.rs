//! A transaction is refused when a row appears in a range that it has read or under a key that it has missed, and not when rows
//! appear elsewhere, however near.

use crate::kit::{Db, Tx};
use chiliad_engine::names::all;
use chiliad_engine::{
    Error, Get, Intent, KEY_BYTES_MAX, Options, Range, Reason, Result, TableId, TableSpec,
    Transaction,
};
use chiliad_machine::Interleaved;
use core::ops::Bound;

/// The schemes that watch gaps and lock none.
pub const SCHEMES: [&str; 7] =
    ["silo", "global-tid", "occ", "occ-serial", "no-wait", "wait-die", "dl-detect"];

/// A table with the even keys from 0 to 98, and one that any transaction may write.
struct World {
    db: Db<Interleaved>,
    rows: TableId,
    /// Where the reader writes, so that it is no transaction that only reads.
    other: TableId,
}

type Reads<'a> = &'a dyn Fn(&mut Tx<'_, Interleaved>, TableId) -> Result<()>;

impl World {
    fn new(scheme: &str, spec: fn(&str) -> TableSpec) -> Self {
        let db = Db::<Interleaved>::open(scheme, Options::default());
        let create = |name| db.create_table(spec(name)).expect("created");
        let (rows, other) = (create("rows"), create("other"));
        let mut worker = db.worker().expect("a slot");
        for key in (0..100u64).step_by(2) {
            worker.load(rows, &key.to_be_bytes(), b"loaded").expect("loads");
        }
        worker.load(other, b"written", b"loaded").expect("loads");
        Self { db, rows, other }
    }

    fn change(&self, insert: &[u64], remove: &[u64]) {
        let mut writer = self.db.worker().expect("a slot");
        let mut tx = writer.begin(&Intent::update()).expect("begins");
        for key in insert {
            tx.insert(self.rows, &key.to_be_bytes(), b"came").expect("inserts");
        }
        for key in remove {
            assert!(tx.remove(self.rows, &key.to_be_bytes()).expect("removes"));
        }
        tx.commit().expect("commits");
        // The worker's rest takes removed rows out of the index that no transaction can see any more.
        for _ in 0..4 {
            self.db.tick();
            writer.rest(usize::MAX);
        }
    }

    /// How a transaction ends that reads, then sees these changes pass, and writes something.
    fn ends(&self, reads: Reads<'_>, insert: &[u64], remove: &[u64]) -> Result<()> {
        let mut reader = self.db.worker().expect("a slot");
        let mut tx = reader.begin(&Intent::update()).expect("begins");
        reads(&mut tx, self.rows).expect("reads");
        self.change(insert, remove);
        tx.put(self.other, b"written", b"here").expect("puts");
        tx.commit().map(|_| ())
    }
}

fn between(
    low: u64,
    high: u64,
    limit: usize,
    reverse: bool,
) -> impl Fn(&mut Tx<'_, Interleaved>, TableId) -> Result<()> {
    move |tx, table| {
        let (low, high) = (low.to_be_bytes(), high.to_be_bytes());
        let mut range = Range::all();
        (range.low, range.high) = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        (range.limit, range.reverse) = (limit, reverse);
        tx.scan(table, range).map(|_| ())
    }
}

const PHANTOM: Result<()> = Err(Error::Conflict(Reason::Phantom));

#[test]
fn a_range_is_refused_for_what_comes_in_it_and_for_nothing_beside() {
    for scheme in SCHEMES {
        for reverse in [false, true] {
            let ends = |limit, key: u64| {
                let world = World::new(scheme, TableSpec::ordered);
                world.ends(&between(20, 40, limit, reverse), &[key], &[])
            };
            let all = usize::MAX;
            for outside in [1, 19, 41, 99, 1_000] {
                assert_eq!(ends(all, outside), Ok(()), "{scheme} {reverse} {outside}");
            }
            for inside in [21, 29, 39] {
                assert_eq!(ends(all, inside), PHANTOM, "{scheme} {reverse} {inside}");
            }
            // Three rows: those of 20, 22, 24, or of 38, 36, 34.
            let (within, beyond) =
                if reverse { ([35, 39], [33, 21]) } else { ([21, 23], [25, 39]) };
            for key in within {
                assert_eq!(ends(3, key), PHANTOM, "{scheme} {reverse} {key} of three rows");
            }
            for key in beyond {
                assert_eq!(ends(3, key), Ok(()), "{scheme} {reverse} {key} beyond three rows");
            }
        }
    }
}

#[test]
fn a_missing_key_is_refused_for_itself_alone() {
    let specs: [fn(&str) -> TableSpec; 2] = [TableSpec::ordered, |name| TableSpec::hash(name, 100)];
    for scheme in SCHEMES {
        for spec in specs {
            let miss = |tx: &mut Tx<'_, Interleaved>, table: TableId| {
                assert_eq!(tx.get(table, &51u64.to_be_bytes())?.map(|_| ()), None);
                Ok(())
            };
            let ends = |keys: &[u64]| World::new(scheme, spec).ends(&miss, keys, &[]);
            let others: Vec<u64> = (1..200).step_by(2).filter(|&key| key != 51).collect();
            assert_eq!(ends(&others), Ok(()), "{scheme}");
            assert_eq!(ends(&[51]), PHANTOM, "{scheme}");
        }
    }
}

/// The range lies in one leaf at first and in several after others have filled the rest of it. What comes into any of
/// them is noticed.
#[test]
fn a_range_is_watched_in_all_leaves_that_hold_it_now() {
    for scheme in SCHEMES {
        for late in [None, Some(21), Some(25), Some(29), Some(35), Some(39)] {
            let world = World::new(scheme, TableSpec::ordered);
            let mut reader = world.db.worker().expect("a slot");
            let mut tx = reader.begin(&Intent::update()).expect("begins");
            between(20, 40, usize::MAX, false)(&mut tx, world.rows).expect("scans");
            let around: Vec<u64> = (1..20).chain(40..99).filter(|key| key % 2 == 1).collect();
            world.change(&around, &[]);
            assert_eq!(tx.validate(), Ok(()), "{scheme}");
            if let Some(key) = late {
                world.change(&[key], &[]);
            }
            tx.put(world.other, b"written", b"here").expect("puts");
            let expected = if late.is_some() { PHANTOM } else { Ok(()) };
            assert_eq!(tx.commit().map(|_| ()), expected, "{scheme} {late:?}");
        }
    }
}

/// What the transaction inserts itself into a range that it has read is no phantom, whatever others insert beside it.
#[test]
fn own_insertions_are_no_phantoms() {
    for scheme in SCHEMES {
        for (others, expected) in
            [(vec![1, 3, 5, 7, 9, 11, 13, 15, 17, 41, 43], Ok(())), (vec![31], PHANTOM)]
        {
            let world = World::new(scheme, TableSpec::ordered);
            let mut reader = world.db.worker().expect("a slot");
            let mut tx = reader.begin(&Intent::update()).expect("begins");
            assert_eq!(tx.get(world.rows, &27u64.to_be_bytes()).expect("reads"), None);
            between(20, 40, usize::MAX, false)(&mut tx, world.rows).expect("scans");
            for key in [21u64, 27, 33] {
                tx.insert(world.rows, &key.to_be_bytes(), b"own").expect("inserts");
            }
            world.change(&others, &[]);
            assert_eq!(tx.commit().map(|_| ()), expected, "{scheme} {others:?}");
        }
    }
}

/// Insertions beside what a long transaction reads do not have it refused half-way either: opacity looks at ranges.
#[test]
fn a_transaction_in_progress_is_not_refused_for_what_comes_beside() {
    for scheme in SCHEMES {
        let world = World::new(scheme, TableSpec::ordered);
        let mut reader = world.db.worker().expect("a slot");
        let mut tx = reader.begin(&Intent::update()).expect("begins");
        between(20, 40, usize::MAX, false)(&mut tx, world.rows).expect("scans");
        world.change(&[19, 41], &[]);
        for _ in 0..200 {
            tx.get(world.rows, &0u64.to_be_bytes()).expect("reads");
        }
        for low in (50..90).cycle().take(200) {
            between(low, low + 2, usize::MAX, false)(&mut tx, world.rows).expect("scans");
        }
        tx.put(world.other, b"written", b"here").expect("puts");
        assert_eq!(tx.commit().map(|_| ()), Ok(()), "{scheme}");
    }
}

/// Rows that come and go again beside what was read, and leave the index.
#[test]
fn removals_beside_a_range_refuse_nobody() {
    for scheme in SCHEMES {
        let world = World::new(scheme, TableSpec::ordered);
        let gone = world.ends(&between(20, 40, usize::MAX, false), &[], &[18, 40]);
        assert_eq!(gone, Ok(()), "{scheme}");
    }
}

/// A key that was missed, came, went and left the index is not the absence that was read, though the transaction inserts
/// it itself.
#[test]
fn a_key_that_came_and_went_is_another_absence() {
    for scheme in SCHEMES {
        for comes in [51u64, 53] {
            let world = World::new(scheme, TableSpec::ordered);
            let mut reader = world.db.worker().expect("a slot");
            let mut tx = reader.begin(&Intent::update()).expect("begins");
            assert_eq!(tx.get(world.rows, &51u64.to_be_bytes()).expect("reads"), None);
            world.change(&[comes], &[]);
            if comes == 51 {
                world.change(&[], &[comes]);
            }
            let inserted = tx.insert(world.rows, &51u64.to_be_bytes(), b"own");
            let ended = inserted.and_then(|()| tx.commit()).map(|_| ());
            assert_eq!(ended.is_err(), comes == 51, "{scheme} {comes} {ended:?}");
        }
    }
}

/// A place that a transaction has approached is nothing that it has read.
#[test]
fn an_approach_finds_nothing_and_is_in_nobodys_way() {
    for info in all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        let db = Db::<Interleaved>::open(info.name, Options::default());
        let tables = [TableSpec::ordered("ordered"), TableSpec::hash("hash", 16)]
            .map(|spec| db.create_table(spec).expect("created"));
        let (mut worker, mut other) = (db.worker().expect("a slot"), db.worker().expect("a slot"));
        for table in tables {
            worker.load(table, b"there", b"1").expect("loads");
        }
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let gets = tables.map(|table| [&b"there"[..], b"new"].map(|key| Get::approach(table, key)));
        let first = tx.get(tables[0], b"there").expect("alone");
        let mut rows = [first; 4];
        tx.get_many(gets.as_flattened(), &mut rows).expect("no conflict");
        assert_eq!(rows, [None; 4], "{}: there is a row or not", info.name);
        // Among others, of the same slice too: these have their rows, and more are read than there are steps to go.
        let of = |at: usize| tables[at / 2 % 2];
        let mixed = core::array::from_fn::<_, 50, _>(|at| match at % 4 {
            0 | 3 => Get::approach(of(at), b"there"),
            _ => Get::read(of(at), if at < 48 { b"there" } else { b"new" }),
        });
        let mut rows = [first; 50];
        tx.get_many(&mixed, &mut rows).expect("no conflict");
        for (at, (get, row)) in mixed.iter().zip(rows).enumerate() {
            let there = matches!(at % 4, 1 | 2) && get.key == b"there";
            let value = row.map(|row| tx.bytes(row).expect("its own"));
            assert_eq!(value, there.then_some(&b"1"[..]), "{}: row {at}", info.name);
        }
        let long = vec![0; KEY_BYTES_MAX + 1];
        let said = tx.get_many(&[Get::approach(tables[0], &long)], &mut rows[..1]);
        assert!(matches!(said, Err(Error::KeyTooLong { .. })), "{}: {said:?}", info.name);
        let said = tx.get_many(&[Get::approach(TableId(99), b"new")], &mut rows[..1]);
        assert!(matches!(said, Err(Error::UnknownTable(_))), "{}: {said:?}", info.name);
        tx.rollback();

        // Partitions belong to one transaction at a time, whatever it does there.
        if info.needs_partitions {
            continue;
        }
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        tx.get_many(gets.as_flattened(), &mut rows[..4]).expect("no conflict");
        let mut writer = other.begin(&Intent::update()).expect("begins");
        for table in tables {
            let row = writer.get_for_update(table, b"there").expect("free").expect("loaded");
            writer.update(row, b"2").expect("free");
            writer.insert(table, b"new", b"2").expect("free");
        }
        writer.commit().expect("nobody is in its way");
        tx.put(tables[0], b"elsewhere", b"1").expect("free");
        tx.commit().unwrap_or_else(|error| panic!("{}: {error}", info.name));
    }
}
