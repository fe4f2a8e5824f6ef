//! The heap and the indexes against plain models, on real threads and on simulated cores. What loom explores is a program of
//! its own.

mod crowd;
mod hash;
mod hash_common;
mod hash_simulated;
mod hash_threads;
mod heap;
mod ordered;
mod ordered_common;
mod ordered_simulated;
mod ordered_threads;
mod schedules;
mod sparse;
