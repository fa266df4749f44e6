//! Numbers and tables as people like to read them.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use lab::score::Summary;

/// A table without a heading.
pub(crate) fn facts() -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table
}

/// A table with a heading; the first column to the left, the others to the right.
pub(crate) fn table(heading: &[&str]) -> Table {
    let mut table = facts();
    table.set_header(heading.iter().enumerate().map(|(at, &text)| {
        Cell::new(text).set_alignment(if at == 0 {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        })
    }));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A table of words: every column to the left.
pub(crate) fn words(heading: &[&str]) -> Table {
    let mut table = facts();
    table.set_header(heading.to_vec());
    table
}

/// `0.341 ±0.002`; a dash where there is no value.
pub(crate) fn with_interval(summary: &Summary) -> String {
    match (summary.mean, summary.ci95) {
        (None, _) => "–".to_owned(),
        (Some(mean), Some([low, high])) if high - low >= 0.001 => {
            format!("{mean:.3} ±{:.3}", (high - low) / 2.0)
        }
        (Some(mean), _) => format!("{mean:.3}"),
    }
}

/// `1,888,128`
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 source`, `1,888,128 sources`
pub(crate) fn counted(n: usize, thing: &str) -> String {
    format!("{} {thing}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_well() {
        assert_eq!(count(1_888_128), "1,888,128");
        assert_eq!(count(999), "999");
        assert_eq!([counted(1, "site"), counted(2_000, "site")], ["1 site", "2,000 sites"]);
    }
}
