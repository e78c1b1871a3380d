//! What one setting is: name, type, default, range, who may change it, text. The tables are lists of these.

use std::fmt;

/// Types of values, as Kafka names and numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// Text.
    String,
    /// 32-bit integer.
    Int,
    /// 16-bit integer.
    Short,
    /// 64-bit integer.
    Long,
    /// 64-bit floating point.
    Double,
    /// Texts between commas.
    List,
    /// Name of a Java class. Ballast runs none.
    Class,
    /// Text that is never shown.
    Password,
}

impl Kind {
    /// Kafka's number, as in DescribeConfigs.
    #[must_use]
    pub fn id(self) -> i8 {
        match self {
            Kind::Boolean => 1,
            Kind::String => 2,
            Kind::Int => 3,
            Kind::Short => 4,
            Kind::Long => 5,
            Kind::Double => 6,
            Kind::List => 7,
            Kind::Class => 8,
            Kind::Password => 9,
        }
    }

    /// Kafka's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::String => "string",
            Kind::Int => "int",
            Kind::Short => "short",
            Kind::Long => "long",
            Kind::Double => "double",
            Kind::List => "list",
            Kind::Class => "class",
            Kind::Password => "password",
        }
    }
}

/// What values are allowed beyond the type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Valid {
    /// All.
    Any,
    /// Whole numbers from `.0` to `.1`, both included.
    Range(i64, i64),
    /// Whole numbers in a range, or this one besides.
    RangeOr(i64, i64, i64),
    /// Fractions from `.0` to `.1`, both included.
    Fraction(f64, f64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, in any case.
    OneOfIgnoreCase(&'static [&'static str]),
    /// A list of these words.
    ListOf(&'static [&'static str]),
    /// A list of `partition:broker` pairs, or `*`.
    ThrottledReplicas,
    /// Not empty.
    NonEmpty,
}

/// Who may change a setting while a broker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nobody: it is read at start.
    Static,
    /// A broker's own dynamic config.
    PerBroker,
    /// A broker's own dynamic config, or that of the cluster.
    Cluster,
    /// A topic's config.
    Topic,
    /// A group's config.
    Group,
}

/// What a setting does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It has an effect.
    Used,
    /// Kafka has it and Ballast accepts it, but it changes nothing here.
    Known,
}

/// A broker-level setting that gives a topic or group setting its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynonymOf {
    /// Its name.
    pub name: &'static str,
    /// What its value is multiplied by (minutes and hours to milliseconds).
    pub factor: i64,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Kafka's name, or `ballast.…`.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its default as text; `None` is null.
    pub default: Option<&'static str>,
    /// What is allowed.
    pub valid: Valid,
    /// Who may change it.
    pub scope: Scope,
    /// Does it do anything?
    pub used: Use,
    /// Broker settings it falls back to, in order.
    pub synonyms: &'static [SynonymOf],
    /// Kafka's own internals: accepted, but not listed.
    pub hidden: bool,
    /// What it does, for operators.
    pub doc: &'static str,
}

impl Setting {
    /// A setting that is read at start, known but without effect: the tables begin from this.
    pub(super) const fn new(name: &'static str, kind: Kind, default: Option<&'static str>) -> Setting {
        Setting {
            name,
            kind,
            default,
            valid: Valid::Any,
            scope: Scope::Static,
            used: Use::Known,
            synonyms: &[],
            hidden: false,
            doc: "",
        }
    }

    pub(super) const fn valid(mut self, valid: Valid) -> Setting {
        self.valid = valid;
        self
    }

    pub(super) const fn at_least(self, min: i64) -> Setting {
        self.valid(Valid::Range(min, i64::MAX))
    }

    pub(super) const fn between(self, min: i64, max: i64) -> Setting {
        self.valid(Valid::Range(min, max))
    }

    pub(super) const fn hidden(mut self) -> Setting {
        self.hidden = true;
        self
    }

    pub(super) const fn scope(mut self, scope: Scope) -> Setting {
        self.scope = scope;
        self
    }

    pub(super) const fn synonyms(mut self, synonyms: &'static [SynonymOf]) -> Setting {
        self.synonyms = synonyms;
        self
    }

    /// It has an effect, which `doc` describes.
    pub(super) const fn used(mut self, doc: &'static str) -> Setting {
        self.used = Use::Used;
        self.doc = doc;
        self
    }

    /// Are its values kept from view?
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.kind == Kind::Password
    }
}

impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Valid::Any => Ok(()),
            Valid::Range(min, i64::MAX) => write!(f, "[{min},...]"),
            Valid::Range(min, max) => write!(f, "[{min},...,{max}]"),
            Valid::RangeOr(min, max, or) => write!(f, "[{min},...,{max}] or {or}"),
            Valid::Fraction(min, max) => write!(f, "[{min},...,{max}]"),
            Valid::OneOf(words) | Valid::OneOfIgnoreCase(words) | Valid::ListOf(words) => {
                write!(f, "[{}]", words.join(", "))
            }
            Valid::ThrottledReplicas => f.write_str("[partitionId]:[brokerId],[partitionId]:[brokerId],..."),
            Valid::NonEmpty => f.write_str("non-empty string"),
        }
    }
}
