//! Real files for two scopes: pictures and papers.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::scene::Scope;

const PICTURES: u32 = 360;
const PAPERS: u32 = 1200;

/// Makes the files of both scopes.
pub(crate) fn make(folder: &Path) -> Result<Vec<Scope>> {
    let photos = folder.join("photos");
    for number in 0..PICTURES {
        let album = photos.join(format!("album-{:02}", number / 40));
        fs::create_dir_all(&album)?;
        let (width, height) = (640 + number % 7 * 16, 480 + number % 5 * 16);
        let pixels = picture(width, height, number);
        if number % 3 == 0 {
            png_file(&album.join(format!("{number:04}.png")), width, height, &pixels)?;
        } else {
            let encoder = jpeg_encoder::Encoder::new_file(album.join(format!("{number:04}.jpg")), 80)
                .map_err(|error| anyhow!("a JPEG cannot be made: {error}"))?;
            encoder.encode(&pixels, u16::try_from(width)?, u16::try_from(height)?, jpeg_encoder::ColorType::Luma)?;
        }
    }
    let documents = folder.join("documents");
    for number in 0..PAPERS {
        let year = documents.join(format!("{}", 2015 + number % 12)).join(format!("{:02}", 1 + number % 9));
        fs::create_dir_all(&year)?;
        let mut paper = BufWriter::new(File::create(year.join(format!("paper {number:05}.txt")))?);
        for line in 0..2000 {
            writeln!(paper, "paper {number}, line {line}: the quick brown fox jumps over the lazy dog")?;
        }
        paper.flush()?;
    }
    Ok([("documents", documents), ("photos", photos)]
        .into_iter()
        .map(|(name, folder)| Scope { name: name.to_owned(), files: count(&folder) })
        .collect())
}

/// How many files lie below a folder; what cannot be read counts as none.
pub(crate) fn count(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            Ok(kind) if kind.is_file() => 1,
            _ => 0,
        })
        .sum()
}

/// Rings around a point that wanders from picture to picture.
fn picture(width: u32, height: u32, number: u32) -> Vec<u8> {
    let (center_x, center_y) = (number * 7 % width, number * 13 % height);
    let pixel = |index: u32| {
        let (x, y) = (index % width, index / width);
        ((x.abs_diff(center_x).pow(2) + y.abs_diff(center_y).pow(2)) / 97 % 256) as u8
    };
    (0..width * height).map(pixel).collect()
}

fn png_file(path: &Path, width: u32, height: u32, pixels: &[u8]) -> Result<()> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(())
}
