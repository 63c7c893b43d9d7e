//! Write a workhost handler on one page.
