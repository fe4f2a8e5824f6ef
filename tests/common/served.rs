//! `chiliad serve` as a process, and clients of it.
#![allow(dead_code, reason = "each test file uses a part of it")]

#[path = "../../crates/server/tests/common/raw.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod raw;

pub use raw::Raw;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// A process that serves. Dropped, it is killed.
pub struct Served {
    process: Child,
    out: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Served {
    /// Starts `chiliad serve` on any port, with these flags besides.
    pub fn start(flags: &str) -> Self {
        // As a terminal starts it: heeding signals that this process may ignore, but for that of a file too large.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,TERM", "--ignore-signal=XFSZ"]);
        command.args([env!("CARGO_BIN_EXE_chiliad"), "serve", "--listen", "127.0.0.1:0"]);
        command.args(flags.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the command runs");
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let address = line.trim_end().strip_prefix("listening on ").map(str::parse);
        let Some(Ok(address)) = address else {
            let mut said = String::new();
            process.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
            panic!("{line}{said}");
        };
        Self { process, out, address }
    }

    pub fn client(&self) -> Raw {
        Raw::login(self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a signal, by name.
    pub fn send(&self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, "--", &self.id().to_string()]).status();
        assert!(sent.expect("kill runs").success(), "{signal}");
    }

    /// Kills it as `kill -9` does, and waits until it has gone.
    pub fn kill(mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("gone");
    }

    /// Waits for its end: how it has ended, and what it has said since it listened, errors behind the rest.
    pub fn end(mut self) -> (ExitStatus, String) {
        let status = self.process.wait().expect("gone");
        let mut said = String::new();
        self.out.read_to_string(&mut said).expect("UTF-8");
        let mut errors = self.process.stderr.take().expect("a pipe");
        errors.read_to_string(&mut said).expect("UTF-8");
        (status, said)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be gone already.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
