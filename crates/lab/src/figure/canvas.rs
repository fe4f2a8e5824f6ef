//! The drawing area of charts and their legends, and its pens.

use plotters::coord::Shift;
use plotters::prelude::*;

/// The width of a picture.
pub const WIDTH: u32 = 640;

/// Ink.
pub const INK: RGBColor = RGBColor(0x2b, 0x2b, 0x2b);

/// The drawing area of a chart.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// How drawing fails; onto a string it does not.
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A series' name and colour, and its marker or, for the paper's, its dashes.
#[derive(Clone)]
pub struct Look {
    /// The name.
    pub name: String,
    /// The colour.
    pub colour: RGBColor,
    /// Which marker.
    pub marker: Option<usize>,
    /// The length of its dashes, in pixels.
    pub dash: i32,
}
