//! Where records come from: partitions that we were told, or those that a group gives us.

use std::time::Duration;

use ballast_client::consumer::{Consumer, ConsumerConfig, Fetched, OffsetReset, StartAt};
use ballast_client::group::{GroupConfig, GroupConsumer};
use ballast_client::{ClientError, Cluster};

use super::{ConsumeArgs, PARTITION_BYTES_MAX};
use crate::error::Failure;

/// How long the last commit and saying good-bye may take.
const CLOSE_MAX: Duration = Duration::from_secs(10);

pub(super) enum Source {
    Assigned(Consumer),
    Member(Box<GroupConsumer>),
}

impl Source {
    /// The topic must be there: a group would wait for it in silence.
    pub(super) async fn open(args: &ConsumeArgs) -> Result<Source, Failure> {
        let cluster = args.connect.cluster()?;
        match &args.group {
            Some(group) => {
                let config = ConsumerConfig { offset_reset: reset_of_group(args.from)?, ..ConsumerConfig::default() };
                member(args, cluster, group, config).await
            }
            None => assigned(args, cluster).await,
        }
    }

    pub(super) async fn poll(&mut self, limit: Duration) -> Result<Vec<Fetched>, ClientError> {
        match self {
            Source::Assigned(consumer) => consumer.poll(limit).await,
            Source::Member(member) => member.poll(limit).await,
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        match self {
            Source::Assigned(consumer) => consumer.is_at_end(),
            Source::Member(member) => member.is_at_end(),
        }
    }

    /// Records from `offset` on were handed out and are not used.
    pub(super) fn not_read(&mut self, topic: &str, partition: i32, offset: i64) {
        if let Source::Member(member) = self {
            member.seek(topic, partition, offset);
        }
    }

    /// Leaves the group, and commits if all that was handed out has been used.
    pub(super) async fn close(self, used: bool) -> Result<(), Failure> {
        match self {
            Source::Assigned(_) => Ok(()),
            Source::Member(member) if used => Ok(member.close(CLOSE_MAX).await?),
            Source::Member(member) => {
                member.leave(CLOSE_MAX).await;
                Ok(())
            }
        }
    }
}

fn reset_of_group(from: Option<StartAt>) -> Result<OffsetReset, Failure> {
    match from {
        Some(StartAt::Beginning) => Ok(OffsetReset::Earliest),
        Some(StartAt::End) | None => Ok(OffsetReset::Latest),
        Some(StartAt::Offset(_) | StartAt::Time(_)) => Err(Failure::usage(
            "--from with --group is beginning or end; `ballast group reset` sets a group to an offset or a time",
        )),
    }
}

async fn member(
    args: &ConsumeArgs,
    cluster: Cluster,
    group: &str,
    mut config: ConsumerConfig,
) -> Result<Source, Failure> {
    let asked = config.offset_reset;
    args.connect.apply(|properties| config.apply(properties))?;
    config.read_committed |= args.read_committed;
    if args.from.is_some() {
        config.offset_reset = asked;
    }
    let mut membership = GroupConfig::new(group);
    args.connect.apply(|properties| membership.apply(properties))?;
    cluster.topics(&[&args.topic], false, Duration::ZERO).await?;
    let member = GroupConsumer::subscribe(cluster, &[&args.topic], membership, config)?;
    Ok(Source::Member(Box::new(member)))
}

async fn assigned(args: &ConsumeArgs, cluster: Cluster) -> Result<Source, Failure> {
    let from = args.from.unwrap_or(StartAt::End);
    let mut config = ConsumerConfig { partition_bytes_max: PARTITION_BYTES_MAX, ..ConsumerConfig::default() };
    // An offset that was asked for and is not there is a failure; falling behind a log that is being deleted is not.
    config.offset_reset = if matches!(from, StartAt::Offset(_)) { OffsetReset::None } else { OffsetReset::Earliest };
    args.connect.apply(|properties| config.apply(properties))?;
    config.read_committed |= args.read_committed;
    let metadata = cluster.topics(&[&args.topic], false, Duration::ZERO).await?;
    let partitions: Vec<i32> = match args.partition {
        Some(partition) => vec![partition],
        None => metadata.topics[&args.topic].partitions.keys().copied().collect(),
    };
    let assignment: Vec<(&str, i32, StartAt)> =
        partitions.iter().map(|partition| (args.topic.as_str(), *partition, from)).collect();
    let mut consumer = Consumer::new(cluster, config);
    consumer.assign(&assignment).await?;
    Ok(Source::Assigned(consumer))
}
