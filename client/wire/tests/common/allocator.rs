//! Counts what a thread has allocated at most, so that tests can bound it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    let now = NOW.get() + bytes;
    NOW.set(now);
    PEAK.set(PEAK.get().max(now));
}

#[expect(unsafe_code, reason = "an allocator is unsafe by nature; this one forwards to the system's")]
// SAFETY: every call is forwarded unchanged; counting touches plain thread-local numbers and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's layout is valid, as `alloc` demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work` and gives the most bytes that it held at any time.
pub(crate) fn peak_bytes(work: impl FnOnce()) -> usize {
    let before = NOW.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before).max(0) as usize
}
