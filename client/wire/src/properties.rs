//! Java's properties syntax: what configuration files of brokers and clients, and `meta.properties`, are written in.
//!
//! ```text
//! # comment      ! comment
//! key = value    key: value    key value        first unescaped '=', ':' or blank ends the key
//! long = a,\
//!        b                                      an odd number of backslashes joins lines; leading blanks are dropped
//! \t \n \r \f \uXXXX, and \x for any other x
//! ```

/// A line that is not properties syntax.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: \\u must be followed by four hexadecimal digits")]
pub struct PropertiesError {
    /// Number of the line that the entry begins on, from 1.
    pub line: usize,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Number of the line that it begins on, from 1.
    pub line: usize,
    /// What is before the separator, without escapes.
    pub key: String,
    /// What is after it; empty if there is none.
    pub value: String,
}

/// The entries of the text, in order; a key may come twice (the last one counts).
///
/// # Errors
/// A malformed `\u` escape: the only thing that Java refuses.
pub fn parse(text: &str) -> Result<Vec<Property>, PropertiesError> {
    let mut properties = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let line = line.trim_start_matches(is_blank);
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = line.to_owned();
        while continues(&whole) {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(next.trim_start_matches(is_blank));
        }
        let line = at + 1;
        let (key, value) = pair(&whole).ok_or(PropertiesError { line })?;
        properties.push(Property { line, key, value });
    }
    Ok(properties)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

fn continues(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}

fn pair(line: &str) -> Option<(String, String)> {
    let end = key_end(line);
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(is_blank);
    Some((unescape(key)?, unescape(rest)?))
}

fn key_end(line: &str) -> usize {
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if !escaped && (is_blank(c) || c == '=' || c == ':') {
            return at;
        }
        escaped = c == '\\' && !escaped;
    }
    line.len()
}

fn unescape(text: &str) -> Option<String> {
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
            Some('u') => out.push(utf16(&mut chars)?),
            Some(other) => out.push(other),
            None => {}
        }
    }
    Some(out)
}

/// One character from `\uXXXX`, or from two of them where Java writes a pair of surrogates.
fn utf16(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let mut unit = || -> Option<u16> {
        let hex: String = chars.by_ref().take(4).collect();
        let all_hex = hex.len() == 4 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        if all_hex { u16::from_str_radix(&hex, 16).ok() } else { None }
    };
    let first = unit()?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some(char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    let mut ahead = chars.clone();
    if (ahead.next(), ahead.next()) != (Some('\\'), Some('u')) {
        return Some(char::REPLACEMENT_CHARACTER);
    }
    *chars = ahead;
    let hex: String = chars.by_ref().take(4).collect();
    let second = u16::from_str_radix(&hex, 16).ok()?;
    Some(char::decode_utf16([first, second]).next()?.unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let properties = parse(text).expect("the text is valid").into_iter();
        properties.map(|property| (property.key, property.value)).collect()
    }

    fn one(text: &str) -> (String, String) {
        let mut pairs = pairs(text);
        assert_eq!(pairs.len(), 1, "{text:?} gave {pairs:?}");
        pairs.remove(0)
    }

    fn pair_of(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn keys_end_at_the_first_free_separator() {
        for text in ["a=b", "a = b", "a: b", "  a b", "a\t:\tb", "a=b\r\n"] {
            assert_eq!(one(text), pair_of("a", "b"), "{text:?}");
        }
        assert_eq!(one("a\\=x=b"), pair_of("a=x", "b"));
        assert_eq!(one("listeners=PLAINTEXT://:9092"), pair_of("listeners", "PLAINTEXT://:9092"));
        assert_eq!(one("empty="), pair_of("empty", ""));
        assert_eq!(one("alone"), pair_of("alone", ""));
        assert_eq!(one("a==b"), pair_of("a", "=b"));
    }

    #[test]
    fn a_trailing_backslash_joins_lines_and_an_escaped_one_does_not() {
        assert_eq!(one("a=b,\\\n    c"), pair_of("a", "b,c"));
        assert_eq!(pairs("a=b\\\\\nc=d"), [pair_of("a", "b\\"), pair_of("c", "d")]);
        assert_eq!(one("a=b\\"), pair_of("a", "b"));
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        assert_eq!(one("# x=y\n\n   ! z\na=1 # kept\n"), pair_of("a", "1 # kept"));
    }

    #[test]
    fn escapes_are_those_of_java() {
        assert_eq!(one("a=\\u00e9\\t\\q\\\\"), pair_of("a", "é\tq\\"));
        assert_eq!(one("a=\\ud83d\\ude00"), pair_of("a", "😀"));
        assert_eq!(parse("x=1\na=\\u12"), Err(PropertiesError { line: 2 }));
        assert_eq!(parse("a=\\u+123"), Err(PropertiesError { line: 1 }));
    }

    #[test]
    fn an_entry_is_told_with_the_line_that_it_begins_on() {
        let lines: Vec<usize> =
            parse("# x\na=1,\\\n  2\n\nb=3").expect("it is valid").iter().map(|it| it.line).collect();
        assert_eq!(lines, [2, 5]);
    }

    #[test]
    fn broken_escapes_and_ends_do_no_harm() {
        for text in ["a=\\", "a=\\u12", "a=\\uD800", "\\", "=", "a=\\u00e", "a=é\\é", "a=\\ud83d\\u12"] {
            let _ = parse(text);
        }
    }
}
