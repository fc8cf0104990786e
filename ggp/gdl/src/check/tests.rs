use super::*;

/// A valid game of one step.
const GAME: &str = "(role a) (init on) (legal a go) (next off) (<= terminal (true off)) (goal a 100)\n";

/// Returns the findings about a text, except that most cases have names that no rule reads.
fn found(text: &str) -> Vec<(Severity, Code, Option<Place>)> {
    let findings = check(text, &CheckOptions::default());
    let others = findings.into_iter().filter(|finding| finding.code != Code::Unused);
    others.map(|finding| (finding.severity, finding.code, finding.place)).collect()
}

/// Returns the findings about a statement that follows a valid game on the
/// second line.
fn in_game(statement: &str) -> Vec<(Severity, Code, u32)> {
    let placed = found(&format!("{GAME}{statement}")).into_iter();
    placed.map(|(severity, code, place)| (severity, code, place.map_or(0, |place| place.column))).collect()
}

#[test]
fn a_valid_game_has_no_findings() {
    assert_eq!(found(GAME), []);
    assert_eq!(found(&GAME.to_uppercase()), []);
}

#[test]
fn each_error_has_its_code_and_column() {
    let cases = [
        ("(p ?x)", Code::FactVariable, 1),
        ("((p) a)", Code::Statement, 2),
        ("(?x a)", Code::Statement, 1),
        ("(<=)", Code::Statement, 1),
        ("(<= (p a))", Code::EmptyBody, 1),
        ("(not (role a))", Code::MisplacedKeyword, 1),
        ("(<= p (not (distinct a b)))", Code::MisplacedKeyword, 12),
        ("(<= p (role (or a b)))", Code::MisplacedKeyword, 13),
        ("(<= p (or))", Code::EmptyDisjunction, 7),
        ("(<= p (distinct a))", Code::KeywordArity, 7),
        ("(<= p (true on off))", Code::KeywordArity, 7),
        ("(<= p (not (role a) (role a)))", Code::KeywordArity, 7),
        ("(<= (p ?x) (not (role ?x)))", Code::Unsafe, 1),
        ("(<= p (role ?x) (distinct ?x ?y))", Code::Unsafe, 1),
        ("(<= (p ?x) (or (role ?x) (role a)))", Code::Unsafe, 1),
        ("(<= p (not q)) (<= q p)", Code::Unstratified, 12),
        ("(<= p (role a) (or (not p) (role a)))", Code::Unstratified, 25),
        ("(<= (true on) (role a))", Code::ReservedHead, 1),
        ("(<= p (init on))", Code::ReservedBody, 7),
        ("(<= (base on) (true on))", Code::Dependence, 15),
        ("(<= (legal a go) (does a go))", Code::Dependence, 18),
        ("(<= (role b) (true on))", Code::Role, 1),
        ("(goal a 101)", Code::GoalValue, 1),
        ("(goal a all)", Code::GoalValue, 1),
        ("(p a) (p a b)", Code::SentenceArity, 7),
        ("(p (f a)) (q (f a b))", Code::FunctionArity, 14),
        ("(<= (p a) (p)) (<= q p (role a)) (q)", Code::SentenceArity, 11),
    ];
    for (statement, code, column) in cases {
        let found = in_game(statement);
        assert!(found.contains(&(Severity::Error, code, column)), "{statement}: {found:?}");
    }
}

#[test]
fn recursion_is_restricted() {
    let good = "(n a) (s a b) (<= (n ?y) (n ?x) (s ?x ?y)) (<= (m (f ?x) ?y) (m ?x ?y) (n ?x))(m a a)";
    assert_eq!(in_game(good), []);
    let bad = in_game("(n a) (<= (n (f ?x)) (n ?x))");
    assert_eq!(bad, [(Severity::Error, Code::Recursion, 22)]);
    let through = in_game("(n a) (<= (n ?x) (m (f ?x))) (<= (m ?x) (n ?x))");
    assert_eq!(through, [(Severity::Error, Code::Recursion, 18)]);
}

#[test]
fn warnings_leave_a_game_valid() {
    let cases = [
        ("(<= p (base on)) (base on)", Code::ReservedBody),
        ("(<= p missing)", Code::Undefined),
        ("(<= p (true missing))", Code::UndefinedFluent),
        ("(<= (role a) (role a))", Code::Role),
        ("(<= p (q)) (q)", Code::EmptyArguments),
        ("(p (role a))", Code::KeywordAsTerm),
    ];
    for (statement, code) in cases {
        let found = in_game(statement);
        assert_eq!(found.len(), 1, "{statement}: {found:?}");
        assert_eq!((found[0].0, found[0].1), (Severity::Warning, code), "{statement}");
    }
}

#[test]
fn findings_suggest_the_most_similar_name() {
    let cases = [
        ("(<= p (tru on))", "Nothing defines tru, so it never holds. Did you mean `true`?"),
        ("(<= p (xyzzy on))", "Nothing defines xyzzy, so it never holds."),
        ("(cell a) (<= (p ?row) (cell ?rwo))", "No positive literal of the body binds ?row. Did you mean `?rwo`?"),
    ];
    for (statement, message) in cases {
        let findings = check(&format!("{GAME}{statement}"), &CheckOptions::default());
        assert!(findings.iter().any(|finding| finding.message == message), "{statement}: {findings:?}");
    }
    let names = "(<= p (true offf)) (<= (legall a go) p) (init (mark 1)) (<= (next (mark 2)) (true (mrak 1)))";
    let findings = check(&format!("{GAME}{names}"), &CheckOptions::default());
    let findings: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert_eq!(
        findings,
        [
            "1:10: warning[unused]: No rule reads the fluent on.",
            "2:7: warning[undefined-fluent]: No `init` or `next` makes the fluent offf, so it never holds. Did you mean \
             `off`?",
            "2:24: warning[unused]: No rule reads the relation legall. Did you mean `legal`?",
            "2:47: warning[unused]: No rule reads the fluent mark. Did you mean `mrak`?",
            "2:83: warning[undefined-fluent]: No `init` or `next` makes the fluent mrak, so it never holds. Did you mean \
             `mark`?",
        ]
    );
    let misspelt = check(&GAME.replace("terminal", "terminl"), &CheckOptions::default());
    assert!(misspelt.iter().any(|found| found.message == "Nothing defines `terminal`. Did you mean `terminl`?"));
}

#[test]
fn variables_that_occur_once_beside_a_similar_one_are_reported() {
    let messages = |rules: &str| -> Vec<String> {
        let text = format!("{GAME}(square a) (owner a a) {rules}");
        let findings = check(&text, &CheckOptions::default()).into_iter();
        findings.filter(|finding| finding.code == Code::LoneVariable).map(|finding| finding.to_string()).collect()
    };
    let misspelt = "(<= (mine ?player) (owner ?square ?player)\n (square ?sqaure)) (<= (all ?square) (square ?square))";
    assert_eq!(
        messages(misspelt),
        ["3:2: warning[lone-variable]: The variable ?sqaure occurs only here. Did you mean `?square`?"]
    );
    // The place of a nested term is that of its function.
    assert_eq!(
        messages("(<= (p ?player) (owner ?player ?player) (square (at a ?plyer)))"),
        ["2:72: warning[lone-variable]: The variable ?plyer occurs only here. Did you mean `?player`?"]
    );
    for meant in [
        "(<= (p ?row1) (owner ?row1 ?row1) (square ?row2))",
        "(<= (p ?x) (owner ?x ?x) (square ?y))",
        "(<= (p ?row) (owner ?row ?row) (square ?rowbefore))",
        "(<= (p ?square) (owner ?square ?anyone))",
        "(<= (p ?square) (owner ?square ?sqaure)) (<= (q ?sqaure) (square ?sqaure))",
    ] {
        assert_eq!(messages(meant), [""; 0], "{meant}");
    }
}

#[test]
fn a_rulesheet_to_play_has_no_errors() {
    let options = CheckOptions::before_play();
    let (sheet, warnings) = Rulesheet::parse_valid(&format!("{GAME}(<= p missing)"), &options).unwrap();
    assert!(sheet.rules().is_ok());
    assert!(warnings.iter().any(|warning| warning.code == Code::Undefined), "{warnings:?}");
    let error = |text: &str| Rulesheet::parse_valid(text, &options).unwrap_err().to_string();
    assert_eq!(
        error(&format!("{GAME}(p ?x)\n(q ?y) (goal a 101)")),
        "2:1: error[fact-variable]: The fact contains the variable ?x: expected constants only. There are 2 more errors."
    );
    assert!(error(&format!("{GAME})")).starts_with("2:1: error[syntax]: "), "{}", error(&format!("{GAME})")));
    assert!(error(&GAME.replace("(legal a go)", "(<= (legal a go) (true off))")).contains("error[no-legal-move]"));
}

#[test]
fn lenient_checks_make_arities_warnings() {
    let text = format!("{GAME}(p a) (p a b) (<= (q a)) (r (f a)) (r (f a b))");
    let lenient = CheckOptions { lenient: true, ..CheckOptions::default() };
    let severities = |options: &CheckOptions| {
        let findings = check(&text, options).into_iter().filter(|finding| finding.code != Code::Unused);
        findings.map(|found| found.severity).collect::<Vec<_>>()
    };
    assert_eq!(severities(&CheckOptions::default()), [Severity::Error; 3]);
    assert_eq!(severities(&lenient), [Severity::Warning; 3]);
}

#[test]
fn a_text_without_a_game_is_an_error_unless_it_is_a_fragment() {
    for text in ["", "; nothing", "hello world", "(hello world)", "(<= (p ?x) (q ?x)) (q a)"] {
        assert_eq!(found(text), [(Severity::Error, Code::NoGame, None)], "{text}");
        let fragment = CheckOptions { fragment: true, ..CheckOptions::default() };
        assert_eq!(check(text, &fragment), [], "{text}");
    }
}

#[test]
fn negation_that_no_ground_atom_returns_to_is_a_warning() {
    let rest = "(role a) (role b) (init on) (legal a go) (legal b go) (<= terminal (true off)) (next off)";
    let rule = "(<= (goal ?p 0) (role ?p) (not (goal ?p 100)))";
    let stratified = found(&format!("{rest} (goal a 100) {rule}"));
    assert_eq!(
        stratified.iter().map(|found| (found.0, found.1)).collect::<Vec<_>>(),
        [(Severity::Warning, Code::Unstratified)]
    );
    let cyclic = found(&format!("{rest} {rule} (<= (goal ?p 100) (role ?p) (not (goal ?p 0)))"));
    assert_eq!(cyclic[0].0, Severity::Error);
}

#[test]
fn other_relations_of_the_names_base_and_input_are_warnings() {
    let text = format!("{GAME}(base 1 2) (<= (input ?x) (true ?x))");
    let severities: Vec<_> = found(&text).iter().map(|found| (found.0, found.1)).collect();
    assert_eq!(severities, [(Severity::Warning, Code::KeywordArity); 2]);
}

#[test]
fn lenient_checks_accept_what_the_prover_plays() {
    let lenient = CheckOptions { lenient: true, ..CheckOptions::default() };
    for statement in ["(<= (role b) (true on))", "(goal a 101)", "(<= (base on) (true on))", "(<= p (init on))"] {
        let findings = check(&format!("{GAME}{statement}"), &lenient);
        assert!(!findings.is_empty(), "{statement}");
        assert!(findings.iter().all(|found| found.severity == Severity::Warning), "{statement}: {findings:?}");
    }
    let stuck = check(&GAME.replace("(legal a go)", "(<= (legal a go) (true off))"), &lenient);
    assert!(stuck.iter().any(|found| found.severity == Severity::Error), "{stuck:?}");
}

#[test]
fn missing_relations_are_reported() {
    let missing =
        |text: &str| found(text).iter().filter(|found| found.1 == Code::Missing).map(|found| found.0).collect();
    let all: Vec<Severity> = missing("(role a)");
    assert_eq!(all, [[Severity::Error; 3].to_vec(), [Severity::Warning; 2].to_vec()].concat());
}

#[test]
fn random_play_finds_dynamic_errors() {
    let cases = [
        ("(<= (legal a go) (true on)) (<= terminal (true no))", Code::NoLegalMove),
        ("(legal a go) (<= terminal (true on)) (<= (goal a 1) (true off))", Code::NoGoal),
        ("(legal a go) (<= terminal (true on)) (goal a 1) (goal a 2)", Code::SeveralGoals),
        ("(legal a go) (<= terminal (true on)) (n x) (<= (goal a ?x) (n ?x))", Code::GoalValue),
    ];
    for (rest, code) in cases {
        let text = format!("(role a) (init on) (next off) (goal a 0) {rest}");
        let text = if code == Code::NoLegalMove { text } else { text.replace(" (goal a 0)", "") };
        let found: Vec<_> = found(&text).into_iter().filter(|found| found.0 == Severity::Error).collect();
        // The first rule of the moves or of the goals.
        let relation = if code == Code::NoLegalMove { "legal" } else { "goal" };
        let rule = text.find(&format!("(<= ({relation}")).or(text.find(&format!("({relation}")));
        let column = rule.unwrap() as u32 + 1;
        assert_eq!(found, [(Severity::Error, code, Some(Place { line: 1, column }))], "{text}");
    }
    // A role without rules of goals has the place of the role.
    let none = check("(role a) (role b) (legal a go) (legal b go) terminal (goal a 1)", &CheckOptions::default());
    let none: Vec<String> = none.iter().filter(|found| found.code == Code::NoGoal).map(Finding::to_string).collect();
    assert_eq!(
        none,
        [
            "1:10: error[no-goal]: b has no goal, which counts as 0, in a terminal state: the empty one. No rule of `goal` is for this role."
        ]
    );
    let endless = found("(role a) (init on) (next on) (legal a go) (<= terminal (true off)) (goal a 1)");
    let endless: Vec<Code> = endless.into_iter().map(|finding| finding.1).collect();
    assert_eq!(endless, [Code::UndefinedFluent, Code::NotPlayed]);
}

/// Equality of terms disregards their places, so a term of the head restricts
/// the same term of the body.
#[test]
fn recursion_through_a_term_of_the_head_is_restricted() {
    let path = "(step 1 2) (path (sq 1) 1) (<= (path (sq ?x) ?y) (path (sq ?x) ?z) (step ?z ?y))";
    assert_eq!(in_game(path), []);
    let grows = "(step 1 2) (path (sq 1) 1) (<= (path (sq ?x) ?y) (path (sq (sq ?x)) ?z) (step ?z ?y))";
    assert!(in_game(grows).iter().any(|&(severity, code, _)| (severity, code) == (Severity::Error, Code::Recursion)));
}

#[test]
fn recursion_must_be_restricted_in_all_branches_of_a_disjunction() {
    let with = |condition: &str| {
        let findings = in_game(&format!("(q z) (num z) r (<= (num (s ?y)) (num ?y) {condition})"));
        findings.iter().any(|&(_, code, _)| code == Code::Recursion)
    };
    assert!(with("(or (q ?y) r)"));
    assert!(with("(or (q ?y) (num (s ?y)))"));
    assert!(!with("(or (q ?y) (q ?y))"));
    assert!(!with("(q ?y) (or (q ?y) r)"));
}

/// Returns `count` words: `prefix0 prefix1 …`.
fn words(prefix: &str, count: usize) -> String {
    (0..count).map(|n| format!(" {prefix}{n}")).collect()
}

/// A rule beyond a bound is refused when it is read, so all engines refuse it at the same place.
#[test]
fn rules_beyond_the_bounds_are_errors_with_their_place() {
    let literals = |count| format!("(<= p{})", " (true on)".repeat(count));
    let variables = |count| {
        let literals: String = (0..count).map(|n| format!(" (true ?x{n})")).collect();
        format!("(<= p{literals})")
    };
    let or = " (or (true on) (true off))";
    let alternatives = |count| format!("(<= p{})", or.repeat(count));
    let head = |count| format!("(<= (w{}) (role a))", words("v", count));
    let body = |count| format!("(v a) (<= q (w{}))", words("v", count));
    let cases = [
        (literals(256), literals(257), 1),
        (literals(256), literals(100_000), 1),
        (format!("(<= p (or{}))", " (true on)".repeat(1_000)), literals(257), 1),
        (variables(128), variables(129), 1),
        (alternatives(10), alternatives(11), 1),
        (alternatives(10), alternatives(5_000), 1),
        (head(64), head(65), 5),
        (body(64), body(65), 13),
    ];
    for (within, beyond, column) in cases {
        assert!(in_game(&within).iter().all(|finding| finding.1 == Code::Undefined), "{:?}", in_game(&within));
        let bound = (Severity::Error, Code::Bound, column);
        assert!(in_game(&beyond).contains(&bound), "{:?}", in_game(&beyond));
        let error = Rules::parse(&format!("{GAME}{beyond}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("2:{column}: error[bound]: ")), "{error}");
    }
}

/// A rulesheet that neither the prover nor a network can play is not valid, unless they only need
/// more memory or time than the check has.
#[test]
fn a_rulesheet_that_every_engine_refuses_is_an_error() {
    let long = "x".repeat(70_000);
    let text = format!("(role a) (init (f {long})) (legal a go) (next off) (<= terminal (true off)) (goal a 100)");
    assert_eq!(found(&text), [(Severity::Error, Code::Refused, None)]);
    let lenient = check(&text, &CheckOptions { lenient: true, ..CheckOptions::default() });
    assert!(has_error(&lenient), "{lenient:?}");
    // The prover nests 1,500 calls only; a network has no such bound.
    let deep: String = (0..2_000).map(|n| format!("(<= p{} p{n})", n + 1)).collect();
    let deep = format!("{deep} (<= p0 (true on)) (<= (legal a stay) p2000)");
    assert_eq!(in_game(&deep), [(Severity::Warning, Code::NotPlayed, 0)]);
    let slow = CheckOptions { rows: 1, ..CheckOptions::default() };
    let pairs = format!("{GAME}(d 1) (d 2) (<= (legal a stay) (d ?x) (d ?y) (distinct ?x ?y))");
    let slow: Vec<Code> = check(&pairs, &slow).iter().map(|finding| finding.code).collect();
    assert!(slow.contains(&Code::NotPlayed), "{slow:?}");
}
