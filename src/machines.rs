//! TEMP

use crate::failure::Stop;
use chiliad_simulator::description::Description;

/// The machine of this name.
pub fn described(_name: &str, _cores: usize) -> Result<Description, Stop> {
    let mut m = Description::mesh();
    if let Ok(s) = std::env::var("SLACK") {
        m.slack = s.parse().unwrap_or(0);
    }
    Ok(m)
}
