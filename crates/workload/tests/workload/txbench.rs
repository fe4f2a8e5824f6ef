//! TxBench: the rows, what is drawn, what transactions do to the rows, and conditions that hold and can
//! fail.

use crate::model::{Counts, Model, Outcome};
use chiliad_workload::txbench::schema::{NAMES, TEXTS, item, key};
use chiliad_workload::txbench::{Client, Txbench, TxbenchOptions};
use chiliad_workload::{ClientId, Workload};

fn start(options: TxbenchOptions) -> (Txbench, Model, Client) {
    let txbench = Txbench::new(options).unwrap();
    let model = Model::load(&txbench, 5);
    let client = model.clients(&txbench, 1, 9).remove(0);
    (txbench, model, client)
}

/// The values of a table by key, from 1 on.
fn values(model: &Model, table: usize) -> Vec<i64> {
    model.rows(NAMES[table]).values().map(|row| item::B_INT_VALUE.get(row)).collect()
}

/// What a row's columns of characters hold.
fn texts(row: &[u8]) -> Vec<&[u8]> {
    let mut rest = item::B_VALUES.get(row);
    let mut found = vec![];
    while let [length, behind @ ..] = rest {
        let (text, next) = behind.split_at(usize::from(*length));
        found.push(text);
        rest = next;
    }
    found
}

#[test]
fn the_tables_are_as_large_as_the_papers() {
    let options = TxbenchOptions { rows: 10_001, ..TxbenchOptions::default() };
    let (txbench, mut model, _) = start(options);
    assert_eq!(txbench.load_parts(), 3);
    let mut bytes = 0;
    for (table, name) in NAMES.into_iter().enumerate() {
        let rows = model.rows(name);
        assert!(rows.keys().cloned().eq((1..=10_001).map(|it| key(it).to_vec())));
        for row in rows.values() {
            let texts = texts(row);
            assert_eq!(texts.len(), TEXTS);
            assert!(texts.iter().all(|text| (100..=250).contains(&text.len())));
            assert!(texts.concat().iter().all(u8::is_ascii_alphanumeric));
            bytes += 4 + row.len();
        }
        let values = values(&model, table);
        assert_eq!(values.iter().sum::<i64>(), 10_001 * 10_000);
        assert!(values.iter().all(|value| (9_000..=11_000).contains(value)));
        let different = values.iter().filter(|&&value| value != 10_000).count();
        assert!(different > 9_900, "{different}");
    }
    assert_ne!(values(&model, 0), values(&model, 1));
    // With ten times as many rows: 0.5 GiB, within two percent.
    let share = bytes as f64 * 10.0 / f64::from(1 << 29);
    assert!((0.98..1.02).contains(&share), "{share}");
    assert_eq!(model.broken(&txbench), Vec::<String>::new());
}

#[test]
fn transactions_read_one_table_and_update_the_next() {
    for rows_read in [3, 6, 20] {
        let options = TxbenchOptions { rows_read, updates: 20.0, ..TxbenchOptions::micro() };
        let (txbench, mut model, mut client) = start(options);
        let updated = txbench.options().rows_updated();
        let (mut updates, mut tables) = (0, [0; 3]);
        for _ in 0..5000 {
            let before: Vec<_> = (0..3).map(|table| values(&model, table)).collect();
            model.counts = Counts::default();
            let (kind, outcome) = model.step(&txbench, &mut client);
            assert_eq!(outcome, Outcome::Committed);
            let (table, id) = (client.table(), client.id() as usize);
            let seen = &before[table][id..][..rows_read as usize];
            assert_eq!(client.shown(), seen.iter().sum::<i64>() * client.factor());
            let mut expected = before.clone();
            let mut gain = -client.amount();
            for pair in client.keys().chunks_exact(2) {
                for key in pair {
                    expected[(table + 1) % 3][u32::from_be_bytes(*key) as usize - 1] += gain;
                    gain = -gain;
                }
            }
            for (table, expected) in expected.iter().enumerate() {
                assert_eq!(values(&model, table), *expected);
            }
            let is_update = txbench.kinds()[kind] == "read_update";
            let changes = if is_update { updated } else { 0 };
            assert_eq!(client.keys().len(), changes);
            assert!(client.keys().windows(2).all(|pair| pair[0] < pair[1]));
            let groups = usize::from(is_update);
            let counts =
                Counts { scans: 1, groups, grouped: changes, changes, ..Counts::default() };
            assert_eq!(model.counts, counts);
            updates += groups;
            tables[table] += 1;
        }
        assert!((900..1100).contains(&updates), "{updates}");
        assert!(tables.iter().all(|&count| count > 1500), "{tables:?}");
        assert_eq!(model.broken(&txbench), Vec::<String>::new());
    }
}

#[test]
fn large_updates_are_looked_up_in_groups() {
    let options =
        TxbenchOptions { rows: 1000, rows_read: 500, updates: 100.0, ..TxbenchOptions::micro() };
    let (txbench, mut model, mut client) = start(options);
    for _ in 0..20 {
        model.counts = Counts::default();
        model.step(&txbench, &mut client);
        let Counts { groups, grouped, changes, .. } = model.counts;
        assert_eq!((groups, grouped, changes), (4, 100, 100));
    }
    assert_eq!(model.broken(&txbench), Vec::<String>::new());
}

#[test]
fn all_rows_of_the_hot_spot_are_accessed_and_no_others() {
    for (hotspot, hot) in [(100.0, 200), (5.0, 10), (10.0, 20)] {
        let options =
            TxbenchOptions { rows: 200, rows_read: 10, hotspot, ..TxbenchOptions::micro() };
        let (txbench, _, mut client) = start(options);
        let mut seen = vec![[0; 2]; 201];
        for _ in 0..20_000 {
            txbench.next(&mut client, &mut vec![]);
            (client.id() + 1..=client.id() + 10).for_each(|key| seen[key as usize][0] += 1);
            let keys = client.keys().iter().map(|&key| u32::from_be_bytes(key));
            keys.for_each(|key| seen[key as usize][1] += 1);
        }
        assert!(seen[1..=hot].iter().all(|counts| counts.iter().all(|&count| count > 20)));
        assert_eq!(seen[0], [0; 2]);
        assert!(seen[hot + 1..].iter().all(|counts| *counts == [0; 2]), "{hotspot}");
    }
}

#[test]
fn a_client_keeps_to_its_partition() {
    let options = TxbenchOptions { rows: 103, partitions: 5, ..TxbenchOptions::micro() };
    let txbench = Txbench::new(options).unwrap();
    let model = Model::load(&txbench, 1);
    let mut client = txbench.client(&model.ids(), ClientId::apart(7, 8, 1));
    let own = txbench.keys_of(2);
    assert_eq!(own, 42..62);
    for _ in 0..5000 {
        let mut partitions = vec![];
        txbench.next(&mut client, &mut partitions);
        assert_eq!(partitions, [2]);
        assert!(own.contains(&(client.id() + 1)) && own.contains(&(client.id() + 6)));
        assert!(client.keys().iter().all(|&key| own.contains(&u32::from_be_bytes(key))));
    }
}

#[test]
fn a_transaction_that_stalls_only_reads() {
    let options = TxbenchOptions { updates: 100.0, ..TxbenchOptions::micro() };
    let (txbench, _, mut client) = start(options);
    for _ in 0..20 {
        assert!(!txbench.next(&mut client, &mut vec![]).read_only);
        let mut partitions = vec![];
        assert!(txbench.next_stalled(&mut client, &mut partitions).read_only);
        assert_eq!((client.keys().len(), &partitions[..]), (0, &[0][..]));
    }
}

#[test]
fn requests_are_repeatable() {
    let (txbench, mut model, mut client) = start(TxbenchOptions::micro());
    for _ in 0..500 {
        let shape = txbench.next(&mut client, &mut vec![]);
        let mut shown = vec![];
        for refused in [true, false] {
            let _ = model.transaction(shape.read_only, |tx| {
                txbench.execute(&mut client, tx)?;
                if refused { Err(chiliad_api::Error::DeadlineExceeded) } else { Ok(()) }
            });
            shown.push(client.shown());
        }
        assert_eq!(shown[0], shown[1]);
    }
    assert_eq!(model.broken(&txbench), Vec::<String>::new());
}

#[test]
fn conditions_can_fail() {
    let (txbench, mut model, mut client) = start(TxbenchOptions::micro());
    for _ in 0..100 {
        model.step(&txbench, &mut client);
    }
    let change = |by: i64| {
        move |row: &mut Option<Vec<u8>>| {
            let row = row.as_mut().unwrap();
            let value = item::B_INT_VALUE.get(row) + by;
            item::B_INT_VALUE.set(row, value);
        }
    };
    // An update that was done in part, and one that went to another table.
    model.tamper("txbench_2", &key(7), change(1));
    assert_eq!(model.broken(&txbench), ["totals"]);
    model.tamper("txbench_3", &key(7), change(-1));
    assert_eq!(model.broken(&txbench), ["totals"]);
    model.tamper("txbench_2", &key(8), change(-1));
    model.tamper("txbench_3", &key(24), change(1));
    assert_eq!(model.broken(&txbench), Vec::<String>::new());
    // A row too many, before all others and behind them; its value is nothing.
    for stranger in [0, 25] {
        let row = vec![0; item::length(0)];
        model.tamper("txbench_1", &key(stranger), |there| *there = Some(row));
        assert_eq!(model.broken(&txbench), ["rows"]);
        model.tamper("txbench_1", &key(stranger), |there| *there = None);
    }
    // A row cut off, with the value that it had.
    model.tamper("txbench_1", &key(3), |row| row.as_mut().unwrap().truncate(item::BYTES));
    assert_eq!(model.broken(&txbench), ["rows"]);
    model.tamper("txbench_1", &key(3), |row| *row = None);
    assert_eq!(model.broken(&txbench), ["rows", "totals"]);
}
