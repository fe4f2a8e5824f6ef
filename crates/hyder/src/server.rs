//! A server: a full copy of the database, and its place among those that share a log.

use crate::appender::{Appended, Appender};
use crate::catalog::Change;
use crate::checkpoint_state::Checkpointing;
use crate::checkpoints::Checkpoints;
use crate::desk::Desk;
use crate::faults::{BARRIER_ANSWERED_EARLY, RETRIED_AS_ANOTHER};
use crate::front::Front;
use crate::last::Last;
use crate::nap::nap;
use crate::options::{Group, ServerOptions};
use crate::pending::{Answer, Outgoing};
use crate::pipeline::Pipeline;
use crate::record::Kind;
use crate::roller::Roller;
use crate::rules::Joined;
use chiliad_api::{Error, Result, TableId};
use chiliad_machine::disk::Disk;
use chiliad_machine::shared_log::SharedLog;
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word, WorkerId};
use chiliad_storage::{Heap, LocalHeap};
use core::ops::Deref;
use core::time::Duration;
use std::sync::Arc;

/// A server. Lives in the machine's memory, because its words do.
pub struct Server<M: Machine> {
    pub desk: Desk<M>,
    pub checkpointing: Checkpointing<M>,
    /// How often something was appended.
    appends: M::Word,
    /// The worker of the thread that appends, and one more; zero where there is none: then sessions do.
    appending: M::Word,
    /// Threads that roll the log forward; zero: sessions do.
    pub rolling: M::Word,
    /// Nothing while somebody appends.
    appender: Latch<M, Option<Box<Appender>>>,
    /// Nothing while somebody plays the stage. A thread that plays both takes the first before the last.
    pub front: Latch<M, Option<Box<Front<M>>>>,
    pub last: Latch<M, Option<Box<Last<M>>>>,
    pub pipeline: Pipeline<M>,
}

impl<M: Machine> Deref for Server<M> {
    type Target = Desk<M>;

    fn deref(&self) -> &Desk<M> {
        &self.desk
    }
}

/// A server that sessions share.
pub type SharedServer<M> = Arc<Shared<M, Server<M>>>;

/// How long a server that joins waits for a record.
const JOIN_PATIENCE: Duration = Duration::from_millis(100);

/// Appends after which a session that appends and rolls for others leaves it to another one.
const ROUNDS_MAX: usize = 4;

impl<M: Machine> Server<M> {
    /// Begins with the newest checkpoint on `disk`, reads the log to its end and joins those that share it. Where others
    /// trim the log meanwhile, it begins again with the newer checkpoint that they have made.
    ///
    /// # Errors
    /// Those of the log and of the disk; [`Error::LogRefused`]; [`Error::InvalidOption`]; [`Error::OutOfMemory`].
    pub fn open(
        log: Arc<dyn SharedLog>,
        disk: Option<Arc<dyn Disk>>,
        options: ServerOptions,
    ) -> Result<SharedServer<M>> {
        if options.roll.group == Group::Fate {
            let what = "group: intentions that share their fate would make servers differ; accepted: off, exact";
            return Err(Error::InvalidOption(what.into()));
        }
        let checkpoints = disk.map(Checkpoints::new);
        let newest = || -> Result<Option<u64>> {
            let labels = checkpoints.as_ref().map_or(Ok(Vec::new()), Checkpoints::labels)?;
            Ok(labels.first().copied())
        };
        loop {
            let before = newest()?;
            match Self::open_once(Arc::clone(&log), checkpoints.clone(), options.clone()) {
                Err(Error::LogFailed(_) | Error::LogRefused { .. })
                    if newest().is_ok_and(|now| now > before) => {}
                opened => return opened,
            }
        }
    }

    /// Joins with what is there now.
    fn open_once(
        log: Arc<dyn SharedLog>,
        checkpoints: Option<Checkpoints>,
        options: ServerOptions,
    ) -> Result<SharedServer<M>> {
        let heap = Heap::new(options.memory_bytes_max);
        let own = LocalHeap::new(&heap).ok_or(Error::NO_SLOT)?;
        let mut roller = Roller::open(Arc::clone(&log), own, checkpoints.as_ref(), &options)?;
        let position = roller.front.next();
        let mut appender = Box::new(Appender::new(Arc::clone(&log)));
        let head = roller.last.head();
        let began = (roller.last.state()?, roller.last.catalog.clone());
        let server = Arc::new(Shared::new(Self {
            desk: Desk::new(options, heap, log, position, head, began),
            checkpointing: Checkpointing::new(checkpoints, head.label, position),
            appends: M::Word::new(0),
            appending: M::Word::new(0),
            rolling: M::Word::new(0),
            appender: Latch::new(None),
            front: Latch::new(None),
            last: Latch::new(None),
            pipeline: Pipeline::new(),
        }));
        let certifier = server.options.roll.certifier;
        server.recent.push(certifier, head.label, roller.last.roots());
        // Nothing is appended before all that is there was read and accepted.
        let end = server.log.bounds().map_or(0, |bounds| bounds.end);
        while roller.front.next() < end && roller.step(&server.desk, JOIN_PATIENCE)? {}
        let (nonce, rules) = (roller.last.nonce, roller.last.own_rules());
        appender.join(&Joined { nonce, rules });
        while roller.last.server == 0 {
            appender.step(&server.desk)?;
            roller.step(&server.desk, JOIN_PATIENCE)?;
        }
        server.has_joined(roller.last.server, roller.last.ordinal);
        *server.appender.lock() = Some(appender);
        let Roller { front, last } = roller;
        *server.front.lock() = Some(front);
        *server.last.lock() = Some(last);
        Ok(server)
    }

    /// Appends an item and waits until it is decided.
    pub fn decide(&self, kind: Kind, mut local: u64, bytes: Vec<u8>) -> Answer {
        if let Some(failure) = self.failure() {
            return Answer::Failed(failure);
        }
        let mut copy = if M::fault(&RETRIED_AS_ANOTHER) { bytes.clone() } else { Vec::new() };
        self.pending.lock().hand_over::<M>(Outgoing { kind, local, bytes });
        // Acquire pairs with the release in `run_appender`.
        let appending = self.appending.load(Ordering::Acquire);
        if let Some(worker) = appending.checked_sub(1) {
            M::unpark(WorkerId(worker as u32));
        }
        loop {
            let arrived = self.append_and_roll(ROUNDS_MAX);
            let answer = self.pending.lock().take_answer(local);
            match answer {
                Some(answer) => return answer,
                None if arrived => M::park(),
                None => nap::<M>(),
            }
            if !arrived && M::fault(&RETRIED_AS_ANOTHER) {
                local = self.next_local();
                copy[..8].copy_from_slice(&local.to_le_bytes());
                let bytes = copy.clone();
                self.pending.lock().hand_over::<M>(Outgoing { kind, local, bytes });
            }
        }
    }

    /// Returns when all that was in the log before the call is part of the published state. Readers that ask at once
    /// share a record.
    ///
    /// # Errors
    /// [`Error::LogFailed`].
    pub fn catch_up(&self) -> Result<()> {
        if M::fault(&BARRIER_ANSWERED_EARLY) {
            return Ok(());
        }
        let local = self.next_local();
        match self.decide(Kind::Barrier, local, local.to_le_bytes().to_vec()) {
            Answer::Failed(error) => Err(error),
            Answer::Committed(_) | Answer::Refused(_) | Answer::Changed(_) => Ok(()),
        }
    }

    /// Returns when all that is in the log by now is part of the published state, as far as the log tells where it ends.
    /// Nothing is appended.
    pub fn read_to_end(&self) {
        let end = self.log.bounds().map_or(0, |bounds| bounds.end);
        while self.progress.next() < end && self.failure().is_none() {
            // Acquire pairs with the releases in `rolls`.
            if self.rolling.load(Ordering::Acquire) > 0 {
                // Its threads do it: they would find the stages taken, and look again and again.
                nap::<M>();
            } else if !self.roll(Duration::ZERO) {
                // Another session rolls it forward.
                M::yield_now();
            }
        }
    }

    /// Changes the catalog of all servers.
    ///
    /// # Errors
    /// Why it cannot be changed so; [`Error::LogFailed`].
    pub fn change(&self, change: &Change) -> Result<TableId> {
        let local = self.next_local();
        match self.decide(Kind::Catalog, local, change.encode(local)) {
            Answer::Changed(changed) => changed,
            Answer::Failed(error) => Err(error),
            Answer::Committed(_) | Answer::Refused(_) => Err(Error::TransactionOver),
        }
    }

    /// Appends what was handed over and rolls the log forward, until nothing is left to do or so many times; another
    /// worker goes on then. Whether all that was handed over is in the log, or others see to it.
    pub fn append_and_roll(&self, rounds_max: usize) -> bool {
        // Acquire pairs with the releases in `run_appender` and `rolls`.
        if self.appending.load(Ordering::Acquire) > 0 {
            self.roll_unless_others_do();
            return true;
        }
        for _ in 0..rounds_max {
            match self.append() {
                Some(Appended::Later) => {
                    self.roll_unless_others_do();
                    return false;
                }
                Some(Appended::All) => {}
                Some(Appended::Nothing) | None => {
                    self.roll_unless_others_do();
                    return true;
                }
            }
            self.roll_unless_others_do();
        }
        let next = self.pending.lock().someone();
        self.wake(next.into_iter().collect());
        true
    }

    fn roll_unless_others_do(&self) {
        // Acquire pairs with the releases in `rolls`.
        if self.rolling.load(Ordering::Acquire) == 0 {
            self.roll(Duration::ZERO);
        }
    }

    /// Appends what was handed over, unless somebody does that, who then appends this as well.
    fn append(&self) -> Option<Appended> {
        let mut appended = Appended::Nothing;
        loop {
            let taken = self.appender.lock().take();
            let mut appender = taken?;
            let stepped = appender.step(&self.desk);
            *self.appender.lock() = Some(appender);
            match stepped {
                Ok(Appended::All) => {
                    appended = Appended::All;
                    // Release pairs with the acquire in `roll`: what is in the log is read.
                    self.appends.fetch_add(1, Ordering::Release);
                }
                Ok(Appended::Later) => return Some(Appended::Later),
                Ok(Appended::Nothing) => {}
                Err(error) => self.fail(error),
            }
            // Others may have handed over more while we had the appender, and have left it to us.
            if appended == Appended::All || !self.pending.lock().has_outgoing() {
                return Some(appended);
            }
        }
    }

    /// Rolls the log forward as far as it goes, unless somebody does that, who then goes as far; whether there was
    /// anything.
    pub fn roll(&self, patience: Duration) -> bool {
        let mut did = false;
        loop {
            // Acquire pairs with the release in `append`.
            let appends = self.appends.load(Ordering::Acquire);
            let Some(mut roller) = self.take_roller() else { return did };
            // A failed step leaves the stages at different places: they are not played any more.
            let stepped = match self.failure() {
                None => roller.step(&self.desk, patience),
                Some(_) => Ok(false),
            };
            if let Err(error) = &stepped {
                self.fail(error.clone());
            }
            let Roller { front, last } = roller;
            *self.last.lock() = Some(last);
            *self.front.lock() = Some(front);
            match stepped {
                Ok(true) => did = true,
                // Acquire pairs with the release in `append`: an append since then has left its records to us.
                Ok(false) if self.appends.load(Ordering::Acquire) != appends => {}
                Ok(false) | Err(_) => return did,
            }
        }
    }

    /// All stages, unless somebody plays one of them.
    fn take_roller(&self) -> Option<Roller<M>> {
        let front = self.front.lock().take()?;
        let last = self.last.lock().take();
        match last {
            Some(last) => Some(Roller { front, last }),
            None => {
                *self.front.lock() = Some(front);
                None
            }
        }
    }

    /// Decides nothing from now on.
    pub fn close(&self) {
        self.fail(Error::Canceled);
    }

    /// Appends what sessions hand over until `over`, as the thread that does.
    pub fn run_appender(&self, over: &dyn Fn() -> bool) {
        // Release pairs with the acquires in `decide` and `append_and_roll`.
        self.appending.store(u64::from(M::worker().0) + 1, Ordering::Release);
        while !over() {
            if self.failure().is_some() || self.append() != Some(Appended::All) {
                nap::<M>();
            }
        }
        // Release pairs with the acquire in `append_and_roll`.
        self.appending.store(0, Ordering::Release);
        self.leave_it_to_sessions();
    }

    /// Sessions that sleep go on with what a thread has done for them.
    pub fn leave_it_to_sessions(&self) {
        let woken = self.pending.lock().waiting();
        self.wake(woken);
    }
}
