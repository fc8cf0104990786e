//! The help of the program: groups of commands, examples, and global options where they have an effect.

use std::any::TypeId;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use clap::builder::styling::Style;
use clap::{ColorChoice, Command, ValueEnum, ValueHint};

use crate::args::output::OutputPath;
use crate::output::ColorArg;

/// The commands in groups, in the order of the help.
pub const GROUPS: [(&str, &[&str]); 7] = [
    ("Tables", &["build", "tables", "info", "verify", "convert", "export", "explorer", "compare", "assemble"]),
    ("Look up", &["query", "line", "show", "rank", "unrank"]),
    ("Play", &["play", "serve", "analyse", "export-game", "ugi", "moves", "perft", "players", "tune", "bench"]),
    ("Tournaments", &["match", "tournament"]),
    ("Training", &["datagen", "train"]),
    ("Rulesheets", &["games", "gdl", "policies", "ggp-player", "ggp-match"]),
    ("Program", &["completions", "man", "help"]),
];

/// The commands that read tables.
const TABLE_READERS: &[&str] = &[
    "",
    "info",
    "verify",
    "convert",
    "export",
    "explorer",
    "compare",
    "query",
    "line",
    "play",
    "serve",
    "analyse",
    "export-game",
    "ugi",
    "tune",
    "match",
    "tournament",
    "datagen",
    "train",
    "tournament openings",
];

/// The global options, and the commands in whose help they are shown. All commands accept them.
pub const EFFECTS: [(&str, &[&str]); 6] = [
    ("tables_dir", TABLE_READERS),
    ("tables_dir", &["build", "tables"]),
    ("load_budget", TABLE_READERS),
    (
        "quiet",
        &[
            "",
            "build",
            "tables",
            "verify",
            "convert",
            "explorer",
            "compare",
            "assemble",
            "line",
            "play",
            "serve",
            "analyse",
            "export-game",
            "tune",
            "match",
            "tournament",
            "datagen",
            "train",
            "tournament openings",
            "ggp-player",
            "ggp-match",
        ],
    ),
    (
        "no_progress",
        &[
            "",
            "build",
            "verify",
            "convert",
            "explorer",
            "compare",
            "export-game",
            "tune",
            "match",
            "tournament",
            "datagen",
            "tournament openings",
        ],
    ),
    ("color", &["", "query", "line", "show", "unrank", "moves", "play", "analyse"]),
];

/// Examples: a command, and how it is used.
pub const EXAMPLES: &[(&str, &str)] = &[
    ("build", "sternhalma build"),
    ("build", "sternhalma build --side 7 --pieces 4 --encoding zstd"),
    ("build", "sternhalma build --pieces 10 --within 36 --plan"),
    ("build", "sternhalma build --pieces 9 --encoding zstd --cluster local:2"),
    ("build", "sternhalma build --encoding mod3 --cluster hosts.txt --process 3 --secret-file secret -o table.sht"),
    ("build", "sternhalma build --pieces 10 --encoding ans --cluster hosts.txt --plan"),
    ("tables", "sternhalma tables"),
    ("tables", "sternhalma tables --json"),
    ("info", "sternhalma info 9x9-6"),
    ("info", "sternhalma info 9x9-6 --partitions --json"),
    ("verify", "sternhalma verify 9x9-6"),
    ("verify", "sternhalma verify --deep 9x9-6"),
    ("verify", "sternhalma verify --deep --sample 10_000_000 --seed 7 9x9-6"),
    ("verify", "sternhalma verify --deep table.sht --cluster hosts.txt --process 3 --secret-file secret"),
    ("convert", "sternhalma convert 9x9-6 --encoding zstd -o 9x9-6-zstd.sht"),
    ("export", "sternhalma export 9x9-6 -o distances.bin"),
    ("explorer", "sternhalma explorer site 9x9-6"),
    ("explorer", "sternhalma explorer site 9x9-6 7x7-4 --force"),
    ("compare", "sternhalma compare 9x9-6-within40 9x9-6"),
    ("assemble", "sternhalma assemble table.sht.part-*-of-8 -o table.sht"),
    ("query", "sternhalma query 9x9-6 a1,b1,c1,a2,b2,a3 '#1000'"),
    ("query", "sternhalma query 9x9-6 startpos --player both --board"),
    ("query", "sternhalma query 9x9-6 --stdin --format ndjson < states.txt"),
    ("query", "sternhalma query 9x9-6 --distance 22 --random 5"),
    ("line", "sternhalma line 9x9-6 a1,b1,c1,a2,b2,a3"),
    ("line", "sternhalma line 9x9-6 '#1000' --board"),
    ("show", "sternhalma show startpos"),
    ("show", "sternhalma show '6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0' --labels"),
    ("rank", "sternhalma rank a1,b1,c1,a2,b2,a3"),
    ("rank", "sternhalma rank --stdin --json < states.txt"),
    ("unrank", "sternhalma unrank 1000 2000"),
    ("unrank", "sternhalma unrank 1000 --board"),
    ("play", "sternhalma play"),
    ("play", "sternhalma play --player-x sternhalma --player-o human"),
    ("play", "sternhalma play --pieces 10 --level 3"),
    ("play", "sternhalma play --load game.shg"),
    ("serve", "sternhalma serve --open"),
    ("serve", "sternhalma serve --port 0 --tables ~/tables"),
    ("analyse", "sternhalma analyse startpos --lines 3 --board"),
    ("analyse", "sternhalma analyse --game game.shg --nodes 20k"),
    ("analyse", "sternhalma analyse '6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0' --movetime 2000 --json"),
    ("export-game", "sternhalma export-game game.shg -o game.html"),
    ("export-game", "sternhalma export-game game.shg --player sternhalma --nodes 20_000 -o game.html"),
    ("export-game", "sternhalma export-game match.ndjson --game 7 -o game.html"),
    ("ugi", "sternhalma ugi --player heur0"),
    ("ugi", "sternhalma ugi --compliance './mine --fast'"),
    ("moves", "sternhalma moves --board"),
    ("moves", "sternhalma moves 6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 o --filter forward"),
    ("perft", "sternhalma perft 4 --divide"),
    ("perft", "sternhalma perft 3 startpos --pieces 10"),
    ("bench", "sternhalma bench"),
    ("bench", "sternhalma bench --depth 9 --divide"),
    ("players", "sternhalma players"),
    ("players", "sternhalma players sternhalma"),
    ("tune", "sternhalma tune base0 --only c,threshold --games 100 --trace trace.ndjson"),
    ("match", "sternhalma match heur0 greedy --games 10 --nodes 20k"),
    ("match", "sternhalma match sternhalma 'ugi:./mine --fast' --time 60+0.5 --log games.ndjson"),
    ("match", "sternhalma match heur0,c=0.2 heur0 --sprt 0,20"),
    ("match", "sternhalma match greedy ugi:./mine --games 2 --debug protocol.txt"),
    ("tournament", "sternhalma tournament greedy random base0 --games 10 --nodes 1k"),
    ("tournament", "sternhalma tournament -f tournament.toml --log games.ndjson"),
    ("tournament show", "sternhalma tournament show games.ndjson"),
    ("tournament show", "sternhalma tournament show games.ndjson --game 3"),
    ("tournament show", "sternhalma tournament show games.ndjson --game 3 --record"),
    ("tournament merge", "sternhalma tournament merge part1.ndjson part2.ndjson -o all.ndjson"),
    ("datagen", "sternhalma datagen -o games.bin --positions 1M --nodes 400"),
    ("datagen", "sternhalma datagen -o games10.bin --pieces 10 --rules blocked-goal --seed 2"),
    ("train", "sternhalma train games.bin -o weights.bin"),
    ("train", "sternhalma train games.bin more.bin -o weights.bin --hidden 16 --epochs 20 --seed 3"),
    ("tournament openings", "sternhalma tournament openings --count 200 -o openings.txt"),
    ("tournament openings", "sternhalma tournament openings --pieces 10 --margin 0.1 --fit games.ndjson -o ten.txt"),
    ("tournament rate", "sternhalma tournament rate one.ndjson two.ndjson"),
    ("tournament rate", "sternhalma tournament rate games.ndjson --anchor random=0 --json"),
    ("games", "sternhalma games"),
    ("games", "sternhalma games tic-tac-toe > tic-tac-toe.kif"),
    ("gdl check", "sternhalma gdl check mine.kif"),
    ("gdl show", "sternhalma gdl show tic-tac-toe.kif"),
    ("gdl play", "sternhalma gdl play tic-tac-toe.kif --role o --movetime 500"),
    ("gdl trace", "sternhalma gdl trace tic-tac-toe.kif --seed 3"),
    ("gdl replay", "sternhalma gdl replay tic-tac-toe.kif trace.ndjson --engine lanes"),
    ("gdl bench", "sternhalma gdl bench tic-tac-toe.kif --policy nst"),
    ("gdl strategies", "sternhalma gdl strategies breakthrough.kif --simulations 2000"),
    ("policies", "sternhalma policies"),
    ("policies", "sternhalma policies nst"),
    ("ggp-player", "sternhalma ggp-player --port 9147 --policy nst"),
    ("ggp-match", "sternhalma ggp-match tic-tac-toe.kif localhost:9147 localhost:9148 --play-clock 2"),
    ("completions", "sternhalma completions bash > ~/.local/share/bash-completion/completions/sternhalma"),
    ("completions", "sternhalma completions zsh > ~/.zfunc/_sternhalma"),
    ("man", "sternhalma man | man -l -"),
    ("man", "sternhalma man ~/.local/share/man/man1"),
];

/// Returns the examples of a command.
pub fn examples(path: &str) -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().filter(move |(of, _)| *of == path).map(|(_, line)| *line)
}

/// Completes the description of the program: adds groups and examples, hides global options where they have no effect,
/// lets values be negative numbers, so that their parsers can refuse them, and says which values are paths.
pub fn complete(command: Command) -> Command {
    let template = template(&command);
    let globals: Vec<clap::Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    complete_below(command, &mut Vec::new(), &globals).help_template(template)
}

fn complete_below(command: Command, path: &mut Vec<String>, globals: &[clap::Arg]) -> Command {
    let name = path.join(" ");
    let header = *command.get_styles().get_header();
    let mut command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true => {
            let hint = value_hint(&arg);
            arg.value_hint(hint).allow_negative_numbers(true)
        }
        false => arg,
    });
    if !name.is_empty() {
        let shown = |arg: &clap::Arg| EFFECTS.iter().any(|(id, paths)| arg.get_id() == id && paths.contains(&&*name));
        let hidden: Vec<clap::Arg> =
            globals.iter().filter(|arg| !shown(arg)).map(|arg| arg.clone().hide(true)).collect();
        command = command.args(hidden);
        command = match examples_text(&name, header) {
            text if text.is_empty() => command,
            text => command.after_help(text),
        };
    }
    command.mut_subcommands(|subcommand| {
        path.push(subcommand.get_name().to_owned());
        let completed = complete_below(subcommand, path, globals);
        path.pop();
        completed
    })
}

/// Returns what shells complete as the value of an argument. Without a hint, they split names of files at blanks.
fn value_hint(arg: &clap::Arg) -> ValueHint {
    let names = || arg.get_value_names().into_iter().flatten();
    let parsed = arg.get_value_parser().type_id();
    let is_path = [TypeId::of::<PathBuf>(), TypeId::of::<OutputPath>()].iter().any(|path| parsed == *path);
    if names().any(|name| name == "DIR") {
        ValueHint::DirPath
    } else if is_path || names().any(|name| name.contains("FILE") || name == "HOSTS") {
        ValueHint::FilePath
    } else {
        arg.get_value_hint()
    }
}

fn examples_text(path: &str, header: Style) -> String {
    let lines: Vec<String> = examples(path).map(|line| format!("  {line}")).collect();
    match lines.len() {
        0 => String::new(),
        1 => format!("{header}Example:{header:#}\n{}", lines[0]),
        _ => format!("{header}Examples:{header:#}\n{}", lines.join("\n")),
    }
}

/// Returns the template of the help of the program itself, which lists the commands in groups.
fn template(command: &Command) -> String {
    let (header, literal) = (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{header}{group}:{header:#}\n");
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(command) => command.get_about().map(ToString::to_string).unwrap_or_default(),
                None => "Print the help of a command".to_owned(),
            };
            let _ = writeln!(
                text,
                "  {literal}{name}{literal:#}{}  {about}",
                " ".repeat(12usize.saturating_sub(name.len()))
            );
        }
    }
    text + &format!("\n{header}Global options:{header:#}\n{{options}}{{after-help}}")
}

/// Calls a function for a command and all below it, with their paths.
pub fn visit<'a>(command: &'a Command, visitor: &mut dyn FnMut(&[&'a str], &'a Command)) {
    fn visit_below<'a>(
        path: &mut Vec<&'a str>,
        command: &'a Command,
        visitor: &mut dyn FnMut(&[&'a str], &'a Command),
    ) {
        visitor(path, command);
        for subcommand in command.get_subcommands() {
            path.push(subcommand.get_name());
            visit_below(path, subcommand, visitor);
            path.pop();
        }
    }
    visit_below(&mut Vec::new(), command, visitor);
}

/// Returns the argument of `--color`, which also applies to the help and to errors of usage.
pub fn color_choice(args: impl Iterator<Item = OsString>) -> ColorChoice {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).take_while(|arg| arg != "--").collect();
    let separate = args.iter().skip_while(|arg| *arg != "--color").nth(1).map(String::as_str);
    let joined = args.iter().find_map(|arg| arg.strip_prefix("--color="));
    let color = joined.or(separate).and_then(|color| ColorArg::from_str(color, false).ok());
    color.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_chosen_before_the_arguments_are_parsed() {
        let choice = |words: &str| color_choice(words.split(' ').map(OsString::from));
        assert_eq!(choice("sternhalma --color never help"), ColorChoice::Never);
        assert_eq!(choice("sternhalma query --color=always"), ColorChoice::Always);
        for words in
            ["sternhalma query", "sternhalma --color", "sternhalma --color blue", "sternhalma -- --color never"]
        {
            assert_eq!(choice(words), ColorChoice::Auto, "{words}");
        }
    }
}
