//! Conversations of honest clients, changed by a seed in their bytes, lengths and order: each connection is told an error
//! with a code or ends in order, the server lives on, and others are served in between.

mod common;
#[path = "mutated_messages/talks.rs"]
mod talks;

use chiliad::Database;
use chiliad_server::Running;
use common::raw::{Raw, Said};
use common::{Dice, resident, serve, until};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use talks::{bytes_of, change_bytes, change_messages, talks};

/// Connections of each of the clients; `CHILIAD_HOSTILE_CONNECTIONS` has more made.
const CONNECTIONS_EACH: u64 = 1000;
const CLIENTS: u64 = 4;

/// Panics of any thread, those of the server among them.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Types of messages that a server sends.
const KINDS: &[u8] = b"RSKZTDCEN123nstGHIcdvA";

fn connections_each() -> u64 {
    let said = std::env::var("CHILIAD_HOSTILE_CONNECTIONS").ok();
    said.and_then(|it| it.parse().ok()).unwrap_or(CONNECTIONS_EACH)
}

/// What a client of this seed sends.
fn mutated(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    dice.below(2);
    let all = talks();
    let mut talk = all[dice.below(all.len())].clone();
    let other = &all[dice.below(all.len())];
    let way = dice.below(4);
    if way.is_multiple_of(2) {
        (0..1 + dice.below(3)).for_each(|_| change_messages(&mut talk, other, &mut dice));
    }
    let mut bytes = bytes_of(&talk, way == 1, &mut dice);
    if way > 1 {
        (0..1 + dice.below(4)).for_each(|_| change_bytes(&mut bytes, &mut dice));
    }
    bytes
}

/// Sends these bytes, nothing more, and hears the server out: what it has said, and whether that was all of it.
fn send(running: &Running, bytes: &[u8], seed: u64) -> (Vec<u8>, bool) {
    let mut stream = TcpStream::connect(running.addresses()[0]).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
    // The server may have closed it by now.
    _ = stream.write_all(bytes);
    _ = stream.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    match stream.read_to_end(&mut heard) {
        Ok(_) => (heard, true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            let (sent, heard) = [bytes, &heard[..]].map(String::from_utf8_lossy).into();
            panic!(
                "seed {seed}: after {sent:?} and {heard:?} the server neither answers nor closes"
            )
        }
        Err(_) => (heard, false),
    }
}

/// Refuses what no client should hear.
fn judge(mut heard: &[u8], whole: bool, seed: u64) {
    // No TLS: one byte for each time that it was asked for.
    while let Some((b'N', rest)) = heard.split_first()
        && rest.first() != Some(&0)
    {
        heard = rest;
    }
    while let Some((&kind, rest)) = heard.split_first() {
        assert!(KINDS.contains(&kind), "seed {seed}: a message of type {kind}");
        let length = rest.first_chunk::<4>().map(|it| u32::from_be_bytes(*it) as usize);
        let Some(body) = length.and_then(|length| rest.get(4..length)) else {
            assert!(!whole, "seed {seed}: half a message");
            return;
        };
        let said = Said { kind, body: body.to_vec() };
        if let Some(code) = said.sqlstate() {
            assert!(code.len() == 5 && !code.starts_with("XX"), "seed {seed}: {said:?}");
        }
        assert!(kind != b'E' || said.sqlstate().is_some(), "seed {seed}: an error without a code");
        heard = &rest[4 + body.len()..];
    }
}

#[test]
fn mutated_conversations_end_their_own_connection() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(info);
    }));
    let running = serve(&Database::in_memory().expect("opens"));
    // Some on each thread.
    let mut healthy: Vec<Raw> = (0..4).map(|_| Raw::connect(&running)).collect();
    healthy[0].query("CREATE TABLE m (id int PRIMARY KEY, v text)").hear();
    // Each conversation is one that the server knows.
    for (number, talk) in talks().iter().enumerate() {
        let bytes = bytes_of(talk, false, &mut Dice(0));
        let (heard, whole) = send(&running, &bytes, 0);
        judge(&heard, whole, 0);
        let has_failed = heard.windows(9).any(|it| it == b"SERROR\0VE" || it == b"SFATAL\0VF");
        // One says itself that its COPY is to fail.
        assert_eq!(has_failed, number == 5, "{number}: {}", String::from_utf8_lossy(&heard));
    }
    let before = resident();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let running = &running;
            scope.spawn(move || {
                for number in 0..connections_each() {
                    let seed = number * CLIENTS + client;
                    let (heard, whole) = send(running, &mutated(seed), seed);
                    judge(&heard, whole, seed);
                }
            });
        }
        for turn in 0..400 {
            let raw = &mut healthy[turn % 4];
            assert_eq!(raw.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more than before");
    for raw in &mut healthy {
        assert_eq!(raw.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
    }
    drop(healthy);
    until("all have gone", || running.connections() == 0);
    running.shutdown();
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}
