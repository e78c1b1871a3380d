//! The envelope of the quorum's own files: what it is, how long, and a checksum.
//!
//! ```text
//! 0 "BLST" | 4 kind u8 | 5 version u8 | 6 length u64 of the payload | 14 CRC-32 u32 of bytes 4 to 13 and the payload | 18 payload
//! ```
//! Holds: bytes that were torn, cut or altered do not open.

use super::codec::CodecError;

const MAGIC: &[u8; 4] = b"BLST";
const VERSION: u8 = 1;
const COVERED_FROM: usize = 4;
const CHECKSUM_AT: usize = 14;
/// Bytes before the payload.
pub(super) const ENVELOPE_BYTES: usize = 18;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Whom this node follows.
    Vote = 1,
    /// Where the log begins.
    Purged = 2,
    /// How far the log is committed.
    Committed = 3,
    /// An image.
    Snapshot = 4,
    /// Whom a new quorum began with.
    Voters = 5,
}

/// Why bytes do not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Not the quorum's, or not this one.
    #[error("this is no such file of Ballast's")]
    Foreign,
    /// Written by a newer Ballast.
    #[error("format {0} is not known: a newer Ballast wrote it")]
    Newer(u8),
    /// Torn, cut or altered.
    #[error("it is damaged: checksum {computed:#010x} differs from the stored {stored:#010x}")]
    Checksum {
        /// What the file says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// Shorter or longer than it says.
    #[error("it is damaged: {has} bytes where {says} are announced")]
    Length {
        /// Bytes of payload that are there.
        has: u64,
        /// Bytes that the envelope announces.
        says: u64,
    },
    /// The envelope is good and what is in it is not.
    #[error("its contents make no sense: {0}")]
    Contents(#[from] CodecError),
}

/// The bytes of a file.
pub(super) fn seal(kind: Kind, payload: &[&[u8]]) -> Vec<u8> {
    let length: usize = payload.iter().map(|part| part.len()).sum();
    let mut out = Vec::with_capacity(ENVELOPE_BYTES + length);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[kind as u8, VERSION]);
    out.extend_from_slice(&(length as u64).to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    for part in payload {
        out.extend_from_slice(part);
    }
    let checksum = checksum_of(&out);
    out[CHECKSUM_AT..ENVELOPE_BYTES].copy_from_slice(&checksum.to_be_bytes());
    out
}

/// The payload of a file.
pub(super) fn open(kind: Kind, bytes: &[u8]) -> Result<&[u8], SealError> {
    let Some((envelope, payload)) = bytes.split_first_chunk::<ENVELOPE_BYTES>() else { return Err(SealError::Foreign) };
    if !envelope.starts_with(MAGIC) || envelope[4] != kind as u8 {
        return Err(SealError::Foreign);
    }
    if envelope[5] != VERSION {
        return Err(SealError::Newer(envelope[5]));
    }
    let says = u64::from_be_bytes(envelope[6..CHECKSUM_AT].try_into().expect("eight bytes"));
    if says != payload.len() as u64 {
        return Err(SealError::Length { has: payload.len() as u64, says });
    }
    let stored = u32::from_be_bytes(envelope[CHECKSUM_AT..].try_into().expect("four bytes"));
    let computed = checksum_of(bytes);
    if stored == computed { Ok(payload) } else { Err(SealError::Checksum { stored, computed }) }
}

fn checksum_of(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[COVERED_FROM..CHECKSUM_AT]);
    hasher.update(&bytes[ENVELOPE_BYTES..]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_as_its_own_kind_only() {
        let bytes = seal(Kind::Vote, &[b"ab", b"", b"c"]);
        assert_eq!(open(Kind::Vote, &bytes), Ok(&b"abc"[..]));
        assert_eq!(open(Kind::Purged, &bytes), Err(SealError::Foreign));
    }

    #[test]
    fn no_flipped_bit_and_no_cut_goes_unnoticed() {
        let bytes = seal(Kind::Snapshot, &[b"the payload"]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            open(Kind::Snapshot, &flipped).unwrap_err();
        }
        for cut in 0..bytes.len() {
            open(Kind::Snapshot, &bytes[..cut]).unwrap_err();
        }
        open(Kind::Snapshot, &[&bytes[..], &[0]].concat()).unwrap_err();
    }
}
