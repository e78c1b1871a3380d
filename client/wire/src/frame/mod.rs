//! Frames: what a connection carries.
//!
//! ```text
//! request   size i32 | header: key i16, version i16, correlation i32, client_id string, [tags] | body
//! response  size i32 | header: correlation i32, [tags]                                         | body
//! ```
//! `size` counts what follows it. The tags are there when the version is flexible ([`ApiKey::is_flexible`]), except in
//! the response to ApiVersions, which never has them.
//!
//! Holds: what is read is bounded by the bytes that are there. A count is refused unless the bytes behind it could hold
//! that many elements, and no reader takes more than [`ROWS_MAX`] elements out of one body.
//!
//! Read next: `key` (the table of keys), `header`, `reader` and `writer` (the primitives that bodies are made of).

mod error;
mod header;
mod key;
mod pieces;
mod reader;
mod writer;

pub use error::WireError;
pub use header::{RequestHeader, encode_response_header, parse_response_header};
pub use key::ApiKey;
pub use pieces::Pieces;
pub use reader::{ROWS_MAX, Reader};
pub use writer::Writer;
pub(crate) use writer::put_varlong;

/// How strings, bytes and arrays announce their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Fixed integers (i16 for strings, i32 for the rest), -1 for null, no tagged fields.
    Plain,
    /// Unsigned varints of length plus one, 0 for null, tagged fields at the end of every struct.
    Flexible,
}

impl Form {
    /// The form of a body whose version is flexible or not.
    #[must_use]
    pub fn of(flexible: bool) -> Form {
        if flexible { Form::Flexible } else { Form::Plain }
    }
}
