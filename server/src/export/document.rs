//! A document of the page as one file.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::page::{PageError, ReadFile, bundle};

/// The places of the other parts of a document: each is on a line of its own.
const CHARSET: &str = r#"<meta charset="utf-8" />"#;
const STYLES: (&str, &str) = (r#"<link rel="stylesheet" href=""#, r#"" />"#);
const SCRIPT: (&str, &str) = (r#"<script type="module" src=""#, r#""></script>"#);

/// The picture of the page.
const PICTURE: &str = "favicon.svg";

/// Returns a document with its styles, its scripts, its picture and data inside. A content security policy allows
/// these alone. The script finds the data as JSON in the element `data`.
///
/// # Errors
/// If a file is missing, or cannot be inside a document.
pub fn inline(path: &str, data: &str, read: ReadFile) -> Result<String, PageError> {
    let document = read(path)?;
    let picture = data_url(&read(PICTURE)?);
    let (mut styles, mut scripts, mut lines) = (String::new(), String::new(), Vec::new());
    for line in document.lines() {
        let found = |(before, after)| line.trim().strip_prefix(before)?.strip_suffix(after);
        lines.push(if let Some(path) = found(STYLES) {
            let style = contained(path, "style", read(path)?)?;
            let _ = write!(styles, " {}", hash(&style));
            format!("<style>{style}</style>")
        } else if let Some(entry) = found(SCRIPT) {
            let script = contained(entry, "script", bundle(entry, read)?)?;
            let _ = write!(scripts, " {}", hash(&script));
            let data = escaped(data);
            format!("<script type=\"application/json\" id=\"data\">{data}</script>\n<script type=\"module\">{script}</script>")
        } else {
            line.replace(&format!("\"{PICTURE}\""), &format!("\"{picture}\""))
        });
    }
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src{scripts}; \
         style-src{styles}; img-src data:; base-uri 'none'; form-action 'none'\" />"
    );
    let at = lines.iter().position(|line| line.trim() == CHARSET);
    let fault = |what: &str| PageError::Content { path: path.to_owned(), line: 1, what: what.to_owned() };
    lines.insert(at.ok_or_else(|| fault("the document declares no character set"))? + 1, policy);
    Ok(lines.join("\n") + "\n")
}

/// Returns a text that is the content of an element, unchanged.
fn contained(path: &str, element: &str, text: String) -> Result<String, PageError> {
    let lower = text.to_ascii_lowercase();
    let marks = ["<!--".to_owned(), format!("</{element}"), "<script".to_owned()];
    match marks.iter().find(|mark| lower.contains(mark.as_str())) {
        None => Ok(text),
        Some(mark) => Err(PageError::Content {
            path: path.to_owned(),
            line: lower.split(mark.as_str()).next().unwrap_or_default().matches('\n').count() + 1,
            what: format!("`{mark}` ends the element of the file"),
        }),
    }
}

/// Returns JSON without `<`, so that no text in it ends its element or begins another one.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Returns the hash of an element for a policy.
fn hash(content: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(content.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| number << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let index = (number >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

/// Returns the address that contains a picture itself.
fn data_url(svg: &str) -> String {
    let mut url = "data:image/svg+xml,".to_owned();
    for byte in svg.trim().bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => url.push(char::from(byte)),
            byte => drop(write!(url, "%{byte:02X}")),
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
  <script type="module" src="a.js"></script>
</head>
"#;

    fn inlined(style: &str, script: &str, data: &str) -> Result<String, PageError> {
        let file = |path: &str| match path {
            "index.html" => Ok(DOCUMENT.to_owned()),
            "favicon.svg" => Ok("<svg a=\"#\"/>\n".to_owned()),
            "a.css" => Ok(style.to_owned()),
            "a.js" => Ok(script.to_owned()),
            _ => Err(PageError::Missing { path: path.to_owned() }),
        };
        inline("index.html", data, &file)
    }

    #[test]
    fn every_part_is_inside() {
        // The hashes are those of `openssl dgst -sha256 -binary | base64`.
        let expected = r#"<head>
  <meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-V6VHKA8b6zCwmyBeSYmW+9DFtAB18oDFt6SzyYcOgI0='; style-src 'sha256-pckGv9YvNcB5xy+Y4fbqhyo+ib850wyiuWeNbZvLi00='; img-src data:; base-uri 'none'; form-action 'none'" />
  <link rel="icon" href="data:image/svg+xml,%3Csvg%20a%3D%22%23%22%2F%3E" />
<style>p { color: red; }</style>
<script type="application/json" id="data">{"a":1}</script>
<script type="module">// a.js
const m0 = (() => {
f();
return {  };
})();
</script>
</head>
"#;
        let found = inlined("p { color: red; }", "f();", "{\"a\":1}").unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn no_text_of_the_data_is_markup() {
        for text in
            ["</script><script>alert(1)</script>", "<!-- <script>", "<![CDATA[", "&lt;/script&gt;", "\u{2028}'\"`"]
        {
            let json = serde_json::to_string(text).unwrap();
            let document = inlined("", "", &json).unwrap();
            let (_, rest) = document.split_once("id=\"data\">").unwrap();
            let (data, rest) = rest.split_once("</script>\n<script type=\"module\">").unwrap();
            assert!(!data.contains('<'));
            assert_eq!(serde_json::from_str::<String>(data).unwrap(), text);
            assert_eq!(rest.matches("<script").count(), 0);
        }
    }

    #[test]
    fn files_that_would_end_their_element_are_refused() {
        let error = |style, script| inlined(style, script, "{}").unwrap_err().to_string();
        assert!(error("p {}\n/* </STYLE */", "").ends_with("a.css, line 2: `</style` ends the element of the file"));
        assert!(error("", "f(\"</script>\");").contains("`</script` ends the element of the file"));
        assert!(error("", "a <!--b;").contains("`<!--` ends the element of the file"));
    }

    #[test]
    fn base64_has_the_length_of_the_standard() {
        // RFC 4648, section 10.
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
