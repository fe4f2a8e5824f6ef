//! The simulated shared log: what it keeps under every fault, that each fault happens, and runs that are followed by
//! others.

use crate::common::configs;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use chiliad_simulator::{
    Config, FaultyLog, LogCounters, LogFaults, MemoryModel, Run, Sim, Verdict,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

type Records = Vec<(Position, Vec<u8>)>;

/// Hands all that can be read on, from `from` to the position returned.
fn read(
    log: &dyn SharedLog,
    from: Position,
    into: &mut Records,
) -> Result<Position, SharedLogError> {
    log.read(from, 64, Duration::ZERO, &mut |position, record| {
        into.push((position, record.to_vec()));
    })
}

fn log_with(faults: LogFaults) -> FaultyLog {
    FaultyLog::new(1, faults)
}

/// What came of a run of three servers.
#[derive(PartialEq, Debug)]
struct Story {
    trace: u64,
    acknowledged: Vec<[u8; 2]>,
    seen: Vec<Records>,
    contents: Records,
    counters: LogCounters,
}

/// Three servers append pairs of records and read, while a fourth core cuts them off, heals them, and has the leader
/// lost.
fn three_servers(config: Config, faults: LogFaults) -> Story {
    let log = FaultyLog::new(config.seed, faults);
    let mut run = Run::new(config);
    let acknowledged = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::new(RefCell::new(vec![Records::new(); 3]));
    for number in 0..3_u8 {
        let handle = log.server(number.into());
        let (acknowledged, seen) = (acknowledged.clone(), seen.clone());
        run.spawn("server", move || {
            let mut next = 1;
            let mut own = Records::new();
            for step in (0..24).step_by(2) {
                let pair = [[number, step], [number, step + 1]];
                match handle.append(&[&pair[0], &pair[1]]) {
                    Ok(()) => acknowledged.borrow_mut().extend(pair),
                    Err(error) => assert!(error.may_pass(), "{error}"),
                }
                if let Ok(end) = handle.bounds() {
                    assert!(end.start == 1);
                }
                if let Ok(after) = read(&*handle, next, &mut own) {
                    assert!(after >= next);
                    next = after;
                }
                assert_eq!(own.len() as u64, next - 1);
            }
            seen.borrow_mut()[usize::from(number)] = own;
        });
    }
    let disturbed = log.clone();
    run.spawn("disturbs", move || {
        for round in 0..12_u32 {
            let (server, what) = (round % 3, Sim::random() % 4);
            disturbed.cut(server, what % 2 == 0, what / 2 == 0);
            Sim::park_until(Sim::now() + 60);
            disturbed.heal(server);
            if round == 6 {
                disturbed.lose_leader(4);
            }
        }
    });
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    drop(run);
    Story {
        trace: outcome.trace_hash,
        acknowledged: acknowledged.take(),
        seen: seen.take(),
        contents: log.contents(),
        counters: log.counters(),
    }
}

fn times(records: &Records, record: [u8; 2]) -> usize {
    records.iter().filter(|it| it.1 == record).count()
}

#[test]
fn whatever_fails_what_was_acknowledged_is_there_and_all_see_one_sequence() {
    let mut sums = BTreeMap::new();
    for config in configs(MemoryModel::Sc, 120) {
        let seed = config.seed;
        let story = three_servers(config, LogFaults::all(10));
        for record in &story.acknowledged {
            assert!(times(&story.contents, *record) >= 1, "seed {seed}: {record:?}");
        }
        for seen in &story.seen {
            assert!(story.contents.starts_with(seen), "seed {seed}");
        }
        assert!(story.contents.iter().zip(1..).all(|(record, position)| record.0 == position));
        let counters = story.counters;
        assert_eq!(counters.acknowledged, story.acknowledged.len() as u64);
        for (what, count) in [
            ("acks lost", counters.acks_lost),
            ("late", counters.late),
            ("dropped", counters.dropped),
            ("doubled", counters.doubled),
            ("scattered", counters.scattered),
            ("slow", counters.slow),
            ("leaders lost", counters.leaders_lost),
            ("interrupted", counters.interrupted),
            ("leaderless", counters.leaderless),
            ("cut off", counters.cut_off),
            ("read errors", counters.read_errors),
            ("short reads", counters.short_reads),
            ("stale bounds", counters.stale_bounds),
        ] {
            *sums.entry(what).or_insert(0) += count;
        }
    }
    assert!(sums.values().all(|&sum| sum > 20), "{sums:?}");
}

#[test]
fn equal_seeds_repeat() {
    let mut hashes = std::collections::BTreeSet::new();
    for config in configs(MemoryModel::Sc, 40) {
        let story = three_servers(config.clone(), LogFaults::all(10));
        assert_eq!(story, three_servers(config, LogFaults::all(10)));
        hashes.insert(story.trace);
    }
    assert!(hashes.len() > 30, "{}", hashes.len());
}

#[test]
fn without_faults_each_record_is_there_once() {
    for config in configs(MemoryModel::Sc, 40) {
        let log = FaultyLog::new(config.seed, LogFaults::default());
        let mut run = Run::new(config);
        for number in 0..3_u8 {
            let handle = log.server(number.into());
            run.spawn("server", move || {
                for step in (0..24).step_by(2) {
                    handle.append(&[&[number, step], &[number, step + 1]]).unwrap();
                }
            });
        }
        assert!(run.go().verdict.is_completed());
        let contents = log.contents();
        assert_eq!(contents.len(), 72);
        for number in 0..3 {
            let own = contents.iter().filter(|it| it.1[0] == number).map(|it| it.1[1]);
            assert!(own.eq(0..24), "in the order of its calls");
        }
    }
}

/// One record by itself under one fault: whether it was acknowledged, and how often it is there at once and later.
fn fate(faults: LogFaults) -> (bool, usize, usize) {
    let log = log_with(faults);
    let server = log.server(0);
    let acknowledged = server.append(&[b"it"]).is_ok();
    let at_once = times(&log.contents(), *b"it");
    for _ in 0..1000 {
        let _ = server.bounds();
    }
    (acknowledged, at_once, times(&log.contents(), *b"it"))
}

#[test]
fn each_fate_of_a_record_is_what_it_says() {
    let faults = LogFaults::default();
    assert_eq!(fate(faults), (true, 1, 1));
    assert_eq!(fate(LogFaults { acks_lost_one_in: 1, ..faults }), (false, 1, 1));
    assert_eq!(fate(LogFaults { late_one_in: 1, ..faults }), (false, 0, 1));
    assert_eq!(fate(LogFaults { dropped_one_in: 1, ..faults }), (false, 0, 0));
    let (acknowledged, at_once, later) = fate(LogFaults { doubled_one_in: 1, ..faults });
    assert!(acknowledged && at_once >= 1 && later == 2);
    assert_eq!(fate(LogFaults { leader_lost_one_in: 1, ..faults }), (false, 0, 0));
}

#[test]
fn a_cut_stops_what_it_says_for_one_server_until_it_is_healed() {
    let log = log_with(LogFaults::default());
    let (one, two) = (log.server(1), log.server(2));
    let mut count = 0;
    for (appends, reads) in [(true, false), (false, true), (true, true), (false, false)] {
        log.cut(1, appends, reads);
        let appended = one.append(&[b"one"]);
        assert_eq!(appended.is_err(), appends);
        assert_eq!(one.trim(1).is_err(), appends);
        two.append(&[b"two"]).unwrap();
        count += 1 + u64::from(!appends);
        let mut seen = Records::new();
        assert_eq!(read(&*one, 1, &mut seen).is_err(), reads);
        assert_eq!(one.bounds().is_err() && one.identity().is_err(), reads);
        assert_eq!(two.bounds().unwrap(), 1..count + 1);
    }
    log.cut(1, true, true);
    log.heal(1);
    one.append(&[b"one"]).unwrap();
}

#[test]
fn without_a_leader_appends_are_refused_for_a_while_and_reads_go_on() {
    let log = log_with(LogFaults::default());
    let server = log.server(0);
    server.append(&[b"before"]).unwrap();
    log.lose_leader(10);
    for _ in 0..5 {
        assert!(server.append(&[b"now"]).unwrap_err().may_pass());
        assert_eq!(server.bounds().unwrap(), 1..2);
    }
    server.append(&[b"after"]).unwrap();
    assert_eq!(log.counters().leaderless, 5);
}

#[test]
fn what_is_full_takes_records_after_a_trim() {
    let faults =
        LogFaults { full_after_bytes: Some(8), record_bytes_max: 6, ..LogFaults::default() };
    let log = log_with(faults);
    let server = log.server(0);
    server.append(&[&[1; 6]]).unwrap();
    assert!(matches!(server.append(&[&[2; 4]]), Err(SharedLogError::Full(_))));
    assert!(matches!(
        server.append(&[&[2; 7]]),
        Err(SharedLogError::TooLarge { bytes: 7, accepted: 6 })
    ));
    server.trim(2).unwrap();
    server.append(&[&[2; 4]]).unwrap();
    let error = read(&*server, 1, &mut Records::new()).unwrap_err();
    assert!(matches!(error, SharedLogError::Trimmed { first: 2 }));
    let counters = log.counters();
    assert_eq!((counters.full, counters.too_large, counters.trimmed_reads), (1, 1, 1));
}

#[test]
fn a_crashed_server_appends_nothing_more_and_its_next_life_goes_on() {
    let (mut stored, mut late, mut lost) = (0, 0, 0);
    for seed in 0..120 {
        let log = FaultyLog::new(seed, LogFaults::default());
        let mut run = Run::new(Config { events_max: 20 + seed, ..Config::new(seed) });
        let acknowledged = Rc::new(Cell::new(0));
        let (handle, count) = (log.server(7), acknowledged.clone());
        run.spawn("appends", move || {
            for number in 0_u32.. {
                handle.append(&[&number.to_le_bytes()]).unwrap();
                count.set(number + 1);
            }
        });
        let old = log.server(7);
        let outcome = run.go();
        assert!(matches!(outcome.verdict, Verdict::EventLimit { .. }), "{}", outcome.verdict);
        drop(run);
        let before = log.extent().end;
        let unlearnt = before - 1 - u64::from(acknowledged.get());
        assert!(unlearnt <= 1, "the core was discarded before it learnt of {unlearnt}");
        log.crash_server(7);
        let after = log.extent().end;
        stored += after - before;
        late += log.counters().late;
        lost += log.counters().dropped;
        assert!(old.append(&[b"old"]).is_err() && old.trim(9).is_err() && old.identity().is_err());
        assert!(old.bounds().is_err() && read(&*old, 1, &mut Records::new()).is_err());
        let mut next = Run::new(Config::new(seed));
        let handle = log.server(7);
        next.spawn("goes on", move || {
            for _ in 0..100 {
                handle.append(&[b"new"]).unwrap();
            }
        });
        assert!(next.go().verdict.is_completed());
        assert!(log.contents().iter().all(|it| it.1 != b"old"));
        assert!(log.extent().end >= after + 100);
    }
    assert!(stored > 10 && late > 10 && lost > 10, "{stored} {late} {lost}");
}

#[test]
fn broken_promises_are_broken_as_said() {
    let log = log_with(LogFaults::default());
    let (one, two) = (log.server(1), log.server(2));
    let seen = |server: &dyn SharedLog| {
        let mut records = Records::new();
        read(server, server.bounds().unwrap().start, &mut records).unwrap();
        records.into_iter().map(|it| it.1).collect::<Vec<_>>()
    };
    one.append(&[b"a", b"b", b"c"]).unwrap();
    log.deceive(2, 2, b"B");
    assert_eq!(seen(&*one), [b"a", b"b", b"c"]);
    assert_eq!(seen(&*two), [b"a", b"B", b"c"]);
    assert!(log.flip(3, 0) && !log.flip(3, 8) && !log.flip(4, 0) && !log.flip(0, 0));
    assert_eq!(seen(&*one), [b"a", b"b", b"b"]);
    log.roll_back(2);
    one.append(&[b"d"]).unwrap();
    assert_eq!(seen(&*two), [b"a", b"d"]);
    let identity = one.identity().unwrap();
    log.empty();
    assert!(one.identity().unwrap() == identity && one.bounds().unwrap() == (1..1));
    one.append(&[b"e"]).unwrap();
    log.recreate();
    assert!(one.identity().unwrap() != identity && one.bounds().unwrap() == (1..1));
}
