//! Checking a table file, and proving what it says.
//!
//! The proof needs no search. Let `D` be the distances a table gives. If the
//! goal alone has `D` = 0, no move changes `D` by two or more, and every other
//! state has a move to a state with one less, then `D` is the distance: a path
//! lowers `D` by at most one a move, and following the nearer states is a path
//! of `D` moves. A mod-3 table agrees with many `D` locally, so it is first
//! unfolded from the goal, which fixes one, and that one is proven.
//!
//! The moves are enumerated context by context, a context being the pieces a
//! move leaves alone ([`expand`](crate::expand) does the same by other means):
//! two cells are a move apart if they are neighbours, or if jumps over the
//! context's pieces join them, and jumps can be taken back.
//!
//! Under a memory limit the contexts are walked class by class
//! ([`cut`](crate::cut)), and only the distances that a class meets are in
//! memory; which states of later units have a nearer one is put aside.

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sternhalma_data::table::fs::OsFileSystem;
use sternhalma_data::{Cell, CellSet, DistanceStream, Geometry, Prefix, States, Table};

use crate::cut::{Class, Cut, Part};
use crate::error::VerifyError;
use crate::expand::{Places, choose};
use crate::layer_file::Codec;
use crate::memory::{Limits, limits_of_proof};
use crate::monitor::{Monitor, Stage};
use crate::pending::Pending;

/// Contexts a thread takes at a time.
const GRAIN: u64 = 1 << 14;

/// Checks every block of a table against its checksum; if `deep`, proves that
/// each distance in it is right, along paths inside the prefix, and that
/// layers and escape layer are as the header says.
///
/// Memory of the proof: a bit a state, and a byte a state unless the table is
/// of bytes. `threads` of 0 are one a core.
///
/// # Errors
/// If the table is damaged or wrong, or the monitor cancels the work.
pub fn verify(table: &Table, deep: bool, threads: usize, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    pool.install(|| {
        check_blocks(table, monitor)?;
        if deep { prove(table, monitor) } else { Ok(()) }
    })
}

/// The deep [`verify`] in limited memory. What does not fit in `memory` bytes
/// is put aside in a file beside the table, which is removed at the end.
///
/// # Errors
/// As [`verify`]; if the memory is too little, or the file cannot be written.
pub fn verify_out_of_core(
    table: &Table,
    memory: u64,
    threads: usize,
    monitor: &dyn Monitor,
) -> Result<(), VerifyError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let limits = limits_of_proof(table.prefix(), pool.current_num_threads(), memory)?;
    pool.install(|| {
        check_blocks(table, monitor)?;
        prove_by_classes(table, limits, monitor)
    })
}

fn check_blocks(table: &Table, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let blocks = table.layout().blocks();
    monitor.begin(Stage::Check, blocks);
    (0..blocks).into_par_iter().try_for_each(|number| {
        if monitor.cancelled() {
            return Err(VerifyError::Cancelled);
        }
        table.check_block(number)?;
        table.release_pages();
        monitor.advance(1);
        Ok(())
    })
}

fn prove(table: &Table, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let distances = table.distances()?;
    let descends = bits(distances.len().div_ceil(64));
    let proof = Proof { distances: &distances, descends: &descends, ..Proof::new(table) };
    let contexts = choose(table.prefix().within(), table.prefix().board().pieces() - 1);
    monitor.begin(Stage::Prove, contexts);
    let boundary_layer = proof.walk_all(0..contexts, monitor)?;
    every_bit(&descends, distances.len(), |rank| rank == 0).map_err(|rank| proof.no_nearer(rank as u64, rank))?;
    proof.agrees(distances[0], &count_layers(&distances), boundary_layer)
}

/// The same in limited memory.
fn prove_by_classes(table: &Table, limits: Limits, monitor: &dyn Monitor) -> Result<(), VerifyError> {
    let cut = Cut::new(table.prefix(), limits.fixed, limits.chunk_words);
    let still = table.prefix().board().pieces() - 1;
    let mut distances = vec![0; 64 * cut.most_words()];
    let descends = bits(cut.most_words());
    let path =
        table.path().with_file_name(format!(".{}.proof", table.path().file_name().unwrap_or_default().display()));
    let pending = Pending::new(&OsFileSystem::shared(), &path, limits.pending);
    let (mut layers, mut boundary_layer, mut goal) = ([0; 256], None, 0);
    monitor.begin(Stage::Prove, choose(table.prefix().within(), still));
    let readers = readers(table, &cut, monitor)?;
    for unit in 0..cut.units() {
        let class = cut.class(unit, still);
        let own = cut.own_parts(&class);
        if own.is_empty() && class.visits.is_empty() {
            monitor.advance(class.groups.end - class.groups.start);
            continue;
        }
        load(table, &cut, &class, &readers, &mut distances)?;
        let proof = Proof { places: &class.places, distances: &distances, descends: &descends, ..Proof::new(table) };
        let escapes = proof.walk_all(class.groups.clone(), monitor)?;
        boundary_layer = boundary_layer.into_iter().chain(escapes).min();
        put_aside(&cut, &class, &descends, &pending)?;
        own.par_iter().try_for_each(|part| unit_descends(&proof, part, cut.first_rank(part.chunk), &pending))?;
        let states = own.last().map_or(0, |part| part.bits().end);
        descends[..states.div_ceil(64)].par_iter().for_each(|word| word.store(0, Relaxed));
        layers.iter_mut().zip(count_all(&distances[..states])).for_each(|(all, states)| *all += states);
        if own.first().is_some_and(|part| cut.first_rank(part.chunk) == 0) {
            goal = distances[0];
        }
    }
    Proof::new(table).agrees(goal, &up_to_last(&layers), boundary_layer)
}

/// A reader that stands before each chunk. A reader made there would first
/// look here and there into all of the table.
fn readers<'a>(table: &'a Table, cut: &Cut, monitor: &dyn Monitor) -> Result<Vec<DistanceStream<'a>>, VerifyError> {
    let mut reader = DistanceStream::new(table, 0..table.prefix().states())?.release_pages(true);
    let mut readers = Vec::with_capacity(cut.chunks() as usize);
    let mut passed = Vec::new();
    for chunk in (0..cut.units()).flat_map(|unit| cut.unit_chunks(unit).1) {
        if monitor.cancelled() {
            return Err(VerifyError::Cancelled);
        }
        readers.push(reader.clone());
        passed.resize((chunk.bits.end - chunk.bits.start) as usize, 0);
        reader.read(&mut passed)?;
        table.release_pages();
    }
    Ok(readers)
}

/// Reads the distances of the states a class meets.
fn load(
    table: &Table,
    cut: &Cut,
    class: &Class,
    readers: &[DistanceStream],
    distances: &mut [u8],
) -> Result<(), VerifyError> {
    let parts = cut.own_parts(class).into_iter().chain(cut.visited_parts(class));
    let (mut rest, mut done) = (distances, 0);
    let mut tasks = Vec::new();
    for part in parts {
        let place = part.bits();
        let (own, left) = rest[place.start - done..].split_at_mut(place.len());
        tasks.push((&readers[part.chunk as usize], own));
        (rest, done) = (left, place.end);
    }
    tasks.into_par_iter().try_for_each(|(reader, own)| {
        reader.clone().read(own)?;
        table.release_pages();
        Ok(())
    })
}

/// Keeps what was found of units to come.
fn put_aside(cut: &Cut, class: &Class, descends: &[AtomicU64], pending: &Pending) -> Result<(), VerifyError> {
    cut.visited_parts(class).into_par_iter().try_for_each_init(Codec::new, |codec, part| {
        let words: Vec<u64> =
            descends[part.at..part.at + part.words()].iter().map(|word| word.swap(0, Relaxed)).collect();
        Ok(pending.add(part.chunk, &words, codec)?)
    })
}

/// Checks that the states of a part, all of whose contexts have been walked, have a nearer one.
fn unit_descends(proof: &Proof, part: &Part, first_rank: u64, pending: &Pending) -> Result<(), VerifyError> {
    let range = part.at..part.at + part.words();
    let mut words: Vec<u64> = proof.descends[range].iter().map(|word| word.load(Relaxed)).collect();
    let mut room = vec![0; words.len()];
    pending.take(part.chunk, &mut words, &mut room, &mut Codec::new())?;
    for (at, word) in part.shape.words().zip(words) {
        let goal = u64::from(first_rank == 0 && at == 0);
        let missing = part.shape.mask(at) & !word & !goal;
        if missing != 0 {
            let bit = 64 * at as u64 + u64::from(missing.trailing_zeros());
            let rank = first_rank + bit - part.shape.bits.start;
            return Err(proof.no_nearer(rank, part.bits().start + (rank - first_rank) as usize));
        }
    }
    Ok(())
}

fn bits(words: usize) -> Vec<AtomicU64> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

/// The first bit of `len` that is not set, if it is not `excepted`.
fn every_bit(words: &[AtomicU64], len: usize, excepted: impl Fn(usize) -> bool + Sync) -> Result<(), usize> {
    let set = |bit: usize| words[bit / 64].load(Relaxed) >> (bit % 64) & 1 != 0;
    (0..len).into_par_iter().find_first(|&bit| !set(bit) && !excepted(bit)).map_or(Ok(()), Err)
}

fn count_layers(distances: &[u8]) -> Vec<u64> {
    up_to_last(&count_all(distances))
}

fn count_all(distances: &[u8]) -> [u64; 256] {
    let count = |part: &[u8]| {
        let mut counts = [0u64; 256];
        part.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        counts
    };
    let add = |a: [u64; 256], b: [u64; 256]| std::array::from_fn(|i| a[i] + b[i]);
    distances.par_chunks(1 << 20).map(count).reduce(|| [0; 256], add)
}

fn up_to_last(counts: &[u64; 256]) -> Vec<u64> {
    let layers = counts.iter().rposition(|&states| states > 0).map_or(0, |last| last + 1);
    counts[..layers].to_vec()
}

struct Proof<'a> {
    table: &'a Table,
    prefix: Prefix,
    geometry: &'static Geometry,
    /// Where in `distances` and `descends` states are.
    places: &'a Places,
    distances: &'a [u8],
    /// The states with a move to one nearer.
    descends: &'a [AtomicU64],
}

/// The states of one context, the mover on each of its free cells.
struct Context {
    pieces: CellSet,
    /// By cell: the place of the state with the mover there.
    places: [u64; Cell::LIMIT],
    /// By distance: the cells of the mover. Empty sets outside `range`.
    levels: [CellSet; 256],
    range: RangeInclusive<usize>,
}

impl<'a> Proof<'a> {
    /// Of a table, with no distances yet.
    fn new(table: &'a Table) -> Proof<'a> {
        let (prefix, geometry) = (table.prefix(), table.prefix().board().geometry());
        Proof { table, prefix, geometry, places: &Places::ALL, distances: &[], descends: &[] }
    }

    fn wrong(&self, what: String) -> VerifyError {
        VerifyError::Wrong { path: self.table.path().display().to_string(), what }
    }

    /// Checks all moves of some contexts on all threads. Returns the least
    /// distance of a state with a move out of the prefix.
    fn walk_all(&self, contexts: Range<u64>, monitor: &dyn Monitor) -> Result<Option<u8>, VerifyError> {
        let batches = (0..(contexts.end - contexts.start).div_ceil(GRAIN)).into_par_iter();
        let walked = batches.map(|batch| {
            if monitor.cancelled() {
                return Err(VerifyError::Cancelled);
            }
            let first = contexts.start + batch * GRAIN;
            let range = first..contexts.end.min(first + GRAIN);
            let steps = range.end - range.start;
            let boundary_layer = self.walk(range).map_err(|what| self.wrong(what))?;
            monitor.advance(steps);
            Ok(boundary_layer)
        });
        walked.try_reduce(|| None, |a, b| Ok(a.into_iter().chain(b).min()))
    }

    /// Checks what the header says against what was found.
    fn agrees(&self, goal: u8, layers: &[u64], boundary_layer: Option<u8>) -> Result<(), VerifyError> {
        let contents = self.table.info();
        if goal != 0 {
            return Err(self.wrong(format!("the goal has distance {goal}")));
        }
        if layers != contents.layers {
            return Err(self.wrong("the header's layers are not those of its distances".to_owned()));
        }
        if boundary_layer.map(u32::from) != contents.boundary_layer {
            return Err(
                self.wrong(format!("its first layer with a way out is {boundary_layer:?}, not as the header says"))
            );
        }
        Ok(())
    }

    /// The state of this rank, at `place`, has no neighbour one nearer.
    fn no_nearer(&self, rank: u64, place: usize) -> VerifyError {
        self.wrong(format!("the state of rank {rank} has distance {} and no nearer state", self.distances[place]))
    }

    /// Checks all moves of some contexts. Returns the least distance of a
    /// state with a move out of the prefix.
    fn walk(&self, contexts: Range<u64>) -> Result<Option<u8>, String> {
        let mut context =
            Context { pieces: CellSet::EMPTY, places: [0; Cell::LIMIT], levels: [CellSet::EMPTY; 256], range: 0..=255 };
        let mut components = Vec::new();
        let mut boundary_layer = None;
        for (_, pieces) in States::of_ranks(self.prefix.board().pieces() - 1, contexts) {
            let pieces = pieces.cells();
            self.load(pieces, &mut context);
            jump_components(self.geometry, pieces, &mut components);
            let escapes = self.check(&context, &components)?;
            boundary_layer = boundary_layer.into_iter().chain(escapes).min();
        }
        Ok(boundary_layer.map(|distance| distance as u8))
    }

    /// Looks up the states of a context.
    fn load(&self, pieces: CellSet, context: &mut Context) {
        context.levels[context.range.clone()].fill(CellSet::EMPTY);
        context.pieces = pieces;
        let (mut least, mut most) = (u8::MAX, 0);
        // Pieces of the context above the mover stand one place higher in the state.
        let mut others: u64 = pieces.iter().enumerate().map(|(i, cell)| choose(cell.index(), i + 2)).sum();
        let mut from = 0;
        let ends = pieces.iter().map(|cell| cell.index()).chain([self.prefix.within()]);
        for (below, end) in ends.enumerate() {
            for cell in from..end {
                let place = (others + choose(cell, below + 1)).wrapping_sub(self.places.above[cell]);
                let distance = self.distances[place as usize];
                context.places[cell] = place;
                let level = &mut context.levels[usize::from(distance)];
                *level = level.with(Cell::new(cell));
                (least, most) = (least.min(distance), most.max(distance));
            }
            if end < self.prefix.within() {
                others = others - choose(end, below + 2) + choose(end, below + 1);
            }
            from = end + 1;
        }
        context.range = usize::from(least)..=usize::from(most);
    }

    /// Checks that no move of a context changes the distance by two or more,
    /// and notes the states with a nearer one. Returns the least distance of a
    /// state with a move out of the prefix.
    fn check(&self, context: &Context, components: &[CellSet]) -> Result<Option<usize>, String> {
        let outside = CellSet::first_cells(self.geometry.cells()) - self.prefix.cells();
        let mut escapes = None;
        let mut descend = CellSet::EMPTY;
        // By steps: from each level only to itself, the one before and the one after.
        let (mut last, mut before_last) = (CellSet::EMPTY, CellSet::EMPTY);
        let mut around_last = CellSet::EMPTY;
        for distance in context.range.clone() {
            let level = context.levels[distance];
            let around = level.iter().fold(CellSet::EMPTY, |around, cell| around | self.geometry.neighbors(cell));
            if !(around & before_last).is_empty() {
                return Err(self.too_far(context, distance));
            }
            if !(around & outside).is_empty() {
                escapes = escapes.or(Some(distance));
            }
            descend |= level & around_last;
            (before_last, last) = (before_last | last, level);
            around_last = around;
        }
        // By jumps: all cells of a component are one move apart.
        for &component in components {
            let Some(nearest) = context.range.clone().find(|&d| !(component & context.levels[d]).is_empty()) else {
                continue;
            };
            let further = component - context.levels[nearest] - outside;
            if !further.is_empty() {
                let next = context.levels.get(nearest + 1).copied().unwrap_or_default();
                if !further.is_subset(next) {
                    return Err(self.too_far(context, nearest));
                }
                descend |= further;
            }
            if !(component & outside).is_empty() {
                escapes = escapes.into_iter().chain([nearest]).min();
            }
        }
        for cell in descend {
            let place = context.places[cell.index()];
            let (word, bit) = (&self.descends[(place / 64) as usize], 1 << (place % 64));
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
        Ok(escapes)
    }

    fn too_far(&self, context: &Context, distance: usize) -> String {
        let cell = context.levels[distance].first().expect("the level has a state");
        let rank = context.places[cell.index()].wrapping_add(self.places.above[cell.index()]);
        format!("a move from the state of rank {rank} or one like it changes the distance {distance} by two or more")
    }
}

/// The sets of cells that jumps over the pieces of a context join.
fn jump_components(geometry: &Geometry, context: CellSet, components: &mut Vec<CellSet>) {
    components.clear();
    for over in context {
        for cell in geometry.neighbors(over) - context {
            // Each pair of cells across a piece is met once, from its lower one.
            let across = geometry.jumps(cell).iter().find(|jump| jump.over == over).map(|jump| jump.to);
            let Some(to) = across.filter(|&to| cell < to && !context.contains(to)) else { continue };
            let mut joined = CellSet::single(cell).with(to);
            components.retain(|&component| {
                let apart = (component & joined).is_empty();
                if !apart {
                    joined |= component;
                }
                apart
            });
            components.push(joined);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{BuildOptions, build};
    use proptest::prelude::*;
    use sternhalma_data::table::write::NewTable;
    use sternhalma_data::table::{Provenance, checksum};
    use sternhalma_data::{Board, Encoding, TableInfo};

    /// A table of bytes that says what it is told, with right checksums.
    fn forge(path: &std::path::Path, contents: TableInfo, distances: &[u8]) -> Table {
        let mut writer = NewTable::create(path, true).unwrap().begin(contents).unwrap();
        for number in 0..writer.layout().blocks() {
            let ranks = writer.layout().block(number).ranks;
            let bytes = &distances[ranks.start as usize..ranks.end as usize];
            writer.write_block(bytes, checksum(bytes)).unwrap();
        }
        writer.finish(&Provenance::default()).unwrap();
        Table::open(path).unwrap()
    }

    fn limits(fixed: usize, pending: u64) -> Limits {
        Limits { fixed, lanes: 0, chunk_words: 2, pending }
    }

    #[test]
    fn right_tables_are_proven_class_by_class() {
        let dir = tempfile::tempdir().unwrap();
        for (side, pieces, within) in [(3, 1, 9), (3, 2, 9), (4, 3, 16), (4, 4, 11), (5, 4, 25), (5, 3, 17)] {
            let prefix = Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
            for encoding in [Encoding::Byte, Encoding::Mod3] {
                let path = dir.path().join(format!("{side}-{pieces}-{within}-{encoding}.sht"));
                build(&path, BuildOptions { prefix, encoding, threads: 1 }, false, &()).unwrap();
                let table = Table::open(&path).unwrap();
                for (fixed, pending) in (0..pieces.max(2) as usize - 1).flat_map(|fixed| [(fixed, 0), (fixed, 1 << 20)])
                {
                    prove_by_classes(&table, limits(fixed, pending), &()).unwrap();
                }
                assert!(!dir.path().join(format!(".{}.proof", path.file_name().unwrap().display())).exists());
                verify_out_of_core(&table, 1 << 30, 2, &()).unwrap();
                let refused = verify_out_of_core(&table, 1 << 20, 1, &()).unwrap_err();
                assert!(matches!(refused, VerifyError::Work(crate::BuildError::Limit { .. })));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn one_wrong_distance_is_found_class_by_class(
            at in 0usize..1820, change in 1u8..5, fixed in 0usize..3, within in prop_oneof![Just(16u64), Just(11)],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("table.sht");
            let prefix = Prefix::new(Board::new(4, 4).unwrap(), within).unwrap();
            build(&path, BuildOptions { prefix, encoding: Encoding::Byte, threads: 1 }, false, &()).unwrap();
            let table = Table::open(&path).unwrap();
            let mut distances = table.distances().unwrap().into_owned();
            let at = at % distances.len();
            distances[at] = distances[at].wrapping_add(change) % 30;
            let contents = TableInfo { layers: count_layers(&distances), ..table.info().clone() };
            // A header cannot have an escape layer beyond its last.
            prop_assume!(contents.boundary_layer.is_none_or(|layer| (layer as usize) < contents.layers.len()));
            let forged = forge(&dir.path().join("forged.sht"), contents, &distances);
            prop_assert!(prove(&forged, &()).is_err());
            prop_assert!(prove_by_classes(&forged, limits(fixed, 0), &()).is_err());
        }
    }
}
