//! The capabilities. One file each, in one shape: the grant, the context of an attempt, the host
//! functions, the way into the linker.
//!
//! Every host function with an effect first asks [`Control::alive`](crate::control::Control::alive).

pub(crate) mod dirs;
pub(crate) mod log;
pub(crate) mod retention;
pub(crate) mod sql;
pub(crate) mod work;
