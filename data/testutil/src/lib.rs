//! Helpers for tests of distance tables: a reference search that is slow and
//! obviously right, and tables with arbitrary contents.

use std::collections::VecDeque;
use std::path::Path;

use sternhalma_data::table::write::{BlockEncoder, NewTable};
use sternhalma_data::table::{Ans, Block, Layout, Origin, Provenance, Zstd, checksum};
use sternhalma_data::{CellSet, Encoding, Prefix, State, Table, TableInfo, TableSpec};

/// Returns one encoding of each kind. Compressed blocks are small, so that small
/// tables have several.
pub fn encodings() -> [Encoding; 4] {
    const VALID: &str = "the parameters are valid";
    let zstd = Encoding::Zstd(Zstd::new(64, 3).expect(VALID));
    [Encoding::Byte, Encoding::Mod3, zstd, Encoding::Ans(Ans::new(64).expect(VALID))]
}

/// Returns the bytes of a table without the provenance, which comes last.
pub fn bytes_of(path: &Path) -> Vec<u8> {
    // The header fields with the offset and the length of the data.
    const DATA_AT: usize = 56;
    const DATA_BYTES_AT: usize = 64;
    Table::open(path).expect("the table is intact");
    let mut bytes = std::fs::read(path).expect("the table is a file");
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])) as usize;
    bytes.truncate(word(DATA_AT) + word(DATA_BYTES_AT));
    bytes
}

/// The distances of a prefix, by breadth-first search state by state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The prefix.
    pub prefix: Prefix,
    /// The distance of each state by rank, along states of the prefix.
    pub distances: Vec<u8>,
    /// The lowest distance at which a state has a move out of the prefix.
    pub boundary_layer: Option<u32>,
}

impl Reference {
    /// Searches from the goal.
    pub fn search(prefix: Prefix) -> Reference {
        Reference::search_from(prefix, State::goal(prefix.board()))
    }

    /// Searches from any state of the prefix.
    pub fn search_from(prefix: Prefix, start: State) -> Reference {
        let geometry = prefix.board().geometry();
        let mut distances = vec![u8::MAX; prefix.states() as usize];
        let mut boundary_layer = None;
        let mut queue = VecDeque::from([start]);
        distances[start.rank().0 as usize] = 0;
        while let Some(state) = queue.pop_front() {
            let distance = distances[state.rank().0 as usize];
            for mv in geometry.army_moves(state.cells(), CellSet::EMPTY) {
                let after = state.after(mv);
                if !after.cells().is_subset(prefix.cells()) {
                    boundary_layer = boundary_layer.or(Some(u32::from(distance)));
                    continue;
                }
                let slot = &mut distances[after.rank().0 as usize];
                if *slot == u8::MAX {
                    *slot = distance + 1;
                    queue.push_back(after);
                }
            }
        }
        Reference { prefix, distances, boundary_layer }
    }

    /// Returns the contents of a table of these distances that is not mirrored.
    pub fn info(&self, encoding: Encoding) -> TableInfo {
        let (layers, boundary_layer) = (layers_of(&self.distances), self.boundary_layer);
        TableInfo { spec: self.spec(encoding), layers, boundary_layer }
    }

    /// Returns the identity of a table of these states that is not mirrored.
    pub fn spec(&self, encoding: Encoding) -> TableSpec {
        TableSpec { prefix: self.prefix, encoding, mirrored: false }
    }

    /// Changes one distance. Returns `None` if no header has the resulting layers.
    pub fn with_wrong_distance(mut self, at: usize, change: u8) -> Option<Reference> {
        let at = at % self.distances.len();
        self.distances[at] = self.distances[at].wrapping_add(change) % 30;
        let layers = layers_of(&self.distances).len();
        self.boundary_layer.is_none_or(|layer| (layer as usize) < layers).then_some(self)
    }

    /// Writes a table of these distances and opens it. Blocks are verified.
    pub fn write(&self, path: &Path, encoding: Encoding) -> Table {
        write_forged_table(path, self.info(encoding), &stored(encoding, self.distances.iter().copied()))
    }

    /// Writes a mirrored table of these distances and opens it. Blocks are
    /// verified. Returns `None` if the states have no mirrored form.
    pub fn write_mirrored(&self, path: &Path, encoding: Encoding) -> Option<Table> {
        let spec = TableSpec { mirrored: true, ..self.spec(encoding) };
        let info = TableInfo { spec, ..self.info(encoding) };
        let distances = canonical_values(spec, &self.distances)?;
        Some(write_forged_table(path, info, &stored(encoding, distances.into_iter())))
    }

    /// Writes an unmirrored table and, if the states have the form, a mirrored one
    /// beside it. Opens both.
    pub fn write_forms(&self, path: &Path, encoding: Encoding) -> Vec<Table> {
        let mirrored = self.write_mirrored(&path.with_extension("mirrored.sht"), encoding);
        [Some(self.write(path, encoding)), mirrored].into_iter().flatten().collect()
    }

    /// Compares a table with the reference, block checksums included.
    ///
    /// # Errors
    /// A message with the path of the table, if anything differs.
    pub fn check(&self, table: &Table) -> Result<(), String> {
        (0..table.layout().blocks()).try_for_each(|block| table.check_block(block)).map_err(|e| e.to_string())?;
        let distances = table.distances().map_err(|error| error.to_string())?;
        let spec = TableSpec { prefix: self.prefix, ..table.spec() };
        let info = TableInfo { spec, ..self.info(table.encoding()) };
        if *distances == self.distances && *table.info() == info {
            return Ok(());
        }
        Err(format!("{}: the table differs from the reference", table.path().display()))
    }
}

/// Returns the values that a table stores for these distances.
fn stored(encoding: Encoding, distances: impl Iterator<Item = u8>) -> Vec<u8> {
    match encoding {
        Encoding::Mod3 => distances.map(|distance| distance % 3).collect(),
        _ => distances.collect(),
    }
}

/// Returns those of the values by rank that belong to canonical states, or `None` if the states of the
/// table have no mirrored form.
pub fn canonical_values(spec: TableSpec, values: &[u8]) -> Option<Vec<u8>> {
    let layout = Layout::mirrored(spec.prefix, spec.encoding)?;
    let symmetry = layout.symmetry()?;
    Some((0..symmetry.states()).map(|index| values[symmetry.state(index).rank().0 as usize]).collect())
}

/// Returns the number of states at each distance.
pub fn layers_of(distances: &[u8]) -> Vec<u64> {
    let mut layers = vec![0; usize::from(*distances.iter().max().expect("a table has states")) + 1];
    distances.iter().for_each(|&distance| layers[usize::from(distance)] += 1);
    layers
}

/// Writes a table with these values, whatever they mean, under right checksums,
/// and opens it. Blocks are verified.
///
/// The values are those of the stored states. They are distances, or for
/// [`Encoding::Mod3`] numbers from 0 to 3.
pub fn write_forged_table(path: &Path, info: TableInfo, values: &[u8]) -> Table {
    let mut encoder = BlockEncoder::new(&info.spec.layout().expect("the states have this form"));
    let encoding = info.spec.encoding;
    write_forged_blocks(path, info, |_, Block { indices, .. }| {
        let values = &values[indices.start as usize..indices.end as usize];
        match encoding {
            // The encoder takes distances and cannot write the value 3.
            Encoding::Mod3 => values.chunks(4).map(|four| four.iter().rev().fold(0, |byte, v| byte << 2 | v)).collect(),
            _ => encoder.encode(indices, values),
        }
    });
    Table::options().verify_blocks(true).open(path).expect("the header of a forged table is valid")
}

/// Writes a table whose blocks have these bytes, under right checksums. `block`
/// returns the bytes of a block, given its number.
pub fn write_forged_blocks(path: &Path, info: TableInfo, mut block: impl FnMut(u64, Block) -> Vec<u8>) {
    let mut writer = NewTable::create(path, true).and_then(|new| new.begin(info)).expect("the file can be written");
    for number in 0..writer.layout().blocks() {
        let bytes = block(number, writer.layout().block(number));
        writer.write_block(&bytes, checksum(&bytes)).expect("the file can be written");
    }
    let [program, built, mode] = ["forger", "1970-01-01T00:00:00Z", "forged"].map(String::from);
    let origin = Origin { program, ..Origin::default() };
    let provenance = Provenance { origin, built, mode, ..Provenance::default() };
    writer.finish(&provenance).expect("the file can be written");
}
