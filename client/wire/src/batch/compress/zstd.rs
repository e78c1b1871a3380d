//! zstd, in one shot.
//!
//! A stream decoder would allocate the window that the frame claims, up to 128 MiB for a body of a few bytes, and a limit
//! on windows would refuse honest frames of high levels. Decoding straight into the output needs no window; the output
//! grows and the body is decoded again until it fits, a third more work at most.

use zstd::zstd_safe::{self, DCtx};

use super::{Failure, STEP_BYTES};

/// By how much the output grows when it was too small.
const GROWTH: usize = 4;
/// zstd's own default.
const LEVEL: i32 = 3;

pub(super) fn decompress(body: &[u8], limit_bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut context = DCtx::create();
    let mut room = first_room(body).min(limit_bytes);
    loop {
        let mut out = Vec::with_capacity(room);
        match context.decompress(&mut out, body) {
            Ok(_) if out.len() <= limit_bytes => return Ok(out),
            Ok(_) => return Err(Failure::TooLarge),
            Err(code) if !is_too_small(code) => return Err(Failure::Bad),
            Err(_) if room >= limit_bytes => return Err(Failure::TooLarge),
            // A frame may claim to be empty and not be.
            Err(_) => room = room.saturating_mul(GROWTH).max(STEP_BYTES).min(limit_bytes),
        }
    }
}

/// What to try first: the size that the frame claims as long as it is plausible, a few times the body otherwise.
fn first_room(body: &[u8]) -> usize {
    let plausible = body.len().saturating_mul(2 * GROWTH).max(STEP_BYTES);
    match zstd_safe::get_frame_content_size(body) {
        Ok(Some(claimed)) => usize::try_from(claimed).map_or(plausible, |claimed| claimed.min(plausible)),
        _ => body.len().saturating_mul(GROWTH).max(STEP_BYTES),
    }
}

fn is_too_small(code: usize) -> bool {
    zstd_safe::get_error_name(code) == "Destination buffer is too small"
}

pub(super) fn compress(raw: &[u8], level: Option<i32>, out: &mut Vec<u8>) {
    let level = level.unwrap_or(LEVEL).clamp(zstd_safe::min_c_level(), zstd_safe::max_c_level());
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
    zstd_safe::compress(&mut compressed, raw, level)
        .map_err(zstd_safe::get_error_name)
        .expect("the output has room for the worst case");
    out.extend_from_slice(&compressed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_frame_without_a_pledged_size_opens() {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 19).unwrap();
        encoder.write_all(&[7; 500_000]).unwrap();
        let body = encoder.finish().unwrap();
        assert_eq!(zstd_safe::get_frame_content_size(&body).ok().flatten(), None);
        assert_eq!(decompress(&body, 500_000).unwrap(), [7; 500_000]);
        assert_eq!(decompress(&body, 499_999), Err(Failure::TooLarge));
    }

    #[test]
    fn a_frame_of_the_highest_level_opens_though_its_window_is_large() {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 22).unwrap();
        encoder.write_all(b"few bytes, window of 128 MiB").unwrap();
        assert_eq!(decompress(&encoder.finish().unwrap(), 100).unwrap(), b"few bytes, window of 128 MiB");
    }

    #[test]
    fn a_frame_that_claims_to_be_empty_and_is_not_is_refused() {
        let body = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x00, 0x09, 0x00, 0x00, b'A'];
        assert_eq!(decompress(&body, 1 << 20), Err(Failure::Bad));
    }

    #[test]
    fn the_name_of_the_error_that_asks_for_more_room_is_known() {
        let mut body = Vec::new();
        compress(&[1; 1000], None, &mut body);
        let code = zstd_safe::decompress(&mut [0u8; 10][..], &body).unwrap_err();
        assert!(is_too_small(code), "{}", zstd_safe::get_error_name(code));
    }
}
