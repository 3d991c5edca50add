//! Looks at a policy's gates while results come in.
