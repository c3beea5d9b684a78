//! Arguments, one file per verb, printers, error rendering, exit codes.
