//! The path of one tool call: resolve, validate, decide, execute, verify, record.
