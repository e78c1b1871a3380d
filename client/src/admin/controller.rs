//! Questions for the active controller, from wherever one begins: brokers pass them on, a controller that does not lead names
//! the one that does.

use kafka_protocol::messages::DescribeClusterRequest;
use kafka_protocol::protocol::Request;

use super::Admin;
use crate::{ClientError, Cluster, ErrorCode, Target};

/// DescribeCluster of controllers, not of brokers (KIP-919).
const CONTROLLERS: i8 = 2;

impl Admin {
    /// As [`Cluster::call`]; whoever refuses because it does not lead is asked who does, and that one is asked next.
    ///
    /// # Errors
    /// What `check` gave, or what stood in the way of an answer.
    pub(super) async fn ask_active<R: Request>(
        &self,
        what: &str,
        build: impl Fn(i16) -> R,
        check: impl Fn(&R::Response) -> Result<(), ClientError>,
    ) -> Result<R::Response, ClientError> {
        let mut retry = self.cluster.retry(what);
        let mut leading = None;
        loop {
            let lenient = |answer: &R::Response| match check(answer) {
                Err(error) if error.code() == Some(ErrorCode::NOT_LEADER_OR_FOLLOWER) => Ok(()),
                checked => checked,
            };
            let asked = leading.as_ref().unwrap_or(&self.cluster);
            let (_, answer) = asked.call(Target::Any, what, &build, lenient).await?;
            let Err(refused) = check(&answer) else { return Ok(answer) };
            let next = active(asked).await;
            retry.pause(refused).await?;
            leading = next.map(|(host, port)| {
                let mut config = self.cluster.config().clone();
                (config.bootstrap_servers, config.api_timeout) = (vec![(host, port)], retry.left());
                Cluster::new(config, self.cluster.world().clone())
            });
        }
    }
}

/// Where the active controller is, if a controller is asked that knows it.
async fn active(cluster: &Cluster) -> Option<(String, u16)> {
    let build = |_| DescribeClusterRequest::default().with_endpoint_type(CONTROLLERS);
    let (_, answer) = cluster.call(Target::Any, "looking for the controller", build, |_| Ok(())).await.ok()?;
    let row = answer.brokers.iter().find(|row| row.broker_id == answer.controller_id)?;
    Some((row.host.to_string(), u16::try_from(row.port).ok()?))
}

#[cfg(test)]
mod tests {
    use ballast_wire::frame::ApiKey;
    use kafka_protocol::messages::describe_cluster_response::DescribeClusterBroker;
    use kafka_protocol::messages::describe_quorum_response::{PartitionData, TopicData};
    use kafka_protocol::messages::{DescribeClusterResponse, DescribeQuorumResponse};
    use kafka_protocol::protocol::StrBytes;

    use super::*;
    use crate::fake::{Asked, Fake, Reply};

    /// Controllers 1 and 2, of which 2 is active.
    fn controller(asked: &Asked) -> Option<Reply> {
        match asked.key {
            ApiKey::DESCRIBE_CLUSTER => {
                let row = DescribeClusterBroker::default().with_broker_id(2.into());
                let row = row.with_host(StrBytes::from_static_str("fake")).with_port(2);
                let answer = DescribeClusterResponse::default().with_controller_id(2.into()).with_brokers(vec![row]);
                Some(Reply::of(&answer.with_endpoint_type(CONTROLLERS), asked.version))
            }
            ApiKey::DESCRIBE_QUORUM => {
                let row = PartitionData::default().with_leader_id(2.into());
                let row = if asked.port == 2 { row } else { row.with_error_code(6) };
                let topic = TopicData::default().with_partitions(vec![row]);
                Some(Reply::of(&DescribeQuorumResponse::default().with_topics(vec![topic]), asked.version))
            }
            _ => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_controller_that_does_not_lead_is_asked_for_the_one_that_does() {
        let fake = Fake::new(controller);
        fake.versions.lock().extend([(55, 0, 2), (60, 1, 2)]);
        let quorum = Admin::new(fake.cluster(&[1])).describe_quorum().await.expect("the active one answers");
        assert_eq!(quorum.leader, 2);
        let ports: Vec<u16> = fake.asked_for(ApiKey::DESCRIBE_QUORUM).iter().map(|asked| asked.port).collect();
        assert_eq!(ports, [1, 2]);
    }
}
