//! The rule set `blocked-goal`: moves that seal a goal, and repetition.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use sternhalma_data::board::SealRule;
use sternhalma_data::{Board, Cell, CellSet, Move, Position, RuleSet, Side};
use sternhalma_engine::record::AnnotatedGame;
use sternhalma_engine::ugi::{HostError, UgiHost, UgiSession, UgiSettings, legal_action};
use sternhalma_engine::{
    Action, ChineseCheckers, Config, Distances, EnginePlayer, Filter, GameHistory, GameSetup, GameState, Outcome,
    Roster, SearchValue,
};
use sternhalma_ggp::arena::{
    ArenaGame, Budget, Contestant, ContestantError, Entrant, Fault, Request, RunError, Schedule, Standings,
    Termination, TournamentSetup, run,
};
use sternhalma_ggp::{Game, Limits, MemoryBudget, Rng, SearchStats};

fn setup(size: u64, pieces: u64) -> GameSetup {
    GameSetup::new(Board::new(size, pieces).unwrap()).with_rules(RuleSet::NEWEST)
}

fn game(size: u64, pieces: u64, filter: Filter) -> ChineseCheckers {
    ChineseCheckers::of(setup(size, pieces), filter)
}

fn legal(game: &ChineseCheckers, state: &GameState) -> Vec<Action> {
    let mut moves = Vec::new();
    game.legal(state, state.player() as usize, &mut moves);
    moves
}

#[test]
fn no_move_of_a_game_seals_the_goal() {
    let mut forbidden = 0;
    for (size, pieces) in [(5, 6), (9, 6), (9, 10), (7, 12)] {
        let (game, rule) = (game(size, pieces, Filter::All), SealRule::new(Board::new(size, pieces).unwrap()));
        for seed in 0..30 {
            let mut rng = rand::SeedableRng::seed_from_u64(seed);
            let Some(state) = game.random_state(2 + seed as u32, &mut rng) else { continue };
            let position = game.position(&state);
            assert_eq!(rule.sealed(&position), None, "{position}");
            let moves: Vec<Move> = legal(&game, &state).into_iter().flatten().collect();
            assert_eq!(moves, rule.moves(&position), "{position}");
            let found = game.forbidden(&state);
            forbidden += found.len();
            for (mv, cells) in found {
                let seal = rule.sealed(&position.after(mv)).unwrap().1;
                assert!(seal.region == cells && !moves.contains(&mv), "{position}");
            }
        }
    }
    assert!(forbidden > 20, "{forbidden}");
}

#[test]
fn a_refusal_names_the_sealed_cells() {
    let game = game(9, 6, Filter::All);
    let mut state = game.initial();
    for text in ["a3-b3", "i7-h7"] {
        let action = legal_action(&game, &state, text).unwrap();
        game.play_action(&mut state, action);
    }
    let error = legal_action(&game, &state, "a1-a3").unwrap_err().to_string();
    assert_eq!(
        error,
        "`a1-a3` is not legal for x at ply 2: it seals the goal of o, which could never fill a1 (rules blocked-goal-2; the rules paper allow it)"
    );
    // A move that no rule of movement permits has no such reason.
    let error = legal_action(&game, &state, "a1-i9").unwrap_err().to_string();
    assert_eq!(error, "`a1-i9` is not legal for x at ply 2");
    let paper = ChineseCheckers::new(game.board(), Filter::All).with_rules(RuleSet::Paper);
    assert!(legal_action(&paper, &state, "a1-a3").is_ok());
}

#[test]
fn a_player_whose_moves_all_seal_passes() {
    let (mut rng, mut passes) = (Rng::seed_from_u64(3), 0);
    for (size, pieces) in [(5, 12), (5, 11), (4, 7)] {
        let board = Board::new(size, pieces).unwrap();
        let (game, rule) = (game(size, pieces, Filter::Forward), SealRule::new(board));
        let count = pieces as usize;
        for _ in 0..20_000 {
            let mut near: Vec<usize> = (0..board.cells() - 8).collect();
            near.shuffle(&mut rng);
            let own = near.split_off(near.len() - count);
            let mut rest: Vec<usize> = (0..board.cells()).filter(|cell| !own.contains(cell)).collect();
            rest.shuffle(&mut rng);
            let set = |cells: &[usize]| cells.iter().map(|&cell| Cell::new(cell)).collect::<CellSet>();
            let position = Position::new(board.geometry(), set(&own), set(&rest[..count]), Side::X, 8).unwrap();
            let mut state = game.state(&position).unwrap();
            if state.outcome().is_some() || position.moves().next().is_none() || !rule.moves(&position).is_empty() {
                continue;
            }
            passes += 1;
            assert_eq!(legal(&game, &state), [None], "{position}");
            game.play_action(&mut state, None);
            assert_eq!((state.player(), state.has_passed()), (Side::O, true));
        }
    }
    assert!(passes > 0, "{passes}");
}

/// Moves of a game on the 5x5 board with 3 pieces, after which the initial placement occurs for the third time.
const REPEATED: &str = "b1-c1 d5-c5 c1-b1 c5-d5 b1-c1 d5-c5 c1-b1 c5-d5";

fn actions(game: &ChineseCheckers) -> Vec<Action> {
    REPEATED.split(' ').map(|text| Some(game.geometry().parse_move(text).unwrap())).collect()
}

#[test]
fn the_third_occurrence_is_a_draw_in_a_history_and_in_a_record() {
    let mut history = GameHistory::new(game(5, 3, Filter::All));
    for action in actions(history.rules()) {
        assert_eq!(history.outcome(), None);
        history.play(action, Default::default());
    }
    assert!(history.is_repeated() && history.legal().is_empty());
    assert_eq!(history.outcome(), Some(Outcome::Draw));
    let text = history.record().to_string();
    assert!(text.contains("[Rules \"blocked-goal-2\"]") && text.contains("1/2-1/2"), "{text}");
    let record: AnnotatedGame = text.parse().unwrap();
    assert_eq!(record, history.record());
    let rules = ChineseCheckers::new(history.rules().board(), Filter::All);
    assert!(GameHistory::from_record(rules, &record).unwrap().is_repeated());
    // A move more is an error, and so is another result.
    let error = text.replace(" 1/2-1/2\n", " b1-c1 *\n").parse::<AnnotatedGame>().unwrap_err().to_string();
    assert!(error.contains("`b1-c1` comes after the end of the game, by repetition at ply 8"), "{error}");
    let won = text.replace("1/2-1/2", "1-0");
    assert!(won.parse::<AnnotatedGame>().unwrap_err().to_string().contains("the moves end with `1/2-1/2`"));
    // Without the rule the game continues.
    let paper = text.replace("[Rules \"blocked-goal-2\"]\n", "").replace("1/2-1/2", "*");
    assert_eq!(paper.parse::<AnnotatedGame>().unwrap().result, None);
    history.undo();
    assert_eq!(history.outcome(), None);
    history.redo();
    assert_eq!(history.outcome(), Some(Outcome::Draw));
}

#[test]
fn a_variation_counts_the_positions_before_it() {
    let head = "[Rules \"blocked-goal-2\"]\n[Size \"5\"]\n[Pieces \"3\"]\n\n";
    let moves: Vec<&str> = REPEATED.split(' ').collect();
    let (last, before) = moves.split_last().unwrap();
    let text = |tail: &str| format!("{head}{} c5-c4 ({last}{tail}) *", before.join(" "));
    assert!(text("").parse::<AnnotatedGame>().is_ok());
    let error = text(" b1-c1").parse::<AnnotatedGame>().unwrap_err().to_string();
    assert!(error.contains("by repetition at ply 8"), "{error}");
}

/// Plays given moves.
struct Script {
    actions: Vec<Action>,
}

impl Contestant<ChineseCheckers> for Script {
    fn begin(&mut self, _: &ChineseCheckers, _: &GameState, _: usize, _: u64) -> Result<(), Fault> {
        Ok(())
    }

    fn choose(&mut self, _: &ChineseCheckers, state: &GameState, _: &Request) -> Result<(Action, SearchStats), Fault> {
        Ok((self.actions[state.ply() as usize % self.actions.len()], SearchStats::default()))
    }

    fn observe(&mut self, _: &ChineseCheckers, _: &[Action]) {}
}

#[test]
fn the_third_occurrence_is_a_draw_in_a_tournament() {
    for (rules, end, plies) in [(RuleSet::NEWEST, "repetition", 8), (RuleSet::Paper, "ply-limit", 30)] {
        let game = ChineseCheckers::of(setup(5, 3).with_rules(rules).with_ply_limit(30), Filter::All);
        let contestants = |_: usize| -> Result<Box<dyn Contestant<ChineseCheckers>>, ContestantError> {
            Ok(Box::new(Script { actions: actions(&game) }))
        };
        let setup = TournamentSetup { game: &game, contestants: &contestants, adjudicator: None, openings: None };
        let entrants = ["a", "b"].map(Entrant::named).to_vec();
        let budget = Budget { nodes: Some(1), ..Budget::default() };
        let schedule = Schedule { opening_plies: 0, ply_limit: 30, ..Schedule::new(entrants, budget, 2) };
        let mut standings = Standings::new(schedule.clone());
        let mut records = Vec::new();
        run(&setup, &mut standings, std::num::NonZeroUsize::MIN, &AtomicBool::new(false), |record, _| {
            records.push(record.clone());
            Ok::<(), RunError>(())
        })
        .unwrap();
        assert_eq!(records.len(), 2);
        for record in records {
            assert_eq!(serde_json::to_value(record.end).unwrap(), end);
            assert_eq!((record.plies, &record.goals[..]), (plies, &[50, 50][..]));
            assert_eq!(record.end == Termination::Repetition, rules == RuleSet::NEWEST);
        }
    }
    let game = game(5, 3, Filter::All);
    let error = game.opening(&format!("startpos moves {REPEATED}")).unwrap_err().to_string();
    assert!(error.contains("by repetition"), "{error}");
}

struct NoTables;

impl UgiHost for NoTables {
    fn player(&mut self, config: &Config, setup: GameSetup) -> Result<Box<dyn EnginePlayer>, HostError> {
        let player = config.prepare(setup, Some(&Distances::estimated(setup.board)))?;
        Ok(player.start(&MemoryBudget::unlimited())?)
    }

    fn tables_dir(&self) -> Option<PathBuf> {
        None
    }

    fn set_tables_dir(&mut self, _: PathBuf) {}

    fn memory(&self) -> u64 {
        1 << 20
    }

    fn set_memory(&mut self, _: u64) -> Result<(), HostError> {
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn ugi(setup: GameSetup, commands: &str) -> Vec<String> {
    let (output, player) = (Output::default(), "sternhalma,table_megabytes=1".to_owned());
    let settings = UgiSettings { roster: Roster::built_in(), player, seed: 1, setup, default_nodes: 100 };
    UgiSession::new(NoTables, settings, output.clone()).unwrap().run(commands.as_bytes()).unwrap();
    let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_protocol_has_the_rules_as_an_option() {
    let query = "query gameover\nquery result\ngo nodes 5\n";
    let repeated = ugi(setup(5, 3), &format!("position startpos moves {REPEATED}\n{query}"));
    assert_eq!(repeated[..2], ["response true", "response draw"]);
    assert!(repeated[2].contains("the game is over"), "{repeated:?}");
    let after = ugi(setup(5, 3), &format!("position startpos moves {REPEATED} b1-c1\n"));
    assert!(after[0].contains("by repetition"), "{after:?}");
    let option = format!("setoption name rules value paper\nposition startpos moves {REPEATED}\nquery result\n");
    assert_eq!(ugi(setup(5, 3), &option), ["response none"]);
    let introduced = ugi(setup(5, 3), "ugi\nsetoption name Rules value chess\n");
    assert!(introduced.iter().any(|line| line
        == "option name Rules type combo default blocked-goal-2 var paper var blocked-goal var blocked-goal-2"));
    assert!(introduced.last().unwrap().contains("`blocked-goal-2`, got `chess`"));
    let sealing = ugi(setup(9, 6), "position startpos moves a3-b3 i7-h7 a1-a3\n");
    assert!(sealing[0].contains("which could never fill a1"), "{sealing:?}");
}

#[test]
fn the_search_values_a_repetition_as_a_draw() {
    let setup = setup(5, 3);
    let game = ChineseCheckers::of(setup, Filter::All);
    let config = Roster::built_in().config("sternhalma,table_megabytes=1").unwrap();
    let all = actions(&game);
    let value = |plies: usize| {
        let player = config.prepare(setup, Some(&Distances::estimated(setup.board))).unwrap();
        let mut player = player.start(&MemoryBudget::unlimited()).unwrap();
        let mut state = game.initial();
        player.reset(1);
        player.begin(&state);
        for &action in &all[8 - plies..7] {
            game.play_action(&mut state, action);
            player.observe(action);
        }
        // Only the last move of the sequence is left.
        let others: Vec<Move> = legal(&game, &state).into_iter().flatten().filter(|&mv| Some(mv) != all[7]).collect();
        assert!(player.exclude(&others));
        let mut last = None;
        let limits = Limits { depth: Some(3), ..Limits::default() };
        let choice = player.think(&state, limits, &AtomicBool::new(false), &mut |info| last = info.value);
        assert_eq!(choice.action, all[7]);
        last.unwrap()
    };
    assert_eq!(value(8), SearchValue::Lead(0.0));
    assert_ne!(value(4), SearchValue::Lead(0.0), "the second occurrence");
}

/// Plays a game of the fortress, as `side`, against the default player.
fn fortress_game(setup: GameSetup, side: Side) -> GameHistory {
    let distances = Distances::estimated(setup.board);
    let made = |name: &str| {
        let player = Roster::built_in().config(name).unwrap().prepare(setup, Some(&distances)).unwrap();
        player.start(&MemoryBudget::unlimited()).unwrap()
    };
    let mut players: [Box<dyn EnginePlayer>; 2] = [made("fortress"), made("sternhalma,table_megabytes=1")];
    if side == Side::O {
        players.swap(0, 1);
    }
    let mut history = GameHistory::new(ChineseCheckers::of(setup, Filter::All));
    for (player, seed) in players.iter_mut().zip(1..) {
        player.reset(seed);
        player.begin(history.start());
    }
    while history.outcome().is_none() {
        let state = *history.state();
        let mover = &mut players[state.player() as usize];
        let action = mover.choose(&state, Limits::expansions(100), &AtomicBool::new(false)).action;
        history.play(action, Default::default());
        players.iter_mut().for_each(|player| player.observe(action));
    }
    history
}

#[test]
fn the_default_player_wins_against_the_fortress_on_small_boards() {
    for (size, pieces) in [(5, 5), (5, 6), (6, 6), (7, 6)] {
        let setup = setup(size, pieces).with_ply_limit(300);
        for side in Side::BOTH {
            let game = fortress_game(setup, side);
            assert_eq!(game.outcome(), Some(Outcome::Won(side.other())), "{side}: {}", game.record());
        }
    }
}

#[test]
fn the_fortress_draws_under_the_rules_of_the_paper() {
    let setup = setup(7, 6).with_rules(RuleSet::Paper).with_ply_limit(300);
    for side in Side::BOTH {
        let game = fortress_game(setup, side);
        assert_eq!(game.outcome(), Some(Outcome::Draw), "{side}: {}", game.record());
    }
}
