//! Records, bytes, images: round trips, damage, and what an entry changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::{NO_LEADER, Uuid};
use proptest::prelude::*;

use super::*;
use crate::endpoint::{Endpoint, SecurityProtocol};

fn partition(replicas: &[i32], leader: i32) -> Partition {
    Partition {
        replicas: replicas.to_vec(),
        directories: replicas.iter().map(|_| Directories::UNASSIGNED).collect(),
        isr: replicas.to_vec(),
        elr: vec![],
        last_known_elr: vec![],
        adding: vec![],
        removing: vec![],
        leader,
        leader_epoch: 0,
        partition_epoch: 0,
        recovery: Recovery::Recovered,
    }
}

fn broker(id: i32) -> Broker {
    Broker {
        id,
        epoch: EPOCH_IS_INDEX,
        incarnation: Uuid([3; 16]),
        listeners: vec![],
        rack: None,
        log_dirs: vec![Uuid([4; 16])],
        features: BTreeMap::new(),
        fenced: true,
        in_controlled_shutdown: false,
    }
}

const TOPIC: Uuid = Uuid([7; 16]);

fn topic_records() -> Vec<Record> {
    let partition = |index| Record::Partition { topic: TOPIC, index, state: Box::new(partition(&[1, 2], 1)) };
    vec![Record::Topic { name: "t".into(), id: TOPIC }, partition(0), partition(1)]
}

fn config(resource: ConfigResource, key: &str, value: Option<&str>) -> Record {
    Record::Config { resource, key: key.into(), value: value.map(str::to_owned) }
}

#[test]
fn an_entry_says_what_it_changed() {
    let mut image = Image::default();
    let delta = image.apply(5, &topic_records());
    assert_eq!(delta.topics_created, [TOPIC].into());
    assert_eq!(delta.partitions_changed, [(TOPIC, 0), (TOPIC, 1)].into());
    assert_eq!((delta.index, image.index()), (5, 5));
    let delta = image.apply(6, &[config(ConfigResource::topic("t"), "retention.ms", Some("1"))]);
    assert_eq!(delta.configs_changed, [ConfigResource::topic("t")].into());
    let delta = image.apply(7, &[config(ConfigResource::topic("t"), "retention.ms", Some("1"))]);
    assert!(delta.is_empty(), "the same value again: {delta:?}");
    let delta = image.apply(8, &[Record::RemoveTopic { id: TOPIC }]);
    assert_eq!(delta.topics_deleted.iter().map(|topic| topic.partition_count()).collect::<Vec<_>>(), [2]);
    assert_eq!((delta.topics_created.len(), delta.partitions_changed.len()), (0, 0));
    assert_eq!((image.topic_count(), image.all_configs().count()), (0, 0), "its configs went with it");
    image.check();
}

#[test]
fn a_topic_that_comes_and_goes_in_one_entry_was_never_there() {
    let mut records = topic_records();
    records.push(Record::RemoveTopic { id: TOPIC });
    assert!(Image::default().apply(1, &records).is_empty());
}

#[test]
fn merged_deltas_tell_of_a_topic_that_was_replaced_under_its_name() {
    let mut image = Image::default();
    image.apply(1, &topic_records());
    let mut delta = image.apply(2, &[Record::RemoveTopic { id: TOPIC }]);
    let other = Uuid([8; 16]);
    delta.merge(image.apply(3, &[Record::Topic { name: "t".into(), id: other }]));
    assert_eq!(delta.topics_deleted.iter().map(|topic| topic.id).collect::<Vec<_>>(), [TOPIC]);
    assert_eq!((delta.topics_created, delta.index), ([other].into(), 3));
    assert_eq!(image.topic("t").map(|topic| topic.id), Some(other));
}

#[test]
fn the_epoch_of_a_registration_is_the_index_of_its_entry() {
    let mut image = Image::default();
    image.apply(41, &[Record::RegisterBroker(Box::new(broker(1))), Record::ControllerActivated { node: 1, epoch: -1 }]);
    assert_eq!(image.broker(1).map(|broker| broker.epoch), Some(41));
    assert_eq!(image.controller(), Some(ActiveController { node: 1, epoch: 41 }));
    image.apply(42, &[Record::RegisterBroker(Box::new(Broker { epoch: 41, ..broker(1) }))]);
    assert_eq!(image.broker(1).map(|broker| broker.epoch), Some(41), "an amended registration keeps it");
    let mut ahead = image.clone();
    ahead.apply_ahead(&[Record::RegisterBroker(Box::new(broker(2)))]);
    assert_eq!(ahead.broker(2).map(|broker| broker.epoch), Some(EPOCH_IS_INDEX), "it is not known before the commit");
}

#[test]
fn fencing_and_unfencing_change_the_broker_and_nothing_else() {
    let mut image = Image::default();
    image.apply(1, &[Record::RegisterBroker(Box::new(broker(1)))]);
    let state = |image: &Image| image.broker(1).map(|broker| (broker.fenced, broker.in_controlled_shutdown));
    assert_eq!(state(&image), Some((true, false)));
    image.apply(2, &[Record::UnfenceBroker { id: 1 }]);
    assert_eq!(state(&image), Some((false, false)));
    image.apply(3, &[Record::ShutdownBroker { id: 1 }]);
    assert_eq!(state(&image), Some((false, true)));
    image.apply(4, &[Record::FenceBroker { id: 1 }]);
    assert_eq!(state(&image), Some((true, true)));
    let delta = image.apply(5, &[Record::UnregisterBroker { id: 1 }, Record::FenceBroker { id: 9 }]);
    assert_eq!((state(&image), delta.brokers_changed), (None, [1].into()));
}

#[test]
fn a_clone_shares_what_later_entries_leave_alone() {
    let mut image = Image::default();
    image.apply(1, &topic_records());
    let snapshot = image.clone();
    let changed = Box::new(partition(&[1, 2], NO_LEADER));
    image.apply(2, &[Record::Partition { topic: TOPIC, index: 0, state: changed }]);
    let leader = |image: &Image, index| image.partition(TOPIC, index).map(|partition| partition.leader);
    assert_eq!((leader(&snapshot, 0), leader(&image, 0)), (Some(1), Some(NO_LEADER)));
    let same = |index| snapshot.partition(TOPIC, index).zip(image.partition(TOPIC, index));
    assert!(same(1).is_some_and(|(old, new)| Arc::ptr_eq(old, new)), "partition 1 is shared");
}

#[test]
fn records_are_written_as_documented() {
    let bytes = encode_records(&[Record::FenceBroker { id: 258 }, Record::ClusterId { id: Uuid([9; 16]) }]);
    let mut expected = vec![1, 0, 11, 0, 1, 0, 0, 0, 4, 0, 0, 1, 2];
    expected.extend([0, 1, 0, 1, 0, 0, 0, 16]);
    expected.extend([9; 16]);
    assert_eq!(bytes, expected);
}

#[test]
fn what_a_newer_version_wrote_is_refused_and_says_so() {
    assert_eq!(decode_records(&[2]), Err(DecodeError::Format { found: 2 }));
    assert_eq!(decode_records(&[1, 0, 99, 0, 1, 0, 0, 0, 0]), Err(DecodeError::UnknownType { kind: 99 }));
    let newer = [1, 0, 11, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1];
    assert_eq!(decode_records(&newer), Err(DecodeError::NewerVersion { kind: 11, version: 2 }));
    let error = decode_records(&newer).expect_err("it is newer").to_string();
    assert!(error.contains("a newer Ballast wrote it"), "{error}");
}

#[test]
fn claimed_lengths_and_counts_size_no_memory() {
    // A topic whose name claims 4 GiB, a broker with 2^32 - 1 listeners, a record longer than the entry.
    let name = [1, 0, 20, 0, 1, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff];
    assert!(matches!(decode_records(&name), Err(DecodeError::Short { left: 0, .. })));
    let mut listeners = vec![1, 0, 10, 0, 1, 0, 0, 0, 32];
    listeners.extend([0; 28]);
    listeners.extend([0xff; 4]);
    assert!(matches!(decode_records(&listeners), Err(DecodeError::Short { .. })));
    assert!(matches!(decode_records(&[1, 0, 11, 0, 1, 0x7f, 0, 0, 0]), Err(DecodeError::Short { .. })));
    let trailing = [1, 0, 11, 0, 1, 0, 0, 0, 5, 0, 0, 0, 1, 0];
    assert_eq!(decode_records(&trailing), Err(DecodeError::Trailing { left: 1 }));
}

fn uuid() -> impl Strategy<Value = Uuid> {
    prop_oneof![Just(Uuid::ZERO), (0..4u8).prop_map(|byte| Uuid([byte; 16])), any::<[u8; 16]>().prop_map(Uuid)]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]", "[a-zA-Z0-9._-]{1,20}", ".{0,8}"]
}

fn ids() -> impl Strategy<Value = Vec<i32>> {
    prop::collection::vec(any::<i32>(), 0..5)
}

fn any_partition() -> impl Strategy<Value = Partition> {
    let lists = (ids(), ids(), ids(), ids(), ids(), ids(), prop::collection::vec(uuid(), 0..4));
    (lists, any::<(i32, i32, i32, bool)>()).prop_map(|(lists, (leader, leader_epoch, partition_epoch, recovering))| {
        let (replicas, isr, elr, last_known_elr, adding, removing, directories) = lists;
        let recovery = if recovering { Recovery::Recovering } else { Recovery::Recovered };
        Partition {
            replicas,
            directories,
            isr,
            elr,
            last_known_elr,
            adding,
            removing,
            leader,
            leader_epoch,
            partition_epoch,
            recovery,
        }
    })
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (name(), name(), any::<u16>(), 0..4i16).prop_map(|(listener, host, port, protocol)| Endpoint {
        listener,
        host,
        port,
        protocol: SecurityProtocol::from_id(protocol).expect("four protocols"),
    })
}

fn any_broker() -> impl Strategy<Value = Broker> {
    let lists = (prop::collection::vec(endpoint(), 0..3), prop::collection::vec(uuid(), 0..3));
    let features = prop::collection::btree_map(name(), any::<(i16, i16)>(), 0..3);
    let rest = (0..5i32, -1..50i64, uuid(), prop::option::of(name()), any::<(bool, bool)>());
    (lists, features, rest).prop_map(|((listeners, log_dirs), features, (id, epoch, incarnation, rack, flags))| {
        Broker {
            id,
            epoch,
            incarnation,
            listeners,
            rack,
            log_dirs,
            features: features.into_iter().map(|(name, (min, max))| (name, FeatureRange { min, max })).collect(),
            fenced: flags.0,
            in_controlled_shutdown: flags.1,
        }
    })
}

fn resource() -> impl Strategy<Value = ConfigResource> {
    (0..4usize, name()).prop_map(|(kind, name)| ConfigResource { kind: ResourceKind::ALL[kind], name })
}

fn any_record() -> impl Strategy<Value = Record> {
    prop_oneof![
        uuid().prop_map(|id| Record::ClusterId { id }),
        (any::<i32>(), -1..50i64).prop_map(|(node, epoch)| Record::ControllerActivated { node, epoch }),
        (name(), any::<i16>()).prop_map(|(name, level)| Record::FeatureLevel { name, level }),
        any_broker().prop_map(|broker| Record::RegisterBroker(Box::new(broker))),
        (0..5i32).prop_map(|id| Record::FenceBroker { id }),
        (0..5i32).prop_map(|id| Record::UnfenceBroker { id }),
        (0..5i32).prop_map(|id| Record::ShutdownBroker { id }),
        (0..5i32).prop_map(|id| Record::UnregisterBroker { id }),
        (name(), uuid()).prop_map(|(name, id)| Record::Topic { name, id }),
        uuid().prop_map(|id| Record::RemoveTopic { id }),
        (uuid(), 0..4i32, any_partition()).prop_map(|(topic, index, state)| Record::Partition {
            topic,
            index,
            state: Box::new(state)
        }),
        (resource(), name(), prop::option::of(name())).prop_map(|(resource, key, value)| Record::Config {
            resource,
            key,
            value
        }),
        (0..9_000i64, any::<i32>(), any::<i64>()).prop_map(|(next, broker, broker_epoch)| Record::ProducerIdBlock {
            next,
            broker,
            broker_epoch
        }),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Vec<Record>>> {
    prop::collection::vec(prop::collection::vec(any_record(), 0..8), 0..12)
}

/// Everything that can be seen of an image.
fn seen(image: &Image) -> (u64, Vec<Record>) {
    (image.index(), image.records())
}

proptest! {
    #[test]
    fn records_survive_their_bytes(records in prop::collection::vec(any_record(), 0..10)) {
        prop_assert_eq!(decode_records(&encode_records(&records)), Ok(records));
    }

    #[test]
    fn an_image_from_decoded_entries_is_the_same_image(entries in entries()) {
        let (mut direct, mut decoded) = (Image::default(), Image::default());
        for (records, index) in entries.iter().zip(1..) {
            let read = decode_records(&encode_records(records)).expect("what was encoded can be decoded");
            prop_assert_eq!(direct.apply(index, records), decoded.apply(index, &read));
        }
        prop_assert_eq!(seen(&direct), seen(&decoded));
    }

    #[test]
    fn a_snapshot_is_the_same_image(entries in entries()) {
        let mut image = Image::default();
        for (records, index) in entries.iter().zip(1..) {
            image.apply(index, records);
        }
        let read = decode_snapshot(&encode_snapshot(&image)).expect("what was encoded can be decoded");
        prop_assert_eq!(seen(&read), seen(&image));
    }

    #[test]
    fn any_bytes_are_records_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut entry = vec![FORMAT_VERSION];
        entry.extend(&bytes);
        let _ = decode_records(&entry);
        let _ = decode_records(&bytes);
        let _ = decode_snapshot(&entry);
    }

    #[test]
    fn damaged_records_are_records_or_an_error(
        records in prop::collection::vec(any_record(), 1..4),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode_records(&records);
        let position = at.index(bytes.len());
        bytes[position] = value;
        let _ = decode_records(&bytes);
        let _ = decode_records(&bytes[..cut.index(bytes.len())]);
    }
}
