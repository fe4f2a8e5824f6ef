//! The description of a timed machine: sizes, distances, bandwidths and the prices of computation.
//!
//! Times are cycles of the machine's clock. A description is data: [`crate::Config`] carries one, and
//! nothing of it is read from the host.

use chiliad_machine::Cost;

/// Bits after the point of a price.
pub const PRICE_BITS: u32 = 8;

/// A cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cache {
    /// Its size.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
    /// Until a line that it holds is there.
    pub cycles: u32,
}

/// How caches agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// A line that one core reads is shared, and its first write asks the home.
    Msi,
    /// A line that only one core reads is its own, and its first write asks nobody.
    Mesi,
}

/// Which tile is a line's home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Homes {
    /// By a mix of all bits of its address.
    Hashed,
    /// By its number, modulo the tiles.
    Modulo,
}

/// The network between the tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network {
    /// A square mesh, along X first and then along Y; each link carries a flit a cycle.
    Mesh {
        /// Of one hop, router and link.
        hop_cycles: u32,
        /// Bytes of a flit.
        flit_bytes: u32,
    },
    /// Sockets of equally many tiles, each of them joined to each other one.
    Sockets {
        /// Tiles of a socket.
        cores_per_socket: u32,
        /// From a tile to another of the same socket, one way.
        within_cycles: u32,
        /// From a socket to another, one way.
        between_cycles: u32,
        /// Bytes that a link between two sockets carries in a cycle.
        bytes_per_cycle: u32,
    },
}

/// The way to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Controllers, evenly among the tiles in use; none means one for each tile. Where tiles have several cores
    /// a part of the tiles has the same part of the controllers.
    pub controllers: Option<u32>,
    /// From the controller to the content.
    pub cycles: u32,
    /// Hundredths of a cycle in which a controller transfers a line.
    pub line_centicycles: u32,
}

/// Prices of what waits, in cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// One `pause`.
    pub pause: u32,
    /// From a wake-up to the sleeper's first instruction, besides the message.
    pub wake: u32,
    /// Of a call into the system (a mutex that puts to sleep and wakes).
    pub system_call: u32,
    /// From one thread's last instruction on a core to another's first.
    pub switch: u32,
    /// For which a thread keeps its core while others are ready.
    pub slice: u32,
}

/// How far a core may run ahead of the others, in cycles, with what its own cache answers. An atomic
/// read-modify-write waits its turn in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slack {
    /// Of a read: it may miss what another core writes less than so much before it.
    pub read: u32,
    /// Of a write: another core may see it by so much too early.
    pub write: u32,
}

impl Slack {
    /// Equal slack for reads and writes.
    #[must_use]
    pub fn of(cycles: u32) -> Self {
        Self { read: cycles, write: cycles }
    }
}

/// Where background threads (the epochs, the collector) run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Background {
    /// On cores of their own, beside those that are asked for.
    Own,
    /// On the first core, whose time they take.
    Shared,
}

/// Tiles of several cores, which share a second cache and write through their first ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiles {
    /// Cores of a tile.
    pub cores: u32,
}

/// The task unit of each tile (Yan, 2015, chapter 3): queues, filters, and what they cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskUnits {
    /// Entries of the task queue, for each core of the tile.
    pub queue: u32,
    /// Entries of the commit queue, for each core of the tile.
    pub commit_queue: u32,
    /// Children that a task may enqueue, at most eight.
    pub children: u32,
    /// Cycles of an instruction that enqueues, dequeues or finishes a task.
    pub instruction: u32,
    /// Cycles in which a tile finds the tasks that may have accessed a line. Each of them takes one more.
    pub check: u32,
    /// Cycles between two updates of the global virtual time.
    pub gvt_period: u32,
    /// Bits of a way of a filter, of which there are [`TaskUnits::FILTER_WAYS`]; a power of two up to 256.
    pub filter_way_bits: u32,
    /// Cycles in which memory is obtained or given back.
    pub allocate: u32,
}

impl TaskUnits {
    /// Ways of a filter.
    pub const FILTER_WAYS: usize = 8;

    /// As in Table 5.1 there.
    pub const YAN: Self = Self {
        queue: 64,
        commit_queue: 16,
        children: 8,
        instruction: 5,
        check: 5,
        gvt_period: 200,
        filter_way_bits: 256,
        allocate: 30,
    };
}

/// A timed machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    /// The name that `--machine` takes.
    pub name: String,
    /// One line for the list.
    pub about: String,
    /// Where its numbers come from.
    pub source: String,
    /// Cycles per second.
    pub hertz: u64,
    /// The most cores. Each has a tile of its own unless `tiles` says otherwise.
    pub cores_max: u32,
    /// The tiles, where one has several cores: then there is a second cache.
    pub tiles: Option<Tiles>,
    /// The tiles' task units, if it has them.
    pub tasks: Option<TaskUnits>,
    /// Each core's first cache.
    pub first: Cache,
    /// Each core's second cache, if it has one; with `tiles` each tile's.
    pub second: Option<Cache>,
    /// A tile's slice of the cache that all share, with the directory.
    pub shared: Cache,
    /// Until a slice knows whether it holds a line.
    pub shared_tag_cycles: u32,
    /// How caches agree.
    pub coherence: Coherence,
    /// Which tile is a line's home.
    pub homes: Homes,
    /// The network between the tiles.
    pub network: Network,
    /// The memory that fills the shared cache.
    pub memory: Memory,
    /// Lines that a core can have asked for ahead of use; none: it does not prefetch.
    pub prefetches: u32,
    /// Cycles of an access that its own caches answer which a core fills with other work: those out of
    /// order do.
    pub hidden_cycles: u32,
    /// Cycles that an atomic read-modify-write takes longer than an access, in the core's own cache.
    pub modify_cycles: u32,
    /// How far a core runs ahead of the others.
    pub slack: Slack,
    /// The cost of waiting.
    pub waiting: Waiting,
    /// Where background threads run.
    pub background: Background,
    /// There is a counter in the middle of the chip (Yu, 2015, 4.3.1).
    pub counter: bool,
    /// The cores' clocks agree.
    pub clocks: bool,
    /// Instructions that a core completes in a hundred cycles when no memory is waited for.
    pub instructions_per_100_cycles: u32,
    /// Instructions of a unit of work at each site, in 256ths, by [`Cost::index`].
    pub prices: [u32; Cost::COUNT],
    /// As [`Description::prices`], in runs of tasks: their engine takes the same steps in other instructions.
    pub task_prices: [u32; Cost::COUNT],
}

impl Description {
    /// Cores of a tile.
    #[must_use]
    pub fn cores_per_tile(&self) -> u32 {
        self.tiles.map_or(1, |tiles| tiles.cores.max(1))
    }

    /// A chip with a mesh as in Yu, 2015, 3.1 (and Graphite's defaults for what Yu's thesis
    /// leaves open), where a unit of work is one instruction: what tests and examples start from.
    #[must_use]
    pub fn mesh() -> Self {
        Self {
            name: "mesh".into(),
            about: "A tiled chip".into(),
            source: "Yu, 2015, 3.1".into(),
            hertz: 1_000_000_000,
            cores_max: 1024,
            tiles: None,
            tasks: None,
            first: Cache { bytes: 32 << 10, ways: 4, cycles: 1 },
            second: None,
            shared: Cache { bytes: 512 << 10, ways: 8, cycles: 8 },
            shared_tag_cycles: 3,
            coherence: Coherence::Msi,
            homes: Homes::Hashed,
            network: Network::Mesh { hop_cycles: 2, flit_bytes: 8 },
            memory: Memory { controllers: None, cycles: 100, line_centicycles: 1280 },
            prefetches: 0,
            hidden_cycles: 0,
            modify_cycles: 0,
            slack: Slack::of(16),
            waiting: Waiting {
                pause: 8,
                wake: 0,
                system_call: 300,
                switch: 1_000,
                slice: 1_000_000,
            },
            background: Background::Own,
            counter: false,
            clocks: false,
            instructions_per_100_cycles: 100,
            prices: [1 << PRICE_BITS; Cost::COUNT],
            task_prices: [1 << PRICE_BITS; Cost::COUNT],
        }
    }

    /// A chip with task units as in Yan, 2015, Table 5.1, but for the way to memory and all prices, which are those of
    /// [`Description::mesh`]; in tiles of so many cores. What tests of task units start from.
    #[must_use]
    pub fn tiled(cores_per_tile: u32) -> Self {
        Self {
            source: "Yan, 2015, Table 5.1".into(),
            cores_max: 64,
            tiles: Some(Tiles { cores: cores_per_tile }),
            tasks: Some(TaskUnits::YAN),
            first: Cache { bytes: 16 << 10, ways: 8, cycles: 2 },
            second: Some(Cache { bytes: 256 << 10, ways: 8, cycles: 7 }),
            shared: Cache { bytes: 1 << 20, ways: 16, cycles: 9 },
            coherence: Coherence::Mesi,
            homes: Homes::Modulo,
            ..Self::mesh()
        }
    }

    /// From now on work is that of tasks.
    pub(crate) fn use_task_prices(&mut self) {
        self.prices = self.task_prices;
    }

    /// Cycles of `n` units of work at a site, in 256ths.
    #[must_use]
    pub fn price(&self, site: Cost, n: u32) -> u64 {
        let instructions = u64::from(self.prices[site.index()]) * u64::from(n);
        instructions * 100 / u64::from(self.instructions_per_100_cycles.max(1))
    }
}
