//! What clients asked for, written down so that a test can look.
//!
//! Holds: never more than `REQUESTS_MAX` requests are kept; the oldest go first, and how many went is known.

use std::collections::VecDeque;

use ballast_wire::frame::ApiKey;

/// Requests that are kept.
const REQUESTS_MAX: usize = 65_536;

/// One request, as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its API.
    pub api: ApiKey,
    /// The version of its schema.
    pub version: i16,
    /// What its sender calls itself; empty if it does not.
    pub client_id: String,
    /// Its number on its connection.
    pub correlation_id: i32,
    /// The topics that it names, and their partitions where it names those. Empty for APIs that are about something else.
    pub topics: Vec<(String, Vec<i32>)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    is_on: bool,
    requests: VecDeque<Recorded>,
    forgotten: u64,
}

impl Recorder {
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins anew.
    pub(super) fn start(&mut self) {
        *self = Recorder { is_on: true, ..Recorder::default() };
    }

    /// Ends, and forgets everything.
    pub(super) fn stop(&mut self) {
        *self = Recorder::default();
    }

    pub(super) fn add(&mut self, request: Recorded) {
        if !self.is_on {
            return;
        }
        if self.requests.len() == REQUESTS_MAX {
            self.requests.pop_front();
            self.forgotten += 1;
        }
        self.requests.push_back(request);
    }

    pub(super) fn all(&self) -> Vec<Recorded> {
        self.requests.iter().cloned().collect()
    }

    /// Requests that had to give way.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(correlation_id: i32) -> Recorded {
        Recorded { api: ApiKey::FETCH, version: 4, client_id: "c".to_owned(), correlation_id, topics: Vec::new() }
    }

    #[test]
    fn nothing_is_kept_until_recording_starts_and_starting_again_begins_anew() {
        let mut recorder = Recorder::default();
        recorder.add(request(1));
        assert!(recorder.all().is_empty());
        recorder.start();
        recorder.add(request(2));
        assert_eq!(recorder.all(), [request(2)]);
        recorder.start();
        assert!(recorder.all().is_empty());
    }

    #[test]
    fn the_oldest_requests_give_way_and_are_counted() {
        let mut recorder = Recorder::default();
        recorder.start();
        for number in 0..REQUESTS_MAX as i32 + 2 {
            recorder.add(request(number));
        }
        assert_eq!(recorder.forgotten(), 2);
        assert_eq!(recorder.all().first(), Some(&request(2)));
        assert_eq!(recorder.all().len(), REQUESTS_MAX);
    }
}
