//! What connections may cost: how many there may be, and one budget for the memory of all frames in flight.
//!
//! A frame is charged for what has arrived of it, never for what it announces. When the budget is used up, the partial
//! frame that has stood still longest gives way: its connection is closed and its bytes are free again. So a thousand
//! sockets that stall within a frame cost nothing but themselves.
//!
//! Holds: `used` is the sum of all live [`Charge`]s.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

/// Memory for frames in flight, shared by all connections of a broker.
pub(crate) struct Budget {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    partial: Mutex<Partial>,
}

#[derive(Default)]
struct Partial {
    next_turn: u64,
    /// Connections within a frame, the one without progress for longest first.
    by_progress: BTreeMap<u64, Arc<Eviction>>,
}

/// How a connection within a frame is told to give way.
#[derive(Default)]
pub(crate) struct Eviction {
    told: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Eviction {
    /// Must the connection close?
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    fn tell(&self) {
        self.told.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }
}

/// A connection's place in the order of progress. Dropping it takes the connection out.
pub(crate) struct PartialFrame {
    budget: Arc<Budget>,
    turn: u64,
    pub(crate) eviction: Arc<Eviction>,
}

impl PartialFrame {
    /// Bytes came in: to the end of the queue. `waker` is told if the connection must give way after all.
    pub(crate) fn progressed(&mut self, waker: &Waker) {
        *self.eviction.waker.lock() = Some(waker.clone());
        let mut partial = self.budget.partial.lock();
        partial.by_progress.remove(&self.turn);
        self.turn = partial.next_turn;
        partial.next_turn += 1;
        partial.by_progress.insert(self.turn, Arc::clone(&self.eviction));
    }
}

impl Drop for PartialFrame {
    fn drop(&mut self) {
        self.budget.partial.lock().by_progress.remove(&self.turn);
    }
}

/// Bytes taken from the budget, given back when dropped.
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Charge {
    /// Takes more from the budget, or says that there is no more.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if !self.budget.take(more) {
            return false;
        }
        self.bytes += more;
        true
    }

    /// Gives back what is above `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.budget.used_bytes.fetch_sub(less, Ordering::Relaxed);
        self.bytes -= less;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Budget {
    pub(crate) fn new(limit_bytes: usize) -> Arc<Budget> {
        Arc::new(Budget { limit_bytes, used_bytes: AtomicUsize::new(0), partial: Mutex::default() })
    }

    /// A charge of nothing, to grow.
    pub(crate) fn charge(self: &Arc<Budget>) -> Charge {
        Charge { budget: Arc::clone(self), bytes: 0 }
    }

    /// Enters a connection that is within a frame.
    pub(crate) fn enter(self: &Arc<Budget>, waker: &Waker) -> PartialFrame {
        let mut place = PartialFrame { budget: Arc::clone(self), turn: u64::MAX, eviction: Arc::default() };
        place.progressed(waker);
        place
    }

    /// Bytes in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if used <= self.limit_bytes {
            return true;
        }
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if bytes > 0
            && let Some((_, eviction)) = self.partial.lock().by_progress.pop_first()
        {
            eviction.tell();
        }
        bytes == 0
    }
}

/// How many connections there are, in all and from each address.
pub(crate) struct ConnectionCount {
    max: usize,
    max_per_ip: usize,
    open: Mutex<(usize, BTreeMap<IpAddr, usize>)>,
}

/// One open connection. Dropping it makes room for another.
pub(crate) struct ConnectionPermit {
    count: Arc<ConnectionCount>,
    ip: IpAddr,
}

impl ConnectionCount {
    pub(crate) fn new(max: usize, max_per_ip: usize) -> Arc<ConnectionCount> {
        Arc::new(ConnectionCount { max, max_per_ip, open: Mutex::default() })
    }

    /// Room for one more from `ip`, if there is any.
    pub(crate) fn admit(self: &Arc<ConnectionCount>, ip: IpAddr) -> Option<ConnectionPermit> {
        let mut open = self.open.lock();
        if open.0 >= self.max || open.1.get(&ip).copied().unwrap_or(0) >= self.max_per_ip {
            return None;
        }
        open.0 += 1;
        *open.1.entry(ip).or_default() += 1;
        Some(ConnectionPermit { count: Arc::clone(self), ip })
    }

    /// Open connections.
    pub(crate) fn open(&self) -> usize {
        self.open.lock().0
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.count.open.lock();
        open.0 -= 1;
        if let Some(of_ip) = open.1.get_mut(&self.ip) {
            *of_ip -= 1;
            if *of_ip == 0 {
                open.1.remove(&self.ip);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_without_progress_for_longest_gives_way_first() {
        let budget = Budget::new(100);
        let waker = Waker::noop();
        let mut first = budget.enter(waker);
        let second = budget.enter(waker);
        first.progressed(waker);
        let mut charge = budget.charge();
        assert!(charge.grow_to(100));
        assert!(!charge.grow_to(101), "the budget is used up");
        assert!(second.eviction.is_told(), "the second has waited longest");
        assert!(!first.eviction.is_told());
    }

    #[test]
    fn a_dropped_charge_gives_everything_back() {
        let budget = Budget::new(100);
        let mut charge = budget.charge();
        assert!(charge.grow_to(60));
        charge.shrink_to(10);
        assert_eq!(budget.used_bytes(), 10);
        drop(charge);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn connections_are_counted_by_address() {
        let count = ConnectionCount::new(3, 2);
        let (a, b) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let held = [count.admit(a), count.admit(a)];
        assert!(count.admit(a).is_none(), "two from one address are the most");
        let third = count.admit(b);
        assert!(third.is_some() && count.admit(b).is_none(), "three are the most in all");
        drop(held);
        assert!(count.admit(a).is_some());
    }
}
