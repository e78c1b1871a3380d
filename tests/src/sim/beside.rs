//! What lies beside a log on a disk: the epochs that its checkpoint names, and the snapshots of its producers.
//!
//! Read here from Kafka's formats anew, so that the broker's own reading is not asked about itself.

use std::path::Path;

use ballast_log::disk::Disk;
use ballast_wire::{LeaderEpoch, Offset, ProducerId};

use super::machine::Machine;

/// Bytes of a snapshot before its first producer, and of each producer.
const HEADER_BYTES: usize = 10;
const PRODUCER_BYTES: usize = 46;
/// What the checksum of a snapshot covers begins here.
const CHECKED_FROM: usize = 6;

/// What is beside one log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beside {
    /// Leader epochs and where they begin, as `leader-epoch-checkpoint` has them.
    pub epochs: Vec<(LeaderEpoch, Offset)>,
    /// By the offset before which it was made: the producers of a snapshot, and the last offset of each.
    pub snapshots: Vec<(Offset, Vec<(ProducerId, Offset)>)>,
}

impl Beside {
    /// Reads the folder of a log. Files that a crash left torn are none, for the broker too.
    #[must_use]
    pub fn read(machine: &Machine, folder: &Path) -> Beside {
        let disk = machine.disk();
        let epochs = disk.peek(folder.join("leader-epoch-checkpoint")).unwrap_or_default();
        let mut beside = Beside { epochs: epochs_of(&String::from_utf8_lossy(&epochs)), snapshots: Vec::new() };
        for file in disk.list(folder).unwrap_or_default() {
            let Some(base) = file.name.strip_suffix(".snapshot").and_then(|base| base.parse().ok()) else { continue };
            let bytes = disk.peek(folder.join(&file.name)).unwrap_or_default();
            beside.snapshots.extend(producers_of(&bytes).map(|producers| (base, producers)));
        }
        beside
    }
}

/// The lines behind version and count.
fn epochs_of(text: &str) -> Vec<(LeaderEpoch, Offset)> {
    let entry = |line: &str| {
        let (epoch, start) = line.split_once(' ')?;
        Some((epoch.parse().ok()?, start.parse().ok()?))
    };
    text.lines().skip(2).filter_map(entry).collect()
}

/// `None` for what does not match its checksum.
fn producers_of(bytes: &[u8]) -> Option<Vec<(ProducerId, Offset)>> {
    let stored = u32::from_be_bytes(bytes.get(2..CHECKED_FROM)?.try_into().ok()?);
    if stored != crc32c(&bytes[CHECKED_FROM..]) {
        return None;
    }
    let producers = bytes.get(HEADER_BYTES..)?.chunks_exact(PRODUCER_BYTES).map(|entry| {
        let number = |at: usize| i64::from_be_bytes(entry[at..at + 8].try_into().expect("8 of 46 bytes"));
        (number(0), number(14))
    });
    Some(producers.collect())
}

/// CRC-32C bit by bit: the files are small.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_and_producers_are_read_from_kafkas_formats() {
        assert_eq!(epochs_of("0\n2\n3 0\n5 17\n"), [(3, 0), (5, 17)]);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        let mut bytes = vec![0; HEADER_BYTES + PRODUCER_BYTES];
        bytes[HEADER_BYTES + 7] = 9;
        bytes[HEADER_BYTES + 21] = 4;
        let crc = crc32c(&bytes[CHECKED_FROM..]);
        bytes[2..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
        assert_eq!(producers_of(&bytes), Some(vec![(9, 4)]));
        bytes[HEADER_BYTES + 21] = 5;
        assert_eq!(producers_of(&bytes), None, "a torn one is none");
    }
}
