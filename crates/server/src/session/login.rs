//! The begin of a session: encryption, the startup packet, the password.

use super::dialog::Dialog;
use super::output::Output;
use super::settings::Settings;
use crate::auth::{Answer, Exchange, MECHANISM, Refusal, Verifier, random};
use crate::shared::Shared;
use crate::wire::{BadMessage, Cursor, Frame, Message, Packet, Severity, Startup, Writer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chiliad_sql::SqlError;
use std::sync::Arc;

/// Where a client is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// On this computer, by a Unix socket or by the loopback interface.
    Here,
    /// Anywhere.
    Elsewhere,
}

/// A login in progress.
pub(super) struct Login {
    origin: Origin,
    pub output: Output,
    /// Encryption was offered or refused before.
    encrypted: bool,
    started: Option<Started>,
}

/// A login whose startup packet has come.
struct Started {
    user: String,
    database: String,
    settings: Settings,
    exchange: Exchange,
    known: bool,
    begun: bool,
}

/// What comes of a message.
pub(super) enum Said {
    More,
    StartTls,
    /// It ends: the client was told why, or nothing is to be told.
    Refused,
    Open(Box<Dialog>),
}

impl Login {
    pub fn new(origin: Origin) -> Self {
        Self { origin, output: Output::default(), encrypted: false, started: None }
    }

    /// Whether the startup packet has come: messages have a type from then on.
    pub fn has_started(&self) -> bool {
        self.started.is_some()
    }

    /// Takes a message.
    pub fn take(&mut self, server: &Arc<Shared>, frame: Frame<'_>) -> Result<Said, BadMessage> {
        let said = match &mut self.started {
            None => self.first(server, Packet::parse(frame.body)?),
            Some(_) => match Message::parse(frame.kind, frame.body)? {
                Message::Password(body) => self.password(server, body)?,
                Message::Terminate => Ok(Said::Refused),
                _ => return Err(BadMessage::new("expected password response")),
            },
        };
        Ok(said.unwrap_or_else(|error| {
            self.output.report(Severity::Fatal, &error);
            self.output.release();
            Said::Refused
        }))
    }

    fn first(&mut self, server: &Arc<Shared>, packet: Packet<'_>) -> Result<Said, SqlError> {
        match packet {
            Packet::Ssl if !self.encrypted && server.tls.is_some() => {
                self.encrypted = true;
                self.output.append(b"S");
                self.output.release();
                Ok(Said::StartTls)
            }
            Packet::Ssl | Packet::Gss => {
                self.output.append(b"N");
                self.output.release();
                Ok(Said::More)
            }
            Packet::Cancel { id, key } => {
                server.sessions.cancel(id, key);
                Ok(Said::Refused)
            }
            Packet::Startup(startup) => self.start(server, &startup),
        }
    }

    fn start(&mut self, server: &Arc<Shared>, startup: &Startup<'_>) -> Result<Said, SqlError> {
        if server.is_draining() {
            return Err(SqlError::new("57P03", "the database system is shutting down"));
        }
        let user = startup.get("user").ok_or_else(|| {
            SqlError::new("28000", "no PostgreSQL user name specified in startup packet")
        })?;
        self.negotiate(startup);
        let mut settings = Settings::new(server.durable);
        for (name, value) in &startup.parameters {
            match *name {
                "user" | "database" | "replication" => {}
                "options" => start_options(&mut settings, value)?,
                name if name.starts_with("_pq_.") => {}
                name => settings.start_with(name, value)?,
            }
        }
        let verifier = server.users.verifier(user);
        let known = verifier.is_some();
        let mock = || Verifier::mock(&server.mock_secret, user);
        let verifier = verifier.cloned().unwrap_or_else(mock);
        let nonce = STANDARD.encode(random::<18>());
        let started = Started {
            user: user.into(),
            database: startup.get("database").unwrap_or(user).into(),
            settings,
            exchange: Exchange::new(verifier, nonce),
            known,
            begun: false,
        };
        if server.users.is_empty() {
            if self.origin == Origin::Elsewhere {
                let message = format!("no password of user \"{user}\" is known to the server");
                return Err(SqlError::new("28000", message).with_hint(
                    "Without users, only clients on the server's own computer may connect.",
                ));
            }
            return self.open(server, started);
        }
        self.started = Some(started);
        let mechanisms = format!("{MECHANISM}\0\0");
        self.output.authentication(10, mechanisms.as_bytes());
        self.output.release();
        Ok(Said::More)
    }

    /// Tells a client that speaks a later minor version, or asks for options of the protocol, what the server has.
    fn negotiate(&mut self, startup: &Startup<'_>) {
        let options = startup.parameters.iter().map(|(name, _)| *name);
        let options: Vec<&str> = options.filter(|name| name.starts_with("_pq_.")).collect();
        if startup.minor == 0 && options.is_empty() {
            return;
        }
        self.output.message(b'v', |out| {
            out.extend(0x0003_0000_u32.to_be_bytes());
            out.extend(u32::try_from(options.len()).unwrap_or(u32::MAX).to_be_bytes());
            for option in &options {
                out.extend(option.as_bytes());
                out.push(0);
            }
        });
    }

    /// A message of SCRAM.
    fn password(
        &mut self,
        server: &Arc<Shared>,
        body: &[u8],
    ) -> Result<Result<Said, SqlError>, BadMessage> {
        let Some(started) = &mut self.started else { return Ok(Ok(Said::More)) };
        let mut cursor = Cursor::new(body);
        let message = match started.begun {
            true => cursor.rest(),
            false => {
                let mechanism = cursor.text()?;
                if mechanism != MECHANISM {
                    return Err(BadMessage::new(format!(
                        "client selected an invalid SASL authentication mechanism: {MECHANISM} is accepted"
                    )));
                }
                started.begun = true;
                cursor.value()?.unwrap_or_default()
            }
        };
        let wrong = |user: &str| {
            let message = format!("password authentication failed for user \"{user}\"");
            Ok(Err(SqlError::new("28P01", message)))
        };
        match started.exchange.take(message) {
            Ok(Answer::Continue(answer)) => {
                self.output.authentication(11, answer.as_bytes());
                self.output.release();
                Ok(Ok(Said::More))
            }
            Ok(Answer::Final(answer)) if started.known => {
                self.output.authentication(12, answer.as_bytes());
                match self.started.take() {
                    Some(started) => Ok(self.open(server, started)),
                    None => Ok(Ok(Said::More)),
                }
            }
            Ok(Answer::Final(_)) | Err(Refusal::WrongPassword) => wrong(&started.user),
            Err(Refusal::Malformed(what)) => {
                Err(BadMessage::new(format!("malformed SCRAM message: {what}")))
            }
        }
    }

    /// The login is done.
    fn open(&mut self, server: &Arc<Shared>, started: Started) -> Result<Said, SqlError> {
        let Started { user, database, settings, .. } = started;
        let place = server
            .sessions
            .enter(server.limits.sessions_max)
            .ok_or_else(|| SqlError::new("53300", "sorry, too many clients already"))?;
        let output = &mut self.output;
        output.authentication(0, &[]);
        for (name, value) in settings.reported() {
            output.parameter_status(name, value);
        }
        output.parameter_status("is_superuser", "on");
        output.parameter_status("session_authorization", &user);
        output.backend_key(place.id, place.key);
        let output = std::mem::take(output);
        let server = Arc::clone(server);
        let mut dialog = Dialog::new(server, place, (user, database), settings, output);
        dialog.ready();
        Ok(Said::Open(Box::new(dialog)))
    }
}

/// The parameters of `options`: `-c name=value` and `--name=value`.
fn start_options(settings: &mut Settings, options: &str) -> Result<(), SqlError> {
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        let given = match word {
            "-c" => words.next(),
            word => word.strip_prefix("--").or_else(|| word.strip_prefix("-c")),
        };
        match given.and_then(|given| given.split_once('=')) {
            Some((name, value)) => settings.start_with(&name.replace('-', "_"), value)?,
            None => {
                let message = format!("invalid command-line argument for server process: {word}");
                return Err(SqlError::syntax_error(message));
            }
        }
    }
    Ok(())
}
