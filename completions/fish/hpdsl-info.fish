# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-info

complete -c hpdsl-info -F
complete -c hpdsl-info -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-info -s q -l quiet -d 'no effect'
complete -c hpdsl-info -l json -d 'one JSON object'
complete -c hpdsl-info -l foreign-owner -d 'look into stage directories of others, too'
complete -c hpdsl-info -s '?' -l help -d 'give this help list'
complete -c hpdsl-info -l usage -d 'give a short usage message'
complete -c hpdsl-info -s V -l version -d 'print program version'
