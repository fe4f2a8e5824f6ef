//! What this computer's clocks and caches take, measured: nothing of it is told by the system.
//!
//! Chases of pointers in a random cycle through more and more memory tell latencies; two threads that
//! hand a line to and fro tell the way from one core's cache to another's.

use chiliad_machine::{LINE_BYTES, allowed_cores, restrict_to_cores};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Steps of one chase: tens of milliseconds even where each goes to memory.
const STEPS: usize = 2_000_000;
/// Rounds of a measurement; the quickest is the one that was disturbed least.
const ROUNDS: usize = 5;
/// Hand-overs of a line.
const HAND_OVERS: u64 = 200_000;

/// Cycles per second: of a chain of instructions that take a cycle each.
pub fn hertz() -> f64 {
    const CHAIN: u64 = 50_000_000;
    let ns = quickest(|| {
        let mut x = black_box(1u64);
        for _ in 0..CHAIN {
            // Two steps that wait for each other, and no shorter way to the same.
            x = (x ^ 0x9e37_79b9).rotate_left(7);
        }
        black_box(x);
        CHAIN as f64 * 2.0
    });
    1e9 / ns
}

/// Nanoseconds of one load that waits for the last, in `bytes` of memory.
pub fn latency_ns(bytes: u64) -> f64 {
    let lines = (bytes as usize / LINE_BYTES).max(2);
    const PER_LINE: usize = LINE_BYTES / 4;
    // One cycle through all lines in random order (Sattolo).
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for last in (1..lines).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((u128::from(state) * last as u128) >> 64) as usize;
        order.swap(last, other);
    }
    let mut memory = vec![0u32; lines * PER_LINE];
    for (line, next) in order.into_iter().enumerate() {
        memory[line * PER_LINE] = next;
    }
    let mut at = 0u32;
    quickest(|| {
        for _ in 0..STEPS {
            at = memory[at as usize * PER_LINE];
        }
        black_box(at);
        STEPS as f64
    })
}

/// Nanoseconds from one core's write until another core, which waits for it, has seen it; `None` where
/// the process has one core only.
pub fn hand_over_ns() -> Option<f64> {
    let cores = allowed_cores();
    let [one, other] = *cores.get(..2)? else { return None };
    let word = Line(AtomicU64::new(0));
    let play = |core: usize, turn: u64| {
        // Where it is refused the system places the threads, on two cores if it is idle.
        let _ = restrict_to_cores(&[core]);
        for round in 0..HAND_OVERS {
            let mine = 2 * round + turn;
            // Acquire and release pair with each other on either side.
            while word.0.load(Ordering::Acquire) != mine {
                std::hint::spin_loop();
            }
            word.0.store(mine + 1, Ordering::Release);
        }
    };
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        word.0.store(0, Ordering::Relaxed);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| play(one, 0));
            scope.spawn(|| play(other, 1));
        });
        least = least.min(start.elapsed().as_nanos() as f64 / (2 * HAND_OVERS) as f64);
    }
    Some(least)
}

#[repr(align(128))]
struct Line(AtomicU64);

/// Nanoseconds of a step of `run`, which says how many it has made.
fn quickest(mut run: impl FnMut() -> f64) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let steps = run();
        least = least.min(start.elapsed().as_nanos() as f64 / steps);
    }
    least
}
