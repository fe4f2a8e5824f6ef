//! Child processes that go on from where this one is: many runs begin with what one has loaded.
//!
//! A child has all memory of its parent as it is at that moment and writes to copies of its own, which the
//! host makes page by page. It sends messages, and ends without returning: nothing of the parent's is
//! dropped, flushed or reported twice.
//!
//! - A child has the calling thread and no other: other threads of the process hold no lock at that moment,
//!   since nobody is there to release it. The allocator's are the host's C library's own care.
//! - A child ends when its parent does. Where the caller gives up, all children are killed and waited for.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The status of a child whose work panicked, as Rust's own.
const PANICKED: i32 = 101;

/// How long one look at the children lasts.
const WAIT_MS: i32 = 200;

/// Why a child has brought nothing more.
#[derive(Debug)]
pub enum Lost {
    /// A signal ended it.
    Signal(i32),
    /// It ended by itself with this status.
    Status(i32),
    /// The host could not make or hear it.
    Host(io::Error),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(libc::SIGKILL) => {
                write!(
                    f,
                    "its process was killed (signal 9), perhaps since the host has no more memory"
                )
            }
            Self::Signal(signal) => write!(f, "its process died by signal {signal}"),
            Self::Status(PANICKED) => write!(f, "its process panicked"),
            Self::Status(status) => write!(f, "its process ended with status {status}"),
            Self::Host(error) => write!(f, "its process: {error}"),
        }
    }
}

/// A message to the parent from a child.
#[derive(Debug)]
pub enum Heard {
    /// A message.
    Message(Vec<u8>),
    /// It has done its work, or has been lost.
    End(Result<(), Lost>),
}

/// A child's way to its parent.
pub struct Sender(File);

impl Sender {
    /// Sends a message. A parent that is gone hears nothing, and its child is about to end.
    pub fn send(&mut self, message: &[u8]) {
        let length = (message.len() as u64).to_le_bytes();
        let _ = self.0.write_all(&length).and_then(|()| self.0.write_all(message));
    }
}

/// Does `work(n)` for each `n` below `count` in a child of its own, `at_once` at a time, the first ones
/// first. `hear` is told, here, what each child sends, and last that it has ended; `go_on` is asked a few
/// times per second. With an error of either all are ended.
///
/// # Errors
/// That of `hear` or `go_on`.
pub fn in_children<E>(
    (count, at_once): (usize, usize),
    mut go_on: impl FnMut() -> Result<(), E>,
    mut work: impl FnMut(usize, &mut Sender),
    mut hear: impl FnMut(usize, Heard) -> Result<(), E>,
) -> Result<(), E> {
    let mut waiting: VecDeque<usize> = (0..count).collect();
    let mut children: Vec<Child> = Vec::new();
    while !(waiting.is_empty() && children.is_empty()) {
        while children.len() < at_once.max(1)
            && let Some(number) = waiting.pop_front()
        {
            match Child::start(number, &mut work) {
                Ok(child) => children.push(child),
                Err(error) => hear(number, Heard::End(Err(Lost::Host(error))))?,
            }
        }
        go_on()?;
        for at in ready(&children).into_iter().rev() {
            let child = &mut children[at];
            let more = child.read();
            while let Some(message) = child.message() {
                hear(child.number, Heard::Message(message))?;
            }
            if !matches!(more, Ok(true)) {
                let mut child = children.remove(at);
                let ended = more.map_err(Lost::Host).and_then(|_| child.wait());
                hear(child.number, Heard::End(ended))?;
            }
        }
    }
    Ok(())
}

/// A child at work; killed when it is dropped before it has been waited for.
struct Child {
    number: usize,
    process: libc::pid_t,
    pipe: File,
    /// Bytes that have come and are no whole message yet.
    heard: Vec<u8>,
    over: bool,
}

impl Child {
    fn start(number: usize, work: &mut impl FnMut(usize, &mut Sender)) -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: the array has room for the two descriptors that the call writes.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both descriptors are fresh, and nobody else's.
        let [from, to] = ends.map(|end| unsafe { File::from_raw_fd(end) });
        // SAFETY: a call without arguments.
        let parent = unsafe { libc::getpid() };
        // SAFETY: no other thread holds anything, so that the child has all that the parent has.
        let process = unsafe { libc::fork() };
        match process {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(from);
                stay_with(parent);
                let mut sender = Sender(to);
                let done = catch_unwind(AssertUnwindSafe(|| work(number, &mut sender)));
                let status = if done.is_ok() { 0 } else { PANICKED };
                // SAFETY: ends the process at once; its memory was a copy.
                unsafe { libc::_exit(status) }
            }
            process => Ok(Self { number, process, pipe: from, heard: Vec::new(), over: false }),
        }
    }

    /// Takes what is there; whether there may be more.
    fn read(&mut self) -> io::Result<bool> {
        let mut some = [0; 1 << 16];
        match self.pipe.read(&mut some) {
            Ok(count) => {
                self.heard.extend_from_slice(&some[..count]);
                Ok(count > 0)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// The next whole message.
    fn message(&mut self) -> Option<Vec<u8>> {
        let length = u64::from_le_bytes(*self.heard.first_chunk()?);
        let end = usize::try_from(length).ok()?.checked_add(8)?;
        let message = self.heard.get(8..end)?.to_vec();
        self.heard.drain(..end);
        Some(message)
    }

    /// How it ended.
    fn wait(&mut self) -> Result<(), Lost> {
        let mut status = 0;
        self.over = true;
        loop {
            // SAFETY: the child is ours and has not been waited for.
            if unsafe { libc::waitpid(self.process, &raw mut status, 0) } == self.process {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Lost::Host(error));
            }
        }
        if libc::WIFSIGNALED(status) {
            return Err(Lost::Signal(libc::WTERMSIG(status)));
        }
        match libc::WEXITSTATUS(status) {
            0 => Ok(()),
            status => Err(Lost::Status(status)),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.over {
            // SAFETY: the child is ours and has not been waited for: the number is still its own.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
            let _ = self.wait();
        }
    }
}

/// Those of which something can be heard, or the end; waits for one, but not for long.
fn ready(children: &[Child]) -> Vec<usize> {
    let entry = |child: &Child| libc::pollfd {
        fd: child.pipe.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut entries: Vec<libc::pollfd> = children.iter().map(entry).collect();
    // SAFETY: the entries are ours, and as many as is said. An interrupted call has changed none.
    unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, WAIT_MS) };
    let heard = entries.iter().enumerate().filter(|(_, entry)| entry.revents != 0);
    heard.map(|(at, _)| at).collect()
}

/// The calling process ends when `parent` does.
fn stay_with(parent: libc::pid_t) {
    // SAFETY: asks for a signal of our own; no memory takes part.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    // SAFETY: calls that touch no memory. The parent may have ended before it was asked for.
    unsafe {
        if libc::getppid() != parent {
            libc::_exit(0);
        }
    }
}
