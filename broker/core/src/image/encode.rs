//! Records to bytes. The table of type numbers is here; record.rs draws the layout.

use super::bytes::{put_list, put_nullable, put_string};
use super::record::{FORMAT_VERSION, Record};
use super::{Broker, Partition};

/// Type numbers. Never reused.
pub(super) mod kind {
    pub(crate) const CLUSTER_ID: u16 = 1;
    pub(crate) const CONTROLLER_ACTIVATED: u16 = 2;
    pub(crate) const FEATURE_LEVEL: u16 = 3;
    pub(crate) const REGISTER_BROKER: u16 = 10;
    pub(crate) const FENCE_BROKER: u16 = 11;
    pub(crate) const UNFENCE_BROKER: u16 = 12;
    pub(crate) const SHUTDOWN_BROKER: u16 = 13;
    pub(crate) const UNREGISTER_BROKER: u16 = 14;
    pub(crate) const TOPIC: u16 = 20;
    pub(crate) const REMOVE_TOPIC: u16 = 21;
    pub(crate) const PARTITION: u16 = 22;
    pub(crate) const CONFIG: u16 = 30;
    pub(crate) const PRODUCER_ID_BLOCK: u16 = 40;
}

/// Every type is at its first version.
pub(super) const RECORD_VERSION: u16 = 1;

/// One entry of the metadata log: all of `records` take effect, or none.
#[must_use]
pub fn encode_records(records: &[Record]) -> Vec<u8> {
    let mut out = vec![FORMAT_VERSION];
    for record in records {
        put_record(&mut out, record);
    }
    out
}

pub(super) fn put_record(out: &mut Vec<u8>, record: &Record) {
    out.extend_from_slice(&kind_of(record).to_be_bytes());
    out.extend_from_slice(&RECORD_VERSION.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    put_payload(out, record);
    let length = u32::try_from(out.len() - length_at - 4).expect("one metadata record is shorter than 4 GiB");
    out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
}

fn kind_of(record: &Record) -> u16 {
    match record {
        Record::ClusterId { .. } => kind::CLUSTER_ID,
        Record::ControllerActivated { .. } => kind::CONTROLLER_ACTIVATED,
        Record::FeatureLevel { .. } => kind::FEATURE_LEVEL,
        Record::RegisterBroker(_) => kind::REGISTER_BROKER,
        Record::FenceBroker { .. } => kind::FENCE_BROKER,
        Record::UnfenceBroker { .. } => kind::UNFENCE_BROKER,
        Record::ShutdownBroker { .. } => kind::SHUTDOWN_BROKER,
        Record::UnregisterBroker { .. } => kind::UNREGISTER_BROKER,
        Record::Topic { .. } => kind::TOPIC,
        Record::RemoveTopic { .. } => kind::REMOVE_TOPIC,
        Record::Partition { .. } => kind::PARTITION,
        Record::Config { .. } => kind::CONFIG,
        Record::ProducerIdBlock { .. } => kind::PRODUCER_ID_BLOCK,
    }
}

fn put_payload(out: &mut Vec<u8>, record: &Record) {
    match record {
        Record::ClusterId { id } | Record::RemoveTopic { id } => out.extend_from_slice(&id.0),
        Record::ControllerActivated { node, epoch } => {
            out.extend_from_slice(&node.to_be_bytes());
            out.extend_from_slice(&epoch.to_be_bytes());
        }
        Record::FeatureLevel { name, level } => {
            put_string(out, name);
            out.extend_from_slice(&level.to_be_bytes());
        }
        Record::RegisterBroker(broker) => put_broker(out, broker),
        Record::FenceBroker { id }
        | Record::UnfenceBroker { id }
        | Record::ShutdownBroker { id }
        | Record::UnregisterBroker { id } => out.extend_from_slice(&id.to_be_bytes()),
        Record::Topic { name, id } => {
            put_string(out, name);
            out.extend_from_slice(&id.0);
        }
        Record::Partition { topic, index, state } => {
            out.extend_from_slice(&topic.0);
            out.extend_from_slice(&index.to_be_bytes());
            put_partition(out, state);
        }
        Record::Config { resource, key, value } => {
            out.push(resource.kind.id().to_be_bytes()[0]);
            put_string(out, &resource.name);
            put_string(out, key);
            put_nullable(out, value.as_deref());
        }
        Record::ProducerIdBlock { next, broker, broker_epoch } => {
            out.extend_from_slice(&next.to_be_bytes());
            out.extend_from_slice(&broker.to_be_bytes());
            out.extend_from_slice(&broker_epoch.to_be_bytes());
        }
    }
}

fn put_broker(out: &mut Vec<u8>, broker: &Broker) {
    out.extend_from_slice(&broker.id.to_be_bytes());
    out.extend_from_slice(&broker.epoch.to_be_bytes());
    out.extend_from_slice(&broker.incarnation.0);
    put_list(out, &broker.listeners, |out, endpoint| {
        put_string(out, &endpoint.listener);
        put_string(out, &endpoint.host);
        out.extend_from_slice(&endpoint.port.to_be_bytes());
        out.extend_from_slice(&endpoint.protocol.id().to_be_bytes());
    });
    put_nullable(out, broker.rack.as_deref());
    put_list(out, &broker.log_dirs, |out, dir| out.extend_from_slice(&dir.0));
    let features: Vec<_> = broker.features.iter().collect();
    put_list(out, &features, |out, (name, range)| {
        put_string(out, name);
        out.extend_from_slice(&range.min.to_be_bytes());
        out.extend_from_slice(&range.max.to_be_bytes());
    });
    out.push(u8::from(broker.fenced));
    out.push(u8::from(broker.in_controlled_shutdown));
}

fn put_partition(out: &mut Vec<u8>, partition: &Partition) {
    let lists = [
        &partition.replicas,
        &partition.isr,
        &partition.elr,
        &partition.last_known_elr,
        &partition.adding,
        &partition.removing,
    ];
    for list in lists {
        put_list(out, list, |out, broker| out.extend_from_slice(&broker.to_be_bytes()));
    }
    put_list(out, &partition.directories, |out, dir| out.extend_from_slice(&dir.0));
    out.extend_from_slice(&partition.leader.to_be_bytes());
    out.extend_from_slice(&partition.leader_epoch.to_be_bytes());
    out.extend_from_slice(&partition.partition_epoch.to_be_bytes());
    out.push(partition.recovery.id().to_be_bytes()[0]);
}
