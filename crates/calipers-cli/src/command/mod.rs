//! The commands, one file each.

pub(crate) mod baseline;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod eval;
pub(crate) mod gate;
pub(crate) mod metrics;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod report;
pub(crate) mod score;
