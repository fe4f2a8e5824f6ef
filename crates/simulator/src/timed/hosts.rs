//! Cores that stop, for good or for a while, and cores that come, in a timed run.
//!
//! A core's request is under way when it dies: a request that has left reaches its home, which does
//! nothing for it, and keeps its place in the queue until its turn has come. Only then may
//! another worker have the core.

use super::chip::Chip;
use super::core::{Core, Event, Post};
use super::home::Timed;
use crate::description::Background;
use crate::host::Host;

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
        let held = &mut self.held[core as usize];
        *held = until.max(*held);
        self.held_until = until.max(self.held_until);
    }

    /// Nobody is stopped any more, but for those whose next event has been put off already.
    pub(crate) fn stop_nobody(&mut self) {
        self.held_until = 0;
    }

    /// Nothing of what the dead program of `core` asked for is under way.
    pub(crate) fn is_at_rest(&self, core: u32) -> bool {
        !matches!(self.cores[core as usize].event, Event::Nothing | Event::Pass)
    }

    /// A program begins at `time` on `core`, which is new or at rest.
    pub(crate) fn start(&mut self, core: u32, post: Post, host: Host, time: u64) {
        if core as usize == self.cores.len() {
            self.add_core(post, host);
        }
        self.cores[core as usize].begin(time, post);
        self.held[core as usize] = 0;
    }

    /// `core`, which dies, does not sleep through a spin any more, if it did.
    fn ends_nap(&mut self, core: u32) -> bool {
        let slept = self.cores[core as usize].spin.rouse(0).is_some();
        self.asleep -= u32::from(slept);
        slept
    }

    /// The chip of a host, which is made with so many tiles where there is none.
    pub(super) fn chip_for(&mut self, host: Host, tiles: u32) -> usize {
        self.chips.iter().position(|chip| chip.host == host).unwrap_or_else(|| {
            let first_cluster = self.private.clusters();
            self.chips.push(Chip::new(&self.machine, host, tiles, first_cluster));
            self.tiles += tiles;
            self.private.add_tiles(tiles);
            self.chips.len() - 1
        })
    }

    /// One more core. A host that comes later has as many tiles as the largest of the others.
    pub(super) fn add_core(&mut self, post: Post, host: Host) {
        let core = self.cores.len() as u32;
        self.wheel.add_core();
        let most = self.chips.iter().map(|chip| chip.tiles).max().unwrap_or(1);
        let place = self.chip_for(host, most);
        let chip = &mut self.chips[place];
        let tile = match post {
            Post::Outside => 0,
            Post::Tile => chip.next_tile(),
            Post::Background => chip.next_guest(),
        };
        self.private.add_core(chip.first_cluster + tile);
        self.cluster_tiles.resize(self.private.clusters() as usize, 0);
        self.arriving.resize(self.private.clusters() as usize, Vec::new());
        self.cluster_tiles[self.private.cluster_of(core) as usize] = tile;
        let number = u16::try_from(place).expect("fewer hosts than u16 counts");
        self.cores.push(Core::new(number, tile, post == Post::Outside));
        self.held.push(0);
        if self.machine.background == Background::Shared {
            self.share_core(place, core, post);
        }
    }

    /// Where background work takes the time of a chip's first core, that of the new core does, or takes its.
    fn share_core(&mut self, place: usize, core: u32, post: Post) {
        let chip = &mut self.chips[place];
        match post {
            Post::Outside => return,
            Post::Tile if chip.first.is_some() => return,
            Post::Tile => chip.first = Some(core),
            Post::Background => chip.guests.push(core),
        }
        let (Some(first), guests) = (chip.first, &chip.guests) else { return };
        for &guest in guests {
            self.cores[guest as usize].guest_of = Some(first);
            self.cores[first as usize].has_guests = true;
        }
    }
}
