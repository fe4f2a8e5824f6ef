//! A chip: the tiles of one host, what joins them, their shared cache, and their way to memory.
//!
//! Chips share nothing: no line is looked up in another's directory, and no message leaves a chip. Even two
//! chips that both hold the line between two blocks of different hosts do not disturb each other.

use super::bandwidth::Bandwidth;
use super::core::NOBODY;
use super::directory::Directory;
use super::network::Network;
use super::table::table;
use crate::description::{Description, Homes};
use crate::host::Host;
use chiliad_machine::{Machine, Native};

/// Places where requests queue. Two lines that share one, which is rare, wait for each other.
const QUEUES: usize = 1 << 16;

/// Requests for a line.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    /// Until when the home is busy with it.
    pub(super) until: u64,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// All tiles of a host.
pub(super) struct Chip {
    pub(super) host: Host,
    pub(super) directory: Directory,
    pub(super) network: Network,
    pub(super) ports: Bandwidth,
    pub(super) controllers: Bandwidth,
    /// Of the counter in the middle.
    pub(super) counter: Bandwidth,
    pub(super) counted: u64,
    queues: Vec<Queue>,
    pub(super) tiles: u32,
    /// Where tiles have several cores: the number of the first tile's cluster.
    pub(super) first_cluster: u32,
    controller_count: u32,
    cores_per_tile: u32,
    /// Cores of the program so far, and background work.
    cores: u32,
    guest_count: u32,
    /// The first core of the program, which background work may take its time from.
    pub(super) first: Option<u32>,
    /// Background work that takes some.
    pub(super) guests: Vec<u32>,
}

impl Chip {
    /// An unused one with so many tiles.
    pub(super) fn new(machine: &Description, host: Host, tiles: u32, first_cluster: u32) -> Self {
        let controller_count = controllers(machine, tiles);
        Self {
            host,
            directory: Directory::new(machine.shared, tiles as usize),
            network: Network::new(machine.network, tiles),
            ports: Bandwidth::new(tiles as usize),
            controllers: Bandwidth::new(controller_count as usize),
            counter: Bandwidth::new(1),
            counted: 0,
            queues: table(Queue { until: 0, first: NOBODY, last: NOBODY }, QUEUES),
            tiles,
            first_cluster,
            controller_count,
            cores_per_tile: machine.cores_per_tile(),
            cores: 0,
            guest_count: 0,
            first: None,
            guests: Vec::new(),
        }
    }

    /// The tile that a line is at home on, by its number and the mix of that.
    #[inline]
    pub(super) fn home_of(&self, homes: Homes, line: u64, mix: u64) -> u32 {
        let home = match homes {
            Homes::Hashed => ((mix & 0xffff_ffff) * u64::from(self.tiles)) >> 32,
            Homes::Modulo => line % u64::from(self.tiles),
        };
        home as u32
    }

    /// The controller that a home turns to, and its tile.
    pub(super) fn controller_of(&self, home: u32) -> (usize, u32) {
        let controller = home % self.controller_count;
        (controller as usize, controller * self.tiles / self.controller_count)
    }

    /// The tile of the counter.
    pub(super) fn centre(&self) -> u32 {
        self.network.centre(self.tiles)
    }

    /// Where requests for a line queue.
    #[inline]
    pub(super) fn queue(&mut self, mix: u64) -> &mut Queue {
        &mut self.queues[mix as usize % QUEUES]
    }

    /// Asks the host for what a line's home looks at when a request comes.
    #[inline]
    pub(super) fn prefetch(&self, home: u32, mix: u64) {
        self.directory.prefetch(home, mix);
        Native::prefetch((&raw const self.queues[mix as usize % QUEUES]).cast(), 1);
    }

    /// The tile of the next core of the program, and of the next background work.
    pub(super) fn next_tile(&mut self) -> u32 {
        self.cores += 1;
        (self.cores - 1) / self.cores_per_tile % self.tiles
    }

    /// As [`Chip::next_tile`], for background work.
    pub(super) fn next_guest(&mut self) -> u32 {
        self.guest_count += 1;
        (self.guest_count - 1) % self.tiles
    }
}

/// The memory controllers of a chip with so many tiles.
fn controllers(machine: &Description, tiles: u32) -> u32 {
    let Some(all) = machine.memory.controllers else { return tiles };
    let share = match machine.tiles {
        Some(of) => all * tiles / (machine.cores_max / of.cores.max(1)).max(1),
        None => all,
    };
    share.clamp(1, tiles)
}
