//! Rolls the log forward: the stages, played by one thread in turns.

use crate::build::build;
use crate::checkpoints::Checkpoints;
use crate::desk::Desk;
use crate::front::Front;
use crate::judge::Judge;
use crate::last::Last;
use crate::maker::Maker;
use crate::opening::{Beginning, begin};
use crate::options::ServerOptions;
use crate::progress::{Progress, Timed};
use chiliad_api::Error;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::SharedLog;
use chiliad_storage::LocalHeap;
use core::time::Duration;
use std::sync::Arc;

/// The stages that have a state of their own.
pub struct Roller<M: Machine> {
    pub front: Box<Front<M>>,
    pub last: Box<Last<M>>,
}

impl<M: Machine> Roller<M> {
    /// Begins with the newest checkpoint, or with the first record of the log.
    ///
    /// # Errors
    /// Why the log cannot be the one that goes on from there; [`Error::OutOfMemory`].
    pub fn open(
        log: Arc<dyn SharedLog>,
        heap: LocalHeap<M>,
        checkpoints: Option<&Checkpoints>,
        options: &ServerOptions,
    ) -> Result<Self, Error> {
        let mut judge = Judge::new(Maker::new(heap), options.roll);
        let patience = options.log_patience;
        let Beginning { restored, log: identity } =
            begin(&mut judge.maker, &*log, checkpoints, patience)?;
        let mut last = Box::new(Last::new(judge, log.place(), identity, options.verify));
        let mut front = Box::new(Front::new(log, identity));
        if let Some(mut restored) = restored {
            front.go_on(&mut restored);
            last.go_on(restored)?;
        }
        Ok(Self { front, last })
    }

    /// Reads what is there, or comes within `patience`, decides it and publishes the state after it. Whether there
    /// was anything.
    ///
    /// # Errors
    /// Those of the log that will not pass; [`Error::OutOfMemory`], [`Error::Diverged`]. Nothing is rolled forward any
    /// more then.
    pub fn step(&mut self, server: &Desk<M>, patience: Duration) -> Result<bool, Error> {
        let Self { front, last } = self;
        let position = front.next();
        let mut batches = front.step(server, patience)?;
        let states = server.recent.all();
        let options = last.judge.options;
        let start = Progress::<M>::start();
        for batch in &mut batches {
            build(batch, &mut last.judge.maker, &options, &states);
        }
        server.progress.worked(Timed::Building, start);
        last.step(server, batches)?;
        front.collect(server, &mut last.judge.maker, u64::MAX);
        Ok(front.next() > position)
    }
}
