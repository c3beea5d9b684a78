//! Arrow scripts: a session as text.
