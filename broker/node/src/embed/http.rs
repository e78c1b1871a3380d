//! Faults and the record of requests over HTTP, for tests in other languages. Only with `test.faults.enable=true`.
//!
//! ```text
//! POST   /api/v1/faults      {"fault": "fail_next", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2}
//! GET    /api/v1/faults      what was planted, and how often it has happened
//! DELETE /api/v1/faults      all of them; /api/v1/faults/ID one
//! POST   /api/v1/requests    write requests down from now on
//! GET    /api/v1/requests    those written down; ?api=Produce those of one API
//! DELETE /api/v1/requests    stop, and forget them
//! ```
//! A body with a field that its fault does not take is refused (400) and plants nothing.
//!
//! Read next: `faults` (what they do).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Json, Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use ballast_wire::ErrorCode;
use ballast_wire::frame::ApiKey;
use serde::{Deserialize, Serialize};

use super::faults::{Effect, Fault, FaultId, Faults, Planted, Recorded};

/// The routes.
pub(super) fn routes(faults: Arc<Faults>) -> Router {
    Router::new()
        .route("/api/v1/faults", get(list).post(plant).delete(clear))
        .route("/api/v1/faults/{id}", axum::routing::delete(remove))
        .route("/api/v1/requests", get(requests).post(record).delete(stop_recording))
        .with_state(faults)
}

type Refused = (StatusCode, Json<Problem>);

#[derive(Serialize)]
struct Problem {
    error: String,
}

fn problem(status: StatusCode, error: impl ToString) -> Refused {
    (status, Json(Problem { error: error.to_string() }))
}

fn bad(error: impl ToString) -> Refused {
    problem(StatusCode::BAD_REQUEST, error)
}

/// A fault as it is asked for. Which fields it takes depends on `fault`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    fault: String,
    api: Option<String>,
    /// Name or number of one of Kafka's error codes.
    error: Option<Code>,
    ms: Option<u64>,
    topic: Option<String>,
    partition: Option<i32>,
    times: Option<u32>,
    always: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Code {
    Number(i16),
    Name(String),
}

impl Wish {
    fn fault(mut self) -> Result<Fault, String> {
        let kind = std::mem::take(&mut self.fault);
        let fault = match kind.as_str() {
            "delay" => Fault::delay(self.take_api()?, self.take_ms()?),
            "fail_next" => Fault::fail_next(self.take_api()?, self.take_error()?, 1),
            "drop_connection" => Fault::drop_connection(self.take_api()?),
            "lose_answer" => Fault::lose_answer(self.take_api()?),
            "slow_disk" => Fault::slow_disk(self.take_ms()?),
            "disk_full" => Fault::disk_full(),
            "fail_next_sync" => Fault::fail_next_sync(),
            _ => {
                return Err(format!(
                    "fault {kind:?}: expected delay, fail_next, drop_connection, lose_answer, slow_disk, disk_full or \
                     fail_next_sync"
                ));
            }
        };
        let unused = [("api", self.api.is_some()), ("error", self.error.is_some()), ("ms", self.ms.is_some())];
        if let Some((field, _)) = unused.iter().find(|(_, is_there)| *is_there) {
            return Err(format!("{kind} takes no {field}"));
        }
        let fault = match (&self.topic, self.partition) {
            (None, None) => fault,
            (None, Some(_)) => return Err("a partition needs its topic".to_owned()),
            (Some(topic), None) => fault.on_topic(topic),
            (Some(topic), Some(partition)) => fault.on_partition(topic, partition),
        };
        match (self.times, self.always.unwrap_or(false)) {
            (Some(_), true) => Err("times and always exclude each other".to_owned()),
            (Some(times), false) => Ok(fault.times(times)),
            (None, true) => Ok(fault.always()),
            (None, false) => Ok(fault),
        }
    }

    fn take_api(&mut self) -> Result<ApiKey, String> {
        let name = self.api.take().ok_or("api is missing: the name of an API, such as Produce")?;
        ApiKey::from_name(&name).ok_or_else(|| format!("api {name:?}: Kafka has no API of that name"))
    }

    fn take_ms(&mut self) -> Result<Duration, String> {
        self.ms.take().map(Duration::from_millis).ok_or_else(|| "ms is missing: how much longer it takes".to_owned())
    }

    fn take_error(&mut self) -> Result<ErrorCode, String> {
        match self.error.take() {
            None => Err("error is missing: the name or number of one of Kafka's error codes".to_owned()),
            Some(Code::Name(name)) => name.parse::<ErrorCode>().map_err(|error| error.to_string()),
            Some(Code::Number(number)) => Ok(ErrorCode(number)),
        }
    }
}

/// A planted fault as it is shown.
#[derive(Serialize)]
struct Shown {
    id: u64,
    fault: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<i32>,
    fired: u64,
    /// `null`: until it is removed.
    left: Option<u32>,
}

impl From<Planted> for Shown {
    fn from(Planted { id, fault, fired, left }: Planted) -> Shown {
        let ms = |delay: &Duration| Some(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        let (kind, error, ms) = match &fault.effect {
            Effect::Delay(_, delay) => ("delay", None, ms(delay)),
            Effect::Fail(_, code) => ("fail_next", Some(code.name()), None),
            Effect::Drop(_) => ("drop_connection", None, None),
            Effect::Lose(_) => ("lose_answer", None, None),
            Effect::SlowDisk(delay) => ("slow_disk", None, ms(delay)),
            Effect::DiskFull => ("disk_full", None, None),
            Effect::FailSync => ("fail_next_sync", None, None),
        };
        let api = fault.api().map(|api| api.to_string());
        let (topic, partition) = (fault.target.topic, fault.target.partition);
        Shown { id: id.0, fault: kind, api, error, ms, topic, partition, fired, left }
    }
}

#[derive(Serialize)]
struct Listed {
    faults: Vec<Shown>,
}

async fn list(State(faults): State<Arc<Faults>>) -> Json<Listed> {
    Json(Listed { faults: faults.planted().into_iter().map(Shown::from).collect() })
}

async fn plant(
    State(faults): State<Arc<Faults>>,
    // Whatever it calls itself: curl says that it sends a form.
    body: Bytes,
) -> Result<(StatusCode, Json<Shown>), Refused> {
    let wish: Wish = serde_json::from_slice(&body).map_err(bad)?;
    let fault = wish.fault().map_err(bad)?;
    let (left, shown) = (fault.times, fault.clone());
    let id = faults.plant(fault).map_err(bad)?;
    Ok((StatusCode::CREATED, Json(Planted { id, fault: shown, fired: 0, left }.into())))
}

#[derive(Serialize)]
struct Removed {
    removed: usize,
}

async fn clear(State(faults): State<Arc<Faults>>) -> Json<Removed> {
    Json(Removed { removed: faults.clear() })
}

async fn remove(State(faults): State<Arc<Faults>>, Path(id): Path<u64>) -> Result<Json<Shown>, Refused> {
    let removed = faults.remove(FaultId(id)).ok_or_else(|| problem(StatusCode::NOT_FOUND, format!("no fault {id}")))?;
    Ok(Json(removed.into()))
}

#[derive(Serialize)]
struct Requests {
    recording: bool,
    /// Requests that had to give way to newer ones.
    forgotten: u64,
    requests: Vec<ShownRequest>,
}

#[derive(Serialize)]
struct ShownRequest {
    api: String,
    version: i16,
    client_id: String,
    correlation_id: i32,
    topics: Vec<ShownTopic>,
}

#[derive(Serialize)]
struct ShownTopic {
    name: String,
    partitions: Vec<i32>,
}

impl From<Recorded> for ShownRequest {
    fn from(recorded: Recorded) -> ShownRequest {
        let Recorded { api, version, client_id, correlation_id, topics } = recorded;
        let topics = topics.into_iter().map(|(name, partitions)| ShownTopic { name, partitions }).collect();
        ShownRequest { api: api.to_string(), version, client_id, correlation_id, topics }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    api: Option<String>,
}

async fn requests(State(faults): State<Arc<Faults>>, Query(filter): Query<Filter>) -> Json<Requests> {
    let wanted = |request: &Recorded| filter.api.as_ref().is_none_or(|api| request.api.name() == Some(api));
    let requests = faults.requests().into_iter().filter(wanted).map(ShownRequest::from).collect();
    Json(Requests { recording: faults.is_recording(), forgotten: faults.forgotten(), requests })
}

async fn record(State(faults): State<Arc<Faults>>) -> StatusCode {
    faults.record();
    StatusCode::NO_CONTENT
}

async fn stop_recording(State(faults): State<Arc<Faults>>) -> StatusCode {
    faults.stop_recording();
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(text: &str) -> Result<Fault, String> {
        serde_json::from_str::<Wish>(text).map_err(|error| error.to_string())?.fault()
    }

    #[test]
    fn every_fault_can_be_wished_for() {
        let cases = [
            (
                r#"{"fault": "delay", "api": "Produce", "ms": 20}"#,
                Fault::delay(ApiKey::PRODUCE, Duration::from_millis(20)),
            ),
            (
                r#"{"fault": "fail_next", "api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2, "topic": "t", "partition": 1}"#,
                Fault::fail_next(ApiKey::FETCH, ErrorCode::NOT_LEADER_OR_FOLLOWER, 2).on_partition("t", 1),
            ),
            (
                r#"{"fault": "fail_next", "api": "Fetch", "error": 6}"#,
                Fault::fail_next(ApiKey::FETCH, ErrorCode::NOT_LEADER_OR_FOLLOWER, 1),
            ),
            (
                r#"{"fault": "drop_connection", "api": "Fetch", "always": true}"#,
                Fault::drop_connection(ApiKey::FETCH).always(),
            ),
            (
                r#"{"fault": "lose_answer", "api": "Produce", "topic": "t"}"#,
                Fault::lose_answer(ApiKey::PRODUCE).on_topic("t"),
            ),
            (r#"{"fault": "slow_disk", "ms": 5}"#, Fault::slow_disk(Duration::from_millis(5))),
            (r#"{"fault": "disk_full"}"#, Fault::disk_full()),
            (r#"{"fault": "fail_next_sync"}"#, Fault::fail_next_sync()),
        ];
        for (text, fault) in cases {
            assert_eq!(wish(text), Ok(fault), "{text}");
        }
    }

    #[test]
    fn what_a_fault_does_not_take_is_refused_by_name() {
        let cases = [
            (r#"{"fault": "slow"}"#, "fault \"slow\""),
            (r#"{"fault": "delay", "api": "Produce"}"#, "ms is missing"),
            (r#"{"fault": "delay", "ms": 1}"#, "api is missing"),
            (r#"{"fault": "delay", "api": "produce", "ms": 1}"#, "no API"),
            (r#"{"fault": "disk_full", "ms": 1}"#, "takes no ms"),
            (r#"{"fault": "fail_next", "api": "Fetch", "error": "OOPS"}"#, "OOPS"),
            (r#"{"fault": "fail_next", "api": "Fetch", "error": 6, "partition": 0}"#, "needs its topic"),
            (r#"{"fault": "disk_full", "topics": ["t"]}"#, "unknown field"),
            (r#"{"fault": "disk_full", "times": 1, "always": true}"#, "exclude"),
        ];
        for (text, expected) in cases {
            let error = wish(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
