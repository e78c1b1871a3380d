//! The mistakes, most of which brokers were shipped with.

/// A mistake. It is made wherever its name stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// acks=all is answered as soon as the leader has the record.
    AckBeforeFollowerFetch,
    /// The watermark does not wait for replicas that are about to join the ISR.
    WatermarkByIsr,
    /// A follower of a new leader cuts its log at its own watermark (Kafka before KIP-101).
    TruncateToWatermark,
    /// A broker that comes back from a crash keeps its place in the ISRs.
    UncleanKeepsMembership,
    /// A sync that failed is taken for one that was done.
    FsyncErrorIgnored,
    /// The folder of a partition is not synced after files were made in it.
    DirectoryNotSynced,
    /// After a crash, segments are believed that no sync has covered.
    IndexTrustedAfterCrash,
    /// Cutting a log leaves its epochs as they were.
    EpochsNotTruncated,
    /// Cutting a log leaves the snapshots of producers behind its end.
    SnapshotKeptOnTruncate,
    /// An offset is committed for a member whatever generation it names.
    CommitWithoutGeneration,
    /// A vote counts before it is on the disk.
    RaftVoteNotSynced,
    /// The metadata log goes on after a cut that is not on the disk.
    RaftTruncateNotSynced,
    /// A proposal that came too late is taken for one that was never applied.
    StaleProposalForgotten,
    /// A follower takes the answer to any fetch for the answer to its last one.
    AnyAnswerIsTaken,
    /// A follower shows the leader's watermark before it has dropped what the leader has deleted.
    WatermarkBeforeStart,
    /// At D2 a follower fetches before it has synced what it fetched before.
    FetchBeforeSync,
}
