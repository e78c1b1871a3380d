//! Why a registration is refused: in words for the node that asked, and one line on the controller that said no.

use std::collections::BTreeMap;

use ballast_core::controller::BrokerError;
use ballast_core::image::Registration;
use ballast_core::machine::Tick;
use ballast_wire::{BrokerId, Uuid};
use parking_lot::Mutex;

/// Ids that are remembered; whoever makes up more of them is told of again.
const REMEMBERED_MAX: usize = 256;

/// What a refusal means to whoever runs the node, and what would help.
///
/// `session_timeout_ms` is this node's `broker.session.timeout.ms`: the controller's own counts, but they rarely differ.
pub(super) fn in_words(code: i16, id: BrokerId, session_timeout_ms: Tick) -> String {
    match code {
        7 => "the controller could not put it into the metadata in time: a majority of the voters has to answer"
            .to_owned(),
        31 => "the controller does not allow this node to take part (ClusterAction on the cluster)".to_owned(),
        35 => "the cluster has features (metadata.version, say) that this version does not work with".to_owned(),
        42 => "the controller could not make sense of it: is it another version, or another make?".to_owned(),
        101 => format!(
            "node id {id} is still registered by the process before; it is let in within {} s (broker.session.timeout.ms), \
             unless another node that runs has the same id",
            session_timeout_ms.div_ceil(1_000)
        ),
        104 => {
            "these controllers are of another cluster than this node's data: look at the quorum's addresses and the \
                data directory"
                .to_owned()
        }
        119 => "its log directories or listeners cannot be: another broker has registered the same, or one is missing"
            .to_owned(),
        other => format!("the controller gives no reason but Kafka's code {other}"),
    }
}

/// Who was refused last, and why, on the controller.
#[derive(Debug, Default)]
pub(crate) struct RefusedBrokers(Mutex<BTreeMap<BrokerId, (Uuid, i16)>>);

impl RefusedBrokers {
    /// One line for each life of a broker and each cause; the rest at debug.
    pub(crate) fn tell(&self, broker: &Registration, error: &BrokerError) {
        let id = broker.id;
        if self.is_new(id, broker.incarnation, error.code()) {
            tracing::info!(broker = id, %error, "a registration is refused");
        } else {
            tracing::debug!(broker = id, %error, "a registration is refused again");
        }
    }

    fn is_new(&self, id: BrokerId, incarnation: Uuid, code: i16) -> bool {
        let mut last = self.0.lock();
        if last.len() >= REMEMBERED_MAX && !last.contains_key(&id) {
            last.clear();
        }
        last.insert(id, (incarnation, code)) != Some((incarnation, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_back_before_its_session_is_over_is_told_how_long_it_waits() {
        let words = in_words(101, 1, 9_000);
        assert!(
            words.starts_with("node id 1 is still registered by the process before; it is let in within 9 s "),
            "{words}"
        );
        assert!(in_words(-1, 1, 9_000).ends_with("code -1"));
    }

    #[test]
    fn a_refusal_is_new_with_another_life_and_with_another_cause() {
        let refused = RefusedBrokers::default();
        let (first, second) = (Uuid([1; 16]), Uuid([2; 16]));
        let told =
            [(1, first, 101), (1, first, 101), (2, first, 101), (1, first, 104), (1, second, 104), (1, second, 104)];
        let new = told.map(|(id, life, code)| refused.is_new(id, life, code));
        assert_eq!(new, [true, false, true, true, true, false]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let refused = RefusedBrokers::default();
        for id in 0..10_000 {
            assert!(refused.is_new(id, Uuid::ZERO, 101));
        }
        assert!(refused.0.lock().len() <= REMEMBERED_MAX);
    }
}
