//! Vectors and round trips.
