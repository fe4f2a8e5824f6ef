//! A round: some seconds of work, and then everybody rests, and all is judged.

use super::fleet::Fleet;
use super::member::{Member, Pace, Shift, ended, failed, note, read_to_end};
use super::report::Tally;
use super::work::{Before, Client, seen};
use chiliad::RunOptions;
use chiliad_checker::{Header, History, Options, Recorder, check};
use chiliad_host::threads::{refused, start};
use chiliad_host::{Stop, interrupt};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether a round is over.
const LOOK: Duration = Duration::from_millis(20);

/// The kind of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing.
    Calm,
    /// A server is away at first and joins while the others work.
    Comes(usize),
    /// A server is away while the others work as fast as they can, and joins when they rest.
    Full(usize),
}

impl Fleet<'_> {
    /// Runs a round.
    pub fn round(&mut self, kind: Kind, length: Duration, tally: &mut Tally) -> Result<(), Stop> {
        let away = match kind {
            Kind::Calm => None,
            Kind::Comes(number) | Kind::Full(number) => Some(number),
        };
        if let Some(number) = away {
            let is_back = self.members[number].database().is_some();
            tally.left += u64::from(is_back);
            self.members[number].leave();
        }
        let mut recorders = self.work(kind, length, tally)?;
        if let Kind::Full(number) = kind {
            let joined = self.members[number].join(self.order, &self.appended, false)?;
            tally.joined(joined);
        }
        self.compare(tally)?;
        self.judge(&mut recorders, tally)
    }

    /// Lets all work for some time.
    fn work(
        &mut self,
        kind: Kind,
        length: Duration,
        tally: &mut Tally,
    ) -> Result<Vec<Recorder>, Stop> {
        let stop = AtomicBool::new(false);
        let pace = match kind {
            Kind::Full(_) => Pace::Full,
            Kind::Calm | Kind::Comes(_) => Pace::Every(self.period()),
        };
        let Self { order, appended, members, before, begun, .. } = self;
        let (order, appended) = (*order, &*appended);
        let shift = Shift { pace, before, stop: &stop, begun: *begun };
        let worked: Vec<_> = thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, member) in members.iter_mut().enumerate() {
                let shift = &shift;
                let work = move || {
                    let joined = match kind == Kind::Comes(number) {
                        true => {
                            rest(length / 2, shift.stop);
                            Some(member.join(order, appended, false)?)
                        }
                        false => None,
                    };
                    Ok((joined, member.work(shift)?))
                };
                let started = start(scope, work);
                threads.push(started.map_err(refused));
            }
            rest(length, &stop);
            // Relaxed: nothing is handed over by it.
            stop.store(true, Ordering::Relaxed);
            threads.into_iter().map(|thread| ended(thread?.join())).collect()
        });
        let mut recorders = Vec::new();
        for worked in worked {
            let (joined, of_clients) = worked?;
            joined.into_iter().for_each(|_| tally.came += 1);
            recorders.extend(of_clients);
        }
        Ok(recorders)
    }

    /// All copies have the same.
    fn compare(&mut self, tally: &mut Tally) -> Result<(), Stop> {
        let there = || self.members.iter().filter_map(Member::database);
        for db in there() {
            read_to_end(db).map_err(failed)?;
        }
        let prints = there().map(|db| db.fingerprint().map_err(failed));
        let prints = prints.collect::<Result<Vec<_>, Stop>>()?;
        tally.compared += prints.len() as u64;
        match prints.windows(2).find(|pair| pair[0] != pair[1]) {
            Some(pair) => Err(Stop::Failed(format!("two servers differ: {pair:?}"))),
            None => Ok(()),
        }
    }

    /// The history of the round is serializable, and ends with the rows that are there.
    fn judge(&mut self, recorders: &mut Vec<Recorder>, tally: &mut Tally) -> Result<(), Stop> {
        let (before, last) = self.look()?;
        recorders.push(last);
        let names = self.members.iter().find_map(Member::tables).map(|it| it.names());
        let header =
            Header { tables: names.unwrap_or_default(), complete: true, tombstones_kept: false };
        tally.transactions += recorders.iter().map(Recorder::transactions).sum::<u64>();
        let history = History::from_recorders(header, std::mem::take(recorders))
            .map_err(|error| Stop::Failed(format!("a history is malformed: {error}")))?;
        let options = Options { strict: true, order_follows_reads: true, ..Options::default() };
        let verdict = check(&history, &options);
        self.before = before;
        match verdict.anomalies.iter().find(|anomaly| anomaly.violation) {
            Some(anomaly) => Err(Stop::Failed(format!(
                "the history of a round is not serializable: {}\n{anomaly}",
                anomaly.class.name()
            ))),
            None => Ok(()),
        }
    }

    /// All rows, as one server has them, and the transaction that has read them.
    pub fn look(&mut self) -> Result<(Before, Recorder), Stop> {
        let looking = self.members.iter().find_map(|it| it.database().zip(it.tables()));
        let Some((db, tables)) = looking else {
            return Err(Stop::Failed("no server is there".into()));
        };
        let looker: &Client = &self.looker;
        let draft = RefCell::new(looker.look_at_all());
        let newest = RunOptions::default().linearizable();
        let looked =
            db.run_with(&newest, |tx| draft.borrow_mut().run(tx.raw(), looker, tables, self.begun));
        looked.map_err(failed)?;
        let mut draft = draft.into_inner();
        draft.end(self.begun);
        let rows = seen(&draft.attempt);
        let mut recorder = Recorder::new(draft.attempt.client as u32);
        note(&mut draft, &self.before, &mut recorder);
        Ok((rows, recorder))
    }
}

/// Sleeps for some time, or until all are to stop.
fn rest(time: Duration, stop: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < time && !stop.load(Ordering::Relaxed) && !interrupt::asked() {
        thread::sleep(LOOK.min(time));
    }
}
