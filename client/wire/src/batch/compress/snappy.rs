//! snappy: raw, as librdkafka sends it, or in xerial's blocks, as Java does.
//!
//! ```text
//! xerial  82 'SNAPPY' 00 | version i32 = 1 | compatible i32 = 1 | { length i32, raw snappy }*
//! ```

use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use super::Failure;

const MAGIC: [u8; 8] = *b"\x82SNAPPY\0";
const PREAMBLE_BYTES: usize = 16;
/// Java's block.
const BLOCK_BYTES: usize = 32 * 1024;
/// No raw snappy grows by more: its best element makes 64 bytes of 3.
const GROWTH_MAX: usize = 22;

pub(super) fn decompress(body: &[u8], limit_bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    if !body.starts_with(&MAGIC) {
        block(body, limit_bytes, &mut out)?;
        return Ok(out);
    }
    let mut rest = body.get(PREAMBLE_BYTES..).ok_or(Failure::Bad)?;
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(Failure::Bad)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| Failure::Bad)?;
        let (raw, after) = after.split_at_checked(length).ok_or(Failure::Bad)?;
        block(raw, limit_bytes, &mut out)?;
        rest = after;
    }
    Ok(out)
}

fn block(raw: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    let claimed = decompress_len(raw).map_err(|_| Failure::Bad)?;
    if claimed > raw.len() * GROWTH_MAX {
        return Err(Failure::Bad);
    }
    if claimed > limit_bytes - out.len() {
        return Err(Failure::TooLarge);
    }
    let start = out.len();
    out.resize(start + claimed, 0);
    Decoder::new().decompress(raw, &mut out[start..]).map_err(|_| Failure::Bad)?;
    Ok(())
}

pub(super) fn compress(raw: &[u8], out: &mut Vec<u8>) {
    out.extend(MAGIC);
    out.extend(1i32.to_be_bytes());
    out.extend(1i32.to_be_bytes());
    let mut encoder = Encoder::new();
    for chunk in raw.chunks(BLOCK_BYTES) {
        let length_at = out.len();
        let start = length_at + 4;
        out.resize(start + max_compress_len(chunk.len()), 0);
        let length = encoder.compress(chunk, &mut out[start..]).expect("the output has room for the worst case");
        out.truncate(start + length);
        out[length_at..start].copy_from_slice(&(length as i32).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_snappy_opens_as_well_as_xerial_blocks() {
        let raw = b"the same bytes, the same bytes, the same bytes".repeat(2000);
        let from_librdkafka = Encoder::new().compress_vec(&raw).unwrap();
        assert_eq!(decompress(&from_librdkafka, raw.len()).unwrap(), raw);
        let mut from_java = Vec::new();
        compress(&raw, &mut from_java);
        assert_eq!(decompress(&from_java, raw.len()).unwrap(), raw);
    }

    #[test]
    fn a_claim_that_cannot_be_true_is_refused_before_anything_grows() {
        // Four bytes that claim to be 2 GiB.
        assert_eq!(decompress(&[0xff, 0xff, 0xff, 0xff, 0x07], usize::MAX), Err(Failure::Bad));
    }

    #[test]
    fn block_lengths_are_bounded_by_the_body() {
        for length in [i32::MAX, -1, 5] {
            let mut body = MAGIC.to_vec();
            body.extend([0, 0, 0, 1, 0, 0, 0, 1]);
            body.extend(length.to_be_bytes());
            body.extend([0; 4]);
            assert_eq!(decompress(&body, 1 << 20), Err(Failure::Bad), "length {length}");
        }
        assert_eq!(decompress(&MAGIC, 100), Err(Failure::Bad));
    }
}
