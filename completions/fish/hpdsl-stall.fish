# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-stall

complete -c hpdsl-stall -n __fish_use_subcommand -f
complete -c hpdsl-stall -n 'not __fish_use_subcommand' -F
complete -c hpdsl-stall -n __fish_use_subcommand -a run -d 'run a training job and measure it'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l dir -r -F -d 'where ranks meet, on all nodes'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l rounds -x -d 'play all phases so often'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l blocks -x -d 'blocks of a phase in a round'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l steps -x -d 'steps of a block'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l no-load -d 'leave interference out'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l separate -d 'start the job anew for each phase'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l keep-saves -d 'let the job change what was there before'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l allow -x -d 'let it change such files'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l dry-run -d 'measure nothing, tell what the job would change'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -s o -l output -r -F -d 'write the report there'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l deadline -x -d 'end before so much time'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -s q -l quiet -d 'only warnings and errors'
complete -c hpdsl-stall -n '__fish_seen_subcommand_from run' \
    -l json -d 'the report as one JSON object'
complete -c hpdsl-stall -s '?' -l help -d 'give this help list'
complete -c hpdsl-stall -l usage -d 'give a short usage message'
complete -c hpdsl-stall -s V -l version -d 'print program version'
