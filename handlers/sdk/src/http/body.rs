//! The body of a response, read as it arrives.

use std::io::{self, Read};

use super::Error;

/// What follows the head of a response. Reading waits for the server; an error of it holds an [`Error`].
#[derive(Debug)]
pub struct Body(Inner);

#[derive(Debug)]
enum Inner {
    Whole(io::Cursor<Vec<u8>>),
    #[cfg(target_family = "wasm")]
    Arriving(super::wasi::Arriving),
}

impl Body {
    #[cfg(target_family = "wasm")]
    pub(super) fn arriving(arriving: super::wasi::Arriving) -> Self {
        Body(Inner::Arriving(arriving))
    }

    /// All of it. It must fit into the handler's memory.
    ///
    /// # Errors
    /// Says why it broke off.
    pub fn read_all(mut self) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        self.read_to_end(&mut all).map_err(|error| {
            let known = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).cloned();
            known.unwrap_or_else(|| Error::Unavailable(error.to_string()))
        })?;
        Ok(all)
    }
}

/// For tests, which answer with the whole.
impl From<Vec<u8>> for Body {
    fn from(whole: Vec<u8>) -> Self {
        Body(Inner::Whole(io::Cursor::new(whole)))
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Whole(whole) => whole.read(buffer),
            #[cfg(target_family = "wasm")]
            Inner::Arriving(arriving) => arriving.read(buffer),
        }
    }
}
