//! Time: what an access costs on a described machine, and which core runs when.
//!
//! ```text
//!   a core runs ahead ----> it needs the line's home ----> HOME ----> answer ----> RESUME
//!   (its own caches,        (request travels)              (queue, directory,     (its clock is
//!    computation)                                           copies, memory,        the event's)
//!                                                           the effect)
//! ```
//!
//! - Every core has a clock. A core that runs has the host thread until it needs the home of a line, or
//!   would get ahead of another; then the first event of the wheel is next (`run`).
//! - An access that its core's caches cannot answer is a request to the line's home (`home`). What it
//!   does to memory is done when the home serves it, not when its core resumes: answers travel
//!   differently far, and the order of a line's values is the order in which its home served them.
//! - Requests for one line are served one after the other, each when the one before is over.
//! - An access that the core's own caches answer is performed in the order of time too, but for reads and
//!   writes, which may run ahead by the machine's `slack`. The effects of all accesses are in one order, which
//!   agrees with each core's own: memory is sequentially consistent.
//! - A core that spins sleeps (`spin`), and wakes when it would have seen the change.
//! - What lies between a core and the network is `private`: caches of its own, or a second one that the cores of a
//!   tile share. What a home does with the copies of a line is `coherence`.
//! - Each host is a chip of its own (`chip`), which shares nothing with another.
//! - Cores of a host stop, die and come again while the others go on (`hosts`).
//! - Where there are more threads than cores they share these by slices (`timeshare`, `threads`).
//! - Nothing but the description, the program and the seed decides: times are whole cycles.

mod bandwidth;
mod chip;
mod coherence;
mod core;
mod core_time;
mod directory;
mod home;
mod hosts;
mod network;
mod posted;
mod private;
mod run;
mod spin;
mod table;
mod tags;
mod threads;
mod timeshare;
mod wheel;

pub(crate) use core::{Access, Effect, Post, Tracked, perform};
pub(crate) use core_time::Books;
pub use core_time::CoreTime;
pub(crate) use home::Timed;
pub use home::Timings;
pub(crate) use network::Load;
pub use run::{begin_core_time, end_core_time};
pub(crate) use timeshare::Timeshare;
