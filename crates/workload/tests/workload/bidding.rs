//! Bidding: the rows, what is drawn, what a bid does to the rows, and conditions that hold and can fail.

use crate::model::{Counts, Model, Outcome};
use chiliad_workload::bidding::schema::{bid, bidmax, biduser, key};
use chiliad_workload::bidding::{Bidding, BiddingOptions, Client};
use chiliad_workload::{ClientId, Workload};

fn start(options: BiddingOptions) -> (Bidding, Model, Client) {
    let bidding = Bidding::new(options).unwrap();
    let model = Model::load(&bidding, 5);
    let client = model.clients(&bidding, 1, 9).remove(0);
    (bidding, model, client)
}

#[test]
fn it_begins_without_bids() {
    let options = BiddingOptions { users: 40_000, products: 20_000, partitions: 1 };
    let (bidding, mut model, _) = start(options);
    assert_eq!(bidding.load_parts(), 3);
    let rows = model.rows("biduser");
    assert!(rows.keys().cloned().eq((0..40_000).map(|it| key::user(it).to_vec())));
    assert!(rows.values().all(|row| row.len() == 4 && biduser::BIDS.get(row) == 0));
    let rows = model.rows("bidmax");
    assert!(rows.keys().cloned().eq((0..20_000).map(|it| key::product(it).to_vec())));
    assert!(rows.values().all(|row| row.len() == 4 && bidmax::AMOUNT.get(row) == 0));
    assert!(model.rows("bid").is_empty());
    assert_eq!(model.broken(&bidding), Vec::<String>::new());
}

#[test]
fn a_bid_counts_inserts_and_raises_the_highest() {
    let (bidding, mut model, mut client) = start(BiddingOptions::micro());
    let mut raised = 0;
    for _ in 0..2000 {
        let before = (model.rows("biduser").clone(), model.rows("bidmax").clone());
        let bids = model.rows("bid").len();
        model.counts = Counts::default();
        assert_eq!(model.step(&bidding, &mut client), (0, Outcome::Committed));
        let (asked, shown) = (client.bid(), client.shown());
        let user = &key::user(asked.user)[..];
        assert_eq!(biduser::BIDS.get(&before.0[user]), shown.number);
        assert_eq!(biduser::BIDS.get(&model.rows("biduser")[user]), shown.number + 1);
        assert_eq!(model.rows("bid").len(), bids + 1);
        let row = &model.rows("bid")[&key::bid(asked.user, shown.number)[..]];
        assert_eq!((bid::PRODUCT.get(row), bid::AMOUNT.get(row)), (asked.product, asked.amount));
        let product = &key::product(asked.product)[..];
        assert_eq!(bidmax::AMOUNT.get(&before.1[product]), shown.highest);
        let highest = bidmax::AMOUNT.get(&model.rows("bidmax")[product]);
        assert_eq!(highest, shown.highest.max(asked.amount));
        let is_raised = usize::from(asked.amount > shown.highest);
        raised += is_raised;
        let counts = Counts { gets: 2, inserts: 1, changes: 1 + is_raised, ..Counts::default() };
        assert_eq!(model.counts, counts);
    }
    // Of n numbers drawn about ln n are higher than all before.
    assert!((5..100).contains(&raised), "{raised}");
    assert_eq!(model.broken(&bidding), Vec::<String>::new());
}

#[test]
fn everything_is_drawn_uniformly() {
    let (bidding, _, mut client) = start(BiddingOptions::micro());
    let (mut users, mut products, mut low) = ([0; 7], [0; 5], 0);
    for _ in 0..7000 {
        let mut partitions = vec![];
        let shape = bidding.next(&mut client, &mut partitions);
        assert!(!shape.read_only && partitions == [0]);
        let asked = client.bid();
        users[asked.user as usize] += 1;
        products[asked.product as usize] += 1;
        assert!(asked.amount < 1_000_000);
        low += u32::from(asked.amount < 500_000);
    }
    assert!(users.iter().all(|&count| (850..1150).contains(&count)), "{users:?}");
    assert!(products.iter().all(|&count| (1230..1570).contains(&count)), "{products:?}");
    assert!((3300..3700).contains(&low), "{low}");
}

#[test]
fn a_client_has_users_of_its_own_and_products_of_all() {
    let options = BiddingOptions { users: 103, products: 50, partitions: 5 };
    let bidding = Bidding::new(options).unwrap();
    let model = Model::load(&bidding, 1);
    let mut client = bidding.client(&model.ids(), ClientId::apart(7, 8, 1));
    let mut seen = [0; 5];
    for _ in 0..5000 {
        let mut partitions = vec![];
        bidding.next(&mut client, &mut partitions);
        let asked = client.bid();
        assert!(bidding.users_of(2).contains(&asked.user));
        let home = (0..5).find(|&it| bidding.products_of(it).contains(&asked.product)).unwrap();
        let mut expected = vec![2, home];
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(partitions, expected);
        seen[home as usize] += 1;
    }
    assert!(seen.iter().all(|&count| (850..1150).contains(&count)), "{seen:?}");
}

#[test]
fn conditions_can_fail() {
    let (bidding, mut model, mut client) = start(BiddingOptions::micro());
    for _ in 0..1500 {
        model.step(&bidding, &mut client);
    }
    assert_eq!(model.broken(&bidding), Vec::<String>::new());
    // A count that was lost.
    let count = |by: u32| {
        move |row: &mut Option<Vec<u8>>| {
            let row = row.as_mut().unwrap();
            let counted = biduser::BIDS.get(row).wrapping_add(by);
            biduser::BIDS.set(row, counted);
        }
    };
    model.tamper("biduser", &key::user(3), count(u32::MAX));
    assert_eq!(model.broken(&bidding), ["bids"]);
    model.tamper("biduser", &key::user(3), count(1));
    // A bid in the middle that is not there; one of nobody's, for nothing.
    let row = model.rows("bid")[&key::bid(2, 5)[..]].clone();
    model.tamper("bid", &key::bid(2, 5), |row| *row = None);
    assert!(model.broken(&bidding).contains(&"bids".to_owned()));
    model.tamper("bid", &key::bid(2, 5), |there| *there = Some(row.clone()));
    assert_eq!(model.broken(&bidding), Vec::<String>::new());
    model.tamper("bid", &key::bid(7, 0), |there| *there = Some(row));
    assert_eq!(model.broken(&bidding), ["bids"]);
    model.tamper("bid", &key::bid(7, 0), |there| *there = None);
    // A highest bid that is too low or too high, and a product too many.
    for by in [u32::MAX, 1] {
        let change = |by: u32| {
            move |row: &mut Option<Vec<u8>>| {
                let row = row.as_mut().unwrap();
                let amount = bidmax::AMOUNT.get(row).wrapping_add(by);
                bidmax::AMOUNT.set(row, amount);
            }
        };
        model.tamper("bidmax", &key::product(4), change(by));
        assert_eq!(model.broken(&bidding), ["maxima"]);
        model.tamper("bidmax", &key::product(4), change(by.wrapping_neg()));
    }
    model.tamper("bidmax", &key::product(5), |there| *there = Some(vec![0; 4]));
    assert_eq!(model.broken(&bidding), ["maxima"]);
    model.tamper("bidmax", &key::product(5), |there| *there = None);
    model.tamper("biduser", &key::user(6), |there| *there = None);
    assert_eq!(model.broken(&bidding), ["bids"]);
}
