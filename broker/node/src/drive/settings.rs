//! The broker's settings as they are in force now: what it was started with, under what the metadata says since.
//!
//! ```text
//! metadata entry -> publisher -> LiveSettings::apply -> now(), watch()      before the store and the handlers see the entry
//! ```
//! Holds: whoever got the answer to a change finds it in force. Settings that are read at start only (`Scope::Static`) have
//! the value of the start for as long as the process lives.
//!
//! How a part of the broker follows its settings: read `now()` where they are used, or keep a `watch()`.

use std::sync::Arc;

use ballast_core::image::Image;
use ballast_core::settings::{BrokerSettings, Layers, SettingError, Statics};
use ballast_wire::BrokerId;
use tokio::sync::watch;

/// The settings of this broker, kept up to date by the publisher.
pub(crate) struct LiveSettings {
    me: BrokerId,
    statics: Arc<Statics>,
    current: watch::Sender<Arc<BrokerSettings>>,
}

impl LiveSettings {
    /// Settings that no metadata has changed yet.
    ///
    /// # Errors
    /// Settings that contradict each other.
    pub(crate) fn new(me: BrokerId, statics: Arc<Statics>) -> Result<LiveSettings, SettingError> {
        let layers = Layers { broker: None, cluster: None, statics: &statics };
        let settings = BrokerSettings::resolve(&layers)?;
        Ok(LiveSettings { me, current: watch::Sender::new(Arc::new(settings)), statics })
    }

    /// Whose they are.
    pub(crate) fn broker(&self) -> BrokerId {
        self.me
    }

    /// As they are in force at this moment.
    pub(crate) fn now(&self) -> Arc<BrokerSettings> {
        Arc::clone(&self.current.borrow())
    }

    /// Tells of every change; the value is the one in force.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<BrokerSettings>> {
        self.current.subscribe()
    }

    /// What the node was started with.
    pub(crate) fn statics(&self) -> &Statics {
        &self.statics
    }

    /// The layers of this broker as `image` has them.
    pub(crate) fn layers<'a>(&'a self, image: &'a Image) -> Layers<'a> {
        Layers::of(image, Some(self.me), &self.statics)
    }

    /// Takes in what `image` says.
    pub(crate) fn apply(&self, image: &Image) {
        let newer = match BrokerSettings::resolve(&self.layers(image)) {
            Ok(settings) => Arc::new(settings),
            // Each value was judged when it was set; together they can still be impossible.
            Err(error) => {
                tracing::error!(%error, "the dynamic settings contradict each other; those before stay in force");
                return;
            }
        };
        self.current.send_if_modified(|current| {
            let changed = *current != newer;
            if changed {
                *current = newer;
            }
            changed
        });
    }
}

#[cfg(test)]
mod tests {
    use ballast_core::image::{ConfigResource, Record};

    use super::*;

    fn live() -> LiveSettings {
        LiveSettings::new(1, Arc::default()).expect("the defaults are good")
    }

    fn set(image: &mut Image, resource: ConfigResource, key: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        image.apply(1, &[Record::Config { resource, key: key.to_owned(), value }]);
    }

    #[test]
    fn the_brokers_own_value_wins_over_the_clusters_and_both_can_go() {
        let (live, mut image) = (live(), Image::default());
        let mut changes = live.watch();
        set(&mut image, ConfigResource::cluster(), "max.connections", Some("7"));
        live.apply(&image);
        assert_eq!(live.now().network.max_connections, 7);
        set(&mut image, ConfigResource::broker(1), "max.connections", Some("5"));
        set(&mut image, ConfigResource::broker(2), "max.connections", Some("3"));
        live.apply(&image);
        assert_eq!(changes.borrow_and_update().network.max_connections, 5);
        live.apply(&image);
        assert!(!changes.has_changed().expect("it lives"), "nothing is new");
        set(&mut image, ConfigResource::broker(1), "max.connections", None);
        set(&mut image, ConfigResource::cluster(), "max.connections", None);
        live.apply(&image);
        assert_eq!(live.now().network.max_connections, i32::MAX as usize);
    }
}
