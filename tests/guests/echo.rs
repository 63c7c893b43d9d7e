//! Answers its payload.
