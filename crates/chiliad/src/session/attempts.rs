//! The attempts of a session's transactions, and of its loads.

use super::{Abort, Once, Plan, Session};
use crate::held::Held;
use crate::nest::{self, Aborts};
use crate::raw::TableId;
use crate::rules::Rules;
use crate::until::Until;
use crate::watch::event;
use crate::{Error, Result, Transaction};
use chiliad_api::{Attempt, Attempts};
use chiliad_engine::Outer;
use core::ops::ControlFlow;

/// The attempts of a transaction.
pub(super) struct Run<'a, B> {
    pub session: &'a mut Session,
    pub rules: &'a Rules,
    pub plan: Plan<'a>,
    pub limit: Until,
    /// The transactions in whose closures it is run.
    pub outer: Vec<Outer>,
    /// Attempts that memory has come back for.
    pub reliefs: u32,
    pub futile: Aborts,
    pub body: B,
}

impl<T, E, B> Attempts for Run<'_, B>
where
    E: From<Error>,
    B: FnMut(&mut Transaction<'_>) -> core::result::Result<T, E>,
{
    type Outcome = Held<T, E>;
    type Abort = Abort;

    #[inline]
    fn attempt(&mut self, aborts: u32) -> Attempt<Held<T, E>, Abort> {
        if let Err(over) = self.limit.check() {
            return Attempt::Over(Held::harmless(over));
        }
        let Self { session, rules, plan, outer, body, .. } = self;
        match session.run_once(rules, *plan, aborts, outer, body) {
            Once::Over(held) => Attempt::Over(held),
            Once::Aborted(abort) => Attempt::Aborted(abort),
            Once::Short(_) if session.relieve(rules, self.reliefs) => {
                self.reliefs += 1;
                Attempt::Again
            }
            Once::Short(held) => Attempt::Over(held),
        }
    }

    fn aborted(&mut self, abort: Abort, aborts: u32) -> ControlFlow<Held<T, E>> {
        if self.plan.options.retries_max.is_some_and(|most| aborts > most) {
            let reason = abort.reason;
            event!(WARN, aborts, reason = reason.name(), "a transaction ran out of retries");
            return ControlFlow::Break(Held::harmless(Error::Conflict(reason)));
        }
        match self.futile.add(!self.outer.is_empty(), abort.overtaken) {
            Some(nested) => ControlFlow::Break(Held::harmless(Error::Nested(nested))),
            None => ControlFlow::Continue(()),
        }
    }

    fn back_off(&mut self, aborts: u32) {
        self.rules.back_off(aborts, &self.limit);
    }
}

/// The attempts at putting one row into a table.
pub(super) struct Load<'a> {
    pub session: &'a mut Session,
    pub rules: &'a Rules,
    pub outer: &'a [Outer],
    pub table: TableId,
    pub row: (&'a [u8], &'a [u8]),
    pub reliefs: u32,
    pub futile: Aborts,
}

impl Attempts for Load<'_> {
    type Outcome = Result<()>;
    type Abort = ();

    fn attempt(&mut self, _: u32) -> Attempt<Result<()>, ()> {
        let (key, value) = self.row;
        match self.session.engine.try_load(self.outer, self.table, key, &[value]) {
            Ok(()) => {
                nest::has_written(self.rules.database);
                Attempt::Over(Ok(()))
            }
            Err(Error::Conflict(_)) => Attempt::Aborted(()),
            Err(Error::OutOfMemory { .. }) if self.session.relieve(self.rules, self.reliefs) => {
                self.reliefs += 1;
                Attempt::Again
            }
            error => Attempt::Over(error),
        }
    }

    fn aborted(&mut self, (): (), _: u32) -> ControlFlow<Result<()>> {
        match self.futile.add(!self.outer.is_empty(), false) {
            Some(nested) => ControlFlow::Break(Err(Error::Nested(nested))),
            None => ControlFlow::Continue(()),
        }
    }

    fn back_off(&mut self, aborts: u32) {
        self.rules.back_off(aborts, &Until::default());
    }
}
