//! All of a simulated shared log, and what a call does to it. Nothing here lets others run.

use super::faults::{LogCounters, LogFaults};
use super::records::{Placed, Record, Records};
use super::shown::{LogLooks, Shown};
use crate::device::caller;
use crate::random::{Generator, Stream};
use chiliad_machine::WorkerId;
use chiliad_machine::shared_log::{Position, SharedLogError};
use std::collections::BTreeMap;
use std::ops::Range;

/// How much longer a slow append takes.
const SLOW_FACTOR: u64 = 32;

/// The caller: a server, and its incarnation when the handle was made.
#[derive(Clone, Copy)]
pub(super) struct Caller {
    pub(super) server: u32,
    pub(super) incarnation: u64,
}

/// The log's knowledge of a server.
#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) incarnation: u64,
    pub(super) appends_cut: bool,
    pub(super) reads_cut: bool,
}

/// An append under way.
#[derive(Clone)]
struct Flight {
    caller: Caller,
    /// The leader that it was sent to.
    term: u64,
    /// The records left to append, the next one last.
    left: Vec<Record>,
    /// One record at a time.
    scattered: bool,
    /// Records of the call.
    count: u64,
    /// A record of it was not acknowledged.
    failed: bool,
}

/// How far an append is.
pub(super) enum Step {
    Acknowledged,
    /// It goes on after so many ticks.
    GoesOn(u64),
}

#[derive(Clone)]
pub(super) struct LogState {
    pub(super) identity: u128,
    pub(super) records: Records,
    links: BTreeMap<u32, Link>,
    shown: BTreeMap<u32, Shown>,
    flights: BTreeMap<u64, Flight>,
    flights_begun: u64,
    /// Records to come, each with the call before which it does.
    late: Vec<(u64, Record)>,
    /// Those that wait for a record, and those of them for whom there is one now.
    readers: Vec<WorkerId>,
    served: Vec<WorkerId>,
    term: u64,
    leaderless_until: u64,
    random: Generator,
    pub(super) faults: LogFaults,
    pub(super) counters: LogCounters,
}

impl LogState {
    pub(super) fn new(seed: u64, faults: LogFaults) -> Self {
        let mut random = Generator::new(seed, Stream::LogFaults);
        Self {
            identity: identity(&mut random),
            records: Records::new(),
            links: BTreeMap::new(),
            shown: BTreeMap::new(),
            flights: BTreeMap::new(),
            flights_begun: 0,
            late: Vec::new(),
            readers: Vec::new(),
            served: Vec::new(),
            term: 0,
            leaderless_until: 0,
            random,
            faults,
            counters: LogCounters::default(),
        }
    }

    /// A log of the same identity, without faults, that has all records that were not rolled back.
    pub(super) fn untrimmed(&self, seed: u64) -> Self {
        let (identity, records) = (self.identity, self.records.untrimmed());
        Self { identity, records, ..Self::new(seed, LogFaults::default()) }
    }

    pub(super) fn link(&mut self, server: u32) -> &mut Link {
        self.links.entry(server).or_default()
    }

    /// A server is handed the log; returns its incarnation.
    pub(super) fn hand_out(&mut self, server: u32) -> u64 {
        self.shown.insert(server, Shown::default());
        self.link(server).incarnation
    }

    /// What a server was shown as it looked.
    pub(super) fn looks(&self, server: u32) -> LogLooks {
        self.shown.get(&server).map_or_else(LogLooks::default, Shown::looks)
    }

    fn shown(&mut self, caller: Caller) -> &mut Shown {
        self.shown.entry(caller.server).or_default()
    }

    /// Whether something of which one in so many happens does so now.
    fn strikes(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.random.below(one_in) == 0
    }

    /// A call arrives: what was late until now is appended before it.
    ///
    /// # Errors
    /// When its server has crashed since.
    fn arrive(&mut self, caller: Caller) -> Result<Link, SharedLogError> {
        self.counters.calls += 1;
        let now = self.counters.calls;
        let (due, late) = std::mem::take(&mut self.late).into_iter().partition(|it| it.0 <= now);
        self.late = late;
        for (_, record) in due {
            self.place(record);
        }
        let link = *self.link(caller.server);
        if link.incarnation == caller.incarnation {
            return Ok(link);
        }
        self.counters.crashed += 1;
        Err(unavailable(format!("server {} has crashed", caller.server)))
    }

    fn refuse_cut_off<T>(&mut self, caller: Caller) -> Result<T, SharedLogError> {
        self.counters.cut_off += 1;
        Err(unavailable(format!("server {} is cut off", caller.server)))
    }

    fn has_leader(&mut self) -> Result<(), SharedLogError> {
        if self.counters.calls > self.leaderless_until {
            return Ok(());
        }
        self.counters.leaderless += 1;
        Err(unavailable("it has no leader".into()))
    }

    fn place(&mut self, record: Record) {
        self.counters.appended += 1;
        self.records.push(record);
        self.served.append(&mut self.readers);
    }

    /// The caller waits for a record.
    pub(super) fn await_record(&mut self) {
        self.readers.extend(caller());
    }

    /// Those that have waited for a record that is there now.
    pub(super) fn take_readers(&mut self) -> Vec<WorkerId> {
        std::mem::take(&mut self.served)
    }

    fn place_later(&mut self, record: Record) {
        let due = self.counters.calls + self.random.gap(self.faults.late_calls_mean);
        self.late.push((due, record));
    }

    /// The leader is gone: nobody takes appends for the next `calls` calls.
    pub(super) fn lose_leader(&mut self, calls: u64) {
        self.counters.leaders_lost += 1;
        self.term += 1;
        self.leaderless_until = self.counters.calls.saturating_add(calls);
    }

    /// An append sets out; returns its number, and how many ticks it takes.
    pub(super) fn begin_append(
        &mut self,
        caller: Caller,
        records: &[&[u8]],
    ) -> Result<(u64, u64), SharedLogError> {
        let link = self.arrive(caller)?;
        let accepted = self.faults.record_bytes_max;
        if let Some(bytes) = records.iter().map(|it| it.len()).find(|&it| it > accepted) {
            self.counters.too_large += 1;
            return Err(SharedLogError::TooLarge { bytes, accepted });
        }
        if link.appends_cut {
            return self.refuse_cut_off(caller);
        }
        if self.strikes(self.faults.leader_lost_one_in) {
            let calls = self.random.gap(self.faults.leaderless_calls_mean);
            self.lose_leader(calls);
        }
        self.has_leader()?;
        self.has_room(records.iter().map(|it| it.len() as u64).sum())?;
        let scattered = records.len() > 1 && self.strikes(self.faults.scattered_one_in);
        let mut left: Vec<Record> = records.iter().rev().map(|&it| it.into()).collect();
        if scattered {
            self.counters.scattered += 1;
            for at in (1..left.len()).rev() {
                left.swap(at, self.random.below(at as u64 + 1) as usize);
            }
        }
        let number = self.flights_begun;
        self.flights_begun += 1;
        let count = records.len() as u64;
        let term = self.term;
        self.flights.insert(number, Flight { caller, term, left, scattered, count, failed: false });
        Ok((number, self.ticks()))
    }

    fn has_room(&mut self, bytes: u64) -> Result<(), SharedLogError> {
        let Some(most) = self.faults.full_after_bytes else { return Ok(()) };
        if self.records.bytes().saturating_add(bytes) <= most {
            return Ok(());
        }
        self.counters.full += 1;
        Err(SharedLogError::Full(format!("{most} bytes are all it may have")))
    }

    /// How long an append takes, or one of its records.
    fn ticks(&mut self) -> u64 {
        let ticks = self.random.gap(self.faults.append_ticks_mean);
        if !self.strikes(self.faults.slow_one_in) {
            return ticks;
        }
        self.counters.slow += 1;
        ticks * SLOW_FACTOR
    }

    /// An append reaches the log, or one record of it does.
    pub(super) fn step_append(
        &mut self,
        caller: Caller,
        number: u64,
    ) -> Result<Step, SharedLogError> {
        let link = self.arrive(caller)?;
        let Some(mut flight) = self.flights.remove(&number) else {
            return Err(unavailable(format!("server {} has crashed", caller.server)));
        };
        if link.appends_cut {
            self.interrupt(flight);
            return self.refuse_cut_off(caller);
        }
        if flight.term != self.term {
            self.counters.interrupted += 1;
            self.interrupt(flight);
            return Err(unavailable("it has lost its leader".into()));
        }
        while let Some(record) = flight.left.pop() {
            flight.failed |= !self.decide(record);
            if flight.scattered && !flight.left.is_empty() {
                self.flights.insert(number, flight);
                return Ok(Step::GoesOn(self.ticks()));
            }
        }
        if flight.failed {
            return Err(unavailable("no answer came".into()));
        }
        self.counters.acknowledged += flight.count;
        Ok(Step::Acknowledged)
    }

    /// Draws the fate of a record; returns whether it is acknowledged.
    fn decide(&mut self, record: Record) -> bool {
        if self.strikes(self.faults.dropped_one_in) {
            self.counters.dropped += 1;
            return false;
        }
        if self.strikes(self.faults.late_one_in) {
            self.counters.late += 1;
            self.place_later(record);
            return false;
        }
        if self.strikes(self.faults.doubled_one_in) {
            self.counters.doubled += 1;
            let second = record.clone();
            if self.random.below(2) == 0 { self.place(second) } else { self.place_later(second) }
        }
        let acknowledged = !self.strikes(self.faults.acks_lost_one_in);
        self.counters.acks_lost += u64::from(!acknowledged);
        self.place(record);
        acknowledged
    }

    /// An append meets the end of its leader or of its link: some of its records were stored, a suffix is lost.
    fn interrupt(&mut self, mut flight: Flight) {
        let stored = self.random.below(flight.left.len() as u64 + 1);
        self.counters.acks_lost += stored;
        self.counters.dropped += flight.left.len() as u64 - stored;
        for _ in 0..stored {
            if let Some(record) = flight.left.pop() {
                self.place(record);
            }
        }
    }

    /// A server has crashed. What it was appending is stored, comes late, or is lost, record by record.
    pub(super) fn crash_server(&mut self, server: u32) {
        self.link(server).incarnation += 1;
        let own = |flight: &Flight| flight.caller.server == server;
        let numbers: Vec<u64> =
            self.flights.iter().filter(|it| own(it.1)).map(|it| *it.0).collect();
        for flight in numbers.iter().filter_map(|it| self.flights.remove(it)).collect::<Vec<_>>() {
            self.counters.crashed += 1;
            for record in flight.left {
                match self.random.below(3) {
                    0 => {
                        self.counters.acks_lost += 1;
                        self.place(record);
                    }
                    1 => {
                        self.counters.late += 1;
                        self.place_later(record);
                    }
                    _ => self.counters.dropped += 1,
                }
            }
        }
    }

    pub(super) fn read(
        &mut self,
        caller: Caller,
        from: Position,
        bytes: usize,
    ) -> Result<Vec<Placed>, SharedLogError> {
        if self.arrive(caller)?.reads_cut {
            return self.refuse_cut_off(caller);
        }
        if self.strikes(self.faults.read_errors_one_in) {
            self.counters.read_errors += 1;
            return Err(unavailable("no answer came".into()));
        }
        let first = self.records.bounds().start;
        if from < first {
            self.counters.trimmed_reads += 1;
            return Err(SharedLogError::Trimmed { first });
        }
        let mut found = self.records.since(caller.server, from, bytes);
        if !found.is_empty() && self.strikes(self.faults.short_reads_one_in) {
            self.counters.short_reads += 1;
            found.truncate(self.random.below(found.len() as u64) as usize);
        }
        self.shown(caller).records(&found);
        Ok(found)
    }

    pub(super) fn bounds(&mut self, caller: Caller) -> Result<Range<Position>, SharedLogError> {
        if self.arrive(caller)?.reads_cut {
            return self.refuse_cut_off(caller);
        }
        let Range { start, mut end } = self.records.bounds();
        if end > start && self.strikes(self.faults.stale_bounds_one_in) {
            self.counters.stale_bounds += 1;
            end = start + self.random.below(end - start);
        }
        self.shown(caller).bounds(&(start..end));
        Ok(start..end)
    }

    pub(super) fn identity(&mut self, caller: Caller) -> Result<u128, SharedLogError> {
        if self.arrive(caller)?.reads_cut {
            return self.refuse_cut_off(caller);
        }
        let identity = self.identity;
        self.shown(caller).identity(identity);
        Ok(identity)
    }

    pub(super) fn trim(
        &mut self,
        caller: Caller,
        position: Position,
    ) -> Result<(), SharedLogError> {
        if self.arrive(caller)?.appends_cut {
            return self.refuse_cut_off(caller);
        }
        self.has_leader()?;
        self.records.trim(position);
        Ok(())
    }

    /// All records are gone, and with `anew` the log is another one. What was late does not come any more.
    pub(super) fn empty(&mut self, anew: bool) {
        self.records = Records::new();
        self.late.clear();
        if anew {
            self.become_another();
        }
    }

    /// The log has another identity.
    pub(super) fn become_another(&mut self) {
        self.identity = identity(&mut self.random);
    }
}

fn identity(random: &mut Generator) -> u128 {
    u128::from(random.next()) << 64 | u128::from(random.next())
}

fn unavailable(why: String) -> SharedLogError {
    SharedLogError::Unavailable(format!("the simulated log: {why}"))
}
