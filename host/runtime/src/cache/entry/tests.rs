//! What is believed, and what is not.

use super::*;
use crate::cache::folder::Folder;

fn secret() -> Secret {
    let dir = tempfile::tempdir().unwrap();
    Secret::of(&Folder::open(dir.path()).unwrap()).unwrap()
}

fn key(component: u8) -> Key {
    Key::new(&Engine::default(), &[component; 32])
}

fn file(secret: &Secret, key: &Key, code: &[u8]) -> Vec<u8> {
    [&seal(secret, key, code)[..], code].concat()
}

#[test]
fn what_was_sealed_is_believed() {
    let (secret, key) = (secret(), key(1));
    for code in [&b"code"[..], b""] {
        let file = file(&secret, &key, code);
        assert_eq!(file.len(), HEAD_BYTES + code.len());
        assert_eq!(verify(&secret, &key, &file).unwrap().code(), code);
    }
}

#[test]
fn a_change_of_any_bit_is_not_believed() {
    let (secret, key) = (secret(), key(1));
    let whole = file(&secret, &key, b"machine code");
    for at in 0..whole.len() * 8 {
        let mut changed = whole.clone();
        changed[at / 8] ^= 1 << (at % 8);
        assert!(verify(&secret, &key, &changed).is_none(), "bit {at}");
    }
}

#[test]
fn a_file_that_is_cut_off_or_longer_is_not_believed() {
    let (secret, key) = (secret(), key(1));
    let whole = file(&secret, &key, b"machine code");
    for length in 0..whole.len() {
        assert!(verify(&secret, &key, &whole[..length]).is_none(), "{length} bytes");
    }
    assert!(verify(&secret, &key, &[&whole[..], b"\0"].concat()).is_none());
    assert!(verify(&secret, &key, &[b"\0", &whole[..]].concat()).is_none());
}

#[test]
fn an_entry_is_believed_under_its_own_name_alone() {
    let secret = secret();
    assert!(verify(&secret, &key(2), &file(&secret, &key(1), b"code")).is_none());
}

#[test]
fn an_entry_of_another_secret_is_not_believed() {
    let key = key(1);
    assert!(verify(&secret(), &key, &file(&secret(), &key, b"code")).is_none());
}

#[test]
fn the_key_names_component_and_engine() {
    let mut other = wasmtime::Config::new();
    other.epoch_interruption(true);
    let other = Key::new(&Engine::new(&other).unwrap(), &[1; 32]);
    assert_eq!(key(1).name(), key(1).name());
    assert_ne!(key(1).name(), key(2).name());
    assert_ne!(key(1).name(), other.name());
    assert!(is_name(key(1).name()) && key(1).name().starts_with(&"01".repeat(32)));
    for other in ["secret", "unfinished-00", "", "-", &key(1).name()[1..], &format!("{}0", key(1).name())] {
        assert!(!is_name(other), "{other}");
    }
}
