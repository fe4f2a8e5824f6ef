//! Rows in several parts, under every scheme: what a transaction finds is what a plain model has, parts that are written
//! apart are not in each other's way, and no commit has seen half a row.

use crate::durable;
use crate::kit::{Db, Dice, Tx, Worker, drawn, seeds, spawn_ticker};
use chiliad_engine::{
    Database, Error, Get, GroupSpec, Info, Integer, Intent, Number, Options, Range, Result, Silo,
    TableId, TableSpec, Transaction, names,
};
use chiliad_machine::{Fault, Interleaved};
use chiliad_simulator::{DiskFaults, FaultyDisk, Run, Sim};
use std::collections::BTreeMap;

/// The table's own part, and two groups.
const PARTS: usize = 3;

type Parts = [Vec<u8>; PARTS];
type Model = BTreeMap<u8, Parts>;

fn spec(hash: bool) -> TableSpec {
    let table = if hash { TableSpec::hash("t", 10) } else { TableSpec::ordered("t") };
    table.with_group(GroupSpec::new("one")).with_group(GroupSpec::new("two"))
}

/// The number of a part.
fn part(table: TableId, part: usize) -> TableId {
    if part == 0 { table } else { table.group(part - 1) }
}

fn insert<T: Transaction + ?Sized>(
    tx: &mut T,
    table: TableId,
    key: &[u8],
    parts: &Parts,
) -> Result<()> {
    let parts: Vec<&[u8]> = parts.iter().map(|it| &it[..]).collect();
    tx.insert_parts(table, key, &parts)
}

/// All parts of a row, each as a look-up of its own or all in one group.
fn read<T: Transaction + ?Sized>(
    tx: &mut T,
    table: TableId,
    key: &[u8],
    together: bool,
) -> Result<Option<Parts>> {
    let gets: Vec<_> = (0..PARTS).map(|at| Get::read(part(table, at), key)).collect();
    let mut rows = vec![None; PARTS];
    if together {
        tx.get_many(&gets, &mut rows)?;
    } else {
        for (get, row) in gets.iter().zip(&mut rows) {
            *row = tx.get(get.table, get.key)?;
        }
    }
    let mut parts = Vec::new();
    for row in rows.into_iter().flatten() {
        parts.push(tx.bytes(row)?.to_vec());
    }
    match parts.len() {
        0 => Ok(None),
        _ => Ok(Some(parts.try_into().expect("all parts or none"))),
    }
}

/// A value of a length that is often another one than before.
fn value(dice: &mut Dice) -> Vec<u8> {
    let length = [0, 8, 9, 40, 300, 3000][dice.below(6) as usize];
    vec![dice.below(250) as u8; length]
}

fn parts(dice: &mut Dice) -> Parts {
    core::array::from_fn(|_| value(dice))
}

/// One operation, in a transaction and in a model of it.
fn operate(
    tx: &mut Tx<'_, Interleaved>,
    table: TableId,
    model: &mut Model,
    dice: &mut Dice,
) -> Result<()> {
    let key = dice.below(6) as u8;
    let at = dice.below(PARTS as u64) as usize;
    let of_part = part(table, at);
    match dice.below(8) {
        0 | 1 => {
            let parts = parts(dice);
            match insert(tx, table, &[key], &parts) {
                Ok(()) => assert!(model.insert(key, parts).is_none()),
                Err(Error::DuplicateKey(_)) => assert!(model.contains_key(&key)),
                Err(error) => return Err(error),
            }
        }
        2 => {
            let removed = tx.remove(table, &[key])?;
            assert_eq!(removed, model.remove(&key).is_some());
        }
        3 => {
            let value = value(dice);
            match (tx.put(of_part, &[key], &value), model.get_mut(&key)) {
                (Ok(()), Some(row)) => row[at] = value,
                (Err(Error::WrongParts { given: 1, accepted: PARTS, .. }), None) if at == 0 => {}
                (Err(Error::PartOfRow(_) | Error::WrongParts { .. }), None) if at > 0 => {}
                (Err(error), _) if error.is_retryable() => return Err(error),
                (done, row) => panic!("{done:?} where there is {row:?}"),
            }
        }
        4 => {
            let found = tx.get_for_update(of_part, &[key])?;
            assert_eq!(found.is_some(), model.contains_key(&key));
            if let (Some(row), Some(model)) = (found, model.get_mut(&key)) {
                for byte in tx.modify(row)? {
                    *byte = byte.wrapping_add(1);
                }
                model[at].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
            }
        }
        5 => {
            let found = tx.get(of_part, &[key])?;
            if let (Some(row), Some(model)) = (found, model.get_mut(&key)) {
                let value = value(dice);
                tx.update(row, &value)?;
                model[at] = value;
            }
        }
        _ => {
            let together = dice.below(2) == 0;
            assert_eq!(read(tx, table, &[key], together)?.as_ref(), model.get(&key));
        }
    }
    Ok(())
}

fn scan<T: Transaction + ?Sized>(tx: &mut T, table: TableId) -> Result<Vec<(u8, Vec<u8>)>> {
    let scanned = tx.scan(table, Range::all())?;
    let entries = tx.entries(scanned)?.to_vec();
    entries.iter().map(|&it| Ok((tx.key(it)?[0], tx.bytes(it.row)?.to_vec()))).collect()
}

/// A run of transactions of two workers, one after another, beside a model.
fn run_beside_a_model(scheme: &str, verify: bool, hash: bool, seed: u64) {
    let db = Db::<Interleaved>::open(scheme, Options { verify, ..Options::default() });
    let table = db.create_table(spec(hash)).expect("created");
    let mut workers = [db.worker().expect("a slot"), db.worker().expect("a slot")];
    let mut dice = Dice(seed);
    let mut model = Model::new();
    for transaction in 0..150 {
        let worker: &mut Worker<_> = &mut workers[dice.below(2) as usize];
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let mut after = model.clone();
        for _ in 0..1 + dice.below(5) {
            operate(&mut tx, table, &mut after, &mut dice).expect("nobody is in the way");
        }
        if !hash {
            for at in 0..PARTS {
                let expected: Vec<_> =
                    after.iter().map(|(key, row)| (*key, row[at].clone())).collect();
                assert_eq!(scan(&mut tx, part(table, at)).expect("scans"), expected);
            }
        }
        if dice.below(4) == 0 {
            tx.rollback();
        } else {
            tx.commit().expect("nobody is in the way");
            model = after;
        }
        if transaction % 3 == 0 {
            db.tick();
        }
        workers.iter_mut().for_each(|worker| {
            worker.rest(8);
        });
    }
    let mut tx = workers[0].begin(&Intent::read_only()).expect("begins");
    for key in 0..6 {
        assert_eq!(read(&mut tx, table, &[key], true).expect("reads").as_ref(), model.get(&key));
    }
}

#[test]
fn a_row_in_parts_is_what_a_model_of_it_is() {
    for Info { name, .. } in names::all::<Interleaved>() {
        for (seed, verify) in [(3, false), (5, true)] {
            for hash in [false, true] {
                run_beside_a_model(name, verify, hash, seed);
            }
        }
    }
}

#[test]
fn writers_of_different_parts_are_not_in_each_others_way() {
    for Info { name, needs_partitions, .. } in names::all::<Interleaved>() {
        if needs_partitions || name == "occ-serial" || name == "h-store" {
            continue;
        }
        let db = Db::<Interleaved>::open(name, Options::default());
        let table = db.create_table(spec(true)).expect("created");
        let [mut one, mut other] = [(); 2].map(|()| db.worker().expect("a slot"));
        one.load_parts(table, b"a", &[b"0", b"1", b"2"]).expect("loads");
        let mut first = one.begin(&Intent::update()).expect("begins");
        let mut second = other.begin(&Intent::update()).expect("begins");
        for (tx, at) in [(&mut first, 1), (&mut second, 2)] {
            let row = tx.get_for_update(part(table, at), b"a").expect("reads").expect("loaded");
            tx.modify(row).expect("it is there")[0] += 5;
        }
        first.commit().unwrap_or_else(|error| panic!("{name}: {error}"));
        second.commit().unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut tx = one.begin(&Intent::read_only()).expect("begins");
        let row = read(&mut tx, table, b"a", true).expect("reads").expect("loaded");
        assert_eq!(row, [b"0".to_vec(), b"6".to_vec(), b"7".to_vec()], "{name}");
    }
}

#[test]
fn parts_do_not_come_or_go_alone() {
    for Info { name, .. } in names::all::<Interleaved>() {
        let db = Db::<Interleaved>::open(name, Options::default());
        let table = db.create_table(spec(true)).expect("created");
        let mut worker = db.worker().expect("a slot");
        worker.load_parts(table, b"a", &[b"0", b"1", b"2"]).expect("loads");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let wrong = |given| Error::WrongParts { table: "t".into(), given, accepted: PARTS };
        let of_row = || Error::PartOfRow("t.one".into());
        assert_eq!(tx.insert(table, b"b", b""), Err(wrong(1)));
        assert_eq!(tx.insert_parts(table, b"b", &[b"", b""]), Err(wrong(2)));
        assert_eq!(tx.insert(table.group(0), b"b", b""), Err(of_row()));
        assert_eq!(tx.put(table.group(0), b"b", b""), Err(of_row()));
        let row = tx.get(table.group(0), b"a").expect("reads").expect("loaded");
        assert_eq!(tx.remove_row(row), Err(of_row()));
        assert_eq!(tx.remove(table, b"a"), Ok(true));
        assert_eq!(read(&mut tx, table, b"a", false).expect("reads"), None, "{name}");
        tx.commit().expect("nobody is in the way");
    }
}

#[test]
fn a_number_in_a_group_is_added_to() {
    for Info { name, .. } in names::all::<Interleaved>() {
        let db = Db::<Interleaved>::open(name, Options::default());
        let table = db.create_table(spec(true)).expect("created");
        let mut worker = db.worker().expect("a slot");
        worker.load_parts(table, b"a", &[b"", &7u64.to_le_bytes(), b""]).expect("loads");
        let number = Number::at(0, Integer::U64);
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        assert_eq!(tx.add(table.group(0), b"a", number, 5), Ok(true), "{name}");
        assert_eq!(tx.add(table.group(0), b"b", number, 5), Ok(false), "{name}");
        tx.commit().expect("nobody is in the way");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let row = tx.get(table.group(0), b"a").expect("reads").expect("loaded");
        assert_eq!(tx.bytes(row).expect("its own"), 12u64.to_le_bytes(), "{name}");
    }
}

#[test]
fn groups_are_found_renamed_and_dropped_with_their_table() {
    let db = Db::<Interleaved>::open("silo", Options::default());
    let table = db.create_table(spec(false)).expect("created");
    assert_eq!(db.table("t.two"), Ok(table.group(1)));
    assert!(matches!(db.create_table(TableSpec::hash("t.one", 1)), Err(Error::TableExists(_))));
    assert_eq!(db.tables().len(), 1);
    assert!(matches!(db.drop_table("t.one"), Err(Error::UnknownTable(_))));
    db.drop_table("t").expect("dropped");
    assert!(matches!(db.table("t.two"), Err(Error::UnknownTable(_))));
    db.create_table(TableSpec::hash("t.one", 1)).expect("the name is free");
}

/// Cores that change, remove and insert rows whose parts all hold one number, and look at them.
fn numbers_agree(scheme: &str, seed: u64, fault: Option<&'static Fault>) -> Option<String> {
    let mut run = Run::new(drawn(seed, fault));
    let (db, table) = run.outside(|| {
        let db = Db::<Sim>::open(scheme, Options { partitions: 1, ..Options::default() });
        let table = db.create_table(spec(seed.is_multiple_of(2))).expect("created");
        let mut worker = db.worker().expect("a slot");
        for key in 0..3 {
            worker.load_parts(table, &[key], &[&[0; 8][..]; PARTS]).expect("loads");
        }
        (db, table)
    });
    for core in 0..3 {
        let db = db.clone();
        run.spawn(format!("core {core}"), move || {
            let mut worker = db.worker().expect("a slot");
            let mut dice = Dice(seed * 8 + core + 1);
            for _ in 0..12 {
                let mut tx = match worker.begin(&Intent::update()) {
                    Ok(tx) => tx,
                    Err(error) if error.is_retryable() => continue,
                    Err(error) => panic!("{error}"),
                };
                match change_a_row(&mut tx, table, &mut dice) {
                    Ok(agrees) => {
                        if tx.commit().is_ok() {
                            assert!(agrees, "a commit has seen half a row");
                        }
                    }
                    Err(error) if error.is_retryable() => tx.rollback(),
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    spawn_ticker(&mut run, &db);
    let outcome = run.go();
    let broken = (!outcome.verdict.is_completed()).then(|| format!("{:?}", outcome.verdict));
    run.outside(|| drop(db));
    broken
}

/// Returns whether the parts that it has met agree.
fn change_a_row(tx: &mut Tx<'_, Sim>, table: TableId, dice: &mut Dice) -> Result<bool> {
    let key = [dice.below(3) as u8];
    let mut numbers = Vec::new();
    let mut order: Vec<usize> = (0..PARTS).collect();
    order.rotate_left(dice.below(PARTS as u64) as usize);
    let writes = dice.below(3) == 0;
    let mut rows = Vec::new();
    for at in order {
        let row = if writes {
            tx.get_for_update(part(table, at), &key)?
        } else {
            tx.get(part(table, at), &key)?
        };
        numbers.push(row.map(|row| tx.bytes(row).map(<[u8]>::to_vec)).transpose()?);
        rows.extend(row);
    }
    let agrees = numbers.windows(2).all(|pair| pair[0] == pair[1]);
    match (&numbers[0], dice.below(4)) {
        (None, _) => match tx.insert_parts(table, &key, &[&[dice.below(9) as u8; 8][..]; PARTS]) {
            // Found in a state that never was: the commit will tell.
            Err(Error::DuplicateKey(_)) => return Ok(agrees),
            done => done?,
        },
        (Some(_), 0) => _ = tx.remove(table, &key)?,
        (Some(_), _) if writes => {
            let number = [dice.below(250) as u8; 8];
            for row in rows {
                tx.modify(row)?.copy_from_slice(&number);
            }
        }
        _ => {}
    }
    Ok(agrees)
}

#[test]
fn no_commit_has_seen_half_a_row() {
    for info in names::all::<Interleaved>().into_iter().filter(|info| info.has_transactions()) {
        for seed in 0..seeds(30) {
            let broken = numbers_agree(info.name, seed, None);
            assert_eq!(broken, None, "{} with seed {seed}", info.name);
        }
    }
}

#[test]
fn rows_in_parts_come_back() {
    let disk = FaultyDisk::new(1, DiskFaults::default());
    let mut dice = Dice(11);
    let mut model = Model::new();
    for round in 0..4 {
        let mut db = durable::open::<Silo<Interleaved>>(&disk);
        let table = match round {
            0 => db.database.create_table(spec(false)).expect("new"),
            _ => db.database.table("t").expect("kept"),
        };
        assert_eq!(all(&db.database, table), model, "round {round}");
        for step in 0..60 {
            change(&db.database, table, &mut model, &mut dice);
            if step % 17 == 0 {
                db.sync();
            }
        }
        db.close();
    }
}

fn change(
    db: &Database<Interleaved, Silo<Interleaved>>,
    table: TableId,
    model: &mut Model,
    dice: &mut Dice,
) {
    let mut worker = db.worker().expect("room");
    let mut tx = worker.begin(&Intent::update()).expect("begun");
    let key = dice.below(12) as u8;
    let parts = parts(dice);
    let at = dice.below(PARTS as u64) as usize;
    match model.get_mut(&key) {
        None => {
            insert(&mut tx, table, &[key], &parts).expect("absent");
            model.insert(key, parts);
        }
        Some(_) if dice.below(3) == 0 => {
            assert_eq!(tx.remove(table, &[key]), Ok(true));
            model.remove(&key);
        }
        Some(row) => {
            tx.put(part(table, at), &[key], &parts[at]).expect("present");
            row[at].clone_from(&parts[at]);
        }
    }
    tx.commit().expect("committed");
}

fn all(db: &Database<Interleaved, Silo<Interleaved>>, table: TableId) -> Model {
    let mut worker = db.worker().expect("room");
    let mut tx = worker.begin(&Intent::read_only()).expect("begun");
    let rows = (0..PARTS).map(|at| scan(&mut tx, part(table, at)).expect("scanned"));
    let rows: Vec<_> = rows.collect();
    let of = |at: usize, row: usize| rows[at][row].1.clone();
    let keys = rows[0].iter().enumerate();
    keys.map(|(row, (key, _))| (*key, core::array::from_fn(|at| of(at, row)))).collect()
}
