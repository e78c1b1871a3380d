//! Parts of a broker that are put together from what lies below the API.

use std::sync::Arc;

use ballast_core::controller::{Config as ControllerConfig, Controller};
use ballast_core::settings::SettingError;

use super::super::World;
use super::Base;
use crate::drive::coordinator::{Coordinators, Surroundings};
use crate::drive::fetcher::{self, Fetchers};

/// Groups are led from the first entry on that registers this life of the broker.
pub(super) fn coordinators(base: &Base, world: &World) -> Arc<Coordinators> {
    Arc::new(Coordinators::new(Surroundings {
        store: Arc::clone(&base.store),
        settings: Arc::clone(&base.settings),
        clock: Arc::clone(&world.clock),
        ticks: base.ticks,
    }))
}

/// Followers fetch from the first entry on that registers this life of the broker.
pub(super) fn fetchers(base: &Base, world: &World) -> Arc<Fetchers> {
    Arc::new(Fetchers::new(fetcher::Surroundings {
        me: base.id,
        incarnation: base.incarnation,
        store: Arc::clone(&base.store),
        settings: Arc::clone(&base.settings),
        transport: Arc::clone(&world.transport),
        clock: Arc::clone(&world.clock),
        ticks: base.ticks,
    }))
}

/// What decides for the cluster, where this node leads the quorum.
pub(super) fn new_controller(base: &Base, world: &World) -> Result<Controller, SettingError> {
    let config = ControllerConfig {
        node: base.id,
        statics: base.settings.statics().clone(),
        bootstrap_features: crate::features::bootstrap(),
        supported_features: crate::features::ranges(),
    };
    let entropy = Arc::clone(&world.entropy);
    let random = move || {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        bytes
    };
    Controller::new(config, Box::new(random))
}
