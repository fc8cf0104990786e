#!/usr/bin/env python3
"""Tests of `.ci/imports`: small source trees, each with one fault or none."""

import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "imports")


def check(files: Mapping[str, str], crate: str = "data") -> tuple[int, str]:
    """Runs the check on a tree of files below `CRATE/src` (or of `../` paths); returns its exit code and output."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            path = os.path.join(root, crate, "src", path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            manifest = os.path.join(root, crate, "Cargo.toml")
            with open(manifest, "w") as file:
                file.write(f'[package]\nname = "sternhalma-{crate}"\n')
        run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr


class Imports(unittest.TestCase):
    def passes(self, files: Mapping[str, str], crate: str = "data") -> None:
        code, output = check(files, crate)
        self.assertEqual(code, 0, output)

    def fails(self, files: Mapping[str, str], *words: str, crate: str = "data") -> None:
        code, output = check(files, crate)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_a_tree_without_cycles_passes(self) -> None:
        self.passes(
            {
                "lib.rs": "mod a;\nmod b;\npub use a::A;",
                "a.rs": "pub struct A;",
                "b.rs": "use crate::A;\npub fn b(_: A) {}",
            }
        )

    def test_a_cycle_of_two_files_is_found_with_its_names(self) -> None:
        self.fails(
            {
                "lib.rs": "mod a;\nmod b;",
                "a.rs": "use crate::b::B;\npub struct A;",
                "b.rs": "use super::a::{self, A};\npub struct B;",
            },
            "cycle of 2 files: a.rs, b.rs",
            "a.rs -> b.rs: B (line 1)",
            "b.rs -> a.rs: A (line 1)",
        )

    def test_inline_paths_count(self) -> None:
        self.fails(
            {
                "lib.rs": "mod a;\nmod b;",
                "a.rs": "pub fn a() { crate::b::b() }",
                "b.rs": "use crate::a;\npub fn b() { a::a() }",
            },
            "a.rs, b.rs",
        )

    def test_a_reexport_leads_to_the_defining_file(self) -> None:
        self.fails(
            {
                "lib.rs": "mod a;\nmod b;\npub use b::B as C;",
                "a.rs": "use crate::C;\npub struct A;",
                "b.rs": "use crate::a::A;\npub struct B(A);",
            },
            "a.rs -> b.rs: B",
        )

    def test_globs_count_by_the_names_used(self) -> None:
        tree = {"lib.rs": "mod a;\nmod b;", "b.rs": "use crate::a::A;\npub struct B(A);"}
        self.fails(tree | {"a.rs": "use crate::b::*;\npub struct A(Option<B>);"}, "a.rs -> b.rs: B")
        self.passes(tree | {"a.rs": "use crate::b::*;\npub struct A;"})

    def test_a_parent_that_only_reexports_does_not_import(self) -> None:
        tree = {"lib.rs": "mod a;", "a/child.rs": "use super::Shared;\npub struct Child(Shared);"}
        self.passes(tree | {"a/mod.rs": "mod child;\npub use child::Child;\npub struct Shared;"})
        self.fails(
            tree | {"a/mod.rs": "mod child;\npub use child::Child;\npub struct Shared;\npub fn f(_: Child) {}"},
            "a/child.rs -> a/mod.rs: Shared",
            "a/mod.rs -> a/child.rs: Child",
        )

    def test_folders_beside_each_other(self) -> None:
        self.fails(
            {
                "lib.rs": "mod p;\nmod q;",
                "p/mod.rs": "pub mod x;\npub mod y;",
                "q/mod.rs": "pub mod x;\npub mod y;",
                "p/x.rs": "use crate::q::x::Q;",
                "q/x.rs": "pub struct Q;",
                "q/y.rs": "use crate::p::y::P;",
                "p/y.rs": "pub struct P;",
            },
            "cycle of 2 entries of src: p, q",
        )

    def test_test_code_comments_and_strings_do_not_count(self) -> None:
        self.passes(
            {
                "lib.rs": "mod a;\nmod b;",
                "b.rs": "use crate::a::A;\npub struct B(A);",
                "a.rs": 'pub struct A;\n// use crate::b::B;\n/* crate::b::B */\nconst T: &str = "crate::b::B";\n'
                "const C: char = '\\'';\n"
                "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n#[cfg(test)]\nfn f() { crate::b::b() }",
            }
        )

    def test_layers_have_a_direction(self) -> None:
        self.fails(
            {"lib.rs": "mod rules;\nmod players;", "rules.rs": "use crate::players::P;", "players.rs": "pub struct P;"},
            "rules.rs -> players.rs runs up",
            crate="engine",
        )
        self.fails(
            {"lib.rs": "mod stray;\nmod rules;", "rules.rs": "pub struct R;", "stray.rs": "use crate::rules::R;"},
            "stands in no line of LAYERS",
            crate="engine",
        )

    def test_texts_of_libraries_name_no_option(self) -> None:
        for text in [
            'fn f() { g("one,\\n --work-dir") }',
            '#[error("raise --work-dir")]\nstruct E;',
            'const T: &str = r#"a "--work-dir""#;',
            'fn f() { m!(b"--work-dir") }',
        ]:
            self.fails({"lib.rs": text}, "data/src/lib.rs, text of line 1: names the option --work-dir")
            self.passes({"main.rs": text}, crate=".")
        comments = '//! Use `--fresh`.\n/// `--fresh`\nfn f() { g("a -- b", x-- - y) }\n'
        tests = '#[cfg(test)]\nmod tests {\n    const T: &str = "--fresh";\n}'
        self.passes({"lib.rs": comments + tests})


unittest.main()
