//! The handler of kind `work-item-retention`.
