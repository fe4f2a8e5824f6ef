//! The parts of a machine file about tiles of several cores, and about their task units.

use super::fields::Fields;
use super::prices::{PRICES, in_256ths, shown_price};
use super::units::CYCLES_MAX;
use chiliad_host::Stop;
use chiliad_machine::Cost;
use chiliad_machine::tasks::CHILDREN_MAX;
use chiliad_simulator::description::{Description, Network, TaskUnits, Tiles};

/// The most cores of a tile.
const TILE_CORES_MAX: u32 = 64;
/// The most tiles with task units, as a bit of a word stands for each.
const TASK_TILES_MAX: u32 = 64;
/// The most tasks of a tile that run or wait for their commit.
const ENTRIES_MAX: u32 = 128;
/// The least and the most bits of a filter.
const FILTER_BITS: std::ops::RangeInclusive<u32> = 64..=2048;

/// Tiles of several cores, where the file has them.
pub(super) fn read(
    fields: &Fields<'_>,
    cores: u32,
    network: Network,
    has_second: bool,
) -> Result<Option<Tiles>, Stop> {
    let Some(tiles) = fields.table_if("tiles")? else { return Ok(None) };
    if matches!(network, Network::Sockets { .. }) {
        let problem = "sockets have no tiles of several cores";
        return Err(fields.refuse("tiles", problem, "with network.kind = \"mesh\""));
    }
    if !has_second {
        let problem = "the cores of a tile share a second cache, and there is none";
        return Err(fields.refuse("tiles", problem, "with a table l2"));
    }
    let of = tiles.whole("cores", 1..=TILE_CORES_MAX)?;
    if !cores.is_multiple_of(of) {
        let problem = format!("{cores} cores make no tiles of {of}");
        return Err(tiles.refuse("cores", &problem, "a divisor of `cores`"));
    }
    tiles.done()?;
    Ok(Some(Tiles { cores: of }))
}

/// Prices of tasks that are not those of other engines.
pub(super) type TaskPrices = Vec<(Cost, u32)>;

/// Task units, where the file has them, and prices of their own.
pub(super) fn read_tasks(
    fields: &Fields<'_>,
    cores: u32,
    tiles: Option<Tiles>,
) -> Result<Option<(TaskUnits, TaskPrices)>, Stop> {
    let Some(tasks) = fields.table_if("tasks")? else { return Ok(None) };
    let Some(Tiles { cores: of }) = tiles else {
        let problem = "task units are the tiles', whose first caches write through";
        return Err(fields.refuse("tasks", problem, "with a table tiles"));
    };
    if cores / of > TASK_TILES_MAX {
        let problem = format!("{} tiles with task units", cores / of);
        return Err(fields.refuse("tasks", &problem, "at most 64 tiles"));
    }
    let filter_bits = tasks.whole("filter_bits", FILTER_BITS)?;
    if !filter_bits.is_power_of_two() {
        let problem = format!("{filter_bits} is no power of two");
        return Err(tasks.refuse("filter_bits", &problem, "a power of two from 64 to 2048"));
    }
    let units = TaskUnits {
        queue: tasks.whole("queue", 1..=1024)?,
        commit_queue: tasks.whole("commit_queue", 1..=ENTRIES_MAX)?,
        children: tasks.whole("children", 1..=CHILDREN_MAX as u32)?,
        instruction: tasks.whole("instruction_cycles", 1..=CYCLES_MAX)?,
        check: tasks.whole("check_cycles", 1..=CYCLES_MAX)?,
        allocate: tasks.whole("allocate_cycles", 1..=CYCLES_MAX)?,
        gvt_period: tasks.whole("gvt_period", 1..=CYCLES_MAX)?,
        filter_way_bits: filter_bits / TaskUnits::FILTER_WAYS as u32,
    };
    if let Some(Unfit { field, problem, accepted }) = unfit(&units, of) {
        return Err(tasks.refuse(field, &problem, &accepted));
    }
    let mut prices = Vec::new();
    if let Some(fields) = tasks.table_if("prices")? {
        for site in Cost::ALL {
            prices
                .extend(fields.real_if(site.name(), PRICES)?.map(|price| (site, in_256ths(price))));
        }
        fields.done()?;
    }
    tasks.done()?;
    Ok(Some((units, prices)))
}

/// A number of task units that a tile cannot have.
pub struct Unfit {
    /// Its name in machine files.
    pub field: &'static str,
    /// The reason why tiles cannot have it.
    pub problem: String,
    /// What would not be.
    pub accepted: String,
}

/// The first number of task units that tiles of so many cores cannot have: tasks would wait for each other for ever, or
/// there are more than can be told apart.
#[must_use]
pub fn unfit(units: &TaskUnits, of: u32) -> Option<Unfit> {
    if units.queue * of < of + 2 {
        let problem = format!(
            "{} entries a tile: the task of each core keeps one, one is for a task that comes, and the last for the \
             earliest task from memory",
            units.queue * of
        );
        return Some(Unfit {
            field: "queue",
            problem,
            accepted: format!("at least {} a tile", of + 2),
        });
    }
    let entries = (units.commit_queue + 1) * of;
    if entries > ENTRIES_MAX {
        let problem = format!("{entries} tasks of a tile that run or wait for their commit");
        return Some(Unfit { field: "commit_queue", problem, accepted: "at most 128".into() });
    }
    None
}

/// The prices of tasks that are not those of other engines.
fn own_prices(machine: &Description) -> impl Iterator<Item = (Cost, u32)> {
    let both = machine.prices.into_iter().zip(machine.task_prices);
    let own = Cost::ALL.into_iter().zip(both).filter(|(_, (others, own))| own != others);
    own.map(|(site, (_, own))| (site, own))
}

/// The tables of a machine's tiles and task units.
pub(super) fn write(machine: &Description) -> Vec<String> {
    let tiles = machine.tiles.map(|Tiles { cores }| format!("\n[tiles]\ncores = {cores}"));
    let tasks = machine.tasks.map(|it| {
        format!(
            "\n[tasks]\nqueue = {}\ncommit_queue = {}\nchildren = {}\ninstruction_cycles = {}\n\
             check_cycles = {}\nallocate_cycles = {}\ngvt_period = {}\nfilter_bits = {}",
            it.queue,
            it.commit_queue,
            it.children,
            it.instruction,
            it.check,
            it.allocate,
            it.gvt_period,
            it.filter_way_bits * TaskUnits::FILTER_WAYS as u32
        )
    });
    let lines = own_prices(machine)
        .map(|(site, price)| format!("\n{} = {}", site.name(), shown_price(price)));
    let lines: String = lines.collect();
    let prices = (!lines.is_empty()).then(|| format!("\n[tasks.prices]{lines}"));
    tiles.into_iter().chain(tasks).chain(prices).collect()
}
