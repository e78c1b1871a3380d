//! Many partitions in one line: a few by name, all by number.
//!
//! Holds: a line names the first [`NAMED_MAX`] that were pushed, in that order, and counts the others.

use std::fmt;

/// Partitions that a line names.
const NAMED_MAX: usize = 10;

/// Partitions to which the same thing has happened, each with what is to be said of it alone.
#[derive(Debug, Default)]
pub(crate) struct Named {
    first: Vec<String>,
    count: usize,
}

impl Named {
    /// One more. `name` is called only if there is room for it.
    pub(crate) fn push(&mut self, name: impl FnOnce() -> String) {
        if self.first.len() < NAMED_MAX {
            self.first.push(name());
        }
        self.count += 1;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.first.join(", "))?;
        match self.count - self.first.len() {
            0 => Ok(()),
            others => write!(f, ", and {others} more"),
        }
    }
}

impl FromIterator<String> for Named {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Named {
        let mut named = Named::default();
        names.into_iter().for_each(|name| named.push(|| name));
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_first_and_counts_the_others() {
        let of = |count: usize| (0..count).map(|index| format!("t-{index}")).collect::<Named>();
        assert!(of(0).is_empty());
        assert_eq!(of(2).to_string(), "t-0, t-1");
        assert!(of(NAMED_MAX).to_string().ends_with(", t-9"));
        let many = of(60);
        assert_eq!(many.count(), 60);
        assert!(many.to_string().ends_with(", t-9, and 50 more"), "{many}");
    }
}
