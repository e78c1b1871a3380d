//! UpdateFeatures: which levels the cluster works at from now on. All updates of a request are made, or none.

use super::draft::Draft;
use super::error::FeatureError;
use super::request::{FeatureUpdate, UpgradeKind};
use super::{Config, Features};
use crate::image::{ConfigResource, FeatureRange, Record};
use crate::settings::Statics;

/// Judges all updates, then makes those that change something.
pub(super) fn update(draft: &mut Draft<'_>, config: &Config, updates: &[FeatureUpdate]) -> Result<(), FeatureError> {
    for update in updates {
        judge(draft, config, update).map_err(|why| FeatureError {
            feature: update.feature.clone(),
            level: update.level,
            why,
        })?;
    }
    for FeatureUpdate { feature, level, .. } in updates {
        if draft.image.feature(feature) != *level {
            let had_elr = draft.image.elr_enabled();
            draft.push(Record::FeatureLevel { name: feature.clone(), level: *level });
            if draft.image.elr_enabled() && !had_elr {
                one_min_isr(draft);
            }
        }
    }
    Ok(())
}

//@ KIP-966: from now on min.insync.replicas is the cluster's, so that every controller judges by the same number.
fn one_min_isr(draft: &mut Draft<'_>) {
    let cluster = ConfigResource::cluster();
    let is_set = |draft: &Draft<'_>, resource: &ConfigResource| {
        draft.image.configs(resource).is_some_and(|configs| configs.contains_key(MIN_ISR))
    };
    if !is_set(draft, &cluster) {
        draft.push(min_isr_of_cluster(draft.statics));
    }
    let brokers: Vec<ConfigResource> = draft
        .image
        .brokers()
        .map(|broker| ConfigResource::broker(broker.id))
        .filter(|own| is_set(draft, own))
        .collect();
    for resource in brokers {
        draft.push(Record::Config { resource, key: MIN_ISR.to_owned(), value: None });
    }
}

/// The record that makes what a controller's file says of `min.insync.replicas` the whole cluster's.
pub(super) fn min_isr_of_cluster(statics: &Statics) -> Record {
    let value = statics.get(MIN_ISR).unwrap_or("1").trim().to_owned();
    Record::Config { resource: ConfigResource::cluster(), key: MIN_ISR.to_owned(), value: Some(value) }
}

const MIN_ISR: &str = "min.insync.replicas";

fn judge(draft: &Draft<'_>, config: &Config, update: &FeatureUpdate) -> Result<(), String> {
    let FeatureUpdate { feature, level, upgrade } = update;
    let Some(upgrade) = upgrade else {
        return Err("The controller does not support the given upgrade type.".to_owned());
    };
    if *level < 0 {
        return Err("A feature version cannot be less than 0.".to_owned());
    }
    supports(&format!("Local controller {}", config.node), &config.supported_features, feature, *level)?;
    for broker in draft.image.brokers() {
        supports(&format!("Broker {}", broker.id), &broker.features, feature, *level)?;
    }
    if *level < draft.image.feature(feature) && *upgrade == UpgradeKind::Upgrade {
        return Err(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
                .to_owned(),
        );
    }
    Ok(())
}

fn supports(who: &str, features: &Features, feature: &str, level: i16) -> Result<(), String> {
    match features.get(feature) {
        None => Err(format!("{who} does not support this feature.")),
        Some(FeatureRange { min, max }) if level < *min || level > *max => {
            Err(format!("{who} only supports versions {min}-{max}"))
        }
        Some(_) => Ok(()),
    }
}
