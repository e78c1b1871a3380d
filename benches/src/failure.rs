//! Why a measurement could not be made, as one line for a person.

use std::fmt;

/// A measurement that could not be made.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure in these words.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Says what was being done when something failed.
pub trait Doing<T> {
    /// The value, or a failure that names `what`.
    ///
    /// # Errors
    /// What it was given.
    fn doing(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Doing<T> for Result<T, E> {
    fn doing(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{what}: {error}")))
    }
}
