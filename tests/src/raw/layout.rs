//! The shape of every request in every version, from Apache Kafka's own schemas, and honest bodies made from it.
//!
//! `request_layouts.txt` holds one line for each: key, version, form, layout. `RequestLayouts.java` beside it prints them.
//! ```text
//! b 1 2 4 8   boolean and integers, by their bytes     u   uuid (16 bytes)     s   string     y   bytes or records
//! [x]  array of x      (..)  struct      ?(..)  struct that may be null      {7:x ..}  tagged fields
//! ```
//! An honest body has one element in every array, one byte in every string and a zero in every number. It remembers where
//! its lengths stand, so that a test can falsify each of them in turn.

use ballast_wire::frame::{ApiKey, Form, Writer};

/// The request of one API in one version.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Which API.
    pub key: ApiKey,
    /// In which version.
    pub version: i16,
    form: Form,
    fields: Vec<Field>,
}

#[derive(Debug, Clone)]
enum Field {
    Fixed(usize),
    Text,
    Bytes,
    Array(Box<Field>),
    Struct { fields: Vec<Field>, nullable: bool },
    Tags(Vec<(u32, Field)>),
}

/// What a length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Elements of an array.
    Array,
    /// Bytes of a string.
    Text,
    /// Bytes of bytes.
    Bytes,
    /// Tagged fields, or the bytes of one.
    Tags,
}

/// A length in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Where it stands, in bytes from the start of the body.
    pub at: usize,
    /// What it counts.
    pub kind: Kind,
}

/// Numbers that are not zero where zero would mean something else.
#[derive(Debug, Clone, Copy)]
struct Small {
    byte: u8,
    short: i16,
}

/// A body that any broker can read, and where its lengths stand.
#[derive(Debug, Clone)]
pub struct Honest {
    /// The body.
    pub body: Vec<u8>,
    /// Every length in it.
    pub lengths: Vec<Length>,
    form: Form,
}

/// Every request that a broker may be asked, in every version of Apache Kafka 4.4.
///
/// # Panics
/// If the table is damaged.
#[must_use]
pub fn layouts() -> Vec<Layout> {
    include_str!("request_layouts.txt").lines().map(parse_line).collect()
}

fn parse_line(line: &str) -> Layout {
    let words: Vec<&str> = line.split(' ').collect();
    let [key, version, form, layout] = words[..] else { panic!("not a layout: {line}") };
    let mut letters = layout.bytes().peekable();
    let Field::Struct { fields, .. } = parse(&mut letters) else { panic!("not a struct: {line}") };
    Layout {
        key: ApiKey(key.parse().expect("a key is a number")),
        version: version.parse().expect("a version is a number"),
        form: Form::of(form == "flexible"),
        fields,
    }
}

type Letters<'a> = std::iter::Peekable<std::str::Bytes<'a>>;

fn parse(letters: &mut Letters<'_>) -> Field {
    match letters.next().expect("a field has a letter") {
        b'b' | b'1' => Field::Fixed(1),
        b'2' => Field::Fixed(2),
        b'4' => Field::Fixed(4),
        b'8' => Field::Fixed(8),
        b'u' => Field::Fixed(16),
        b's' => Field::Text,
        b'y' => Field::Bytes,
        b'[' => {
            let element = parse(letters);
            assert_eq!(letters.next(), Some(b']'), "an array has one kind of element");
            Field::Array(Box::new(element))
        }
        b'(' => Field::Struct { fields: parse_until(letters, b')'), nullable: false },
        b'?' => {
            assert_eq!(letters.next(), Some(b'('), "only structs are marked as nullable");
            Field::Struct { fields: parse_until(letters, b')'), nullable: true }
        }
        b'{' => Field::Tags(parse_tags(letters)),
        other => panic!("{:?} is no letter of a layout", char::from(other)),
    }
}

fn parse_until(letters: &mut Letters<'_>, end: u8) -> Vec<Field> {
    let mut fields = Vec::new();
    while letters.next_if_eq(&end).is_none() {
        fields.push(parse(letters));
    }
    fields
}

fn parse_tags(letters: &mut Letters<'_>) -> Vec<(u32, Field)> {
    let mut tags = Vec::new();
    while letters.next_if_eq(&b'}').is_none() {
        let mut tag = 0;
        while let Some(digit) = letters.next_if(u8::is_ascii_digit) {
            tag = tag * 10 + u32::from(digit - b'0');
        }
        assert_eq!(letters.next(), Some(b':'), "a tag is followed by its field");
        tags.push((tag, parse(letters)));
    }
    tags
}

impl Layout {
    /// A body with one element in every array.
    #[must_use]
    pub fn honest(&self) -> Honest {
        let mut out = Honest { body: Vec::new(), lengths: Vec::new(), form: self.form };
        let small = Small {
            // A Produce with acks=0 is not answered: its one number of two bytes is the acks.
            short: i16::from(self.key == ApiKey::PRODUCE),
            // An ACL is of some kind: 3 is a group, literally named, that may be read.
            byte: if (ApiKey::DESCRIBE_ACLS..=ApiKey::DELETE_ACLS).contains(&self.key) { 3 } else { 0 },
        };
        for field in &self.fields {
            out.put(field, small);
        }
        out
    }
}

impl Honest {
    fn put(&mut self, field: &Field, small: Small) {
        match field {
            Field::Fixed(2) => self.body.extend(small.short.to_be_bytes()),
            Field::Fixed(1) => self.body.push(small.byte),
            Field::Fixed(bytes) => self.body.extend(vec![0; *bytes]),
            Field::Text => {
                self.length(Kind::Text, 1);
                self.body.push(b'a');
            }
            Field::Bytes => {
                self.length(Kind::Bytes, 1);
                self.body.push(0);
            }
            Field::Array(element) => {
                self.length(Kind::Array, 1);
                self.put(element, small);
            }
            Field::Struct { fields, nullable } => {
                if *nullable {
                    self.body.push(1);
                }
                for field in fields {
                    self.put(field, small);
                }
            }
            Field::Tags(tags) => {
                self.length(Kind::Tags, tags.len() as u32);
                for (tag, field) in tags {
                    self.put_tag(*tag, field, small);
                }
            }
        }
    }

    fn put_tag(&mut self, tag: u32, field: &Field, small: Small) {
        self.body.push(u8::try_from(tag).expect("tags are small"));
        let mut inner = Honest { body: Vec::new(), lengths: Vec::new(), form: self.form };
        inner.put(field, small);
        assert!(inner.body.len() < 0x80, "a tagged field of {} bytes", inner.body.len());
        self.lengths.push(Length { at: self.body.len(), kind: Kind::Tags });
        self.body.push(inner.body.len() as u8);
        let start = self.body.len();
        self.lengths.extend(inner.lengths.iter().map(|length| Length { at: start + length.at, ..*length }));
        self.body.extend(inner.body);
    }

    fn length(&mut self, kind: Kind, value: u32) {
        self.lengths.push(Length { at: self.body.len(), kind });
        match (self.form, kind) {
            (_, Kind::Tags) => self.body.push(value as u8),
            (Form::Flexible, _) => self.body.push(value as u8 + 1),
            (Form::Plain, Kind::Text) => self.body.extend((value as u16).to_be_bytes()),
            (Form::Plain, _) => self.body.extend(value.to_be_bytes()),
        }
    }

    /// The body with one of its lengths falsified. In the flexible form a length is an unsigned varint of the length plus
    /// one, so that -1 is null there as well; the value wraps as it does in other encoders.
    #[must_use]
    pub fn falsified(&self, length: Length, value: i32) -> Vec<u8> {
        let mut writer = Writer::new(self.form);
        let old = match (self.form, length.kind) {
            (Form::Flexible, Kind::Tags) => {
                writer.uvarint(value as u32);
                1
            }
            (Form::Flexible, _) => {
                writer.uvarint((value as u32).wrapping_add(1));
                1
            }
            (Form::Plain, Kind::Text) => {
                writer.i16(value as i16);
                2
            }
            (Form::Plain, _) => {
                writer.i32(value);
                4
            }
        };
        let mut body = self.body.clone();
        body.splice(length.at..length.at + old, writer.finish());
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::{FetchRequest, MetadataRequest};
    use kafka_protocol::protocol::Decodable as _;

    fn honest(key: ApiKey, version: i16) -> Honest {
        let all = layouts();
        all.iter().find(|layout| (layout.key, layout.version) == (key, version)).unwrap().honest()
    }

    #[test]
    fn honest_bodies_are_what_the_schemas_say() {
        for version in 4..=18 {
            let body = honest(ApiKey::FETCH, version).body;
            let mut rest = bytes::Bytes::from(body);
            let request = FetchRequest::decode(&mut rest, version).unwrap();
            assert!(rest.is_empty(), "v{version}");
            assert_eq!((request.topics.len(), request.topics[0].partitions.len()), (1, 1), "v{version}");
        }
        for version in 0..=13 {
            let mut rest = bytes::Bytes::from(honest(ApiKey::METADATA, version).body);
            assert_eq!(MetadataRequest::decode(&mut rest, version).unwrap().topics.unwrap().len(), 1, "v{version}");
            assert!(rest.is_empty(), "v{version}");
        }
    }

    #[test]
    fn a_falsified_length_changes_nothing_else() {
        let honest = honest(ApiKey::METADATA, 1);
        let [array, text] = honest.lengths[..] else { panic!("{:?}", honest.lengths) };
        assert_eq!(honest.body, *b"\0\0\0\x01\0\x01a");
        assert_eq!(honest.falsified(array, i32::MAX), *b"\x7f\xff\xff\xff\0\x01a");
        assert_eq!(honest.falsified(text, -1), *b"\0\0\0\x01\xff\xffa");
    }
}
