//! A broker's end, in the reverse order of its start.

use std::time::Duration;

use tokio::time::timeout;

use super::Broker;
use crate::drive::registration::Ended;

/// How long connections may take to get their last answers out.
const CONNECTIONS_MAX: Duration = Duration::from_secs(5);

impl Broker {
    /// Stops in order: hands over what it leads, answers what it has started, closes its logs and marks them clean.
    pub async fn stop(self) {
        let Broker { node, quorum, tasks, .. } = self;
        // Receivers may be gone already: the membership may have ended by itself.
        tasks.leave.send_replace(true);
        let ended = match tasks.membership {
            Some(membership) => membership.await,
            None => Ok(Ended::Stopped { epoch: -1 }),
        };
        let epoch = match ended {
            Ok(Ended::Stopped { epoch }) => epoch,
            Ok(Ended::GaveUp(reason)) => {
                tracing::warn!(reason, "stopping a broker that was never let in");
                -1
            }
            Err(error) => {
                tracing::error!(%error, "the membership ended unexpectedly");
                -1
            }
        };
        node.fetchers.close().await;
        tasks.close.send_replace(true);
        // Joins that wait for other members would keep their connections.
        node.coordinators.close();
        for mut listener in tasks.connections {
            if timeout(CONNECTIONS_MAX, &mut listener).await.is_err() {
                tracing::warn!("connections are cut off: they did not take their answers in time");
                listener.abort();
            }
        }
        node.store.close().await;
        for task in tasks.background {
            task.abort();
        }
        match quorum.shutdown().await {
            Ok(()) => node.store.mark_clean(epoch).await,
            Err(error) => tracing::error!(%error, "the metadata was not closed cleanly: the next start recovers"),
        }
    }

    /// Ends at once, as a crash would: nothing is flushed, nothing is marked.
    pub fn kill(self) {
        let tasks = self.tasks;
        self.node.fetchers.abort();
        self.node.coordinators.close();
        tasks.membership.inspect(tokio::task::JoinHandle::abort);
        tasks.connections.iter().chain(&tasks.background).for_each(tokio::task::JoinHandle::abort);
    }
}
