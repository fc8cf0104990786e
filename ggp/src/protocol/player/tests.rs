use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sternhalma_game::{Game, MemoryBudget};
use sternhalma_gdl::network::{Network, NetworkGame};
use sternhalma_gdl::{Document, Goal, ProverGame, Reasoner, Rules};

use super::match_slot::lock;
use super::{GgpPlayer, Logger, PlayerOptions};
use crate::policy::{Policy, PolicyGame};
use crate::protocol::engine::EngineFactory;
use crate::protocol::message::Message;

fn own(name: &str) -> String {
    std::fs::read_to_string(format!("{}/games/{name}.kif", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn start(id: &str, role: &str, game: &str, start: f64, play: f64) -> String {
    let rules: Document = Document::parse(&own(game)).unwrap();
    let seconds = Duration::from_secs_f64;
    Message::Start { id: id.into(), role: role.into(), rules, start: seconds(start), play: seconds(play) }.to_string()
}

/// Returns a player and the lines of its log.
fn player(options: PlayerOptions) -> (GgpPlayer, mpsc::Receiver<String>) {
    let (sender, lines) = channel();
    let sender = Mutex::new(sender);
    let log: Logger = Arc::new(move |line| drop(lock(&sender).send(line.to_string())));
    (GgpPlayer::new(PlayerOptions { log, ..options }), lines)
}

fn quick() -> PlayerOptions {
    PlayerOptions { margin: Duration::from_millis(100), ..PlayerOptions::default() }
}

fn say(player: &GgpPlayer, text: &str) -> String {
    player.answer(text.parse().unwrap(), Instant::now()).to_string()
}

/// Waits for a line of the log that contains `words`.
fn await_line(lines: &mpsc::Receiver<String>, words: &str) {
    let mut seen = Vec::new();
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(20)) {
        if line.contains(words) {
            return;
        }
        seen.push(line);
    }
    panic!("no line with `{words}`: {seen:?}");
}

#[test]
fn a_match_is_played_from_start_to_stop() {
    let (player, lines) = player(quick());
    assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status available ) )");
    assert_eq!(say(&player, "(PREVIEW ((role a)) 10)"), "ready");
    assert_eq!(say(&player, &start("m", "FIRST", "subtraction", 0.5, 0.5)), "ready");
    assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status busy ) )");
    // From 10 take two, from 7 take three: 8 and 4 are lost.
    assert_eq!(say(&player, "(PLAY M nil)"), "(take 2)");
    assert_eq!(say(&player, "(PLAY m ((TAKE  2) wait))"), "wait");
    assert_eq!(say(&player, "(PLAY m (wait (take 1)))"), "(take 3)");
    assert_eq!(say(&player, "(PLAY m ((take 3) wait))"), "wait");
    assert_eq!(say(&player, "(PLAY m (wait (take 3)))"), "(take 1)");
    assert_eq!(say(&player, "(STOP m ((take 1) wait))"), "done");
    await_line(&lines, "over, goals [100, 0]");
    assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status available ) )");
    assert_eq!(say(&player, "(STOP m (wait (take 3)))"), "busy");
}

#[test]
fn other_matches_are_refused_while_one_is_played() {
    let (player, lines) = player(PlayerOptions { policy: Policy::Random, ..quick() });
    assert_eq!(say(&player, "(PLAY m NIL)"), "busy");
    assert_eq!(say(&player, &start("m", "x", "tic-tac-toe", 9.0, 9.0)), "ready");
    for message in ["(PLAY n NIL)", "(STOP n NIL)", "(ABORT n)", &*start("n", "x", "tic-tac-toe", 9.0, 9.0)] {
        assert_eq!(say(&player, message), "busy");
    }
    await_line(&lines, "match n: refused: match m is played");
    assert!(say(&player, "(PLAY m NIL)").starts_with("(mark "));
    assert_eq!(say(&player, "(ABORT m)"), "aborted");
    assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 9.0, 9.0)), "ready");
    assert_eq!(say(&player, "(ABORT n)"), "aborted");
}

#[test]
fn nobody_waits_for_a_match_that_is_over() {
    let (player, lines) = player(quick());
    // The clocks are longer than any test may take.
    let start = start("m", "x", "tic-tac-toe", 1e6, 1e6);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| say(&player, &start));
        await_line(&lines, "start as x");
        assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status busy ) )");
        assert_eq!(say(&player, "(ABORT m)"), "aborted");
        // The player was ready, unless it was stopped first.
        let answer = waiting.join().unwrap();
        assert!(["ready", "busy"].contains(&&*answer), "{answer}");
    });
    assert_eq!(say(&player, &start.replace("1000000 1000000", "0.2 1000000")), "ready");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| say(&player, "(PLAY m NIL)"));
        assert_eq!(say(&player, "(ABORT m)"), "aborted");
        let answer = waiting.join().unwrap();
        assert!(answer.starts_with("(mark ") || ["NIL", "busy"].contains(&&*answer), "{answer}");
    });
}

#[test]
fn unplayable_games_are_refused() {
    let (player, lines) = player(quick());
    let refused = [
        ("(START m z ((role a) (legal a b)) 9 9)", "no role z: the roles are a"),
        ("(START m a ((role a) (legal a ?x)) 9 9)", "unsafe"),
        ("(START m a ((role)) 9 9)", "`role` takes 1 argument"),
        ("(START m a ((role a)) 9 9)", "no legal move"),
        ("(START m a (terminal) 9 9)", "no role"),
    ];
    for (message, reason) in refused {
        assert_eq!(say(&player, message), "busy", "{message}");
        await_line(&lines, reason);
    }
    assert_eq!(say(&player, "(INFO)"), "( ( name sternhalma ) ( status available ) )");
}

#[test]
fn a_match_whose_manager_is_slow_continues_until_another_starts() {
    let patience = Duration::from_millis(300);
    for ponder in [false, true] {
        let (player, lines) = player(PlayerOptions { patience, ponder, ..quick() });
        assert_eq!(say(&player, &start("m", "x", "tic-tac-toe", 0.2, 0.2)), "ready");
        assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 0.2, 0.2)), "busy");
        assert!(say(&player, "(INFO)").contains("busy"));
        await_line(&lines, "match m: idle");
        // The player would accept another match, but still plays this one.
        assert!(say(&player, "(INFO)").contains("available"));
        assert!(say(&player, "(PLAY m NIL)").starts_with("(mark "));
        assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 0.2, 0.2)), "busy");
        await_line(&lines, "match m: idle");
        assert_eq!(say(&player, &start("n", "x", "tic-tac-toe", 0.2, 0.2)), "ready");
        await_line(&lines, "match m: given up for match n");
        assert_eq!(say(&player, "(PLAY m NIL)"), "busy");
        assert!(say(&player, "(PLAY n NIL)").starts_with("(mark "));
        await_line(&lines, "match n: idle");
        assert_eq!(say(&player, "(STOP n NIL)"), "done");
        assert_eq!(say(&player, "(PLAY n NIL)"), "busy");
    }
}

#[test]
fn moves_that_are_not_legal_are_survived() {
    let (player, lines) = player(PlayerOptions { policy: Policy::Random, ..quick() });
    assert_eq!(say(&player, &start("m", "second", "subtraction", 9.0, 9.0)), "ready");
    for (moves, line) in [
        ("((take 1))", "1 moves for 2 roles"),
        ("((take ?n) wait)", "no move (take ?n)"),
        ("(a b c)", "3 moves for 2 roles"),
        ("((take 4) wait)", "(take 4) is not legal for first"),
    ] {
        let answer = say(&player, &format!("(PLAY m {moves})"));
        assert!(answer == "wait" || answer.starts_with("(take ") || answer == "NIL", "{answer}");
        await_line(&lines, line);
    }
    // At the end there are no moves; the query must still be answered.
    for _ in 0..10 {
        say(&player, "(PLAY m ((take 3) (take 3)))");
    }
    assert_eq!(say(&player, "(STOP m NIL)"), "done");
}

/// A `ProverGame` that records queries of legal moves, and waits in each step
/// if its last field is not zero.
struct Marked(ProverGame, Arc<AtomicBool>, Duration);

impl Game for Marked {
    type State = <ProverGame as Game>::State;
    type Move = <ProverGame as Game>::Move;

    fn roles(&self) -> usize {
        self.0.roles()
    }
    fn initial(&self) -> Self::State {
        self.0.initial()
    }
    fn turn(&self, state: &Self::State) -> sternhalma_game::Turn {
        self.0.turn(state)
    }
    fn number(&self, role: usize, mv: Self::Move) -> u32 {
        self.0.number(role, mv)
    }
    fn legal(&self, state: &Self::State, role: usize, moves: &mut Vec<Self::Move>) {
        self.1.store(true, Relaxed);
        self.0.legal(state, role, moves);
    }
    fn play(&self, state: &mut Self::State, joint: &[Self::Move]) {
        thread::sleep(self.2);
        self.0.play(state, joint);
    }
    fn is_terminal(&self, state: &Self::State) -> bool {
        self.0.is_terminal(state)
    }
    fn goal(&self, state: &Self::State, role: usize) -> u8 {
        self.0.goal(state, role)
    }
}

impl PolicyGame for Marked {}

impl Reasoner for Marked {
    fn role_names(&self) -> &[String] {
        self.0.role_names()
    }
    fn facts(&self, state: &Self::State) -> Vec<String> {
        self.0.facts(state)
    }
    fn legal_of(&self, state: &Self::State, role: usize) -> Vec<Self::Move> {
        self.0.legal_of(state, role)
    }
    fn move_name(&self, role: usize, mv: Self::Move) -> String {
        self.0.move_name(role, mv)
    }
    fn move_named(&self, role: usize, name: &str) -> Option<Self::Move> {
        self.0.move_named(role, name)
    }
    fn play_all(&self, state: &mut Self::State, joint: &[Self::Move]) {
        self.0.play_all(state, joint);
    }
    fn reached(&self, state: &Self::State, role: usize) -> Goal {
        self.0.reached(state, role)
    }
}

#[test]
fn an_engine_that_is_late_is_changed_over_to() {
    let used = Arc::new(AtomicBool::new(false));
    let (gate, open) = channel::<()>();
    let open = Mutex::new(open);
    let mark = used.clone();
    let compiler = EngineFactory::new(move |rules, _| {
        let _ = lock(&open).recv();
        ProverGame::new(rules).map(|game| Marked(game, mark.clone(), Duration::ZERO))
    });
    let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
    assert_eq!(say(&player, &start("m", "first", "subtraction", 0.4, 0.4)), "ready");
    assert_eq!(say(&player, "(PLAY m NIL)"), "(take 2)");
    assert!(!used.load(Relaxed));
    gate.send(()).unwrap();
    await_line(&lines, "match m: compiled");
    assert_eq!(say(&player, "(PLAY m ((take 2) wait))"), "wait");
    assert_eq!(say(&player, "(PLAY m (wait (take 1)))"), "(take 3)");
    assert!(used.load(Relaxed));
    // Illegal moves need the prover.
    say(&player, "(PLAY m ((take 9) wait))");
    await_line(&lines, "match m: back to the prover");
    used.store(false, Relaxed);
    say(&player, "(PLAY m (wait wait))");
    assert!(!used.load(Relaxed));
}

#[test]
fn without_an_engine_the_prover_goes_on() {
    let fails = EngineFactory::new(|_, _| Err::<ProverGame, _>("too large"));
    let wrong = EngineFactory::new(|_, _| {
        let rules = "(role first) (role second) (legal first (take 1)) (legal second wait)";
        ProverGame::new(&Rules::parse(rules).unwrap())
    });
    for (compiler, reason) in [(fails, "too large"), (wrong, "it differs from the prover")] {
        let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
        assert_eq!(say(&player, &start("m", "first", "subtraction", 0.4, 0.4)), "ready");
        await_line(&lines, reason);
        assert_eq!(say(&player, "(PLAY m NIL)"), "(take 2)");
    }
}

#[test]
fn one_engine_is_made_at_a_time() {
    let (gate, open) = channel::<()>();
    let open = Mutex::new(open);
    let compiler = EngineFactory::new(move |rules, _| {
        let _ = lock(&open).recv();
        ProverGame::new(rules)
    });
    let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
    // The engine of the first match is still being compiled when the
    // second match begins.
    for id in ["m", "n"] {
        assert_eq!(say(&player, &start(id, "first", "subtraction", 0.2, 0.2)), "ready");
        assert_eq!(say(&player, "(PLAY n NIL)") == "busy", id == "m");
        assert_eq!(say(&player, &format!("(ABORT {id})")), "aborted");
    }
    drop(gate);
    while player.compiling.load(Relaxed) {
        thread::yield_now();
    }
    assert!(lines.try_iter().all(|line| !line.contains("compiled")));
}

/// A match that begins while the compilation of an abandoned match still runs
/// gets its engine afterwards.
#[test]
fn a_compilation_waits_for_that_of_an_abandoned_match() {
    let (gate, open) = channel::<()>();
    let (begun, begins) = channel::<()>();
    let open = Mutex::new(open);
    let compiler = EngineFactory::new(move |rules, _| {
        let _ = begun.send(());
        let _ = lock(&open).recv();
        ProverGame::new(rules)
    });
    let (player, lines) = player(PlayerOptions { compiler: Some(compiler), ..quick() });
    assert_eq!(say(&player, &start("m", "first", "subtraction", 0.2, 0.2)), "ready");
    begins.recv().unwrap();
    assert_eq!(say(&player, "(ABORT m)"), "aborted");
    assert_eq!(say(&player, &start("n", "first", "subtraction", 0.2, 0.2)), "ready");
    await_line(&lines, "match n: the compilation waits");
    (0..2).for_each(|_| gate.send(()).unwrap());
    await_line(&lines, "match n: compiled");
}

#[test]
fn a_rulesheet_that_takes_forever_is_answered_in_time() {
    let facts: String = (0..200).map(|n| format!("(n {n}) ")).collect();
    // The first state is cheap; its successors join 200^4 rows.
    let rules = format!(
        "{facts} (role a) (init on) (legal a go) (legal a stay) (goal a 100)
         (<= terminal (not (true on)) (n ?a) (n ?b) (n ?c) (n ?d) (distinct ?a ?a))
         (<= terminal (not (true on)) (n ?a) (n ?b) (n ?c) (n ?d) (not (m ?a ?b ?c ?d)))
         (<= (m ?a ?b ?c ?d) (n ?a) (n ?b) (n ?c) (n ?d))"
    );
    let (player, _lines) = player(quick());
    let began = Instant::now();
    assert_eq!(say(&player, &format!("(START m a ({rules}) 0.4 0.4)")), "ready");
    let first = say(&player, "(PLAY m NIL)");
    assert!(["go", "stay", "NIL"].contains(&&*first), "{first}");
    say(&player, "(PLAY m (go))");
    assert_eq!(say(&player, "(ABORT m)"), "aborted");
    // The match has three clocks of 0.4 s; the proof alone would take a
    // minute.
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_slower_of_two_engines_is_not_used() {
    let slow = EngineFactory::new(|rules, _| {
        // Until then the prover has been measured.
        thread::sleep(Duration::from_secs(2));
        ProverGame::new(rules).map(|game| Marked(game, Arc::default(), Duration::from_millis(10)))
    });
    let (player, lines) = player(PlayerOptions { compiler: Some(slow), ..quick() });
    assert_eq!(say(&player, &start("m", "first", "connect-four", 1.0, 60.0)), "ready");
    thread::scope(|scope| {
        let mv = scope.spawn(|| say(&player, "(PLAY m NIL)"));
        await_line(&lines, "compiled");
        await_line(&lines, "the prover is faster");
        // The end of the match ends the search.
        assert_eq!(say(&player, "(ABORT m)"), "aborted");
        assert_ne!(mv.join().unwrap(), "NIL");
    });
}

/// A rulesheet whose states may double with each move, and whose terms are different in each
/// simulation.
const GROWING: &str = "(role a) (init (p z)) (init (past z)) (legal a double) (legal a keep)
    (<= (next (p (l ?x))) (true (p ?x)) (does a double))
    (<= (next (p (r ?x))) (true (p ?x)) (does a double))
    (<= (next (p ?x)) (true (p ?x)) (does a keep))
    (<= (next (past (before ?move ?x))) (true (past ?x)) (does a ?move))
    (<= terminal (true never)) (goal a 50)";

#[test]
fn a_rulesheet_that_grows_is_played_within_the_memory() {
    const LIMIT: u64 = 8 << 20;
    let memory = MemoryBudget::new(LIMIT);
    let compiler = EngineFactory::new({
        let memory = memory.clone();
        move |rules, over| Network::within(rules, memory.limit() / 2, over).map(NetworkGame::new)
    });
    let (player, lines) = player(PlayerOptions { memory: memory.clone(), compiler: Some(compiler), ..quick() });
    assert_eq!(say(&player, &format!("(START m a ({GROWING}) 2 1)")), "ready");
    await_line(&lines, "not compiled");
    let mut last = "NIL".to_owned();
    for _ in 0..4 {
        let reply = say(&player, &format!("(PLAY m {last})"));
        assert!(["double", "keep"].contains(&&*reply), "{reply}");
        assert!(memory.used() <= LIMIT, "{memory:?}");
        last = format!("({reply})");
    }
    assert!(memory.is_exhausted());
    assert_eq!(say(&player, "(ABORT m)"), "aborted");
    // The thread of the match ends soon after the answer.
    let waited = Instant::now();
    while memory.used() > 0 && waited.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(memory.used(), 0);
}

#[test]
fn moves_have_the_spelling_of_the_rulesheet() {
    let rules = "(role a) (role b) (init (step 1)) (legal a (pass)) (<= (legal b (go (far))) (role b))
        (<= (next (step 2)) (true (step 1))) (<= terminal (true (step 2))) (goal a 100) (goal b 0)";
    for (role, mv) in [("a", "(pass)"), ("b", "(go (far))")] {
        let (player, lines) = player(quick());
        assert_eq!(say(&player, &format!("(START m {role} ({rules}) 0.4 0.4)")), "ready");
        assert_eq!(say(&player, "(PLAY m NIL)"), mv);
        // Managers may send either form.
        assert_eq!(say(&player, "(STOP m ((pass) (go far)))"), "done");
        await_line(&lines, "over, goals [100, 0]");
    }
}
