//! The handler of kind `crawl`.
