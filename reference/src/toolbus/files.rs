//! Files below a directory of ours: safe names, no way out, written whole or not at all.
//!
//! Neighbours: `artifacts` and `state` write with it.
//! Names come from callers, so that they are escaped, and folders are looked at before they are entered: a
//! symbolic link below the root is refused. The root itself may be one, since it was configured.
//! Deliberately absent: protection from another process that swaps folders between the look and the write.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::ids::random_hex;

/// The longest name that is made, so that an extension still fits into the 255 bytes of common file systems.
const NAME_BYTES: usize = 180;
/// How much of a longer name is kept before its digest.
const PREFIX_BYTES: usize = 100;
/// Ends of names that our own files have.
const OWN_ENDS: [&str; 3] = [".context", ".json", ".tmp"];

/// A file name for a text, different for different texts.
///
/// Letters, digits, `_` and `-` stand for themselves, and so does a single dot within; every other byte is `=` and two
/// hexadecimal digits. `=` rather than `%`, since a reader that decodes uris would turn `%2E%2E` into a way out.
/// A name that would be too long ends in `~` and the SHA-256 of the text.
pub(crate) fn safe_name(text: &str) -> String {
    let own_end = OWN_ENDS.iter().find(|end| {
        text.len()
            .checked_sub(end.len())
            .and_then(|at| text.get(at..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    });
    let end_dot = own_end.map(|end| text.len() - end.len());
    let mut name = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        // Between two others that are no dots: neither the start of a hidden file nor a step upwards.
        let dot =
            byte == b'.' && at > 0 && at + 1 < bytes.len() && bytes[at - 1] != b'.' && end_dot != Some(at);
        if dot || byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "={byte:02X}");
        }
    }
    if name.len() > NAME_BYTES {
        name.truncate(PREFIX_BYTES);
        name.push('~');
        for byte in Sha256::digest(text.as_bytes()) {
            let _ = write!(name, "{byte:02x}");
        }
    }
    if name.is_empty() {
        // No text is escaped to this: a lone `=` is followed by digits otherwise.
        name.push('=');
    }
    name
}

/// A folder below the root, made of names that are safe, created as far as it is not there.
pub(crate) fn folder(root: &Path, names: &[&str]) -> io::Result<PathBuf> {
    fs::create_dir_all(root)?;
    let mut path = root.to_owned();
    for name in names {
        path.push(name);
        match private_folder(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) if !fs::symlink_metadata(&path)?.is_dir() => {
                return Err(io::Error::new(
                    io::ErrorKind::NotADirectory,
                    format!("`{name}` is a link or a file where a folder belongs"),
                ));
            }
            _ => {}
        }
    }
    Ok(path)
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Writes a file so that a reader sees the old bytes or the new ones; a link of that name is replaced, not followed.
pub(crate) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = folder.join(format!("=~{}.tmp", random_hex(1)));
    let written = private_file(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, folder.join(name)));
    if written.is_err() {
        // The first error is the one to report; a temporary file that stays behind is harmless.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The bytes of a regular file that is at most `limit` long; nothing when there is none.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(io::Error::other("not a regular file")),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {limit} bytes")));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{folder, safe_name, write_whole};

    #[test]
    fn names_are_safe_and_readable() {
        fn check(text: &str, expect: &str) {
            assert_eq!(safe_name(text), expect);
        }
        check("tr-02_A.b", "tr-02_A.b");
        check("..", "=2E=2E");
        check("../../x", "=2E=2E=2F.=2E=2Fx");
        check("/etc", "=2Fetc");
        check("a\0b", "a=00b");
        check("é", "=C3=A9");
        check("sp.context", "sp=2Econtext");
        check("sp.CONTEXT", "sp=2ECONTEXT");
        check("a=b", "a=3Db");
        check("", "=");
    }

    #[test]
    fn different_texts_have_different_names() {
        let long = "é".repeat(200);
        let texts = [
            "",
            "=",
            "=2E",
            ".",
            "..",
            "a.b",
            "a=2Eb",
            "a/b",
            "a\\b",
            &long,
            &long[2..],
            "~",
            "sp",
            "sp.context",
        ];
        let names: HashSet<String> = texts.iter().map(|text| safe_name(text)).collect();
        assert_eq!(names.len(), texts.len());
        assert!(
            names.iter().all(|name| name.len() <= super::NAME_BYTES && !name.contains(['/', '\\', '\0']))
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_below_the_root_lead_nowhere() -> std::io::Result<()> {
        let outside = tempfile::tempdir()?;
        let root = tempfile::tempdir()?;
        std::os::unix::fs::symlink(outside.path(), root.path().join("a"))?;
        assert!(folder(root.path(), &["a"]).is_err());
        let inside = folder(root.path(), &["b", "c"])?;
        let target = outside.path().join("target");
        std::fs::write(&target, "old")?;
        std::os::unix::fs::symlink(&target, inside.join("f"))?;
        write_whole(&inside, "f", b"new")?;
        assert_eq!(std::fs::read(&target)?, b"old");
        assert_eq!(std::fs::read(inside.join("f"))?, b"new");
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn files_are_their_owners_alone() -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir()?;
        let inside = folder(root.path(), &["b"])?;
        write_whole(&inside, "f", b"x")?;
        let mode =
            |path: &std::path::Path| Ok::<_, std::io::Error>(path.metadata()?.permissions().mode() & 0o777);
        assert_eq!((mode(&inside)?, mode(&inside.join("f"))?), (0o700, 0o600));
        assert_eq!(std::fs::read_dir(&inside)?.count(), 1);
        Ok(())
    }
}
