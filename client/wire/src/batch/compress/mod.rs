//! Opens and makes the compressed bodies of batches.
//!
//! Holds: opening grows with what really comes out and ends at the caller's limit. Sizes that a body claims (a frame's
//! content size, a window, a block size) are never believed: a body of 20 bytes cannot ask for 100 MiB.
//!
//! Read next: the codec at hand; gzip is here.

mod lz4;
mod snappy;
mod zstd;

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::view::{BatchError, Compression};

/// Smallest step by which an output grows.
const STEP_BYTES: usize = 16 * 1024;

/// Opens a body into at most `limit_bytes`.
///
/// # Errors
/// `TooLarge` when more would come out, `BadBody` when the body is not what its codec makes.
pub fn decompress(codec: Compression, body: &[u8], limit_bytes: usize) -> Result<Bytes, BatchError> {
    let opened = match codec {
        Compression::None if body.len() > limit_bytes => Err(Failure::TooLarge),
        Compression::None => Ok(body.to_vec()),
        Compression::Gzip => gunzip(body, limit_bytes),
        Compression::Snappy => snappy::decompress(body, limit_bytes),
        Compression::Lz4 => lz4::decompress(body, limit_bytes),
        Compression::Zstd => zstd::decompress(body, limit_bytes),
    };
    match opened {
        Ok(bytes) => Ok(bytes.into()),
        Err(Failure::TooLarge) => Err(BatchError::TooLarge(limit_bytes)),
        Err(Failure::Bad) => Err(BatchError::BadBody(codec)),
    }
}

/// Compresses `raw` and appends it to `out`. A `level` matters to gzip (1 to 9) and zstd (up to 22) and is brought into
/// their range; lz4 and snappy have one.
pub fn compress(codec: Compression, level: Option<i32>, raw: &[u8], out: &mut Vec<u8>) {
    match codec {
        Compression::None => out.extend_from_slice(raw),
        Compression::Gzip => {
            let level = level.filter(|level| *level >= 0).map_or(6, |level| level.min(9) as u32);
            let mut encoder = GzEncoder::new(out, flate2::Compression::new(level));
            encoder.write_all(raw).and_then(|()| encoder.try_finish()).expect("writing to memory does not fail");
        }
        Compression::Snappy => snappy::compress(raw, out),
        Compression::Lz4 => lz4::compress(raw, out),
        Compression::Zstd => zstd::compress(raw, level, out),
    }
}

/// Why a body does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    TooLarge,
    Bad,
}

fn gunzip(body: &[u8], limit_bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut decoder = MultiGzDecoder::new(body);
    let mut out = Vec::new();
    loop {
        // One byte more than allowed is enough to know.
        let step = out.len().max(STEP_BYTES).min(limit_bytes + 1 - out.len());
        out.reserve_exact(step);
        let read = decoder.by_ref().take(step as u64).read_to_end(&mut out).map_err(|_| Failure::Bad)?;
        if out.len() > limit_bytes {
            return Err(Failure::TooLarge);
        }
        if read < step {
            return Ok(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODECS: [Compression; 5] =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    fn packed(codec: Compression, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        compress(codec, None, raw, &mut out);
        out
    }

    /// Bytes that compress a little.
    fn sample(len: usize) -> Vec<u8> {
        let mut state = 12345u32;
        (0..len)
            .map(|at| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if at % 3 == 0 { b'x' } else { (state >> 24) as u8 }
            })
            .collect()
    }

    #[test]
    fn every_codec_gives_back_what_it_took() {
        for codec in CODECS {
            for len in [0, 1, 100, 32 * 1024, 64 * 1024 + 1, 300_000] {
                let raw = sample(len);
                let opened = decompress(codec, &packed(codec, &raw), len).unwrap();
                assert_eq!(opened, raw, "{codec:?}, {len} bytes");
            }
        }
    }

    #[test]
    fn the_limit_is_exact() {
        for codec in CODECS {
            let raw = sample(100_000);
            let body = packed(codec, &raw);
            assert!(decompress(codec, &body, 100_000).is_ok(), "{codec:?}");
            assert_eq!(decompress(codec, &body, 99_999), Err(BatchError::TooLarge(99_999)), "{codec:?}");
            assert_eq!(decompress(codec, &body, 0), Err(BatchError::TooLarge(0)), "{codec:?}");
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        for codec in CODECS {
            let body = packed(codec, &vec![0; 20 << 20]);
            assert_eq!(decompress(codec, &body, 1 << 20), Err(BatchError::TooLarge(1 << 20)), "{codec:?}");
        }
    }

    #[test]
    fn no_truncation_and_no_flipped_byte_panics() {
        for codec in &CODECS[1..] {
            let raw = sample(3000);
            let body = packed(*codec, &raw);
            for cut in 0..body.len() {
                let opened = decompress(*codec, &body[..cut], 1 << 20);
                assert!(opened.as_deref() != Ok(&raw[..]) || *codec == Compression::Lz4, "{codec:?} cut at {cut}");
                let mut flipped = body.clone();
                flipped[cut] ^= 0x55;
                let _ = decompress(*codec, &flipped, 1 << 20);
            }
        }
    }

    #[test]
    fn first_bytes_are_those_of_other_clients() {
        let raw = sample(100);
        assert_eq!(packed(Compression::Gzip, &raw)[..3], [0x1f, 0x8b, 0x08]);
        assert_eq!(packed(Compression::Lz4, &raw)[..7], [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
        assert_eq!(packed(Compression::Zstd, &raw)[..4], [0x28, 0xb5, 0x2f, 0xfd]);
        assert_eq!(packed(Compression::Snappy, &raw)[..16], *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01");
    }

    #[test]
    fn levels_outside_the_range_are_brought_into_it() {
        for codec in [Compression::Gzip, Compression::Zstd] {
            for level in [-200_000, -1, 0, 1, 9, 22, i32::MAX] {
                let mut out = Vec::new();
                compress(codec, Some(level), b"some bytes", &mut out);
                assert_eq!(decompress(codec, &out, 100).unwrap()[..], *b"some bytes", "{codec:?} {level}");
            }
        }
    }

    #[test]
    fn gzip_members_one_after_the_other_are_one_body() {
        let body = [packed(Compression::Gzip, b"one "), packed(Compression::Gzip, b"two")].concat();
        assert_eq!(decompress(Compression::Gzip, &body, 100).unwrap()[..], *b"one two");
    }
}
