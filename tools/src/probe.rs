//! Does a node answer? Asked with little patience: what a command asks is asked again until its whole time is over.

use std::time::Duration;

use ballast_client::{ClientError, Cluster, Connection};

/// How long a node may take to answer before it counts as one that does not.
pub(crate) const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Does the node at `host:port` answer, within two seconds? If not, why.
pub(crate) async fn answers(cluster: &Cluster, (host, port): (&str, i32)) -> Result<(), String> {
    let Ok(port) = u16::try_from(port) else { return Err(format!("port {port} is none")) };
    let options =
        ballast_client::ConnectionOptions { setup_timeout: ANSWERS_WITHIN, ..cluster.config().connection.clone() };
    match Connection::open(&*cluster.world().transport, host, port, &options).await {
        Ok(_) => Ok(()),
        Err(ClientError::Connect { reason, .. } | ClientError::Disconnected { reason, .. }) => Err(reason),
        Err(other) => Err(other.to_string()),
    }
}
