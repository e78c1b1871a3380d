//! Where a broker setting's value comes from: dynamic of the broker, dynamic of the cluster, static, default.
//!
//! Holds: every text in a layer was found valid before it came there; one that is not (a table that changed between two
//! versions) is passed over in favour of the next layer.

use std::collections::BTreeMap;

use ballast_wire::BrokerId;

use super::setting::Setting;
use super::{Source, Statics, Synonym, Value, broker_setting};
use crate::image::{ConfigResource, Image};

/// Configs of one resource, by key.
pub type Configs = BTreeMap<String, String>;

/// The layers below a topic's or group's own configs, highest first.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The broker's dynamic configs.
    pub broker: Option<&'a Configs>,
    /// The cluster's dynamic defaults.
    pub cluster: Option<&'a Configs>,
    /// File, environment, flags.
    pub statics: &'a Statics,
}

impl<'a> Layers<'a> {
    /// The layers of `broker` as `image` has them; without a broker those of the cluster alone.
    #[must_use]
    pub fn of(image: &'a Image, broker: Option<BrokerId>, statics: &'a Statics) -> Layers<'a> {
        let own = broker.and_then(|id| image.configs(&ConfigResource::broker(id)));
        let cluster = image.configs(&ConfigResource::cluster());
        Layers { broker: own.map(|configs| &**configs), cluster: cluster.map(|configs| &**configs), statics }
    }

    /// Every text that is set for `name`, highest first.
    pub(super) fn set(&self, name: &str) -> impl Iterator<Item = (Source, &'a str)> {
        let dynamic = |configs: Option<&'a Configs>| configs.and_then(|configs| configs.get(name)).map(String::as_str);
        [
            dynamic(self.broker).map(|text| (Source::DynamicBroker, text)),
            dynamic(self.cluster).map(|text| (Source::DynamicDefaultBroker, text)),
            self.statics.get(name).map(|text| (Source::StaticBroker, text)),
        ]
        .into_iter()
        .flatten()
    }

    /// What `listener.name.<listener>.<name>` says of each listener that has it, by names as `listeners` has them.
    pub(super) fn of_listeners(&self, name: &str) -> BTreeMap<String, Value> {
        let dynamic = |configs: Option<&'a Configs>| configs.into_iter().flatten().map(|(key, text)| (&**key, &**text));
        let all = self.statics.iter().chain(dynamic(self.cluster)).chain(dynamic(self.broker));
        let of_one = |(key, text): (&str, &str)| {
            let (listener, base) = key.strip_prefix("listener.name.")?.split_once('.')?;
            let value = broker_setting(name)?.parse(text).ok();
            value.filter(|_| base == name).map(|value| (listener.to_uppercase(), value))
        };
        all.filter_map(of_one).collect()
    }

    /// The value that is set for `setting` in the highest layer that has one.
    pub(super) fn found(&self, setting: &Setting) -> Option<(Source, Value)> {
        self.set(setting.name).find_map(|(source, text)| Some((source, setting.parse(text).ok()?)))
    }

    /// The value in force, the default included; `None` is null.
    #[must_use]
    pub fn value(&self, setting: &Setting) -> Option<(Source, Value)> {
        self.found(setting).or_else(|| Some((Source::Default, setting.default_value()?)))
    }

    /// Every place that has a value for the broker setting `name`, the one in force first.
    pub(super) fn synonyms(&self, setting: &Setting) -> Vec<Synonym> {
        let show = |value: &Value| (!setting.is_sensitive()).then(|| value.text());
        let place = |source, value: &Value| Synonym { name: setting.name.to_owned(), value: show(value), source };
        let set = self.set(setting.name).filter_map(|(source, text)| Some(place(source, &setting.parse(text).ok()?)));
        set.chain(setting.default_value().map(|value| place(Source::Default, &value))).collect()
    }

    fn named(&self, name: &str) -> Option<Value> {
        let setting = broker_setting(name).unwrap_or_else(|| panic!("{name} is not in the settings table"));
        self.value(setting).map(|(_, value)| value)
    }

    pub(super) fn long(&self, name: &str) -> i64 {
        let value = self.named(name).unwrap_or_else(|| panic!("{name} has neither a value nor a default"));
        value.number(name)
    }

    pub(super) fn int(&self, name: &str) -> i32 {
        let number = self.long(name);
        i32::try_from(number).unwrap_or_else(|_| panic!("{name} is {number}, which its type should have kept out"))
    }

    pub(super) fn short(&self, name: &str) -> i16 {
        let number = self.long(name);
        i16::try_from(number).unwrap_or_else(|_| panic!("{name} is {number}, which its type should have kept out"))
    }

    pub(super) fn number_or_null(&self, name: &str) -> Option<i64> {
        self.named(name).map(|value| value.number(name))
    }

    /// A time. Kafka's ranges let some be negative; that is no time at all.
    pub(super) fn millis(&self, name: &str) -> u64 {
        u64::try_from(self.long(name)).unwrap_or(0)
    }

    /// A count or a size that cannot be negative.
    pub(super) fn count(&self, name: &str) -> usize {
        usize::try_from(self.long(name)).unwrap_or(0)
    }

    /// A number with -1 for "not set".
    pub(super) fn unless_negative(&self, name: &str) -> Option<u64> {
        u64::try_from(self.long(name)).ok()
    }

    pub(super) fn text_or_null(&self, name: &str) -> Option<String> {
        self.named(name).map(|value| value.text()).filter(|text| !text.is_empty())
    }

    pub(super) fn boolean(&self, name: &str) -> bool {
        matches!(self.named(name), Some(Value::Boolean(true)))
    }

    pub(super) fn double(&self, name: &str) -> f64 {
        match self.named(name) {
            Some(Value::Double(double)) => double,
            other => panic!("{name} is {other:?}, not a fraction"),
        }
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        match self.named(name) {
            Some(Value::List(items)) => items,
            Some(other) => panic!("{name} is {other:?}, not a list"),
            None => Vec::new(),
        }
    }
}

impl Setting {
    /// The built-in default.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        let text = self.default?;
        Some(self.parse(text).unwrap_or_else(|error| panic!("the default of {} is not valid: {error}", self.name)))
    }
}

impl Value {
    pub(super) fn number(&self, name: &str) -> i64 {
        match self {
            Value::Number(number) => *number,
            other => panic!("{name} is {other:?}, not a number"),
        }
    }
}
