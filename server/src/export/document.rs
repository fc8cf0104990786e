//! A document of the page as one file.

use std::collections::BTreeMap;
use std::fmt::Write;

use axum::body::Bytes;
use sha2::{Digest, Sha256};

use crate::page::{PageError, content_type};

/// The places of the other parts of a document: each is on a line of its own.
const CHARSET: &str = r#"<meta charset="utf-8" />"#;
const STYLES: (&str, &str) = (r#"<link rel="stylesheet" href=""#, r#"" />"#);
const SCRIPT: (&str, &str) = (r#"<script type="module" src=""#, r#""></script>"#);

/// The picture of the page.
const PICTURE: &str = "favicon.svg";

/// The begin of the address of another module of the folder `js`, and its end.
const IMPORT: (&str, &str) = (" from \"./", "\";");

/// Returns the text of a file of the page.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, PageError>;

/// Returns a document with its styles, its modules, its picture and data inside. The script finds the data as JSON in
/// the element `data`.
///
/// Files become `data:` addresses, and an import map contains those of the modules. The content security policy allows
/// the scripts and styles that have a nonce, and the modules that such scripts import. The nonce is the hash of the
/// data, so no text in the data contains it.
///
/// # Errors
/// If a file is missing.
pub fn inline(path: &str, data: &str, read: ReadFile) -> Result<String, PageError> {
    let data = escaped(data);
    let nonce = format!("{:x}", Bytes::from_owner(Sha256::digest(&data)));
    let picture = data_url(PICTURE, &read(PICTURE)?);
    let mut document = String::new();
    for line in read(path)?.lines() {
        let named = |(before, after)| line.trim().strip_prefix(before)?.strip_suffix(after);
        let line = if line.trim() == CHARSET {
            format!(
                "{line}\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                 script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; \
                 form-action 'none'\" />"
            )
        } else if let Some(style) = named(STYLES) {
            let url = data_url(style, &read(style)?);
            format!("<link rel=\"stylesheet\" nonce=\"{nonce}\" href=\"{url}\" />")
        } else if let Some(entry) = named(SCRIPT) {
            let mut modules = BTreeMap::new();
            collect(entry, read, &mut modules)?;
            let map = serde_json::json!({ "imports": modules });
            format!(
                "<script type=\"application/json\" id=\"data\">{data}</script>\n\
                 <script type=\"importmap\" nonce=\"{nonce}\">{map}</script>\n\
                 <script type=\"module\" nonce=\"{nonce}\">import \"{entry}\";</script>"
            )
        } else {
            line.replace(&format!("\"{PICTURE}\""), &format!("\"{picture}\""))
        };
        document += &line;
        document.push('\n');
    }
    Ok(document)
}

/// Adds a module and all that it imports to an import map. Addresses that begin with `./` have no meaning in a `data:`
/// address, so modules import each other by the paths of their files.
fn collect(path: &str, read: ReadFile, modules: &mut BTreeMap<String, String>) -> Result<(), PageError> {
    if modules.contains_key(path) {
        return Ok(());
    }
    let text = read(path)?;
    let code = text.replace(IMPORT.0, " from \"js/");
    modules.insert(path.to_owned(), data_url(path, &code));
    let mut names = text.split(IMPORT.0).skip(1).filter_map(|rest| rest.split_once(IMPORT.1));
    names.try_for_each(|(name, _)| collect(&format!("js/{name}"), read, modules))
}

/// Returns JSON without `<`, so that no text in it ends its element or begins another one.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Returns the address that contains a file itself. It needs no escapes in attributes, JSON and scripts.
fn data_url(path: &str, text: &str) -> String {
    let mut url = format!("data:{},", content_type(path));
    for byte in text.trim().bytes() {
        match byte {
            b'"' | b'#' | b'%' | b'&' | b'<' | b'>' | b'\\' => drop(write!(url, "%{byte:02X}")),
            b' '..=b'~' => url.push(char::from(byte)),
            _ => drop(write!(url, "%{byte:02X}")),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"<head>
  <meta charset="utf-8" />
  <link rel="icon" href="favicon.svg" />
  <link rel="stylesheet" href="a.css" />
  <script type="module" src="js/a.js"></script>
</head>
"#;

    fn inlined(data: &str) -> Result<String, PageError> {
        let file = |path: &str| match path {
            "index.html" => Ok(DOCUMENT.to_owned()),
            "favicon.svg" => Ok("<svg a=\"#\"/>\n".to_owned()),
            "a.css" => Ok("p { width: 5%; }".to_owned()),
            "js/a.js" => Ok("import { b } from \"./b.js\";\nb(\"</script>\");\n".to_owned()),
            "js/b.js" => Ok("import { a } from \"./a.js\";\nexport const b = a;\n".to_owned()),
            _ => Err(PageError { path: path.to_owned() }),
        };
        inline("index.html", data, &file)
    }

    #[test]
    fn every_part_is_inside() {
        // The nonce is that of `sha256sum`.
        let nonce = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";
        let expected = r#"<head>
  <meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-NONCE'; style-src 'nonce-NONCE'; img-src data:; base-uri 'none'; form-action 'none'" />
  <link rel="icon" href="data:image/svg+xml,%3Csvg a=%22%23%22/%3E" />
<link rel="stylesheet" nonce="NONCE" href="data:text/css; charset=utf-8,p { width: 5%25; }" />
<script type="application/json" id="data">{"a":1}</script>
<script type="importmap" nonce="NONCE">{"imports":{"js/a.js":"data:text/javascript; charset=utf-8,import { b } from %22js/b.js%22;%0Ab(%22%3C/script%3E%22);","js/b.js":"data:text/javascript; charset=utf-8,import { a } from %22js/a.js%22;%0Aexport const b = a;"}}</script>
<script type="module" nonce="NONCE">import "js/a.js";</script>
</head>
"#;
        assert_eq!(inlined("{\"a\":1}").unwrap(), expected.replace("NONCE", nonce));
    }

    #[test]
    fn no_text_of_the_data_is_markup() {
        for text in
            ["</script><script>alert(1)</script>", "<!-- <script>", "<![CDATA[", "&lt;/script&gt;", "\u{2028}'\"`"]
        {
            let json = serde_json::to_string(text).unwrap();
            let document = inlined(&json).unwrap();
            let (_, rest) = document.split_once("id=\"data\">").unwrap();
            let (data, rest) = rest.split_once("</script>\n<script type=\"importmap\"").unwrap();
            assert!(!data.contains('<'));
            assert_eq!(serde_json::from_str::<String>(data).unwrap(), text);
            assert_eq!(rest.matches("<script").count(), 1);
        }
    }

    #[test]
    fn every_document_has_a_nonce_of_its_own() {
        let nonce = |data| {
            let document = inlined(data).unwrap();
            document.split_once("'nonce-").unwrap().1.split_once('\'').unwrap().0.to_owned()
        };
        assert_eq!(nonce("{}"), nonce("{}"));
        assert_ne!(nonce("{}"), nonce("[]"));
    }
}
