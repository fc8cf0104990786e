//! Estimates of builds by several processes.
//!
//! The cost of a build by one process is extrapolated from smaller builds. Three terms are added:
//!
//! - **Bytes.** After a layer, a segment is sent once to each process whose contexts involve it, the *visitors*. Before,
//!   each visitor sends the states that it has reached in the segment. The visitors follow from the owners.
//! - **Processor time** for packing, unpacking and merging, in proportion to the bytes.
//! - **Elapsed time.** The share of the processor time of each process, with the imbalance of the layers; the transfer of
//!   the bytes of the busiest process over its link; and the delays of the barriers of each layer. The terms are added,
//!   although a part of the transfer overlaps with computation.
//!
//! The constants were fitted to builds with 1, 2 and 4 processes (`docs/research/cluster.md`).

use std::path::Path;

use serde::Serialize;
use sternhalma_builder::steps::{Calibrator, Numbering, Partitioning};
use sternhalma_builder::{BuildEstimate, Calibration, LayerForm, MachineSpec, Observer, TableBuilder};

use super::ownership::{Ownership, StateTraffic};
use super::{PartMemory, check_form, part_memory};
use crate::error::Result;

/// The bytes of reached states that a visitor sends to the owner, as a fraction of the segment.
const REACHED: f64 = 1.15;

/// The processor time per exchanged byte, as a multiple of that of the search per byte of the layers.
const EXCHANGE: f64 = 0.16;

/// The time of the slowest process in the steps of a layer, as a multiple of the mean.
const IMBALANCE: f64 = 1.2;

/// The number of times that the processes wait for each other in a layer.
const BARRIERS: f64 = 2.0;

/// The estimated cost of a build by several processes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClusterEstimate {
    /// The number of processes.
    pub processes: usize,
    /// The machine of each process, with the number of its threads.
    pub machine: MachineSpec,
    /// The number of states.
    pub states: u64,
    /// The number of layers.
    pub layers: usize,
    /// The size of all layers of all processes, in bytes.
    pub layer_bytes: u64,
    /// The mean number of processes that receive each segment.
    pub visitors: f64,
    /// The bytes that all processes send.
    pub sent_bytes: u64,
    /// The bytes that the busiest process sends or receives.
    pub busiest_bytes: u64,
    /// The peak memory use of each process, in bytes.
    pub memory_bytes: u64,
    /// The peak disk use of each process for layers and its part of the table, in bytes.
    pub disk_bytes: u64,
    /// The size of the table, in bytes.
    pub table_bytes: u64,
    /// The processor time of all processes, in seconds.
    pub cpu_s: f64,
    /// The elapsed time with each kind of link.
    pub links: Vec<LinkEstimate>,
    /// The measurements that the estimate is based on. The larger table comes first.
    pub calibrations: Vec<Calibration>,
}

/// The elapsed time of a build with links of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LinkEstimate {
    /// The bytes per second that a process can send while it receives as many.
    pub bytes_per_s: f64,
    /// The time that a message of one byte takes, in seconds.
    pub latency_s: f64,
    /// The elapsed time, in seconds.
    pub wall_s: f64,
    /// The part of the elapsed time for computation, in seconds, with the imbalance of the processes.
    pub compute_s: f64,
    /// The part for the transfer of messages, in seconds.
    pub transfer_s: f64,
    /// The part for the delay of messages at barriers, in seconds.
    pub barrier_s: f64,
}

impl ClusterEstimate {
    /// Estimates the build by `processes` processes with a machine each, and with links of these rates (bytes per
    /// second) and delays (seconds). If the processes share one machine,
    /// `shared_cores` is the number of its cores. The estimate is extrapolated from builds of smaller tables on this
    /// machine, as in [`BuildPlan::estimate`](sternhalma_builder::BuildPlan::estimate).
    ///
    /// # Errors
    /// If one of these builds fails or is cancelled, the memory of a machine does not suffice, or the table cannot be
    /// built in parts.
    pub fn new(
        builder: &TableBuilder,
        processes: usize,
        machine: MachineSpec,
        shared_cores: Option<usize>,
        links: &[(f64, f64)],
        directory: impl AsRef<Path>,
        observer: &dyn Observer,
    ) -> Result<ClusterEstimate> {
        let spec = builder.spec();
        check_form(spec)?;
        let PartMemory { params, threads, .. } = part_memory(spec, machine.cores, machine.memory, processes)?;
        let machine = MachineSpec { cores: threads, ..machine };
        let alone = Calibrator::new(builder, directory.as_ref(), observer)?
            .estimate(machine, Some((params, LayerForm::Delta)))?;
        let partitioning = Partitioning::new(Numbering::of(spec), params.fixed_pieces, params.segment_words);
        let upper = spec.prefix.board().pieces() - 1 - params.slice_pieces;
        let traffic = Ownership::new(&partitioning, processes, upper).traffic(&partitioning, processes);
        let traffic = RelativeTraffic::of(&traffic, partitioning.states());
        Ok(extrapolate(alone, machine, processes, shared_cores, traffic, links))
    }
}

/// The states that travel in relation to all states.
#[derive(Clone, Copy)]
struct RelativeTraffic {
    /// The mean number of visitors of a segment.
    visitors: f64,
    /// The bytes that the busiest process sends or receives, in relation to those of the layers.
    busiest: f64,
}

impl RelativeTraffic {
    fn of(traffic: &[StateTraffic], states: u64) -> RelativeTraffic {
        let visited: u64 = traffic.iter().map(|process| process.sent).sum();
        // Reached states travel in the other direction.
        let busiest = traffic.iter().map(|process| {
            let (sent, received) = (process.sent as f64, process.received as f64);
            (sent + REACHED * received).max(received + REACHED * sent)
        });
        RelativeTraffic {
            visitors: visited as f64 / states as f64,
            busiest: busiest.fold(0.0, f64::max) / states as f64,
        }
    }
}

/// Returns the estimate of a build by several processes, given that of a build by one of them alone.
fn extrapolate(
    alone: BuildEstimate,
    machine: MachineSpec,
    processes: usize,
    shared_cores: Option<usize>,
    RelativeTraffic { visitors, busiest }: RelativeTraffic,
    links: &[(f64, f64)],
) -> ClusterEstimate {
    let BuildEstimate { states, layers, layer_bytes, table_bytes, calibrations, .. } = alone;
    let exchanged = visitors * (1.0 + REACHED);
    let sent = layer_bytes as f64 * exchanged;
    let cpu_s = alone.cpu_s * (1.0 + EXCHANGE * exchanged);
    let share = |all: f64| all / processes as f64;
    let imbalance = if processes > 1 && shared_cores.is_none() { IMBALANCE } else { 1.0 };
    let cores = processes * machine.cores;
    let compute_s = cpu_s / cores.min(shared_cores.unwrap_or(cores)) as f64 * imbalance;
    let link = |&(bytes_per_s, latency_s): &(f64, f64)| {
        let transfer_s = layer_bytes as f64 * busiest / bytes_per_s;
        let barrier_s = BARRIERS * layers as f64 * latency_s;
        let wall_s = compute_s + transfer_s + barrier_s;
        LinkEstimate { bytes_per_s, latency_s, wall_s, compute_s, transfer_s, barrier_s }
    };
    let large = calibrations[0];
    let copies = large.peak_work_bytes[1] as f64 * states as f64 / large.states as f64 * large.layers as f64
        / (layers as f64).max(1.0);
    let disk = share(layer_bytes as f64 + copies * (1.0 + visitors) + table_bytes as f64);
    ClusterEstimate {
        processes,
        machine,
        states,
        layers,
        layer_bytes,
        visitors,
        sent_bytes: sent as u64,
        busiest_bytes: (layer_bytes as f64 * busiest) as u64,
        memory_bytes: machine.memory,
        disk_bytes: disk as u64,
        table_bytes,
        cpu_s,
        links: links.iter().map(link).collect(),
        calibrations,
    }
}
