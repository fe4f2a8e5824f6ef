//! What a client has sent and its session has not used up.

/// Memory that an empty buffer keeps.
const KEPT_BYTES: usize = 4 << 10;

/// The input of a session: bytes up to `restart` are done with; those up to `next` have been run, and may be run again.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    restart: usize,
    next: usize,
}

impl Input {
    /// Where more is read to, at the end.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.restart > 0 {
            self.bytes.drain(..self.restart);
            self.next -= self.restart;
            self.restart = 0;
        }
        &mut self.bytes
    }

    /// What has not been run.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.next..]
    }

    /// So many bytes were run.
    pub fn advance(&mut self, count: usize) {
        self.next += count;
    }

    /// What was run is not run again.
    pub fn keep_nothing(&mut self) {
        self.restart = self.next;
        self.forget();
    }

    /// Gives back the memory of an input that is used up: a client may say nothing for long.
    fn forget(&mut self) {
        if self.restart < self.bytes.len() {
            return;
        }
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        (self.restart, self.next) = (0, 0);
    }

    /// Bytes that are kept to be run again.
    pub fn kept(&self) -> usize {
        self.next - self.restart
    }

    /// Everything that is kept is to be run again.
    pub fn rewind(&mut self) {
        self.next = self.restart;
    }
}

#[cfg(test)]
mod tests {
    use super::Input;

    #[test]
    fn what_was_run_may_be_run_again() {
        let mut input = Input::default();
        input.buffer().extend(b"abcdef");
        input.advance(2);
        input.keep_nothing();
        input.advance(2);
        assert_eq!((input.unread(), input.kept()), (&b"ef"[..], 2));
        input.buffer().extend(b"g");
        input.rewind();
        assert_eq!((input.unread(), input.kept()), (&b"cdefg"[..], 0));
    }
}
