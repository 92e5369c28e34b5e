//! The CSV, read back the way a spreadsheet reads it.

use cardproof::report::Format;

use crate::sample::{agents, report, HOSTILE};

#[test]
fn a_cell_holds_what_was_found_and_is_never_a_formula() {
    let text = report(Format::Csv);
    assert_eq!(text.matches("\r\n").count(), agents().len() + 1, "a line per agent and one for the names");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| rows[row][names.iter().position(|column| column == name).unwrap()].to_owned();
    assert_eq!(cell(0, "match"), "true");
    assert_eq!(cell(1, "transitions"), "match_to_mismatch");
    assert_eq!(cell(2, "match"), "", "undecided is neither true nor false");
    assert_eq!(cell(3, "status"), "revoked");
    let seen = HOSTILE.replace(['\u{1b}', '\u{202e}', '\n'], "\u{fffd}");
    assert_eq!(cell(5, "agent_uri"), format!("'{seen}"), "quotes survive, the formula and what cannot be seen do not");
    let unseen = |c: char| c.is_control() && !matches!(c, '\r' | '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(unseen) && text.lines().count() == agents().len() + 1);
    assert_eq!(cell(6, "token_id"), "18446744073709551615");
    for row in &rows {
        for cell in row {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']), "{cell}");
        }
    }
}
