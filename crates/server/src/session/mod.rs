//! A session: what a client is told for what it sends. No socket is known here, and no thread: a session may go on
//! anywhere.

mod beside;
mod constant;
mod control;
mod copy_in;
mod copy_out;
mod copy_rows;
mod cursor;
mod dialog;
mod environment;
mod extended;
mod formats;
mod input;
mod late;
mod login;
mod names;
mod output;
mod portals;
mod procedures;
mod query;
mod resume;
mod run;
mod schema;
mod settings;
mod transaction;
mod transcript;
mod utility;
mod waiting;

pub(crate) use input::Input;
pub(crate) use login::Origin;
pub(crate) use output::Output;

use self::constant::Constant;
use self::dialog::{Dialog, Step};
use self::login::{Login, Said};
use crate::jobs::JobResult;
use crate::shared::Shared;
use crate::wire::{BadMessage, Message, Severity, Writer, next_frame, next_startup};
use chiliad_sql::SqlError;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Messages that a session runs before others have their turn.
const MESSAGES_AT_ONCE: usize = 256;
/// Bytes of messages with the data of a COPY that are run together, before others have their turn.
const COPY_BYTES_AT_ONCE: usize = 16 << 10;

/// A session, from its first byte to its last.
pub(crate) struct Session {
    server: Arc<Shared>,
    phase: Phase,
    began: Instant,
}

enum Phase {
    Login(Box<Login>),
    Open(Box<Dialog>),
    /// Of a server that answers with constants.
    Constant(Box<Constant>),
}

/// Why a session has stopped running messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// There is no complete message left.
    Idle,
    /// There is more to do, when others have had their turn.
    Yields,
    /// It waits for a job, or for its client to read.
    Waits,
    /// TLS begins with the next byte, after what was said has been sent.
    StartTls,
    /// It ends when everything that was said has been sent.
    Ends,
}

impl Session {
    pub fn new(server: Arc<Shared>, origin: Origin) -> Self {
        let phase = Phase::Login(Box::new(Login::new(origin)));
        Self { server, phase, began: Instant::now() }
    }

    /// What it says.
    pub fn output(&mut self) -> &mut Output {
        match &mut self.phase {
            Phase::Login(login) => &mut login.output,
            Phase::Open(dialog) => &mut dialog.output,
            Phase::Constant(constant) => &mut constant.output,
        }
    }

    /// The number of the job that it waits for.
    pub fn job(&self) -> Option<u64> {
        match &self.phase {
            Phase::Open(dialog) if dialog.waiting.is_some() => Some(dialog.job),
            _ => None,
        }
    }

    /// Runs messages, as many as there are and as its turn allows.
    pub fn run(&mut self, input: &mut Input) -> Turn {
        let turn = self.run_messages(input);
        if let Phase::Open(dialog) = &mut self.phase {
            dialog.has_paused();
        }
        turn
    }

    fn run_messages(&mut self, input: &mut Input) -> Turn {
        for _ in 0..MESSAGES_AT_ONCE {
            if self.waits() {
                return Turn::Waits;
            }
            let turn = match &mut self.phase {
                Phase::Login(_) => self.run_login(input),
                Phase::Open(dialog) => run_message(dialog, input),
                Phase::Constant(constant) => run_constant(constant, &self.server, input),
            };
            match turn {
                Ok(None) => {}
                Ok(Some(turn)) => return turn,
                Err(bad) => return self.refuse(&bad),
            }
        }
        Turn::Yields
    }

    fn run_login(&mut self, input: &mut Input) -> Result<Option<Turn>, BadMessage> {
        let Phase::Login(login) = &mut self.phase else { return Ok(None) };
        let most = self.server.limits.login_bytes_max;
        let frame = match login.has_started() {
            false => next_startup(input.unread(), most)?,
            true => next_frame(input.unread(), most)?,
        };
        let Some(frame) = frame else { return Ok(Some(Turn::Idle)) };
        let said = login.take(&self.server, frame)?;
        input.advance(frame.length);
        input.keep_nothing();
        match said {
            Said::More => Ok(None),
            Said::StartTls => Ok(Some(Turn::StartTls)),
            Said::Refused => Ok(Some(Turn::Ends)),
            Said::Open(dialog) => {
                self.phase = if self.server.constant {
                    let Dialog { output, place, .. } = *dialog;
                    Phase::Constant(Box::new(Constant::new(output, place)))
                } else {
                    Phase::Open(dialog)
                };
                Ok(None)
            }
        }
    }

    /// Ends it because of bytes that are no message.
    fn refuse(&mut self, bad: &BadMessage) -> Turn {
        self.end_with(&bad.error());
        Turn::Ends
    }

    /// Ends it with an error.
    pub fn end_with(&mut self, error: &SqlError) {
        match &mut self.phase {
            Phase::Login(login) => {
                login.output.report(Severity::Fatal, error);
                login.output.release();
            }
            Phase::Open(dialog) => _ = dialog.fatal(error),
            Phase::Constant(constant) => {
                constant.output.report(Severity::Fatal, error);
                constant.output.release();
            }
        }
    }

    /// The job that it has waited for is done.
    pub fn job_done(&mut self, result: JobResult, input: &mut Input) {
        if let Phase::Open(dialog) = &mut self.phase
            && dialog.waiting.is_some()
        {
            let step = dialog.job_done(result);
            after_step(dialog, input, step);
        }
    }

    /// Whether it waits for a job, or for its client to read.
    fn waits(&mut self) -> bool {
        self.output().unsent() > self.server.limits.unsent_bytes_max || self.job().is_some()
    }

    /// Why it is to be ended now, if it is: it has taken too long over its login or with an open transaction.
    pub fn overdue(&self, now: Instant) -> Option<SqlError> {
        match &self.phase {
            Phase::Login(_) => {
                let over = now.duration_since(self.began) > self.server.limits.login_for;
                over.then(|| SqlError::query_canceled("canceling authentication due to timeout"))
            }
            Phase::Constant(_) => None,
            Phase::Open(dialog) => {
                let most = dialog.settings.idle_in_transaction_timeout?;
                let idle = now.duration_since(dialog.idle_since);
                let over = !dialog.is_idle() && dialog.waiting.is_none() && idle > most;
                over.then(|| {
                    let message = "terminating connection due to idle-in-transaction timeout";
                    SqlError::new("25P03", message)
                })
            }
        }
    }

    /// Whether the server may end it now that it goes down: it is idle, or has had `waited` to become so.
    pub fn drains(&self, waited: Duration) -> bool {
        match &self.phase {
            Phase::Login(_) | Phase::Constant(_) => true,
            Phase::Open(dialog) => {
                dialog.is_idle()
                    || waited > self.server.limits.drain_for && dialog.waiting.is_none()
            }
        }
    }
}

/// Runs the next message of a session that has logged in.
fn run_message(dialog: &mut Dialog, input: &mut Input) -> Result<Option<Turn>, BadMessage> {
    let most = dialog.server.limits.message_bytes_max;
    let Some(mut frame) = next_frame(input.unread(), most)? else { return Ok(Some(Turn::Idle)) };
    let mut length = frame.length;
    // Rows of a COPY may come in a message each: those that are there are run together.
    while frame.kind == b'd'
        && length < COPY_BYTES_AT_ONCE
        && let Ok(Some(next)) = next_frame(&input.unread()[length..], most)
        && next.kind == b'd'
        && dialog.keep_copy_data(frame.body)
    {
        length += next.length;
        frame = next;
    }
    let step = match Message::parse(frame.kind, frame.body) {
        Ok(message) => dialog.step(message),
        Err(bad @ BadMessage::NotUtf8) => dialog.refuse(frame.kind, bad.error()),
        Err(bad) => return Err(bad),
    };
    input.advance(length);
    Ok(after_step(dialog, input, step))
}

/// Answers the next message of a session that answers with constants.
fn run_constant(
    constant: &mut Constant,
    server: &Shared,
    input: &mut Input,
) -> Result<Option<Turn>, BadMessage> {
    let most = server.limits.message_bytes_max;
    let Some(frame) = next_frame(input.unread(), most)? else { return Ok(Some(Turn::Idle)) };
    let step = constant.step(&Message::parse(frame.kind, frame.body)?);
    input.advance(frame.length);
    input.keep_nothing();
    Ok((step == Step::End).then_some(Turn::Ends))
}

fn after_step(dialog: &mut Dialog, input: &mut Input, step: Step) -> Option<Turn> {
    match step {
        Step::Again => {
            input.rewind();
            return None;
        }
        Step::Wait => {
            dialog.not_again();
            input.keep_nothing();
            return Some(Turn::Waits);
        }
        Step::End => return Some(Turn::Ends),
        Step::Next => {}
    }
    // A pipeline whose results are many lets them go, unless it ends here.
    if dialog.is_long() && input.unread().first() != Some(&b'S') {
        dialog.send_results();
    }
    if input.kept() > dialog.server.limits.kept_bytes_max {
        dialog.not_again();
    }
    if std::mem::take(&mut dialog.attempt.begins) || !dialog.may_repeat() {
        input.keep_nothing();
    }
    None
}
