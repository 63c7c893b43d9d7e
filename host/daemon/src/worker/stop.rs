//! The wish to stop, told to everything that runs.

use tokio::sync::watch;

/// Tells every [`Stop`] made from it.
pub struct StopSwitch(watch::Sender<bool>);

/// Hears of the shutdown. Cheap to clone.
#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

impl StopSwitch {
    /// A switch that is off, and its listener.
    pub fn new() -> (StopSwitch, Stop) {
        let (sender, receiver) = watch::channel(false);
        (StopSwitch(sender), Stop(receiver))
    }

    /// Asks everything to stop. It stays asked.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether it was asked.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns once it was asked; never if the switch is gone without.
    pub async fn requested(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending().await
        }
    }
}
