//! The tables as a whole, and which value is in force.

use std::collections::BTreeSet;

use super::*;

fn statics(given: &[(&str, &str)]) -> Statics {
    let pairs = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Statics::merge(pairs).expect("the tests give valid values").0
}

fn configs(given: &[(&str, &str)]) -> Configs {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn row<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row for {name}"))
}

fn places(row: &Row) -> Vec<(&str, Option<&str>, Source)> {
    row.synonyms.iter().map(|place| (place.name.as_str(), place.value.as_deref(), place.source)).collect()
}

#[test]
fn every_default_is_valid_and_every_name_is_there_once() {
    for table in [broker_settings().collect::<Vec<_>>(), topic_settings().collect(), group_settings().collect()] {
        let mut names = BTreeSet::new();
        for setting in table {
            assert!(names.insert(setting.name), "{} is declared twice", setting.name);
            let _ = setting.default_value();
            for synonym in setting.synonyms {
                assert!(broker_setting(synonym.name).is_some(), "{} falls back to {}", setting.name, synonym.name);
            }
        }
    }
}

#[test]
fn as_many_broker_settings_can_be_changed_as_in_kafka_but_for_listeners() {
    let own = |setting: &&Setting| !setting.name.starts_with("ballast.") && !setting.hidden;
    let dynamic = broker_settings().filter(own).filter(|setting| setting.scope != Scope::Static).count();
    // Kafka's own count is 104, less the three throttle rates, which it lists only when they are set, and those it hides.
    // `listeners` and `listener.security.protocol.map` are read at start here.
    assert_eq!(dynamic, 102);
}

/// All that the parts of a broker read of these configs.
fn read(cluster: &Configs) -> (BrokerSettings, TopicSettings) {
    let statics = Statics::default();
    let layers = Layers { broker: None, cluster: Some(cluster), statics: &statics };
    (BrokerSettings::resolve(&layers).expect("the values agree"), TopicSettings::resolve(None, &layers))
}

/// A value that is allowed and is not the default.
fn other_value(setting: &Setting) -> String {
    let default = setting.default.unwrap_or_default();
    match setting.kind {
        Kind::Boolean => (default != "true").to_string(),
        Kind::Double => "0.25".to_owned(),
        Kind::Int | Kind::Short | Kind::Long => {
            let present = default.parse::<i64>().unwrap_or(12_344);
            let candidates = [present.saturating_add(1), present - 1, 7].map(|number| number.to_string());
            let fits = |text: &&String| *text != default && setting.parse(text).is_ok();
            candidates.iter().find(fits).expect("one of them is allowed").clone()
        }
        _ if setting.name == "max.connections.per.ip.overrides" => "127.0.0.9:7".to_owned(),
        _ => match setting.valid {
            Valid::OneOf(words) | Valid::ListOf(words) => {
                (*words.iter().find(|word| **word != default).expect("there is another")).to_owned()
            }
            _ => "other".to_owned(),
        },
    }
}

#[test]
fn every_broker_setting_that_can_change_reaches_the_numbers_that_the_broker_reads() {
    let live = broker_settings().filter(|setting| setting.used == Use::Used && setting.scope != Scope::Static);
    // One is an order to the controller, who reads it where it is written.
    for setting in live.filter(|setting| setting.name != "ballast.drain.leaders") {
        let after = configs(&[(setting.name, &other_value(setting))]);
        assert!(read(&Configs::new()) != read(&after), "{after:?} changes nothing");
    }
}

#[test]
fn every_topic_setting_in_use_reaches_the_numbers_that_the_log_reads() {
    let statics = Statics::default();
    let layers = Layers { broker: None, cluster: None, statics: &statics };
    for setting in topic_settings().filter(|setting| setting.used == Use::Used) {
        let value = if setting.valid == Valid::ThrottledReplicas { "0:1".to_owned() } else { other_value(setting) };
        let own = configs(&[(setting.name, &value)]);
        let (before, after) = (TopicSettings::resolve(None, &layers), TopicSettings::resolve(Some(&own), &layers));
        assert!(before != after, "{}={value} changes nothing", setting.name);
    }
}

#[test]
fn a_topics_own_value_wins_then_broker_then_cluster_then_static() {
    let file = statics(&[("log.retention.ms", "4"), ("log.segment.bytes", "2097152")]);
    let (broker, cluster) = (configs(&[("log.retention.ms", "2")]), configs(&[("log.retention.ms", "3")]));
    let topic = configs(&[("retention.ms", "1")]);
    let all = Layers { broker: Some(&broker), cluster: Some(&cluster), statics: &file };
    assert_eq!(TopicSettings::resolve(Some(&topic), &all).retention_ms, 1);
    assert_eq!(TopicSettings::resolve(None, &all).retention_ms, 2);
    let no_broker = Layers { broker: None, ..all };
    assert_eq!(TopicSettings::resolve(None, &no_broker).retention_ms, 3);
    let file_only = Layers { cluster: None, ..no_broker };
    assert_eq!(TopicSettings::resolve(None, &file_only).retention_ms, 4);
    assert_eq!(TopicSettings::resolve(None, &file_only).segment_bytes, 2 << 20);
    let tiny = configs(&[("internal.segment.bytes", "3000"), ("segment.bytes", "4194304")]);
    assert_eq!(
        TopicSettings::resolve(Some(&tiny), &file_only).segment_bytes,
        3_000,
        "without segment.bytes' lower bound"
    );
}

#[test]
fn the_most_specific_name_of_a_family_wins_over_a_higher_layer() {
    let file = statics(&[("log.retention.hours", "2"), ("log.retention.minutes", "3"), ("log.roll.hours", "1")]);
    let layers = Layers { broker: None, cluster: None, statics: &file };
    let settings = TopicSettings::resolve(None, &layers);
    assert_eq!(settings.retention_ms, 3 * 60_000);
    assert_eq!(settings.segment_ms, 3_600_000);
    let unlimited = statics(&[("log.retention.hours", "-1")]);
    let layers = Layers { broker: None, cluster: None, statics: &unlimited };
    assert_eq!(TopicSettings::resolve(None, &layers).retention_ms, -1, "no limit is no limit in every unit");
}

#[test]
fn a_topic_is_described_as_kafka_describes_it() {
    let file = statics(&[]);
    let cluster = configs(&[("min.insync.replicas", "1")]);
    let layers = Layers { broker: None, cluster: Some(&cluster), statics: &file };
    let own = configs(&[("min.insync.replicas", "2"), ("retention.ms", " 5 ")]);
    let rows = topic_rows(Some(&own), &layers);
    let min_isr = row(&rows, "min.insync.replicas");
    assert_eq!(
        places(min_isr),
        [
            ("min.insync.replicas", Some("2"), Source::Topic),
            ("min.insync.replicas", Some("1"), Source::DynamicDefaultBroker),
            ("min.insync.replicas", Some("1"), Source::Default),
        ]
    );
    assert_eq!((min_isr.value.as_deref(), min_isr.source.id(), min_isr.read_only), (Some("2"), 1, false));
    assert_eq!(places(row(&rows, "retention.ms")), [("retention.ms", Some("5"), Source::Topic)]);
    assert_eq!(places(row(&rows, "flush.ms")), [], "the first name of its family has no default");
    assert_eq!(places(row(&rows, "cleanup.policy")), [("log.cleanup.policy", Some("delete"), Source::Default)]);
    assert!(rows.iter().all(|row| row.name != "internal.segment.bytes"), "Kafka hides it");
}

#[test]
fn hours_show_as_a_default_without_synonyms() {
    let file = statics(&[("log.retention.hours", "1")]);
    let rows = topic_rows(None, &Layers { broker: None, cluster: None, statics: &file });
    let retention = row(&rows, "retention.ms");
    assert_eq!((retention.value.as_deref(), retention.source), (Some("3600000"), Source::Default));
    assert_eq!(places(retention), []);
}

#[test]
fn a_broker_is_described_with_what_nobody_knows_kept_from_view() {
    let file = statics(&[("num.partitions", "3"), ("my.plugin.password", "secret"), ("ssl.key.password", "secret")]);
    let broker = configs(&[("log.retention.ms", "7"), ("listener.name.internal.ssl.keystore.location", "/k")]);
    let rows = broker_rows(&Layers { broker: Some(&broker), cluster: None, statics: &file });
    let partitions = row(&rows, "num.partitions");
    assert_eq!((partitions.source, partitions.read_only), (Source::StaticBroker, true));
    assert_eq!(
        places(partitions),
        [("num.partitions", Some("3"), Source::StaticBroker), ("num.partitions", Some("1"), Source::Default)]
    );
    let retention = row(&rows, "log.retention.ms");
    assert_eq!((retention.value.as_deref(), retention.read_only), (Some("7"), false));
    for secret in ["my.plugin.password", "ssl.key.password"] {
        assert_eq!((row(&rows, secret).value.as_deref(), row(&rows, secret).sensitive), (None, true), "{secret}");
    }
    assert_eq!(row(&rows, "my.plugin.password").kind_id(), 0);
    let prefixed = row(&rows, "listener.name.internal.ssl.keystore.location");
    assert_eq!((prefixed.value.as_deref(), prefixed.read_only), (Some("/k"), true));
    assert!(rows.iter().all(|row| row.name != "leader.replication.throttled.rate"), "listed only when it is set");
}

#[test]
fn a_setting_with_several_units_shows_the_others_after_its_own() {
    let file = statics(&[("log.retention.minutes", "5")]);
    let cluster = configs(&[("log.retention.ms", "3")]);
    let rows = broker_rows(&Layers { broker: None, cluster: Some(&cluster), statics: &file });
    let shown = |name: &str| -> Vec<String> {
        let synonyms = row(&rows, name).synonyms.iter();
        synonyms.map(|synonym| format!("{}={}", synonym.name, synonym.value.as_deref().unwrap_or("null"))).collect()
    };
    assert_eq!(shown("log.retention.ms"), ["log.retention.ms=3", "log.retention.minutes=5", "log.retention.hours=168"]);
    assert_eq!(shown("log.retention.minutes"), ["log.retention.minutes=5", "log.retention.hours=168"]);
    assert_eq!(shown("log.retention.hours"), ["log.retention.hours=168"]);
    assert_eq!(shown("log.roll.ms"), [""; 0], "not set: its default is that of another unit");
}

#[test]
fn a_group_falls_back_to_the_brokers_setting_for_groups() {
    let file = statics(&[("group.consumer.session.timeout.ms", "50000")]);
    let rows = group_rows(None, &Layers { broker: None, cluster: None, statics: &file });
    let session = row(&rows, "consumer.session.timeout.ms");
    assert_eq!(session.value.as_deref(), Some("50000"));
    assert_eq!(places(session)[0], ("group.consumer.session.timeout.ms", Some("50000"), Source::StaticBroker));
    assert_eq!(
        places(row(&rows, "share.auto.offset.reset")),
        [("share.auto.offset.reset", Some("latest"), Source::Default)]
    );
}

#[test]
fn topic_configs_are_judged_together() {
    let file = statics(&[]);
    let layers = Layers { broker: None, cluster: None, statics: &file };
    let judge = |given: &[(&str, &str)]| {
        TopicSettings::validate(&configs(given), &layers).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(judge(&[("retention.ms", "-1"), ("cleanup.policy", "compact,delete")]), Ok(()));
    assert_eq!(
        judge(&[("retntion.ms", "1")]),
        Err("Unknown topic config name: retntion.ms (did you mean retention.ms?)".into())
    );
    assert!(judge(&[("segment.bytes", "1024")]).is_err());
    let lags = judge(&[("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")]);
    assert_eq!(lags, Err("conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)".into()));
    assert!(judge(&[("remote.storage.enable", "true")]).is_err());
}

#[test]
fn broker_configs_are_judged_by_who_may_change_them() {
    let (statics, defaults) = (Statics::default(), |statics| Layers { broker: None, cluster: None, statics });
    let judge = |name: &str, value: &str, cluster: bool| {
        validate_broker_configs(&configs(&[(name, value)]), cluster, &defaults(&statics))
    };
    assert_eq!(judge("log.retention.ms", "1", true), Ok(()));
    assert!(judge("log.retention.ms", "x", true).is_err());
    assert!(judge("num.partitions", "1", true).is_err(), "it is read at start");
    assert!(judge("ssl.keystore.location", "/k", true).is_err(), "it belongs to one broker");
    assert!(judge("ssl.keystore.location", "/k", false).is_err(), "it belongs to one listener");
    assert_eq!(judge("listener.name.a.ssl.keystore.location", "/k", false), Ok(()));
    assert!(judge("listener.name.a.ssl.keystore.location", "/k", true).is_err());
    assert!(judge("listeners", "PLAINTEXT://:1", true).is_err());
    assert_eq!(judge("listener.name.a.connections.max.reauth.ms", "1", false), Ok(()), "per listener only");
    assert_eq!(judge("what.is.this", "1", true), Ok(()), "it may belong to a plug-in");
}

#[test]
fn the_bounds_of_group_configs_are_the_brokers() {
    let file = statics(&[("group.consumer.max.session.timeout.ms", "50000")]);
    let layers = Layers { broker: None, cluster: None, statics: &file };
    let judge = |name: &str, value: &str| {
        validate_group_configs(&configs(&[(name, value)]), &layers).map_err(|error| error.to_string())
    };
    assert_eq!(judge("consumer.session.timeout.ms", "50000"), Ok(()));
    assert_eq!(
        judge("consumer.session.timeout.ms", "50001"),
        Err("consumer.session.timeout.ms must be in the range 45000 to 50000 inclusive.".into())
    );
    assert!(judge("share.delivery.count.limit", "25").is_err());
    assert_eq!(judge("no.such", "1"), Err("Unknown group config name: no.such".into()));
}
