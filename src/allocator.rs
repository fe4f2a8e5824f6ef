//! The allocators that a native run can be measured with (thousand-cores.txt 4.1.1). Only the engine's
//! slots and its transactions' private memory come from them; all else is the process's own.

use crate::args::AllocatorFlag;
use chiliad_machine::Allocator;
use mimalloc::MiMalloc;
use std::alloc::System;
use tikv_jemallocator::Jemalloc;

static SYSTEM: Allocator = Allocator::new("system", &System);
static MIMALLOC: Allocator = Allocator::new("mimalloc", &MiMalloc);
static JEMALLOC: Allocator = Allocator::new("jemalloc", &Jemalloc);

/// The allocator of this name; `None`: pools.
pub fn named(flag: AllocatorFlag) -> Option<&'static Allocator> {
    match flag {
        AllocatorFlag::Pool => None,
        AllocatorFlag::System => Some(&SYSTEM),
        AllocatorFlag::Mimalloc => Some(&MIMALLOC),
        AllocatorFlag::Jemalloc => Some(&JEMALLOC),
    }
}
