# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl: the command, then what that completes

function __hpdsl_rest
    set -l words (commandline -opc)
    set -l line (string escape -- hpdsl-$words[2] $words[3..-1])
    complete -C "$line "(commandline -ct)
end

complete -c hpdsl -f
complete -c hpdsl -n __fish_use_subcommand -a info -d 'say what is at a path, and what comes next'
complete -c hpdsl -n __fish_use_subcommand -a pack -d 'pack files into shuffled, verified chunks'
complete -c hpdsl -n __fish_use_subcommand -a verify -d 'verify every byte of a packed dataset'
complete -c hpdsl -n __fish_use_subcommand -a ls -d 'list members, samples or chunks'
complete -c hpdsl -n __fish_use_subcommand -a cat -d 'print members'
complete -c hpdsl -n __fish_use_subcommand -a unpack -d 'restore the files'
complete -c hpdsl -n __fish_use_subcommand -a index -d 'rebuild index and manifest, or make them for any tar files'
complete -c hpdsl -n __fish_use_subcommand -a snapshot -d 'freeze a name space in one file'
complete -c hpdsl -n __fish_use_subcommand -a stage -d 'put a dataset on the SSDs of the nodes of a job'
complete -c hpdsl -n __fish_use_subcommand -a serve -d 'serve what this node has to the others of its job'
complete -c hpdsl -n __fish_use_subcommand -a mount -d 'mount a packed dataset as the tree that it was'
complete -c hpdsl -n __fish_use_subcommand -a order -d 'print the order of an epoch'
complete -c hpdsl -n __fish_use_subcommand -a bench -d 'read epochs as a training job would'
complete -c hpdsl -n __fish_use_subcommand -a stall -d 'measure what a training step waits for'
complete -c hpdsl -n __fish_use_subcommand -a help -d 'show the manual of a command'
complete -c hpdsl -n '__fish_seen_subcommand_from help' \
    -a 'info pack verify ls cat unpack index snapshot stage serve mount order bench stall format python frameworks metrics recipes order.7 hpdsl libhpdsl'
complete -c hpdsl -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help' \
    -a '(__hpdsl_rest)'
complete -c hpdsl -n __fish_use_subcommand -s '?' -l help -d 'give this help list'
complete -c hpdsl -n __fish_use_subcommand -l usage -d 'give a short usage message'
complete -c hpdsl -n __fish_use_subcommand -s V -l version -d 'print program version'
