//! What each of TPC-C's transactions does to the rows, compared with the rows before, and how often
//! each comes up.

use crate::model::{Counts, Model, Outcome};
use chiliad_workload::tpcc::schema::{
    customer, customer_info, district, history, item, key, order, order_line, stock, stock_info,
    warehouse,
};
use chiliad_workload::tpcc::{Client, Mix, Scale, Terminals, Tpcc, TpccOptions};
use chiliad_workload::{ClientId, Workload};
use std::collections::{BTreeMap, BTreeSet};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const TABLES: [&str; 13] = [
    "warehouse",
    "district",
    "customer.account",
    "customer",
    "customer.data",
    "history",
    "new_order",
    "order",
    "order_customer",
    "order_line",
    "item",
    "stock",
    "stock.texts",
];

/// All rows of a model at a moment.
struct Before(BTreeMap<&'static str, Rows>);

impl Before {
    fn of(model: &Model) -> Self {
        Self(TABLES.into_iter().map(|name| (name, model.rows(name).clone())).collect())
    }

    fn row(&self, table: &str, key: &[u8]) -> &[u8] {
        &self.0[table][key]
    }

    /// Keys that are new, changed or gone.
    fn differences(&self, model: &Model, table: &str) -> Vec<Vec<u8>> {
        let (old, new) = (&self.0[table], model.rows(table));
        let keys: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        keys.into_iter().filter(|&key| old.get(key) != new.get(key)).cloned().collect()
    }
}

/// With a client that stays at the first warehouse.
fn micro(mix: Mix) -> (Tpcc, Model, Client) {
    let options = TpccOptions { mix, terminals: Terminals::Fixed, ..TpccOptions::micro() };
    let tpcc = Tpcc::new(options).unwrap();
    let model = Model::load(&tpcc, 11);
    let client = model.clients(&tpcc, 1, 21).remove(0);
    (tpcc, model, client)
}

fn row<'a>(model: &'a Model, table: &str, key: &[u8]) -> &'a [u8] {
    &model.rows(table)[key]
}

#[test]
fn new_order() {
    let (tpcc, mut model, mut client) = micro(Mix::NewOrder);
    let (mut rollbacks, mut remote, mut twice) = (0, 0, 0);
    for _ in 0..400 {
        let before = Before::of(&model);
        model.counts = Counts::default();
        let (_, outcome) = model.step(&tpcc, &mut client);
        let counts = model.counts;
        assert_eq!((counts.gets, counts.groups, counts.scans, counts.removes), (0, 1, 0, 0));
        if outcome == Outcome::RolledBack {
            // The unused item came out at the last line, behind the others.
            assert!(counts.inserts >= 4 && counts.changes >= 2, "{counts:?}");
            assert!(TABLES.iter().all(|table| before.differences(&model, table).is_empty()));
            rollbacks += 1;
            continue;
        }
        let (lines, is_remote) = check_new_order(&before, &model);
        let stocks = before.differences(&model, "stock").len();
        assert_eq!((counts.grouped, counts.approached), (3 + lines + 2 * stocks, 1));
        assert_eq!(counts.inserts, 3 + lines);
        assert_eq!(counts.changes, 1 + lines);
        twice += usize::from(stocks < lines);
        remote += usize::from(is_remote);
    }
    assert!(rollbacks > 10 && remote > 50 && twice > 10, "{rollbacks} {remote} {twice}");
}

/// Returns the number of lines and whether one came from another warehouse.
fn check_new_order(before: &Before, model: &Model) -> (usize, bool) {
    for table in ["warehouse", "customer.account", "customer", "customer.data", "item", "history"] {
        assert!(before.differences(model, table).is_empty(), "{table}");
    }
    let changed = before.differences(model, "district");
    let [place] = &changed[..] else { panic!("one district") };
    assert_eq!(place[..2], [0, 1], "the home warehouse");
    let d = place[2];
    let o = district::D_NEXT_O_ID.get(before.row("district", place));
    assert_eq!(district::D_NEXT_O_ID.get(row(model, "district", place)), o + 1);

    let key = key::order(1, d, o).to_vec();
    assert_eq!(before.differences(model, "order"), [&key[..]]);
    assert_eq!(before.differences(model, "new_order"), [&key[..]]);
    let order = row(model, "order", &key);
    let by_customer = key::order_customer(1, d, order::O_C_ID.get(order), o).to_vec();
    assert_eq!(before.differences(model, "order_customer"), [by_customer]);
    let count = order::O_OL_CNT.get(order);
    assert!((2..=5).contains(&count) && order::O_CARRIER_ID.get(order) == 0);
    assert!(order::O_ENTRY_D.get(order) > 1);

    let mut taken: BTreeMap<Vec<u8>, Vec<(u32, bool)>> = BTreeMap::new();
    for line in 1..=count {
        let line = row(model, "order_line", &key::order_line(1, d, o, line));
        let supplier = order_line::OL_SUPPLY_W_ID.get(line);
        let i = order_line::OL_I_ID.get(line);
        let quantity = u32::from(order_line::OL_QUANTITY.get(line));
        assert!((1..=10).contains(&quantity));
        let price = item::I_PRICE.get(row(model, "item", &key::item(i)));
        assert_eq!(order_line::OL_AMOUNT.get(line), price * quantity);
        assert_eq!(order_line::OL_DELIVERY_D.get(line), 0);
        let stock = key::stock(supplier, i);
        let info = row(model, "stock.texts", &stock);
        assert_eq!(order_line::OL_DIST_INFO.get(line), stock_info::s_dist(d).get(info));
        taken.entry(stock.to_vec()).or_default().push((quantity, supplier != 1));
    }
    assert_eq!(before.differences(model, "order_line").len(), usize::from(count));
    assert_eq!(before.differences(model, "stock"), taken.keys().cloned().collect::<Vec<_>>());
    for (key, lines) in &taken {
        check_stock(before.row("stock", key), row(model, "stock", key), lines);
    }
    let is_remote = taken.values().flatten().any(|&(_, remote)| remote);
    assert_eq!(order::O_ALL_LOCAL.get(order) == 1, !is_remote);
    (usize::from(count), is_remote)
}

fn check_stock(before: &[u8], after: &[u8], lines: &[(u32, bool)]) {
    let mut left = stock::S_QUANTITY.get(before);
    for &(quantity, _) in lines {
        left = if left >= quantity + 10 { left - quantity } else { left + 91 - quantity };
    }
    let sum: u32 = lines.iter().map(|&(quantity, _)| quantity).sum();
    let remote = lines.iter().filter(|line| line.1).count() as u32;
    assert_eq!(stock::S_QUANTITY.get(after), left);
    assert_eq!(stock::S_YTD.get(after), stock::S_YTD.get(before) + sum);
    assert_eq!(stock::S_ORDER_CNT.get(after), stock::S_ORDER_CNT.get(before) + lines.len() as u32);
    assert_eq!(stock::S_REMOTE_CNT.get(after), stock::S_REMOTE_CNT.get(before) + remote);
}

#[test]
fn payment() {
    let (tpcc, mut model, mut client) = micro(Mix::Payment);
    let (mut by_name, mut remote, mut bad, mut cut) = (0, 0, 0, 0);
    for _ in 0..600 {
        let before = Before::of(&model);
        model.counts = Counts::default();
        model.step(&tpcc, &mut client);
        let counts = model.counts;
        let (customer, is_bad, length) = check_payment(&before, &model);
        assert_eq!((counts.groups, counts.inserts, counts.removes), (1, 1, 0));
        assert_eq!(counts.grouped, 4);
        assert_eq!((counts.gets, counts.changes), (usize::from(is_bad), 3 + usize::from(is_bad)));
        if counts.scans == 1 {
            assert_eq!(customer, in_the_middle(&model, &customer));
            by_name += 1;
        }
        remote += u32::from(customer[..2] != [0, 1]);
        bad += u32::from(is_bad);
        cut += u32::from(length == 160);
    }
    assert!((310..410).contains(&by_name), "{by_name}");
    assert!((60..125).contains(&remote), "{remote}");
    assert!(bad > 100 && cut > 50, "{bad} {cut}");
}

/// Returns the customer that paid, whether with bad credit, and the length of C_DATA then.
fn check_payment(before: &Before, model: &Model) -> (Vec<u8>, bool, usize) {
    for table in ["customer", "order", "order_line", "new_order", "stock", "item"] {
        assert!(before.differences(model, table).is_empty(), "{table}");
    }
    let new = before.differences(model, "history");
    assert_eq!(new.len(), 1);
    let paid = row(model, "history", &new[0]);
    let amount = history::H_AMOUNT.get(paid);
    assert!((100..=500_000).contains(&amount) && history::H_DATE.get(paid) > 1);

    let w = history::H_W_ID.get(paid);
    let (old, now) =
        (before.row("warehouse", &key::warehouse(w)), row(model, "warehouse", &[0, 1]));
    assert_eq!(warehouse::W_YTD.get(now), warehouse::W_YTD.get(old) + u64::from(amount));
    let place = key::district(w, history::H_D_ID.get(paid));
    let (old, there) = (before.row("district", &place), row(model, "district", &place));
    assert_eq!(district::D_YTD.get(there), district::D_YTD.get(old) + u64::from(amount));
    assert_eq!(before.differences(model, "district").len(), 1);
    let names = [warehouse::W_NAME.get(now), district::D_NAME.get(there)].join(&b"    "[..]);
    assert_eq!(history::H_DATA.get(paid), names);

    let c = history::H_C_ID.get(paid);
    let (c_w, c_d) = (history::H_C_W_ID.get(paid), history::H_C_D_ID.get(paid));
    let key = key::customer(c_w, c_d, c).to_vec();
    assert_eq!(before.differences(model, "customer.account"), [&key[..]]);
    let (old, now) = (before.row("customer.account", &key), row(model, "customer.account", &key));
    let sum = i64::from(amount);
    assert_eq!(customer::C_BALANCE.get(now), customer::C_BALANCE.get(old) - sum);
    assert_eq!(customer::C_YTD_PAYMENT.get(now), customer::C_YTD_PAYMENT.get(old) + sum as u64);
    assert_eq!(customer::C_PAYMENT_CNT.get(now), customer::C_PAYMENT_CNT.get(old) + 1);
    assert_eq!(customer::C_DELIVERY_CNT.get(now), customer::C_DELIVERY_CNT.get(old));

    let is_bad = customer_info::C_CREDIT.get(row(model, "customer", &key)) == b"BC";
    let changed = before.differences(model, "customer.data");
    assert_eq!(changed, if is_bad { vec![key.clone()] } else { vec![] });
    let data = row(model, "customer.data", &key);
    if is_bad {
        let d = history::H_D_ID.get(paid);
        let note = format!("{c} {c_d} {c_w} {d} {w} {}.{:02}|", amount / 100, amount % 100);
        let mut expected = [note.as_bytes(), before.row("customer.data", &key)].concat();
        expected.truncate(160);
        assert_eq!(data, expected);
    }
    (key, is_bad, data.len())
}

/// The customer at position ceil(n/2) by first name of those of the district with the same last
/// name.
fn in_the_middle(model: &Model, customer: &[u8]) -> Vec<u8> {
    let infos = model.rows("customer");
    let last = customer_info::C_LAST.get(&infos[customer]);
    let same = infos
        .iter()
        .filter(|(key, info)| key[..3] == customer[..3] && customer_info::C_LAST.get(info) == last);
    let mut same: Vec<_> =
        same.map(|(key, info)| (customer_info::C_FIRST.get(info), key)).collect();
    same.sort();
    same[same.len().div_ceil(2) - 1].1.clone()
}

#[test]
fn delivery_order_status_and_stock_level() {
    let (tpcc, mut model, mut client) = micro(Mix::Standard);
    let (mut skipped, mut deliveries, mut status, mut levels) = (0, 0, 0, 0);
    for _ in 0..1500 {
        let before = Before::of(&model);
        model.counts = Counts::default();
        let (kind, _) = model.step(&tpcc, &mut client);
        let counts = model.counts;
        match tpcc.kinds()[kind] {
            "delivery" => {
                let delivered = check_delivery(&before, &model);
                assert_eq!((counts.groups, counts.grouped), (2, 2 * delivered));
                assert_eq!(counts.approached, delivered);
                assert_eq!((counts.gets, counts.scans), (0, 3 + delivered));
                assert_eq!((counts.inserts, counts.removes), (0, delivered));
                assert_eq!(client.shown(), delivered as u64);
                skipped += 3 - delivered;
                deliveries += 1;
            }
            "order_status" => {
                assert!(TABLES.iter().all(|table| before.differences(&model, table).is_empty()));
                assert_eq!((counts.gets, counts.groups, counts.grouped), (1, 1, 2));
                // The order by customer, its lines, and the customer by name.
                assert!((2..=3).contains(&counts.scans), "{}", counts.scans);
                status += 1;
            }
            "stock_level" => {
                assert!(TABLES.iter().all(|table| before.differences(&model, table).is_empty()));
                assert_eq!((counts.gets, counts.scans), (1, 1));
                let mut levels_shown = (10..=20).map(|threshold| low_stocks(&model, threshold));
                assert!(levels_shown.any(|low| low == client.shown()));
                levels += 1;
            }
            _ => {}
        }
    }
    assert!(skipped > 20 && deliveries > 100 && status > 50 && levels > 50);
}

/// Returns how many districts had something to deliver.
fn check_delivery(before: &Before, model: &Model) -> usize {
    for table in ["warehouse", "district", "customer.data", "history", "stock", "order_customer"] {
        assert!(before.differences(model, table).is_empty(), "{table}");
    }
    let mut expected = vec![];
    for d in 1..=3 {
        let queue = &before.0["new_order"];
        if let Some(oldest) = queue.keys().find(|queued| queued[..3] == key::district(1, d)) {
            expected.push(oldest.clone());
            let o = key::order_number(oldest);
            let now = row(model, "order", oldest);
            assert_eq!(order::O_CARRIER_ID.get(before.row("order", oldest)), 0);
            assert!((1..=10).contains(&order::O_CARRIER_ID.get(now)));
            let mut sum = 0;
            for line in 1..=order::O_OL_CNT.get(now) {
                let key = key::order_line(1, d, o, line);
                let line = row(model, "order_line", &key);
                assert!(order_line::OL_DELIVERY_D.get(line) > 1);
                sum += i64::from(order_line::OL_AMOUNT.get(line));
            }
            let key = key::customer(1, d, order::O_C_ID.get(now));
            let (old, now) =
                (before.row("customer.account", &key), row(model, "customer.account", &key));
            assert_eq!(customer::C_BALANCE.get(now), customer::C_BALANCE.get(old) + sum);
            let count = customer::C_DELIVERY_CNT.get(old) + 1;
            assert_eq!(customer::C_DELIVERY_CNT.get(now), count);
        }
    }
    assert_eq!(before.differences(model, "new_order"), expected);
    assert_eq!(before.differences(model, "order"), expected);
    assert_eq!(before.differences(model, "customer.account").len(), expected.len());
    expected.len()
}

/// Distinct items of the last 20 orders of the first district that are low in the first warehouse.
fn low_stocks(model: &Model, threshold: u32) -> u64 {
    let next = district::D_NEXT_O_ID.get(row(model, "district", &key::district(1, 1)));
    let mut items = BTreeSet::new();
    for (key, line) in model.rows("order_line") {
        let (o, _) = key::order_and_line(key);
        if key[..3] == key::district(1, 1) && o < next && o + 20 >= next {
            items.insert(order_line::OL_I_ID.get(line));
        }
    }
    let quantity = |&i: &u32| stock::S_QUANTITY.get(row(model, "stock", &key::stock(1, i)));
    items.iter().filter(|i| quantity(i) < threshold).count() as u64
}

#[test]
fn the_mixes_have_their_shares() {
    for (mix, scale, shares) in [
        (Mix::Standard, Scale::Spec, [45.0, 43.0, 4.0, 4.0, 4.0]),
        (Mix::Np, Scale::Spec, [50.0, 50.0, 0.0, 0.0, 0.0]),
        (Mix::NewOrder, Scale::Spec, [100.0, 0.0, 0.0, 0.0, 0.0]),
        (Mix::NewOrderStockLevel, Scale::Spec, [50.0, 0.0, 0.0, 0.0, 50.0]),
    ] {
        let tpcc = Tpcc::new(TpccOptions { mix, scale, ..TpccOptions::default() }).unwrap();
        let mut client = client(&tpcc, 0);
        let mut counts = [0f64; 5];
        for _ in 0..100_000 {
            let shape = tpcc.next(&mut client, &mut vec![]);
            assert_eq!(shape.read_only, matches!(shape.kind, 2 | 4));
            assert_eq!(shape.snapshot, shape.read_only);
            counts[shape.kind] += 1.0 / 1000.0;
        }
        for (count, share) in counts.iter().zip(shares) {
            assert!((count - share).abs() < 0.6, "{mix:?}: {counts:?}");
        }
    }
}

fn client(tpcc: &Tpcc, index: usize) -> Client {
    let tables: Vec<_> = (0..10).map(|at| chiliad_api::TableId(8 * at)).collect();
    tpcc.client(&tables, ClientId::apart(index, 8, 3))
}

#[test]
fn other_warehouses_come_up_as_often_as_asked() {
    for (mix, remote_item, low, high) in [
        (Mix::Payment, 0.0, 0.14, 0.16),
        (Mix::NewOrder, 0.0, 0.0, 0.0),
        // 1 - 0.99^n over 5 to 15 lines.
        (Mix::NewOrder, 1.0, 0.085, 0.105),
        (Mix::NewOrder, 100.0, 1.0, 1.0),
    ] {
        let options = TpccOptions { warehouses: 4, mix, remote_item, ..TpccOptions::default() };
        let tpcc = Tpcc::new(options).unwrap();
        let mut client = client(&tpcc, 2);
        let mut remote = 0;
        for _ in 0..50_000 {
            let mut partitions = vec![];
            tpcc.next(&mut client, &mut partitions);
            assert!(partitions.contains(&2) && partitions.iter().all(|&partition| partition < 4));
            assert!(partitions.windows(2).all(|pair| pair[0] < pair[1]));
            remote += u32::from(partitions.len() > 1);
        }
        let remote = f64::from(remote) / 50_000.0;
        assert!((low..=high).contains(&remote), "{mix:?} {remote_item}: {remote}");
    }
}

#[test]
fn snapshots_are_read_only_where_asked() {
    let options = TpccOptions { snapshot_reads: false, ..TpccOptions::default() };
    let tpcc = Tpcc::new(options).unwrap();
    let mut client = client(&tpcc, 0);
    assert!((0..1000).all(|_| !tpcc.next(&mut client, &mut vec![]).snapshot));
}

#[test]
fn a_second_run_on_the_same_database_goes_on_numbering_payments() {
    let (tpcc, mut model, mut first) = micro(Mix::Payment);
    for _ in 0..50 {
        model.step(&tpcc, &mut first);
    }
    let mut second = model.clients(&tpcc, 1, 99).remove(0);
    for _ in 0..50 {
        model.step(&tpcc, &mut second);
    }
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
    let first = model.rows("history").keys().filter(|key| key[..4] == [0; 4]);
    assert_eq!(first.count(), 100);
}

#[test]
fn the_same_request_can_be_run_again() {
    let (tpcc, mut model, mut client) = micro(Mix::Standard);
    for _ in 0..300 {
        let shape = tpcc.next(&mut client, &mut vec![]);
        let mut states = vec![];
        for attempt in 0..2 {
            let result = model.transaction(shape.read_only, |tx| {
                tpcc.execute(&mut client, tx)?;
                // The first attempt is refused at its end.
                if attempt == 0 { Err(chiliad_api::Error::DeadlineExceeded) } else { Ok(()) }
            });
            states.push((result.is_ok(), client.shown()));
        }
        assert_eq!(states[0].1, states[1].1);
    }
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
}
