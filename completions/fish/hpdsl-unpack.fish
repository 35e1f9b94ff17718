# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-unpack

complete -c hpdsl-unpack -f -a '(__fish_complete_directories)'
complete -c hpdsl-unpack -l files-from -r -F -d 'paths from FILE'
complete -c hpdsl-unpack -s 0 -l null -d 'paths in FILE end with NUL'
complete -c hpdsl-unpack -l sample -x -d 'every member of sample N'
complete -c hpdsl-unpack -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-unpack -s q -l quiet -d 'no progress and no summary'
complete -c hpdsl-unpack -l json -d 'summary as one JSON object'
complete -c hpdsl-unpack -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-unpack -s '?' -l help -d 'give this help list'
complete -c hpdsl-unpack -l usage -d 'give a short usage message'
complete -c hpdsl-unpack -s V -l version -d 'print program version'
