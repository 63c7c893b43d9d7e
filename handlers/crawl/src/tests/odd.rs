//! What real folders hold besides plain files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::json;

use super::fixture::{Fixture, png};

#[test]
fn a_name_that_is_not_utf8_is_counted_and_the_rest_of_its_folder_is_read() {
    let crawl = Fixture::new();
    crawl.write("f/a", b"x");
    crawl.write("f/gone", b"x");
    crawl.run();
    crawl.remove("f/gone");
    crawl.write("f/z", b"x");
    fs::write(crawl.path("f").join(OsStr::from_bytes(b"m\xff")), b"x").unwrap();
    let summary = crawl.run();
    assert_eq!((&summary["nameless"], &summary["removed"]), (&json!(1), &json!(0)));
    assert_eq!(crawl.paths(), ["f/a", "f/gone", "f/z"]);
    let counted = crawl.database.rows("select unreadable from crawl_folders where folder = 'f'");
    assert_eq!(counted, [[1_i64.into()]]);
}

#[test]
fn long_names_and_newlines_are_names() {
    let crawl = Fixture::new();
    let long = "l".repeat(255);
    for name in ["new\nline", "\u{1f600} 'quoted\"", " ", long.as_str()] {
        crawl.write(name, b"x");
    }
    assert_eq!(crawl.run()["files"], 4);
    assert!(crawl.paths().contains(&"new\nline".to_owned()) && crawl.paths().contains(&long));
}

#[test]
fn links_are_counted_by_where_they_lead_and_never_followed() {
    let crawl = Fixture::new();
    crawl.write("f/file", b"x");
    for (link, target) in [
        ("f/in", "file"),
        ("f/in-above", "../f/file"),
        ("f/out", "/etc/passwd"),
        ("f/out-above", "../../.."),
        ("f/nowhere", "nothing"),
        ("f/up", ".."),
        ("f/here", "."),
        ("f/loop", "loop"),
    ] {
        symlink(target, crawl.path(link)).unwrap();
    }
    let summary = crawl.run();
    assert_eq!(summary["links"], json!({ "inside": 2, "outside": 2, "circular": 3, "dangling": 1, "unknown": 0 }));
    assert_eq!(crawl.paths(), ["f/file"]);
}

#[test]
fn a_socket_is_skipped() {
    let crawl = Fixture::new();
    let _socket = UnixListener::bind(crawl.path("socket")).unwrap();
    let summary = crawl.run();
    assert_eq!((&summary["skipped"], &summary["files"]), (&json!(1), &json!(0)));
}

#[test]
fn a_broken_image_is_counted_and_recorded_without_pixels() {
    let crawl = Fixture::new();
    crawl.write("empty.jpg", b"");
    crawl.write("text.png", b"no picture");
    crawl.write("cut", &png(1, 1)[..18]);
    crawl.write("whole", &png(1, 1));
    let summary = crawl.run();
    assert_eq!((&summary["broken_images"], &summary["images"], &summary["files"]), (&json!(3), &json!(1), &json!(4)));
    let sized = crawl.database.rows("select path from crawled_files where width is not null");
    assert_eq!(sized, [["whole".into()]]);
}

#[test]
fn a_jpeg_that_tells_its_size_late_is_read_that_far() {
    let crawl = Fixture::new();
    let mut jpeg = vec![0xff, 0xd8];
    for _ in 0..8 {
        jpeg.extend([0xff, 0xe1, 0xff, 0xff]);
        jpeg.extend([0; 0xfffd]);
    }
    jpeg.extend([0xff, 0xc0, 0, 17, 8, 0, 48, 0, 64]);
    crawl.write("late.jpg", &jpeg);
    assert_eq!(crawl.run()["images"], 1);
    assert_eq!(crawl.database.rows("select width, height from crawl_files"), [[64_i64.into(), 48_i64.into()]]);
}
