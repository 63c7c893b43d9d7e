//! Whether this process can do its work, and why not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The parts of the process that are red, each with its reason. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Readiness {
    /// A part works. Answers whether it did not before, so that the end of a fault is logged once.
    pub fn green(&self, part: &'static str) -> bool {
        self.lock().remove(part).is_some()
    }

    /// A part does not work, for this reason. Answers whether it worked before, so that a fault is logged once.
    pub fn red(&self, part: &'static str, reason: impl Into<String>) -> bool {
        self.lock().insert(part, reason.into()).is_none()
    }

    /// Whether a part is red.
    pub fn is_red(&self, part: &'static str) -> bool {
        self.lock().contains_key(part)
    }

    /// All that is red.
    pub fn reds(&self) -> BTreeMap<&'static str, String> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_news_once_until_it_is_over() {
        let readiness = Readiness::default();
        assert!(readiness.red("store", "down"));
        assert!(!readiness.red("store", "still down"));
        assert_eq!(readiness.reds()["store"], "still down");
        assert!(readiness.is_red("store") && !readiness.is_red("sweep"));
        assert!(readiness.green("store"));
        assert!(!readiness.green("store"));
        assert!(readiness.reds().is_empty());
        assert!(readiness.red("store", "down again"));
    }
}
