//! Settings as DescribeConfigs shows them.
//!
//! Kafka lists, as synonyms of a topic's setting, its own override and then the places of one broker setting only: the first
//! of the family. A topic's `retention.ms` that comes from `log.retention.hours` is thus shown with the right value, as a
//! default, and without synonyms.

use super::layers::{Configs, Layers};
use super::setting::{Kind, Scope, Setting};
use super::topic::in_force;
use super::{Row, Source, Synonym, broker_setting, broker_settings, group_settings, topic_settings};

/// Every setting of a topic with these configs of its own.
#[must_use]
pub fn topic_rows(overrides: Option<&Configs>, layers: &Layers<'_>) -> Vec<Row> {
    let shown = topic_settings().filter(|setting| !setting.hidden);
    shown.map(|setting| own_row(setting, overrides, layers, Source::Topic)).collect()
}

/// Every setting of a group with these configs of its own.
#[must_use]
pub fn group_rows(overrides: Option<&Configs>, layers: &Layers<'_>) -> Vec<Row> {
    let shown = group_settings().filter(|setting| !setting.hidden);
    shown.map(|setting| own_row(setting, overrides, layers, Source::Group)).collect()
}

/// Every setting of a client metrics subscription (KIP-714) with these configs of its own.
#[must_use]
pub fn client_metrics_rows(overrides: Option<&Configs>) -> Vec<Row> {
    let all = [("interval.ms", Kind::Int, "300000"), ("match", Kind::List, ""), ("metrics", Kind::List, "")];
    let rows = all.into_iter().map(|(name, kind, default)| {
        let own = overrides.and_then(|configs| configs.get(name));
        let place =
            |text: &String| Synonym { name: name.to_owned(), value: Some(text.clone()), source: Source::ClientMetrics };
        Row {
            name: name.to_owned(),
            value: Some(own.map_or_else(|| default.to_owned(), Clone::clone)),
            source: if own.is_some() { Source::ClientMetrics } else { Source::Default },
            read_only: false,
            sensitive: false,
            kind: Some(kind),
            synonyms: own.map(place).into_iter().collect(),
            doc: "",
        }
    });
    rows.collect()
}

/// Every setting of the broker whose layers these are.
#[must_use]
pub fn broker_rows(layers: &Layers<'_>) -> Vec<Row> {
    let known = broker_settings().filter(|setting| !setting.hidden || layers.found(setting).is_some());
    let mut rows: Vec<Row> = known.map(|setting| broker_row(setting, setting.name, layers)).collect();
    let is_listed = |name: &str| broker_settings().any(|setting| setting.name == name);
    let mut others: Vec<&str> = layers.statics.iter().map(|(name, _)| name).collect();
    for configs in [layers.cluster, layers.broker].into_iter().flatten() {
        others.extend(configs.keys().map(String::as_str));
    }
    others.sort_unstable();
    others.dedup();
    rows.extend(others.into_iter().filter(|name| !is_listed(name)).map(|name| other_row(name, layers)));
    rows
}

/// The dynamic defaults of all brokers, and nothing else.
#[must_use]
pub fn cluster_rows(configs: Option<&Configs>) -> Vec<Row> {
    let Some(configs) = configs else { return Vec::new() };
    let statics = super::Statics::default();
    let layers = Layers { broker: None, cluster: Some(configs), statics: &statics };
    let rows = configs.keys().map(|name| {
        let mut row = match broker_setting(name) {
            Some(setting) => broker_row(setting, name, &layers),
            None => other_row(name, &layers),
        };
        row.synonyms.retain(|synonym| synonym.source == Source::DynamicDefaultBroker);
        row
    });
    rows.collect()
}

fn own_row(setting: &'static Setting, overrides: Option<&Configs>, layers: &Layers<'_>, own: Source) -> Row {
    let value = in_force(setting, overrides, layers).map(|(_, value)| value.text());
    let mut synonyms = Vec::new();
    if let Some(text) = overrides.and_then(|configs| configs.get(setting.name)) {
        let shown = setting.parse(text).map_or_else(|_| text.clone(), |value| value.text());
        synonyms.push(Synonym { name: setting.name.to_owned(), value: Some(shown), source: own });
    }
    match setting.synonyms.first().and_then(|synonym| broker_setting(synonym.name)) {
        Some(broker) => synonyms.extend(layers.synonyms(broker)),
        // A group's setting without a broker's counterpart shows its default under its own name; a topic's shows none.
        None if own == Source::Group => synonyms.extend(setting.default_value().map(|value| Synonym {
            name: setting.name.to_owned(),
            value: Some(value.text()),
            source: Source::Default,
        })),
        None => {}
    }
    Row {
        name: setting.name.to_owned(),
        value,
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        read_only: false,
        sensitive: setting.is_sensitive(),
        kind: Some(setting.kind),
        synonyms,
        doc: setting.doc,
    }
}

fn broker_row(setting: &'static Setting, name: &str, layers: &Layers<'_>) -> Row {
    let synonyms = family_synonyms(setting, layers);
    let value = layers.value(setting).map(|(_, value)| value);
    Row {
        name: name.to_owned(),
        value: value.filter(|_| !setting.is_sensitive()).map(|value| value.text()),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        read_only: setting.scope == Scope::Static,
        sensitive: setting.is_sensitive(),
        kind: Some(setting.kind),
        synonyms,
        doc: setting.doc,
    }
}

/// Every place that has a value for a broker setting or for another unit of it (`log.retention.ms`, `.minutes`, `.hours`):
/// by the places, and from the first on that has the setting's own name, as Kafka shows it.
fn family_synonyms(setting: &'static Setting, layers: &Layers<'_>) -> Vec<Synonym> {
    let is_of = |topic: &&'static Setting| topic.synonyms.iter().any(|synonym| synonym.name == setting.name);
    let family = topic_settings().find(is_of).map_or(&[][..], |topic| topic.synonyms);
    if family.len() < 2 {
        return layers.synonyms(setting);
    }
    let members = family.iter().filter_map(|synonym| broker_setting(synonym.name));
    let mut all: Vec<Synonym> = members.flat_map(|member| layers.synonyms(member)).collect();
    all.sort_by_key(|synonym| synonym.source.id());
    all.into_iter().skip_while(|synonym| synonym.name != setting.name).collect()
}

/// A name that no broker setting has. One with a listener's prefix is shown under its setting's type; any other is kept
/// from view, because it may be a secret of something that Ballast does not know.
fn other_row(name: &str, layers: &Layers<'_>) -> Row {
    let setting = broker_setting(name);
    let sensitive = setting.is_none_or(Setting::is_sensitive);
    let synonyms: Vec<Synonym> = layers
        .set(name)
        .map(|(source, text)| Synonym { name: name.to_owned(), value: (!sensitive).then(|| text.to_owned()), source })
        .collect();
    Row {
        name: name.to_owned(),
        value: synonyms.first().and_then(|synonym| synonym.value.clone()),
        source: synonyms.first().map_or(Source::Default, |synonym| synonym.source),
        read_only: true,
        sensitive,
        kind: setting.map(|setting| setting.kind),
        synonyms,
        doc: setting.map_or("", |setting| setting.doc),
    }
}

impl Row {
    /// Kafka's number of the type; 0 where it is not known.
    #[must_use]
    pub fn kind_id(&self) -> i8 {
        self.kind.map_or(0, Kind::id)
    }
}
