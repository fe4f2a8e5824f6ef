//! Requests in the order in which they came, and waiters: fibers of servers for requests, submitters
//! for room.
//!
//! Invariants: a fiber that sleeps is in its server's list of idle ones, one that looks for work is in
//! none, and the same holds for submitters; so a waiter that is taken out of a list to be woken will look.

use std::collections::VecDeque;
use std::task::Waker;

/// The requests `R`, and the waiters.
pub(super) struct RequestQueue<R> {
    requests: VecDeque<R>,
    length_max: usize,
    closed: bool,
    /// Submitters that wait for room, by number.
    waiting: VecDeque<(u64, Waker)>,
    servers: Vec<Server>,
    /// Servers and submitters so far.
    numbers: u64,
}

/// A thread that serves.
struct Server {
    number: u64,
    fibers: usize,
    /// Its fibers that sleep.
    idle: Vec<Waker>,
}

/// The outcome of an offered request.
pub(super) enum Offered {
    /// It is in the queue: this one is to be woken.
    Taken(Option<Waker>),
    Full,
    Closed,
}

impl Server {
    /// Members that run a transaction, or were woken and will look for one.
    fn in_flight(&self) -> usize {
        self.fibers - self.idle.len()
    }
}

impl<R> RequestQueue<R> {
    pub fn new(length_max: usize) -> Self {
        Self {
            requests: VecDeque::new(),
            length_max,
            closed: false,
            waiting: VecDeque::new(),
            servers: Vec::new(),
            numbers: 0,
        }
    }

    /// A number for a submitter that waits for room.
    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Another server: its number.
    pub fn enter(&mut self) -> u64 {
        self.numbers += 1;
        self.servers.push(Server { number: self.numbers, fibers: 0, idle: Vec::new() });
        self.numbers
    }

    /// Another fiber of a server.
    pub fn join(&mut self, server: u64) {
        self.server(server).fibers += 1;
    }

    /// A server whose fibers have ended.
    pub fn leave(&mut self, server: u64) {
        self.servers.retain(|other| other.number != server);
    }

    fn server(&mut self, number: u64) -> &mut Server {
        let server = self.servers.iter_mut().find(|server| server.number == number);
        server.expect("it serves until its fibers have ended")
    }

    /// Takes `request`, if there is room; if there is none, `waiting` is kept to be woken.
    pub fn offer(&mut self, request: &mut Option<R>, waiting: Option<(u64, &Waker)>) -> Offered {
        if let Some((number, _)) = waiting {
            self.waiting.retain(|(other, _)| *other != number);
        }
        if self.closed {
            return Offered::Closed;
        }
        if self.requests.len() >= self.length_max {
            self.waiting.extend(waiting.map(|(number, waker)| (number, waker.clone())));
            return Offered::Full;
        }
        self.requests.extend(request.take());
        // A request that blocks its thread must not delay others while another thread sleeps.
        let sleepers = self.servers.iter_mut().filter(|server| !server.idle.is_empty());
        let server = sleepers.min_by_key(|server| server.in_flight());
        Offered::Taken(server.and_then(|server| server.idle.pop()))
    }

    /// A submitter waits no longer. Where it had been woken, the next one has its room: that is to be woken.
    pub fn forget(&mut self, number: u64) -> Option<Waker> {
        let before = self.waiting.len();
        self.waiting.retain(|(other, _)| *other != number);
        let woken = self.waiting.len() == before && self.requests.len() < self.length_max;
        woken.then(|| self.waiting.pop_front()).flatten().map(|(_, waker)| waker)
    }

    /// The next request, and the waker of a submitter for which there is room. `None`: the fiber `waker` is kept to
    /// be woken; `Some(None)`: there will be none.
    pub fn next(&mut self, server: u64, waker: &Waker) -> Option<Option<(R, Option<Waker>)>> {
        self.server(server).idle.retain(|other| !other.will_wake(waker));
        match self.requests.pop_front() {
            Some(request) => {
                let waiting = self.waiting.pop_front().map(|(_, waker)| waker);
                Some(Some((request, waiting)))
            }
            None if self.closed => Some(None),
            None => {
                self.server(server).idle.push(waker.clone());
                None
            }
        }
    }

    /// Takes nothing more. Returns all wakers.
    pub fn close(&mut self) -> Vec<Waker> {
        self.closed = true;
        let idle = self.servers.iter_mut().flat_map(|server| server.idle.drain(..));
        idle.chain(self.waiting.drain(..).map(|(_, waker)| waker)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Offered, RequestQueue};
    use std::sync::Arc;
    use std::task::{Wake, Waker};

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    /// Each another one.
    fn wakers<const N: usize>() -> [Waker; N] {
        std::array::from_fn(|_| Waker::from(Arc::new(Nobody)))
    }

    fn woken(offered: Offered) -> Option<Waker> {
        match offered {
            Offered::Taken(waker) => waker,
            Offered::Full | Offered::Closed => panic!("there is room"),
        }
    }

    #[test]
    fn the_server_with_the_fewest_in_flight_is_woken() {
        let mut queue = RequestQueue::new(10);
        let (large, small) = (queue.enter(), queue.enter());
        let all: [Waker; 5] = wakers();
        // The last two are the small server's.
        let home = |at: usize| if at < 3 { large } else { small };
        for (at, waker) in all.iter().enumerate() {
            queue.join(home(at));
            assert!(queue.next(home(at), waker).is_none());
        }
        // Each looks, so that a woken one is at work from then on.
        let mut served = Vec::new();
        for request in 0..5 {
            let waker = woken(queue.offer(&mut Some(request), None)).unwrap();
            let at = all.iter().position(|it| it.will_wake(&waker)).unwrap();
            assert!(matches!(queue.next(home(at), &waker), Some(Some(_))));
            served.push(home(at));
        }
        assert_eq!(served, [large, small, large, small, large]);
        assert!(woken(queue.offer(&mut Some(5), None)).is_none(), "all are at work");
    }

    #[test]
    fn whoever_looks_is_in_no_list() {
        let mut queue = RequestQueue::new(1);
        let server = queue.enter();
        queue.join(server);
        let [fiber, waker] = wakers();
        let submitter = (queue.number(), &waker);
        // Woken without reason, twice.
        assert!(queue.next(server, &fiber).is_none());
        assert!(queue.next(server, &fiber).is_none());
        assert!(woken(queue.offer(&mut Some(1), None)).unwrap().will_wake(&fiber));
        for _ in 0..2 {
            assert!(matches!(queue.offer(&mut Some(2), Some(submitter)), Offered::Full));
        }
        let Some(Some((1, Some(waiting)))) = queue.next(server, &fiber) else {
            panic!("a request, and one who waits for room")
        };
        assert!(waiting.will_wake(submitter.1));
        assert!(woken(queue.offer(&mut Some(2), Some(submitter))).is_none());
        assert!(matches!(queue.next(server, &fiber), Some(Some((2, None)))));
        assert!(queue.close().is_empty(), "nobody sleeps");
        assert!(matches!(queue.next(server, &fiber), Some(None)));
        assert!(matches!(queue.offer(&mut Some(3), None), Offered::Closed));
    }

    #[test]
    fn a_submitter_that_gives_up_after_it_was_woken_lets_the_next_one_in() {
        let mut queue = RequestQueue::new(1);
        let server = queue.enter();
        queue.join(server);
        let [fiber, first, second] = wakers();
        let (one, other) = (queue.number(), queue.number());
        assert!(woken(queue.offer(&mut Some(1), None)).is_none());
        assert!(matches!(queue.offer(&mut Some(2), Some((one, &first))), Offered::Full));
        assert!(matches!(queue.offer(&mut Some(3), Some((other, &second))), Offered::Full));
        assert!(matches!(queue.next(server, &fiber), Some(Some((1, Some(_))))));
        assert!(queue.forget(one).is_some_and(|waker| waker.will_wake(&second)));
        assert!(queue.forget(other).is_none(), "nobody is left");
    }
}
