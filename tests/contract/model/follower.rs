//! A reader who follows the changes from cursor to cursor.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use workhost_queue::{Changes, Cursor, ItemId};

use super::world::World;
use crate::store::Engine;

/// What the reader has been told, and what it is still owed.
pub(super) struct Follower {
    engine: Engine,
    cursor: Option<Cursor>,
    /// The items whose last change is not told yet, with the step that made it.
    owed: BTreeMap<ItemId, u64>,
    /// The items that may be told once more after everything was read anew.
    again: BTreeSet<ItemId>,
    /// The items that were told, with the step that had changed them.
    told: BTreeMap<ItemId, u64>,
    /// The newest step of which anything was told.
    newest: u64,
    /// Whether an item is gone whose change was not told: then everything must be read anew.
    missed: bool,
    /// Whether everything may have to be read anew, since the reader may count as one who was not told.
    unsure: bool,
}

impl Follower {
    pub(super) fn new(engine: Engine) -> Follower {
        Follower {
            engine,
            cursor: None,
            owed: BTreeMap::new(),
            again: BTreeSet::new(),
            told: BTreeMap::new(),
            newest: 0,
            missed: false,
            unsure: false,
        }
    }

    pub(super) fn changed(&mut self, id: ItemId, step: u64) {
        self.owed.insert(id, step);
    }

    pub(super) fn gone(&mut self, id: ItemId) {
        self.missed |= self.owed.remove(&id).is_some();
        // PostgreSQL tells the changes of one transaction apart by their items, but not the deletions of those.
        let torn = self.told.remove(&id) == Some(self.newest) && self.engine == Engine::Postgres;
        self.unsure |= self.again.remove(&id) || torn;
    }

    fn told(&mut self, id: ItemId) {
        let again = self.again.remove(&id);
        if let Some(step) = self.owed.remove(&id) {
            assert!(step >= self.newest, "item {id} of step {step} is told after step {}", self.newest);
            self.newest = step;
            self.told.insert(id, step);
        } else {
            assert!(again, "item {id} is told, and did not change");
        }
    }

    /// All that is still owed is younger than what was told.
    fn check(&self) {
        let missed: Vec<_> = self.owed.iter().filter(|(_, step)| **step < self.newest).collect();
        assert!(missed.is_empty(), "changes were left out, all told up to step {}: {missed:?}", self.newest);
    }
}

impl World {
    pub(super) async fn follow(&mut self, host: usize, limit: u32, anew: bool) {
        let reader = &mut self.follower;
        if anew {
            reader.cursor = None;
        }
        // Through text, as a page in a browser would hand it back.
        let since = reader.cursor.map(|cursor| cursor.to_string().parse().unwrap());
        match self.hosts[host].changes_since(since, limit).await.unwrap() {
            Changes::Resync { cursor } => {
                assert!(since.is_none() || reader.missed || reader.unsure, "nothing that was not told is gone");
                let unsettled = std::mem::take(&mut reader.owed).into_keys();
                // PostgreSQL goes on from before all transactions that are open: what is newer is told then, and if one
                // of that is gone, everything must be read anew until those transactions have ended.
                let early = reader.engine == Engine::Postgres;
                reader.again.extend(unsettled.filter(|_| early));
                (reader.cursor, reader.missed, reader.unsure) = (Some(cursor), false, early);
            }
            Changes::Items { items, cursor } => {
                assert!(since.is_some() && !reader.missed, "an item is gone whose change was not told");
                assert!(items.len() <= limit as usize, "a page is as long as was asked for");
                for item in &items {
                    assert_eq!(format!("{item:?}"), format!("{:?}", self.rows[&item.id]), "told as it is now");
                    reader.told(item.id);
                }
                reader.check();
                if reader.engine == Engine::Sqlite && items.len() < limit as usize {
                    assert_eq!(reader.owed, BTreeMap::new(), "a page that is not full is the last");
                }
                (reader.cursor, reader.unsure) = (Some(cursor), false);
            }
        }
    }

    /// Follows until the reader is owed nothing.
    pub(super) async fn catch_up(&mut self) {
        for _ in 0..4000 {
            self.follow(1, 100, false).await;
            if self.follower.owed.is_empty() {
                return;
            }
            // On PostgreSQL a transaction of another test may hold the news back.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never told: {:?}", self.follower.owed);
    }
}
