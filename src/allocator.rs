//! The allocators that a run can be measured with (Yu, 2015, 4.1.1). Only the engine's
//! slots and its transactions' private memory come from them; all else is the process's own.

use crate::args::AllocatorFlag;
use chiliad_engine::Supply;
use chiliad_machine::Allocator;
use mimalloc::MiMalloc;
use std::alloc::System;
use tikv_jemallocator::Jemalloc;

static SYSTEM: Allocator = Allocator::new("system", &System);
static MIMALLOC: Allocator = Allocator::new("mimalloc", &MiMalloc);
static JEMALLOC: Allocator = Allocator::new("jemalloc", &Jemalloc);

/// Where memory comes from under this name.
pub fn named(flag: AllocatorFlag) -> Supply {
    match flag {
        AllocatorFlag::Pool => Supply::Pools,
        AllocatorFlag::Fixed => Supply::FixedPools,
        AllocatorFlag::System => Supply::Single(&SYSTEM),
        AllocatorFlag::Mimalloc => Supply::Single(&MIMALLOC),
        AllocatorFlag::Jemalloc => Supply::Single(&JEMALLOC),
    }
}
