//! The chip that a seed draws: queues of a few entries, so that all that is rare on a large one happens all the time.

use chiliad_machine::Fault;
use chiliad_simulator::description::{Cache, Description, Memory, Network, TaskUnits};
use chiliad_simulator::{Aborts, Canary, CommitEntry, Config, Place, SetKind, TaskOptions};
use chiliad_workload::tasks::{GraphOptions, TaskLogOptions};

/// Address space of a run: reserved, not touched.
const REGION_BYTES: usize = 8 << 30;

/// Events after which a run makes no progress any more.
const EVENTS_MAX: u64 = 4_000_000;

/// Slots of a log: more than there are tasks in flight.
const SLOTS: [usize; 2] = [1 << 9, 1 << 11];

/// The most cores.
const CORES_MAX: u64 = 16;

/// The choices of a seed.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) machine: Description,
    pub(super) cores: usize,
    pub(super) options: TaskOptions,
    /// Tasks that make transactions by turns.
    pub(super) generators: u64,
    /// Transactions.
    pub(super) requests: usize,
    /// Each transaction is one task, also where the workload has a graph.
    pub(super) whole: bool,
    /// The options of a graph.
    pub(super) graph: GraphOptions,
    /// Numbers of bytes after which a log is cut off, times any.
    pub(super) cuts: [u64; 2],
}

impl Drawn {
    /// Those of `seed`, but for the cores where their number is given.
    pub(super) fn new(seed: u64, cores: Option<usize>) -> Self {
        let draw = |what: u64, of: usize| (mix(seed ^ what << 20) % of as u64) as usize;
        let cores_per_tile = [1, 2, 4][draw(1, 3)];
        let cores = cores.unwrap_or(1 + draw(2, CORES_MAX as usize));
        let large = draw(3, 4) == 0;
        let tasks = TaskUnits {
            queue: [4, 6, 16, 64][draw(4, 4)].max(4 / cores_per_tile + 1),
            commit_queue: [1, 2, 4, 16][draw(5, 4)],
            gvt_period: [50, 200, 1000][draw(6, 3)],
            filter_way_bits: [8, 64, 256][draw(7, 3)],
            ..TaskUnits::YAN
        };
        let cache = |lines: u64, ways, cycles| Cache { bytes: 64 * lines, ways, cycles };
        let machine = Description {
            tasks: Some(tasks),
            first: if large { cache(256, 8, 2) } else { cache([4, 16][draw(8, 2)], 2, 2) },
            second: Some(if large { cache(4096, 8, 7) } else { cache([16, 64][draw(9, 2)], 4, 7) }),
            shared: if draw(10, 3) == 0 { cache(64, 4, 9) } else { cache(1 << 10, 16, 9) },
            network: Network::Mesh { hop_cycles: [1, 3, 40][draw(11, 3)], flit_bytes: 32 },
            memory: Memory {
                cycles: [20, 120, 900][draw(12, 3)],
                ..Description::tiled(cores_per_tile).memory
            },
            ..Description::tiled(cores_per_tile)
        };
        let options = TaskOptions {
            sets: if draw(13, 2) == 0 { SetKind::Precise } else { SetKind::Bloom },
            aborts: if draw(14, 4) == 0 { Aborts::All } else { Aborts::Selective },
            canary: if draw(15, 3) == 0 { Canary::Line } else { Canary::Set },
            commit_entry: if draw(16, 3) == 0 { CommitEntry::Dequeue } else { CommitEntry::Finish },
            place: if draw(17, 3) == 0 { Place::Hint } else { Place::Random },
            audit: true,
            ..TaskOptions::default()
        };
        Self {
            machine,
            cores,
            options,
            generators: [1, 2, 8][draw(18, 3)],
            requests: [12, 24, 48][draw(19, 3)],
            whole: draw(20, 4) == 0,
            cuts: [mix(seed ^ 1), mix(seed ^ 2)],
            graph: GraphOptions {
                joins: draw(21, 2) == 0,
                scan_partitions: [None, Some(1), Some(3), Some(9)][draw(24, 4)],
                task_log: (draw(22, 2) == 0)
                    .then(|| TaskLogOptions { slots: Some(SLOTS[draw(23, SLOTS.len())]) }),
            },
        }
    }

    /// The configuration of the run of `seed`.
    pub(super) fn config(&self, seed: u64, fault: Option<&'static Fault>) -> Config {
        Config {
            machine: Some(self.machine.clone()),
            region_bytes: REGION_BYTES,
            stack_bytes: 128 << 10,
            events_max: EVENTS_MAX,
            fault,
            ..Config::new(seed)
        }
    }
}

/// A number that looks random (the finalizer of MurmurHash3: Appleby, 2011).
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}
