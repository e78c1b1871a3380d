//! One life of a simulated process, and how its last moment is found.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::net::Sockets;
use crate::disk::SimDisk;

/// Is the process alive? It dies with its disk's generation: one that may not write may not speak either.
#[derive(Clone)]
pub struct Life {
    disk: Option<SimDisk>,
    over: Arc<AtomicBool>,
    sockets: Sockets,
}

impl Life {
    /// The life of a process that needs no disk.
    #[must_use]
    pub fn without_disk() -> Life {
        Life { disk: None, over: Arc::default(), sockets: Sockets::default() }
    }

    /// The life of a process that keeps its files on this generation of `disk`.
    #[must_use]
    pub fn on(disk: SimDisk) -> Life {
        Life { disk: Some(disk), over: Arc::default(), sockets: Sockets::default() }
    }

    /// Its connections.
    pub(super) fn sockets(&self) -> &Sockets {
        &self.sockets
    }

    /// Has it ended?
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.disk.as_ref().is_some_and(SimDisk::is_dead)
    }

    /// Ends it.
    pub fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(disk) = &self.disk {
            disk.kill();
        }
    }

    /// An error once it has ended.
    ///
    /// # Errors
    /// `BrokenPipe`.
    pub fn must_last(&self) -> io::Result<()> {
        if self.is_over() { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}
