//! Being told to stop: an interrupt from the terminal, or SIGTERM from whoever started us.

use tokio::signal::unix::{SignalKind, signal};

/// Comes back when the process is told to stop.
pub(crate) async fn stopped() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
