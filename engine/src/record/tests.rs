//! Tests of the format: examples, errors, and random games.

use std::time::Duration;

use proptest::prelude::*;
use sternhalma_data::{Board, Position, RuleSet, Side};
use sternhalma_ggp::Game;

use super::*;
use crate::players::SearchValue;
use crate::rules::{ChineseCheckers, Filter, GameState, Outcome};

const EXAMPLE: &str = r#"[Event "A \"quick\" game"]
[PlayerX "human"]
[PlayerO "sternhalma"]
[Opening "edge"]
[Result "0-1"]
[RuleSet "diamond"]
[Size "5"]
[Pieces "1"]
[PlyLimit "100"]

{one piece each} 1. a1-b1 <score=-0.5 depth=3 nodes=120 time=0.042 clock=1:30>
{a first step} (1. a1-a2 {or this} 1... e5-e4 (1... e5-d5 {sideways}) 2. a2-a3)
1... e5-d5 <score=-#12> 2. b1-c1 0-1
"#;

fn parse(text: &str) -> AnnotatedGame {
    text.parse().unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_example_has_all_its_parts_and_prints_the_same() {
    let game = parse(EXAMPLE);
    assert_eq!(game.to_string(), EXAMPLE);
    assert_eq!((game.tag("Event"), game.tag("Opening")), (Some("A \"quick\" game"), Some("edge")));
    assert_eq!((game.tag("Result"), game.tags().len()), (None, 4));
    assert_eq!((game.ply_limit, game.result), (100, Some(Outcome::Won(Side::O))));
    assert_eq!(game.line.comments, ["one piece each"]);
    let [first, second, third] = &game.line.moves[..] else { panic!("{game:?}") };
    let info = MoveInfo {
        time: Some(Duration::from_millis(42)),
        score: Some(SearchValue::Lead(-0.5)),
        depth: Some(3),
        nodes: Some(120),
        others: vec![("clock".to_owned(), "1:30".to_owned())],
    };
    assert_eq!((&first.info, &first.comments[..]), (&info, &["a first step".to_owned()][..]));
    assert_eq!(second.info.score, Some(SearchValue::Lost(12)));
    assert_eq!(third.info, MoveInfo::default());
    let variation = &first.variations[0];
    assert_eq!((variation.moves.len(), variation.moves[0].comments.len()), (3, 1));
    let nested = &variation.moves[1].variations[0].moves;
    assert_eq!(game.start.geometry().move_text(nested[0].action.unwrap()), "e5-d5");
}

#[test]
fn a_start_position_determines_board_and_numbers() {
    let text = "[Start \"3oo/4o/5/x4/xx3 o 7\"]\n\nd5-d4 a2-a3 1/2-1/2";
    let game = parse(text);
    assert_eq!((game.start.ply(), game.start.side_to_move(), game.ply_limit), (7, Side::O, 1000));
    let printed = game.to_string();
    assert!(printed.contains("[Size \"5\"]\n[Pieces \"3\"]\n[Start \"3oo/4o/5/x4/xx3 o 7\"]\n"), "{printed}");
    assert!(printed.ends_with("\n\n4... d5-d4 5. a2-a3 1/2-1/2\n"), "{printed}");
    assert_eq!(parse(&printed), game);
}

#[test]
fn invalid_records_are_refused_with_their_place() {
    let board = "[Size \"5\"]\n[Pieces \"1\"]\n";
    let in_board = |rest: &str| format!("{board}{rest}");
    let deep = |depth| in_board(&format!("a1-b1 {} {} *", "(a1-a2 ".repeat(depth), ")".repeat(depth)));
    assert!(deep(MAX_NESTING).parse::<AnnotatedGame>().is_ok());
    for (text, why) in [
        (String::new(), "line 1, column 1: the tags do not specify the board"),
        ("[Size \"5\"] a1-b1 *".to_owned(), "line 1, column 12: the tags do not specify the board"),
        ("[5 \"5\"]".to_owned(), "line 1, column 2: expected the name of a tag, got `5`"),
        ("[Size 5]".to_owned(), "line 1, column 7: expected a value in quotes, got `5]`"),
        ("[Size \"5]\n*".to_owned(), "line 1, column 7: the value of the tag is not closed"),
        ("[Size \"5\"\n[Pieces \"1\"]".to_owned(), "line 2, column 1: expected `]`, got `[Pieces`"),
        (in_board("[Size \"5\"] *"), "line 3, column 2: the tag `Size` is given twice"),
        ("[Size \"five\"] [Pieces \"1\"] *".to_owned(), "column 7: the tag `Size`: expected a number, got `five`"),
        ("[Size \"5\"] [Pieces \"13\"] *".to_owned(), "line 1, column 20: the tag `Pieces`: the homes"),
        ("[Start \"5/5\"] *".to_owned(), "the tag `Start`: `5/5` is not a position"),
        ("[Start \"2o/3/xx1 x 0\"] *".to_owned(), "expected armies of the same size, got 2 and 1 pieces"),
        ("[Start \"3/3/3 x 0\"] *".to_owned(), "the tag `Start`: expected 1 to 8 pieces"),
        ("[Start \"2o/3/x2 x 0\"] [Pieces \"2\"] *".to_owned(), "the tag `Pieces`: expected 1, as in the tag"),
        (in_board("[RuleSet \"star\"] *"), "the tag `RuleSet`: the rules `star` are unknown; expected `diamond`"),
        (in_board("[Result \"2-0\"] *"), "the tag `Result`: expected `1-0`"),
        (in_board("[PlyLimit \"-1\"] *"), "the tag `PlyLimit`: expected a number, got `-1`"),
        (in_board("[Result \"1-0\"] a1-b1 *"), "line 3, column 22: the result is `*`, but the tag `Result` is `1-0`"),
        (in_board("a1-b1"), "line 3, column 6: expected a move, a comment or a result, got the end of the text"),
        (in_board("a1-b1 ) *"), "line 3, column 7: expected a move, a comment or a result, got `)`"),
        (in_board("a1-b1 * e5-e4"), "line 3, column 9: expected the end of the text after the result, got `e5-e4`"),
        (in_board("1. a1-e5 *"), "line 3, column 4: `a1-e5` is not legal for x at ply 0"),
        (in_board("1. a1 *"), "`a1` is not a move"),
        (in_board("a1-b1-c1-d1 *"), "expected a move such as `c1-e3`, got `a1-b1-c1-d1`"),
        (in_board("pass *"), "`pass` is not legal for x"),
        (in_board("{a\nb"), "line 3, column 1: the comment is not closed"),
        (in_board("<depth=1> *"), "line 3, column 1: move data before the first move"),
        (in_board("(a1-a2) *"), "line 3, column 1: a variation before the first move"),
        (in_board("a1-b1 <depth=1"), "line 3, column 7: the move data is not closed"),
        (in_board("a1-b1 <depth> *"), "line 3, column 8: expected `key=value` or `>`, got `depth>`"),
        (in_board("a1-b1 <depth=x> *"), "line 3, column 8: `depth=x`: expected a number of plies"),
        (in_board("a1-b1 <score=nan> *"), "`score=nan`: expected a lead"),
        (in_board("a1-b1 <score=1 reward=1> *"), "column 16: `reward=1`: the value is given twice"),
        (in_board("a1-b1 <time=1e3> *"), "`time=1e3`: expected seconds"),
        (in_board("a1-b1 (a1-a2"), "line 3, column 7: the variation is not closed"),
        (in_board("a1-b1 (a1-a2 *) *"), "line 3, column 14: expected a move or a comment of the variation, got `*)`"),
        (in_board("a1-b1 () *"), "line 3, column 8: expected a move or a comment of the variation"),
        (in_board("a1-b1 (a1-e5) *"), "line 3, column 8: `a1-e5` is not legal for x at ply 0"),
        (deep(MAX_NESTING + 1), "variations are nested more than 32 deep"),
        ("[Start \"2x/3/o2 x 4\"] 1-0".to_owned(), "the result is `1-0`, but the moves end with `0-1`"),
    ] {
        let error = text.parse::<AnnotatedGame>().expect_err(&text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn numbers_bytes_order_marks_and_blanks_do_not_matter() {
    let plain = "[Size \"5\"] [Pieces \"1\"] a1-b1 e5-e4 b1-c1 *";
    for text in [
        "\u{feff}[Size \"5\"] [Pieces \"1\"] 1.a1-b1 e5-e4 2.b1-c1 *",
        "[ Size \"5\" ]\r\n[Pieces\t\"1\"]\r\n\r\n1. a1-b1 1... e5-e4\r\n7. b1-c1\r\n*\r\n",
        "[Size \"5\"][Pieces \"1\"]a1-b1\u{3000}e5-e4 b1-c1\n*\n\n",
    ] {
        assert_eq!(parse(text), parse(plain), "{text}");
    }
}

/// Choices of a random line: indices of moves, and alternatives.
#[derive(Clone, Debug)]
struct Plan {
    comments: Vec<String>,
    moves: Vec<(prop::sample::Index, MoveInfo, Vec<String>, Vec<Plan>)>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~\n]{0,90}", "[}{\\\\\"n ]{0,9}", "\\PC{0,12}"]
}

fn info() -> impl Strategy<Value = MoveInfo> {
    let number = any::<f64>().prop_filter("finite", |number| number.is_finite());
    let score = prop_oneof![
        number.prop_map(SearchValue::Lead),
        (-1.0..=1.0).prop_map(SearchValue::Reward),
        any::<u32>().prop_map(SearchValue::Won),
        any::<u32>().prop_map(SearchValue::Lost),
    ];
    let time = prop::option::of((0u64..1 << 40, 0u32..1_000_000_000).prop_map(|(s, ns)| Duration::new(s, ns)));
    let others = prop::collection::btree_map("[a-c]{5,6}[0-9_]", "[!-!#-';=?-Z^-z|~é]{1,9}", 0..3);
    (time, prop::option::of(score), any::<Option<u32>>(), any::<Option<u64>>(), others).prop_map(
        |(time, score, depth, nodes, others)| MoveInfo {
            time,
            score,
            depth,
            nodes,
            others: others.into_iter().collect(),
        },
    )
}

fn plan() -> impl Strategy<Value = Plan> {
    let comments = || prop::collection::vec(text(), 0..2);
    let line = move |variations: BoxedStrategy<Vec<Plan>>, least: usize| {
        let mv = (any::<prop::sample::Index>(), info(), comments(), variations);
        (comments(), prop::collection::vec(mv, least..6)).prop_map(|(comments, moves)| Plan { comments, moves })
    };
    let leaf = line(Just(Vec::new()).boxed(), 1).boxed();
    let inner = line(prop::collection::vec(leaf, 0..2).boxed(), 1).boxed();
    line(prop::collection::vec(inner, 0..2).boxed(), 0)
}

/// Plays a plan as far as the game lasts.
fn realize(rules: &ChineseCheckers, mut state: GameState, plan: &Plan) -> MoveLine {
    let mut line = MoveLine { comments: plan.comments.clone(), moves: Vec::new() };
    for (choice, info, comments, variations) in &plan.moves {
        if state.outcome().is_some() {
            break;
        }
        let mut legal = Vec::new();
        rules.legal(&state, state.player() as usize, &mut legal);
        let action = *choice.get(&legal);
        let variations = variations.iter().map(|plan| realize(rules, state, plan)).collect();
        line.moves.push(AnnotatedMove { action, info: info.clone(), comments: comments.clone(), variations });
        rules.play_action(&mut state, action);
    }
    line
}

fn games() -> impl Strategy<Value = AnnotatedGame> {
    let boards = prop::sample::select(vec![(3, 1), (4, 3), (5, 6), (9, 15), (11, 10)]);
    let tags = prop::collection::vec(("[A-Z][a-z]{5}[0-9_]{0,2}", text()), 0..4);
    (boards, 0u32..60, any::<u64>(), tags, plan(), 1u32..80).prop_map(
        |((size, pieces), plies, seed, tags, plan, more)| {
            let rules = ChineseCheckers::new(Board::new(size, pieces).unwrap(), Filter::All).with_rules(RuleSet::Paper);
            let mut rng = rand::SeedableRng::seed_from_u64(seed);
            let state = rules.random_state(plies, &mut rng).unwrap_or_else(|| rules.initial());
            let rules = rules.with_ply_limit(state.ply() + more);
            // A position does not contain whether the last action was a pass.
            let start = rules.position(&state);
            let line = realize(&rules, rules.state(&start).unwrap(), &plan);
            let mut game = AnnotatedGame { ply_limit: state.ply() + more, line, ..AnnotatedGame::new(start) };
            let mut end = rules.state(&start).unwrap();
            game.line.moves.iter().for_each(|mv| rules.play_action(&mut end, mv.action));
            game.result = end.outcome().or([None, Some(Outcome::Draw), Some(Outcome::Won(Side::O))][seed as usize % 3]);
            tags.into_iter().for_each(|(name, value)| game.set_tag(&name, value));
            game
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_printed_game_is_the_same_game(game in games()) {
        let text = game.to_string();
        let parsed = text.parse::<AnnotatedGame>();
        prop_assert_eq!(parsed.as_ref(), Ok(&game), "{}", text);
    }

    #[test]
    fn a_game_is_the_same_as_json(game in games()) {
        let json = serde_json::to_string(&JsonGame::from(&game)).unwrap();
        let parsed: JsonGame = serde_json::from_str(&json).unwrap();
        // Times of many years are rounded.
        let same = AnnotatedGame::try_from(&parsed).map(|same| JsonGame::from(&same));
        prop_assert_eq!(same, Ok(JsonGame::from(&game)), "{}", json);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", near in prop::collection::vec(prop::sample::select(vec![
        "[", "]", "\"", "Size", "Pieces", "Start", "5", "1", "2o/3/x2 x 0", "{", "}", "(", ")", "<", ">", "=", "depth",
        "a1-b1", "a1-a2", "1.", "...", "*", "1-0", "1/2-1/2", " ", "\n", "\\", "é", "pass", "e5-e4", "score", "-#",
        "18446744073709551616", "[Size \"5\"] [Pieces \"1\"] ", "[Start \"2o/3/x2 x 4294967295\"] ",
        "[PlyLimit \"4294967295\"]",
    ]), 0..24)) {
        let _ = text.parse::<AnnotatedGame>();
        let near = near.concat();
        for text in [near.clone(), format!("[Size \"5\"] [Pieces \"1\"] {near}")] {
            if let Ok(game) = text.parse::<AnnotatedGame>() {
                prop_assert_eq!(game.to_string().parse(), Ok(game));
            }
        }
    }

    #[test]
    fn a_record_that_is_cut_short_is_refused(cut in 0usize..EXAMPLE.len() - 3) {
        prop_assert!(EXAMPLE[..cut].parse::<AnnotatedGame>().is_err());
    }
}

#[test]
fn positions_that_no_record_describes_do_not_print_as_a_start() {
    let board = Board::new(9, 6).unwrap();
    let text = AnnotatedGame::new(Position::initial(board)).to_string();
    assert_eq!(text, "[Result \"*\"]\n[RuleSet \"diamond\"]\n[Size \"9\"]\n[Pieces \"6\"]\n[PlyLimit \"1000\"]\n\n*\n");
}
