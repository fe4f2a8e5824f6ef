//! TPC-C's population, row by row against clause 4.3.3.1.

use crate::model::{Model, Outcome};
use chiliad_workload::Workload;
use chiliad_workload::tpcc::random::has_original;
use chiliad_workload::tpcc::schema::{
    customer, customer_data, customer_info, district, history, item, key, order, order_line, stock,
    stock_info, warehouse,
};
use chiliad_workload::tpcc::{Tpcc, TpccOptions};
use std::collections::BTreeSet;

/// Whether `part` of `whole` is `percent` of a hundred, give or take a tenth.
fn is_about(part: usize, whole: usize, percent: f64) -> bool {
    let share = part as f64 * 100.0 / whole as f64;
    (share - percent).abs() < percent / 10.0
}

#[test]
fn the_full_population() {
    let tpcc = Tpcc::new(TpccOptions::default()).unwrap();
    let mut model = Model::load(&tpcc, 42);
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
    for (table, rows) in [
        ("warehouse", 1),
        ("district", 10),
        ("customer.account", 30_000),
        ("customer", 30_000),
        ("customer.data", 30_000),
        ("history", 30_000),
        ("order", 30_000),
        ("order_customer", 30_000),
        ("new_order", 9000),
        ("item", 100_000),
        ("stock", 100_000),
        ("stock.texts", 100_000),
    ] {
        assert_eq!(model.rows(table).len(), rows, "{table}");
    }
    let lines = model.rows("order_line").len();
    assert!((297_000..303_000).contains(&lines), "{lines}");

    items_and_stock(&model);
    customers(&model);
    orders(&model);
    let row = &model.rows("warehouse")[&key::warehouse(1)[..]];
    assert_eq!(warehouse::W_YTD.get(row), 30_000_000);
    assert!(warehouse::W_TAX.get(row) <= 2000);
    assert_eq!(&warehouse::W_ZIP.get(row)[4..], b"11111");
    for row in model.rows("district").values() {
        assert_eq!((district::D_YTD.get(row), district::D_NEXT_O_ID.get(row)), (3_000_000, 3001));
    }

    // The standard mix at full scale, and every condition afterwards.
    let mut clients = model.clients(&tpcc, 2, 7);
    let mut rolled_back = 0;
    for at in 0..2000 {
        let (_, outcome) = model.step(&tpcc, &mut clients[at % 2]);
        rolled_back += u32::from(outcome == Outcome::RolledBack);
    }
    assert!((1..40).contains(&rolled_back), "{rolled_back}");
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
}

fn items_and_stock(model: &Model) {
    let items = model.rows("item");
    let brands = items.values().filter(|row| has_original(item::I_DATA.get(row))).count();
    assert!(is_about(brands, items.len(), 10.0), "{brands}");
    for row in items.values() {
        assert!((100..=10_000).contains(&item::I_PRICE.get(row)));
        assert!((26..=50).contains(&item::I_DATA.get(row).len()));
        assert!((14..=24).contains(&item::I_NAME.get(row).len()));
    }
    let infos = model.rows("stock.texts");
    let brands = infos.values().filter(|row| has_original(stock_info::S_DATA.get(row))).count();
    assert!(is_about(brands, infos.len(), 10.0), "{brands}");
    for row in infos.values() {
        assert!((26..=50).contains(&stock_info::S_DATA.get(row).len()));
        assert!((1..=10).all(|d| stock_info::s_dist(d).get(row).is_ascii()));
    }
    for row in model.rows("stock").values() {
        assert!((10..=100).contains(&stock::S_QUANTITY.get(row)));
        assert_eq!(stock::S_YTD.get(row) + stock::S_ORDER_CNT.get(row), 0);
    }
}

fn customers(model: &Model) {
    let infos = model.rows("customer");
    let bad = infos.values().filter(|row| customer_info::C_CREDIT.get(row) == b"BC").count();
    assert!(is_about(bad, infos.len(), 10.0), "{bad}");
    for d in 1..=10 {
        let names: BTreeSet<&[u8]> = (1..=1000)
            .map(|c| customer_info::C_LAST.get(&infos[&key::customer(1, d, c)[..]]))
            .collect();
        assert_eq!(names.len(), 1000, "the first thousand have all names");
        let others: BTreeSet<&[u8]> = (1001..=3000)
            .map(|c| customer_info::C_LAST.get(&infos[&key::customer(1, d, c)[..]]))
            .collect();
        assert!(others.len() < 1000 && others.is_subset(&names), "{}", others.len());
    }
    for row in infos.values() {
        assert!(customer_info::C_DISCOUNT.get(row) <= 5000);
        assert_eq!(customer_info::C_CREDIT_LIM.get(row), 5_000_000);
        assert!((8..=16).contains(&customer_info::C_FIRST.get(row).len()));
        assert_eq!(customer_info::C_MIDDLE.get(row), b"OE");
    }
    for row in model.rows("customer.account").values() {
        assert_eq!(customer::C_BALANCE.get(row), -1000);
        assert_eq!(customer::C_YTD_PAYMENT.get(row), 1000);
        assert_eq!((customer::C_PAYMENT_CNT.get(row), customer::C_DELIVERY_CNT.get(row)), (1, 0));
    }
    for row in model.rows("customer.data").values() {
        assert!((300..=customer_data::C_DATA_MAX).contains(&row.len()));
    }
    for row in model.rows("history").values() {
        assert_eq!(history::H_AMOUNT.get(row), 1000);
        assert!((12..=24).contains(&history::H_DATA.get(row).len()));
    }
}

fn orders(model: &Model) {
    for d in 1..=10 {
        let mut customers = BTreeSet::new();
        let mut in_order = true;
        for o in 1..=3000 {
            let row = &model.rows("order")[&key::order(1, d, o)[..]];
            let c = order::O_C_ID.get(row);
            in_order &= u32::from(c) == o;
            customers.insert(c);
            assert!((5..=15).contains(&order::O_OL_CNT.get(row)));
            assert_eq!(order::O_CARRIER_ID.get(row) == 0, o > 2100);
            assert_eq!(order::O_ALL_LOCAL.get(row), 1);
            assert!(
                model.rows("order_customer").contains_key(&key::order_customer(1, d, c, o)[..])
            );
            assert_eq!(model.rows("new_order").contains_key(&key::order(1, d, o)[..]), o > 2100);
            let line = &model.rows("order_line")[&key::order_line(1, d, o, 1)[..]];
            assert_eq!(order_line::OL_QUANTITY.get(line), 5);
            assert_eq!(order_line::OL_AMOUNT.get(line) == 0, o <= 2100);
            assert_eq!(order_line::OL_DELIVERY_D.get(line) == 0, o > 2100);
        }
        assert_eq!(customers.len(), 3000, "one order for each customer");
        assert!(!in_order, "in random order");
    }
}

#[test]
fn loading_is_repeatable_part_by_part() {
    let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
    let ids: Vec<_> = (0..10).map(|at| chiliad_api::TableId(8 * at)).collect();
    let part = |part, seed| {
        let mut rows = vec![];
        let insert = &mut |table, key: &[u8], row: &[u8]| {
            rows.push((table, key.to_vec(), row.to_vec()));
            Ok(())
        };
        tpcc.load(&ids, part, seed, insert).unwrap();
        rows
    };
    assert_eq!(tpcc.load_parts(), 1 + 2 * 4);
    for number in 0..tpcc.load_parts() {
        assert_eq!(part(number, 3), part(number, 3));
        assert_ne!(part(number, 3), part(number, 4));
    }
}
