//! Documents say what the program does.

pub mod book;
pub mod cited_documents;
pub mod deploy_examples;
pub mod examples;
pub mod fault_recipes;
pub mod hold_picture;
pub mod metric_examples;
pub mod optional_tool;
pub mod pictures;
pub mod readme;
pub mod rows;
pub mod seen;
pub mod versions;
