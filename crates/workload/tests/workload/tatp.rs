//! TATP: population, mix, what each transaction does, and conditions that hold and can fail.

use crate::model::{Model, Outcome};
use chiliad_api::Error;
use chiliad_workload::tatp::schema::{
    STARTS, TYPES, access_info, call_forwarding, key, number, special_facility, subscriber,
};
use chiliad_workload::tatp::{Client, Mix, Tatp, TatpOptions};
use chiliad_workload::{ClientId, Workload};
use std::collections::BTreeMap;

fn start(options: TatpOptions) -> (Tatp, Model, Client) {
    let tatp = Tatp::new(options).unwrap();
    let model = Model::load(&tatp, 5);
    let client = model.clients(&tatp, 1, 9).remove(0);
    (tatp, model, client)
}

/// How many owners have how many rows, in percent; an owner is what a key begins with.
fn shares(model: &Model, owners: usize, table: &str, owner_bytes: usize) -> [usize; 5] {
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for key in model.rows(table).keys() {
        *counts.entry(&key[..owner_bytes]).or_default() += 1;
    }
    let mut shares = [owners - counts.len(), 0, 0, 0, 0];
    counts.values().for_each(|&count| shares[count] += 1);
    shares.map(|count| (count * 100 + owners / 2) / owners)
}

fn near(shares: [usize; 5], expected: [usize; 5]) -> bool {
    shares.iter().zip(expected).all(|(share, expected)| share.abs_diff(expected) <= 1)
}

#[test]
fn the_population_is_as_specified() {
    let options = TatpOptions { subscribers: 20_000, ..TatpOptions::default() };
    let (tatp, mut model, _) = start(options);
    assert_eq!(tatp.load_parts(), 3);
    let subscribers = model.rows("subscriber");
    assert_eq!(subscribers.len(), 20_000);
    for (s_id, row) in (1..).zip(subscribers.values()) {
        assert_eq!(subscriber::S_ID.get(row), s_id);
        assert_eq!(subscriber::SUB_NBR.get(row), format!("{s_id:015}").as_bytes());
        assert!(subscriber::BITS.get(row) < 1 << 10);
        assert_eq!(row.len(), 44);
    }
    let quarters = [0, 25, 25, 25, 25];
    let owned = shares(&model, 20_000, "access_info", 4);
    assert!(near(owned, quarters), "{owned:?}");
    let owned = shares(&model, 20_000, "special_facility", 4);
    assert!(near(owned, quarters), "{owned:?}");
    let facilities = model.rows("special_facility");
    let owned = shares(&model, facilities.len(), "call_forwarding", 5);
    assert!(near(owned, [25, 25, 25, 25, 0]), "{owned:?}");
    let active =
        facilities.values().filter(|row| special_facility::IS_ACTIVE.get(row) == 1).count();
    let share = active * 1000 / facilities.len();
    assert!((840..860).contains(&share), "{share}");
    for (key, row) in model.rows("call_forwarding") {
        let (_, kind, start) = key::parts(key);
        assert!(TYPES.contains(&kind) && STARTS.contains(&start));
        let lasts = call_forwarding::END_TIME.get(row) - start;
        assert!((1..=8).contains(&lasts));
    }
    for ai_type in TYPES {
        let keys = model.rows("access_info").keys();
        let count = keys.filter(|key| key::parts(key).1 == ai_type).count();
        assert!((12_200..12_800).contains(&count), "{ai_type}: {count}");
    }
    assert_eq!(model.broken(&tatp), Vec::<String>::new());
}

#[test]
fn mix_and_success_are_those_of_the_description() {
    let options = TatpOptions { subscribers: 20_000, ..TatpOptions::default() };
    let (tatp, mut model, mut client) = start(options);
    let (mut kinds, mut good) = ([0; 7], [0; 7]);
    for _ in 0..200_000 {
        let (kind, outcome) = model.step(&tatp, &mut client);
        assert_eq!(outcome, Outcome::Committed);
        kinds[kind] += 1;
        good[kind] += u32::from(!tatp.unsuccessful(&client));
    }
    for (kind, share) in kinds.iter().zip([35, 10, 35, 2, 14, 2, 2]) {
        assert!((share * 1_850..share * 2_150).contains(kind), "{kinds:?}");
    }
    // In thousandths; facilities and access info are there in 62.5 of a hundred, and call
    // forwardings in half of those.
    for (kind, expected) in [(0, 1000), (2, 625), (3, 625), (4, 1000), (5, 312), (6, 312)] {
        let rate = good[kind] * 1000 / kinds[kind];
        assert!(rate.abs_diff(expected) <= 25, "{}: {rate}", tatp.kinds()[kind]);
    }
    assert_eq!(model.broken(&tatp), Vec::<String>::new());
}

#[test]
fn other_mixes_leave_kinds_out_and_keep_the_proportions_of_the_rest() {
    for (mix, micro, expected) in [
        (Mix::ReadOnly, false, [4375, 1250, 4375, 0, 0, 0, 0]),
        (Mix::ReadUpdate, false, [3646, 1042, 3646, 208, 1458, 0, 0]),
        (Mix::ReadOnly, true, [2000, 5000, 3000, 0, 0, 0, 0]),
        (Mix::ReadUpdate, true, [1176, 2941, 1765, 2059, 2059, 0, 0]),
    ] {
        let base = if micro { TatpOptions::micro() } else { TatpOptions::default() };
        let options = TatpOptions { subscribers: 100, mix, ..base };
        let (tatp, _, mut client) = start(options);
        let mut kinds = [0_u32; 7];
        for _ in 0..100_000 {
            kinds[tatp.next(&mut client, &mut vec![]).kind] += 1;
        }
        for (kind, expected) in kinds.into_iter().zip(expected) {
            let share = kind / 10;
            assert!(share.abs_diff(expected) <= 60, "{mix:?}: {kinds:?}");
            assert_eq!(kind == 0, expected == 0, "{mix:?}: {kinds:?}");
        }
    }
}

#[test]
fn subscribers_are_not_chosen_uniformly_and_all_come_up() {
    let tatp = Tatp::new(TatpOptions { subscribers: 1000, ..TatpOptions::default() }).unwrap();
    let mut client = tatp.client(&Model::load(&tatp, 1).ids(), ClientId::apart(0, 1, 1));
    let mut counts = vec![0; 1001];
    for _ in 0..300_000 {
        tatp.next(&mut client, &mut vec![]);
        counts[client.asked().s_id as usize] += 1;
    }
    assert_eq!(counts[0], 0);
    assert!(counts[1..].iter().all(|&count| count > 0));
    let most = counts.iter().max().unwrap();
    assert!(*most > 600, "{most} where 300 would be even");
}

#[test]
fn transactions_do_what_they_are_asked() {
    let (tatp, mut model, mut client) = start(TatpOptions::micro());
    let mut ends: BTreeMap<(&str, bool), u32> = BTreeMap::new();
    for _ in 0..20_000 {
        let names = ["subscriber", "special_facility", "call_forwarding"];
        let mut expected = names.map(|name| model.rows(name).clone());
        let (kind, _) = model.step(&tatp, &mut client);
        let asked = client.asked();
        let facility = expected[1].get(&key::typed(asked.s_id, asked.kind)[..]).cloned();
        let forwarding = key::call_forwarding(asked.s_id, asked.kind, asked.start_time);
        let own = key::subscriber(asked.s_id);
        assert_eq!(asked.sub_nbr, number(asked.s_id));
        let found = match tatp.kinds()[kind] {
            "get_subscriber_data" => true,
            "get_new_destination" => {
                let is_active = facility
                    .is_some_and(|facility| special_facility::IS_ACTIVE.get(&facility) == 1);
                is_active
                    && STARTS.iter().filter(|&&start| start <= asked.start_time).any(|&start| {
                        let key = key::call_forwarding(asked.s_id, asked.kind, start);
                        let row = expected[2].get(&key[..]);
                        row.is_some_and(|row| asked.end_time < call_forwarding::END_TIME.get(row))
                    })
            }
            "get_access_data" => {
                let row = model.rows("access_info").get(&key::typed(asked.s_id, asked.kind)[..]);
                row.is_some()
            }
            "update_subscriber_data" => match facility {
                None => false,
                Some(_) => {
                    let row = expected[0].get_mut(&own[..]).unwrap();
                    let bits = subscriber::BITS.get(row) & !1 | u16::from(asked.bit_1);
                    subscriber::BITS.set(row, bits);
                    let row = expected[1].get_mut(&key::typed(asked.s_id, asked.kind)[..]).unwrap();
                    special_facility::DATA_A.set(row, asked.data_a);
                    true
                }
            },
            "update_location" => {
                let row = expected[0].get_mut(&own[..]).unwrap();
                subscriber::VLR_LOCATION.set(row, asked.vlr_location);
                true
            }
            "insert_call_forwarding" => {
                let is_free = facility.is_some() && !expected[2].contains_key(&forwarding[..]);
                if is_free {
                    let row = [&[asked.end_time], &asked.numberx[..]].concat();
                    expected[2].insert(forwarding.to_vec(), row);
                }
                is_free
            }
            _ => expected[2].remove(&forwarding[..]).is_some(),
        };
        assert_eq!(client.found(), found, "{}", tatp.kinds()[kind]);
        assert_eq!(names.map(|name| model.rows(name).clone()), expected, "{}", tatp.kinds()[kind]);
        *ends.entry((tatp.kinds()[kind], found)).or_default() += 1;
    }
    // All kinds succeed, and five of seven fail too.
    assert_eq!(ends.len(), 7 + 5, "{ends:?}");
    assert!(ends.values().all(|&count| count > 300), "{ends:?}");
    assert_eq!(model.broken(&tatp), Vec::<String>::new());
}

#[test]
fn clients_stay_in_the_partition_that_they_declare() {
    let options = TatpOptions { subscribers: 103, partitions: 5, ..TatpOptions::default() };
    let tatp = Tatp::new(options).unwrap();
    let ids = Model::load(&tatp, 1).ids();
    for index in 0..10 {
        let mut client = tatp.client(&ids, ClientId::apart(index, 10, 1));
        for _ in 0..1000 {
            let mut partitions = vec![];
            tatp.next(&mut client, &mut partitions);
            assert_eq!(partitions, [index as u32 % 5]);
            assert!(tatp.subscribers_of(partitions[0]).contains(&client.asked().s_id));
        }
    }
    assert_eq!((tatp.subscribers_of(0).start, tatp.subscribers_of(4).end), (1, 104));
}

#[test]
fn requests_are_repeatable() {
    let (tatp, mut model, mut client) = start(TatpOptions::micro());
    for _ in 0..500 {
        let shape = tatp.next(&mut client, &mut vec![]);
        let mut shown = vec![];
        for refused in [true, false] {
            let _ = model.transaction(shape.read_only, |tx| {
                tatp.execute(&mut client, tx)?;
                if refused { Err(Error::DeadlineExceeded) } else { Ok(()) }
            });
            shown.push((client.shown(), client.found()));
        }
        assert_eq!(shown[0], shown[1]);
    }
    assert_eq!(model.broken(&tatp), Vec::<String>::new());
}

/// The conditions that break when a row of `table` is changed; it is as before then.
fn broken_by(
    (tatp, model): (&Tatp, &mut Model),
    table: &str,
    key: &[u8],
    change: impl FnOnce(&mut Option<Vec<u8>>),
) -> Vec<String> {
    let before = model.rows(table).get(key).cloned();
    model.tamper(table, key, change);
    let broken = model.broken(tatp);
    model.tamper(table, key, |row| *row = before);
    assert_eq!(model.broken(tatp), Vec::<String>::new());
    broken
}

#[test]
fn conditions_can_fail() {
    // More than one range of subscribers.
    let (tatp, mut model, _) = start(TatpOptions { subscribers: 600, ..TatpOptions::micro() });
    for s_id in [1, 300, 600] {
        let own = key::subscriber(s_id);
        let mut broken = |table: &str, key: &[u8], change: &mut dyn FnMut(&mut Option<Vec<u8>>)| {
            broken_by((&tatp, &mut model), table, key, change)
        };
        // Gone: its rows are of nobody then. Its call forwardings are still of facilities.
        let all = ["subscribers", "numbers", "access_info", "special_facility"];
        assert_eq!(broken("subscriber", &own, &mut |row| *row = None), all);
        assert_eq!(
            broken("subscriber", &own, &mut |row| {
                subscriber::SUB_NBR.set(row.as_mut().unwrap(), &number(5000));
            }),
            ["subscribers", "numbers"]
        );
        let bad_type = key::typed(s_id, 5);
        let some = Some(vec![b'A'; access_info::BYTES]);
        let broken_types = broken("access_info", &bad_type, &mut |row| row.clone_from(&some));
        assert_eq!(broken_types, ["access_info"]);
        let start = key::call_forwarding(s_id, 5, 0);
        let some = Some([&[20][..], &[b'0'; 15]].concat());
        let without = broken("call_forwarding", &start, &mut |row| row.clone_from(&some));
        assert_eq!(without, ["call_forwarding"]);
    }
    // Rows of nobody, in front of and behind all others.
    for s_id in [0, 601, u32::MAX] {
        let kept = (&tatp, &mut model);
        let row = Some(vec![b'A'; access_info::BYTES]);
        let broken = broken_by(kept, "access_info", &key::typed(s_id, 1), |it| *it = row);
        assert_eq!(broken, ["access_info"]);
        let row = Some([&[1, 0, 0][..], b"ABCDE"].concat());
        let kept = (&tatp, &mut model);
        let broken = broken_by(kept, "special_facility", &key::typed(s_id, 1), |it| *it = row);
        assert_eq!(broken, ["special_facility"]);
        let row = Some([&[20][..], &[b'0'; 15]].concat());
        let kept = (&tatp, &mut model);
        let key = key::call_forwarding(s_id, 1, 0);
        assert_eq!(broken_by(kept, "call_forwarding", &key, |it| *it = row), ["call_forwarding"]);
    }
}

#[test]
fn conditions_see_bad_values_and_a_bad_index() {
    let (tatp, mut model, _) = start(TatpOptions::micro());
    let first = |model: &Model, table: &str| model.rows(table).keys().next().unwrap().clone();
    let facility = first(&model, "special_facility");
    let forwarding = first(&model, "call_forwarding");
    for (table, key, at, value, condition) in [
        ("access_info", first(&model, "access_info"), 3, b'a', "access_info"),
        ("special_facility", facility.clone(), 0, 2, "special_facility"),
        ("special_facility", facility, 7, b'5', "special_facility"),
        ("call_forwarding", forwarding.clone(), 0, 25, "call_forwarding"),
        ("call_forwarding", forwarding.clone(), 0, 0, "call_forwarding"),
        ("call_forwarding", forwarding.clone(), 9, b'x', "call_forwarding"),
    ] {
        let kept = (&tatp, &mut model);
        let broken = broken_by(kept, table, &key, |row| row.as_mut().unwrap()[at] = value);
        assert_eq!(broken, [condition], "{table} {at}");
    }
    // An hour at which none can start, of a facility that is there.
    let (s_id, kind, _) = key::parts(&forwarding);
    let row = model.rows("call_forwarding")[&forwarding].clone();
    let key = key::call_forwarding(s_id, kind, 9);
    let broken = broken_by((&tatp, &mut model), "call_forwarding", &key, |it| *it = Some(row));
    assert_eq!(broken, ["call_forwarding"]);
    // All access info of a subscriber gone.
    for ai_type in TYPES {
        model.tamper("access_info", &key::typed(3, ai_type), |row| *row = None);
    }
    assert_eq!(model.broken(&tatp), ["access_info"]);
    let row = vec![b'A'; access_info::BYTES];
    model.tamper("access_info", &key::typed(3, 1), |it| *it = Some(row));
    assert_eq!(model.broken(&tatp), Vec::<String>::new());
    // A number that leads to another subscriber, and one too few.
    model.tamper_index("subscriber", 0, |index| {
        index.insert(number(4).to_vec(), key::subscriber(5).to_vec());
    });
    assert_eq!(model.broken(&tatp), ["numbers"]);
    model.tamper_index("subscriber", 0, |index| {
        index.remove(&number(4)[..]);
    });
    assert_eq!(model.broken(&tatp), ["numbers"]);
}
