//! Every setting of the table that can be changed while a broker runs: changed, shown, and taken back.
//!
//! That a value which is shown also reaches the parts that use it is the business of `effects`, and of a test beside the
//! table that resolves every setting.

use ballast_core::settings::{Kind, Scope, Setting, Valid, broker_settings, group_settings, topic_settings};
use ballast_tests::raw::rows::eventually;
use ballast_tests::target::{Broker, unique, with};

use crate::ask::{
    BROKER, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, DYNAMIC_GROUP, DYNAMIC_TOPIC, GROUP, TOPIC, node, set, value,
};

/// A value that is allowed and is not the default.
fn other_value(setting: &Setting) -> String {
    let default = setting.default.unwrap_or_default();
    match (setting.kind, setting.valid) {
        _ if setting.name == "max.connections.per.ip.overrides" => "127.0.0.9:7".to_owned(),
        _ if setting.name == "log.cleaner.io.buffer.size" => "600000".to_owned(),
        (Kind::Boolean, _) => (default != "true").to_string(),
        (Kind::Int | Kind::Short | Kind::Long, valid) => {
            let present = default.parse::<i64>().unwrap_or(12_344);
            let max = match valid {
                Valid::Range(_, max) | Valid::RangeOr(_, max, _) => max,
                _ => i64::MAX,
            };
            let max = if setting.kind == Kind::Int { max.min(i64::from(i32::MAX)) } else { max };
            // -1 often stands for something else than a number.
            if present < max { (present.max(0) + 1).to_string() } else { (present - 1).to_string() }
        }
        (Kind::Double, _) => "0.25".to_owned(),
        (_, Valid::OneOf(words) | Valid::OneOfIgnoreCase(words) | Valid::ListOf(words)) => {
            (*words.iter().find(|word| **word != default).expect("there is another word")).to_owned()
        }
        (_, Valid::ThrottledReplicas) => "0:1".to_owned(),
        _ => "something".to_owned(),
    }
}

/// Settings whose value depends on what else there is: names of classes, and values between others.
fn is_free(setting: &Setting) -> bool {
    let bound = ["remote.storage.enable", "metric.reporters", "config.providers", "internal.segment.bytes"];
    !bound.contains(&setting.name) && setting.kind != Kind::Class && setting.kind != Kind::Password
}

fn is_own(setting: &Setting) -> bool {
    setting.name.starts_with("ballast.")
}

#[test]
fn every_dynamic_setting_of_a_broker_is_changed_and_shown_without_a_restart() {
    let broker = with(&[]).expect("no wishes");
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let mut changed = 0;
    for setting in broker_settings().filter(|setting| setting.scope == Scope::Cluster && is_free(setting)) {
        // Kafka takes settings of tiered storage only where that is on, and has none of ours.
        if !broker.is_ballast() && (is_own(setting) || setting.name.starts_with("remote.") || setting.hidden) {
            continue;
        }
        // With eligible leader replicas this one is the cluster's and cannot be taken back.
        if setting.name == "min.insync.replicas" {
            continue;
        }
        let other = other_value(setting);
        for (resource, source) in [("", DYNAMIC_DEFAULT_BROKER), (me.as_str(), DYNAMIC_BROKER)] {
            set(&mut connection, BROKER, resource, setting.name, Some(&other));
            eventually(setting.name, || {
                let shown = value(&mut connection, BROKER, &me, setting.name)?;
                (shown == (Some(other.clone()), source)).then_some(())
            });
        }
        for resource in [me.as_str(), ""] {
            set(&mut connection, BROKER, resource, setting.name, None);
        }
        changed += 1;
    }
    assert!(changed > 40, "{changed} settings only");
}

#[test]
fn every_setting_of_a_topic_is_changed_and_shown_without_a_restart() {
    let broker = with(&[]).expect("no wishes");
    let topic = broker.topic("every", 1, &[]).name;
    let settings = topic_settings().filter(|setting| is_free(setting) && (broker.is_ballast() || !is_own(setting)));
    change_each(&broker, TOPIC, &topic, DYNAMIC_TOPIC, settings);
}

#[test]
fn every_setting_of_a_group_is_changed_and_shown_without_a_restart() {
    let broker = with(&[]).expect("no wishes");
    let settings = group_settings().filter(|setting| !setting.hidden && setting.kind != Kind::String);
    change_each(&broker, GROUP, &unique("every"), DYNAMIC_GROUP, settings);
}

fn change_each<'a>(broker: &Broker, kind: i8, resource: &str, source: i8, settings: impl Iterator<Item = &'a Setting>) {
    let mut connection = broker.connect();
    let mut changed = 0;
    for setting in settings {
        let other = other_value(setting);
        set(&mut connection, kind, resource, setting.name, Some(&other));
        eventually(setting.name, || {
            let shown = value(&mut connection, kind, resource, setting.name)?;
            (shown == (Some(other.clone()), source)).then_some(())
        });
        set(&mut connection, kind, resource, setting.name, None);
        eventually(setting.name, || {
            let (_, source_after) = value(&mut connection, kind, resource, setting.name)?;
            (source_after != source).then_some(())
        });
        changed += 1;
    }
    assert!(changed > 10, "{changed} settings only");
}
