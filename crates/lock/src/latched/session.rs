//! A transaction's part in the lock table with mutexes.

use super::memory::Spare;
use super::{Chain, Latched, Queue};
use crate::agents::{Agent, Agents};
use crate::answer::{Answer, Refused};
use crate::cancel::Cancel;
use crate::deadlock::{Lines, Search};
use crate::held::{Entry, Held};
use crate::lock::{Lock, State, Status};
use crate::locks::Locks;
use crate::mode::Mode;
use crate::name::Name;
use crate::until::Until;

use chiliad_machine::{Link, Machine, Ordering, Shared, Tagged, Woken, Word, WorkerId};
use core::ptr::NonNull;
use std::sync::Arc;

/// A lock and its bucket.
type At<M> = (NonNull<Lock<M>>, usize);

/// The lock that a transaction waits for, and the mode that it has already.
#[derive(Clone, Copy)]
struct Pending<P> {
    name: Name,
    at: P,
    granted: Option<Mode>,
    wanted: Mode,
}

/// One transaction at a time, of one thread at a time.
pub struct LatchedSession<M: Machine> {
    manager: Arc<Shared<M, Latched<M>>>,
    number: u32,
    agent: NonNull<Agent<M>>,
    /// Where it waits for mutexes.
    queue: Queue<M>,
    held: Held<At<M>>,
    /// Memory for its next locks.
    spare: Spare<M>,
    pending: Option<Pending<At<M>>>,
    /// The locks that its last transaction has left, and this one has not used yet.
    kept: Vec<Entry<At<M>>>,
    search: Search,
    /// It was refused since it has last committed.
    has_age: bool,
}

// SAFETY: what its pointers lead to lives in the manager, which it keeps, and is shared by words.
unsafe impl<M: Machine> Send for LatchedSession<M> where Arc<Shared<M, Latched<M>>>: Send {}

impl<M: Machine> LatchedSession<M> {
    fn agent(&self) -> &Agent<M> {
        // SAFETY: agents live as long as the manager, which the session keeps.
        unsafe { self.agent.as_ref() }
    }

    fn lock_at(&self, at: At<M>) -> &Lock<M> {
        // SAFETY: memory of locks lives as long as the manager.
        unsafe { at.0.as_ref() }
    }

    /// Asks for what it does not hold.
    fn request(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        debug_assert!(self.held.find(name).is_none(), "a name is held once");
        let manager = &**self.manager;
        let bucket = manager.bucket(name);
        // SAFETY: agents live as long as the manager, which the session keeps.
        let (number, agent) = (self.number, unsafe { self.agent.as_ref() });
        let place = manager.memory.take(&mut self.spare)?;
        // SAFETY: memory of locks lives as long as the manager, which the session keeps.
        let lock = unsafe { place.as_ref() };
        let tries = self.queue.awake;
        let excluded = manager.hold(bucket, &mut self.queue, |chain| {
            let excluded = chain.excludes(name, mode.conflicts());
            if excluded && tries {
                return true;
            }
            lock.prepare(
                name,
                match excluded {
                    false => State::new(number, Status::Active, Some(mode), mode),
                    true => State::new(number, Status::Waiting, None, mode),
                },
            );
            chain.append(lock);
            if excluded {
                wait_by(agent, lock);
            }
            excluded
        });
        let at = (place, bucket);
        if !excluded {
            self.held.add(Entry { name, mode, place: at });
            return Ok(Answer::Granted);
        }
        if tries {
            self.spare.push(place);
            return Err(Refused::Timeout);
        }
        self.stand(Pending { name, at, granted: None, wanted: mode })
    }

    /// Asks for what it holds in a stronger mode.
    fn convert(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        let held = self.held.find(name).expect("what is converted is held");
        let (granted, wanted, at) = (held.mode, held.mode.join(mode), held.place);
        debug_assert!(wanted != granted, "what is covered is had");
        let manager = &**self.manager;
        // SAFETY: agents and memory of locks live as long as the manager, which the session keeps.
        let (number, agent, lock) = unsafe { (self.number, self.agent.as_ref(), at.0.as_ref()) };
        let tries = self.queue.awake;
        let excluded = manager.hold(at.1, &mut self.queue, |chain: &Chain<M>| {
            let excluded = chain.excludes_conversion(name, lock, wanted.conflicts());
            if excluded && tries {
                return true;
            }
            let state = State::new(number, Status::Waiting, Some(granted), wanted);
            lock.set(if excluded { state } else { state.granting() });
            // The waiters for what it had wait for what it has.
            lock.tell_wanted();
            if excluded {
                wait_by(agent, lock);
            }
            excluded
        });
        if !excluded {
            self.held.find(name).expect("found above").mode = wanted;
            return Ok(Answer::Granted);
        }
        if tries {
            return Err(Refused::Timeout);
        }
        self.stand(Pending { name, at, granted: Some(granted), wanted })
    }

    /// Stands in line, unless that would be for itself.
    fn stand(&mut self, pending: Pending<At<M>>) -> Result<Answer, Refused> {
        loop {
            let mut lines = UnderMutexes { manager: &**self.manager, queue: &mut self.queue };
            // SAFETY: memory of locks lives as long as the manager, which the session keeps.
            let lock = unsafe { pending.at.0.as_ref() };
            let Some(victim) = self.search.victim(&mut lines, self.number, lock) else { break };
            M::mark("deadlock found");
            if victim.owner == self.number {
                if !self.withdraw(pending) {
                    break;
                }
                return Err(self.refused(Refused::deadlock(pending.granted)));
            }
            M::mark("another told to give up");
            let agent = self.manager.agents.get(victim.owner);
            agent.tell_to_abort(victim.wait);
            // Relaxed: written under the mutex under which it has begun to wait.
            M::unpark(WorkerId(agent.thread.load(Ordering::Relaxed) as u32));
        }
        debug_assert!(self.pending.is_none(), "it stands in one line at a time");
        self.pending = Some(pending);
        Ok(Answer::Waits)
    }

    /// Why it stands in line no more; a session that aborts to end a deadlock has an age from here on.
    #[cold]
    fn refused(&mut self, refused: Refused) -> Refused {
        if refused.ends_deadlock() {
            self.has_age = true;
            self.agent().grow_older(&self.manager.agents.refused.0);
        }
        refused
    }

    /// Stands in line no more; `false` if it has been granted by now.
    fn withdraw(&mut self, pending: Pending<At<M>>) -> bool {
        debug_assert!(self.pending.is_none(), "it stands in no other line");
        let manager = &**self.manager;
        // SAFETY: memory of locks lives as long as the manager, which the session keeps.
        let lock = unsafe { pending.at.0.as_ref() };
        let withdrawn = manager.hold(pending.at.1, &mut self.queue, |chain| {
            let state = lock.state();
            if state.status() != Status::Waiting {
                return false;
            }
            match pending.granted {
                None => chain.remove(lock),
                Some(mode) => {
                    lock.set(State::new(state.owner(), Status::Active, Some(mode), mode));
                    lock.tell_wanted();
                }
            }
            manager.grant(chain, pending.name);
            true
        });
        if withdrawn {
            if pending.granted.is_none() {
                self.spare.push(pending.at.0);
            }
            // Release pairs with the acquire of searches for deadlocks.
            self.agent().waits_for.store(Tagged::null(), Ordering::Release);
        }
        withdrawn
    }

    /// Takes note of what has been granted.
    fn granted(&mut self, pending: Pending<At<M>>) {
        debug_assert!(self.pending.is_none(), "it stands in no line any more");
        // Release pairs with the acquire of searches for deadlocks.
        self.agent().waits_for.store(Tagged::null(), Ordering::Release);
        match self.held.find(pending.name) {
            Some(held) => held.mode = pending.wanted,
            None => {
                self.held.add(Entry { name: pending.name, mode: pending.wanted, place: pending.at })
            }
        }
    }

    /// Uses a lock that the last transaction has left; what cannot be used is given back.
    fn inherit(&mut self, name: Name) -> bool {
        let Some(at) = self.kept.iter().position(|kept| kept.name == name) else { return false };
        let kept = self.kept.swap_remove(at);
        debug_assert!(kept.mode != Mode::X, "what excludes all is not kept");
        if self.lock_at(kept.place).inherit() {
            self.held.add(kept);
            return true;
        }
        self.release(&[kept]);
        false
    }

    /// Releases locks that were granted or kept.
    fn release(&mut self, entries: &[Entry<At<M>>]) {
        let manager = &**self.manager;
        let mut left = entries;
        while let Some(first) = left.first() {
            // What is under one mutex goes in one go.
            let same = left.iter().position(|it| {
                !core::ptr::eq(manager.guard(it.place.1), manager.guard(first.place.1))
            });
            let (now, later) = left.split_at(same.unwrap_or(left.len()));
            debug_assert!(!now.is_empty(), "the first is under its own mutex");
            manager.hold(first.place.1, &mut self.queue, |_| {
                for entry in now {
                    let chain = manager.chains.get(entry.place.1);
                    // SAFETY: memory of locks lives as long as the manager, which the session keeps.
                    chain.remove(unsafe { entry.place.0.as_ref() });
                    manager.grant(chain, entry.name);
                }
            });
            self.spare.extend(now.iter().map(|entry| entry.place.0));
            left = later;
        }
    }
}

/// The agent waits by this lock, whose mutex the caller holds.
fn wait_by<M: Machine>(agent: &Agent<M>, lock: &Lock<M>) {
    // Relaxed: read under the mutex.
    agent.thread.store(u64::from(M::worker().0), Ordering::Relaxed);
    agent.waits_by(lock);
}

impl<M: Machine> Locks<M> for LatchedSession<M> {
    type Manager = Latched<M>;

    fn session(manager: &Arc<Shared<M, Latched<M>>>) -> Option<Self> {
        let manager = Arc::clone(manager);
        let number = manager.agents.acquire()?;
        let agent = NonNull::from(manager.agents.get(number));
        Some(Self {
            manager,
            number,
            agent,
            queue: Queue::new(),
            held: Held::new(),
            spare: Vec::new(),
            pending: None,
            kept: Vec::new(),
            search: Search::default(),
            has_age: false,
        })
    }

    #[inline]
    fn expect(&self, name: Name) {
        let chain = self.manager.chains.get(self.manager.bucket(name));
        M::prefetch(core::ptr::from_ref(chain).cast(), 1);
    }

    fn ask(&mut self, name: Name, mode: Mode) -> Result<Answer, Refused> {
        assert!(self.pending.is_none(), "a transaction waits for one lock at a time");
        if !self.kept.is_empty() && self.held.find(name).is_none() {
            self.inherit(name);
        }
        match self.held.find(name) {
            Some(held) if held.mode.covers(mode) => Ok(Answer::Granted),
            Some(_) => self.convert(name, mode),
            None => self.request(name, mode),
        }
    }

    fn try_lock(&mut self, name: Name, mode: Mode) -> bool {
        debug_assert!(!self.queue.awake, "one try at a time");
        self.queue.awake = true;
        let granted = self.ask(name, mode) == Ok(Answer::Granted);
        self.queue.awake = false;
        debug_assert!(self.pending.is_none(), "who tries stands in no line");
        granted
    }

    #[inline]
    fn renew(&mut self) {
        if core::mem::take(&mut self.has_age) {
            self.agent().grow_young();
        }
    }

    fn wait(&mut self, Until { deadline, is_cancelled }: Until<'_>) -> Result<(), Refused> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        M::mark("slept for a lock");
        // A cancel sees the thread to wake, or we see that it has been told: pairs with the fence in
        // `Cancel::cancel`.
        M::fence(Ordering::SeqCst);
        // The granting session writes the state, and wakes.
        while self.lock_at(pending.at).state().status() == Status::Waiting {
            let ends = match self.agent() {
                agent if agent.is_cancelled() || is_cancelled() => Some(Refused::Cancelled),
                agent if agent.gives_up() => Some(Refused::deadlock(pending.granted)),
                _ => None,
            };
            if let Some(refused) = ends {
                if self.withdraw(pending) {
                    return Err(self.refused(refused));
                }
                // It was granted while we waited for the mutex, where the granting session's permit may have gone.
                continue;
            }
            let woken = match deadline {
                None => {
                    M::park();
                    continue;
                }
                Some(deadline) => M::park_until(deadline),
            };
            let over = woken == Woken::ByTime && deadline.is_some_and(|it| M::now() >= it);
            if over && self.withdraw(pending) {
                return Err(Refused::Timeout);
            }
        }
        self.granted(pending);
        Ok(())
    }

    fn stop_waiting(&mut self) {
        if let Some(pending) = self.pending.take()
            && !self.withdraw(pending)
        {
            // It has come in the last moment, and is released with the others.
            self.granted(pending);
        }
    }

    fn cancel_handle(&self) -> Cancel<M, Latched<M>> {
        Cancel::new(&self.manager, |manager| &manager.agents, self.number)
    }

    fn clear_cancel(&mut self) {
        self.agent().clear_cancel();
    }

    fn count(&self) -> usize {
        self.held.entries().len()
    }

    fn mode_of(&mut self, name: Name) -> Option<Mode> {
        self.held.find(name).map(|held| held.mode)
    }

    fn release_all(&mut self) {
        self.stop_waiting();
        debug_assert!(self.pending.is_none(), "it stands in no line");
        debug_assert!(self.manager.options.inherits || self.kept.is_empty(), "none is kept");
        let unused = core::mem::take(&mut self.kept);
        self.release(&unused);
        let mut held = self.held.take();
        if self.manager.options.inherits {
            held.retain(|entry| {
                let may = entry.name.ground().is_some() && entry.mode != Mode::X;
                let keeps = may && self.lock_at(entry.place).bequeath();
                if keeps {
                    self.kept.push(*entry);
                }
                !keeps
            });
        }
        self.release(&held);
        held.clear();
        self.held.put_back(held);
        self.manager.memory.pass_on(&mut self.spare, false);
    }
}

impl<M: Machine> Drop for LatchedSession<M> {
    fn drop(&mut self) {
        self.release_all();
        let kept = core::mem::take(&mut self.kept);
        self.release(&kept);
        self.manager.memory.pass_on(&mut self.spare, true);
        self.renew();
        self.agent().outlive_handles();
        self.manager.agents.release(self.number);
    }
}

/// The table as a search for deadlocks sees it: a chain at a time, under its mutex.
struct UnderMutexes<'a, M: Machine> {
    manager: &'a Latched<M>,
    queue: &'a mut Queue<M>,
}

impl<M: Machine> Lines<M> for UnderMutexes<'_, M> {
    fn agents(&self) -> &Agents<M> {
        &self.manager.agents
    }

    fn counts_intentions(&self) -> bool {
        false
    }

    fn each(&mut self, name: Name, lock: &Lock<M>, mut show: impl FnMut(Option<(State, bool)>)) {
        show(None);
        self.manager.hold(self.manager.bucket(name), self.queue, |chain| {
            chain.each(|other| {
                if other.is_for(name) {
                    show(Some((other.state(), core::ptr::eq(other, lock))));
                }
            });
        });
    }
}
