//! The handler of kind `token-cleanup`.
