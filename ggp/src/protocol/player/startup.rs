//! The start of a match.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;

use super::match_slot::{MatchCommand, MatchHandle, Publisher};
use super::options::PlayerOptions;
use super::worker::{EngineSlot, MatchWorker};
use crate::protocol::engine::{EngineConfig, EngineResult, ReasonerEngine};
use sternhalma_game::Rng;
use sternhalma_gdl::{Document, ProverGame, ProverLimits, Rules};

/// The maximum number of rows that one proof of an external rulesheet may
/// visit: a hundred times the need of the 42 rulesheets of the collection, and
/// half a gigabyte.
const MAX_ROWS: u64 = 10_000_000;

/// The part of the memory that the trees of all engines take: one in this number. Half of the
/// memory is left for networks and their compilation.
const TREES_PART: u64 = 4;

/// The part of the memory that the prover takes: one in this number.
const PROVER_PART: u64 = 4;

/// The time between two looks of a waiting compilation at the one before it.
const COMPILER_POLL: Duration = Duration::from_millis(10);

/// The contents of START.
pub struct MatchStart {
    pub id: String,
    pub role: String,
    pub rules: Document,
    pub start: Duration,
    pub play: Duration,
}

/// The input of the thread of a match.
pub struct MatchSetup {
    pub options: PlayerOptions,
    pub compiling: Arc<AtomicBool>,
    pub post: MatchHandle,
    pub receiver: Receiver<MatchCommand>,
    /// Receives whether the match can be played.
    pub answer: Publisher<bool>,
    pub deadline: Instant,
    pub expires: Instant,
}

impl MatchSetup {
    pub fn run(self, terms: &MatchStart) {
        let _over = FlagGuard(self.post.over.clone(), true);
        let memory = &self.options.memory;
        let config = EngineConfig {
            role: terms.role.clone(),
            policy: self.options.policy.clone().within(&memory.part(memory.limit() / TREES_PART)),
            seed: self.options.seed,
            hurry: self.post.hurry.clone(),
            over: self.post.over.clone(),
        };
        let log = |event: &str| (self.options.log)(&format!("match {}: {event}", terms.id));
        let prover = |rules: &Rules| -> EngineResult {
            let limits = ProverLimits {
                rows: MAX_ROWS,
                memory: memory.part(memory.limit() / PROVER_PART),
                interrupt: config.over.clone(),
            };
            let game = ProverGame::bounded(rules, &limits);
            let game = game.map_err(|error| error.to_string())?;
            Ok(Box::new(ReasonerEngine::new(game, &config)?))
        };
        let rules = Rules::from_document(&terms.rules).map_err(|error| error.to_string());
        if let Ok(rules) = &rules {
            self.compile(rules.clone(), config.clone(), &terms.id);
        }
        let (rules, engine) = match rules.and_then(|rules| prover(&rules).map(|engine| (rules, engine))) {
            Ok(playable) => playable,
            Err(error) => {
                log(&format!("refused: {error}"));
                // The player is free before it reports so.
                config.over.store(true, Relaxed);
                return self.answer.put(false);
            }
        };
        let worker = MatchWorker {
            log: &log,
            rules: &rules,
            prover: &|| prover(&rules),
            active: EngineSlot::new(engine, false),
            reserve: None,
            history: Vec::new(),
            rng: Rng::seed_from_u64(self.options.seed),
            ponder: self.options.ponder,
            hurry: self.post.hurry.clone(),
            over: self.post.over.clone(),
            receiver: self.receiver,
            pending: VecDeque::new(),
            expires: self.expires,
            started: None,
        };
        worker.run(self.deadline, self.answer);
    }

    /// Starts to compile a faster engine, which is sent to the match. Only one
    /// engine is compiled at a time: the compilation waits for that of an earlier
    /// match, which stops soon after its match is over.
    fn compile(&self, rules: Rules, config: EngineConfig, id: &str) {
        let Some(compiler) = self.options.compiler.clone() else { return };
        if !config.policy.thinks() {
            return;
        }
        let compiling = self.compiling.clone();
        let commands = self.post.commands.clone();
        let log = self.options.log.clone();
        let id = id.to_string();
        let make = move || {
            let mut waits = false;
            while compiling.swap(true, Acquire) {
                if config.over.load(Relaxed) {
                    return;
                }
                if !waits {
                    log(&format!("match {id}: the compilation waits for that of an earlier match"));
                    waits = true;
                }
                thread::sleep(COMPILER_POLL);
            }
            let _compiling = FlagGuard(compiling, false);
            if config.over.load(Relaxed) {
                return;
            }
            let engine = compiler.compile(&rules, &config);
            let _ = commands.send(MatchCommand::Compiled(engine));
        };
        // If the thread cannot be started, the match continues with the
        // prover.
        let _ = thread::Builder::new().name("compiler".into()).spawn(make);
    }
}

/// Sets a flag to a value when it is dropped, also after a panic.
struct FlagGuard(Arc<AtomicBool>, bool);

impl Drop for FlagGuard {
    fn drop(&mut self) {
        self.0.store(self.1, Release);
    }
}
