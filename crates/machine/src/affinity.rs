//! Which hardware cores a thread runs on. For drivers that measure, and for servers' own threads: the
//! engine never restricts its callers' threads.

use std::io;

/// The cores that the calling thread may run on, ascending; empty where the system cannot tell.
#[must_use]
pub fn allowed_cores() -> Vec<usize> {
    // SAFETY: a set of cores is plain bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the set is ours and has the size that we say; 0 means the calling thread.
    let refused = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0;
    if refused {
        return Vec::new();
    }
    let limit = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    // SAFETY: the numbers are below the size of the set.
    (0..limit).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
}

/// How often the calling thread has left its core, to wait or for another thread's sake; `None` where the system cannot tell.
#[must_use]
pub fn thread_switches() -> Option<u64> {
    // SAFETY: the type is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: the call fills in a value of just this type, which is ours.
    let refused = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0;
    let switches = usage.ru_nvcsw.wrapping_add(usage.ru_nivcsw);
    (!refused).then_some(switches.cast_unsigned())
}

/// Restricts the calling thread, and threads that it starts later, to `cores`.
///
/// # Errors
/// Those of the system, such as none of the cores existing.
pub fn restrict_to_cores(cores: &[usize]) -> io::Result<()> {
    // SAFETY: a set of cores is plain bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    let limit = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    for &core in cores.iter().filter(|&&core| core < limit) {
        // SAFETY: the number is below the size of the set.
        unsafe { libc::CPU_SET(core, &mut set) };
    }
    // SAFETY: the set is ours and has the size that we say; 0 means the calling thread.
    if unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_restricted_to_one_of_its_cores() {
        let all = allowed_cores();
        assert!(!all.is_empty());
        let one = std::thread::spawn(move || {
            restrict_to_cores(&all[..1]).expect("the core exists");
            (allowed_cores(), all[0])
        });
        let (seen, first) = one.join().expect("no panic");
        assert_eq!(seen, [first]);
    }
}
