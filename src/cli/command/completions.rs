//! `completions`: a script for a shell, which asks this program for candidates: verbs, flags, and
//! the names that a source has.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use super::candidates::{Candidates, Names};
use super::command_line;
use crate::cli::args::CompletionsArgs;
use crate::cli::error::{CliError, Exit};
use crate::cli::terminal::io::Io;

/// Environment variable with the name of the shell that asks for candidates.
pub(crate) const VARIABLE: &str = "XDSCOPE_COMPLETE";

const PROGRAM: &str = "xdscope";

const BASH: &str = "bash";

/// The script for bash. Bash splits the words of a command line at `:` and `=` too, and inserts a
/// candidate in place of the last piece: the script joins the pieces, and removes those before the
/// last one from each candidate.
const BASH_SCRIPT: &str = r#"_xdscope() {
    local IFS=$'\013' words=() word before= rest=${COMP_LINE:0:COMP_POINT}
    rest=${rest#"${rest%%[![:space:]]*}"}
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
        before+=$word
        rest=${rest#"$word"}
        if [[ $rest == [[:space:]]* ]]; then
            words+=("$before")
            before=
            rest=${rest#"${rest%%[![:space:]]*}"}
        fi
    done
    if [[ -n $before ]]; then
        before+=${rest%"$2"}
        before=${before%[\'\"]}
    fi
    words+=("$before$2")
    COMPREPLY=( $( \
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$((${#words[@]} - 1))" \
        _CLAP_COMPLETE_COMP_TYPE="$COMP_TYPE" \
        XDSCOPE_COMPLETE="bash" \
        "xdscope" -- "${words[@]}" \
    ) )
    if [[ $? != 0 ]]; then
        unset COMPREPLY
        return
    fi
    if [[ -n $before ]]; then
        COMPREPLY=("${COMPREPLY[@]/#"'$before"/"'"}")
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
    if compopt +o nospace 2> /dev/null && [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _xdscope xdscope
else
    complete -o nospace -o bashdefault -F _xdscope xdscope
fi
"#;

pub(crate) fn run(args: &CompletionsArgs, io: &mut Io<'_>) -> Result<Exit, CliError> {
    let shell = args.shell.to_string();
    let mut script = Vec::new();
    if shell == BASH {
        script.extend(BASH_SCRIPT.as_bytes());
    } else if let Some(shell) = Shells::builtins().completer(&shell) {
        shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    }
    io.stdout.write_all(&script)?;
    Ok(Exit::Yes)
}

/// Prints the candidates for a command line, the words after `--`.
///
/// A shell shows messages in the middle of what a user types, so that failures stay silent.
pub(crate) fn answer(shell: &str, args: &[OsString], io: &mut Io<'_>) {
    let Some(at) = args.iter().position(|arg| arg == "--") else { return };
    let words = args.get(at + 1..).unwrap_or_default().to_vec();
    let builtin = Shells::builtins();
    let Some(completer) = builtin.completer(shell) else { return };
    let candidates = Candidates::new(&words, io.state_dir(), shell == BASH);
    let mut command = with_names(command_line::command(), &Arc::new(candidates));
    let mut out = Vec::new();
    let current_dir = std::env::current_dir().ok();
    if completer.write_complete(&mut command, words, current_dir.as_deref(), &mut out).is_ok() {
        // The reader may be gone.
        let _ = io.stdout.write_all(&out).and_then(|()| io.stdout.flush());
    }
}

/// Adds the names of sources, rules and screens to the arguments of all verbs.
fn with_names(command: Command, candidates: &Arc<Candidates>) -> Command {
    let command = command.mut_args(|arg| {
        let Some(names) = names_of(arg.get_id().as_str()) else { return arg };
        let candidates = candidates.clone();
        let find = move |current: &OsStr| -> Vec<CompletionCandidate> {
            let Some(current) = current.to_str() else { return Vec::new() };
            candidates.find(names, current).into_iter().map(CompletionCandidate::new).collect()
        };
        arg.add(ArgValueCompleter::new(find))
    });
    command.mut_subcommands(|verb| with_names(verb, candidates))
}

/// Returns what the values of an argument name.
fn names_of(id: &str) -> Option<Names> {
    Some(match id {
        "source" | "server" => Names::Sources,
        "session" | "sessions" => Names::Sessions,
        "what" => Names::Resources,
        "words" => Names::Compared,
        "at" => Names::Moments,
        "node" => Names::Nodes,
        "stream" => Names::Streams,
        "rule" => Names::Rules,
        "word" => Names::Words,
        "view" | "screen" => Names::Screens,
        "topic" => Names::Topics,
        "scenario" => Names::Scenarios,
        "condition" => Names::Conditions,
        "filter" => Names::Filters,
        _ => return None,
    })
}
