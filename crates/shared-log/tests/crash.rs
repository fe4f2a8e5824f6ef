//! The log in files on a disk that loses what was not synced, fails and goes off: what was acknowledged is there in
//! every later life, at the position where somebody saw it; and each planted bug is caught.

use chiliad_machine::shared_log::{Position, SharedLog};
use chiliad_machine::{Fault, Machine};
use chiliad_shared_log::{FAULTS, FileLog, FileLogOptions};
use chiliad_simulator::{Config, DiskFaults, FaultyDisk, Run, Schedule, Sim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Two or three frames to a segment.
const OPTIONS: FileLogOptions =
    FileLogOptions::new().segment_bytes(16 << 10).record_bytes_max(4000).memory_bytes(3000);

const LIVES: u64 = 4;
const SEEDS: u64 = 400;

/// Acknowledgements to the world outside, in all lives so far.
#[derive(Default)]
struct Told {
    acknowledged: Vec<Vec<u8>>,
    seen: BTreeMap<Position, Vec<u8>>,
    /// The log was asked to begin here, and said that it does.
    trimmed: Position,
    /// The log was asked to begin here, and perhaps does.
    trim_asked: Position,
    records: u64,
    wrong: Option<String>,
}

impl Told {
    fn see(&mut self, position: Position, record: &[u8]) {
        let before = self.seen.entry(position).or_insert_with(|| record.to_vec());
        if before != record {
            self.wrong = Some(format!("other record at {position}"));
        }
    }

    fn next_record(&mut self) -> Vec<u8> {
        self.records += 1;
        let mut record = self.records.to_le_bytes().to_vec();
        record.resize(8 + (self.records * 733 % 3000) as usize, self.records as u8);
        record
    }
}

type Log = FileLog<Sim>;

/// Reads everything, and compares it with what was told before.
fn look(log: &Log, told: &mut Told) -> Result<(), String> {
    let bounds = log.bounds().unwrap();
    if bounds.start < told.trimmed || bounds.start > told.trim_asked.max(1) {
        return Err(format!("lost: it begins at {}", bounds.start));
    }
    let mut next = bounds.start;
    while next < bounds.end {
        let read = log.read(next, 5000, Duration::ZERO, &mut |at, it| told.see(at, it));
        next = read.map_err(|error| format!("lost: {error}"))?;
    }
    if let Some(position) = told.seen.keys().find(|it| **it >= bounds.end) {
        return Err(format!("lost: somebody saw the record at {position}"));
    }
    let is_there = |record: &Vec<u8>| told.seen.values().any(|it| it == record);
    if let Some(record) = told.acknowledged.iter().find(|it| !is_there(it)) {
        return Err(format!("lost: an acknowledged record of {} bytes", record.len()));
    }
    told.wrong.take().map_or(Ok(()), Err)
}

/// Cores append, read and trim until all is done or the disk fails.
fn live(run: &mut Run, log: &Log, told: &Rc<RefCell<Told>>) {
    for _ in 0..3 {
        let (log, told) = (log.clone(), told.clone());
        run.spawn("appends", move || {
            for count in [1, 2, 1, 3, 1, 1] {
                let records: Vec<_> = (0..count).map(|_| told.borrow_mut().next_record()).collect();
                if log.append(&records.iter().map(Vec::as_slice).collect::<Vec<_>>()).is_ok() {
                    told.borrow_mut().acknowledged.extend(records);
                }
            }
        });
    }
    let (log, told) = (log.clone(), told.clone());
    run.spawn("reads", move || {
        let mut next = log.bounds().unwrap().start;
        for round in 0..40 {
            let patience = Duration::from_millis(1);
            let read = log.read(next, 3000, patience, &mut |at, it| told.borrow_mut().see(at, it));
            let Ok(after) = read else { return };
            next = after;
            if round % 8 == 7 && next > 4 {
                let to = next - 3;
                let asked = told.borrow().trim_asked.max(to);
                told.borrow_mut().trim_asked = asked;
                if log.trim(to).is_ok() {
                    told.borrow_mut().trimmed = to;
                }
            }
        }
    });
}

/// How often what happened.
#[derive(Default, Debug)]
struct Happened {
    lives: u64,
    acknowledged: u64,
    trims: u64,
    off: u64,
    failed_syncs: u64,
    short_writes: u64,
    full: u64,
    refused_openings: u64,
    segments: u64,
}

/// Some lives of one log; an error says which promise was broken.
fn story(seed: u64, fault: Option<&'static Fault>, happened: &mut Happened) -> Result<(), String> {
    let mut disk = FaultyDisk::new(seed, DiskFaults::default());
    let told = Rc::new(RefCell::new(Told::default()));
    for life in 0..=LIVES {
        let draw = (seed * 31 + life * 17) % 97;
        let last = life == LIVES;
        let off = (!draw.is_multiple_of(3)).then_some(draw * 7 % 71);
        let errors = if draw.is_multiple_of(4) { 12 } else { 0 };
        let faults = DiskFaults {
            off_after_operations: off,
            sync_errors_one_in: errors,
            short_writes_one_in: errors * 2,
            full_after_bytes: (draw % 5 == 1).then_some((18 + draw % 30) << 12),
            ..DiskFaults::default()
        };
        disk.set_faults(if last { DiskFaults::default() } else { faults });
        let schedule =
            if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::few_preemptions() };
        let config = Config { fault, schedule, ..Config::new(seed * LIVES + life) };
        let mut run = Run::new(config);
        let segment_bytes = OPTIONS.segment_bytes << (draw % 2);
        let options = OPTIONS.segment_bytes(segment_bytes);
        let opened = run.outside(|| Log::open(Arc::new(disk.clone()), options));
        let counters = disk.counters();
        match opened {
            Ok(log) => {
                let looked = run.outside(|| look(&log, &mut told.borrow_mut()));
                // A disk that is off answers no reads.
                if !disk.is_off() {
                    looked?;
                }
                if last {
                    return Ok(());
                }
                live(&mut run, &log, &told);
                let outcome = run.go();
                assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
                happened.segments += disk.file_names().len() as u64 - 1;
            }
            Err(error) => {
                let explained = disk.is_off() || counters.sync_errors + counters.short_writes > 0;
                if !explained {
                    return Err(format!("lost: {error}"));
                }
                happened.refused_openings += 1;
            }
        }
        drop(run);
        let counters = disk.counters();
        happened.lives += 1;
        happened.off += u64::from(disk.is_off());
        happened.failed_syncs += counters.sync_errors;
        happened.short_writes += counters.short_writes;
        happened.full += counters.full;
        happened.acknowledged = happened.acknowledged.max(told.borrow().acknowledged.len() as u64);
        happened.trims += u64::from(told.borrow().trimmed > 0);
        if let Some(wrong) = told.borrow_mut().wrong.take() {
            return Err(wrong);
        }
        disk = if (draw / 4).is_multiple_of(3) { disk.kill() } else { disk.crash(seed + life) };
    }
    Ok(())
}

#[test]
fn what_was_acknowledged_is_there_in_every_later_life() {
    let mut happened = Happened::default();
    for seed in 0..SEEDS {
        if let Err(wrong) = story(seed, None, &mut happened) {
            panic!("seed {seed}: {wrong}");
        }
    }
    println!("{happened:?}");
    let Happened { trims, off, failed_syncs, short_writes, refused_openings, segments, .. } =
        happened;
    assert!(happened.lives == SEEDS * LIVES && happened.acknowledged > 60, "{happened:?}");
    assert!(trims > 100 && off > 100 && segments > 2000, "{happened:?}");
    assert!(happened.full > 100, "{happened:?}");
    assert!(failed_syncs > 100 && short_writes > 50 && refused_openings > 50, "{happened:?}");
}

#[test]
fn each_planted_bug_is_caught() {
    for fault in FAULTS {
        let stories = (0..u64::from(fault.seeds).min(SEEDS)).map(|seed| {
            let wrong = story(seed, Some(fault), &mut Happened::default()).err();
            wrong.map(|it| (seed, it))
        });
        let Some((seed, wrong)) = stories.flatten().next() else {
            panic!("{}: nobody noticed", fault.name)
        };
        println!("{} at seed {seed}: {wrong}", fault.name);
        assert!(fault.expected.iter().any(|it| wrong.starts_with(it)), "{}: {wrong}", fault.name);
    }
}

#[test]
fn equal_seeds_repeat() {
    for seed in 0..20 {
        let run = || {
            let disk = FaultyDisk::new(seed, DiskFaults::default());
            let told = Rc::new(RefCell::new(Told::default()));
            let mut run = Run::new(Config::new(seed));
            let log = run.outside(|| Log::open(Arc::new(disk.clone()), OPTIONS)).unwrap();
            live(&mut run, &log, &told);
            let outcome = run.go();
            let seen = told.borrow().seen.clone();
            (outcome.trace_hash, seen, log.identity().unwrap())
        };
        assert_eq!(run(), run());
    }
}

#[test]
fn a_wake_up_during_a_call_is_not_lost() {
    for seed in 0..60 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let mut run = Run::new(Config::new(seed));
        let log = run.outside(|| Log::open(Arc::new(disk), OPTIONS)).unwrap();
        let reader = log.clone();
        let sleeper = run.spawn("reads and sleeps", move || {
            let for_ever = Duration::from_secs(1 << 30);
            reader.read(1, 1, for_ever, &mut |_, _| {}).unwrap();
            Sim::park();
        });
        run.spawn("wakes", move || {
            Sim::unpark(sleeper);
            log.append(&[b"record"]).unwrap();
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
    }
}

#[test]
fn a_reader_that_waits_is_woken_on_simulated_cores_and_gives_up_in_time() {
    for seed in 0..40 {
        let disk = FaultyDisk::new(seed, DiskFaults::default());
        let mut run = Run::new(Config::new(seed));
        let log = run.outside(|| Log::open(Arc::new(disk), OPTIONS)).unwrap();
        let reader = log.clone();
        run.spawn("reads", move || {
            let for_ever = Duration::from_secs(1 << 30);
            assert_eq!(reader.read(1, 1, for_ever, &mut |_, _| {}).unwrap(), 2);
            let until = Sim::now() + Sim::ticks_per_second() / 1_000_000;
            let short = Duration::from_micros(1);
            assert_eq!(reader.read(2, 1, short, &mut |_, _| {}).unwrap(), 2);
            assert!(Sim::now() >= until);
        });
        run.spawn("appends", move || log.append(&[b"record"]).unwrap());
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
    }
}
