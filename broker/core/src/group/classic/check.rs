//! What must hold of a group, checked after every step in tests.

use super::{Classic, GroupState};
use crate::group::timers::{TimerKey, Timers};

impl Classic {
    /// Panics if the group contradicts itself or its deadlines.
    pub(in crate::group) fn check(&self, timers: &Timers) {
        self.check_members();
        self.check_sessions(timers);
        let id = &self.id;
        let has_join_timer = timers.is_set(&TimerKey::Join(id.clone()));
        let is_preparing = self.state == GroupState::PreparingRebalance;
        assert_eq!(
            has_join_timer, is_preparing,
            "group {id} is {:?}, but its deadline to join says otherwise",
            self.state
        );
        let has_sync_timer = timers.is_set(&TimerKey::Sync(id.clone()));
        assert_eq!(
            has_sync_timer,
            !self.pending_sync.is_empty(),
            "group {id} waits for {:?} to sync",
            self.pending_sync
        );
    }

    fn check_members(&self) {
        let (id, members) = (&self.id, self.members.len());
        let is_waited_out = self.initial_delay.is_some();
        let is_waited_for = is_waited_out || !self.pending_join.is_empty();
        match self.state {
            GroupState::Empty => assert_eq!(members, 0, "group {id} is Empty and has members"),
            GroupState::PreparingRebalance => assert!(members > 0 || is_waited_for, "group {id} prepares for nobody"),
            _ => assert!(members > 0, "group {id} is {:?} without members", self.state),
        }
        assert!(
            !is_waited_out || self.state == GroupState::PreparingRebalance,
            "group {id} delays in {:?}",
            self.state
        );
        assert!(
            self.assigning.is_none() || self.state == GroupState::CompletingRebalance,
            "group {id} assigns in {:?}",
            self.state
        );
        assert_eq!(
            self.leader.is_some(),
            members > 0,
            "group {id} has {members} members and the leader {:?}",
            self.leader
        );
        if let Some(leader) = &self.leader {
            assert!(self.members.contains_key(leader), "the leader {leader} of group {id} is no member");
            assert!(self.protocol_type.is_some(), "group {id} has members and no protocol type");
        }
        let is_common = self.supported.values().any(|count| *count == members);
        assert!(is_common || members == 0, "the {members} members of group {id} have no protocol in common");
        let waiting = self.members.values().filter(|member| member.awaiting_join.is_some()).count();
        assert_eq!(waiting, self.awaiting_join, "group {id} counts {} waiting joins", self.awaiting_join);
        let statics = self.members.values().filter(|member| member.is_static()).count();
        assert_eq!(statics, self.statics.len(), "group {id} maps {} instance ids", self.statics.len());
        for (instance, holder) in &self.statics {
            let held = self.members.get(holder).and_then(|member| member.instance_id.as_ref());
            assert_eq!(held, Some(instance), "member {holder} of group {id} does not hold {instance}");
        }
        for name in self.supported.keys() {
            let count = self.members.values().filter(|m| m.protocols.iter().any(|p| p.name == *name)).count();
            assert_eq!(Some(&count), self.supported.get(name), "group {id} miscounts who has {name}");
        }
        let stray = self.pending_sync.iter().find(|member| !self.members.contains_key(*member));
        assert_eq!(stray, None, "group {id} waits for a stranger to sync");
        let double = self.pending_join.iter().find(|member| self.members.contains_key(*member));
        assert_eq!(double, None, "a member of group {id} is still to join");
    }

    /// Nobody is forgotten: a member waits for an answer, or its session runs.
    fn check_sessions(&self, timers: &Timers) {
        let is_running = |member: &super::MemberId| {
            timers.is_set(&TimerKey::Session { group: self.id.clone(), member: member.clone() })
        };
        for (id, member) in &self.members {
            assert!(is_running(id) || member.is_waiting(), "nobody watches member {id} of group {}", self.id);
            assert!(
                member.awaiting_sync.is_none() || self.state == GroupState::CompletingRebalance,
                "member {id} of group {} waits for an assignment in {:?}",
                self.id,
                self.state
            );
        }
        let stray = self.pending_join.iter().find(|id| !is_running(id));
        assert_eq!(stray, None, "group {} waits for somebody to join without a deadline", self.id);
    }
}
