//! Events that are no core's, such as messages between task units: they have numbers after those of the cores.

/// Messages that are on their way.
#[derive(Default)]
pub(super) struct Posted {
    /// The number of the first event that is no core's; zero: there has been none.
    first: u32,
    numbers: Vec<u32>,
    free: Vec<u32>,
}

impl Posted {
    /// The number of an event is no core's.
    #[inline]
    pub(super) fn is_message(&self, id: u32) -> bool {
        self.first != 0 && id >= self.first
    }

    /// Puts a message in whose own number is `number`, where there are so many cores: the event's number, and whether
    /// there has been none such.
    pub(super) fn add(&mut self, cores: u32, number: u32) -> (u32, bool) {
        debug_assert!(self.first == 0 || self.first == cores, "cores are known before messages");
        self.first = cores;
        if let Some(at) = self.free.pop() {
            self.numbers[at as usize] = number;
            return (self.first + at, false);
        }
        self.numbers.push(number);
        (self.first + self.numbers.len() as u32 - 1, true)
    }

    /// Takes the message of an event out: its own number.
    pub(super) fn take(&mut self, id: u32) -> u32 {
        let at = id - self.first;
        self.free.push(at);
        self.numbers[at as usize]
    }
}
