//! A server in a process of its own, to be killed: the program of the tests, started again for one of them.

use super::serve;
use chiliad::Database;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
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

/// Serves until the process is killed, if it was started for that.
pub fn serve_if_asked(open: impl FnOnce(&Path) -> Database) {
    let Some(path) = std::env::var_os(OPENS) else { return };
    let db = open(Path::new(&path));
    let running = serve(&db);
    println!("{SAYS}{}", running.addresses()[0].port());
    loop {
        std::thread::park();
    }
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
