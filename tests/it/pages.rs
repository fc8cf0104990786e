//! The form of the documentation: links, lists of pages, lengths of guides, and sessions that tests run.

use std::fs;
use std::path::{Path, PathBuf};

/// The guide has tasks only, so it stays short; evidence and definitions have their own rooms.
const MAX_GUIDES: usize = 15;
const MAX_WORDS: usize = 1500;

/// Returns the documents in Markdown below a folder, without those that programs made.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let kept = entries.filter(|entry| {
        let name = entry.file_name();
        let made = ["target", "node_modules", "venv"].iter().any(|made| name == *made);
        !made && !name.to_string_lossy().starts_with('.') && !entry.file_type().unwrap().is_symlink()
    });
    let (folders, files): (Vec<_>, Vec<_>) = kept.map(|entry| entry.path()).partition(|path| path.is_dir());
    let documents = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.chain(folders.iter().flat_map(|folder| self::documents(folder))).collect()
}

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn name(path: &Path) -> &str {
    path.strip_prefix(repository()).unwrap().to_str().expect("the path is text")
}

#[test]
fn indexes_list_every_page() {
    let docs = repository().join("docs");
    let lists = ["docs/README.md", "docs/SUMMARY.md"];
    for list in lists {
        let index = fs::read_to_string(repository().join(list)).unwrap();
        for page in documents(&docs).iter().map(|page| name(page)).filter(|page| !lists.contains(page)) {
            let link = format!("]({})", page.strip_prefix("docs/").unwrap());
            assert!(index.contains(&link), "{list} does not list {page}");
        }
    }
}

#[test]
fn guides_are_short() {
    let guides = documents(&repository().join("docs/guide"));
    assert!(guides.len() <= MAX_GUIDES, "docs/guide has {} pages", guides.len());
    for guide in guides {
        let words = fs::read_to_string(&guide).unwrap().split_whitespace().count();
        assert!(words <= MAX_WORDS, "{} has {words} words", name(&guide));
    }
}

/// A session is run unless it is marked with `skip`.
#[test]
fn tests_run_all_sessions() {
    let tests = concat!(include_str!("documents.rs"), include_str!("play.rs"), include_str!("discovery.rs"));
    for page in documents(repository()) {
        let text = fs::read_to_string(&page).unwrap();
        let sessions = text.matches("```console\n").count();
        let skipped = text.matches("<!-- test: skip -->\n\n```console\n").count();
        let run = tests.contains(&format!("(\"{}\")", name(&page)));
        assert!(sessions == skipped || run, "no test runs the sessions of {}", name(&page));
    }
}

#[test]
fn links_lead_somewhere() {
    let pages = documents(repository());
    assert!(pages.len() > 50, "{}", pages.len());
    for page in pages {
        for target in targets(&fs::read_to_string(&page).unwrap()) {
            assert_leads_somewhere(&page, &target);
        }
    }
}

/// Returns the targets of the links and pictures of a document that are within the repository.
fn targets(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let after = |mark: &str, end: char| -> Vec<String> {
        let rests = prose.split(mark).skip(1).filter_map(|rest| rest.split_once(end));
        rests.map(|(target, _)| target.to_owned()).collect()
    };
    let all = [after("](", ')'), after("src=\"", '"'), after("href=\"", '"')].concat();
    all.into_iter().filter(|target| !target.contains("://")).collect()
}

fn assert_leads_somewhere(page: &Path, target: &str) {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.with_file_name(file) };
    assert!(path.exists(), "{}: `{target}` does not exist", name(page));
    if !heading.is_empty() {
        let linked = fs::read_to_string(&path).unwrap();
        assert!(
            linked.lines().filter_map(anchor).any(|anchor| anchor == heading),
            "{}: no heading `{target}`",
            name(page)
        );
    }
}

/// Returns the anchor of a line that is a heading.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    Some(kept.flat_map(char::to_lowercase).map(|character| if character == ' ' { '-' } else { character }).collect())
}
