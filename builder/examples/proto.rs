use sternhalma_data::*;
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let b = Board::new(a[0], a[1]).unwrap();
    let p = if a[2] == 0 { Prefix::whole(b) } else { Prefix::new(b, a[2]).unwrap() };
    sternhalma_builder::prototype(p, a[3] as usize, a[4] as usize);
}
