//! The servers that keep a log, killed, stopped, started and taken off the network by a script.

use super::cycle::{Cut, LOG_SERVERS, LogFaults, Whom};
use chiliad_host::Stop;
use std::path::PathBuf;
use std::process::Command;

/// The servers that keep a log.
pub struct LogServers {
    script: PathBuf,
    /// The name of the log among theirs.
    stream: String,
    /// The one that was stopped.
    paused: Option<usize>,
    /// The one that was taken off the network.
    cut: Option<usize>,
    /// Some were killed and not started yet.
    killed: bool,
}

impl LogServers {
    /// Of the log `name`, as `nats://HOST:PORT,.../STREAM` has it.
    pub fn new(script: PathBuf, name: &str) -> Self {
        let stream = name.rsplit('/').next().unwrap_or(name).to_owned();
        Self { script, stream, paused: None, cut: None, killed: false }
    }

    /// What can be done to them: a script may not know how to take a server off the network, or may not do it here.
    pub fn faults(&self) -> LogFaults {
        match self.run(&["can-cut"]) {
            Ok(_) => LogFaults::Cuts,
            Err(_) => LogFaults::Kills,
        }
    }

    /// Kills some; how many.
    pub fn kill(&mut self, whom: Whom) -> Result<u64, Stop> {
        self.killed = true;
        let numbers = match whom {
            Whom::Leader => self.leader().into_iter().collect(),
            Whom::Number(number) => vec![number],
            Whom::All => (1..=LOG_SERVERS).collect(),
        };
        numbers.iter().try_for_each(|number| self.run(&["kill", &number.to_string()]).map(drop))?;
        Ok(numbers.len() as u64)
    }

    /// Stops the one that leads; whether there was one.
    pub fn pause(&mut self) -> Result<bool, Stop> {
        self.paused = self.leader();
        if let Some(number) = self.paused {
            self.run(&["pause", &number.to_string()])?;
        }
        Ok(self.paused.is_some())
    }

    /// Lets the one go on that was stopped.
    pub fn go_on(&mut self) -> Result<(), Stop> {
        match self.paused.take() {
            Some(number) => self.run(&["continue", &number.to_string()]).map(drop),
            None => Ok(()),
        }
    }

    /// Takes the one that leads off the network; whether there was one.
    pub fn cut(&mut self, cut: Cut) -> Result<bool, Stop> {
        self.cut = self.leader();
        let word = match cut {
            Cut::Off => "cut",
            Cut::Isolated => "isolate",
        };
        if let Some(number) = self.cut {
            self.run(&[word, &number.to_string()])?;
        }
        Ok(self.cut.is_some())
    }

    /// Puts the one back that was taken off the network.
    pub fn reconnect(&mut self) -> Result<(), Stop> {
        match self.cut.take() {
            Some(number) => self.run(&["reconnect", &number.to_string()]).map(drop),
            None => Ok(()),
        }
    }

    /// Starts those that were killed, and waits until all are well.
    pub fn start(&mut self) -> Result<(), Stop> {
        if std::mem::take(&mut self.killed) {
            self.run(&["start", &LOG_SERVERS.to_string()])?;
        }
        Ok(())
    }

    /// The one that leads, while there is one.
    fn leader(&self) -> Option<usize> {
        self.run(&["leader", &self.stream]).ok()?.parse().ok()
    }

    fn run(&self, words: &[&str]) -> Result<String, Stop> {
        let script = self.script.display();
        let failed = |what: String| Stop::Failed(format!("{script} {}: {what}", words.join(" ")));
        let ran = Command::new(&self.script).args(words).output();
        let ran = ran.map_err(|error| failed(error.to_string()))?;
        match ran.status.success() {
            true => Ok(String::from_utf8_lossy(&ran.stdout).trim().into()),
            false => Err(failed(String::from_utf8_lossy(&ran.stderr).trim().into())),
        }
    }
}

impl Drop for LogServers {
    fn drop(&mut self) {
        // A run that ends early leaves them as it has found them, if it can.
        let _ = self.go_on();
        let _ = self.reconnect();
        let _ = self.start();
    }
}
