//! Runs whose servers are processes, on a log that NATS JetStream keeps. Where the command was built without it, or there
//! is no nats-server, a test says that it was skipped.

mod common;

use common::Folder;
use serde_json::Value;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One cluster at a time: elections are slow enough without others.
static TURN: Mutex<()> = Mutex::new(());

/// Three servers on this machine that keep logs; they end when this is dropped.
struct Keepers {
    folder: Folder,
    program: PathBuf,
    port: u16,
    _turn: MutexGuard<'static, ()>,
}

impl Keepers {
    fn start(name: &str) -> Option<Self> {
        let program = program().filter(|_| cfg!(feature = "jetstream"));
        let Some(program) = program else {
            println!(
                "skipped {name}: no nats-server in CHILIAD_NATS_SERVER or on the path, or no jetstream"
            );
            return None;
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder::new(&format!("keepers-{name}"));
        let keepers = Self { folder, program, port: free_ports(), _turn: turn };
        keepers.script(&["start", "3"]);
        Some(keepers)
    }

    /// A program that finds these servers.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("CHILIAD_NATS_DIR", self.folder.file(""))
            .env("CHILIAD_NATS_SERVER", &self.program)
            .env("CHILIAD_NATS_PORT", self.port.to_string());
        command
    }

    fn script(&self, words: &[&str]) -> String {
        let output = self.command(script()).args(words).output().expect("the script runs");
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(output.status.success(), "{words:?}: {output:?}");
        said
    }

    fn url(&self, log: &str) -> String {
        format!("{}/{log}", self.script(&["url"]))
    }

    fn chiliad(&self, line: &str) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_chiliad"));
        command.args(line.split(' ')).output().expect("the command runs")
    }

    fn result(&self, line: &str) -> Value {
        let output = self.chiliad(&format!("{line} --json -"));
        assert!(output.status.success(), "{line}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

impl Drop for Keepers {
    fn drop(&mut self) {
        for number in ["1", "2", "3"] {
            let _ = self.command(script()).args(["kill", number]).output();
        }
    }
}

fn script() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/crates/jetstream/nats.sh")
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("CHILIAD_NATS_SERVER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder: PathBuf| folder.join("nats-server"));
    named.into_iter().chain(on_path).find(|program| Path::is_file(program))
}

/// The port below those of the servers: none of the ports that the script uses is taken.
fn free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = 30_000 + u16::try_from(std::process::id() % 300).expect("small") * 32;
    (0..)
        .map(|n| first + 32 * n)
        .find(|base| (0..30).all(|offset| is_free(base + offset)))
        .expect("free ports")
}

#[test]
fn servers_are_processes_of_one_database() {
    let Some(keepers) = Keepers::start("bench") else { return };
    for workload in ["bank", "tpcc --scale micro", "ycsb --scale micro"] {
        let log = keepers.url(workload.split(' ').next().expect("a name"));
        let line = format!(
            "bench {workload} --scheme hyder --servers 3 --clients 4 --shared-log {log} \
             --transactions 600 --verify --quiet"
        );
        let result = keepers.result(&line);
        let ended =
            ["committed", "rolled_back"].map(|count| result[count].as_u64().expect("a count"));
        assert_eq!(ended.iter().sum::<u64>(), 600, "{result}");
        assert_eq!((&result["clients"], &result["options"]["processes"]), (&4.into(), &3.into()));
        let verified = &result["verified"];
        assert_eq!((&verified["passed"], &verified["complete"]), (&true.into(), &true.into()));
        assert!(verified["transactions"].as_u64() >= Some(600), "of all processes: {verified}");
        assert!(result.get("differences").is_none(), "{result}");
        let again = keepers.chiliad(&line);
        assert_eq!(again.status.code(), Some(2), "it holds a database: {again:?}");
    }
}

#[test]
fn servers_and_those_that_keep_their_log_are_killed() {
    let Some(keepers) = Keepers::start("crash") else { return };
    let (log, script) = (keepers.url("crash"), script());
    let line = format!(
        "crash --scheme hyder --servers 3 --cycles 6 --shared-log {log} --log-script {script}"
    );
    let report = keepers.result(&line);
    assert_eq!((&report["lost"], &report["cycles"]), (&0.into(), &6.into()), "{report}");
    for count in ["acknowledged", "killed", "log_killed", "compared"] {
        assert!(report[count].as_u64() > Some(0), "{report}");
    }
}

#[test]
fn a_log_that_a_minority_keeps_is_refused() {
    let Some(keepers) = Keepers::start("minority") else { return };
    let log = keepers.url("bank");
    let line = format!(
        "bench bank --scheme hyder --servers 2 --clients 2 --transactions 20 --quiet --shared-log {log}"
    );
    for number in ["2", "3"] {
        keepers.script(&["kill", number]);
    }
    let refused = keepers.chiliad(&line);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("chiliad: --shared-log: ") && said.contains("cannot be reached"),
        "{said}"
    );
    keepers.script(&["start", "3"]);
    let result = keepers.result(&line);
    assert!(result["committed"].as_u64() > Some(0), "{result}");
}
