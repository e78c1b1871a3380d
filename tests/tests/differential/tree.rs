//! An answer as a tree, read from its `Debug` form, and the walk that compares two of them.
//!
//! Every message of `kafka-protocol` derives `Debug`, so that one small reader serves all of them, those of tomorrow too.
//! A struct is its fields, a newtype is what it wraps, `Some(x)` is x and `None` is `null`.
//!
//! Holds: rows are compared by what they are about (a topic's name, a partition's number), not by their place: Kafka
//! answers many lists in the order of a hash map. A row that is there twice has a number of its own.

use std::fmt;

/// An answer, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    /// A number, a word, a quoted text.
    Leaf(String),
    /// Rows.
    List(Vec<Tree>),
    /// Named fields.
    Struct(Vec<(String, Tree)>),
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Difference {
    /// Where in the answer.
    pub(crate) path: String,
    pub(crate) kafka: String,
    pub(crate) ballast: String,
}

/// Fields that say what a row is about; the first that a row has and that is not empty names it.
const SUBJECTS: &[&str] = &[
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "group_id",
    "resource_name",
    "partition_index",
    "partition_id",
    "partition",
    "index",
    "api_key",
    "node_id",
    "broker_id",
    "id",
    "replica_id",
    "member_id",
];

impl Tree {
    /// Reads what `{:?}` printed.
    ///
    /// # Panics
    /// If it is not in the form that derived implementations print.
    pub(crate) fn of(value: &impl fmt::Debug) -> Tree {
        let text = format!("{value:?}");
        let mut reader = Reader { text: &text, at: 0 };
        let tree = reader.value();
        assert_eq!(reader.at, text.len(), "not read to its end: {text}");
        tree
    }

    /// Calls `change` with every leaf and the name of the field that it is in.
    pub(crate) fn change_leaves(&mut self, field: &str, change: &mut impl FnMut(&str, &mut String)) {
        match self {
            Tree::Leaf(text) => change(field, text),
            Tree::List(rows) => rows.iter_mut().for_each(|row| row.change_leaves(field, change)),
            Tree::Struct(fields) => fields.iter_mut().for_each(|(name, tree)| tree.change_leaves(name, change)),
        }
    }

    /// Every value of the fields with this name.
    pub(crate) fn values_of(&self, field: &str) -> Vec<String> {
        let mut values = Vec::new();
        self.clone().change_leaves("", &mut |name, text| {
            if name == field {
                values.push(text.clone());
            }
        });
        values
    }

    fn short(&self) -> String {
        const SHORT_CHARS: usize = 160;
        let text = self.to_string();
        if text.chars().count() <= SHORT_CHARS {
            return text;
        }
        text.chars().take(SHORT_CHARS).chain("…".chars()).collect()
    }

    fn subject(&self) -> Option<String> {
        let Tree::Struct(fields) = self else { return None };
        let found = SUBJECTS.iter().find_map(|subject| {
            let (_, tree) = fields.iter().find(|(name, _)| name == subject)?;
            let Tree::Leaf(text) = tree else { return None };
            let text = text.trim_matches('"');
            // A topic is the same, whether it goes by its name or by its id.
            let text = text.strip_prefix("<id of ").and_then(|text| text.strip_suffix('>')).unwrap_or(text);
            (!text.is_empty() && text != "null" && text != super::normal::NO_ID).then(|| text.to_owned())
        });
        // A broker and its loggers go by one name.
        match fields.iter().find(|(name, _)| name == "resource_type") {
            Some((_, kind)) => found.map(|name| format!("{kind}:{name}")),
            None => found,
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Leaf(text) => f.write_str(text),
            Tree::List(rows) => {
                f.write_str("[")?;
                for (index, row) in rows.iter().enumerate() {
                    write!(f, "{}{row}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Tree::Struct(fields) => {
                f.write_str("{")?;
                for (index, (name, tree)) in fields.iter().enumerate() {
                    write!(f, "{}{name} {tree}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Every field in which two answers differ.
pub(crate) fn differences(kafka: &Tree, ballast: &Tree) -> Vec<Difference> {
    let mut all = Vec::new();
    compare("", kafka, ballast, &mut all);
    all
}

fn compare(path: &str, kafka: &Tree, ballast: &Tree, all: &mut Vec<Difference>) {
    match (kafka, ballast) {
        (Tree::Struct(theirs), Tree::Struct(ours)) if same_fields(theirs, ours) => {
            for ((name, kafka), (_, ballast)) in theirs.iter().zip(ours) {
                let dot = if path.is_empty() { "" } else { "." };
                compare(&format!("{path}{dot}{name}"), kafka, ballast, all);
            }
        }
        (Tree::List(theirs), Tree::List(ours)) => {
            let (theirs, ours) = (named(theirs), named(ours));
            for (name, kafka) in &theirs {
                let path = format!("{path}[{name}]");
                match ours.iter().find(|(other, _)| other == name) {
                    Some((_, ballast)) => compare(&path, kafka, ballast, all),
                    None => all.push(Difference { path, kafka: kafka.short(), ballast: "absent".to_owned() }),
                }
            }
            for (name, ballast) in ours.iter().filter(|(name, _)| !theirs.iter().any(|(other, _)| other == name)) {
                let path = format!("{path}[{name}]");
                all.push(Difference { path, kafka: "absent".to_owned(), ballast: ballast.short() });
            }
        }
        _ if kafka != ballast => {
            all.push(Difference { path: path.to_owned(), kafka: kafka.short(), ballast: ballast.short() });
        }
        _ => {}
    }
}

fn same_fields(theirs: &[(String, Tree)], ours: &[(String, Tree)]) -> bool {
    theirs.len() == ours.len() && theirs.iter().zip(ours).all(|((one, _), (other, _))| one == other)
}

/// Rows with the names that they are compared by: their subject, or themselves where they are leaves, or their place.
fn named(rows: &[Tree]) -> Vec<(String, &Tree)> {
    let mut names: Vec<(String, &Tree)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let name = match row {
            Tree::Leaf(text) => text.clone(),
            _ => row.subject().unwrap_or_else(|| index.to_string()),
        };
        let again = names.iter().filter(|(other, _)| other.split('#').next() == Some(&name)).count();
        let name = if again > 0 { format!("{name}#{}", again + 1) } else { name };
        names.push((name, row));
    }
    names
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn value(&mut self) -> Tree {
        if self.skip("[") {
            return Tree::List(self.values_until("]"));
        }
        if self.skip("{") {
            return self.map();
        }
        if self.skip("(") {
            return self.tuple();
        }
        if self.rest().starts_with('"') || self.rest().starts_with("b\"") {
            return self.quoted();
        }
        let word = self.word();
        if self.skip(" {") {
            return self.fields();
        }
        if self.skip("(") {
            return self.tuple();
        }
        Tree::Leaf(if word == "None" { "null".to_owned() } else { word })
    }

    fn values_until(&mut self, end: &str) -> Vec<Tree> {
        let mut values = Vec::new();
        while !self.skip(end) {
            values.push(self.value());
            // A tuple of one has a comma at its end.
            self.skip(",");
            self.skip(" ");
        }
        values
    }

    /// What is left of a tuple: itself, or the one value that it wraps.
    fn tuple(&mut self) -> Tree {
        let mut inner = self.values_until(")");
        if inner.len() == 1 { inner.remove(0) } else { Tree::List(inner) }
    }

    fn fields(&mut self) -> Tree {
        let mut fields = Vec::new();
        while !self.skip(" }") {
            self.skip(" ");
            let name = self.word();
            assert!(self.skip(": "), "a field has a value: {}", self.rest());
            fields.push((name, self.value()));
            self.skip(",");
        }
        Tree::Struct(fields)
    }

    fn map(&mut self) -> Tree {
        let mut fields = Vec::new();
        while !self.skip("}") {
            let name = self.value().to_string();
            assert!(self.skip(": "), "a key has a value: {}", self.rest());
            fields.push((name, self.value()));
            self.skip(", ");
        }
        Tree::Struct(fields)
    }

    fn quoted(&mut self) -> Tree {
        let start = self.at;
        self.skip("b");
        self.at += 1;
        loop {
            let end = self.rest().find(['"', '\\']).expect("a quoted text ends");
            self.at += end;
            if self.skip("\"") {
                return Tree::Leaf(self.text[start..self.at].to_owned());
            }
            // A backslash, and what it escapes.
            self.at += 1;
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
    }

    fn word(&mut self) -> String {
        let end = self.rest().find([' ', ',', '(', ')', '[', ']', '{', '}', ':']).unwrap_or(self.rest().len());
        let word = self.rest()[..end].to_owned();
        self.at += end;
        assert!(!word.is_empty(), "a value was expected: {}", self.rest());
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "they are read through Debug")]
    struct Row {
        name: &'static str,
        inner: Option<(i32,)>,
        bytes: bytes::Bytes,
        tags: std::collections::BTreeMap<i32, i64>,
    }

    fn row(name: &'static str, inner: Option<(i32,)>) -> Row {
        Row { name, inner, bytes: bytes::Bytes::from_static(b"a\"\\\0"), tags: [(1, -2)].into() }
    }

    #[test]
    fn what_derived_debug_prints_is_read_back() {
        let tree = Tree::of(&vec![row("a \"b\", {c}", Some((7,))), row("", None)]);
        let text = r#"[{name "a \"b\", {c}", inner 7, bytes b"a\"\\\0", tags {1 -2}}, {name "", inner null, bytes b"a\"\\\0", tags {1 -2}}]"#;
        assert_eq!(tree.to_string(), text);
    }

    #[test]
    fn rows_are_compared_by_their_subject_and_a_difference_has_a_path() {
        let kafka = Tree::of(&vec![row("a", Some((7,))), row("b", None)]);
        let ballast = Tree::of(&vec![row("b", None), row("a", Some((8,))), row("a", None)]);
        let found: Vec<String> =
            differences(&kafka, &ballast).iter().map(|d| format!("{}: {} {}", d.path, d.kafka, d.ballast)).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "[a].inner: 7 8");
        assert!(found[1].starts_with("[a#2]: absent {name"), "{found:?}");
    }
}
