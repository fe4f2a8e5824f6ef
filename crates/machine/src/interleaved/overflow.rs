//! A stack that is used up ends the process, with a line that says which.
//!
//! Below each stack is a page that nobody may touch, so nothing is overwritten. The processor's fault
//! would end the process without a word: the system's handler knows threads' stacks alone. Ours, which
//! is installed with the first group, looks at faults in pages below fibers' stacks and leaves all
//! others to the handler before it. Unwinding is no way out: there is no stack left to unwind on.

use core::mem::MaybeUninit;
use core::ptr;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

thread_local! {
    /// The pages below the stacks of the thread's fibers.
    static GUARDS: RefCell<Vec<Range<usize>>> = const { RefCell::new(Vec::new()) };
}

/// The pages below some fibers' stacks, watched until this is dropped.
pub(super) struct Watched(());

/// Watches the pages below the stacks of the calling thread's fibers.
pub(super) fn watch(guards: Vec<Range<usize>>) -> Watched {
    // A thread that ends has no such list any more; its faults end the process without a word.
    let _ = GUARDS.try_with(|watched| watched.replace(guards));
    Watched(())
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = GUARDS.try_with(|watched| watched.borrow_mut().clear());
    }
}

const MESSAGE: &str = "chiliad: a closure has used up its stack of 512 KiB: interleaved transactions \
                       run on small stacks; recurse less deeply, or run it without its siblings\n";

/// The previous handler of faults.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once for the process.
pub(super) fn report_from_now_on() {
    BEFORE.get_or_init(|| {
        let mut before = MaybeUninit::zeroed();
        // SAFETY: the handler does what a handler may; the structures are valid, all zeros being
        // an empty mask and no flags.
        unsafe {
            let mut ours: libc::sigaction = MaybeUninit::zeroed().assume_init();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGSEGV, &raw const ours, before.as_mut_ptr());
            before.assume_init()
        }
    });
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the system passes what has happened.
    let place = unsafe { (*info).si_addr() }.addr();
    let ours = GUARDS.try_with(|guards| {
        guards.try_borrow().is_ok_and(|guards| guards.iter().any(|page| page.contains(&place)))
    });
    if ours == Ok(true) {
        // SAFETY: both may be called by a handler.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::abort();
        }
    }
    let before = BEFORE.get().filter(|before| {
        before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN
    });
    match before {
        Some(before) => {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: it was the handler of this signal; one without `SA_SIGINFO` takes the first
            // argument alone, which is how it is called then too.
            let handler: Handler = unsafe { core::mem::transmute(before.sa_sigaction) };
            handler(signal, info, context);
        }
        // The fault comes again when we return, and ends the process.
        // SAFETY: restores the default.
        None => unsafe {
            let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        },
    }
}
