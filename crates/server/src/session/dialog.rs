//! A session after its login: what it remembers between messages, and what each message does.

use super::copy_in::CopyIn;
use super::extended::Prepared;
use super::names::Names;
use super::output::{Mark, Output};
use super::portals::Portals;
use super::query::Query;
use super::settings::Settings;
use super::transaction::{State, Tx};
use super::transcript::Trials;
use super::waiting::{After, Waiting};
use crate::cancel::Place;
use crate::claims::Claimed;
use crate::shared::Shared;
use crate::wire::{Message, Severity, Writer};
use chiliad::{Cancel, Pending};
use chiliad_sql::{OwnedDatum, SqlError};
use std::sync::Arc;
use std::time::Instant;

/// The state of a session after its login.
pub(super) struct Dialog {
    pub server: Arc<Shared>,
    pub place: Place,
    pub user: String,
    pub database: String,
    pub settings: Settings,
    pub output: Output,
    pub tx: Tx,
    /// The rows that a block has claimed.
    pub claimed: Claimed,
    pub statements: Names<Prepared>,
    pub portals: Portals,
    /// The memory of the values of a portal that is over, for those of the next one.
    pub spare_values: Vec<OwnedDatum>,
    /// The rest of a string of statements.
    pub query: Option<Query>,
    pub copy: Option<CopyIn>,
    /// After an error in the extended protocol: messages count for nothing until Sync.
    pub skips_to_sync: bool,
    /// A job is done for it: nothing is run until that has ended.
    pub waiting: Option<Waiting>,
    /// The number of that job.
    pub job: u64,
    pub attempt: Attempt,
    pub cancel: Cancel,
    pub statement_time: i64,
    /// Since when nothing was asked; not kept while messages are run.
    pub idle_since: Instant,
    /// A message was run since.
    asked: bool,
}

/// What may be run again: everything since the output was at `mark`.
pub(super) struct Attempt {
    pub mark: Mark,
    /// Nothing was done since that cannot be done again, and nothing is told.
    pub clean: bool,
    /// It began with the message in hand: those before are not kept.
    pub begins: bool,
    /// Prepared statements made since.
    pub made: Vec<String>,
    aborts: u32,
    deadline: Option<Instant>,
}

/// Whether a transaction is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Committed {
    Now,
    /// When a job has ended.
    Later,
}

/// What is to be done after a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The next message.
    Next,
    /// All messages that are kept, again.
    Again,
    /// Nothing, until a job is done.
    Wait,
    /// The connection ends when everything is written.
    End,
}

impl Attempt {
    fn new(mark: Mark, clean: bool) -> Self {
        Self { mark, clean, begins: true, made: Vec::new(), aborts: 0, deadline: None }
    }
}

impl Dialog {
    pub fn new(
        server: Arc<Shared>,
        place: Place,
        (user, database): (String, String),
        settings: Settings,
        output: Output,
    ) -> Self {
        let mark = output.mark();
        let claimed = Claimed::new(Arc::clone(&server.claims), place.id);
        Self {
            claimed,
            server,
            place,
            user,
            database,
            settings,
            output,
            tx: Tx::default(),
            statements: Names::default(),
            portals: Portals::default(),
            spare_values: Vec::new(),
            query: None,
            copy: None,
            skips_to_sync: false,
            waiting: None,
            job: 0,
            attempt: Attempt::new(mark, true),
            cancel: Cancel::new(),
            statement_time: 0,
            idle_since: Instant::now(),
            asked: false,
        }
    }

    /// Does what a message says.
    pub fn step(&mut self, message: Message<'_>) -> Step {
        self.asked = true;
        if self.copy.is_some() {
            return self.copy_step(message);
        }
        match message {
            Message::Terminate => return Step::End,
            Message::Query(text) => return self.simple_query(Ok(text)),
            Message::Sync => return self.sync(),
            // A client that has not yet heard that its COPY has failed still sends.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => return Step::Next,
            Message::Password(_) => {
                return self.fatal(&SqlError::protocol_violation("unexpected password message"));
            }
            _ if self.skips_to_sync => return Step::Next,
            _ => {}
        }
        let done = match message {
            Message::Parse { name, text, types } => self.parse(name, text, &types),
            Message::Bind(bind) => self.bind(&bind),
            Message::Describe(target) => self.describe(target),
            Message::Execute { portal, rows_max } => return self.execute(portal, rows_max),
            Message::Close(target) => {
                self.close(target);
                Ok(())
            }
            Message::Flush => self.flush(),
            // All others are taken above.
            _ => Ok(()),
        };
        match done {
            Ok(()) => Step::Next,
            Err(error) => self.fail_extended(error),
        }
    }

    /// A message of this type cannot be done, as it is: an error of what it was to do.
    pub fn refuse(&mut self, kind: u8, error: SqlError) -> Step {
        self.asked = true;
        if self.copy.is_some() {
            return self.fail_copy(error);
        }
        match kind {
            b'Q' => self.simple_query(Err(error)),
            // A CopyFail whose COPY has failed before counts for nothing, as does all up to Sync.
            b'f' => Step::Next,
            _ if self.skips_to_sync => Step::Next,
            _ => self.fail_extended(error),
        }
    }

    /// All that has come was run: from now on it is idle. The clock is looked at only where that may not last.
    pub fn has_paused(&mut self) {
        let is_limited = self.settings.idle_in_transaction_timeout.is_some();
        if std::mem::take(&mut self.asked) && is_limited {
            self.idle_since = Instant::now();
        }
    }

    /// Nothing before this point is run again.
    pub fn new_attempt(&mut self) {
        self.attempt = Attempt::new(self.output.mark(), self.tx.state() == State::None);
    }

    /// Whether the messages since the attempt's begin are to be kept.
    pub fn may_repeat(&self) -> bool {
        self.attempt.clean
    }

    /// Whether a pipeline keeps back more results than are kept to be made again.
    pub fn is_long(&self) -> bool {
        let most = self.server.limits.repeat_bytes_max;
        self.query.is_none()
            && self.copy.is_none()
            && self.attempt.clean
            && self.output.since(self.attempt.mark) > most
    }

    /// Lets the results of a pipeline go.
    pub fn send_results(&mut self) {
        if let Err(error) = self.flush() {
            _ = self.fail_extended(error);
        }
        self.not_again();
    }

    /// What was done cannot be done twice.
    pub fn not_again(&mut self) {
        self.attempt.clean = false;
    }

    /// Whether everything since the attempt's begin is now to be run again, because of this error. What it did is
    /// undone then.
    pub fn repeats(&mut self, error: &SqlError) -> bool {
        if !self.attempt.clean || !error.is_retryable() || self.server.is_draining() {
            return false;
        }
        let now = Instant::now();
        let limit = self.server.limits.retry_for;
        let deadline = *self.attempt.deadline.get_or_insert_with(|| now + limit);
        if now >= deadline {
            return false;
        }
        self.take_back();
        self.attempt.aborts += 1;
        self.server.catalog.database().back_off(self.attempt.aborts);
        true
    }

    /// Undoes what the attempt has done, said and made.
    pub fn take_back(&mut self) {
        self.tx.rollback();
        self.unsay();
        self.portals.end_transaction(false);
    }

    /// Takes back what the attempt has said, with the prepared statements it has made.
    fn unsay(&mut self) {
        self.output.take_back(self.attempt.mark);
        for name in std::mem::take(&mut self.attempt.made) {
            self.statements.remove(&name);
        }
    }

    /// Before anything is told of an open transaction: what it has read is one state of the database. Otherwise what the
    /// attempt has said is taken back, unless it is said again of another state.
    pub fn prove(&mut self) -> Result<(), SqlError> {
        if self.tx.state() != State::Block {
            return Ok(());
        }
        let mut trials = Trials::default();
        loop {
            match self.tx.prove() {
                Ok(seen) => {
                    self.hold_until(seen);
                    return Ok(());
                }
                Err(error) if self.resumes(&error, &mut trials) => {}
                Err(error) => {
                    self.unsay();
                    return Err(error);
                }
            }
        }
    }

    /// Holds back what the attempt has said until what it has read is durable, if the session is to be told of nothing
    /// else.
    pub fn hold_until(&mut self, seen: Option<Pending<()>>) {
        // Where the log has failed nothing becomes durable any more, and what only reads goes on.
        let late = |seen: &Pending<()>| matches!(seen.is_durable(), Ok(false));
        if let Some(seen) = seen.filter(|seen| self.settings.durable && late(seen)) {
            self.output.hold(self.attempt.mark, seen);
        }
    }

    /// The error that a client is told in place of one of a statement: [`Tx::judge`].
    pub fn judge(&mut self, error: SqlError) -> SqlError {
        let (error, seen) = self.tx.judge(error);
        self.hold_until(seen);
        error
    }

    /// Commits the transaction, and holds back what is said from here on until it is durable. One that has changed tables
    /// is committed by a job, and `after` says what is done then.
    pub fn commit(&mut self, after: After) -> Result<Committed, SqlError> {
        if let Some(changed) = self.tx.take_changed() {
            let started = self.commit_changes(changed, after);
            if started.is_err() {
                self.end_settings(false);
            }
            return started.map(|()| Committed::Later);
        }
        if let Err(error) = self.catch_up() {
            self.rollback();
            return Err(error);
        }
        let mut trials = Trials::default();
        let pending = loop {
            let committed = match self.tx.is_open() {
                true => self.enter_tables(None, &[]).and_then(|()| {
                    let committed = self.tx.commit();
                    self.leave_tables();
                    committed
                }),
                false => self.tx.commit(),
            };
            match committed {
                Ok(pending) => break pending,
                Err(error) if self.resumes(&error, &mut trials) => {}
                Err(error) => {
                    self.tx.rollback();
                    self.end_settings(false);
                    return Err(error);
                }
            }
        };
        if let Some(pending) = pending.filter(|_| self.settings.durable) {
            self.output.hold(self.attempt.mark, pending);
        }
        self.end_settings(true);
        Ok(Committed::Now)
    }

    pub fn rollback(&mut self) {
        self.tx.rollback();
        self.end_settings(false);
    }

    pub fn end_settings(&mut self, committed: bool) {
        self.portals.end_transaction(committed);
        for (name, value) in self.settings.end_transaction(committed) {
            self.output.parameter_status(name, &value);
        }
    }

    /// An error of a statement is told, and the transaction has failed.
    pub fn fail(&mut self, error: &SqlError) {
        if self.tx.state() == State::Implicit {
            self.end_settings(false);
        }
        self.tx.fail();
        if self.tx.state() == State::None {
            self.portals.end_transaction(false);
        }
        self.output.report(Severity::Error, error);
    }

    /// As [`Dialog::fail`]; where the transaction has met a conflict, what it has read may be no state that ever was, and
    /// what the attempt has said of it is not told.
    pub fn fail_lost(&mut self, error: &SqlError) {
        if error.is_retryable() {
            self.unsay();
        }
        self.fail(error);
    }

    /// ReadyForQuery; what was said may leave, and nothing of it is done again.
    pub fn ready(&mut self) {
        self.place.running.end();
        self.skips_to_sync = false;
        if self.tx.state() != State::Block {
            self.claimed.release();
        }
        let status = self.tx.status();
        self.output.ready(status);
        self.output.release();
        self.new_attempt();
    }

    /// Ends the connection with an error.
    pub fn fatal(&mut self, error: &SqlError) -> Step {
        self.query = None;
        self.copy = None;
        self.rollback();
        self.output.report(Severity::Fatal, error);
        self.output.release();
        Step::End
    }

    /// Whether nothing is in progress.
    pub fn is_idle(&self) -> bool {
        self.tx.state() == State::None
            && self.copy.is_none()
            && self.query.is_none()
            && self.waiting.is_none()
    }
}
