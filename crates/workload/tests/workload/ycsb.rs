//! YCSB: what is drawn, and what transactions do to the records.

use crate::model::{Counts, Model};
use chiliad_workload::ycsb::{Client, Ycsb, YcsbOptions, key};
use chiliad_workload::{ClientId, Workload};

fn start(options: YcsbOptions) -> (Ycsb, Model, Client) {
    let ycsb = Ycsb::new(options).unwrap();
    let model = Model::load(&ycsb, 1);
    let client = model.clients(&ycsb, 1, 2).remove(0);
    (ycsb, model, client)
}

fn count(record: &[u8]) -> u64 {
    u64::from_le_bytes(record[..8].try_into().unwrap())
}

#[test]
fn all_records_are_loaded() {
    let options = YcsbOptions { records: 70_000, record_bytes: 20, ..YcsbOptions::default() };
    let (ycsb, model, _) = start(options);
    assert_eq!(ycsb.load_parts(), 2);
    let rows = model.rows("records");
    assert_eq!(rows.len(), 70_000);
    assert!((0..70_000).all(|number| rows[&key(number)[..]].len() == 20));
}

#[test]
fn one_operation_is_one_operation() {
    for (rmw, read_ratio) in [(true, 80.0), (false, 80.0), (true, 0.0)] {
        let options = YcsbOptions {
            records: 1000,
            ops: 1,
            read_ratio,
            rmw,
            hash: true,
            ..YcsbOptions::default()
        };
        let (ycsb, mut model, mut client) = start(options);
        let mut writes = 0;
        for _ in 0..1000 {
            model.counts = Counts::default();
            let (kind, _) = model.step(&ycsb, &mut client);
            let gets = usize::from(kind == 0 || rmw);
            let expected = Counts { gets, changes: kind, ..Counts::default() };
            assert_eq!(model.counts, expected);
            writes += kind;
        }
        let share = 10.0 * (100.0 - read_ratio);
        assert!((writes as f64 - share).abs() < 50.0, "{writes}");
        if rmw {
            let sum: u64 = model.rows("records").values().map(|row| count(row)).sum();
            assert_eq!(sum, writes as u64);
        }
    }
}

#[test]
fn many_operations_touch_distinct_keys_in_groups() {
    for theta in [0.0, 0.9, 2.0] {
        let options = YcsbOptions {
            records: 100,
            ops: 40,
            read_ratio: 0.0,
            rmw: true,
            theta,
            ..YcsbOptions::default()
        };
        let (ycsb, mut model, mut client) = start(options);
        for step in 1..=50 {
            model.step(&ycsb, &mut client);
            let sum: u64 = model.rows("records").values().map(|row| count(row)).sum();
            assert_eq!(sum, 40 * step);
            let most = model.rows("records").values().map(|row| count(row)).max();
            assert!(most <= Some(step), "a key twice in a transaction");
        }
        assert_eq!((model.counts.groups, model.counts.gets), (100, 0));
    }
}

#[test]
fn a_thousand_operations_on_as_many_records_take_them_all() {
    let options = YcsbOptions {
        records: 1000,
        ops: 1000,
        read_ratio: 0.0,
        rmw: true,
        theta: 1.2,
        ..YcsbOptions::default()
    };
    let (ycsb, mut model, mut client) = start(options);
    model.step(&ycsb, &mut client);
    assert!(model.rows("records").values().all(|row| count(row) == 1));
}

#[test]
fn blind_writes_and_scans() {
    let options = YcsbOptions {
        records: 500,
        ops: 8,
        scan_ratio: 25.0,
        scan_length: 7,
        ..YcsbOptions::default()
    };
    let (ycsb, mut model, mut client) = start(options);
    let mut kinds = [0; 3];
    for _ in 0..500 {
        let (kind, _) = model.step(&ycsb, &mut client);
        kinds[kind] += 1;
    }
    let counts = model.counts;
    assert!(counts.scans > 850 && counts.scans < 1150, "{counts:?}");
    assert!(counts.changes > 1350 && counts.grouped > 1350, "{counts:?}");
    assert!(kinds[2] > 400, "{kinds:?}");
}

#[test]
fn accesses_are_made_in_the_order_of_their_keys_on_demand() {
    for (rmw, ops, key_order) in
        [(true, 8, true), (false, 8, true), (false, 80, true), (false, 8, false)]
    {
        let options = YcsbOptions { records: 500, ops, rmw, key_order, ..YcsbOptions::default() };
        let (ycsb, mut model, mut client) = start(options);
        let mut sorted = 0;
        for _ in 0..100 {
            model.touched.clear();
            model.step(&ycsb, &mut client);
            // What is modified is written at the end, when all is looked up and locked.
            let first = &model.touched[..ops];
            let distinct: std::collections::BTreeSet<_> = first.iter().collect();
            assert_eq!(distinct.len(), ops);
            sorted += usize::from(first.is_sorted());
        }
        assert_eq!(sorted == 100, key_order, "{sorted} of 100");
        assert!(model.counts.changes > 40 * ops, "{:?}", model.counts);
    }
}

#[test]
fn read_only_requests_are_marked() {
    let options = YcsbOptions {
        records: 100,
        ops: 2,
        read_ratio: 50.0,
        snapshot_reads: true,
        ..YcsbOptions::default()
    };
    let ycsb = Ycsb::new(options).unwrap();
    let client_id = ClientId::apart(0, 1, 1);
    let mut client = ycsb.client(&[chiliad_api::TableId(0)], client_id);
    let shapes: Vec<_> = (0..1000).map(|_| ycsb.next(&mut client, &mut vec![])).collect();
    let read_only = shapes.iter().filter(|shape| shape.read_only).count();
    assert!((200..300).contains(&read_only), "{read_only}");
    assert!(shapes.iter().all(|shape| shape.read_only == (shape.kind == 0)));
    assert!(shapes.iter().all(|shape| shape.snapshot == shape.read_only));
}

#[test]
fn partitions_cover_what_is_touched() {
    let options = YcsbOptions {
        records: 1003,
        ops: 6,
        read_ratio: 0.0,
        rmw: true,
        theta: 0.5,
        partitions: 8,
        multi_partition: 30.0,
        parts_per_txn: 3,
        ..YcsbOptions::default()
    };
    let ycsb = Ycsb::new(options).unwrap();
    let mut model = Model::load(&ycsb, 1);
    let ids = model.ids();
    let mut client = ycsb.client(&ids, ClientId::apart(10, 16, 1));
    let mut multi = 0;
    for _ in 0..1000 {
        let before = model.rows("records").clone();
        let mut partitions = vec![];
        ycsb.next(&mut client, &mut partitions);
        assert!(partitions.is_sorted() && partitions.contains(&2), "{partitions:?}");
        assert!(partitions.len() == 1 || partitions.len() == 3, "{partitions:?}");
        multi += usize::from(partitions.len() == 3);
        model.transaction(false, |tx| ycsb.execute(&mut client, tx)).unwrap();
        let changed = model.rows("records").iter().filter(|(key, row)| before[*key] != **row);
        let mut touched: Vec<u32> = changed
            .map(|(key, _)| (u64::from_be_bytes(key[..].try_into().unwrap()) % 8) as u32)
            .collect();
        touched.sort_unstable();
        touched.dedup();
        assert_eq!(touched, partitions);
    }
    assert!((250..350).contains(&multi), "{multi}");
}

#[test]
fn skew_makes_some_keys_hot() {
    for (theta, low, high) in [(0.0, 0.0, 0.02), (0.9, 0.08, 0.25), (1.5, 0.3, 0.5)] {
        let options = YcsbOptions {
            records: 1000,
            ops: 1,
            read_ratio: 0.0,
            rmw: true,
            theta,
            ..YcsbOptions::default()
        };
        let (ycsb, mut model, mut client) = start(options);
        for _ in 0..5000 {
            model.step(&ycsb, &mut client);
        }
        let hottest = model.rows("records").values().map(|row| count(row)).max().unwrap();
        let share = hottest as f64 / 5000.0;
        assert!((low..high).contains(&share), "theta {theta}: {share}");
    }
}
