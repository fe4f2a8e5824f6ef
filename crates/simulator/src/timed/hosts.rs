//! Cores that stop, for good or for a while, and cores that come, in a timed run.
//!
//! What a core has asked for is under way when it dies: a request that has left reaches its home, which does
//! nothing for it, and keeps its place in the queue until its turn has come. Only then may
//! another worker have the core.

use super::core::{Core, Event, Post};
use super::home::Timed;

impl Timed {
    /// The program of `core` is gone. `ready`: it was about to go on, had asked a home, or spun.
    pub(crate) fn stop_for_good(&mut self, core: u32, ready: bool) {
        let asleep = self.ends_nap(core);
        let it = &mut self.cores[core as usize];
        if ready && !asleep {
            it.event = if it.event == Event::Turn { Event::Pass } else { Event::Nothing };
        }
        it.forget_request();
    }

    /// `core` does not go on before a time.
    pub(crate) fn stop_until(&mut self, core: u32, until: u64) {
        let held = &mut self.cores[core as usize].held;
        *held = until.max(*held);
    }

    /// Nothing of what the dead program of `core` asked for is under way.
    pub(crate) fn is_at_rest(&self, core: u32) -> bool {
        !matches!(self.cores[core as usize].event, Event::Nothing | Event::Pass)
    }

    /// A program begins at `time` on `core`, which is new or at rest.
    pub(crate) fn start(&mut self, core: u32, post: Post, time: u64) {
        if core as usize == self.cores.len() {
            self.add_core(post);
        }
        self.cores[core as usize].begin(time, post);
    }

    /// `core`, which dies, does not sleep through a spin any more, if it did.
    fn ends_nap(&mut self, core: u32) -> bool {
        let slept = self.cores[core as usize].spin.rouse(0).is_some();
        self.asleep -= u32::from(slept);
        slept
    }

    /// One more core.
    pub(super) fn add_core(&mut self, post: Post) {
        let core = self.cores.len() as u32;
        self.wheel.add_core();
        self.private.grow(core as usize + 1);
        let tile = match post {
            Post::Outside => 0,
            Post::Tile => {
                self.next_tile += 1;
                (self.next_tile - 1) % self.tiles
            }
            Post::Background => {
                self.next_guest += 1;
                (self.next_guest - 1) % self.tiles
            }
        };
        let guest_of = self.first.filter(|_| post == Post::Background);
        self.cores.push(Core::new(tile, post == Post::Outside, guest_of));
        let mut guests = self.cores.iter().filter_map(|it| it.guest_of);
        if let Some(host) = self.first
            && (core == host || guest_of.is_some())
            && guests.any(|it| it == host)
            && let Some(host) = self.cores.get_mut(host as usize)
        {
            host.has_guests = true;
        }
    }
}
