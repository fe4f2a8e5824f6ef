//! Measured times of this computer's clocks and caches: the system tells none of them.
//!
//! Chases of pointers in a random cycle through more and more memory tell latencies; two threads that
//! hand a line to and fro tell the way from one core's cache to another's.

use chiliad_machine::{LINE_BYTES, allowed_cores, restrict_to_cores};
use chiliad_workload::random::Random;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Instant;

/// Steps of one chase: few milliseconds, which the system seldom takes from a program.
const STEPS: usize = 20_000;
/// Rounds of a measurement, many, as some are disturbed.
const ROUNDS: usize = 200;
/// Atomic additions in a round.
const MODIFICATIONS: u64 = 2_000;
/// Hand-overs of a line.
const HAND_OVERS: u64 = 2_000;
/// Lines of a page that a chase visits before it goes on to another: so many accesses share the look-up of
/// the page's address, and too few follow each other for a prefetcher to guess.
const LINES_AT_ONCE: usize = 8;
/// The lines of a page.
const PAGE_LINES: usize = 64;

/// Cycles per second: of a chain of instructions that take a cycle each.
pub fn hertz() -> f64 {
    const CHAIN: u64 = 500_000;
    let ns = rounds(|| {
        let mut x = black_box(1u64);
        for _ in 0..CHAIN {
            // Two steps that wait for each other, and no shorter way to the same.
            x = (x ^ 0x9e37_79b9).rotate_left(7);
        }
        black_box(x);
        CHAIN as f64 * 2.0
    })[0];
    1e9 / ns
}

/// Nanoseconds of one load that waits for the last, in `bytes` of memory.
pub fn latency_ns(bytes: u64) -> f64 {
    const PER_LINE: usize = LINE_BYTES / size_of::<u32>();
    let order = order((bytes as usize / LINE_BYTES / PAGE_LINES).max(1));
    let mut memory = vec![0u32; order.len() * PER_LINE];
    for (&line, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
        memory[line as usize * PER_LINE] = next;
    }
    let mut at = 0u32;
    let mut chase = || {
        for _ in 0..STEPS {
            at = memory[at as usize * PER_LINE];
        }
        black_box(at);
        STEPS as f64
    };
    // Once round, so that what fits into a cache is there.
    for _ in 0..order.len().min(1 << 20) / STEPS {
        chase();
    }
    // The median: some of what is too much for a cache is there all the same.
    rounds(chase)[ROUNDS / 2]
}

/// All lines of so many pages, each once, some of a page at a time.
fn order(pages: usize) -> Vec<u32> {
    let mut random = Random::new(1, 0);
    let mut within: Vec<u32> = (0..PAGE_LINES as u32).collect();
    random.shuffle(&mut within);
    let mut all: Vec<u32> = (0..pages as u32).collect();
    let mut order = Vec::with_capacity(pages * PAGE_LINES);
    for lines in within.chunks(LINES_AT_ONCE) {
        random.shuffle(&mut all);
        for page in &all {
            order.extend(lines.iter().map(|line| page * PAGE_LINES as u32 + line));
        }
    }
    order
}

/// Nanoseconds from one core's write until another core, which waits for it, has seen it; `None` where
/// the process has one core only, or gets no threads.
pub fn hand_over_ns() -> Option<f64> {
    let cores = allowed_cores();
    let [one, other] = *cores.get(..2)? else { return None };
    let word = Line(AtomicU64::new(0));
    // The other thread did not start.
    let alone = AtomicBool::new(false);
    let play = &|core: usize, turn: u64| {
        // Where it is refused the system places the threads, on two cores if it is idle.
        let _ = restrict_to_cores(&[core]);
        for round in 0..HAND_OVERS {
            let mine = 2 * round + turn;
            loop {
                // Acquire pairs with the release below, of the other thread.
                match word.0.load(Ordering::Acquire) {
                    seen if seen == mine => break,
                    _ if alone.load(Ordering::Relaxed) => return,
                    _ => std::hint::spin_loop(),
                }
            }
            // Release pairs with the acquire above, of the other thread.
            word.0.store(mine + 1, Ordering::Release);
        }
    };
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        word.0.store(0, Ordering::Relaxed);
        let start = Instant::now();
        let both = std::thread::scope(|scope| {
            [(one, 0), (other, 1)].into_iter().all(|(core, turn)| {
                let begun = Builder::new().spawn_scoped(scope, move || play(core, turn));
                if begun.is_err() {
                    alone.store(true, Ordering::Relaxed);
                }
                begun.is_ok()
            })
        });
        if !both {
            return None;
        }
        least = least.min(start.elapsed().as_nanos() as f64 / (2 * HAND_OVERS) as f64);
    }
    Some(least)
}

/// Nanoseconds of an atomic addition to a line in the core's own cache.
pub fn modify_ns() -> f64 {
    let word = Line(AtomicU64::new(0));
    let run = || {
        for _ in 0..MODIFICATIONS {
            word.0.fetch_add(1, Ordering::Relaxed);
        }
        MODIFICATIONS as f64
    };
    rounds(run)[0]
}

#[repr(align(128))]
struct Line(AtomicU64);

/// Nanoseconds of a step of `run`, which says how many it has made, in each round, the least first.
fn rounds(mut run: impl FnMut() -> f64) -> Vec<f64> {
    let round = |_| {
        let start = Instant::now();
        let steps = run();
        start.elapsed().as_nanos() as f64 / steps
    };
    let mut all: Vec<f64> = (0..ROUNDS).map(round).collect();
    all.sort_by(f64::total_cmp);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_visits_every_line_once() {
        let mut order = order(5);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..5 * PAGE_LINES as u32));
    }
}
