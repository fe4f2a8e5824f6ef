//! The contract of every shared log, as functions over logs that a test makes: implementations in other crates
//! include
//! this file.

use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// As long as a test waits at a time: it looks again afterwards.
const PATIENCE: Duration = Duration::from_secs(1);

const NO_PATIENCE: Duration = Duration::ZERO;

/// A log as two servers have it: handles that may be the same.
pub struct Subject {
    log: Arc<dyn SharedLog>,
    other: Arc<dyn SharedLog>,
    /// A value that lives as long as they do.
    kept: Option<Box<dyn std::any::Any>>,
}

impl Subject {
    /// An empty log, by two handles.
    pub fn new(log: Arc<dyn SharedLog>, other: Arc<dyn SharedLog>) -> Self {
        Self { log, other, kept: None }
    }

    /// This subject with something that is dropped after the log.
    pub fn keeping(self, kept: impl std::any::Any) -> Self {
        Self { kept: Some(Box::new(kept)), ..self }
    }
}

/// Makes a new, empty log.
pub type Make<'a> = &'a dyn Fn() -> Subject;

type Records = Vec<(Position, Vec<u8>)>;

/// All records from `from` on, in reads of about `bytes`.
fn read_all(log: &dyn SharedLog, from: Position, bytes: usize) -> Records {
    let mut records = Records::new();
    let mut next = from;
    let end = log.bounds().unwrap().end;
    while next < end {
        let before = next;
        next =
            log.read(next, bytes, PATIENCE, &mut |at, it| records.push((at, it.to_vec()))).unwrap();
        assert_eq!(next - from, records.len() as u64, "a read says how far it came");
        assert!(next > before, "what bounds say can be read");
    }
    for (number, (position, _)) in records.iter().enumerate() {
        assert_eq!(*position, from + number as u64, "no gaps");
    }
    records
}

/// A record that says whose it is.
fn record(writer: u64, number: u64) -> Vec<u8> {
    let mut bytes = writer.to_le_bytes().to_vec();
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.resize(16 + (number * 37 % 500) as usize, number as u8);
    bytes
}

pub fn records_come_back_in_order(make: Make<'_>) {
    let Subject { log, other, kept: _kept } = make();
    assert_eq!(log.bounds().unwrap(), 1..1);
    for number in 0..100 {
        let by = if number % 2 == 0 { &log } else { &other };
        by.append(&[&record(1, number)]).unwrap();
    }
    for from in [1, 2, 50, 100] {
        for bytes in [1, 1000, 1 << 20] {
            let records = read_all(&*other, from, bytes);
            let expected: Records = (from..=100).map(|it| (it, record(1, it - 1))).collect();
            assert!(records == expected, "from {from} by {bytes}");
        }
    }
    let many: Vec<Vec<u8>> = (0..50).map(|number| record(2, number)).collect();
    log.append(&many.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let found = read_all(&*log, 101, 1 << 20).into_iter().map(|it| it.1);
    assert_eq!(found.collect::<BTreeSet<_>>(), many.into_iter().collect::<BTreeSet<_>>());
    assert_eq!((log.bounds().unwrap(), other.bounds().unwrap()), (1..151, 1..151));
}

pub fn nothing_and_empty_records_are_told_apart(make: Make<'_>) {
    let Subject { log, kept: _kept, .. } = make();
    log.append(&[]).unwrap();
    assert_eq!(log.bounds().unwrap(), 1..1);
    let mut calls = 0;
    for from in [1, 2, 100] {
        assert_eq!(log.read(from, 100, NO_PATIENCE, &mut |_, _| calls += 1).unwrap(), from);
    }
    assert_eq!(calls, 0);
    log.append(&[b"", b""]).unwrap();
    log.append(&[b"last"]).unwrap();
    let found = read_all(&*log, 1, 100);
    assert_eq!(found, [(1, vec![]), (2, vec![]), (3, b"last".to_vec())]);
}

pub fn a_reader_takes_as_much_as_it_asked_for(make: Make<'_>) {
    let Subject { log, kept: _kept, .. } = make();
    for _ in 0..20 {
        log.append(&[&[1; 100], &[2; 100], &[3; 100]]).unwrap();
    }
    for (bytes, most) in [(0, 1), (1, 1), (100, 2), (1000, 11), (1 << 20, 60)] {
        let mut handed = 0;
        let next = log.read(1, bytes, PATIENCE, &mut |_, _| handed += 1).unwrap();
        assert_eq!(next, 1 + handed);
        assert!((1..=most).contains(&handed), "{handed} records for {bytes} bytes");
    }
}

pub fn what_is_too_large_is_refused_whole(make: Make<'_>) {
    let Subject { log, kept: _kept, .. } = make();
    let accepted = log.record_bytes_max();
    let (largest, larger) = (vec![7; accepted], vec![8; accepted + 1]);
    let error = log.append(&[b"small", &larger]).unwrap_err();
    assert!(!error.may_pass());
    let SharedLogError::TooLarge { bytes, accepted: said } = error else { panic!("{error}") };
    assert_eq!((bytes, said), (accepted + 1, accepted));
    assert_eq!(log.bounds().unwrap(), 1..1);
    log.append(&[&largest]).unwrap();
    assert!(read_all(&*log, 1, 1) == [(1, largest)]);
}

pub fn what_is_trimmed_is_gone_and_positions_go_on(make: Make<'_>) {
    let Subject { log, other, kept: _kept } = make();
    log.trim(10).unwrap();
    assert_eq!(log.bounds().unwrap(), 1..1, "only what is there is forgotten");
    for number in 0..100 {
        log.append(&[&record(0, number)]).unwrap();
    }
    log.trim(1).unwrap();
    assert_eq!(log.bounds().unwrap(), 1..101);
    for (to, first) in [(40, 40), (20, 40), (100, 100), (1000, 101)] {
        other.trim(to).unwrap();
        for handle in [&log, &other] {
            assert_eq!(handle.bounds().unwrap(), first..101);
            let mut calls = 0;
            let error =
                handle.read(first - 1, 1 << 20, PATIENCE, &mut |_, _| calls += 1).unwrap_err();
            assert!(
                matches!(error, SharedLogError::Trimmed { first: said } if said == first),
                "{error}"
            );
            assert!(calls == 0 && !error.may_pass());
        }
        assert_eq!(read_all(&*log, first, 1 << 20).len() as u64, 101 - first);
    }
    log.append(&[b"next"]).unwrap();
    assert_eq!(log.bounds().unwrap(), 101..102);
    assert_eq!(read_all(&*other, 101, 1), [(101, b"next".to_vec())]);
}

pub fn a_reader_that_waits_is_woken(make: Make<'_>) {
    let Subject { log, other, kept: _kept } = make();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut next = 1;
            while next <= 100 {
                next = other.read(next, 1, PATIENCE, &mut |_, _| {}).unwrap();
            }
        });
        for number in 0..100 {
            log.append(&[&record(0, number)]).unwrap();
            thread::yield_now();
        }
        reader.join().unwrap();
    });
}

pub fn everybody_sees_one_sequence(make: Make<'_>) {
    const WRITERS: u64 = 4;
    const EACH: u64 = 60;
    let Subject { log, other, kept: _kept } = make();
    let sequences: Vec<Records> = thread::scope(|scope| {
        for writer in 0..WRITERS {
            let log = if writer % 2 == 0 { &log } else { &other };
            scope.spawn(move || {
                for number in (0..EACH).step_by(3) {
                    let records = [0, 1, 2].map(|it| record(writer, number + it));
                    log.append(&records.each_ref().map(Vec::as_slice)).unwrap();
                }
            });
        }
        let reader = |log: Arc<dyn SharedLog>, bytes| {
            scope.spawn(move || {
                let (mut next, mut seen) = (1, Records::new());
                while next <= WRITERS * EACH {
                    let take = &mut |at, it: &[u8]| seen.push((at, it.to_vec()));
                    next = log.read(next, bytes, PATIENCE, take).unwrap();
                }
                seen
            })
        };
        let readers = [
            reader(Arc::clone(&log), 1),
            reader(Arc::clone(&other), 1000),
            reader(Arc::clone(&other), 1 << 20),
        ];
        readers.map(|it| it.join().unwrap()).into()
    });
    assert!(sequences.windows(2).all(|two| two[0] == two[1]), "one sequence");
    assert!(sequences[0] == read_all(&*log, 1, 5000), "for ever");
    let found: BTreeSet<Vec<u8>> = sequences[0].iter().map(|it| it.1.clone()).collect();
    let expected = (0..WRITERS).flat_map(|writer| (0..EACH).map(move |it| record(writer, it)));
    assert!(sequences[0].len() as u64 == WRITERS * EACH && found == expected.collect());
}

pub fn what_bounds_say_is_there(make: Make<'_>) {
    let Subject { log, other, kept: _kept } = make();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..200 {
                log.append(&[&record(0, number)]).unwrap();
            }
            // Release pairs with the acquire of the reader: all of it is appended.
            done.store(true, Ordering::Release);
        });
        let mut end = 1;
        // Acquire pairs with the release above.
        while !(done.load(Ordering::Acquire) && end == 201) {
            end = other.bounds().unwrap().end;
            if end > 1 {
                let mut seen = Vec::new();
                let take = &mut |_, it: &[u8]| seen.push(it.to_vec());
                assert_eq!(other.read(end - 1, 1, NO_PATIENCE, take).unwrap(), end);
                assert_eq!(seen, [record(0, end - 2)]);
            }
        }
    });
}

pub fn a_reader_is_told_when_it_was_overtaken_by_a_trim(make: Make<'_>) {
    let Subject { log, other, kept: _kept } = make();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut next = 1;
            while next <= 300 {
                let take = &mut |at, it: &[u8]| assert!(it == record(0, at - 1), "{at}");
                match other.read(next, 1, PATIENCE, take) {
                    Ok(after) => next = after,
                    Err(SharedLogError::Trimmed { first }) => {
                        assert!(first > next, "{first} {next}");
                        next = first;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
        for number in 0..300 {
            log.append(&[&record(0, number)]).unwrap();
            if number % 10 == 9 && number < 290 {
                log.trim(number).unwrap();
            }
        }
        reader.join().unwrap();
    });
}

pub fn each_log_has_an_identity_of_its_own(make: Make<'_>) {
    let (one, two) = (make(), make());
    let identity = one.log.identity().unwrap();
    assert_eq!(identity, one.other.identity().unwrap());
    assert_ne!(identity, two.log.identity().unwrap());
    one.log.append(&[b"record"]).unwrap();
    one.log.trim(2).unwrap();
    assert_eq!(identity, one.log.identity().unwrap());
    assert!(!one.log.place().is_empty());
}
