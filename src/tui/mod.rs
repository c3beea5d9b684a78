//! The terminal screens: model, update, view.
