//! Servers of a test's own, started by the script beside the crate; a test without servers says that it was skipped.

#![allow(dead_code, reason = "each test file uses some of it")]

use chiliad_jetstream::{JetStream, Options};
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Three servers on this machine; they end when this is dropped.
pub struct Servers {
    /// Their stores are in it, `n1` and so on.
    pub directory: PathBuf,
    program: PathBuf,
    port: u16,
    count: usize,
    /// The script's name for the network between them.
    network: &'static str,
    /// One cluster at a time: elections are slow enough without others.
    _turn: MutexGuard<'static, ()>,
}

/// Tests of other crates use this file, too.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../jetstream/nats.sh");

static TURN: Mutex<()> = Mutex::new(());

impl Servers {
    /// Starts `count` servers for the test `name`; nothing, and a printed line, where there is no nats-server.
    pub fn start(name: &str, count: usize) -> Option<Self> {
        Self::start_on(name, count, "loopback")
    }

    /// As [`Self::start`], with servers that can be taken off the network; nothing, and a printed line, where that takes
    /// rights that the process does not have.
    pub fn start_apart(name: &str, count: usize) -> Option<Self> {
        Self::start_on(name, count, "namespaces")
    }

    fn start_on(name: &str, count: usize, network: &'static str) -> Option<Self> {
        let Some(program) = program() else {
            println!("skipped {name}: no nats-server on the path or in CHILIAD_NATS_SERVER");
            return None;
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let directory =
            std::env::temp_dir().join(format!("chiliad-jetstream-{name}-{}", std::process::id()));
        let servers = Self { directory, program, port: free_ports(), count, network, _turn: turn };
        if network == "namespaces" && !servers.run(&["can-cut"]).status.success() {
            println!("skipped {name}: no network namespaces can be made here");
            return None;
        }
        servers.script(&["start", &count.to_string()]);
        Some(servers)
    }

    /// The URL of the log `name`.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.script(&["url"]))
    }

    /// `host:port` of the monitoring page of server `n`.
    pub fn monitor(&self, n: u16) -> String {
        assert_eq!(self.network, "loopback");
        format!("127.0.0.1:{}", self.port + 20 + n)
    }

    /// Opens the log `name`.
    pub fn open(&self, name: &str) -> JetStream {
        JetStream::open(&self.url(name), Options::default()).expect("the log opens")
    }

    /// Runs a command of the script; what it prints.
    pub fn script(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new("bash")
            .arg(SCRIPT)
            .args(words)
            .env("CHILIAD_NATS_DIR", &self.directory)
            .env("CHILIAD_NATS_SERVER", &self.program)
            .env("CHILIAD_NATS_PORT", self.port.to_string())
            .env("CHILIAD_NATS_NETWORK", self.network)
            .output()
            .expect("bash runs")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // Nothing is left to be done in good order.
        for n in 1..=self.count {
            self.run(&["kill", &n.to_string()]);
        }
        self.run(&["stop"]);
        if !std::thread::panicking() {
            // Of a failed test everything is kept.
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("CHILIAD_NATS_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    named.into_iter().chain(on_path).find(|program| program.is_file())
}

/// The port below those of the servers: none of the ports that the script uses is taken.
fn free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let all_free = |base: &u16| (0..30).all(|offset| is_free(base + offset));
    let first = 20_000 + u16::try_from(std::process::id() % 300).expect("small") * 32;
    (0..).map(|n| first + 32 * n).find(all_free).expect("free ports")
}

/// All records from `from` to the end that the log shows, in calls of `bytes` bytes.
pub fn read_all(log: &dyn SharedLog, from: Position, bytes: usize) -> Vec<Vec<u8>> {
    let end = log.bounds().expect("bounds").end;
    let mut records = Vec::new();
    let mut position = from;
    while position < end {
        position = read(log, position, bytes, &mut records).expect("read");
    }
    records
}

/// One call that waits; checks that the positions are dense.
pub fn read(
    log: &dyn SharedLog,
    from: Position,
    bytes: usize,
    records: &mut Vec<Vec<u8>>,
) -> Result<Position, SharedLogError> {
    let mut next = from;
    let after = log.read(from, bytes, Duration::from_secs(1), &mut |position, record| {
        assert_eq!(position, next, "positions are dense");
        next += 1;
        records.push(record.to_vec());
    })?;
    assert_eq!(after, next);
    Ok(after)
}
