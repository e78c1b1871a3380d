//! Fetch sessions at the edge: from a request to what must be read, and from what was read to what must be sent.

use std::sync::Arc;

use ballast_core::fetch_session::{
    CLOSE_EPOCH, Facts, Fetch, Finished, PartitionKey, Request, SessionError, TopicKey, Wanted as SessionWanted,
};
use ballast_net::random_u64;
use ballast_wire::Uuid;
use ballast_wire::fetch::{FetchPartition, FetchRequest};

use super::IDS_FROM;
use super::pass::Row;
use super::reader::Wanted;
use crate::api::call::Ctx;
use crate::api::code::{self, Code};
use crate::session::{Operation, Resource};

/// Before this version there are no sessions.
const SESSIONS_FROM: i16 = 7;

/// A fetch whose reading may begin.
pub(super) struct Plan {
    fetch: Fetch,
    pub(super) wanted: Vec<Wanted>,
}

/// How a fetch begins.
pub(super) enum Opened {
    /// Read this.
    Plan(Plan),
    /// It does not fit its session.
    Refused(Code),
}

/// Takes a request in.
pub(super) fn open(ctx: &Ctx, request: &FetchRequest<'_>, is_replica: bool) -> Opened {
    let by_id = ctx.version >= IDS_FROM;
    let key = |name: &str, id: Uuid, index: i32| {
        let topic = if by_id { TopicKey::Id(id) } else { TopicKey::Name(name.into()) };
        PartitionKey { topic, index }
    };
    let wanted = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|asked| (key(&topic.name, topic.id, asked.index), session_wanted(asked)))
    });
    let forgotten = request
        .forgotten
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|index| key(&topic.name, topic.id, *index)));
    let has_sessions = ctx.version >= SESSIONS_FROM;
    let session = Request {
        session_id: if has_sessions { request.session_id } else { 0 },
        session_epoch: if has_sessions { request.session_epoch } else { CLOSE_EPOCH },
        by_id,
        privileged: is_replica,
        wanted: wanted.collect(),
        forgotten: forgotten.collect(),
    };
    let begun = ctx.node.fetch_sessions.lock().begin(ctx.node.ticks.now(), session);
    match begun {
        Ok(fetch) => {
            let wanted = fetch.wanted().iter().map(|(key, wanted)| to_read(ctx, key, wanted, is_replica)).collect();
            Opened::Plan(Plan { fetch, wanted })
        }
        Err(error) => Opened::Refused(code_of(&error)),
    }
}

/// Keeps what must be sent, and says under which session.
pub(super) fn close(ctx: &Ctx, plan: Plan, rows: Vec<Row>) -> Result<(i32, Vec<(Wanted, Row)>), Code> {
    let Plan { fetch, wanted } = plan;
    let keys: Vec<PartitionKey> = fetch.wanted().iter().map(|(key, _)| key.clone()).collect();
    let rows = keys.into_iter().zip(wanted.into_iter().zip(rows)).collect();
    let random = if fetch.wants_session() { random_u64(&*ctx.node.entropy) as u32 } else { 0 };
    let mut sessions = ctx.node.fetch_sessions.lock();
    let finished = sessions.finish(ctx.node.ticks.now(), fetch, rows, |(_, row)| facts(row), random);
    let Finished { session_id, rows } = finished.map_err(|error| code_of(&error))?;
    Ok((session_id, rows.into_iter().map(|(_, row)| row).collect()))
}

fn code_of(error: &SessionError) -> Code {
    match error {
        SessionError::UnknownId(_) => code::FETCH_SESSION_ID_NOT_FOUND,
        SessionError::BadEpoch { .. } => code::INVALID_FETCH_SESSION_EPOCH,
        SessionError::OtherNames(_) => code::FETCH_SESSION_TOPIC_ID_ERROR,
    }
}

fn session_wanted(asked: &FetchPartition) -> SessionWanted {
    SessionWanted {
        fetch_offset: asked.fetch_offset,
        max_bytes: asked.max_bytes,
        current_leader_epoch: asked.current_leader_epoch,
        last_fetched_epoch: asked.last_fetched_epoch,
        log_start_offset: asked.log_start_offset,
        high_watermark: asked.high_watermark,
    }
}

fn to_read(ctx: &Ctx, key: &PartitionKey, wanted: &SessionWanted, is_replica: bool) -> Wanted {
    let (topic, id, by_id): (Arc<str>, Uuid, bool) = match &key.topic {
        TopicKey::Name(name) => (Arc::clone(name), Uuid::ZERO, false),
        TopicKey::Id(id) => (ctx.node.topic_name(*id).unwrap_or_default(), *id, true),
    };
    let refused = if by_id && topic.is_empty() {
        Some(code::UNKNOWN_TOPIC_ID)
    } else if is_replica || ctx.may(Operation::Read, Resource::Topic(&topic)) {
        None
    } else {
        Some(code::TOPIC_AUTHORIZATION_FAILED)
    };
    let mut partition = FetchPartition::new(key.index, wanted.fetch_offset, wanted.max_bytes);
    partition.current_leader_epoch = wanted.current_leader_epoch;
    partition.last_fetched_epoch = wanted.last_fetched_epoch;
    partition.log_start_offset = wanted.log_start_offset;
    partition.high_watermark = wanted.high_watermark;
    Wanted { topic, id, by_id, partition, refused }
}

fn facts(row: &Row) -> Facts {
    Facts {
        high_watermark: row.fetched.high_watermark,
        log_start_offset: row.fetched.log_start_offset,
        has_records: row.fetched.records.iter().any(|chunk| !chunk.is_empty()),
        is_error: row.fetched.error_code != code::NONE,
        must_be_sent: row.fetched.diverging_epoch.is_some() || row.fetched.preferred_read_replica >= 0,
    }
}
