//! The allocators that a run can be measured with (Yu, 2015, 4.1.1). Only the engine's
//! slots and its transactions' private memory come from them; all else is the process's own.
//!
//! Those of other libraries are in C and take a fifth of the time in which the command is built. They are compiled in
//! with the feature `allocators`.

use crate::args::AllocatorFlag;
use chiliad_engine::Supply;
use chiliad_host::Stop;
use chiliad_machine::Allocator;
use std::alloc::System;

static SYSTEM: Allocator = Allocator::new("system", &System);

/// Where memory comes from under this name.
///
/// # Errors
/// When the allocator is not compiled in.
pub fn named(flag: AllocatorFlag) -> Result<Supply, Stop> {
    match flag {
        AllocatorFlag::Pool => Ok(Supply::Pools),
        AllocatorFlag::Fixed => Ok(Supply::FixedPools),
        AllocatorFlag::System => Ok(Supply::Single(&SYSTEM)),
        AllocatorFlag::Mimalloc => of_library("mimalloc"),
        AllocatorFlag::Jemalloc => of_library("jemalloc"),
    }
}

#[cfg(feature = "allocators")]
fn of_library(name: &str) -> Result<Supply, Stop> {
    static MIMALLOC: Allocator = Allocator::new("mimalloc", &mimalloc::MiMalloc);
    static JEMALLOC: Allocator = Allocator::new("jemalloc", &tikv_jemallocator::Jemalloc);
    Ok(Supply::Single(if name == MIMALLOC.name() { &MIMALLOC } else { &JEMALLOC }))
}

#[cfg(not(feature = "allocators"))]
fn of_library(name: &str) -> Result<Supply, Stop> {
    let problem = format!(
        "`{name}` is not compiled in (cargo build --release --features allocators); pool, fixed and system are \
         accepted"
    );
    Err(Stop::bad("--allocator", problem))
}
