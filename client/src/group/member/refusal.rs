//! What a refusal does to a member, by its code.
//!
//! | code | while joining | while owning partitions |
//! |---|---|---|
//! | 14 loading | again after a pause | the heartbeat again after a pause |
//! | 15, 16, no answer | find the coordinator, then again | find the coordinator, then the heartbeat again |
//! | 22 generation | join again | the partitions are lost, join again |
//! | 25 unknown member | join again without an id | the partitions are lost, join again without an id |
//! | 27 rebalance | join again | give the partitions back, then join again |
//! | 82 fenced, others that are final | the end | the end |

use tokio::time::Instant;

use super::{Coordinator, Effect, Member};
use crate::{ClientError, ErrorCode};

impl Member {
    /// Takes the failure of whatever was asked.
    pub(super) fn refused(&mut self, now: Instant, error: ClientError, out: &mut Vec<Effect>) {
        match error.code() {
            Some(ErrorCode::REBALANCE_IN_PROGRESS) if self.owns() => return self.rebalance(out),
            Some(ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::ILLEGAL_GENERATION) if self.owns() => {
                tracing::warn!(group = self.config.group_id, %error, "the group has gone on without us: joining again");
                out.push(Effect::Lost);
            }
            _ => {}
        }
        match error.code() {
            Some(ErrorCode::UNKNOWN_MEMBER_ID) => {
                self.member_id.clear();
                self.generation = -1;
                self.unjoin();
            }
            Some(ErrorCode::ILLEGAL_GENERATION) => {
                self.generation = -1;
                self.unjoin();
            }
            Some(ErrorCode::REBALANCE_IN_PROGRESS) => self.unjoin(),
            Some(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS) => self.again(),
            _ if error.is_retriable() => {
                // It moved, or does not answer: where is it now?
                if self.coordinator == Coordinator::Known {
                    self.coordinator = Coordinator::Unknown;
                }
                self.again();
            }
            _ => return self.fail(error, out),
        }
        self.pause(now, error, out);
    }

    /// Whatever is under way is asked again. Partitions stay: only the coordinator's word takes them away.
    fn again(&mut self) {
        if !self.owns() {
            self.unjoin();
        }
        self.beating = None;
    }

    fn pause(&mut self, now: Instant, error: ClientError, out: &mut Vec<Effect>) {
        let since = *self.failing_since.get_or_insert(now);
        if !self.has_joined && now.duration_since(since) >= self.patience.first_join {
            let what = format!("joining group {}", self.config.group_id);
            let after = now.duration_since(since);
            return self.fail(ClientError::TimedOut { what, after, last: Some(Box::new(error)) }, out);
        }
        tracing::debug!(group = self.config.group_id, %error, "will ask the coordinator again");
        let doubled = self.patience.pause.saturating_mul(1 << self.failures.min(10));
        self.failures += 1;
        self.retry_at = now + doubled.min(self.patience.pause_max);
        if self.owns() {
            self.beat_at = self.retry_at;
        }
    }
}
