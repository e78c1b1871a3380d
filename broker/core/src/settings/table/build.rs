//! The words that the tables are written in.

use super::super::setting::{Kind, Setting, SynonymOf};

/// A setting of the given type with a default.
macro_rules! with_default {
    ($($name:ident => $kind:ident),* $(,)?) => {
        $(pub(super) const fn $name(name: &'static str, default: &'static str) -> Setting {
            Setting::new(name, Kind::$kind, Some(default))
        })*
    };
}

/// A setting of the given type whose default is null.
macro_rules! or_null {
    ($($name:ident => $kind:ident),* $(,)?) => {
        $(pub(super) const fn $name(name: &'static str) -> Setting {
            Setting::new(name, Kind::$kind, None)
        })*
    };
}

with_default!(boolean => Boolean, string => String, int => Int, short => Short, long => Long, double => Double, list => List, class => Class);
or_null!(string_or_null => String, int_or_null => Int, long_or_null => Long, list_or_null => List, class_or_null => Class, password_or_null => Password);

/// The broker setting `name` gives the default, as it is.
pub(super) const fn same(name: &'static str) -> SynonymOf {
    SynonymOf { name, factor: 1 }
}

/// The broker setting `name` gives the default, multiplied by `factor`.
pub(super) const fn times(name: &'static str, factor: i64) -> SynonymOf {
    SynonymOf { name, factor }
}
