//! Messages that lie about their length, that are cut, and that contradict themselves: their connection is told so, nothing
//! of it stays, and the others go on.

mod common;

use chiliad::Database;
use chiliad_server::{Running, Server};
use common::raw::Raw;
use common::{local, resident, serve, until};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A server's limit of a message, and that of one before the login.
const MESSAGE_BYTES_MAX: u32 = 64 << 20;
const LOGIN_BYTES_MAX: u32 = 10_000;
/// What the process may grow by, for whatever else it does meanwhile and for what its allocator keeps.
const GROWTH_MAX: u64 = 160 << 20;

/// One test at a time: they look at the memory of the process.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server for two clients at once.
fn serve_two() -> Running {
    let server = Server::builder(Database::in_memory().expect("opens")).listen(local());
    server.threads(2).max_connections(2).start().expect("it starts")
}

fn is_served(running: &Running) {
    let told = Raw::connect(running).query("SELECT 1").told();
    assert_eq!(told, ["T 1", "D 1", "C SELECT 1"]);
}

/// A length word beyond the limit is refused before anything of the message is kept; one within it takes memory only as
/// the message comes.
#[test]
fn a_length_word_takes_no_memory() {
    let _turn = turn();
    let running = serve(&Database::in_memory().expect("opens"));
    let address = running.addresses()[0];
    is_served(&running);
    let before = resident();
    let mut held = Vec::new();
    for number in 0..64_u32 {
        let beyond = if number % 2 == 0 { u32::MAX } else { 1 };
        let (mut raw, most) = match number % 4 {
            0 | 1 => (Raw::silent(address), LOGIN_BYTES_MAX),
            _ => (Raw::connect(&running), MESSAGE_BYTES_MAX),
        };
        if number % 4 > 1 {
            raw.bytes(b"Q");
        }
        // Within the limit: it is waited for.
        let mut within = Raw::connect(&running);
        within.bytes(b"Q").bytes(&MESSAGE_BYTES_MAX.to_be_bytes()).bytes(b"SELECT");
        within.send().expect("sent");
        raw.bytes(&most.saturating_add(beyond).to_be_bytes());
        assert_eq!(raw.last_words(), ["E 08P01"], "connection {number}");
        // What comes all the same is nobody's.
        _ = raw.bytes(&vec![b'x'; 1 << 20]).send();
        held.push((raw, within));
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{grown} bytes more than before");
    is_served(&running);
}

/// Half a startup packet and then nothing, before the login: such connections take no place of a client.
#[test]
fn silence_before_the_login_takes_no_place() {
    let _turn = turn();
    let running = serve_two();
    let address = running.addresses()[0];
    let mut silent: Vec<Raw> = (0..200).map(|_| Raw::silent(address)).collect();
    for (number, raw) in silent.iter_mut().enumerate() {
        let startup = b"\0\0\0\x11\0\x03\0\0user\0ann\0\0";
        raw.bytes(&startup[..number % startup.len()]).send().expect("sent");
    }
    let clients = [Raw::connect(&running), Raw::connect(&running)];
    let refused = Raw::silent(address).startup("ann").last_words();
    assert_eq!(refused, ["E 53300"]);
    drop(clients);
    until("the clients have gone", || running.connections() == 0);
    drop(silent);
    is_served(&running);
}

/// A packet that is no startup is told so, or its connection is closed; nothing of it is left.
#[test]
fn garbage_instead_of_a_startup_ends_its_connection() {
    let _turn = turn();
    let running = serve_two();
    let garbage: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"\0\0\0\x08\0\x02\0\0",
        b"\0\0\0\x09\0\x03\0\0a",
        b"\0\0\0\x0d\0\x03\0\0user\0",
        b"\0\0\0\x0a\0\x03\0\0\xff\xfe",
        b"\0\0\0\x04",
    ];
    for bytes in garbage.iter().cycle().take(100) {
        let mut raw = Raw::silent(running.addresses()[0]);
        let told = raw.bytes(bytes).last_words();
        assert!(matches!(told.as_slice(), [it] if it == "E 08P01"), "{bytes:?}: {told:?}");
        assert_eq!(running.connections(), 0);
    }
    is_served(&running);
}

/// A client that goes in the middle of a message takes its place and the memory of what has come with it.
#[test]
fn half_a_message_leaves_nothing() {
    let _turn = turn();
    let running = serve_two();
    is_served(&running);
    let half = vec![b'x'; 24 << 20];
    let before = resident();
    for round in 0..8 {
        let (mut one, mut other) = (Raw::connect(&running), Raw::connect(&running));
        for raw in [&mut one, &mut other] {
            raw.bytes(b"Q").bytes(&MESSAGE_BYTES_MAX.to_be_bytes());
            raw.bytes(&half).send().expect("sent");
        }
        drop((one, other));
        until("both have gone", || running.connections() == 0);
        is_served(&running);
        until("that one, too", || running.connections() == 0);
        let grown = resident().saturating_sub(before);
        assert!(grown < GROWTH_MAX, "round {round}: {grown} bytes more than before");
    }
}

/// Terminate ends a connection wherever it comes: in a pipeline whose answers nobody has asked for, too.
#[test]
fn terminate_ends_a_pipeline() {
    let _turn = turn();
    let running = serve_two();
    for begun in ["", "P", "PB", "PBE", "PBEH", "PBES", "PBESPB"].into_iter().cycle().take(70) {
        let mut raw = Raw::connect(&running);
        for kind in begun.bytes() {
            match kind {
                b'P' => raw.message(b'P', b"\0SELECT 1\0\0\0"),
                b'B' => raw.message(b'B', b"\0\0\0\0\0\0\0\0"),
                b'E' => raw.execute("", 0),
                other => raw.message(other, b""),
            };
        }
        let told = raw.message(b'X', b"").last_words();
        assert!(told.iter().all(|it| !it.starts_with('E')), "{begun}: {told:?}");
        until("it has gone", || running.connections() == 0);
    }
    is_served(&running);
}

/// A Bind whose counts contradict its length, or its statement: an error with a code, on that connection alone.
#[test]
fn contradictory_messages_are_told_so() {
    let _turn = turn();
    let running = serve(&Database::in_memory().expect("opens"));
    let mut healthy = Raw::connect(&running);
    let parse = b"\0SELECT $1::int\0\0\0";
    let binds: [&[u8]; 9] = [
        // More parameters than there are, and fewer.
        b"\0\0\0\0\xff\xff\0\0",
        b"\0\0\0\0\0\0\0\0",
        b"\0\0\0\0\0\x02\0\0\0\x011\0\0\0\x012\0\0",
        // A value longer than the message, and one of negative length.
        b"\0\0\0\0\0\x01\x7f\xff\xff\xff1\0\0",
        b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0",
        // Formats: too many, and none that there is.
        b"\0\0\xff\xff\0\0\0\x01\0\0\0\x011\0\0",
        b"\0\0\0\x02\0\0\0\0\0\x01\0\0\0\x011\0\0",
        b"\0\0\0\x01\0\x07\0\x01\0\0\0\x011\0\0",
        // Bytes that are left.
        b"\0\0\0\0\0\x01\0\0\0\x011\0\0more",
    ];
    for bind in binds {
        let mut raw = Raw::connect(&running);
        raw.message(b'P', parse).message(b'B', bind).execute("", 0).sync();
        raw.message(b'X', b"");
        let told = raw.last_words();
        assert_eq!(&told[..2], ["1", "E 08P01"], "{bind:?}: {told:?}");
        assert_eq!(healthy.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
    }
}

/// One parameter more than the protocol can count is an error of its statement; the most that it can count are taken.
#[test]
fn more_parameters_than_there_can_be_are_refused() {
    let _turn = turn();
    let running = serve(&Database::in_memory().expect("opens"));
    let mut raw = Raw::connect(&running);
    let of = |count: u32| {
        let list: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
        format!("SELECT 1 WHERE 7 IN ({})", list.join(","))
    };
    raw.message(b'P', &[b"\0", of(65_536).as_bytes(), b"\0\0\0"].concat()).sync();
    let told = raw.told();
    assert!(told.len() == 1 && told[0].starts_with("E "), "{told:?}");
    assert!(matches!(&told[0][2..], "42P02" | "54000" | "54023" | "42601" | "54001"), "{told:?}");
    // As many types as parameters, and as many values.
    let mut parse = [b"\0", of(65_535).as_bytes(), b"\0\xff\xff"].concat();
    (0..65_535).for_each(|_| parse.extend(23_u32.to_be_bytes()));
    let mut bind = b"\0\0\0\0\xff\xff".to_vec();
    (0..65_535).for_each(|_| bind.extend(b"\0\0\0\x017"));
    bind.extend(b"\0\0");
    raw.message(b'P', &parse).message(b'B', &bind).execute("", 0).sync();
    assert_eq!(raw.told(), ["1", "2", "D 1", "C SELECT 1"]);
    assert_eq!(raw.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
}
