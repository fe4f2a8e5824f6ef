//! TPC-E: the rows, what each transaction does to them, and conditions that hold and can fail.

use crate::model::{Counts, Model, Outcome};
use chiliad_workload::Workload;
use chiliad_workload::tpce::schema::{
    broker, cash_transaction, customer_account, holding, holding_history, holding_summary, key,
    last_trade, settlement, trade,
};
use chiliad_workload::tpce::{Client, Mix, Tpce, TpceOptions};

fn start(options: TpceOptions) -> (Tpce, Model, Client) {
    let tpce = Tpce::new(options).unwrap();
    let model = Model::load(&tpce, 5);
    let client = model.clients(&tpce, 1, 9).remove(0);
    (tpce, model, client)
}

const POSITION: usize = 0;
const WATCH: usize = 1;
const STATUS: usize = 2;
const ORDER: usize = 3;
const UPDATE: usize = 4;
const RESULT: usize = 5;

#[test]
fn it_begins_with_completed_trades() {
    for (customers, trade_days, partitions) in [(6, 1, 1), (6, 3, 3), (18, 2, 4)] {
        let options = TpceOptions { customers, trade_days, partitions, ..TpceOptions::micro() };
        let (tpce, mut model, _) = start(options);
        assert_eq!(model.broken(&tpce), Vec::<String>::new());
        let count = |name: &str| model.rows(name).len();
        let trades = (customers * 3 * trade_days) as usize;
        assert_eq!(count("trade"), trades);
        assert_eq!((count("settlement"), count("trade_account")), (trades, trades));
        assert_eq!((count("trade_queue"), count("trade_request")), (0, 0));
        assert!(count("holding") > 0 && count("holding_history") >= trades);
        assert_eq!(count("customer"), customers as usize);
        assert_eq!(count("security"), customers as usize * 5 / 6);
    }
}

#[test]
fn transactions_keep_the_conditions() {
    let (tpce, mut model, mut client) = start(TpceOptions::micro());
    let (mut kinds, mut rolled_back, mut idle) = ([0; 6], 0, 0);
    for _ in 0..3000 {
        let (kind, outcome) = model.step(&tpce, &mut client);
        kinds[kind] += 1;
        rolled_back += usize::from(outcome == Outcome::RolledBack);
        assert!(outcome == Outcome::Committed || kind == ORDER);
        let found = !tpce.unsuccessful(&client);
        idle += usize::from(kind == RESULT && !found);
        assert!(found || kind == RESULT || outcome == Outcome::RolledBack);
    }
    assert!(kinds.iter().all(|&count| count > 300), "{kinds:?}");
    assert!((1..30).contains(&rolled_back), "{rolled_back}");
    assert!(idle < kinds[RESULT] / 2, "{idle} of {}", kinds[RESULT]);
    assert_eq!(model.broken(&tpce), Vec::<String>::new());
    // Both sides of the market were taken, and both kinds of accounts.
    let shares = model.rows("holding").values().map(|row| holding::H_QTY.get(row));
    assert!(shares.clone().any(|it| it < 0) && shares.clone().any(|it| it > 0));
}

#[test]
fn those_that_only_read_change_nothing() {
    let (tpce, mut model, mut client) = start(TpceOptions::micro());
    for _ in 0..500 {
        model.counts = Counts::default();
        let (kind, outcome) = model.step(&tpce, &mut client);
        let Counts { inserts, changes, removes, .. } = model.counts;
        let nothing = inserts + changes + removes == 0;
        // Corrections change nothing where an account has no trades.
        let may_write = kind > STATUS && (outcome == Outcome::RolledBack || client.found());
        assert!(nothing != may_write || kind == UPDATE, "{kind}");
    }
}

#[test]
fn an_order_takes_the_number_after_the_greatest() {
    let (tpce, mut model, mut client) = start(TpceOptions::micro());
    let (mut orders, mut limits) = (0, 0);
    for _ in 0..500 {
        let before = model.rows("trade").len();
        let queued = model.rows("trade_queue").len();
        let requests = model.rows("trade_request").len();
        let (kind, outcome) = model.step(&tpce, &mut client);
        if (kind, outcome) != (ORDER, Outcome::Committed) {
            assert_eq!(model.rows("trade").len(), before);
            continue;
        }
        let (number, row) = model.rows("trade").last_key_value().unwrap();
        assert_eq!(number[..], key::trade(before as u64 + 1));
        assert_eq!(model.rows("trade_queue").len(), queued + 1);
        let is_limit = usize::from(trade::T_TT_ID.get(row) >= 2);
        assert_eq!(trade::T_ST_ID.get(row) == 0, is_limit == 1);
        assert_eq!(model.rows("trade_request").len(), requests + is_limit);
        let account = trade::T_CA_ID.get(row);
        let by_account = key::trade_by(account, before as u64 + 1);
        assert!(model.rows("trade_account").contains_key(&by_account[..]));
        (orders, limits) = (orders + 1, limits + is_limit);
    }
    assert!(orders > 90 && limits > 20 && limits < orders, "{limits} of {orders}");
}

#[test]
fn a_result_completes_the_oldest_trade_of_a_broker() {
    let (tpce, mut model, mut client) = start(TpceOptions::micro());
    let mut completed = 0;
    for _ in 0..600 {
        let queue = model.rows("trade_queue").clone();
        let balances = model.rows("customer_account").clone();
        let (kind, _) = model.step(&tpce, &mut client);
        if kind != RESULT || !client.found() {
            continue;
        }
        let left = model.rows("trade_queue");
        let taken: Vec<_> = queue.keys().filter(|key| !left.contains_key(*key)).collect();
        assert_eq!(taken.len(), 1);
        let broker = &taken[0][..4];
        assert_eq!(queue.keys().find(|key| key.starts_with(broker)), Some(taken[0]));
        let number = key::trade(key::last_trade(taken[0]));
        let row = &model.rows("trade")[&number[..]];
        assert_eq!(trade::T_ST_ID.get(row), 2);
        let amount = settlement::SE_AMT.get(&model.rows("settlement")[&number[..]]);
        let account = &key::one(trade::T_CA_ID.get(row))[..];
        let balance = |rows: &std::collections::BTreeMap<Vec<u8>, Vec<u8>>| {
            customer_account::CA_BAL.get(&rows[account])
        };
        let paid = balance(model.rows("customer_account")) - balance(&balances);
        let is_cash = trade::T_IS_CASH.get(row) == 1;
        assert_eq!(paid, if is_cash { amount } else { 0 });
        assert_eq!(model.rows("cash_transaction").contains_key(&number[..]), is_cash);
        completed += 1;
    }
    assert!(completed > 50, "{completed}");
}

#[test]
fn mixes_have_their_shares() {
    for (mix, shares) in [
        (Mix::Thesis, [25, 35, 15, 15, 10, 0]),
        (Mix::ThesisResult, [25, 35, 15, 15, 0, 10]),
        (Mix::Standard, [18, 25, 26, 14, 3, 14]),
    ] {
        let options = TpceOptions { mix, ..TpceOptions::default() };
        let tpce = Tpce::new(options).unwrap();
        let ids: Vec<_> = (0..tpce.tables().len() as u32).map(chiliad_api::TableId).collect();
        let id = chiliad_workload::ClientId::apart(0, 1, 3);
        let mut client = tpce.client(&ids, id);
        let mut counts = [0; 6];
        for _ in 0..10_000 {
            let shape = tpce.next(&mut client, &mut vec![]);
            assert_eq!(shape.read_only, shape.kind <= STATUS);
            counts[shape.kind] += 1;
        }
        for (count, share) in counts.into_iter().zip(shares) {
            assert!((share * 90 - 60..=share * 110 + 60).contains(&count), "{mix:?} {counts:?}");
        }
        assert_eq!((counts[UPDATE] == 0, counts[RESULT] == 0), (shares[4] == 0, shares[5] == 0));
        assert!(counts[POSITION] > 0 && counts[WATCH] > 0);
    }
}

/// A row, and a change of it.
type Plant<'p> = (&'p str, Vec<u8>, Box<dyn Fn(&mut Option<Vec<u8>>)>);

fn change(name: &str, key: &[u8], change: impl Fn(&mut [u8]) + 'static) -> Plant<'static> {
    let name: &'static str = name.to_owned().leak();
    (name, key.to_vec(), Box::new(move |row| change(row.as_mut().expect("a row"))))
}

#[test]
fn conditions_can_fail() {
    let (tpce, mut model, mut client) = start(TpceOptions::micro());
    for _ in 0..1500 {
        model.step(&tpce, &mut client);
    }
    assert_eq!(model.broken(&tpce), Vec::<String>::new());
    let first = |name: &str| model.rows(name).first_key_value().unwrap().0.clone();
    let last = |name: &str| model.rows(name).last_key_value().unwrap().0.clone();
    let removes: &[(&str, &[&str])] = &[
        ("trade_history", &["trades"]),
        ("trade_account", &["trades"]),
        ("trade_security", &["trades"]),
        ("trade_queue", &["trades"]),
        ("trade_request", &["trades"]),
        ("settlement", &["cash"]),
        ("cash_transaction", &["cash"]),
        ("holding", &["holdings", "history"]),
        ("holding_summary", &["holdings"]),
        ("holding_history", &["history"]),
    ];
    let mut plants: Vec<(Plant<'_>, &[&str])> = Vec::new();
    for &(name, broken) in removes {
        let plant: Plant<'_> = (name, first(name), Box::new(|row| *row = None));
        plants.push((plant, broken));
    }
    let add = |column: chiliad_workload::row::Column<i64>, by: i64| {
        move |row: &mut [u8]| column.set(row, column.get(row) + by)
    };
    let one = key::one(0);
    let trade_one = key::trade(1);
    plants.extend::<Vec<(Plant<'_>, &[&str])>>(vec![
        (change("customer_account", &one, add(customer_account::CA_BAL, 1)), &["cash"]),
        (change("settlement", &trade_one, add(settlement::SE_AMT, -1)), &["cash"]),
        (change("holding", &last("holding"), add(holding::H_QTY, 100)), &["holdings", "history"]),
        (
            change("holding_summary", &first("holding_summary"), add(holding_summary::HS_QTY, 100)),
            &["holdings"],
        ),
        (
            change(
                "holding_history",
                &last("holding_history"),
                add(holding_history::HH_AFTER_QTY, 100),
            ),
            &["history"],
        ),
        (
            change("broker", &one, |row| {
                broker::B_NUM_TRADES.set(row, broker::B_NUM_TRADES.get(row) + 1)
            }),
            &["brokers"],
        ),
        (
            change("broker", &one, |row| {
                broker::B_COMM_TOTAL.set(row, broker::B_COMM_TOTAL.get(row) - 1)
            }),
            &["brokers"],
        ),
        (
            change("last_trade", &one, |row| {
                last_trade::LT_VOL.set(row, last_trade::LT_VOL.get(row) + 100)
            }),
            &["volumes"],
        ),
        (
            change("trade", &trade_one, |row| trade::T_ST_ID.set(row, 1)),
            &["trades", "brokers", "cash", "history"],
        ),
        (change("trade", &trade_one, |row| trade::T_EXEC_NAME.set(row, b"Nobody")), &["texts"]),
        (
            change("trade", &trade_one, |row| trade::T_COMM.set(row, trade::T_COMM.get(row) + 1)),
            &["brokers", "cash"],
        ),
        (
            change("settlement", &trade_one, |row| settlement::SE_CASH_TYPE.set(row, b"Gold")),
            &["texts"],
        ),
        (
            change("cash_transaction", &first("cash_transaction"), |row| {
                cash_transaction::CT_NAME.set(row, b"Gift")
            }),
            &["texts"],
        ),
        (
            change(
                "cash_transaction",
                &first("cash_transaction"),
                add(cash_transaction::CT_AMT, 5),
            ),
            &["cash"],
        ),
    ]);
    for ((name, key, plant), broken) in plants {
        let before = model.rows(name)[&key].clone();
        model.tamper(name, &key, plant);
        assert_eq!(model.broken(&tpce), broken, "{name} {key:?}");
        model.tamper(name, &key, |row| *row = Some(before));
    }
    // A trade that is not there, in the middle and at the end.
    for number in [7, model.rows("trade").len() as u64] {
        let row = model.rows("trade")[&key::trade(number)[..]].clone();
        model.tamper("trade", &key::trade(number), |row| *row = None);
        assert!(model.broken(&tpce).contains(&"trades".to_owned()), "{number}");
        model.tamper("trade", &key::trade(number), |there| *there = Some(row));
    }
    assert_eq!(model.broken(&tpce), Vec::<String>::new());
}
