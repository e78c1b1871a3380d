//! Keeping the metadata fresh: one question at a time, asked when something looked stale or has grown old.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};
use kafka_protocol::protocol::StrBytes;
use tokio::time::Instant;

use super::Cluster;
use crate::metadata::Metadata;
use crate::{ClientError, ErrorCode};

/// What is believed, since when, and whether there is reason for doubt.
#[derive(Default)]
pub(super) struct View {
    pub(super) metadata: Arc<Metadata>,
    fetched: Option<Instant>,
    /// Counts answers.
    answers: u64,
    stale: bool,
    /// Topics that somebody uses: every refresh asks for them.
    wanted: BTreeSet<String>,
}

impl Cluster {
    /// Says that what is known looks wrong; the next [`Cluster::refresh_if_needed`] asks again.
    pub fn mark_stale(&self) {
        self.inner.view.lock().stale = true;
    }

    /// Asks for metadata if it is stale, old, or was never there; at most once per `retry.backoff.ms`.
    ///
    /// # Errors
    /// As [`Cluster::refresh`].
    pub async fn refresh_if_needed(&self) -> Result<(), ClientError> {
        let needed = {
            let view = self.inner.view.lock();
            let config = &self.inner.config;
            view.fetched.is_none_or(|fetched| {
                let age = fetched.elapsed();
                age >= config.metadata_max_age || (view.stale && age >= config.retry_backoff)
            })
        };
        if needed { self.refresh().await.map(|_| ()) } else { Ok(()) }
    }

    /// Asks for metadata of all topics in use now. Callers that come while another one asks share its answer.
    ///
    /// # Errors
    /// `NoBroker`, or what broke the conversation.
    pub async fn refresh(&self) -> Result<Arc<Metadata>, ClientError> {
        let before = self.inner.view.lock().answers;
        let _turn = self.inner.refreshing.lock().await;
        if self.inner.view.lock().answers > before {
            return Ok(self.metadata());
        }
        let wanted: Vec<String> = self.inner.view.lock().wanted.iter().cloned().collect();
        self.ask(Some(&wanted), false).await?;
        Ok(self.metadata())
    }

    /// Metadata in which all of `topics` have their partitions. They are asked for in every later refresh.
    ///
    /// A topic that is not there is waited for as long as `patience`: it may have been created a moment ago, or the
    /// broker may create it because of the question (`create`, and `auto.create.topics.enable` on the broker).
    ///
    /// # Errors
    /// `Refused` for the first topic that cannot be used.
    pub async fn topics(
        &self,
        topics: &[&str],
        create: bool,
        patience: Duration,
    ) -> Result<Arc<Metadata>, ClientError> {
        let names: Vec<String> = topics.iter().map(|&topic| topic.to_owned()).collect();
        self.inner.view.lock().wanted.extend(names.iter().cloned());
        let started = Instant::now();
        let mut retry = self.retry(format!("metadata of {}", topics.join(", ")));
        loop {
            let metadata = self.metadata();
            if !self.inner.view.lock().stale && topics.iter().all(|topic| metadata.topics.contains_key(*topic)) {
                return Ok(metadata);
            }
            let failed = match self.ask(Some(&names), create).await {
                Ok(errors) => match errors.into_iter().next() {
                    None => return Ok(self.metadata()),
                    Some((topic, code)) => {
                        let error = ClientError::refused(format!("topic {topic}"), code);
                        if code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION && started.elapsed() >= patience {
                            return Err(error);
                        }
                        error
                    }
                },
                Err(error) => error,
            };
            retry.pause(failed).await?;
        }
    }

    /// Metadata in which those of `topics` are that there are now. They are asked for in every later refresh.
    ///
    /// # Errors
    /// What stood in the way of an answer.
    pub async fn topics_there_are(&self, topics: &[&str]) -> Result<Arc<Metadata>, ClientError> {
        let names: Vec<String> = topics.iter().map(|&topic| topic.to_owned()).collect();
        self.inner.view.lock().wanted.extend(names.iter().cloned());
        let mut retry = self.retry(format!("metadata of {}", topics.join(", ")));
        loop {
            match self.ask(Some(&names), false).await {
                Ok(_) => return Ok(self.metadata()),
                Err(failed) => retry.pause(failed).await?,
            }
        }
    }

    /// Metadata of every topic that there is.
    ///
    /// # Errors
    /// What stood in the way of an answer.
    pub async fn all_topics(&self) -> Result<Arc<Metadata>, ClientError> {
        let mut retry = self.retry("metadata of all topics");
        loop {
            match self.ask(None, false).await {
                Ok(_) => return Ok(self.metadata()),
                Err(failed) => retry.pause(failed).await?,
            }
        }
    }

    /// One question; the answer goes into the view. Gives the codes of topics that have one.
    async fn ask(&self, topics: Option<&[String]>, create: bool) -> Result<BTreeMap<String, ErrorCode>, ClientError> {
        let connection = self.any_connection().await?;
        let limit = self.inner.config.request_timeout;
        let (_, answer) = connection.call_versioned(|version| request(version, topics, create), limit).await?;
        check(&answer)?;
        let mut view = self.inner.view.lock();
        view.fetched = Some(Instant::now());
        view.answers += 1;
        view.stale = false;
        if topics.is_none() {
            // Whatever is not in this answer is gone.
            Arc::make_mut(&mut view.metadata).topics.clear();
        }
        let errors = Arc::make_mut(&mut view.metadata).merge(&answer);
        Ok(errors)
    }
}

fn request(version: i16, topics: Option<&[String]>, create: bool) -> MetadataRequest {
    let row =
        |name: &String| MetadataRequestTopic::default().with_name(Some(TopicName(StrBytes::from_string(name.clone()))));
    let rows: Option<Vec<_>> = topics.map(|names| names.iter().map(row).collect());
    let mut request = MetadataRequest::default();
    // Version 0 has no null: an empty list means all.
    request.topics = if version == 0 { Some(rows.unwrap_or_default()) } else { rows };
    // Before version 4 a broker creates what it is asked for, if its settings allow.
    request.allow_auto_topic_creation = create || version < 4;
    request
}

fn check(answer: &MetadataResponse) -> Result<(), ClientError> {
    ErrorCode(answer.error_code).ok().map_err(|code| ClientError::refused("asking for metadata", code))
}
