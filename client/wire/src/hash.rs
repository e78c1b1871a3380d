//! Key hashes, the partition that each client's default makes of them, and the hash that Kafka places groups with.
//!
//! Clients disagree: Java and librdkafka place the same key on different partitions unless told otherwise. All functions
//! here are total; randomness for keyless records is the caller's, and `None` means "the client picks any".

/// murmur2 as Kafka seeds it.
#[must_use]
pub fn murmur2(key: &[u8]) -> u32 {
    murmur2::murmur2(key, murmur2::KAFKA_SEED)
}

/// CRC-32 (IEEE), librdkafka's default.
#[must_use]
pub fn crc32(key: &[u8]) -> u32 {
    crc32fast::hash(key)
}

/// FNV-1a, 32 bits.
#[must_use]
pub fn fnv1a(key: &[u8]) -> u32 {
    key.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Java's `String.hashCode`, over UTF-16 units: it says which partition a group lives in, and which fetcher has a partition.
#[must_use]
pub fn java_string(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Sign bit off: Java's `toPositive`.
fn positive(hash: u32) -> u32 {
    hash & 0x7fff_ffff
}

/// How a client turns a key into a partition. Names are the clients' own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyPartitioner {
    /// Java's default, and that of kafkajs, kafka-python and franz-go: murmur2 without its sign; a null key goes anywhere,
    /// an empty one is hashed. librdkafka's `murmur2_random`.
    Java,
    /// librdkafka's default: CRC-32; null and empty keys go anywhere.
    ConsistentRandom,
    /// librdkafka's `consistent`: CRC-32; a null key counts as empty, which is partition 0.
    Consistent,
    /// librdkafka's `murmur2`: as Java, but a null key counts as empty.
    Murmur2,
    /// librdkafka's `fnv1a`: FNV-1a without its sign; a null key counts as empty.
    Fnv1a,
    /// librdkafka's `fnv1a_random`: as `Fnv1a`, but a null key goes anywhere.
    Fnv1aRandom,
    /// Sarama's default: FNV-1a, remainder with sign, then the sign goes; a null key goes anywhere.
    Sarama,
}

impl KeyPartitioner {
    /// Every partitioner.
    pub const ALL: [KeyPartitioner; 7] = [
        KeyPartitioner::Java,
        KeyPartitioner::ConsistentRandom,
        KeyPartitioner::Consistent,
        KeyPartitioner::Murmur2,
        KeyPartitioner::Fnv1a,
        KeyPartitioner::Fnv1aRandom,
        KeyPartitioner::Sarama,
    ];

    /// The name that users give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            KeyPartitioner::Java => "murmur2_random",
            KeyPartitioner::ConsistentRandom => "consistent_random",
            KeyPartitioner::Consistent => "consistent",
            KeyPartitioner::Murmur2 => "murmur2",
            KeyPartitioner::Fnv1a => "fnv1a",
            KeyPartitioner::Fnv1aRandom => "fnv1a_random",
            KeyPartitioner::Sarama => "sarama",
        }
    }

    /// The partition of `key` among `partitions`, `None` where the client picks any.
    ///
    /// # Panics
    /// If there are no partitions.
    #[must_use]
    pub fn partition(self, key: Option<&[u8]>, partitions: u32) -> Option<u32> {
        assert!(partitions > 0, "a key needs at least one partition, {self:?} got {partitions}");
        match self {
            KeyPartitioner::Java => key.map(|key| positive(murmur2(key)) % partitions),
            KeyPartitioner::Murmur2 => Some(positive(murmur2(key.unwrap_or_default())) % partitions),
            KeyPartitioner::Consistent => Some(crc32(key.unwrap_or_default()) % partitions),
            KeyPartitioner::ConsistentRandom => key.filter(|key| !key.is_empty()).map(|key| crc32(key) % partitions),
            KeyPartitioner::Fnv1a => Some(fnv1a_magnitude(key.unwrap_or_default()) % partitions),
            KeyPartitioner::Fnv1aRandom => key.map(|key| fnv1a_magnitude(key) % partitions),
            KeyPartitioner::Sarama => key.map(|key| sarama(key, partitions)),
        }
    }
}

/// FNV-1a with a negative value negated, as librdkafka does (i32::MIN stays, and counts as 2³¹).
fn fnv1a_magnitude(key: &[u8]) -> u32 {
    (fnv1a(key) as i32).unsigned_abs()
}

/// The remainder is taken with the sign: not the same as that of the magnitude for i32::MIN alone.
fn sarama(key: &[u8], partitions: u32) -> u32 {
    (i64::from(fnv1a(key) as i32) % i64::from(partitions)).unsigned_abs() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "this is another string with more length to it perhaps";

    #[test]
    fn strings_hash_as_in_java() {
        let known = [("", 0), ("a", 97), ("group", 98_629_247), ("polygenelubricants", i32::MIN), ("ü€😀", 17_318_035)];
        for (text, hash) in known {
            assert_eq!(java_string(text), hash, "{text}");
        }
    }

    #[test]
    fn murmur2_equals_that_of_librdkafka() {
        for (key, hash) in [
            ("", 0x106e_08d9u32),
            ("kafka", 0xd067_cf64),
            ("giberish123456789", 0x8f55_2b0c),
            ("1234", 0x9fc9_7b14),
            ("234", 0xe7c0_09ca),
            ("34", 0x8739_30da),
            ("4", 0x5a4b_5ca1),
            ("PreAmbleWillBeRemoved,ThePrePartThatIs", 0x7842_4f1c),
        ] {
            assert_eq!(murmur2(key.as_bytes()), hash, "{key:?}");
        }
        for (key, masked) in [("23456", 0x058d_780f), (LONG, 0x4f77_03da), ("hejsan", 0x5ec1_9395)] {
            assert_eq!(positive(murmur2(key.as_bytes())), masked, "{key:?}");
        }
    }

    #[test]
    fn murmur2_equals_that_of_java_and_javascript() {
        for (key, signed) in [
            ("21", -973_932_308i32),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
            ("0", 971_027_396),
            ("1", -1_993_445_489),
            ("128", -326_012_175),
            ("100:48069", 1_009_543_857),
        ] {
            assert_eq!(murmur2(key.as_bytes()) as i32, signed, "{key:?}");
        }
    }

    #[test]
    fn java_partitions_equal_those_of_kafka_python() {
        let place = |key: &[u8], partitions| KeyPartitioner::Java.partition(Some(key), partitions).unwrap();
        for (key, partition) in
            [(&b""[..], 681), (b"a", 524), (b"ab", 434), (b"abc", 107), (b"123456789", 566), (b"\x00 ", 742)]
        {
            assert_eq!(place(key, 1000), partition, "{key:?}");
        }
        for (key, partitions, partition) in [
            ("wu", 10, 0),
            ("100:48069", 12, 9),
            ("TT0124", 15, 10),
            ("foobar", 1000, 166),
            ("21", 10, 0),
            ("a-little-bit-long-string", 12, 8),
            ("", 12, 9),
        ] {
            assert_eq!(place(key.as_bytes(), partitions), partition, "{key:?}");
        }
    }

    #[test]
    fn crc32_equals_that_of_librdkafka() {
        for (key, hash) in
            [("", 0u32), ("23456", 0xb1b4_51d7), (LONG, 0xb015_0df7), ("hejsan", 0xd077_037e), ("kafka", 0x5bbc_7517)]
        {
            assert_eq!(crc32(key.as_bytes()), hash, "{key:?}");
        }
        assert_eq!(KeyPartitioner::ConsistentRandom.partition(Some(b"TT0124"), 15), Some(9));
    }

    #[test]
    fn fnv1a_equals_that_of_librdkafka() {
        for (key, magnitude) in [
            ("", 0x7ee3_623bu32),
            ("kafka", 0x0d33_c4e1),
            ("giberish123456789", 0x77a5_8295),
            ("1234", 0x023b_dd03),
            ("234", 0x2dea_3cd2),
            ("34", 0x740f_a83e),
            ("4", 0x310c_a263),
            ("23456", 0x27e6_f469),
            (LONG, 0x155e_3e5f),
            ("hejsan", 0x17b1_e27a),
        ] {
            assert_eq!(fnv1a_magnitude(key.as_bytes()), magnitude, "{key:?}");
            assert_eq!(KeyPartitioner::Sarama.partition(Some(key.as_bytes()), 7), Some(magnitude % 7), "{key:?}");
        }
    }

    #[test]
    fn a_key_that_decides_nothing_goes_where_each_client_sends_it() {
        let of = |key: Option<&[u8]>| KeyPartitioner::ALL.map(|partitioner| partitioner.partition(key, 12));
        let (murmur2, fnv1a) = (Some(9), Some(0x7ee3_623b % 12));
        assert_eq!(of(None), [None, None, Some(0), murmur2, fnv1a, None, None]);
        assert_eq!(of(Some(b"")), [murmur2, None, Some(0), murmur2, fnv1a, fnv1a, fnv1a]);
    }
}
