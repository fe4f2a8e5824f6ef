//! Logins that are refused: what a client is told tells it nothing about who may log in, and a place that is given back is
//! the next client's.

use crate::common::raw::{Raw, Said};
use crate::common::{local, until};
use chiliad::Database;
use chiliad_server::{Running, Server, Users};

fn serve(users: &str, most: usize) -> Running {
    let server = Server::builder(Database::in_memory().expect("opens")).listen(local());
    let users = Users::parse(users).expect("users");
    server.users(users).threads(2).max_connections(most).start().expect("it starts")
}

/// SCRAM up to the proof, which is a wrong one: what the server has said.
fn wrong_proof(running: &Running, user: &str) -> Vec<Said> {
    let mut raw = Raw::silent(running.addresses()[0]);
    raw.startup(user).send().expect("sent");
    let mut heard = vec![raw.next().expect("the mechanisms")];
    let first = b"n,,n=,r=client";
    let length = (first.len() as u32).to_be_bytes();
    let first = [&b"SCRAM-SHA-256\0"[..], &length, first].concat();
    raw.message(b'p', &first).send().expect("sent");
    heard.push(raw.next().expect("the server's first message"));
    let proof = format!("c=biws,r={},p={}=", field(&heard[1], "r="), "A".repeat(43));
    raw.message(b'p', proof.as_bytes()).send().expect("sent");
    while let Ok(said) = raw.next() {
        heard.push(said);
    }
    heard
}

/// A field of the server's first message.
fn field(said: &Said, name: &str) -> String {
    let text = String::from_utf8_lossy(&said.body[4..]).into_owned();
    text.split(',').find_map(|it| it.strip_prefix(name)).expect(name).into()
}

/// What may not differ between a user whose password is wrong and one that there is not.
fn form(heard: &[Said], user: &str) -> Vec<(u8, usize, String)> {
    let masked = |said: &Said| match said.kind {
        b'E' => String::from_utf8_lossy(&said.body).replace(user, "*"),
        _ => String::new(),
    };
    heard.iter().map(|said| (said.kind, said.body.len(), masked(said))).collect()
}

#[test]
fn an_unknown_user_looks_like_a_wrong_password() {
    let running = serve("ann:pencil\n", 9);
    let known = wrong_proof(&running, "ann");
    let unknown = wrong_proof(&running, "bob");
    assert_eq!(known.last().and_then(Said::sqlstate).as_deref(), Some("28P01"));
    assert_eq!(known.iter().map(|it| it.kind).collect::<Vec<_>>(), b"RRE");
    assert_eq!(form(&known, "ann"), form(&unknown, "bob"));
    assert_eq!(field(&known[1], "i="), field(&unknown[1], "i="));
    // A salt is a user's own and stays the same: one that changed would tell that there is no such user.
    for user in ["ann", "bob"] {
        let salts = [(), ()].map(|()| field(&wrong_proof(&running, user)[1], "s="));
        assert_eq!(salts[0], salts[1], "{user}");
    }
    assert_ne!(field(&known[1], "s="), field(&unknown[1], "s="));
    assert_ne!(field(&known[1], "r="), field(&wrong_proof(&running, "ann")[1], "r="));
    assert_eq!(running.connections(), 0);
}

/// Messages that are none of SCRAM, before and after its first one: the same for both users, too.
#[test]
fn malformed_logins_look_alike() {
    let running = serve("ann:pencil\n", 9);
    let bodies: [&[u8]; 6] = [
        b"",
        b"SCRAM-SHA-1\0\0\0\0\0",
        b"SCRAM-SHA-256\0\0\0\0\x04n,,n",
        b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,n=,r=a",
        b"SCRAM-SHA-256\0\xff\xff\xff\xff",
        b"SCRAM-SHA-256-PLUS\0\0\0\0\0",
    ];
    for body in bodies {
        let told = ["ann", "bob"].map(|user| {
            let mut raw = Raw::silent(running.addresses()[0]);
            raw.startup(user).message(b'p', body).last_words()
        });
        assert_eq!(told[0], ["R", "E 08P01"], "{body:?}");
        assert_eq!(told[0], told[1], "{body:?}");
    }
    // A statement before the login is done is none.
    let mut raw = Raw::silent(running.addresses()[0]);
    assert_eq!(raw.startup("ann").query("SELECT 1").last_words(), ["R", "E 08P01"]);
}

#[test]
fn a_place_that_is_given_back_is_the_next_ones() {
    let server = Server::builder(Database::in_memory().expect("opens")).listen(local());
    let running = server.threads(2).max_connections(3).start().expect("it starts");
    let address = running.addresses()[0];
    let mut clients: Vec<Raw> = (0..3).map(|_| Raw::login(address)).collect();
    for round in 0..20 {
        let refused = Raw::silent(address).startup("ann").last_words();
        assert_eq!(refused, ["E 53300"], "round {round}");
        let mut leaves = clients.remove(0);
        match round % 3 {
            0 => _ = leaves.message(b'X', b"").send(),
            // In the middle of a message, and of a transaction.
            1 => _ = leaves.bytes(b"Q\0\0").send(),
            _ => assert_eq!(leaves.query("BEGIN").told(), ["C BEGIN"]),
        }
        drop(leaves);
        until("its place is free", || running.connections() == 2);
        clients.push(Raw::login(address));
        for client in &mut clients {
            assert_eq!(client.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
        }
    }
}
