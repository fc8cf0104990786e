//! The gates of lane programs, evaluated in runs of one shape.

use std::ops::{Index, IndexMut, Range};

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;

use super::bits::Bits;

/// The number of a slot.
pub type Slot = u32;

/// The number of slots that 16 bits can number.
const NARROW: usize = 1 << 16;

/// The maximum number of literals of a gate.
pub const WIDEST: usize = 8;

/// The values that programs read and write.
#[derive(Clone)]
pub struct LaneSlots(Box<[Bits]>);

impl LaneSlots {
    /// Creates slots for programs that use at most `count`. All values are false.
    pub fn new(count: usize) -> LaneSlots {
        LaneSlots(vec![Bits::NONE; LaneSlots::allocated(count)].into_boxed_slice())
    }

    /// Returns the memory of slots for programs that use at most `count`, in bytes.
    pub fn bytes(count: usize) -> usize {
        LaneSlots::allocated(count) * size_of::<Bits>()
    }

    fn allocated(count: usize) -> usize {
        count.next_power_of_two().max(NARROW)
    }
}

impl Index<Slot> for LaneSlots {
    type Output = Bits;

    #[inline]
    fn index(&self, slot: Slot) -> &Bits {
        &self.0[slot as usize]
    }
}

impl IndexMut<Slot> for LaneSlots {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut Bits {
        &mut self.0[slot as usize]
    }
}

impl Index<Range<Slot>> for LaneSlots {
    type Output = [Bits];

    fn index(&self, slots: Range<Slot>) -> &[Bits] {
        &self.0[slots.start as usize..slots.end as usize]
    }
}

impl IndexMut<Range<Slot>> for LaneSlots {
    fn index_mut(&mut self, slots: Range<Slot>) -> &mut [Bits] {
        &mut self.0[slots.start as usize..slots.end as usize]
    }
}

/// The number of a slot in code. The access needs no bounds check.
pub trait SlotNumber: TryFrom<Slot> + Copy {
    /// The slots that have such a number.
    type Slots: ?Sized;

    /// Returns the slots that have such a number.
    fn of(slots: &mut LaneSlots) -> &mut Self::Slots;

    /// Returns the value in the slot.
    fn get(self, slots: &Self::Slots) -> Bits;

    /// Sets the value in the slot.
    fn set(self, slots: &mut Self::Slots, value: Bits);
}

impl SlotNumber for u16 {
    type Slots = [Bits; NARROW];

    fn of(slots: &mut LaneSlots) -> &mut [Bits; NARROW] {
        slots.0.first_chunk_mut().expect("there is a slot for each 16-bit number")
    }

    #[inline]
    fn get(self, slots: &[Bits; NARROW]) -> Bits {
        slots[self as usize]
    }

    #[inline]
    fn set(self, slots: &mut [Bits; NARROW], value: Bits) {
        slots[self as usize] = value;
    }
}

/// The number of slots is a power of two, so the mask does not change a number.
impl SlotNumber for Slot {
    type Slots = [Bits];

    fn of(slots: &mut LaneSlots) -> &mut [Bits] {
        &mut slots.0
    }

    #[inline]
    fn get(self, slots: &[Bits]) -> Bits {
        slots[self as usize & (slots.len() - 1)]
    }

    #[inline]
    fn set(self, slots: &mut [Bits], value: Bits) {
        let mask = slots.len() - 1;
        slots[self as usize & mask] = value;
    }
}

/// The gates of the `PARTS` parts of a program.
#[derive(Clone)]
pub struct GateCode<S: SlotNumber, const PARTS: usize> {
    code: Vec<S>,
    runs: [Vec<GateRun>; PARTS],
}

/// Adjacent gates of one shape.
#[derive(Clone)]
struct GateRun {
    kernel: KernelNumber,
    code: Range<usize>,
}

impl<S: SlotNumber, const PARTS: usize> GateCode<S, PARTS> {
    /// Creates code without gates.
    pub fn new() -> GateCode<S, PARTS> {
        GateCode { code: Vec::new(), runs: [const { Vec::new() }; PARTS] }
    }

    /// Appends gates of one shape to a part: for each gate the slots of the plain literals, those of the negated
    /// literals, and that of the result.
    ///
    /// # Panics
    ///
    /// Panics if a slot does not fit into `S`.
    pub fn add_run(&mut self, part: usize, shape: GateShape, slots: impl Iterator<Item = Slot>) {
        let start = self.code.len();
        self.code.extend(slots.map(|slot| S::try_from(slot).ok().expect("the slot fits into the code")));
        self.runs[part].push(GateRun { kernel: kernel_number(shape), code: start..self.code.len() });
    }

    /// Evaluates the gates of a part.
    pub fn run(&self, part: usize, slots: &mut LaneSlots) {
        dispatch!(level(), simd => self.run_at(simd, part, slots));
    }

    #[simd]
    fn run_at<L: Simd>(&self, simd: L, part: usize, slots: &mut LaneSlots) {
        let slots = S::of(slots);
        for run in &self.runs[part] {
            run_kernel(simd, run.kernel, slots, &self.code[run.code.clone()]);
        }
    }

    /// Returns the memory of the code in bytes.
    pub fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(Vec::capacity).sum();
        self.code.capacity() * size_of::<S>() + runs * size_of::<GateRun>()
    }
}

/// Evaluates conjunctions of `P` literals and the negations of `N` more,
/// inverted if `INVERTED`. Each has `LENGTH` words of code: the `P + N` slots
/// that it reads and the slot that it writes.
#[simd]
fn gates<L: Simd, S: SlotNumber, const P: usize, const N: usize, const LENGTH: usize, const INVERTED: bool>(
    _: L,
    slots: &mut S::Slots,
    code: &[S],
) {
    for gate in code.as_chunks::<LENGTH>().0 {
        let mut value = Bits::ALL;
        for slot in &gate[..P] {
            value &= slot.get(slots);
        }
        for slot in &gate[P..P + N] {
            value &= !slot.get(slots);
        }
        gate[P + N].set(slots, if INVERTED { !value } else { value });
    }
}

/// The numbers of plain and negated literals, and whether the result is
/// inverted.
pub type GateShape = (usize, usize, bool);

/// The number of a kernel: twice the number of the shape without inversion, plus 1 if the result is inverted.
type KernelNumber = u8;

/// Returns the number of the kernel for a shape. Shapes are ordered by the number of literals, then by that of
/// negated ones.
fn kernel_number((plain, negated, inverted): GateShape) -> KernelNumber {
    let literals = plain + negated;
    assert!((1..=WIDEST).contains(&literals), "a gate has 1 to {WIDEST} literals");
    let number = (literals - 1) * (literals + 2) / 2 + negated;
    2 * number as KernelNumber + KernelNumber::from(inverted)
}

#[simd]
fn run_kernel<L: Simd, S: SlotNumber>(simd: L, kernel: KernelNumber, slots: &mut S::Slots, code: &[S]) {
    macro_rules! kernels {
        ($($number:literal $p:literal $n:literal $length:literal)*) => {
            match (kernel / 2, kernel % 2) {
                $(($number, 0) => gates::<L, S, $p, $n, $length, false>(simd, slots, code),
                  ($number, _) => gates::<L, S, $p, $n, $length, true>(simd, slots, code),)*
                _ => unreachable!("kernel numbers are those of shapes"),
            }
        };
    }
    kernels!(
        0 1 0 2  1 0 1 2
        2 2 0 3  3 1 1 3  4 0 2 3
        5 3 0 4  6 2 1 4  7 1 2 4  8 0 3 4
        9 4 0 5  10 3 1 5  11 2 2 5  12 1 3 5  13 0 4 5
        14 5 0 6  15 4 1 6  16 3 2 6  17 2 3 6  18 1 4 6  19 0 5 6
        20 6 0 7  21 5 1 7  22 4 2 7  23 3 3 7  24 2 4 7  25 1 5 7  26 0 6 7
        27 7 0 8  28 6 1 8  29 5 2 8  30 4 3 8  31 3 4 8  32 2 5 8  33 1 6 8  34 0 7 8
        35 8 0 9  36 7 1 9  37 6 2 9  38 5 3 9  39 4 4 9  40 3 5 9  41 2 6 9  42 1 7 9  43 0 8 9
    )
}
