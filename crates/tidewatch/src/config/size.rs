//! Sizes and shares as people write them: `8MiB`, `500 kB`, `20%`.

use schedule::spec::Mistake;

const UNITS: [(&str, u64); 9] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// Bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, Mistake> {
    let wrong = || Mistake(format!("`{text}` is not a size; write it like `8MiB` or `500kB`"));
    let trimmed = text.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, size)| trimmed.strip_suffix(name).map(|number| (number, *size)))
        .ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    if !(0.0..1e15).contains(&(number * unit as f64)) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    Ok((number * unit as f64).round() as u64)
}

/// Thousandths.
pub(crate) fn share(text: &str) -> Result<u32, Mistake> {
    let wrong = || Mistake(format!("`{text}` is not a share; write it like `20%`"));
    let percent = text.trim().strip_suffix('%').ok_or_else(wrong)?;
    let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
    if !(0.0..=100.0).contains(&percent) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked just above"
    )]
    Ok((percent * 10.0).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_read_as_people_write_them() {
        assert_eq!(bytes("8MiB").unwrap(), 8 << 20);
        assert_eq!(bytes("500 kB").unwrap(), 500_000);
        assert_eq!(bytes("0.5GiB").unwrap(), 1 << 29);
        assert_eq!(share("20%").unwrap(), 200);
        for text in ["", "8", "8 miB", "-1MB", "many"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        for text in ["20", "120%", "-1%", "%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
