//! UpdateFeatures.

use super::rig::Rig;
use crate::controller::{ConfigChange, ConfigOp, FeatureUpdate, Request, Response, UpgradeKind};
use crate::image::{ConfigResource, FEATURE_ELR, FEATURE_METADATA};

fn update(rig: &mut Rig, updates: &[(&str, i16, i8)], validate_only: bool) -> Result<(), String> {
    let updates = updates.iter().map(|(feature, level, kind)| FeatureUpdate {
        feature: (*feature).to_owned(),
        level: *level,
        upgrade: UpgradeKind::from_id(*kind),
    });
    match rig.ask(Request::UpdateFeatures { updates: updates.collect(), validate_only }) {
        Response::UpdateFeatures(result) => result.map_err(|error| {
            assert_eq!(error.code(), 95);
            error.why
        }),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_level_goes_up_and_down_as_the_request_allows() {
    let mut rig = Rig::with_brokers(true, &[1], &[]);
    assert_eq!(rig.image.feature(FEATURE_METADATA), 25);
    let no_downgrade = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.";
    assert_eq!(update(&mut rig, &[(FEATURE_METADATA, 24, 1)], false), Err(no_downgrade.to_owned()));
    assert_eq!(update(&mut rig, &[(FEATURE_METADATA, 24, 2)], true), Ok(()), "a rehearsal");
    assert_eq!(rig.image.feature(FEATURE_METADATA), 25);
    assert_eq!(update(&mut rig, &[(FEATURE_METADATA, 24, 2)], false), Ok(()));
    assert_eq!(rig.image.feature(FEATURE_METADATA), 24);
    assert_eq!(update(&mut rig, &[(FEATURE_METADATA, 25, 1), (FEATURE_ELR, 0, 3)], false), Ok(()));
    assert_eq!((rig.image.feature(FEATURE_METADATA), rig.image.elr_enabled()), (25, false));
}

//@ KIP-966: with ELR the minimum of in-sync replicas is the cluster's alone.
#[test]
fn with_elr_the_minimum_of_replicas_in_sync_becomes_the_clusters() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[("min.insync.replicas", "2")]);
    let (cluster, own) = (ConfigResource::cluster(), ConfigResource::broker(2));
    let min_isr = |rig: &Rig, of: &ConfigResource| {
        rig.image.configs(of).and_then(|configs| configs.get("min.insync.replicas").cloned())
    };
    let (key, value) = ("min.insync.replicas".to_owned(), Some("3".to_owned()));
    let changes = vec![(own.clone(), vec![ConfigChange { key, op: ConfigOp::Set, value }])];
    rig.ask(Request::IncrementalAlterConfigs { resources: changes, validate_only: false });
    assert_eq!((min_isr(&rig, &cluster), min_isr(&rig, &own).as_deref()), (None, Some("3")));
    assert_eq!(update(&mut rig, &[(FEATURE_ELR, 1, 1)], false), Ok(()));
    assert_eq!((min_isr(&rig, &cluster).as_deref(), min_isr(&rig, &own)), (Some("2"), None));
}

#[test]
fn one_bad_update_stops_them_all() {
    let mut rig = Rig::with_brokers(true, &[1], &[]);
    for (bad, why) in [
        (("no.such", 1, 1), "Local controller 1 does not support this feature."),
        ((FEATURE_METADATA, 26, 1), "Local controller 1 only supports versions 1-25"),
        ((FEATURE_METADATA, 0, 2), "Local controller 1 only supports versions 1-25"),
        ((FEATURE_ELR, -1, 2), "A feature version cannot be less than 0."),
        ((FEATURE_ELR, 1, 0), "The controller does not support the given upgrade type."),
        ((FEATURE_ELR, 1, 9), "The controller does not support the given upgrade type."),
    ] {
        assert_eq!(update(&mut rig, &[(FEATURE_METADATA, 24, 2), bad], false), Err(why.to_owned()), "{bad:?}");
        assert_eq!(rig.image.feature(FEATURE_METADATA), 25, "{bad:?}");
    }
    assert_eq!(update(&mut rig, &[], false), Ok(()));
}
