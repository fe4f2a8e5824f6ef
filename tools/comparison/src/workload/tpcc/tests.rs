//! The specification's consistency conditions, on every store, after clients have met.

use super::layout::{self, DISTRICT, HISTORY, ORDER, ORDER_LINE, WAREHOUSE, key};
use super::{DISTRICTS, Scale, Tpcc, last_name};
use crate::directory::Directory;
use crate::driver::{Plan, measure};
use crate::store::{Durability, Kind, Result, Setup, Tx, Verdict};
use crate::stores::CANDIDATES;
use crate::workload::{Workload, load};
use std::time::Duration;

/// Warehouse totals, order numbers and lines have to fit. Returns the orders and the payments.
fn check(tx: &mut dyn Tx, scale: Scale) -> Result<(u32, u32)> {
    let (mut row, mut orders, mut payments) = (Vec::new(), 0, 0);
    for warehouse in 1..=scale.warehouses {
        assert!(tx.get(WAREHOUSE, &key::<1, 4>([warehouse]), &mut row)?);
        let warehouse_ytd = layout::warehouse::YTD.of(&row);
        let mut districts_ytd = 0;
        for district in 1..=DISTRICTS {
            assert!(tx.get(DISTRICT, &key::<2, 8>([warehouse, district]), &mut row)?);
            districts_ytd += layout::district::YTD.of(&row);
            let next = layout::district::NEXT_ORDER.of(&row);
            let low = key::<2, 8>([warehouse, district]);
            let high = key::<2, 8>([warehouse, district + 1]);
            let (mut numbers, mut lines, mut lines_expected) = (Vec::new(), 0, 0);
            tx.scan(ORDER, &low, &high, usize::MAX, &mut |key, row| {
                numbers.push(u32::from_be_bytes(key[8..].try_into().unwrap()));
                lines_expected += layout::order::LINES.of(row);
            })?;
            tx.scan(ORDER_LINE, &low, &high, usize::MAX, &mut |_, _| lines += 1)?;
            assert_eq!(numbers, (1..next).collect::<Vec<_>>());
            assert_eq!(lines, lines_expected);
            orders += next - 1;
        }
        assert_eq!(warehouse_ytd, districts_ytd);
    }
    tx.scan(HISTORY, &[0; 16], &[0xFF; 16], usize::MAX, &mut |_, _| payments += 1)?;
    Ok((orders, payments))
}

#[test]
fn every_store_keeps_the_consistency_conditions() {
    let scale = Scale { warehouses: 2, items: 200, customers: 30 };
    let workload = Tpcc::new(scale);
    for candidate in CANDIDATES.iter().filter(|it| it.can(Durability::None, workload.needs())) {
        let name = format!("tpcc-{}-{}", candidate.name, std::process::id());
        let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
        let setup = Setup {
            directory: directory.path(),
            tables: workload.tables(),
            items: false,
            durability: Durability::None,
        };
        let store = (candidate.open)(&setup).unwrap();
        load(&workload, &*store).unwrap();
        let plan = Plan {
            clients: 3,
            warmup: Duration::ZERO,
            duration: Duration::from_millis(300),
            seed: 1,
        };
        let measured = measure(&*store, &workload, plan).unwrap();
        assert!(measured.transactions > 0, "{}", candidate.name);
        let mut counts = (0, 0);
        let mut client = store.client().unwrap();
        let check = &mut |tx: &mut dyn Tx| {
            counts = check(tx, scale)?;
            Ok(Verdict::Commit)
        };
        client.run(Kind::ReadOnly, check).unwrap();
        let loaded = scale.warehouses * DISTRICTS * scale.customers;
        assert!(counts.0 > loaded && counts.1 > loaded, "{}: {counts:?}", candidate.name);
    }
}

#[test]
fn last_names_are_made_of_syllables() {
    assert_eq!(&last_name(371), b"PRICALLYOUGHT\0\0\0");
    assert_eq!(&last_name(999)[..12], b"EINGEINGEING");
}
