//! Calipers.
