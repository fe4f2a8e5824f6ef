//! How long a message travels between two tiles, and what it meets on its way.
//!
//! A mesh's tiles lie in rows, as square as their number allows; a message goes along its row first and then
//! along its column. It takes every link on the way for as many cycles as it has flits; its body arrives
//! after its head. Sockets are joined pairwise; within a socket there are no queues.

use super::bandwidth::Bandwidth;
use crate::description::Network as Kind;

/// Bytes of a message without a line: an address, the asking core, what for.
const HEAD_BYTES: u32 = 8;
const LINE_BYTES: u32 = 64;
/// Bytes of a task besides the head: its timestamp and five words.
const TASK_BYTES: u32 = 48;

/// The payload of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    /// A request, an answer without content.
    Head,
    /// A line.
    Line,
    /// A task.
    Task,
}

/// The network between the tiles.
pub(crate) struct Network {
    kind: Kind,
    /// Tiles of a row.
    width: u32,
    sockets: u32,
    links: Bandwidth,
}

impl Network {
    /// Joins so many tiles.
    pub(crate) fn new(kind: Kind, tiles: u32) -> Self {
        let width = (1..).find(|width| width * width >= tiles).unwrap_or(1);
        let (sockets, links) = match kind {
            // Four links leave every place, of which the last row may lack some tiles.
            Kind::Mesh { .. } => (1, width * width * 4),
            Kind::Sockets { cores_per_socket, .. } => {
                let sockets = tiles.div_ceil(cores_per_socket.max(1));
                (sockets, sockets * sockets)
            }
        };
        Self { kind, width, sockets, links: Bandwidth::new(links as usize) }
    }

    /// The tile next to the middle.
    pub(crate) fn centre(&self, tiles: u32) -> u32 {
        match self.kind {
            Kind::Mesh { .. } => {
                let middle = (self.width - 1) / 2;
                (middle * self.width + middle).min(tiles - 1)
            }
            Kind::Sockets { .. } => 0,
        }
    }

    fn quarters(&self, load: Load) -> u32 {
        let bytes = HEAD_BYTES
            + match load {
                Load::Head => 0,
                Load::Line => LINE_BYTES,
                Load::Task => TASK_BYTES,
            };
        match self.kind {
            Kind::Mesh { flit_bytes, .. } => 4 * bytes.div_ceil(flit_bytes.max(1)),
            Kind::Sockets { bytes_per_cycle, .. } => (4 * bytes).div_ceil(bytes_per_cycle.max(1)),
        }
    }

    /// Cycles between a message's head and its end where nothing is in the way.
    fn body(&self, load: Load) -> u64 {
        u64::from(self.quarters(load) / 4).saturating_sub(1)
    }

    /// Cycles from one tile to another where nothing is in the way, without the body.
    pub(crate) fn distance(&self, from: u32, to: u32) -> u64 {
        match self.kind {
            Kind::Mesh { hop_cycles, .. } => {
                let (x, y) = (from % self.width, from / self.width);
                let (to_x, to_y) = (to % self.width, to / self.width);
                u64::from((x.abs_diff(to_x) + y.abs_diff(to_y)) * hop_cycles)
            }
            Kind::Sockets { cores_per_socket, within_cycles, between_cycles, .. } => {
                match (from == to, from / cores_per_socket == to / cores_per_socket) {
                    (true, _) => 0,
                    (_, true) => u64::from(within_cycles),
                    _ => u64::from(between_cycles),
                }
            }
        }
    }

    /// When a message that leaves at `time` has arrived.
    #[inline]
    pub(crate) fn travel(&mut self, from: u32, to: u32, load: Load, time: u64) -> u64 {
        if from == to {
            return time;
        }
        let quarters = self.quarters(load);
        let body = self.body(load);
        let mut time = time;
        match self.kind {
            Kind::Mesh { hop_cycles, .. } => {
                let (hop, width) = (u64::from(hop_cycles), self.width);
                let (x, y) = (from % width, from / width);
                let (to_x, to_y) = (to % width, to / width);
                // By way, and the links of a row or column side by side: a message takes neighbours.
                let along = |way: u32, line: u32, at: u32, to: u32| {
                    let way = way + u32::from(at >= to);
                    (((way * width + line) * width + at) as usize, at < to, at.abs_diff(to))
                };
                time = self.links.take_way(along(0, y, x, to_x), time, hop, quarters);
                time = self.links.take_way(along(2, to_x, y, to_y), time, hop, quarters);
            }
            Kind::Sockets { cores_per_socket, .. } => {
                let (here, there) = (from / cores_per_socket, to / cores_per_socket);
                if here != there {
                    let link = (here * self.sockets + there) as usize;
                    time = self.links.take(link, time, quarters);
                }
                time += self.distance(from, to);
            }
        }
        time + body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESH: Kind = Kind::Mesh { hop_cycles: 2, flit_bytes: 8 };

    #[test]
    fn a_message_takes_its_hops_and_its_length() {
        let mut network = Network::new(MESH, 16);
        assert_eq!(network.travel(0, 15, Load::Head, 100), 100 + 2 * 6);
        assert_eq!(network.travel(15, 0, Load::Line, 100), 100 + 2 * 6 + 8);
        assert_eq!(network.travel(3, 3, Load::Line, 100), 100);
        assert_eq!(network.distance(1, 14), 2 * 4);
    }

    /// A link between two tiles carries a flit a cycle: a line of nine flits every nine cycles.
    #[test]
    fn a_link_saturates() {
        let mut network = Network::new(MESH, 2);
        let last = (0..3000).map(|_| network.travel(0, 1, Load::Line, 0)).max().expect("some");
        assert!((9 * 3000 - 40..=9 * 3000).contains(&last), "{last}");
        assert_eq!(network.travel(1, 0, Load::Line, 0), 10, "the way back is another link");
    }

    #[test]
    fn sockets_are_far_apart() {
        let kind = Kind::Sockets {
            cores_per_socket: 10,
            within_cycles: 20,
            between_cycles: 100,
            bytes_per_cycle: 8,
        };
        let mut network = Network::new(kind, 80);
        assert_eq!(network.travel(0, 9, Load::Head, 0), 20);
        assert_eq!(network.travel(0, 79, Load::Head, 0), 100);
    }
}
