//! The one thing that a coordinator reads in what consumers say of themselves: the topics that they subscribe to.
//!
//! ```text
//! ConsumerProtocolSubscription: i16 version | topics[string] | … (every version begins like version 0)
//! ```
//! Holds: bytes that are none are `None`, whatever their lengths claim.

use std::collections::BTreeSet;

/// Adds the topics of a subscription; `None` if the bytes are none.
pub(super) fn add_topics(bytes: &[u8], topics: &mut BTreeSet<Box<str>>) -> Option<()> {
    let (_version, rest) = bytes.split_first_chunk::<2>()?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    for _ in 0..i32::from_be_bytes(*count) {
        let (length, tail) = rest.split_first_chunk::<2>()?;
        let length = usize::try_from(i16::from_be_bytes(*length)).ok()?;
        let (topic, tail) = tail.split_at_checked(length)?;
        topics.insert(std::str::from_utf8(topic).ok()?.into());
        rest = tail;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_every_version_are_found_and_a_lie_is_no_subscription() {
        let mut topics = BTreeSet::new();
        let v3 = b"\x00\x03\0\0\0\x02\0\x01a\0\x02bc\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff";
        assert_eq!(add_topics(v3, &mut topics), Some(()));
        assert_eq!(topics.iter().map(|topic| &**topic).collect::<Vec<_>>(), ["a", "bc"]);
        for lie in [&b""[..], b"\0\0", b"\0\0\x7f\xff\xff\xff", b"\0\0\0\0\0\x01\xff\xff", b"\0\0\0\0\0\x01\0\x05ab"] {
            assert_eq!(add_topics(lie, &mut BTreeSet::new()), None, "{lie:?}");
        }
    }
}
