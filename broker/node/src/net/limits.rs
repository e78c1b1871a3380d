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

use ballast_core::settings::{BrokerSettings, NetworkSettings};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::pace::Pace;

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

/// How many connections there are, in all, from each address and on each listener, and how fast they come.
#[derive(Default)]
pub(crate) struct ConnectionCount {
    open: Mutex<Open>,
    pace: Pace,
}

#[derive(Default)]
struct Open {
    all: usize,
    of_ip: BTreeMap<IpAddr, usize>,
    of_listener: BTreeMap<Arc<str>, usize>,
}

/// One of its kind has gone.
fn less<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// How many connections there may be, for one that comes now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// `max.connections`.
    pub(crate) all: usize,
    /// The same with the listener's prefix.
    pub(crate) of_listener: usize,
    /// `max.connections.per.ip`, or what `max.connections.per.ip.overrides` says of the address.
    pub(crate) of_ip: usize,
}

impl ConnectionLimits {
    /// The limits for a connection from `ip` on a listener.
    pub(crate) fn of(settings: &NetworkSettings, listener: &str, ip: IpAddr) -> ConnectionLimits {
        let of_listener = settings.max_connections_of_listeners.get(listener).copied().unwrap_or(usize::MAX);
        let of_ip = settings.max_connections_per_ip_overrides.get(&ip.to_canonical());
        let of_ip = of_ip.copied().unwrap_or(settings.max_connections_per_ip);
        ConnectionLimits { all: settings.max_connections, of_listener, of_ip }
    }
}

/// One open connection. Dropping it makes room for another.
pub(crate) struct ConnectionPermit {
    count: Arc<ConnectionCount>,
    listener: Arc<str>,
    ip: IpAddr,
}

impl ConnectionCount {
    pub(crate) fn new() -> Arc<ConnectionCount> {
        Arc::default()
    }

    /// Room for one more from `ip` on `listener`.
    ///
    /// # Errors
    /// The name of the setting that leaves no room.
    pub(crate) fn admit(
        self: &Arc<ConnectionCount>,
        listener: &Arc<str>,
        ip: IpAddr,
        limits: ConnectionLimits,
    ) -> Result<ConnectionPermit, &'static str> {
        self.pace.count(Instant::now());
        let mut open = self.open.lock();
        if open.all >= limits.all {
            return Err("max.connections");
        }
        if open.of_listener.get(listener).copied().unwrap_or(0) >= limits.of_listener {
            return Err("the listener's max.connections");
        }
        if open.of_ip.get(&ip).copied().unwrap_or(0) >= limits.of_ip {
            return Err("max.connections.per.ip");
        }
        open.all += 1;
        *open.of_listener.entry(Arc::clone(listener)).or_default() += 1;
        *open.of_ip.entry(ip).or_default() += 1;
        Ok(ConnectionPermit { count: Arc::clone(self), listener: Arc::clone(listener), ip })
    }

    /// Waits while `max.connection.creation.rate` is used up. Dropping the future changes nothing.
    pub(crate) async fn wait_for_turn(&self, settings: &mut watch::Receiver<Arc<BrokerSettings>>) {
        loop {
            let rate = settings.borrow_and_update().network.max_connection_creation_rate;
            let Some(until) = self.pace.closed_until(Instant::now(), rate) else { return };
            tokio::select! {
                biased;
                // The sender lives as long as the broker; without it the wait just ends by the clock.
                Ok(()) = settings.changed() => {}
                () = sleep_until(until) => {}
            }
        }
    }

    /// Open connections.
    pub(crate) fn open(&self) -> usize {
        self.open.lock().all
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.count.open.lock();
        open.all -= 1;
        less(&mut open.of_listener, &self.listener);
        less(&mut open.of_ip, &self.ip);
    }
}

#[cfg(test)]
mod tests {
    use ballast_core::settings::{Layers, Statics};

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
        let count = ConnectionCount::new();
        let (a, b) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let limits = ConnectionLimits { all: 3, of_listener: 9, of_ip: 2 };
        let listener: Arc<str> = "PLAINTEXT".into();
        let admit = |ip, limits| count.admit(&listener, ip, limits);
        let held = [admit(a, limits), admit(a, limits)];
        assert_eq!(admit(a, limits).err(), Some("max.connections.per.ip"), "two from one address are the most");
        let third = admit(b, limits);
        assert!(third.is_ok());
        assert_eq!(admit(b, limits).err(), Some("max.connections"), "three are the most in all");
        assert!(admit(b, ConnectionLimits { all: 4, ..limits }).is_ok(), "a higher limit is in force at once");
        drop(held);
        assert!(admit(a, limits).is_ok());
    }

    #[test]
    fn a_listener_of_its_own_limit_leaves_room_on_the_others() {
        let statics = Statics::merge([("listener.name.inside.max.connections".to_owned(), "1".to_owned())]);
        let (statics, _) = statics.expect("the setting is good");
        let layers = Layers { broker: None, cluster: None, statics: &statics };
        let network = BrokerSettings::resolve(&layers).expect("the settings are good").network;
        let (count, ip) = (ConnectionCount::new(), IpAddr::from([127, 0, 0, 1]));
        let admit = |listener: &str| count.admit(&listener.into(), ip, ConnectionLimits::of(&network, listener, ip));
        let held = admit("INSIDE");
        assert_eq!(admit("INSIDE").err(), Some("the listener's max.connections"));
        assert!(admit("OUTSIDE").is_ok() && admit("OUTSIDE").is_ok());
        drop(held);
        assert!(admit("INSIDE").is_ok());
    }

    #[test]
    fn an_address_of_its_own_limit_is_known_in_either_form() {
        let statics = Statics::merge([("max.connections.per.ip.overrides".to_owned(), "127.0.0.1:5".to_owned())]);
        let (statics, _) = statics.expect("the setting is good");
        let layers = Layers { broker: None, cluster: None, statics: &statics };
        let network = BrokerSettings::resolve(&layers).expect("the settings are good").network;
        for (ip, limit) in [("127.0.0.1", 5), ("::ffff:127.0.0.1", 5), ("127.0.0.2", i32::MAX as usize)] {
            let limits = ConnectionLimits::of(&network, "PLAINTEXT", ip.parse().expect("an address"));
            assert_eq!(limits.of_ip, limit, "{ip}");
        }
    }
}
