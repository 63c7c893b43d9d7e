//! A database in trouble: each verb answers so, and no item is lost or doubled.

mod cut;
mod disk;
mod in_turn;
mod refused;
mod standby;
mod verbs;
