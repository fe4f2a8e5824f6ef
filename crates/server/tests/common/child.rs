//! A server in a process of its own, to be killed: the program of the tests, started again for one of them.

use super::{connect, serve};
use chiliad::{Database, Durability, Options};
use chiliad_server::Running;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tokio_postgres::{Client, NoTls};

/// Tells the process what to open.
const OPENS: &str = "CHILIAD_TEST_OPENS";
/// What it says before its port.
const SAYS: &str = "serving on port ";

/// A process that serves. Dropped, it is killed.
pub struct Served {
    process: Child,
    /// Open as long as the process, which may still say something.
    _said: Lines<BufReader<ChildStdout>>,
    port: u16,
}

/// Starts a process that runs this test alone, which calls [`serve_if_asked`].
pub fn start(test: &str, path: &Path) -> Served {
    let program = std::env::current_exe().expect("a program");
    let mut process = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(OPENS, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
    let port = lines.by_ref().find_map(|line| {
        let line = line.expect("a line");
        let (_, port) = line.split_once(SAYS)?;
        Some(port.trim().parse().expect("a port"))
    });
    let port = port.expect("it serves");
    Served { process, _said: lines, port }
}

/// A place for the process's database, with nothing there.
pub fn empty_place(of: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("chiliad-{of}-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&path);
    path
}

/// Serves a database whose commits are durable until the process is killed, if it was started for that.
pub fn serve_if_asked(options: Options) {
    let Some(path) = std::env::var_os(OPENS) else { return };
    let durable = options.durability(Durability::Sync);
    let db = Database::open_with(Path::new(&path), durable).expect("opens");
    let running = serve(&db);
    println!("{SAYS}{}", running.addresses()[0].port());
    loop {
        std::thread::park();
    }
}

/// What a process has left behind, served in this one, and a client of it.
pub async fn reopen(path: &Path) -> (Database, Running, Client) {
    let db = Database::open_with(path, Options::default()).expect("opens");
    let running = serve(&db);
    let client = connect(&running).await;
    (db, running, client)
}

impl Served {
    pub async fn connect(&self) -> Client {
        let config = format!("host=127.0.0.1 port={} dbname=test user=ann", self.port);
        let (client, connection) =
            tokio_postgres::connect(&config, NoTls).await.expect("it lets in");
        tokio::spawn(connection);
        client
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn kill(&mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("gone");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be gone already.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
