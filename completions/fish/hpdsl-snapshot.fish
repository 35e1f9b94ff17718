# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-snapshot

complete -c hpdsl-snapshot -n __fish_use_subcommand -f
complete -c hpdsl-snapshot -n 'not __fish_use_subcommand' -F
complete -c hpdsl-snapshot -n __fish_use_subcommand -a create -d 'write the snapshot of a folder or dataset'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a check -d 'what is different now'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a diff -d 'what is different between two'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a ls -d 'list folders'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a stat -d 'print all that is known of entries'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a find -d 'print entries that match'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a du -d 'add up sizes'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a dump -d 'print a snapshot as text'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a load -d 'make a snapshot of such a text'
complete -c hpdsl-snapshot -n __fish_use_subcommand -a verify -d 'verify every byte'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create load' \
    -s o -l output -r -F -d 'snapshot to write'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check' \
    -l exclude -x -d 'no files or folders that match'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check' \
    -l all-file-systems -d 'enter what is mounted below'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check' \
    -l as-tree -d 'take a dataset for a folder'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check' \
    -s j -l threads -x -d 'names asked for at a time'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check' \
    -l foreign-owner -d 'stage directories of others, too'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from load' \
    -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from check' \
    -l since -r -F -d 'not folders unchanged since'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from check' \
    -l keep-litter -d 'tell of litter, too'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from check diff ls stat find du' \
    -s 0 -l null -d 'end lines with NUL'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check diff load verify' \
    -s q -l quiet -d 'no progress and no summary'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from create check diff ls stat find du load verify' \
    -l json -d 'JSON on standard output'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from ls' \
    -s l -l long -d 'one line each'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from ls' \
    -s R -l recursive -d 'all that is below'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from ls' \
    -s d -l directory -d 'folders themselves'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from find' \
    -l name -x -d 'the name matches'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from find' \
    -l path -x -d 'the path matches'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from find' \
    -l type -x -a 'f d l p c b s' -d 'one of these types'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from find' \
    -l size -x -d 'exactly, more (+) or fewer (-) bytes'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from find' \
    -l newer -r -F -d 'changed after'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from du' \
    -s a -l all -d 'a line for each file, too'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from du' \
    -s s -l summarize -d 'a line for each path alone'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from du' \
    -s d -l max-depth -x -d 'levels below a path'
complete -c hpdsl-snapshot -n '__fish_seen_subcommand_from du' \
    -s h -l human-readable -d 'bytes as 36.9 MiB'
complete -c hpdsl-snapshot -s '?' -l help -d 'give this help list'
complete -c hpdsl-snapshot -l usage -d 'give a short usage message'
complete -c hpdsl-snapshot -s V -l version -d 'print program version'
