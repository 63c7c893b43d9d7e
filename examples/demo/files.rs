//! Real files for two scopes: pictures and papers.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::scene::Scope;

const PICTURES: u32 = 120;
const PAPERS: u32 = 1200;

/// The scopes of the made files. They are made once and kept for later runs.
pub(crate) fn make(folder: &Path) -> Result<Vec<Scope>> {
    let complete = folder.join("complete");
    if !complete.exists() {
        println!("making files for two scopes in {}", folder.display());
        make_photos(&folder.join("photos"))?;
        make_documents(&folder.join("documents"))?;
        fs::write(complete, "")?;
    }
    ["documents", "photos"].into_iter().map(|name| Scope::of(folder.join(name))).collect()
}

fn make_photos(folder: &Path) -> Result<()> {
    for number in 0..PICTURES {
        let album = folder.join(format!("album-{:02}", number / 20));
        fs::create_dir_all(&album)?;
        let (width, height) = (240 + number % 7 * 16, 160 + number % 5 * 16);
        let pixels = picture(width, height, number);
        if number % 3 == 0 {
            png_file(&album.join(format!("{number:04}.png")), width, height, &pixels)?;
        } else {
            let encoder = jpeg_encoder::Encoder::new_file(album.join(format!("{number:04}.jpg")), 80)
                .map_err(|error| anyhow!("a JPEG cannot be made: {error}"))?;
            encoder.encode(&pixels, u16::try_from(width)?, u16::try_from(height)?, jpeg_encoder::ColorType::Luma)?;
        }
    }
    Ok(())
}

fn make_documents(folder: &Path) -> Result<()> {
    for number in 0..PAPERS {
        let year = folder.join(format!("{}", 2015 + number % 12)).join(format!("{:02}", 1 + number % 9));
        fs::create_dir_all(&year)?;
        let paper = format!("paper {number}: the quick brown fox jumps over the lazy dog\n").repeat(3000);
        fs::write(year.join(format!("paper {number:05}.txt")), paper)?;
    }
    Ok(())
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
