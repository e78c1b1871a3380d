//! Why bytes are not the message that they claim to be. Always the sender's fault.

/// A body or header that cannot be read. `at` is a position in bytes from the start of what the reader was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end inside a field.
    #[error("{need} more bytes wanted at byte {at}, {have} are left")]
    Truncated {
        /// Where the field begins.
        at: usize,
        /// Bytes that it needs.
        need: usize,
        /// Bytes that are left.
        have: usize,
    },
    /// More elements than the bytes that are left could hold, or than one body may have.
    #[error("{count} elements announced at byte {at}, at most {max} are possible")]
    TooMany {
        /// Where the count stands.
        at: usize,
        /// What it says.
        count: u64,
        /// What could be.
        max: usize,
    },
    /// A null where the schema has none.
    #[error("null at byte {at}, where it is not allowed")]
    Null {
        /// Where the length stands.
        at: usize,
    },
    /// A string longer than any may be.
    #[error("a string of {len} bytes at byte {at}, at most {max} are allowed", max = i16::MAX)]
    LongString {
        /// Where the length stands.
        at: usize,
        /// What it says.
        len: usize,
    },
    /// A varint with more bits than its type.
    #[error("a varint at byte {at} does not end")]
    Varint {
        /// Where it begins.
        at: usize,
    },
    /// A version that this codec does not know.
    #[error("version {version} is not one of {min} to {max}")]
    Version {
        /// What was asked for.
        version: i16,
        /// The oldest known.
        min: i16,
        /// The newest known.
        max: i16,
    },
    /// A key that names no API.
    #[error("api key {0} is unknown")]
    UnknownKey(i16),
}
