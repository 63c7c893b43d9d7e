//! Width and height of JPEG and PNG files.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use imagesize::ImageSize;

use crate::read::CHUNK;
use crate::tree::File;

/// What a file shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// No JPEG or PNG.
    None,
    /// A JPEG or PNG of this size.
    Sized {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// What should be a JPEG or PNG, by its name or its first bytes, but tells no size.
    Broken,
}

/// Looks at a file whose first bytes are these.
pub(crate) fn look(name: &str, head: &[u8], file: &File) -> Picture {
    let known = imagesize::image_type(head).is_ok();
    if !known && !named_as_image(name) {
        return Picture::None;
    }
    // Most often the head is enough. A JPEG may put its size behind any amount of other data.
    imagesize::blob_size(head)
        .or_else(
            |error| {
                if known { imagesize::reader_size(BufReader::new(Reader { file, position: 0 })) } else { Err(error) }
            },
        )
        .map_or(Picture::Broken, sized)
}

fn sized(size: ImageSize) -> Picture {
    match (u32::try_from(size.width), u32::try_from(size.height)) {
        (Ok(width @ 1..), Ok(height @ 1..)) => Picture::Sized { width, height },
        _ => Picture::Broken,
    }
}

fn named_as_image(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    matches!(extension.as_deref(), Some("jpg" | "jpeg" | "png"))
}

/// A file as the image library reads it.
struct Reader<'a> {
    file: &'a File,
    position: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = CHUNK.min(buffer.len() as u64);
        let chunk = self.file.read(self.position, wanted).map_err(|_| io::ErrorKind::Other)?;
        let length = chunk.len().min(buffer.len());
        buffer[..length].copy_from_slice(&chunk[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            // The image library counts from the start; a file may grow meanwhile.
            SeekFrom::End(_) => None,
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_of_nothing_or_beyond_32_bits_is_no_size() {
        assert_eq!(sized(ImageSize { width: 2, height: 3 }), Picture::Sized { width: 2, height: 3 });
        assert_eq!(sized(ImageSize { width: 0, height: 3 }), Picture::Broken);
        assert_eq!(sized(ImageSize { width: 2, height: 1 << 32 }), Picture::Broken);
    }

    #[test]
    fn an_image_is_known_by_the_end_of_its_name() {
        assert!(named_as_image("a.JPG") && named_as_image("b.x.png") && named_as_image("c.jpeg"));
        assert!(!named_as_image("png") && !named_as_image("a.png.txt") && !named_as_image("a.gif"));
    }
}
