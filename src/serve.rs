//! `chiliad serve`: a database for PostgreSQL clients, until a signal ends it.

use crate::args::ServeFlags;
use chiliad::{Database, Durability, Options};
use chiliad_host::{Stop, interrupt};
use chiliad_rig::directory::refusal;
use chiliad_server::{Running, Server, StartError, Users};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// How often the process looks whether it is asked to end.
const LOOK: Duration = Duration::from_millis(50);

/// Serves until SIGTERM or Ctrl-C, then drains and closes the database.
pub fn run(flags: &ServeFlags) -> Result<(), Stop> {
    let listening = interrupt::Listening::begin();
    let server = builder(flags)?;
    let database = open(flags)?;
    let running = server(database.clone())?;
    let said = say(flags, &running);
    while said.is_ok() && listening.check().is_ok() {
        std::thread::sleep(LOOK);
    }
    running.shutdown();
    let closed = database.close();
    let closed = closed.map_err(|error| Stop::Failed(format!("closing the database: {error}")));
    said.and(closed)?;
    Err(Stop::Done(if flags.quiet { String::new() } else { "closed as it should be\n".into() }))
}

/// A server of a database to come: what is wrong with the flags is found before a directory is made.
fn builder(flags: &ServeFlags) -> Result<impl FnOnce(Database) -> Result<Running, Stop>, Stop> {
    let users = match &flags.password_file {
        None => Users::new(),
        Some(path) => {
            let text = String::from_utf8(read("--password-file", path)?);
            let text = text.map_err(|_| bad("--password-file", path, "not UTF-8"))?;
            Users::parse(&text).map_err(|error| bad("--password-file", path, error))?
        }
    };
    let tls = match (&flags.tls_cert, &flags.tls_key) {
        (Some(certificates), Some(key)) => {
            Some((read("--tls-cert", certificates)?, read("--tls-key", key)?))
        }
        _ => None,
    };
    let (listen, sockets) = (flags.listen.clone(), flags.socket.clone());
    let (threads, connections) = (flags.threads, flags.max_connections);
    Ok(move |database: Database| {
        let most = usize::try_from(connections).unwrap_or(usize::MAX);
        let mut server = Server::builder(database).max_connections(most).users(users);
        if let Some(threads) = threads {
            server = server.threads(threads);
        }
        if let Some((certificates, key)) = &tls {
            server = server.tls(certificates, key);
        }
        if listen.is_empty() && sockets.is_empty() {
            server = server.listen(([127, 0, 0, 1], 5432).into());
        }
        server = listen.into_iter().fold(server, Server::listen);
        server = sockets.into_iter().fold(server, Server::socket);
        server.start().map_err(|error| match error {
            StartError::Database(error) => Stop::Failed(error.to_string()),
            error => Stop::BadInput(error.to_string()),
        })
    })
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Stop> {
    std::fs::read(path).map_err(|error| bad(flag, path, error))
}

fn bad(flag: &str, path: &Path, problem: impl core::fmt::Display) -> Stop {
    Stop::bad(flag, format!("{}: {problem}", path.display()))
}

fn open(flags: &ServeFlags) -> Result<Database, Stop> {
    let scheme: chiliad::Scheme =
        flags.scheme.parse().map_err(|error| Stop::bad("--scheme", error))?;
    if !scheme.info().has_transactions() {
        let what = "it has no transactions, which SQL needs; accepted: a scheme with transactions";
        return Err(Stop::bad("--scheme", format!("{scheme}: {what}")));
    }
    let durability = flags.durability.unwrap_or(Durability::Sync);
    // A scheme that waits searches for deadlocks, and each session has a `lock_timeout` for other long waits.
    let options =
        Options::default().scheme(scheme).durability(durability).wait_timeout(Duration::MAX);
    match &flags.data {
        Some(data) => Database::open_with(data, options).map_err(|error| refusal(data, &error)),
        None => Database::in_memory_with(options).map_err(|error| Stop::Failed(error.to_string())),
    }
}

/// Says where it listens.
fn say(flags: &ServeFlags, running: &Running) -> Result<(), Stop> {
    if flags.quiet {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    let addresses = running.addresses().iter().map(ToString::to_string);
    let paths = running.socket_paths().iter().map(|path| path.display().to_string());
    let places: Vec<String> = addresses.chain(paths).collect();
    let written = writeln!(out, "listening on {}", places.join(", ")).and_then(|()| out.flush());
    written.map_err(|error| Stop::bad("standard output", error))
}
