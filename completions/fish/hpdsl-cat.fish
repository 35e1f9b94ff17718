# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-cat

complete -c hpdsl-cat -f -a '(__fish_complete_directories)'
complete -c hpdsl-cat -l sample -x -d 'every member of sample N'
complete -c hpdsl-cat -l member -x -d 'member N'
complete -c hpdsl-cat -l files-from -r -F -d 'paths from FILE'
complete -c hpdsl-cat -s 0 -l null -d 'paths in FILE end with NUL'
complete -c hpdsl-cat -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-cat -s '?' -l help -d 'give this help list'
complete -c hpdsl-cat -l usage -d 'give a short usage message'
complete -c hpdsl-cat -s V -l version -d 'print program version'
