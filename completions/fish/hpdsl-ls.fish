# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-ls

complete -c hpdsl-ls -f -a '(__fish_complete_directories)'
complete -c hpdsl-ls -s l -l long -d 'one line each'
complete -c hpdsl-ls -l json -d 'one JSON object a line'
complete -c hpdsl-ls -s 0 -l null -d 'end names with NUL'
complete -c hpdsl-ls -l samples -d 'list samples'
complete -c hpdsl-ls -l chunks -d 'list chunks'
complete -c hpdsl-ls -l label -x -d 'only samples of this class'
complete -c hpdsl-ls -l stored -d 'print names in the chunks'
complete -c hpdsl-ls -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-ls -s '?' -l help -d 'give this help list'
complete -c hpdsl-ls -l usage -d 'give a short usage message'
complete -c hpdsl-ls -s V -l version -d 'print program version'
