//! Java's `.properties` format, as Kafka's client and server files use it.
//!
//! `key=value`, `key: value` or `key value`; `#` and `!` start comments; a backslash at the end continues a line, and
//! escapes separators and characters within one. Later entries win.

use std::collections::BTreeMap;

/// Reads the text of a properties file. Nothing in it can fail: a line without a separator is a key without value.
#[must_use]
pub fn parse_properties(text: &str) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = line.to_owned();
        while ends_with_odd_backslashes(&logical) {
            logical.pop();
            match lines.next() {
                Some(next) => logical.push_str(next.trim_start()),
                None => break,
            }
        }
        let (key, value) = split(&logical);
        properties.insert(unescape(key), unescape(value));
    }
    properties
}

fn ends_with_odd_backslashes(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Splits at the first `=`, `:` or white space that no backslash escapes.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '=' || c == ':' || c.is_whitespace() {
            let value = line[at..].trim_start();
            let value = value.strip_prefix(['=', ':']).unwrap_or(value);
            return (&line[..at], value.trim_start());
        }
    }
    (line, "")
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let digits: String = chars.clone().take(4).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).filter(|_| digits.len() == 4) {
                    Some(c) => {
                        out.push(c);
                        chars.nth(3);
                    }
                    None => out.push('u'),
                }
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_read_as_java_reads_them() {
        let text =
            "# a comment\n! another\n\n a = b \nc:d\ne f\ng\nh\\ i\\==j\\n\\u0041\nlong = 1,\\\n    2\na = last\n";
        let properties = parse_properties(text);
        let got: Vec<_> = properties.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(got, [("a", "last"), ("c", "d"), ("e", "f"), ("g", ""), ("h i=", "j\nA"), ("long", "1,2")]);
    }

    #[test]
    fn broken_escapes_and_ends_do_no_harm() {
        for text in ["a=\\", "a=\\u12", "a=\\uD800", "\\", "=", "a=\\u00e", "a=é\\é"] {
            let _ = parse_properties(text);
        }
    }
}
