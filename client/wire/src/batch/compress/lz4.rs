//! The lz4 frame format, read block by block.
//!
//! ```text
//! magic 04224d18 | flags u8, block size u8, [content size u64], [dictionary id u32], header checksum u8
//!   | { length u32 le (top bit: stored as is), block, [checksum u32] }* | 0u32 | [content checksum u32]
//! ```
//! A library's frame reader would allocate the largest block that the header claims (4 MiB, twice) for any body. Here a
//! block's room follows from its own length. Checksums of the frame are passed over: the batch has a better one.

use lz4_flex::block::decompress_into_with_dict;
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use std::io::Write;

use super::Failure;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const VERSION_MASK: u8 = 0b1100_0000;
const VERSION: u8 = 0b0100_0000;
const BLOCK_CHECKSUMS: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const DICTIONARY: u8 = 1;
const STORED: u32 = 1 << 31;
/// How far back a match may reach.
const WINDOW_BYTES: usize = 64 * 1024;
/// A byte of a block stands for at most so many.
const GROWTH_MAX: usize = 255;

pub(super) fn decompress(body: &[u8], limit_bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut rest = body.strip_prefix(&MAGIC).ok_or(Failure::Bad)?;
    let [flags, size, ..] = *rest else {
        return Err(Failure::Bad);
    };
    if flags & VERSION_MASK != VERSION || flags & DICTIONARY != 0 {
        return Err(Failure::Bad);
    }
    // 4 to 7: 64 KiB to 4 MiB.
    let block_bytes_max = match (size >> 4) & 0b111 {
        code @ 4..=7 => 1usize << (2 * code + 8),
        _ => return Err(Failure::Bad),
    };
    let header_bytes = 3 + if flags & CONTENT_SIZE != 0 { 8 } else { 0 };
    rest = rest.get(header_bytes..).ok_or(Failure::Bad)?;

    let mut out = Vec::new();
    loop {
        let (word, after) = rest.split_first_chunk::<4>().ok_or(Failure::Bad)?;
        let word = u32::from_le_bytes(*word);
        if word == 0 {
            return Ok(out);
        }
        let (block, after) = after.split_at_checked((word & !STORED) as usize).ok_or(Failure::Bad)?;
        if word & STORED != 0 {
            store(block, limit_bytes, &mut out)?;
        } else {
            expand(block, block_bytes_max, limit_bytes, &mut out)?;
        }
        let checksum_bytes = if flags & BLOCK_CHECKSUMS != 0 { 4 } else { 0 };
        rest = after.get(checksum_bytes..).ok_or(Failure::Bad)?;
    }
}

fn store(block: &[u8], limit_bytes: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    if block.len() > limit_bytes - out.len() {
        return Err(Failure::TooLarge);
    }
    out.extend_from_slice(block);
    Ok(())
}

fn expand(block: &[u8], block_bytes_max: usize, limit_bytes: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
    let start = out.len();
    let possible = block_bytes_max.min(block.len().saturating_mul(GROWTH_MAX));
    let allowed = limit_bytes - start;
    out.resize(start + possible.min(allowed), 0);
    let (done, room) = out.split_at_mut(start);
    // Blocks may be linked: matches then reach into the blocks before. In independent blocks none does.
    let window = &done[start.saturating_sub(WINDOW_BYTES)..];
    match decompress_into_with_dict(block, room, window) {
        Ok(len) => {
            out.truncate(start + len);
            Ok(())
        }
        Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) if allowed < possible => Err(Failure::TooLarge),
        Err(_) => Err(Failure::Bad),
    }
}

/// Independent blocks of 64 KiB without checksums, as Java writes them.
pub(super) fn compress(raw: &[u8], out: &mut Vec<u8>) {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, out);
    encoder.write_all(raw).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(info: FrameInfo, raw: &[u8]) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(raw).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn linked_blocks_checksums_and_every_block_size_open() {
        let raw = b"linked blocks reach back into the one before them. ".repeat(9000);
        for size in [BlockSize::Max64KB, BlockSize::Max256KB, BlockSize::Max1MB, BlockSize::Max4MB] {
            for mode in [BlockMode::Independent, BlockMode::Linked] {
                let info = FrameInfo::new()
                    .block_size(size)
                    .block_mode(mode)
                    .block_checksums(true)
                    .content_checksum(true)
                    .content_size(Some(raw.len() as u64));
                assert_eq!(decompress(&framed(info, &raw), raw.len()).unwrap(), raw, "{size:?} {mode:?}");
            }
        }
    }

    #[test]
    fn bytes_that_do_not_compress_are_stored() {
        let mut state = 1u64;
        let raw: Vec<u8> = (0..100_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let body = framed(FrameInfo::new().block_size(BlockSize::Max64KB), &raw);
        assert_eq!(decompress(&body, raw.len()).unwrap(), raw);
        assert_eq!(decompress(&body, raw.len() - 1), Err(Failure::TooLarge));
    }

    #[test]
    fn a_frame_without_its_end_is_refused() {
        let body = framed(FrameInfo::new(), b"some bytes");
        assert_eq!(decompress(&body[..body.len() - 4], 100), Err(Failure::Bad));
    }
}
