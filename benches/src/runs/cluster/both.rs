//! Values of our cluster and the peer's, turn by turn.

/// What each of the two gave, in order of its turns; nothing for a peer that is not there.
pub(super) struct Both<T> {
    pub(super) ours: Vec<T>,
    pub(super) theirs: Vec<T>,
}

impl<T> Both<T> {
    /// One figure of what each gave.
    pub(super) fn figure(&self, of: impl Fn(&T) -> f64) -> Both<f64> {
        Both { ours: self.ours.iter().map(&of).collect(), theirs: self.theirs.iter().map(&of).collect() }
    }
}
