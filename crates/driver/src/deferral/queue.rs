//! A bounded queue of deferred requests: many clients put in, and whoever has the claim takes out.
//!
//! It is a ring. Each place has a turn, which says what may be done with it: at the number of a request, that this one may
//! be written there; one above, that it may be read. All is in words of the machine's memory.

use super::faults::{FULL_MISREAD, PLACE_SHARED};
use chiliad_machine::{Array, Line, Machine, Ordering, Word};
use chiliad_workload::DEFERRED_WORDS;

/// Requests in a queue at most: more than come together while its owner runs one, and few enough that a request whose
/// owner cannot follow is soon run by the client that made it up.
const ROOM: usize = 64;

/// The same where runs are short and full queues are to be seen.
const ROOM_EXPLORED: usize = 2;

/// In the word of the end: nothing more is put in.
const CLOSED: u64 = 1;

/// The number of requests put in, above the mark that says closed.
const ONE: u64 = 2;

/// A request that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    /// What it asks for: [`chiliad_workload::Deferred::words`].
    pub words: [u64; DEFERRED_WORDS],
    /// When it was made up, in the machine's ticks.
    pub queued: u64,
    /// Its own among all of the run.
    pub number: u64,
    /// It was made up in the measured window.
    pub measured: bool,
}

/// A place in the ring.
struct Place<M: Machine> {
    turn: M::Word,
    words: [M::Word; DEFERRED_WORDS],
    queued: M::Word,
    number: M::Word,
    measured: M::Word,
}

/// The side of those who take out.
struct Front<M: Machine> {
    /// Requests taken out. Whoever has the claim writes it.
    head: M::Word,
    /// Somebody takes out.
    claimed: M::Word,
    /// Owners that have not left.
    owners: M::Word,
}

/// One queue.
pub(crate) struct Queue<M: Machine> {
    places: Array<M, Line<Place<M>>>,
    /// Requests put in, and whether it is closed.
    tail: Array<M, Line<M::Word>>,
    front: Array<M, Line<Front<M>>>,
}

/// The right to take requests out, which one client at a time has.
pub(crate) struct Claim<'q, M: Machine>(&'q Queue<M>);

impl<M: Machine> Queue<M> {
    /// An empty one, for so many owners: the members of one client.
    ///
    /// # Panics
    /// When the machine has no memory left.
    pub fn new(owners: usize) -> Self {
        let word = M::Word::new;
        let next = std::cell::Cell::new(0);
        let place = || Place {
            turn: word(next.replace(next.get() + 1)),
            words: std::array::from_fn(|_| word(0)),
            queued: word(0),
            number: word(0),
            measured: word(0),
        };
        Self {
            places: Array::new(if M::explores() { ROOM_EXPLORED } else { ROOM }, || Line(place())),
            tail: Array::new(1, || Line(word(0))),
            front: Array::new(1, || {
                Line(Front { head: word(0), claimed: word(0), owners: word(owners as u64) })
            }),
        }
    }

    fn place(&self, number: u64) -> &Place<M> {
        &self.places.get(number as usize % self.places.count()).0
    }

    fn tail(&self) -> &M::Word {
        &self.tail.get(0).0
    }

    fn front(&self) -> &Front<M> {
        &self.front.get(0).0
    }

    /// Puts a request in; `false`: it is full or closed, and the request is not in it.
    pub fn put(&self, request: &Waiting) -> bool {
        let mut tail = self.tail().load(Ordering::Relaxed);
        loop {
            if tail & CLOSED != 0 {
                return false;
            }
            let number = tail / ONE;
            let place = self.place(number);
            // Acquire pairs with the release in `Claim::take`: what was there has been read.
            let turn = place.turn.load(Ordering::Acquire);
            if turn == number {
                match self.take_place(tail) {
                    Ok(()) => {
                        place.write(request);
                        // Release pairs with the acquire in `Claim::take`.
                        place.turn.store(number + 1, Ordering::Release);
                        return !(M::fault(&FULL_MISREAD) && self.is_full(number));
                    }
                    Err(found) => tail = found,
                }
                continue;
            }
            let found = self.tail().load(Ordering::Relaxed);
            if found == tail {
                M::mark("owner's queue full");
                return false;
            }
            tail = found;
        }
    }

    /// Takes the place at the end, which is `tail`. Relaxed: the turn orders what is in a place.
    fn take_place(&self, tail: u64) -> Result<(), u64> {
        if M::fault(&PLACE_SHARED) {
            self.tail().store(tail + ONE, Ordering::Relaxed);
            return Ok(());
        }
        let taken =
            self.tail().compare_exchange(tail, tail + ONE, Ordering::Relaxed, Ordering::Relaxed);
        taken.map(|_| ())
    }

    /// Whether the request of this number has the last place.
    fn is_full(&self, number: u64) -> bool {
        number + 1 - self.front().head.load(Ordering::Relaxed) == self.places.count() as u64
    }

    /// Whether there seems to be a request. One that comes at the same time may go unseen.
    #[inline]
    pub fn has_some(&self) -> bool {
        let head = self.front().head.load(Ordering::Relaxed);
        self.place(head).turn.load(Ordering::Relaxed) == head + 1
    }

    /// The right to take requests out, unless somebody has it.
    pub fn claim(&self) -> Option<Claim<'_, M>> {
        let claimed = &self.front().claimed;
        if claimed.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // Acquire pairs with the release in `Claim::drop`.
        let taken = claimed.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        // Not `then_some`, which would make one and drop it where somebody else has the claim.
        taken.is_ok().then(|| Claim(self))
    }

    /// An owner leaves; whether it is the last one, who has to see to what is left.
    pub fn leave(&self) -> bool {
        // Relaxed: what is in the queue is ordered by turns and by the claim.
        self.front().owners.fetch_add(u64::MAX, Ordering::Relaxed) == 1
    }

    /// Nothing more is put in.
    pub fn close(&self) {
        // Relaxed: who puts in changes the same word.
        self.tail().fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Whether all that was ever put in has been taken out. It is closed.
    pub fn is_drained(&self) -> bool {
        let tail = self.tail().load(Ordering::Relaxed);
        self.front().head.load(Ordering::Relaxed) == tail / ONE
    }
}

impl<M: Machine> Claim<'_, M> {
    /// Takes the first request out, if there is one that has been written.
    pub fn take(&self) -> Option<Waiting> {
        let queue = self.0;
        // Relaxed: whoever had the claim before has written it.
        let head = queue.front().head.load(Ordering::Relaxed);
        let place = queue.place(head);
        // Acquire pairs with the release in `Queue::put`.
        if place.turn.load(Ordering::Acquire) != head + 1 {
            return None;
        }
        let request = place.read();
        queue.front().head.store(head + 1, Ordering::Relaxed);
        // Release pairs with the acquire in `Queue::put`.
        place.turn.store(head + queue.places.count() as u64, Ordering::Release);
        Some(request)
    }
}

impl<M: Machine> Drop for Claim<'_, M> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `Queue::claim`.
        self.0.front().claimed.store(0, Ordering::Release);
    }
}

impl<M: Machine> Place<M> {
    fn write(&self, request: &Waiting) {
        for (word, value) in self.words.iter().zip(request.words) {
            word.store(value, Ordering::Relaxed);
        }
        self.queued.store(request.queued, Ordering::Relaxed);
        self.number.store(request.number, Ordering::Relaxed);
        self.measured.store(request.measured.into(), Ordering::Relaxed);
    }

    fn read(&self) -> Waiting {
        Waiting {
            words: std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed)),
            queued: self.queued.load(Ordering::Relaxed),
            number: self.number.load(Ordering::Relaxed),
            measured: self.measured.load(Ordering::Relaxed) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_machine::Plain;
    use chiliad_simulator::{Config, MemoryModel, Run, Sim};
    use std::cell::RefCell;
    use std::rc::Rc;

    fn request(number: u64) -> Waiting {
        Waiting { words: [number, !number], queued: 3 * number, number, measured: number % 2 == 0 }
    }

    #[test]
    fn requests_come_out_in_order_and_a_full_queue_takes_no_more() {
        let queue = Queue::<Plain>::new(1);
        let room = queue.places.count() as u64;
        for round in 0..3 {
            assert!(!queue.has_some());
            let numbers = || (0..room).map(|at| round * room + at);
            numbers().for_each(|number| assert!(queue.put(&request(number))));
            assert!(!queue.put(&request(99)), "it is full");
            assert!(queue.has_some());
            let claim = queue.claim().expect("nobody has it");
            assert!(queue.claim().is_none(), "somebody has it");
            numbers().for_each(|number| assert_eq!(claim.take(), Some(request(number))));
            assert_eq!(claim.take(), None);
        }
        assert!(queue.put(&request(7)));
        queue.close();
        assert!(!queue.put(&request(8)), "it is closed");
        assert!(!queue.is_drained());
        assert_eq!(queue.claim().and_then(|claim| claim.take()), Some(request(7)));
        assert!(queue.is_drained());
    }

    /// What three cores put in is taken out once, by two that share the claim, and none is lost where the queue
    /// is closed meanwhile.
    fn shared(seed: u64, memory_model: MemoryModel) -> bool {
        let mut run = Run::new(Config { memory_model, ..Config::new(seed) });
        let queue = Rc::new(run.outside(|| Queue::<Sim>::new(2)));
        let put = Rc::new(RefCell::new(Vec::new()));
        let taken = Rc::new(RefCell::new(Vec::new()));
        for core in 0..3 {
            let (queue, put) = (Rc::clone(&queue), Rc::clone(&put));
            run.spawn(format!("puts in {core}"), move || {
                for number in (0..6).map(|at| 10 * core + at) {
                    if queue.put(&request(number)) {
                        put.borrow_mut().push(number);
                    }
                }
            });
        }
        for core in 0..2 {
            let (queue, taken) = (Rc::clone(&queue), Rc::clone(&taken));
            run.spawn(format!("takes out {core}"), move || {
                let take = || {
                    let Some(claim) = queue.claim() else { return };
                    while let Some(request) = claim.take() {
                        assert_eq!(request.words, [request.number, !request.number]);
                        taken.borrow_mut().push(request.number);
                        Sim::pause();
                    }
                };
                for _ in 0..4 {
                    take();
                    Sim::pause();
                }
                // The last one sees to what is left.
                if !queue.leave() {
                    return;
                }
                queue.close();
                let mut patience = chiliad_machine::Patience::<Sim>::new();
                while !queue.is_drained() {
                    take();
                    patience.wait();
                }
            });
        }
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
        run.outside(|| drop(queue));
        let (mut put, mut taken) = (put.take(), taken.take());
        let all = put.len() == 18;
        put.sort_unstable();
        taken.sort_unstable();
        assert_eq!(put, taken, "seed {seed}");
        all
    }

    #[test]
    fn cores_lose_no_request_and_take_none_twice() {
        let mut some_refused = false;
        for seed in 0..200 {
            let model = if seed % 2 == 0 { MemoryModel::Sc } else { MemoryModel::Tso };
            some_refused |= !shared(seed, model);
        }
        assert!(some_refused, "the queue was never full or closed too soon");
    }
}
