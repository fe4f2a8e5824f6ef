//! Statements that wait for a lock: who has the right key cancels them, limits end them, and the session goes on.

use crate::common::raw::{Raw, Said};
use crate::common::{local, until};
use chiliad::{Database, Options, Scheme};
use chiliad_server::{Running, Server};
use std::time::{Duration, Instant};

/// The schemes whose statements wait, an older transaction for a younger one among others.
const WAITING: [Scheme; 3] = [Scheme::WaitDie, Scheme::DlDetect, Scheme::LockTable];

const UPDATE: &str = "UPDATE t SET n = n + 1 WHERE id = 1";

/// A server on one thread, on which a statement that waits must hold up nobody.
fn serve(scheme: Scheme) -> Running {
    // Longer than any test: it is the session's own limits that end waits.
    let options = Options::default().scheme(scheme).wait_timeout(Duration::from_secs(600));
    let db = Database::in_memory_with(options).expect("opens");
    let running = Server::builder(db).listen(local()).threads(1).start().expect("it starts");
    let tables = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)";
    Raw::connect(&running).query(tables).hear();
    running
}

/// A client, the number and the key that it was told, with no limits of its own.
fn client(running: &Running) -> (Raw, Vec<u8>) {
    let mut raw = Raw::silent(running.addresses()[0]);
    let heard = raw.startup("ann").hear();
    let key = heard.into_iter().find(|it| it.kind == b'K').expect("a key").body;
    raw.query("SET lock_timeout = 0; SET statement_timeout = 0").hear();
    (raw, key)
}

/// An older transaction that waits for a row which a younger one holds, and that one.
fn waiting(running: &Running) -> ([Raw; 2], Vec<u8>) {
    let (mut waits, key) = client(running);
    // It has an age from its first statement on.
    waits.query("BEGIN; SELECT n FROM t WHERE id = 2").hear();
    let (mut holds, _) = client(running);
    assert_eq!(holds.query(&format!("BEGIN; {UPDATE}")).told(), ["C BEGIN", "C UPDATE 1"]);
    waits.query(UPDATE).send().expect("sent");
    ([waits, holds], key)
}

/// Asks for the cancellation of what the session of this number and key runs.
fn cancel(running: &Running, body: &[u8]) {
    let packet = [&80_877_102_u32.to_be_bytes()[..], body].concat();
    let length = (packet.len() as u32 + 4).to_be_bytes();
    let mut raw = Raw::silent(running.addresses()[0]);
    assert_eq!(raw.bytes(&length).bytes(&packet).last_words(), Vec::<String>::new());
}

/// What is said before ReadyForQuery of something that was sent.
fn answer(raw: &mut Raw) -> Vec<String> {
    let heard = raw.hear();
    heard.iter().map(Said::short).collect()
}

fn nothing_comes(raw: &mut Raw, scheme: Scheme) {
    assert!(!raw.has_heard(Duration::from_millis(100)), "{scheme}: it waits");
}

#[test]
fn only_the_right_key_cancels_a_wait() {
    for scheme in WAITING {
        let running = serve(scheme);
        let ([mut waits, mut holds], key) = waiting(&running);
        let (id, secret) = key.split_at(4);
        let wrong: Vec<u8> = secret.iter().map(|byte| !byte).collect();
        cancel(&running, &[id, &wrong].concat());
        cancel(&running, &[id, &secret[..3]].concat());
        cancel(&running, &[id, secret, b"more"].concat());
        cancel(&running, &[&[0x7f; 4], secret].concat());
        cancel(&running, id);
        nothing_comes(&mut waits, scheme);
        cancel(&running, &key);
        assert_eq!(answer(&mut waits), ["E 57014"], "{scheme}");
        assert_eq!(waits.query("ROLLBACK").told(), ["C ROLLBACK"], "{scheme}");
        // Where nothing runs the right key does nothing, neither now nor to the next statement.
        cancel(&running, &key);
        assert_eq!(waits.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"], "{scheme}");
        assert_eq!(holds.query("COMMIT").told(), ["C COMMIT"], "{scheme}");
        assert_eq!(waits.query(UPDATE).told(), ["C UPDATE 1"], "{scheme}");
        running.shutdown();
    }
}

/// A client that holds a row and says nothing more keeps nobody longer than that one lets itself be kept.
#[test]
fn limits_end_waits_for_an_idle_holder() {
    for scheme in WAITING {
        for (limit, code) in [("statement_timeout", "57014"), ("lock_timeout", "55P03")] {
            let running = serve(scheme);
            let ([mut waits, mut holds], key) = waiting(&running);
            cancel(&running, &key);
            answer(&mut waits);
            waits.query(&format!("ROLLBACK; SET {limit} = 100")).hear();
            waits.query("BEGIN; SELECT n FROM t WHERE id = 2; SAVEPOINT s").hear();
            assert_eq!(holds.query("ROLLBACK").told(), ["C ROLLBACK"]);
            assert_eq!(holds.query(&format!("BEGIN; {UPDATE}")).told(), ["C BEGIN", "C UPDATE 1"]);
            let begun = Instant::now();
            let told = waits.query(UPDATE).told();
            assert_eq!(told, [format!("E {code}")], "{scheme}, {limit}");
            assert!(begun.elapsed() >= Duration::from_millis(90), "{scheme}: it has waited");
            // What had waited is over as a whole, and no savepoint says otherwise; the session goes on.
            assert_eq!(waits.query("ROLLBACK TO s").told(), ["E 40001"], "{scheme}, {limit}");
            assert_eq!(waits.query("COMMIT").told(), ["C ROLLBACK"], "{scheme}, {limit}");
            let told = waits.query("UPDATE t SET n = 7 WHERE id = 2").told();
            assert_eq!(told, ["C UPDATE 1"], "{scheme}, {limit}");
            assert_eq!(holds.query("COMMIT").told(), ["C COMMIT"], "{scheme}");
            assert_eq!(waits.query(UPDATE).told(), ["C UPDATE 1"], "{scheme}");
            let told = waits.query("SELECT n FROM t ORDER BY id").told();
            assert_eq!(told, ["T 1", "D 2", "D 7", "C SELECT 2"], "{scheme}, {limit}");
            running.shutdown();
        }
    }
}

/// While many statements wait on the only thread, it serves who holds the row, others, and the end of those who go.
#[test]
fn a_thread_goes_on_beside_many_that_wait() {
    for scheme in [Scheme::DlDetect, Scheme::LockTable] {
        let running = serve(scheme);
        let (mut holds, _) = client(&running);
        holds.query(&format!("BEGIN; {UPDATE}")).hear();
        let mut waits: Vec<Raw> = (0..80).map(|_| client(&running).0).collect();
        for raw in &mut waits {
            raw.query(UPDATE).send().expect("sent");
        }
        nothing_comes(&mut waits[0], scheme);
        let mut other = Raw::connect(&running);
        assert_eq!(other.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"], "{scheme}");
        assert_eq!(holds.query("COMMIT").told(), ["C COMMIT"], "{scheme}");
        for raw in &mut waits {
            assert_eq!(answer(raw), ["C UPDATE 1"], "{scheme}");
        }
        let told = other.query("SELECT n FROM t WHERE id = 1").told();
        assert_eq!(told, ["T 1", "D 81", "C SELECT 1"], "{scheme}");
        drop(waits);
        until("they have gone", || running.connections() == 2);
        running.shutdown();
    }
}
