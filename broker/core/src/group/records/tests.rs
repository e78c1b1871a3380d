//! Records that Apache Kafka 4.4 wrote into `__consumer_offsets`, and what becomes of bytes that nobody wrote.

use ::bytes::Bytes;
use ballast_wire::Uuid;
use proptest::prelude::*;

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0);
    let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Decodes to `record`, and `record` encodes to exactly these bytes.
fn is_what_kafka_wrote(key: &str, value: Option<&str>, record: Record) {
    let (key, value) = (bytes(key), value.map(bytes));
    assert_eq!(Record::decode(&key, value.as_deref()), Ok(Some(record.clone())));
    assert_eq!(record.encode_key(), key);
    assert_eq!(record.encode_value(), value);
    let size = key.len() + value.map_or(0, |value| value.len());
    assert!(size <= record.size_max(), "{size} bytes where {} are expected at most", record.size_max());
}

fn offset(group: &str, partition: PartitionIndex, value: Option<CommittedOffset>) -> Record {
    Record::Offset { group: group.into(), topic: "t".into(), partition, value }
}

fn group(id: &str, value: GroupMetadata) -> Record {
    Record::Group { group: id.into(), value: Some(Box::new(value)) }
}

fn without_members(protocol_type: &str, generation: i32, state_since_ms: i64) -> GroupMetadata {
    GroupMetadata {
        protocol_type: protocol_type.into(),
        generation,
        protocol: None,
        leader: None,
        state_since_ms,
        members: Vec::new(),
    }
}

const TOPIC_ID: &str = "c839dc69a2c84a3193073ebd5f805f6c";

fn topic_id() -> Uuid {
    Uuid(bytes(TOPIC_ID).try_into().expect("16 bytes"))
}

#[test]
fn a_commit_is_written_as_version_4_with_the_topics_id() {
    let value = CommittedOffset {
        offset: 5,
        leader_epoch: 0,
        metadata: "m-1".into(),
        committed_at_ms: 0x01a2_2a3f_f352,
        expires_at_ms: None,
        topic_id: topic_id(),
    };
    let written = format!("0004000000000000000500000000046d2d31000001a22a3ff352010010{TOPIC_ID}");
    is_what_kafka_wrote("000100017600017400000000", Some(&written), offset("v", 0, Some(value)));
    let value = CommittedOffset {
        offset: 5,
        leader_epoch: -1,
        metadata: "".into(),
        committed_at_ms: 0x01a2_2a3f_f3bf,
        expires_at_ms: None,
        topic_id: topic_id(),
    };
    let written = format!("00040000000000000005ffffffff01000001a22a3ff3bf010010{TOPIC_ID}");
    is_what_kafka_wrote("0001000673696d706c6500017400000001", Some(&written), offset("simple", 1, Some(value)));
}

#[test]
fn a_commit_with_a_retention_of_its_own_is_written_as_version_1() {
    let value = CommittedOffset {
        offset: 5,
        leader_epoch: -1,
        metadata: "old".into(),
        committed_at_ms: 0x01a2_2a3f_f3a8,
        expires_at_ms: Some(0x01a2_2a41_7a48),
        topic_id: Uuid::ZERO,
    };
    let written = "0001000000000000000500036f6c64000001a22a3ff3a8000001a22a417a48";
    is_what_kafka_wrote("0001000673696d706c6500017400000000", Some(written), offset("simple", 0, Some(value)));
}

#[test]
fn a_new_and_an_emptied_group_are_written_without_protocol_and_leader() {
    let new = without_members("", 0, 0x01a2_2a3f_f049);
    is_what_kafka_wrote("0002000176", Some("0003000000000000ffffffff000001a22a3ff04900000000"), group("v", new));
    let emptied = without_members("consumer", 2, 0x01a2_2a3f_f3ff);
    let written = "00030008636f6e73756d657200000002ffffffff000001a22a3ff3ff00000000";
    is_what_kafka_wrote("0002000176", Some(written), group("v", emptied));
}

#[test]
fn a_stable_group_is_written_with_subscriptions_and_assignments() {
    let id = "i-a938d277-e67d-4b63-8758-5c253b40b1be";
    let member = MemberMetadata {
        member_id: id.into(),
        instance_id: Some("i".into()),
        client_id: "cl".into(),
        client_host: "/127.0.0.1".into(),
        rebalance_timeout_ms: 20_000,
        session_timeout_ms: 10_000,
        subscription: Bytes::from_static(b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff"),
        assignment: Bytes::from_static(b"AB"),
    };
    let metadata = GroupMetadata {
        protocol: Some("range".into()),
        leader: Some(id.into()),
        members: vec![member],
        ..without_members("consumer", 1, 0x01a2_2a3f_f40b)
    };
    let written = "00030008636f6e73756d657200000001000572616e67650026692d61393338643237372d653637642d346236332d383735\
                   382d356332353362343062316265000001a22a3ff40b000000010026692d61393338643237372d653637642d346236332d\
                   383735382d3563323533623430623162650001690002636c000a2f3132372e302e302e3100004e20000027100000000d00\
                   0000000001000174ffffffff000000024142";
    is_what_kafka_wrote("0002000173", Some(written), group("s", metadata));
}

#[test]
fn tombstones_have_no_value() {
    is_what_kafka_wrote("0001000673696d706c6500017400000000", None, offset("simple", 0, None));
    is_what_kafka_wrote("0002000673696d706c65", None, Record::Group { group: "simple".into(), value: None });
}

#[test]
fn every_older_version_and_the_flexible_one_are_read() {
    let key = bytes("000100017600017400000000");
    for (written, leader_epoch, expires_at_ms) in [
        ("0000 0000000000000005 0001 6d 0000000000000009", -1, None),
        ("0001 0000000000000005 0001 6d 0000000000000009 ffffffffffffffff", -1, None),
        ("0001 0000000000000005 0001 6d 0000000000000009 000000000000000a", -1, Some(10)),
        ("0002 0000000000000005 0001 6d 0000000000000009", -1, None),
        ("0003 0000000000000005 00000007 0001 6d 0000000000000009", 7, None),
        ("0004 0000000000000005 00000007 02 6d 0000000000000009 00", 7, None),
        ("0004 0000000000000005 00000007 02 6d 0000000000000009 01 05 02 ffff", 7, None),
    ] {
        let value = bytes(&written.replace(' ', ""));
        let expected = CommittedOffset {
            offset: 5,
            leader_epoch,
            metadata: "m".into(),
            committed_at_ms: 9,
            expires_at_ms,
            topic_id: Uuid::ZERO,
        };
        assert_eq!(Record::decode(&key, Some(&value)), Ok(Some(offset("v", 0, Some(expected)))), "{written}");
    }
    let key = bytes("0002000176");
    for (version, written) in [
        (0, "0000 0001 63 00000002 0001 70 0001 6d 00000001 0001 6d 0001 69 0001 68 00000009 00000001 aa 00000000"),
        (
            1,
            "0001 0001 63 00000002 0001 70 0001 6d 00000001 0001 6d 0001 69 0001 68 00000008 00000009 00000001 aa 00000000",
        ),
        (
            2,
            "0002 0001 63 00000002 0001 70 0001 6d 0000000000000003 00000001 0001 6d 0001 69 0001 68 00000008 00000009 \
             00000001 aa 00000000",
        ),
        (
            4,
            "0004 02 63 00000002 02 70 02 6d 0000000000000003 02 02 6d 00 02 69 02 68 00000008 00000009 02 aa 01 00 00",
        ),
    ] {
        let value = bytes(&written.replace(' ', ""));
        let Ok(Some(Record::Group { value: Some(read), .. })) = Record::decode(&key, Some(&value)) else {
            panic!("version {version}: {:?}", Record::decode(&key, Some(&value)));
        };
        assert_eq!((read.generation, read.protocol.as_deref(), read.leader.as_deref()), (2, Some("p"), Some("m")));
        assert_eq!(read.state_since_ms, if version >= 2 { 3 } else { -1 });
        let member = &read.members[0];
        assert_eq!(member.rebalance_timeout_ms, if version >= 1 { 8 } else { -1 });
        assert_eq!((member.session_timeout_ms, &member.subscription[..], member.assignment.len()), (9, &[0xaa][..], 0));
    }
}

#[test]
fn keys_of_other_types_are_not_ours() {
    for kind in [3i16, 4, 5, 8, 16, 23, 99, -1] {
        assert_eq!(Record::decode(&kind.to_be_bytes(), Some(b"anything")), Ok(None));
    }
}

#[test]
fn a_count_that_lies_sizes_nothing() {
    let key = bytes("0002000176");
    let value = bytes("0003000163000000020001700001 6d0000000000000003 7fffffff".replace(' ', "").as_str());
    assert!(matches!(Record::decode(&key, Some(&value)), Err(RecordError::Short { .. })));
    let value = bytes("000402630000000202700 26d0000000000000003 ffffffff0f".replace(' ', "").as_str());
    assert!(matches!(Record::decode(&key, Some(&value)), Err(RecordError::Short { .. })));
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(
        kind in 0u8..3,
        mut key in proptest::collection::vec(any::<u8>(), 0..40),
        value in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..80)),
        version in 0u8..5,
    ) {
        key.splice(0..0, [0, kind]);
        let value = value.map(|mut value| {
            value.splice(0..0, [0, version]);
            value
        });
        let _ = Record::decode(&key, value.as_deref());
    }

    #[test]
    fn every_cut_of_a_record_is_an_error(at in 2usize..60) {
        let written = format!("0004000000000000000500000000046d2d31000001a22a3ff352010010{TOPIC_ID}");
        let value = bytes(&written);
        let cut = at.min(value.len() - 1);
        let key = bytes("000100017600017400000000");
        prop_assert!(Record::decode(&key, Some(&value[..cut])).is_err());
    }
}
