//! Brokers come, stay alive, and go: registration, heartbeats, fencing, orderly stops.
//!
//! ```text
//!             register                caught up                want_shutdown
//!  (nothing) ----------> fenced ---------------------> active ---------------> leaving
//!                          ^                             |                        |
//!                          +------ silent, or wants it --+------------------------+ leads nothing, and all know
//! ```
//! Holds: whoever fences a broker moves its leaderships in the same batch.

use ballast_planted::{Bug, is_planted};
use ballast_wire::{BrokerId, NO_LEADER};

use super::draft::Draft;
use super::error::BrokerError;
use super::event::{Event, FencedBecause};
use super::request::{BrokerHeartbeat, RegisterBroker};
use super::sessions::{Leaving, Sessions};
use super::{dirs, drain};
use crate::image::{Broker, Directories, EPOCH_IS_INDEX, FEATURE_METADATA, Image, Record};
use crate::machine::Tick;

/// Is `epoch` the present one of a registered broker?
pub(super) fn check_epoch(image: &Image, id: BrokerId, epoch: i64) -> Result<(), BrokerError> {
    let broker = image.broker(id).ok_or(BrokerError::NoEpoch(id))?;
    // An epoch that is not committed yet (-1) is one that nobody can know.
    if broker.epoch == epoch && epoch != EPOCH_IS_INDEX {
        Ok(())
    } else {
        Err(BrokerError::StaleEpoch { expected: broker.epoch, given: epoch })
    }
}

/// Lets a broker in, fenced. The epoch is known once the records are committed.
pub(super) fn register(
    draft: &mut Draft<'_>,
    sessions: &mut Sessions,
    now: Tick,
    request: &RegisterBroker,
) -> Result<(), BrokerError> {
    let id = request.broker.id;
    let ours = draft.image.cluster_id().map(|id| id.to_string()).unwrap_or_default();
    if request.cluster_id != ours {
        return Err(BrokerError::InconsistentClusterId { ours, given: request.cluster_id.clone() });
    }
    let before = draft.image.broker(id).cloned();
    let same_life = before.as_ref().filter(|before| before.incarnation == request.broker.incarnation);
    if before.is_some() && same_life.is_none() && !request.in_process && sessions.is_valid(id, now) {
        return Err(BrokerError::DuplicateRegistration { id });
    }
    judge_words(&request.broker)?;
    judge_dirs(&draft.image, &request.broker)?;
    judge_features(&draft.image, &request.broker)?;
    let mut log_dirs = request.broker.log_dirs.clone();
    log_dirs.sort_unstable();
    let new = Broker {
        epoch: same_life.map_or(EPOCH_IS_INDEX, |before| before.epoch),
        fenced: same_life.is_none_or(|before| before.fenced),
        in_controlled_shutdown: same_life.is_some_and(|before| before.in_controlled_shutdown),
        log_dirs,
        ..request.broker.clone()
    };
    if same_life.is_some() {
        // A request that was sent twice changes nothing the second time.
        if before.as_deref() != Some(&new) {
            draft.push(Record::RegisterBroker(Box::new(new)));
        }
        sessions.touch(id, now, 0);
        return Ok(());
    }
    draft.push(Record::RegisterBroker(Box::new(new)));
    if let Some(before) = before {
        let clean = request.previous_epoch == before.epoch;
        // Without eligible leader replicas the last member of an ISR keeps its place, however it stopped.
        let distrusted = !clean && draft.image.elr_enabled();
        if clean || !is_planted(Bug::UncleanKeepsMembership) {
            remove_from_isrs(draft, id, distrusted);
        }
    }
    drain::end(draft, id);
    sessions.restart(id, now);
    Ok(())
}

/// Longest word that clients of every version can be told, in bytes.
pub(super) const WORD_BYTES_MAX: usize = i16::MAX as usize;

/// What clients are told of a broker must fit into the answers that the oldest of them ask for.
fn judge_words(broker: &Broker) -> Result<(), BrokerError> {
    let of_listeners = broker.listeners.iter().flat_map(|listener| [&*listener.listener, &*listener.host]);
    let words = of_listeners.chain(broker.rack.as_deref()).chain(broker.features.keys().map(|name| &**name));
    match words.map(str::len).find(|bytes| *bytes > WORD_BYTES_MAX) {
        Some(bytes) => {
            let why = format!("A name of {bytes} bytes in the request is longer than {WORD_BYTES_MAX}");
            Err(BrokerError::InvalidRegistration(why))
        }
        None => Ok(()),
    }
}

fn judge_dirs(image: &Image, broker: &Broker) -> Result<(), BrokerError> {
    let bad = |why: String| Err(BrokerError::InvalidRegistration(why));
    if broker.log_dirs.is_empty() {
        return bad("No directories specified in request".to_owned());
    }
    if broker.listeners.is_empty() {
        return bad("No listeners specified in request".to_owned());
    }
    for (at, dir) in broker.log_dirs.iter().enumerate() {
        if Directories::reserved(*dir) {
            return bad(format!("Reserved directory ID {dir} in request"));
        }
        if broker.log_dirs[..at].contains(dir) {
            return bad(format!("Duplicate directory ID {dir} in request"));
        }
        let other = image.brokers().find(|other| other.id != broker.id && other.log_dirs.contains(dir));
        if let Some(other) = other {
            return bad(format!("Broker {} is already registered with directory {dir}", other.id));
        }
    }
    Ok(())
}

fn judge_features(image: &Image, broker: &Broker) -> Result<(), BrokerError> {
    if !broker.features.contains_key(FEATURE_METADATA) {
        let why = format!("Request features do not support '{FEATURE_METADATA}'");
        return Err(BrokerError::InvalidRegistration(why));
    }
    for (name, level) in image.features().filter(|(_, level)| *level > 0) {
        let range = broker.features.get(name).copied();
        let (min, max) = range.map_or((0, 0), |range| (range.min, range.max));
        if !(min..=max).contains(&level) {
            return Err(BrokerError::UnsupportedFeature { feature: name.to_owned(), level, min, max });
        }
    }
    Ok(())
}

/// Takes a broker out of every ISR (except as the last member, without ELR) and moves its leaderships. The image must show
/// it inactive already. One that is distrusted leaves the ELRs too.
fn remove_from_isrs(draft: &mut Draft<'_>, id: BrokerId, distrusted: bool) {
    let affected = draft.partitions_where(|partition| {
        partition.leader == id || partition.isr.contains(&id) || (distrusted && partition.elr.contains(&id))
    });
    for (topic, index) in affected {
        draft.change(topic, index, |change| {
            change.isr.retain(|member| *member != id);
            change.distrusted = distrusted.then_some(id);
        });
    }
}

/// Shuts a broker out.
pub(super) fn fence(draft: &mut Draft<'_>, id: BrokerId, why: FencedBecause) {
    draft.push(Record::FenceBroker { id });
    draft.events.push(Event::Fenced { broker: id, why });
    remove_from_isrs(draft, id, false);
}

/// Lets a broker take part: it may lead what nobody leads.
fn unfence(draft: &mut Draft<'_>, id: BrokerId) {
    draft.push(Record::UnfenceBroker { id });
    draft.events.push(Event::Unfenced { broker: id });
    for (topic, index) in draft.partitions_where(|partition| partition.leader == NO_LEADER) {
        draft.change(topic, index, |_| {});
    }
}

fn begin_shutdown(draft: &mut Draft<'_>, sessions: &mut Sessions, id: BrokerId) {
    draft.push(Record::ShutdownBroker { id });
    draft.events.push(Event::Stopping { broker: id });
    remove_from_isrs(draft, id, false);
    sessions.leave(id, Leaving::Proposed);
}

/// Forgets a broker.
pub(super) fn unregister(draft: &mut Draft<'_>, sessions: &mut Sessions, id: BrokerId) -> Result<(), BrokerError> {
    if draft.image.broker(id).is_none() {
        return Err(BrokerError::NotRegistered(id));
    }
    draft.push(Record::UnregisterBroker { id });
    drain::end(draft, id);
    remove_from_isrs(draft, id, true);
    sessions.end(id);
    Ok(())
}

/// What a heartbeat comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Fenced,
    Active,
    Leaving,
    Released,
}

/// Takes in a sign of life, and says whether the broker may stop.
pub(super) fn heartbeat(
    draft: &mut Draft<'_>,
    sessions: &mut Sessions,
    now: Tick,
    beat: &BrokerHeartbeat,
) -> Result<bool, BrokerError> {
    check_epoch(&draft.image, beat.id, beat.epoch)?;
    let broker = draft.image.broker(beat.id).cloned().ok_or(BrokerError::NoEpoch(beat.id))?;
    sessions.touch(beat.id, now, beat.metadata_index);
    let next = next_state(draft, sessions, &broker, beat);
    match next {
        Next::Active if broker.fenced => unfence(draft, beat.id),
        Next::Leaving if !broker.in_controlled_shutdown => begin_shutdown(draft, sessions, beat.id),
        Next::Fenced if !broker.fenced => fence(draft, beat.id, FencedBecause::Asked),
        Next::Released if !broker.fenced => fence(draft, beat.id, FencedBecause::Stopped),
        Next::Fenced | Next::Active | Next::Leaving | Next::Released => {}
    }
    if next == Next::Released {
        // It says itself that its life is over, so its next one need not wait for the session to run out.
        sessions.end(beat.id);
    } else {
        dirs::drop_failed(draft, beat.id, &beat.offline_dirs);
    }
    Ok(next == Next::Released)
}

fn next_state(draft: &Draft<'_>, sessions: &Sessions, broker: &Broker, beat: &BrokerHeartbeat) -> Next {
    let leads = || !draft.partitions_where(|partition| partition.leader == broker.id).is_empty();
    if broker.fenced {
        return match (beat.want_shutdown, beat.want_fence) {
            (true, _) => Next::Released,
            (false, false) if is_caught_up(broker, beat) => Next::Active,
            (false, _) => Next::Fenced,
        };
    }
    if broker.in_controlled_shutdown {
        let Leaving::Since(index) = sessions.leaving(broker.id) else { return Next::Leaving };
        let all_know = sessions.lowest_active_index(&draft.image) >= index;
        return if all_know && !leads() { Next::Released } else { Next::Leaving };
    }
    match (beat.want_fence, beat.want_shutdown) {
        (true, true) => Next::Released,
        (true, false) => Next::Fenced,
        (false, true) if leads() => Next::Leaving,
        (false, true) => Next::Released,
        (false, false) => Next::Active,
    }
}

/// Has the broker applied the entry that registered it?
pub(super) fn is_caught_up(broker: &Broker, beat: &BrokerHeartbeat) -> bool {
    u64::try_from(broker.epoch).is_ok_and(|epoch| beat.metadata_index >= epoch)
}
