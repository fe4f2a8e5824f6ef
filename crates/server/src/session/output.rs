//! What a session says, until it is written to its socket.
//!
//! Three borders lie in the buffer: up to `sent` bytes are gone; up to `released` the session has nothing to take back;
//! and behind each gate lies what may be told only when a commit is durable.

use crate::wire::Writer;
use chiliad::{Error, Pending};
use std::collections::VecDeque;

/// Memory that an empty buffer keeps.
const KEPT_BYTES: usize = 4 << 10;

/// The output of a session.
#[derive(Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    /// Bytes that were before these.
    gone: usize,
    sent: usize,
    released: usize,
    gates: VecDeque<(usize, Pending<()>)>,
}

/// A place in the output, counted from the session's begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Mark(usize);

impl Output {
    /// The end as it is now.
    pub fn mark(&self) -> Mark {
        Mark(self.gone + self.bytes.len())
    }

    /// Takes back what was said since, but for what may have left.
    pub fn take_back(&mut self, mark: Mark) {
        let at = mark.0.saturating_sub(self.gone);
        self.bytes.truncate(at.max(self.released));
    }

    /// The messages since the mark that the socket has not taken yet.
    pub fn said_since(&self, mark: Mark) -> &[u8] {
        let at = mark.0.saturating_sub(self.gone);
        self.bytes.get(at..).unwrap_or_default()
    }

    /// What has been said so far may leave, as far as gates allow.
    pub fn release(&mut self) {
        self.released = self.bytes.len();
    }

    /// What was said since this mark waits for this commit, and all that follows.
    pub fn hold(&mut self, mark: Mark, pending: Pending<()>) {
        // What was released before may have left already.
        let at = mark.0.saturating_sub(self.gone).max(self.released);
        self.gates.push_back((at, pending));
    }

    /// Removes gates at whose commits are durable.
    ///
    /// # Errors
    /// The log has failed: what waits behind a gate will never be true for certain.
    pub fn open_gates(&mut self) -> Result<(), Error> {
        while let Some((_, pending)) = self.gates.front() {
            if !pending.is_durable()? {
                break;
            }
            self.gates.pop_front();
        }
        Ok(())
    }

    /// The commit that is waited for first.
    pub fn gate(&mut self) -> Option<&mut Pending<()>> {
        self.gates.front_mut().map(|(_, pending)| pending)
    }

    /// Drops everything that is not sent, and all gates.
    pub fn discard(&mut self) {
        self.gates.clear();
        self.bytes.truncate(self.sent);
        self.released = self.sent;
    }

    /// Whether there is nothing to be sent, now or behind a gate.
    pub fn is_quiet(&self) -> bool {
        self.owed() == 0 && self.gates.is_empty()
    }

    /// The bytes that may be sent now.
    pub fn sendable(&self) -> &[u8] {
        let gate = self.gates.front().map_or(usize::MAX, |(at, _)| *at);
        &self.bytes[self.sent..gate.min(self.released).max(self.sent)]
    }

    /// Bytes that are not sent, whether they may be or not.
    pub fn unsent(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Bytes that are to be sent, now or behind a gate: not those that the session has never released.
    pub fn owed(&self) -> usize {
        self.released - self.sent
    }

    /// Bytes since a mark.
    pub fn since(&self, mark: Mark) -> usize {
        (self.gone + self.bytes.len()).saturating_sub(mark.0)
    }

    /// So many of the sendable bytes have been sent.
    pub fn sent(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() {
            self.gone += self.bytes.len();
            self.bytes.clear();
            if self.bytes.capacity() > KEPT_BYTES {
                self.bytes = Vec::new();
            }
            (self.sent, self.released) = (0, 0);
        } else if self.sent >= KEPT_BYTES && self.sent * 2 >= self.bytes.len() {
            self.bytes.drain(..self.sent);
            self.gone += self.sent;
            self.gates.iter_mut().for_each(|(at, _)| *at -= self.sent);
            self.released -= self.sent;
            self.sent = 0;
        }
    }

    /// Messages made elsewhere.
    pub fn append(&mut self, messages: &[u8]) {
        self.bytes.extend_from_slice(messages);
    }
}

impl Writer for Output {
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.message(kind, body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_released_leaves() {
        let mut output = Output::default();
        output.append(b"abc");
        assert_eq!(output.sendable(), b"");
        output.release();
        let mark = output.mark();
        output.append(b"def");
        assert_eq!(output.sendable(), b"abc");
        output.take_back(mark);
        output.append(b"xy");
        output.release();
        assert_eq!(output.sendable(), b"abcxy");
        output.sent(4);
        assert_eq!((output.sendable(), output.unsent()), (&b"y"[..], 1));
        output.append(b"never");
        assert_eq!((output.owed(), output.unsent()), (1, 6));
        output.take_back(mark);
        output.sent(1);
        assert_eq!((output.sendable(), output.mark()), (&b""[..], Mark(5)));
    }
}
