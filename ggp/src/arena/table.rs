//! Tables in text, with aligned columns.

/// The maximum width of a line, in characters.
const WIDTH: usize = 80;

/// The blanks between two columns.
const GAP: usize = 2;

/// Returns a table with aligned columns, whose first row is the head. The first `labels` columns are
/// aligned to the left, the others to the right. Columns that do not fit are in further blocks, each
/// with the labels. Columns with no value (`-`) in any row are omitted. Returns
/// an empty text if all are.
pub(super) fn aligned(rows: &[Vec<String>], labels: usize) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>, block: &[usize]| {
        let cell = |at: usize| {
            let (text, width) = (&row[at], widths[at]);
            if at < labels { format!("{text:<width$}") } else { format!("{text:>width$}") }
        };
        let cells: Vec<String> = (0..labels).chain(block.iter().copied()).map(cell).collect();
        cells.join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let has_values = |&at: &usize| rows.iter().skip(1).any(|row| row[at] != "-");
    let lines = |block: Vec<usize>| rows.iter().map(|row| line(row, &block)).collect::<Vec<_>>().join("\n");
    let label_width = widths[..labels].iter().map(|width| width + GAP).sum::<usize>();
    let blocks = blocks((labels..columns).filter(has_values), &widths, WIDTH.saturating_sub(label_width));
    blocks.into_iter().map(lines).collect::<Vec<_>>().join("\n\n")
}

/// Divides columns into blocks of at most a width, each with at least one column.
fn blocks(columns: impl Iterator<Item = usize>, widths: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for at in columns {
        match blocks.last_mut() {
            Some(block) if used + widths[at] <= most => block.push(at),
            _ => {
                blocks.push(vec![at]);
                used = 0;
            }
        }
        used += widths[at] + GAP;
    }
    blocks
}

/// Returns a Markdown table, whose first row is the head.
pub(super) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        format!("| {} |", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    let mut lines: Vec<String> = rows.iter().map(|row| line(row)).collect();
    lines.insert(1, "|---".repeat(rows[0].len()) + "|");
    lines.join("\n")
}

/// Returns the beginning of a text that has more than a number of characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_are_split_into_blocks_that_fit() {
        let cell = |row: usize, column: usize| match (row, column) {
            (0, 7) => "all".to_owned(),
            (_, 7) => "-".to_owned(),
            _ => format!("{row}/{column}").repeat(if column == 1 { 1 } else { 1 + column % 4 }),
        };
        let rows: Vec<Vec<String>> = (0..5).map(|row| (0..30).map(|column| cell(row, column)).collect()).collect();
        let text = aligned(&rows, 2);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let blocks: Vec<&str> = text.split("\n\n").collect();
        assert!(blocks.len() > 2);
        for block in &blocks {
            assert!(block.lines().zip(&rows).all(|(line, row)| line.starts_with(&row[0]) && line.contains(&row[1])));
        }
        let words = |text: &str| text.split_whitespace().filter(|word| *word != "-").count();
        assert_eq!(words(&text), blocks.len() * 2 * 5 + 27 * 5, "every cell of a column with values occurs once");
        assert!(!text.contains("all"));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!((shortened("abcd", 4).as_str(), shortened("äbcde", 4).as_str()), ("abcd", "äbc…"));
    }
}
