use std::path::{Path, PathBuf};

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use sternhalma_builder::contents_checksum;
use sternhalma_data::table::{Conversion, Layout, Partition, Provenance};
use sternhalma_data::{Encoding, Prefix, Side, State, Table};

use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome};

/// Show what a table contains, and how and when it was built
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// List the number of states for each cell of the rearmost piece of side `x`, with --json too
    #[arg(long)]
    partitions: bool,
    /// Compute the contents checksum, which is the same in every encoding and form: reads the whole table
    #[arg(long)]
    contents: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TableReport<'a> {
    file: String,
    side: usize,
    pieces: usize,
    within: usize,
    states: u64,
    encoding: String,
    /// Whether the file stores only one state of each left-right mirrored pair.
    mirrored: bool,
    bytes: u64,
    /// Offset of the data in the file. The encoding `byte` has a byte per state, ordered by rank or reduced rank.
    data_offset: u64,
    /// Bits of the whole file per state.
    bits_per_state: f64,
    /// States per block of the encodings `zstd` and `ans`.
    block_states: Option<u64>,
    /// Compression level of the encoding `zstd`.
    level: Option<u8>,
    max_distance: u8,
    layers: &'a [u64],
    /// Distance of the army in the corner opposite the goal.
    start_distance: Option<u8>,
    #[serde(rename = "escape_layer")]
    boundary_layer: Option<u32>,
    #[serde(rename = "exact_to")]
    proven_depth: Option<u32>,
    checksum: String,
    /// The checksum of states and distances, which is the same in every encoding and form, with `--contents`.
    #[serde(skip_serializing_if = "Option::is_none")]
    contents_checksum: Option<String>,
    /// The partitions, with `--partitions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    partitions: Option<Vec<PartitionRow>>,
    #[serde(flatten)]
    provenance: &'a Provenance,
}

/// A partition, and the prefix that ends with it.
#[derive(Serialize)]
struct PartitionRow {
    /// Cell of the rearmost piece of side `x`.
    back: String,
    /// Number of cells of the prefix.
    within: usize,
    states: u64,
    /// Share of the states of the table, 0 to 1.
    share: f64,
    bytes: u64,
    #[serde(skip)]
    states_within: u64,
    #[serde(skip)]
    share_within: f64,
}

fn partitions(prefix: Prefix, layout: &Layout) -> Vec<PartitionRow> {
    let board = prefix.board();
    let share = |states: u64| states as f64 / prefix.states() as f64;
    // A mirrored table stores only some of the states that it covers.
    let row = |Partition { back, bytes, .. }| {
        let ranks = prefix.partition(back.index());
        let states = ranks.end - ranks.start;
        PartitionRow {
            back: board.geometry().cell_name(back.to_board_order(board, Side::X)),
            within: back.index() + 1,
            states,
            share: share(states),
            bytes: bytes.end - bytes.start,
            states_within: ranks.end,
            share_within: share(ranks.end),
        }
    };
    layout.partitions().map(row).collect()
}

impl TableReport<'_> {
    fn of(table: &Table, with_partitions: bool) -> Result<TableReport<'_>> {
        let board = table.prefix().board();
        Ok(TableReport {
            file: table.path().display().to_string(),
            side: board.size(),
            pieces: board.pieces(),
            within: table.prefix().within(),
            states: table.prefix().states(),
            encoding: table.encoding().to_string(),
            mirrored: table.spec().mirrored,
            bytes: table.file_bytes(),
            data_offset: table.data_offset(),
            bits_per_state: bits_per_state(table),
            block_states: table.encoding().states_per_compressed_block(),
            level: match table.encoding() {
                Encoding::Zstd(zstd) => Some(zstd.level()),
                _ => None,
            },
            max_distance: table.max_distance().0,
            layers: &table.info().layers,
            start_distance: table.probe(State::start(board))?.distance().map(|distance| distance.0),
            boundary_layer: table.info().boundary_layer,
            proven_depth: table.proven_depth(),
            checksum: table.checksum_text(),
            contents_checksum: None,
            partitions: with_partitions.then(|| partitions(table.prefix(), table.layout())),
            provenance: table.provenance(),
        })
    }
}

/// Returns the bits of the file per state.
pub fn bits_per_state(table: &Table) -> f64 {
    8.0 * table.file_bytes() as f64 / table.prefix().states() as f64
}

/// Prints the path of a new table, or what `info --json` prints.
pub fn print_new(table: &Table, path: &Path, json: bool) -> Result<CommandOutcome> {
    output::answer(json, &TableReport::of(table, false)?, || path.display().to_string())
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let mut report = TableReport::of(&table, args.partitions)?;
    if args.contents {
        let progress = ctx.progress()?;
        let contents = contents_checksum(&table, args.threads.get(), &progress);
        progress.finish();
        report.contents_checksum = Some(format!("{:016x}", contents?));
    }
    output::answer(args.json, &report, || {
        let partitions = report.partitions.iter().map(|rows| format!("\n{}", partitions_text(rows)));
        text(&table, &report) + &partitions.collect::<String>()
    })
}

fn text(table: &Table, info: &TableReport) -> String {
    let start = info
        .start_distance
        .map_or("not covered".to_owned(), |d| format!("{} from the goal", output::counted(d.into(), "move")));
    let exact = match info.proven_depth {
        None => "all distances".to_owned(),
        Some(limit) => format!("distances up to {limit}; larger ones are upper bounds"),
    };
    let level = info.level.map_or(String::new(), |level| format!(", zstd level {level}"));
    let blocks =
        info.block_states.map_or(String::new(), |states| format!(", blocks of {} states{level}", HumanCount(states)));
    let form = table
        .symmetry()
        .map_or(String::new(), |symmetry| format!(", mirrored: {} states in the file", HumanCount(symmetry.states())));
    let mut lines = vec![
        format!("{}: {}", info.file, table.prefix()),
        format!("states    {}, {} encoding, {}", HumanCount(info.states), info.encoding, HumanBytes(info.bytes)),
        format!("storage   {:.3} bits per state{blocks}{form}", info.bits_per_state),
        format!("start     {start}"),
        format!("farthest  {}", output::counted(info.max_distance.into(), "move")),
        format!("exact     {exact}"),
        format!("checksum  {}", info.checksum),
    ];
    lines.extend(info.contents_checksum.iter().map(|contents| format!("contents  {contents}")));
    lines.extend(history(info.provenance));
    lines.push("distance  states".to_owned());
    lines.extend(
        info.layers.iter().enumerate().map(|(distance, states)| format!("{distance:>8}  {}", HumanCount(*states))),
    );
    lines.join("\n")
}

/// Returns lines about how a table was made.
fn history(provenance: &Provenance) -> Vec<String> {
    let Provenance { origin, built, mode, wall_s, .. } = provenance;
    let threads = output::counted(provenance.threads, "thread");
    let level = origin.cpu_level.iter().map(|level| format!(", {level}")).collect::<String>();
    let mut lines =
        vec![format!("built     {built} by {}, {mode}, in {wall_s:.1} s on {threads}{level}", origin.program())];
    lines.extend(command_line(&origin.command));
    for Conversion { origin, converted, encoding, mirrored, checksum } in &provenance.conversions {
        let form = if *mirrored { " (mirrored)" } else { "" };
        lines.push(format!("converted {converted} by {}, from {encoding}{form} {checksum}", origin.program()));
        lines.extend(command_line(&origin.command));
    }
    lines
}

/// Returns the line with a command, if there is one.
fn command_line(command: &[String]) -> Option<String> {
    let words = command.iter().map(|word| shlex::try_quote(word).unwrap_or(word.into()).into_owned());
    (!command.is_empty()).then(|| format!("command   {}", words.collect::<Vec<_>>().join(" ")))
}

fn partitions_text(rows: &[PartitionRow]) -> String {
    let mut lines = vec!["back  within             states    share      states within     share".to_owned()];
    lines.extend(rows.iter().map(|row| {
        format!(
            "{:<4}  {:>6}  {:>17}  {:>6.3}%  {:>17}  {:>7.3}%",
            row.back,
            row.within,
            HumanCount(row.states).to_string(),
            100.0 * row.share,
            HumanCount(row.states_within).to_string(),
            100.0 * row.share_within
        )
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sternhalma_data::{Board, Encoding};

    type Line = (usize, (u64, &'static str), (u64, &'static str));

    /// [Roschke and Sturtevant 2013, Table 1]: start position, then states and
    /// percent with six and with ten pieces. Start position `s` is the prefix
    /// whose rearmost piece is on one of the first 81 - s cells.
    #[rustfmt::skip]
    const TABLE_1: [Line; 9] = [
        (1, (324_540_216, "100.000"), (1_878_392_407_320, "100.000")),
        (5, (237_093_780, "73.055"), (1_096_993_404_430, "58.401")),
        (10, (156_238_908, "48.142"), (536_211_932_256, "28.546")),
        (15, (99_795_696, "30.750"), (247_994_680_648, "13.202")),
        (20, (61_474_519, "18.942"), (107_518_933_731, "5.724")),
        (25, (36_288_252, "11.181"), (43_183_019_880, "2.299")),
        (30, (20_358_520, "6.273"), (15_820_024_220, "0.842")),
        (35, (10_737_573, "3.309"), (5_178_066_751, "0.276")),
        (40, (5_245_786, "1.616"), (1_471_442_973, "0.078")),
    ];

    #[test]
    fn partitions_match_published_table_1() {
        for pieces in [6, 10] {
            let prefix = Prefix::whole(Board::new(9, pieces).unwrap());
            let rows = partitions(prefix, &Layout::new(prefix, Encoding::Byte));
            assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), prefix.states());
            assert!((rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-12);
            for (start, six, ten) in TABLE_1 {
                let (states, percent) = if pieces == 6 { six } else { ten };
                let row = rows.iter().find(|row| row.within == 82 - start).unwrap();
                assert_eq!(row.states_within, states);
                assert_eq!(format!("{:.3}", 100.0 * row.share_within), percent);
            }
        }
    }

    #[test]
    fn partitions_of_ten_pieces_within_42_cells_are_listed() {
        let prefix = Prefix::new(Board::new(9, 10).unwrap(), 42).unwrap();
        let rows = partitions(prefix, &Layout::new(prefix, Encoding::Mod3));
        let text = partitions_text(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 33);
        assert_eq!(lines[1], "f9        10                  1   0.000%                  1    0.000%");
        // The last partition has C(41, 9) of the C(42, 10) states.
        assert_eq!(lines[33], "d6        42        350,343,565  23.810%      1,471,442,973  100.000%");
    }
}
