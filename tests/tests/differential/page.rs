//! docs/COMPATIBILITY.md shows the accepted differences between two markers.
