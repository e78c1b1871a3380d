//! The states of a group, in Kafka's words.
//!
//! Holds: `may_become` lists every legal change. A group that is gone has no state; tools call it `Dead`.

/// State of a classic group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupState {
    /// No members.
    Empty,
    /// Waits for members to join.
    PreparingRebalance,
    /// Waits for the leader's assignment.
    CompletingRebalance,
    /// Everybody has an assignment.
    Stable,
}

impl GroupState {
    /// As DescribeGroups and ListGroups name it. Filters of ListGroups match it without regard to case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            GroupState::Empty => "Empty",
            GroupState::PreparingRebalance => "PreparingRebalance",
            GroupState::CompletingRebalance => "CompletingRebalance",
            GroupState::Stable => "Stable",
        }
    }

    /// May this state be followed by that one?
    #[must_use]
    pub fn may_become(self, next: GroupState) -> bool {
        use GroupState::{CompletingRebalance, Empty, PreparingRebalance, Stable};
        match self {
            Empty => matches!(next, PreparingRebalance),
            PreparingRebalance => matches!(next, Empty | CompletingRebalance),
            CompletingRebalance => matches!(next, PreparingRebalance | Stable),
            Stable => matches!(next, PreparingRebalance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GroupState::{self, CompletingRebalance, Empty, PreparingRebalance, Stable};

    #[test]
    fn a_group_changes_its_state_in_six_ways_only() {
        let all = [Empty, PreparingRebalance, CompletingRebalance, Stable];
        let legal: Vec<(GroupState, GroupState)> = all
            .into_iter()
            .flat_map(|from| all.map(|to| (from, to)))
            .filter(|(from, to)| from.may_become(*to))
            .collect();
        let expected = [
            (Empty, PreparingRebalance),
            (PreparingRebalance, Empty),
            (PreparingRebalance, CompletingRebalance),
            (CompletingRebalance, PreparingRebalance),
            (CompletingRebalance, Stable),
            (Stable, PreparingRebalance),
        ];
        assert_eq!(legal, expected);
    }
}
