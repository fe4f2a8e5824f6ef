//! The legend of a chart: above it, in as many rows as it needs, and the markers.

use super::canvas::{Area, Drawn, INK, Look, WIDTH};
use plotters::element::{DynElement, IntoDynElement};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const ROW_HEIGHT: u32 = 22;
const LEFT: i32 = 16;

/// Where each entry begins, and the number of rows.
fn places(looks: &[Look]) -> (Vec<(i32, i32)>, u32) {
    let (mut x, mut row) = (LEFT, 0);
    let mut places = Vec::new();
    for look in looks {
        // Wide letters, so that entries never touch.
        let width = 34 + look.name.chars().count() as i32 * 9;
        if x > LEFT && x + width > WIDTH as i32 {
            (x, row) = (LEFT, row + 1);
        }
        places.push((x, row));
        x += width;
    }
    (places, if looks.is_empty() { 0 } else { row as u32 + 1 })
}

/// The height of a legend.
pub fn height(looks: &[Look]) -> u32 {
    places(looks).1 * ROW_HEIGHT
}

/// Draws a legend.
pub fn draw(area: &Area<'_>, looks: &[Look]) -> Drawn {
    for (look, (x, row)) in looks.iter().zip(places(looks).0) {
        let middle = row * ROW_HEIGHT as i32 + ROW_HEIGHT as i32 / 2;
        match look.marker {
            Some(kind) => {
                area.draw(&(EmptyElement::at((x + 6, middle)) + marker(kind, look.colour)))?;
            }
            None => {
                for start in (x - 3..x + 13).step_by(look.dash as usize + 3) {
                    let dash = [(start, middle), (start + look.dash, middle)];
                    area.draw(&PathElement::new(dash, look.colour.stroke_width(2)))?;
                }
            }
        }
        let style = ("sans-serif", 14).into_font().color(&INK);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(look.name.clone(), (x + 17, middle + 1), style))?;
    }
    Ok(())
}

/// A marker around a point, in pixels: six shapes, so that series differ without colour.
pub fn marker<B: DrawingBackend>(
    kind: usize,
    colour: RGBColor,
) -> DynElement<'static, B, (i32, i32)> {
    let shape = |points: &[(i32, i32)]| Polygon::new(points.to_vec(), colour.filled()).into_dyn();
    match kind % 6 {
        0 => Circle::new((0, 0), 5, colour.filled()).into_dyn(),
        1 => shape(&[(-5, -5), (5, -5), (5, 5), (-5, 5)]),
        2 => shape(&[(0, -6), (6, 5), (-6, 5)]),
        3 => shape(&[(0, -6), (6, 0), (0, 6), (-6, 0)]),
        4 => shape(&[(0, 6), (6, -5), (-6, -5)]),
        _ => Circle::new((0, 0), 5, colour.stroke_width(2)).into_dyn(),
    }
}
