//! Copies that are too large for the clipboard.

use std::io;
use std::path::Path;

/// Writes a copy that is too large for the clipboard into a folder. Returns its path.
pub(crate) fn save_copy(folder: &Path, text: &str) -> io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join("copy.txt");
    std::fs::write(&path, text)?;
    Ok(path.display().to_string())
}
