//! A database in trouble: each verb answers so, and no item is lost or doubled.

mod cut;
mod disk;
mod given_up;
mod held;
mod in_turn;
mod refused;
mod silent;
mod standby;
mod terminated;
mod verbs;
mod wire;
