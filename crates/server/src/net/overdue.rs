//! Connections that take too long, at times that a test chooses: what becomes of them, and what of their places.

use super::channel::Channel;
use super::connection::{After, Connection};
use super::stream::Stream;
use crate::auth::Users;
use crate::catalog::Catalog;
use crate::jobs::Jobs;
use crate::session::Origin;
use crate::shared::{Choices, Limits, Shared};
use chiliad::Database;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

const STARTUP: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0ann\0\0";

fn server() -> Arc<Shared> {
    let catalog = Catalog::new(Database::in_memory().unwrap()).unwrap();
    let (users, procedures, limits) = (Users::new(), HashMap::new(), Limits::default());
    let choices =
        Choices { users, procedures, limits, tls: None, constant: false, restless: false };
    // No session here waits for a job.
    let (jobs, _) = Jobs::new();
    Arc::new(Shared::new(catalog, choices, jobs))
}

/// A connection and its client, who has sent this.
fn connection(server: &Arc<Shared>, sent: &[u8]) -> (Connection, UnixStream) {
    let (mut client, stream) = UnixStream::pair().unwrap();
    stream.set_nonblocking(true).unwrap();
    client.write_all(sent).unwrap();
    let stream = Stream::Unix(mio::net::UnixStream::from_std(stream));
    let mut connection = Connection::new(Arc::clone(server), Channel::new(stream), Origin::Here);
    assert_eq!(turn(&mut connection), After::Waits);
    (connection, client)
}

/// Turns until it waits or is over.
fn turn(connection: &mut Connection) -> After {
    loop {
        connection.told(true, true, false);
        match connection.serve() {
            After::Yields => {}
            after => return after,
        }
    }
}

fn query(text: &str) -> Vec<u8> {
    let length = (text.len() as u32 + 5).to_be_bytes();
    [b"Q", &length[..], text.as_bytes(), b"\0"].concat()
}

/// A result of so many kibibytes.
fn large(kibibytes: usize) -> Vec<u8> {
    query(&format!("SELECT '{}' FROM generate_series(1, {kibibytes})", "x".repeat(1024)))
}

/// Ends after so many seconds, and not before; the client hears this at last.
#[track_caller]
fn ends_after(mut connection: Connection, mut client: UnixStream, seconds: u64, hears: &str) {
    let now = Instant::now();
    assert!(!connection.end_if_overdue(now + Duration::from_secs(seconds - 1)));
    assert_eq!(turn(&mut connection), After::Waits);
    assert!(connection.end_if_overdue(now + Duration::from_secs(seconds + 1)));
    assert_eq!(turn(&mut connection), After::Over);
    drop(connection);
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.contains(hears), "{hears} is not in the last of {} bytes", heard.len());
}

#[test]
fn a_login_has_a_minute() {
    let server = server();
    for half in [&b""[..], &STARTUP[..2], &STARTUP[..9]] {
        let (connection, client) = connection(&server, half);
        ends_after(connection, client, 60, "C57014");
    }
}

#[test]
fn a_client_that_reads_nothing_has_a_minute() {
    let server = server();
    let (connection, client) = connection(&server, &[STARTUP, &large(4096)].concat());
    assert_eq!(server.sessions.count(), 1);
    ends_after(connection, client, 60, "");
    assert_eq!(server.sessions.count(), 0);
}

/// What a client is told last it need not read: it is waited for a moment, and not for as long as it likes.
#[test]
fn a_client_that_does_not_read_its_end_has_a_moment() {
    let server = server();
    let sent = [STARTUP, &large(700), b"\x01\0\0\0\x04"].concat();
    let (connection, client) = connection(&server, &sent);
    assert_eq!(server.sessions.count(), 1);
    ends_after(connection, client, 1, "");
    assert_eq!(server.sessions.count(), 0);
}

#[test]
fn an_open_transaction_has_the_time_that_its_session_says() {
    let server = server();
    let set = query("SET idle_in_transaction_session_timeout = 5000; BEGIN");
    let (connection, client) = connection(&server, &[STARTUP, &set].concat());
    ends_after(connection, client, 5, "C25P03");
    assert_eq!(server.sessions.count(), 0);
}
