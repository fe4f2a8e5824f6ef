//! SmallBank: the mix, what each transaction does to the money, and conditions that hold and can
//! fail.

use crate::model::{Model, Outcome};
use chiliad_workload::smallbank::schema::{account, balance, key};
use chiliad_workload::smallbank::{Client, Smallbank, SmallbankOptions};
use chiliad_workload::{ClientId, Workload};

fn start(options: SmallbankOptions) -> (Smallbank, Model, Client) {
    let bank = Smallbank::new(options).unwrap();
    let model = Model::load(&bank, 5);
    let client = model.clients(&bank, 1, 9).remove(0);
    (bank, model, client)
}

fn cents(model: &Model, table: &str, customer: u32) -> i64 {
    balance::CENTS.get(&model.rows(table)[&key::customer(customer)[..]])
}

/// Savings and checking of all customers.
fn all(model: &Model) -> Vec<[i64; 2]> {
    let customers = 0..model.rows("savings").len() as u32;
    customers.map(|it| [cents(model, "savings", it), cents(model, "checking", it)]).collect()
}

#[test]
fn the_population_is_as_specified() {
    let options = SmallbankOptions { accounts: 20_000, ..SmallbankOptions::default() };
    let (bank, mut model, _) = start(options);
    assert_eq!(bank.load_parts(), 2);
    for table in ["account", "savings", "checking"] {
        assert_eq!(model.rows(table).len(), 20_000, "{table}");
    }
    let row = &model.rows("account")[&b"customer00019999"[..]];
    assert_eq!(account::CUSTOMER.get(row), 19_999);
    let balances: Vec<i64> = all(&model).into_iter().flatten().collect();
    assert!(balances.iter().all(|cents| (1_000_000..=5_000_000).contains(cents)));
    let mean = balances.iter().sum::<i64>() / balances.len() as i64;
    assert!((2_970_000..3_030_000).contains(&mean), "{mean}");
    assert_eq!(model.rows("ledger").len(), 2);
    assert_eq!(model.broken(&bank), Vec::<String>::new());
}

#[test]
fn transactions_move_what_they_should() {
    let (bank, mut model, mut client) = start(SmallbankOptions::micro());
    let (mut kinds, mut refused, mut penalties) = ([0; 6], [0; 6], 0);
    for _ in 0..20_000 {
        let before = all(&model);
        let ledger: i64 = model.rows("ledger").values().map(|row| balance::CENTS.get(row)).sum();
        let (kind, outcome) = model.step(&bank, &mut client);
        let [first, second] = client.customers().map(|customer| customer as usize);
        let amount = client.amount();
        let [saved, checked] = before[first];
        let mut expected = before.clone();
        let mut expected_outcome = Outcome::Committed;
        match bank.kinds()[kind] {
            "balance" => assert_eq!(client.shown(), saved + checked),
            "deposit_checking" => expected[first][1] += 130,
            "transact_savings" if saved + amount < 0 => expected_outcome = Outcome::RolledBack,
            "transact_savings" => {
                assert_eq!(amount.abs(), 2020);
                expected[first][0] += amount;
            }
            "amalgamate" => {
                expected[first] = [0, 0];
                expected[second][1] += saved + checked;
            }
            "write_check" => {
                let penalty = if saved + checked < 500 { 100 } else { 0 };
                penalties += penalty / 100;
                expected[first][1] -= 500 + penalty;
            }
            _ if checked < 500 => expected_outcome = Outcome::RolledBack,
            _ => {
                expected[first][1] -= 500;
                expected[second][1] += 500;
            }
        }
        assert_eq!(outcome, expected_outcome, "{}", bank.kinds()[kind]);
        assert_eq!(all(&model), expected, "{}", bank.kinds()[kind]);
        let sum = |all: &[[i64; 2]]| all.iter().flatten().sum::<i64>();
        let now: i64 = model.rows("ledger").values().map(|row| balance::CENTS.get(row)).sum();
        assert_eq!(now - ledger, sum(&expected) - sum(&before));
        kinds[kind] += 1;
        refused[kind] += u32::from(outcome == Outcome::RolledBack);
    }
    for (kind, share) in kinds.iter().zip([15, 15, 15, 15, 15, 25]) {
        assert!((share * 180..share * 220).contains(kind), "{kinds:?}");
    }
    assert!(refused[2] > 300 && refused[5] > 300, "{refused:?}");
    assert_eq!(refused.iter().sum::<u32>(), refused[2] + refused[5]);
    assert!(penalties > 300, "{penalties}");
    assert_eq!(model.broken(&bank), Vec::<String>::new());
}

#[test]
fn each_client_has_a_row_of_the_ledger() {
    let (bank, mut model, _) = start(SmallbankOptions::micro());
    let mut clients = model.clients(&bank, 4, 2);
    for at in 0..400 {
        model.step(&bank, &mut clients[at % 4]);
    }
    let rows: Vec<&Vec<u8>> = model.rows("ledger").keys().collect();
    assert_eq!(rows.len(), 4 + 1);
    // Another run on the same database goes on where this one ended.
    let mut again = model.clients(&bank, 4, 3);
    for at in 0..400 {
        model.step(&bank, &mut again[at % 4]);
    }
    assert_eq!(model.rows("ledger").len(), 4 + 1);
    assert_eq!(model.broken(&bank), Vec::<String>::new());
}

#[test]
fn hot_accounts_are_asked_for_as_often_as_told() {
    let (bank, _, mut client) = start(SmallbankOptions {
        accounts: 1000,
        hot_accounts: 10,
        hot_share: 80.0,
        ..SmallbankOptions::default()
    });
    let (mut hot, mut mixed) = (0, 0);
    for _ in 0..10_000 {
        let shape = bank.next(&mut client, &mut vec![]);
        let is_hot = client.customers().map(|customer| customer < 10);
        hot += u32::from(is_hot[0]);
        if matches!(bank.kinds()[shape.kind], "amalgamate" | "send_payment") {
            assert_ne!(client.customers()[0], client.customers()[1]);
            mixed += u32::from(is_hot[0] != is_hot[1]);
        }
    }
    assert!((7_700..8_300).contains(&hot), "{hot}");
    assert_eq!(mixed, 0);
}

#[test]
fn declared_partitions_cover_the_accounts() {
    let options = SmallbankOptions {
        accounts: 103,
        hot_accounts: 10,
        partitions: 5,
        ..SmallbankOptions::default()
    };
    let bank = Smallbank::new(options).unwrap();
    let model = Model::load(&bank, 1);
    let client_id = ClientId::apart(7, 8, 1);
    let mut client = bank.client(&model.ids(), client_id);
    let (mut two, mut across) = (0, 0);
    for _ in 0..10_000 {
        let mut partitions = vec![];
        let shape = bank.next(&mut client, &mut partitions);
        assert!(partitions.windows(2).all(|pair| pair[0] < pair[1]));
        let [first, second] = client.customers();
        assert!(bank.accounts_of(2).contains(&first));
        if matches!(bank.kinds()[shape.kind], "amalgamate" | "send_payment") {
            two += 1;
            across += usize::from(partitions.len() == 2);
            assert!(partitions.iter().any(|&it| bank.accounts_of(it).contains(&second)));
        } else {
            assert_eq!(partitions, [2]);
        }
    }
    let share = across * 100 / two;
    assert!((46..54).contains(&share), "{across} of {two}");
}

#[test]
fn requests_are_repeatable() {
    let (bank, mut model, mut client) = start(SmallbankOptions::micro());
    for _ in 0..500 {
        let shape = bank.next(&mut client, &mut vec![]);
        let mut shown = vec![];
        for refused in [true, false] {
            let _ = model.transaction(shape.read_only, |tx| {
                bank.execute(&mut client, tx)?;
                if refused { Err(chiliad_api::Error::DeadlineExceeded) } else { Ok(()) }
            });
            shown.push(client.shown());
        }
        assert_eq!(shown[0], shown[1]);
    }
    assert_eq!(model.broken(&bank), Vec::<String>::new());
}

#[test]
fn conditions_can_fail() {
    let (bank, mut model, mut client) = start(SmallbankOptions::micro());
    for _ in 0..100 {
        model.step(&bank, &mut client);
    }
    let customer = key::customer(7);
    let change = |by: i64| {
        move |row: &mut Option<Vec<u8>>| {
            let row = row.as_mut().unwrap();
            let cents = balance::CENTS.get(row) + by;
            balance::CENTS.set(row, cents);
        }
    };
    model.tamper("checking", &customer, change(1));
    assert_eq!(model.broken(&bank), ["money"]);
    model.tamper("ledger", &key::client(0), change(1));
    assert_eq!(model.broken(&bank), Vec::<String>::new());
    // Savings below zero, with all the money there.
    model.tamper("savings", &customer, change(-1_000_000));
    model.tamper("checking", &customer, change(1_000_000));
    assert_eq!(model.broken(&bank), ["savings"]);
    model.tamper("savings", &customer, change(1_000_000));
    model.tamper("checking", &customer, change(-1_000_000));
    // A name that leads to somebody else, and one that leads nowhere.
    model.tamper("account", &key::name(7), |row| account::CUSTOMER.set(row.as_mut().unwrap(), 8));
    assert_eq!(model.broken(&bank), ["accounts"]);
    model.tamper("account", &key::name(7), |row| *row = None);
    assert_eq!(model.broken(&bank), ["accounts"]);
    model.tamper("account", &key::name(7), |row| *row = Some(7u32.to_le_bytes().to_vec()));
    assert_eq!(model.broken(&bank), Vec::<String>::new());
    // A row of the ledger gone, and an account with what was on it.
    model.tamper("ledger", &key::load_part(0), |row| *row = None);
    assert_eq!(model.broken(&bank), ["money"]);

    model.tamper("checking", &customer, |row| *row = None);
    assert_eq!(model.broken(&bank), ["accounts", "money"]);
}
