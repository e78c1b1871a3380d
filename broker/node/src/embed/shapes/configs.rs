//! APIs about configs: a row for each resource. Topics among the resources count as named.

use ballast_wire::ErrorCode;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResult;
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

use super::topics::message;
use super::{Named, Shape};

/// Kafka's number of the resource type `TOPIC`.
pub(super) const TOPIC: i8 = 2;

impl Shape for DescribeConfigsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DescribeConfigsResponse {
        let rows = self.resources.into_iter().map(|resource| {
            let row = DescribeConfigsResult::default().with_error_code(code.0).with_error_message(message(code));
            row.with_resource_type(resource.resource_type).with_resource_name(resource.resource_name)
        });
        DescribeConfigsResponse::default().with_results(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.resources.iter().filter(|resource| resource.resource_type == TOPIC);
        topics.map(|resource| Named::by_name(&resource.resource_name, [])).collect()
    }
}
