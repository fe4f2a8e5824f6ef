//! What tests of a server from outside share.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod child;
pub mod raw;

use chiliad::Database;
use chiliad_server::{Running, Server};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// Numbers that look random: the same of the same beginning.
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) ^ (self.0 >> 5 & 0xffff)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.next() as usize % most.max(1)
    }

    pub fn one_of<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Any free port of this computer.
pub fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// A server of this database, on two threads. Connections go to the other one whenever something has come.
pub fn serve(db: &Database) -> Running {
    let server = Server::builder(db.clone()).listen(local());
    server.threads(2).restless().start().expect("it starts")
}

/// Runs a test of clients, which is to end within so many seconds.
pub fn run_for(seconds: u64, test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(seconds), test).await.expect("it ends")
    });
}

/// Runs a test of clients of a server in memory, which is to end within so many seconds.
pub fn with_server(seconds: u64, test: impl AsyncFnOnce(&Database, &Running)) {
    run_for(seconds, async {
        let db = Database::in_memory().expect("opens");
        let running = serve(&db);
        test(&db, &running).await;
        running.shutdown();
    });
}

/// Bytes of this process that are in memory.
pub fn resident() -> u64 {
    let told = std::fs::read_to_string("/proc/self/statm").expect("Linux tells");
    let pages = told.split(' ').nth(1).expect("the second number");
    pages.parse::<u64>().expect("a number") * 4096
}

/// Waits until `is` holds: for as long as a loaded machine may take.
#[track_caller]
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A client that is let in.
pub async fn connect(running: &Running) -> Client {
    connect_as(running, "user=ann").await.expect("it lets in")
}

/// A client with these parameters of its own.
pub async fn connect_as(running: &Running, user: &str) -> Result<Client, tokio_postgres::Error> {
    let port = running.addresses()[0].port();
    let config = format!("host=127.0.0.1 port={port} dbname=test {user}");
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// The code of an error; the text of one that is not the server's.
pub fn state(error: &tokio_postgres::Error) -> String {
    error.code().map_or_else(|| error.to_string(), |code| code.code().into())
}

/// The rows of a result as text, with `|` between columns.
pub async fn rows(client: &Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let line = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let values = (0..row.len()).map(|at| row.get(at).unwrap_or("null").to_owned());
            Some(values.collect::<Vec<_>>().join("|"))
        }
        _ => None,
    };
    messages.iter().filter_map(line).collect()
}

/// The code with which statements are refused.
pub async fn refusal(client: &Client, sql: &str) -> String {
    state(&client.batch_execute(sql).await.expect_err(sql))
}
