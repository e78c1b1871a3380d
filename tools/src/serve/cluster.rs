//! `ballast serve --ephemeral --cluster N`: brokers with a quorum of their own, in one process, for tests and trials.
//!
//! The first broker listens where one alone would, the others on the ports behind it; port 0 gives each a free one. So does
//! HTTP. Everything else that is set holds for every broker.

use std::net::SocketAddr;

use ballast_broker::embed::Cluster;

use super::{Serve, announce, listen, settings, write_ready_file};
use crate::error::Failure;

/// Settings that each broker has for itself.
const OF_ONE: [&str; 6] =
    ["listeners", "advertised.listeners", "node.id", "broker.id", "ballast.http.listener", "log.dirs"];

/// Runs it until a signal asks to stop.
pub(super) async fn serve(arguments: &Serve, brokers: u16, resolved: settings::Resolved) -> Result<(), Failure> {
    let settings::Resolved { statics, http, temporary, .. } = resolved;
    let first = settings::first_listener(&statics)?;
    let parent = temporary.as_ref().map(|folder| folder.path().to_owned());
    let mut builder = Cluster::builder().brokers(usize::from(brokers)).each(move |id, builder| {
        let offset = u16::try_from(id - 1).unwrap_or(u16::MAX);
        let (host, port) = &first;
        let builder = builder.listen(&format!("{host}:{}", behind(*port, offset)));
        let builder = match http {
            Some(at) => builder.http(SocketAddr::new(at.ip(), behind(at.port(), offset))),
            None => builder,
        };
        match &parent {
            Some(parent) => builder.temp_dir(parent),
            None => builder,
        }
    });
    for (name, value) in statics.iter().filter(|(name, _)| !OF_ONE.contains(name)) {
        builder = builder.setting(name, value);
    }
    let failure = |error: ballast_broker::embed::Error| Failure::new(error.to_string());
    let cluster = builder.start().await.map_err(failure)?;
    let kafka = cluster.bootstrap();
    let http: Vec<String> = cluster.brokers().iter().filter_map(|broker| Some(broker.http()?.to_string())).collect();
    let http = (!http.is_empty()).then(|| http.join(","));
    announce(&kafka, http.as_deref(), &[]);
    if let Some(path) = &arguments.ready_file {
        write_ready_file(path, &kafka, http.as_deref(), None)?;
    }
    asked_to_stop().await?;
    tracing::info!("stopping");
    // Nothing of it is to be kept: brokers and folders go at once.
    drop(cluster);
    drop(temporary);
    Ok(())
}

/// The port `offset` behind the first; a free one stays a free one.
fn behind(port: u16, offset: u16) -> u16 {
    if port == 0 { 0 } else { port.saturating_add(offset) }
}

async fn asked_to_stop() -> Result<(), Failure> {
    use tokio::signal::unix::SignalKind;
    let (mut term, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::select! {
        biased;
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
