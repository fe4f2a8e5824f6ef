//! The conditions of clause 3.3.2 hold after loading and after running, and each of them fails when
//! the rows it speaks of do not agree.

use crate::model::Model;
use chiliad_workload::Workload;
use chiliad_workload::tpcc::schema::{
    customer, district, history, key, order, order_line, warehouse,
};
use chiliad_workload::tpcc::{Mix, Tpcc, TpccOptions};

/// A micro database after some transactions, with orders of both kinds.
fn used() -> (Tpcc, Model) {
    let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
    let mut model = Model::load(&tpcc, 5);
    let mut clients = model.clients(&tpcc, 3, 5);
    for at in 0..600 {
        model.step(&tpcc, &mut clients[at % 3]);
    }
    // Leave something in the queues.
    let more = TpccOptions { mix: Mix::NewOrder, ..TpccOptions::micro() };
    let more = Tpcc::new(more).unwrap();
    let mut client = model.clients(&more, 8, 5).pop().unwrap();
    let mut other = model.clients(&more, 8, 6).remove(0);
    for _ in 0..20 {
        model.step(&more, &mut client);
        model.step(&more, &mut other);
    }
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
    (tpcc, model)
}

/// The conditions that fail once `tamper` was at work.
fn broken_by(tamper: impl FnOnce(&mut Model)) -> Vec<String> {
    let (tpcc, mut model) = used();
    tamper(&mut model);
    let mut names = model.broken(&tpcc);
    names.iter_mut().for_each(|name| *name = name.replace("3.3.2.", ""));
    names
}

fn change(model: &mut Model, table: &str, key: &[u8], change: impl FnOnce(&mut [u8])) {
    model.tamper(table, key, |row| change(row.as_mut().expect("a row to tamper with")));
}

/// A new order and a delivered one in the first district, and the rows' keys.
fn new_and_delivered(model: &Model) -> (u32, u32) {
    let newest = |want: bool| {
        let is_new = |o: u32| model.rows("new_order").contains_key(&key::order(1, 1, o)[..]);
        let orders = model.rows("order").keys().rev();
        let mut orders = orders.filter(|order| order[..3] == key::district(1, 1));
        let found = orders.find(|order| is_new(key::order_number(order)) == want);
        key::order_number(found.expect("an order"))
    };
    (newest(true), newest(false))
}

#[test]
fn all_hold_through_ten_thousand_transactions() {
    let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
    let mut model = Model::load(&tpcc, 9);
    let names: Vec<String> = model.conditions(&tpcc).into_iter().map(|c| c.name).collect();
    assert_eq!(names.len(), 12);
    assert_eq!((names[0].as_str(), names[11].as_str()), ("3.3.2.1", "3.3.2.12"));
    let mut clients = model.clients(&tpcc, 4, 1);
    for at in 0..10_000 {
        if at % 2500 == 0 {
            assert_eq!(model.broken(&tpcc), Vec::<String>::new(), "after {at}");
        }
        model.step(&tpcc, &mut clients[at % 4]);
    }
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
    let orders = model.rows("order").len();
    assert_eq!(model.rows("order_customer").len(), orders);
    for (order, row) in model.rows("order") {
        let (w, d) = (u16::from_be_bytes([order[0], order[1]]), order[2]);
        let o = key::order_number(order);
        let by_customer = key::order_customer(w, d, order::O_C_ID.get(row), o);
        assert!(model.rows("order_customer").contains_key(&by_customer[..]));
    }
}

#[test]
fn totals_that_lie_apart_agree_too() {
    let options = TpccOptions { totals_apart: true, ..TpccOptions::micro() };
    let tpcc = Tpcc::new(options).unwrap();
    let mut model = Model::load(&tpcc, 9);
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
    let (warehouses, before) =
        (model.rows("warehouse").clone(), model.rows("warehouse_total").clone());
    let mut clients = model.clients(&tpcc, 4, 1);
    for at in 0..2_000 {
        model.step(&tpcc, &mut clients[at % 4]);
    }
    assert_eq!(model.broken(&tpcc), Vec::<String>::new());
    assert_eq!(*model.rows("warehouse"), warehouses);
    assert_ne!(*model.rows("warehouse_total"), before);
    change(&mut model, "district_total", &key::district(2, 3), |row| row[0] ^= 1);
    assert_eq!(model.broken(&tpcc), ["3.3.2.1", "3.3.2.9"]);
}

#[test]
fn sums_of_payments_must_agree() {
    let names = broken_by(|model| {
        change(model, "warehouse", &key::warehouse(2), |row| {
            warehouse::W_YTD.set(row, warehouse::W_YTD.get(row) + 1);
        });
    });
    assert_eq!(names, ["1", "8"]);
    let names = broken_by(|model| {
        change(model, "district", &key::district(2, 3), |row| {
            district::D_YTD.set(row, district::D_YTD.get(row) - 1);
        });
    });
    assert_eq!(names, ["1", "9"]);
    let names = broken_by(|model| {
        let last = model.rows("history").keys().next().cloned().unwrap();
        change(model, "history", &last, |row| {
            history::H_AMOUNT.set(row, history::H_AMOUNT.get(row) + 1);
        });
    });
    assert_eq!(names, ["8", "9", "10"]);
    let names = broken_by(|model| {
        let last = model.rows("history").keys().next().cloned().unwrap();
        change(model, "history", &last, |row| history::H_C_ID.set(row, 999));
    });
    assert!(names.contains(&"8".to_string()) && names.contains(&"10".to_string()), "{names:?}");
}

#[test]
fn order_numbers_must_agree() {
    let names = broken_by(|model| {
        change(model, "district", &key::district(1, 1), |row| {
            district::D_NEXT_O_ID.set(row, district::D_NEXT_O_ID.get(row) + 1);
        });
    });
    assert_eq!(names, ["2"]);
    let names = broken_by(|model| {
        // A hole in the queue: its order counts as delivered by nobody.
        let queue = model.rows("new_order").keys().filter(|key| key[..3] == [0, 1, 1]);
        let hole = queue.clone().nth(1).cloned().unwrap();
        assert!(queue.count() > 2);
        model.tamper("new_order", &hole, |row| *row = None);
    });
    assert_eq!(names, ["3", "5", "11"]);
}

#[test]
fn orders_and_their_lines_must_agree() {
    let names = broken_by(|model| {
        let (o, _) = new_and_delivered(model);
        change(model, "order", &key::order(1, 1, o), |row| {
            order::O_OL_CNT.set(row, order::O_OL_CNT.get(row) + 1);
        });
    });
    assert_eq!(names, ["4", "6"]);
    let names = broken_by(|model| {
        // One line less here, one more there: only the count of each order shows it.
        let (o, other) = new_and_delivered(model);
        change(model, "order", &key::order(1, 1, o), |row| {
            order::O_OL_CNT.set(row, order::O_OL_CNT.get(row) + 1);
        });
        change(model, "order", &key::order(1, 1, other), |row| {
            order::O_OL_CNT.set(row, order::O_OL_CNT.get(row) - 1);
        });
    });
    assert_eq!(names, ["6"]);
    let names = broken_by(|model| {
        let row = vec![0; order_line::BYTES];
        model.tamper("order_line", &key::order_line(1, 1, 1_000_000, 1), |line| *line = Some(row));
    });
    assert_eq!(names, ["4", "6"]);
    let names = broken_by(|model| {
        let (o, _) = new_and_delivered(model);
        model.tamper("order_line", &key::order_line(1, 1, o, 1), |line| *line = None);
    });
    assert_eq!(names, ["4", "6"]);
}

#[test]
fn what_is_delivered_must_agree() {
    let names = broken_by(|model| {
        let (o, _) = new_and_delivered(model);
        change(model, "order", &key::order(1, 1, o), |row| order::O_CARRIER_ID.set(row, 3));
    });
    assert_eq!(names, ["5", "7"]);
    let names = broken_by(|model| {
        let (o, _) = new_and_delivered(model);
        change(model, "order_line", &key::order_line(1, 1, o, 1), |row| {
            order_line::OL_AMOUNT.set(row, 0);
            order_line::OL_DELIVERY_D.set(row, 9);
        });
    });
    assert_eq!(names, ["7"]);
    let names = broken_by(|model| {
        model.tamper("new_order", &key::order(1, 1, 1_000_000), |row| *row = Some(vec![]));
    });
    assert_eq!(names, ["2", "3", "5", "11"]);
}

#[test]
fn balances_must_agree() {
    let customer = key::customer(2, 3, 10);
    let names = broken_by(|model| {
        change(model, "customer", &customer, |row| {
            customer::C_BALANCE.set(row, customer::C_BALANCE.get(row) + 1);
        });
    });
    assert_eq!(names, ["10", "12"]);
    let names = broken_by(|model| {
        change(model, "customer", &customer, |row| {
            customer::C_YTD_PAYMENT.set(row, customer::C_YTD_PAYMENT.get(row) + 1);
        });
    });
    assert_eq!(names, ["12"]);
    let names = broken_by(|model| {
        change(model, "customer", &customer, |row| {
            customer::C_DELIVERY_CNT.set(row, customer::C_DELIVERY_CNT.get(row) + 1);
        });
    });
    assert_eq!(names, ["11"]);
    let names = broken_by(|model| model.tamper("customer", &customer, |row| *row = None));
    assert!(names.contains(&"10".to_string()), "{names:?}");
}

#[test]
fn a_failure_says_what_is_wrong() {
    let (tpcc, mut model) = used();
    assert_eq!(tpcc.name(), "tpcc");
    change(&mut model, "warehouse", &key::warehouse(1), |row| warehouse::W_YTD.set(row, 5));
    let first = model.conditions(&tpcc).swap_remove(0);
    let failure = first.failure.unwrap();
    assert!(failure.starts_with("warehouse 1: W_YTD is 5, the sum of D_YTD "), "{failure}");
}
