//! Topics that a broker has made without a client's CreateTopics: one that is written to before it is there, or the groups'.
//!
//! Holds: a topic that was made is known here when the caller goes on, unless that takes too long.

use std::time::Duration;

use ballast_core::controller::{NewTopic, Request, Response};
use ballast_core::image::Image;
use tokio::time::timeout;

use super::controller::{Answered, ControllerHandle};
use super::metadata::Metadata;

const TOPIC_ALREADY_EXISTS: i16 = 36;
/// How long this broker may take to hear of the topic.
const FOLLOW_MAX: Duration = Duration::from_secs(5);

/// Who is asked, and who has to know.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'a> {
    pub(crate) controller: &'a ControllerHandle,
    pub(crate) metadata: &'a Metadata,
}

/// As many replicas as the setting asks for, or as there are live brokers, if those are fewer: nobody chose that number
/// for this topic, and one with fewer replicas serves better than none.
pub(crate) fn replicas(image: &Image, topic: &str, (setting, wanted): (&str, i32)) -> i16 {
    let alive = image.brokers().filter(|broker| broker.is_active()).count();
    let factor = i16::try_from(wanted).unwrap_or(i16::MAX).min(i16::try_from(alive).unwrap_or(i16::MAX)).max(1);
    if i32::from(factor) < wanted {
        tracing::warn!(topic, setting, wanted, alive, "a topic is made with fewer replicas: there are no more brokers");
    }
    factor
}

/// Has a topic made. That somebody else was faster is as good.
///
/// # Errors
/// What the controller says, or that there is none.
pub(crate) async fn make(ways: Ways<'_>, topic: NewTopic, timeout_ms: i32) -> Result<(), String> {
    let request = Request::CreateTopics { topics: vec![topic], validate_only: false, timeout_ms };
    let Answered { response, index } = ways.controller.ask(request).await;
    match response {
        Response::CreateTopics(rows) => rows.into_iter().try_for_each(|(_, made)| match made {
            Err(error) if error.code() != TOPIC_ALREADY_EXISTS => Err(error.to_string()),
            Ok(_) | Err(_) => Ok(()),
        })?,
        Response::Refused(error) => return Err(error.to_string()),
        other => unreachable!("CreateTopics was answered with {other:?}"),
    }
    // Whoever asked looks again, and asks again.
    let _ = timeout(FOLLOW_MAX, ways.metadata.wait_for(index)).await;
    Ok(())
}
