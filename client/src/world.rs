//! What the client asks of the world, and what it makes of it.

use std::sync::Arc;

use ballast_net::{Clock, Entropy, OsEntropy, SystemClock, TcpTransport, Transport};

/// The seams: connections, wall time, randomness.
#[derive(Clone)]
pub struct World {
    /// Where connections come from.
    pub transport: Arc<dyn Transport>,
    /// The time of day, for timestamps of records.
    pub clock: Arc<dyn Clock>,
    /// For partitioners, jitter, and the choice of brokers.
    pub entropy: Arc<dyn Entropy>,
}

impl World {
    /// TCP, the system's clock and the system's randomness.
    #[must_use]
    pub fn real() -> World {
        World { transport: Arc::new(TcpTransport), clock: Arc::new(SystemClock), entropy: Arc::new(OsEntropy) }
    }
}
