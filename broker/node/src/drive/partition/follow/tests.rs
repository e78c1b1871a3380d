//! A follower's log, driven as a fetcher drives it.
