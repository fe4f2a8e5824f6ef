//! Tables that are looked up at places without order.
//!
//! At a thousand cores they are larger than what the host's translations of addresses reach with small
//! pages, and each look-up would wait for one.

/// Bytes of a small page.
const PAGE_BYTES: usize = 4096;

/// `count` times `first`, in large pages where the host has them.
pub(super) fn table<T: Clone>(first: T, count: usize) -> Vec<T> {
    let mut table: Vec<T> = Vec::with_capacity(count);
    let start = table.as_ptr().addr();
    let from = start.next_multiple_of(PAGE_BYTES);
    let to = (start + count * size_of::<T>()) / PAGE_BYTES * PAGE_BYTES;
    if from < to {
        let skip = from - start;
        // Nothing but speed depends on whether the host heeds this.
        // SAFETY: the pages lie within the allocation, whose content this leaves as it is.
        unsafe {
            let pages = table.as_mut_ptr().cast::<u8>().add(skip);
            libc::madvise(pages.cast(), to - from, libc::MADV_HUGEPAGE);
        }
    }
    table.resize(count, first);
    table
}
