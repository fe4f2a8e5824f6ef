//! From one stack to another, and the first step onto a new one.
//!
//! All that is live across [`switch`] is on the stack that is left but for its pointer: the compiler is
//! told that every register is overwritten, and keeps what it needs. So there is no table of registers
//! to save, and because the switch is part of the code that waits, not a function that is called and
//! returned from, the processor's predictions of returns stay right: fibers run the same code, and the
//! calls that one is about to return from are mostly those that its predecessor was in.

use core::arch::{asm, naked_asm};

/// Where a stack that does not run was left.
pub(super) type StackPointer = *mut u8;

/// Leaves the running stack, noting in `left` where, and goes on where `to` was left. Returns when
/// somebody goes on here.
///
/// # Safety
/// `to` was noted by this function, or made by [`prepare`], and has not been gone on with since; its
/// stack is used by nobody else. Both belong to this thread.
#[inline(always)]
pub(super) unsafe fn switch(left: *mut StackPointer, to: StackPointer) {
    // SAFETY: the caller's promise. What the compiler cannot be told to save (rbx, rbp) is saved here.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inout("rdi") left => _,
            inout("rsi") to => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// Makes a new stack that ends at `base` ready to be switched to: it then calls `body` with `argument`.
///
/// # Safety
/// `base` is 16-byte aligned, is the end of a stack of at least 64 bytes that nobody uses, and `body`
/// never returns.
pub(super) unsafe fn prepare(
    base: StackPointer,
    body: extern "sysv64" fn(*const ()) -> !,
    argument: *const (),
) -> StackPointer {
    // Popped in this order: where to go on, and what `begin` takes. A walk of the stack ends at
    // the zeros after them.
    let words =
        [begin as *const () as usize, argument.addr(), body as *const () as usize, 0, 0, 0, 0];
    // SAFETY: the words lie within the stack.
    unsafe {
        let place = base.cast::<usize>().sub(words.len());
        for (index, word) in words.into_iter().enumerate() {
            place.add(index).write(word);
        }
        place.cast()
    }
}

/// The first thing on a new stack.
#[unsafe(naked)]
extern "sysv64" fn begin() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "pop rdi",
        "pop rax",
        "xor ebp, ebp",
        "call rax",
        "ud2",
        ".cfi_endproc"
    )
}
