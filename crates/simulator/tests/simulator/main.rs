//! What the simulated machine promises: its memory, its schedules, hosts, disks and logs, and time. Fewer programs are linked
//! sooner, and their tests run side by side.

mod common;
mod crews;
mod disk;
mod disk_in_runs;
mod hosts;
mod memory;
mod memory_models;
mod mixture;
mod running;
mod shared_log;
mod shared_log_looks;
mod tasks;
mod timed;
