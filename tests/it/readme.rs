//! Runs the examples of the README.

#[test]
fn readme_examples_print_what_the_readme_says() {
    let tables = tempfile::tempdir().unwrap();
    let dir = tables.path().to_str().expect("the path of a temporary directory is text");
    trycmd::TestCases::new()
        .env("STERNHALMA_TABLES", dir)
        .timeout(std::time::Duration::from_secs(300))
        .case("README.md")
        .run();
}
