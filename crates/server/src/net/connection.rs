//! A connection: a socket, what has come by it, and the session that answers.

use super::channel::{Channel, Reading};
use crate::jobs::JobResult;
use crate::session::{Input, Origin, Session, Turn};
use crate::shared::Shared;
use chiliad::Pending;
use chiliad_sql::SqlError;
use mio::{Registry, Token};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection.
pub(crate) struct Connection {
    channel: Channel,
    input: Input,
    session: Session,
    server: Arc<Shared>,
    origin: Origin,
    /// Nothing more is run: it is closed when everything has been sent.
    ends: bool,
    /// Its client has read nothing for too long: it is closed with what has not been sent.
    cut: bool,
    /// Since when the client has read nothing of what waits for it.
    stalled_since: Option<Instant>,
}

/// What becomes of a connection after its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum After {
    /// It waits for its client, a commit or a job.
    Waits,
    /// It has more to do when others have had their turn.
    Yields,
    /// It is over.
    Over,
}

impl Connection {
    pub fn new(server: Arc<Shared>, channel: Channel, origin: Origin) -> Self {
        let session = Session::new(Arc::clone(&server), origin);
        let input = Input::default();
        Self {
            channel,
            input,
            session,
            server,
            origin,
            ends: false,
            cut: false,
            stalled_since: None,
        }
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.channel.register(registry, token)
    }

    /// After a turn: has the poll tell of what it waits for.
    ///
    /// # Errors
    /// Those of the system, which then does not tell.
    pub fn watch(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.channel.watch_room(registry, token)
    }

    pub fn deregister(&mut self, registry: &Registry) {
        // The socket is closed next: should it be unknown, nothing is left to do.
        _ = self.channel.deregister(registry);
    }

    /// Whether its client is on this computer.
    pub fn is_from_here(&self) -> bool {
        self.origin == Origin::Here
    }

    /// The number of the job that its session waits for.
    pub fn job(&self) -> Option<u64> {
        self.session.job()
    }

    /// The system has told of the socket.
    pub fn told(&mut self, readable: bool, writable: bool, hung_up: bool) {
        self.channel.readable |= readable || hung_up;
        self.channel.writable |= writable;
        self.channel.hung_up |= hung_up;
    }

    /// Its turn: reads, runs and writes what it can.
    pub fn serve(&mut self) -> After {
        if self.cut {
            self.channel.finish();
            return After::Over;
        }
        match self.serve_while_open() {
            Ok(after) => after,
            // The peer has gone, or speaks no TLS: there is nobody to tell.
            Err(_) => After::Over,
        }
    }

    fn serve_while_open(&mut self) -> io::Result<After> {
        loop {
            self.write()?;
            if self.ends {
                let all = self.session.output().owed() == 0 && !self.channel.is_behind();
                if all {
                    self.channel.finish();
                }
                return Ok(if all { After::Over } else { After::Waits });
            }
            match self.session.run(&mut self.input) {
                Turn::Idle => {
                    self.write()?;
                    let read = self.read()?;
                    // A part of a handshake is answered, though it is nothing for the session.
                    self.write()?;
                    match read {
                        // What it waited for has failed meanwhile: it is closed when that is told.
                        _ if self.ends => {}
                        Some(After::Yields) => {}
                        Some(after) => return Ok(after),
                        None => return Ok(After::Waits),
                    }
                }
                Turn::Yields => {
                    self.write()?;
                    return Ok(After::Yields);
                }
                Turn::Waits => {
                    let before = self.session.output().unsent();
                    self.write()?;
                    let after = self.session.output().unsent();
                    if after == before && !self.ends {
                        return Ok(After::Waits);
                    }
                }
                Turn::StartTls => self.start_tls()?,
                Turn::Ends => self.ends = true,
            }
        }
    }

    /// Reads what has come: `None` for nothing, [`After::Yields`] for something.
    fn read(&mut self) -> io::Result<Option<After>> {
        if !self.channel.readable {
            return Ok(None);
        }
        let before = self.input.unread().len();
        let reading = self.channel.read(self.input.buffer())?;
        if self.input.unread().len() > before {
            // Should it be closed by now, it is found so when this has been run.
            self.channel.readable |= reading == Reading::Closed;
            return Ok(Some(After::Yields));
        }
        Ok((reading == Reading::Closed).then_some(After::Over))
    }

    /// Writes what may be told by now: at most places of a turn, nothing.
    fn write(&mut self) -> io::Result<()> {
        let output = self.session.output();
        if output.is_quiet() && !self.channel.is_behind() && self.stalled_since.is_none() {
            return Ok(());
        }
        if let Err(error) = output.open_gates() {
            // What the commit has said is not certain, so it is not told.
            output.discard();
            self.session.end_with(&SqlError::from(error));
            self.ends = true;
        }
        if !self.channel.writable {
            return Ok(());
        }
        let output = self.session.output();
        let mut moved = false;
        while !output.sendable().is_empty() || self.channel.is_behind() {
            let count = self.channel.write(output.sendable())?;
            output.sent(count);
            moved |= count > 0;
            // A handshake that waits for the peer takes nothing.
            if !self.channel.writable || count == 0 && !self.channel.is_behind() {
                break;
            }
        }
        let blocked = !self.channel.writable;
        self.stalled_since = match self.stalled_since {
            Some(since) if blocked && !moved => Some(since),
            _ => blocked.then(Instant::now),
        };
        Ok(())
    }

    fn start_tls(&mut self) -> io::Result<()> {
        while self.session.output().unsent() > 0 {
            self.write()?;
            if !self.channel.writable {
                // One byte that a fresh socket does not take.
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        // What came before the encryption could be anybody's.
        if !self.input.unread().is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(config) = &self.server.tls else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        self.channel.start_tls(config).map_err(io::Error::other)
    }

    /// The commit whose end what is said next waits for.
    pub fn gate(&mut self) -> Option<&mut Pending<()>> {
        self.session.output().gate()
    }

    /// The job that it has waited for is done.
    pub fn job_done(&mut self, result: JobResult) {
        self.session.job_done(result, &mut self.input);
    }

    /// Ends it if it has taken too long, over its login, with an open transaction, or over reading what it is sent.
    /// Whether it has.
    pub fn end_if_overdue(&mut self, now: Instant) -> bool {
        if self.ends {
            // A client that is told of its end and does not read it is not waited for as long.
            self.cut |= self.is_stalled(now, Duration::from_secs(1));
            return self.cut;
        }
        if self.is_stalled(now, self.server.limits.stalled_for) {
            (self.ends, self.cut) = (true, true);
            return true;
        }
        if let Some(error) = self.session.overdue(now) {
            self.session.end_with(&error);
            self.ends = true;
        }
        self.ends
    }

    fn is_stalled(&self, now: Instant, most: Duration) -> bool {
        self.stalled_since.is_some_and(|since| now.duration_since(since) > most)
    }

    /// The server goes down, for as long by now: ends it if it may be. Whether it is to have a turn.
    pub fn drain(&mut self, waited: Duration) -> bool {
        if !self.ends && self.session.drains(waited) {
            let message = "terminating connection due to administrator command";
            self.session.end_with(&SqlError::new("57P01", message));
            self.ends = true;
        }
        self.ends
    }

    /// Whether a client that is told of its end has had its time to read that.
    pub fn may_be_cut(&self, waited: Duration) -> bool {
        self.ends && waited > self.server.limits.drain_for
    }
}
