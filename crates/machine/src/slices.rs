//! How a thread shares its core with others. For servers' own threads: the engine never changes its callers'.

use std::io;
use std::time::Duration;

/// For the calls below, which take words: the calling thread, and no flags.
const THIS_THREAD: libc::c_long = 0;
const NO_FLAGS: libc::c_long = 0;

/// Has the calling thread wait its turn when it is woken while another one has its core, and get slices of this length:
/// of threads that wait for a core, the one with the shorter slice has it sooner, and for less long. Its share of the core
/// and its priority stay as they are.
///
/// The first is Linux's policy `SCHED_BATCH`. Slices are of 0.1 to 100 ms, of which Linux takes the nearest (6.12 and
/// later; earlier ones ignore the length). A thread under another policy than those of time-sharing stays as it is.
///
/// # Errors
/// Those of the system, such as a sandbox that forbids the call.
pub fn set_slice(slice: Duration) -> io::Result<()> {
    let mut attributes = attributes()?;
    if ![libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&attributes.sched_policy.cast_signed()) {
        return Ok(());
    }
    attributes.sched_policy = libc::SCHED_BATCH.cast_unsigned();
    attributes.sched_runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
    let call = libc::SYS_sched_setattr;
    // SAFETY: the attributes are ours and tell their own size.
    let refused = unsafe { libc::syscall(call, THIS_THREAD, &raw const attributes, NO_FLAGS) };
    if refused != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The calling thread's policy, priority and slice.
fn attributes() -> io::Result<libc::sched_attr> {
    // SAFETY: the type is plain numbers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { core::mem::zeroed() };
    let (call, size) = (libc::SYS_sched_getattr, size_of_val(&attributes));
    // SAFETY: the attributes are ours and have the size that we say.
    let refused = unsafe { libc::syscall(call, THIS_THREAD, &raw mut attributes, size, NO_FLAGS) };
    if refused != 0 { Err(io::Error::last_os_error()) } else { Ok(attributes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_micros(400);

    /// The attributes of a new thread before and after it has asked for [`SLICE`].
    fn asked() -> io::Result<[libc::sched_attr; 2]> {
        let thread = std::thread::spawn(|| {
            let before = attributes()?;
            set_slice(SLICE)?;
            Ok([before, attributes()?])
        });
        thread.join().expect("no panic")
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no such call")]
    fn a_thread_gets_its_slice_and_keeps_all_else() {
        let [before, after] = match asked() {
            Ok(told) => told,
            Err(why) => return println!("skipped: the system says: {why}"),
        };
        if before.sched_policy.cast_signed() != libc::SCHED_OTHER {
            return println!("skipped: started under policy {}", before.sched_policy);
        }
        assert_eq!(after.sched_policy.cast_signed(), libc::SCHED_BATCH);
        assert_eq!(after.sched_nice, before.sched_nice);
        assert_eq!(after.sched_flags, before.sched_flags);
        // Kernels that have no slices for threads tell none.
        if before.sched_runtime != 0 {
            assert_eq!(Duration::from_nanos(after.sched_runtime), SLICE);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no such call")]
    fn other_threads_stay_as_they_are() {
        let before = match attributes() {
            Ok(told) => told,
            Err(why) => return println!("skipped: the system says: {why}"),
        };
        _ = asked();
        let after = attributes().expect("it was told before");
        assert_eq!(after.sched_policy, before.sched_policy);
        assert_eq!(after.sched_runtime, before.sched_runtime);
    }
}
