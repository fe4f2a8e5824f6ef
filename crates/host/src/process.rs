//! This program as a child process that speaks in lines: started, listened to, told, killed.

use crate::leftovers::{self, Leftover};
use crate::{Stop, interrupt, threads};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a child may say nothing where it must say something.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running child whose lines are read as `T`. Dropped, it is killed, and where a signal ends this process.
pub struct Process<T> {
    child: Arc<Mutex<Child>>,
    /// Ends the process, if it has not ended by then.
    _leftover: Leftover,
    input: Option<ChildStdin>,
    said: Receiver<T>,
    errors: Option<JoinHandle<String>>,
}

/// The result of listening.
pub enum Heard<T> {
    /// A line of the child.
    Said(T),
    /// The time has come.
    Time,
    /// The child has closed its output: it has ended, or is about to.
    End,
}

/// How the child ended.
pub struct Ended {
    /// Exit status 0.
    pub orderly: bool,
    /// Its standard error, and its status.
    pub why: String,
}

impl<T: Send + 'static> Process<T> {
    /// Starts this program with `words`. A line that `read` does not know is nothing said.
    ///
    /// # Errors
    /// The system refuses a process or a thread.
    pub fn start(words: Vec<OsString>, read: fn(&str) -> Option<T>) -> Result<Self, Stop> {
        let fail = |error| Stop::Failed(format!("starting the process: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(fail)?);
        command.args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its end is decided here: what a terminal sends to all of its programs is not for it.
        command.process_group(0);
        let (child, leftover) = leftovers::process(&mut command).map_err(fail)?;
        let (sender, said) = channel();
        let mut pipes = lock(&child);
        let (input, output, errors) =
            (pipes.stdin.take(), pipes.stdout.take(), pipes.stderr.take());
        drop(pipes);
        // Dropped where a thread is refused: then it is killed.
        let mut process = Self { child, _leftover: leftover, input, said, errors: None };
        if let Some(output) = output {
            let listens = move || listen(output, read, &sender);
            thread::Builder::new().spawn(listens).map_err(threads::refused)?;
        }
        if let Some(errors) = errors {
            let reads = thread::Builder::new().spawn(move || read_all(errors));
            process.errors = Some(reads.map_err(threads::refused)?);
        }
        Ok(process)
    }

    /// Its number, by which the system knows it.
    #[must_use]
    pub fn id(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Waits for the next line: until `deadline`, if there is one.
    ///
    /// # Errors
    /// It says nothing for two minutes, without a deadline.
    pub fn hear(&self, deadline: Option<Instant>) -> Result<Heard<T>, Stop> {
        let wait = deadline.map_or(PATIENCE, |at| at.saturating_duration_since(Instant::now()));
        match self.said.recv_timeout(wait) {
            Ok(said) => Ok(Heard::Said(said)),
            Err(RecvTimeoutError::Disconnected) => Ok(Heard::End),
            Err(RecvTimeoutError::Timeout) if deadline.is_some() => Ok(Heard::Time),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = PATIENCE.as_secs();
                Err(Stop::Failed(format!("the process has said nothing for {seconds} seconds")))
            }
        }
    }

    /// Sends it a line. One that has ended is not told; what it says then shows it.
    pub fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// Kills it: SIGKILL, whatever it is doing.
    ///
    /// # Errors
    /// The system's.
    pub fn kill(&mut self) -> Result<(), Stop> {
        lock(&self.child)
            .kill()
            .map_err(|error| Stop::Failed(format!("killing the process: {error}")))
    }

    /// Ends what it is sent: asks it to end.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits for its end, after its output has ended.
    ///
    /// # Errors
    /// The system's; [`Stop::Interrupted`] where a signal has ended it that asks this process to end, too.
    pub fn wait(&mut self) -> Result<Ended, Stop> {
        let status = lock(&self.child).wait();
        let status = status.map_err(|error| Stop::Failed(format!("waiting: {error}")))?;
        if status.signal().is_some_and(interrupt::ends_both) {
            return Err(Stop::Interrupted);
        }
        let errors = self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        Ok(Ended { orderly: status.success(), why: format!("{status}: {}", errors.trim()) })
    }
}

fn lock(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on what the child says. A line that was cut short is nothing said.
fn listen<T>(output: ChildStdout, read: fn(&str) -> Option<T>, sender: &Sender<T>) {
    let mut output = BufReader::with_capacity(1 << 16, output);
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let whole = line.strip_suffix('\n').and_then(read);
        if whole.is_some_and(|said| sender.send(said).is_err()) {
            return;
        }
        line.clear();
    }
}

fn read_all(mut errors: ChildStderr) -> String {
    let mut text = String::new();
    // What cannot be read is not told.
    let _ = errors.read_to_string(&mut text);
    text
}
