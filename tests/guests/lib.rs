//! Hostile and broken components for the tests, one example per case.
