//! Patterns of `LIKE`.

use crate::error::{Result, SqlError};

/// Whether a text matches a pattern, in which `%` stands for any letters and `_` for one.
pub(crate) fn matches(
    text: &str,
    pattern: &str,
    escape: Option<char>,
    insensitive: bool,
) -> Result<bool> {
    let tokens = tokens(pattern, escape, insensitive)?;
    let text: Vec<char> =
        if insensitive { text.to_lowercase().chars().collect() } else { text.chars().collect() };
    // Where to go on after the last `%`: what it has passed grows by one letter each time.
    let (mut at, mut token, mut back) = (0, 0, None);
    loop {
        match tokens.get(token) {
            Some(Token::Any) => {
                back = Some((token + 1, at));
                token += 1;
                continue;
            }
            Some(Token::One) if at < text.len() => {
                (at, token) = (at + 1, token + 1);
                continue;
            }
            Some(Token::Letter(letter)) if text.get(at) == Some(letter) => {
                (at, token) = (at + 1, token + 1);
                continue;
            }
            None if at == text.len() => return Ok(true),
            _ => {}
        }
        match back {
            Some((after, passed)) if passed < text.len() => {
                (token, at) = (after, passed + 1);
                back = Some((after, passed + 1));
            }
            _ => return Ok(false),
        }
    }
}

#[derive(PartialEq)]
enum Token {
    Any,
    One,
    Letter(char),
}

fn tokens(pattern: &str, escape: Option<char>, insensitive: bool) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            it if Some(it) == escape => letters.next().ok_or_else(|| {
                SqlError::new("22025", "LIKE pattern must not end with escape character")
            })?,
            '%' => {
                if tokens.last() != Some(&Token::Any) {
                    tokens.push(Token::Any);
                }
                continue;
            }
            '_' => {
                tokens.push(Token::One);
                continue;
            }
            it => it,
        };
        match insensitive {
            true => tokens.extend(letter.to_lowercase().map(Token::Letter)),
            false => tokens.push(Token::Letter(letter)),
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match() {
        for (text, pattern, expected) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "_b_", true),
            ("abc", "b", false),
            ("abc", "%%b%%", true),
            ("aXbXc", "%X_", true),
            ("", "%", true),
            ("", "_", false),
            ("10%", "10\\%", true),
            ("100", "10\\%", false),
            ("über", "_ber", true),
            ("mississippi", "%iss%ippi", true),
        ] {
            assert_eq!(matches(text, pattern, Some('\\'), false).ok(), Some(expected), "{pattern}");
        }
        assert_eq!(matches("ABC", "a%", Some('\\'), true).ok(), Some(true));
        assert!(matches("a", "\\", Some('\\'), false).is_err());
        let long = "a".repeat(10_000);
        assert_eq!(matches(&long, "%a%a%a%b", None, false).ok(), Some(false));
    }
}
